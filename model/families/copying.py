"""Two small networks that repeat letters hidden among noise: in one each place chooses its step, in the other none."""

import functools
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from model.anatomy.describe import Scribe, anatomy_of, describe
from model.files.checkpoint import CONFIG, broken, load_tokenizer, read_figures, save_weights
from model.files.device import pick_device
from model.files.loaded_model import MODELS, LoadedModel
from model.files.model_card import About
from model.parts.norms import RMSNorm
from model.parts.state_space import MambaBlock, Selective, TimeInvariant
from model.tap import Recorder, Tap, no_tap, under
from model.text.tokenizer import Token
from model.trace import Trace

SELECTIVE, INVARIANT = KINDS = ("selective", "time-invariant")
SHIPPED = MODELS / "copying"
METRICS = "metrics.json"
LETTERS = "abcdefgh"
NOISE, ASKS = 0, len(LETTERS) + 1  # ids; the letters' stand between
ENTRIES = ("·", *LETTERS, "?")  # what each id stands for
PLACES, N_LETTERS = 64, 6  # of the rows that both learned from; a row to repeat has as many question marks behind it
LENGTHS = (64, 80, 96, 112, 128)  # places of the rows that they are measured on


@dataclass(frozen=True)
class CopyingConfig:
    """Sizes of both networks. With these both have as many weights: a complex number counts for two.

    n_states, rank: of a selective layer; n_complex: states of a time-invariant one
    steps: between which numbers Δ is drawn before training
    """

    d_model: int = 32
    d_inner: int = 64
    n_layers: int = 2
    n_states: int = 8
    rank: int = 4
    n_complex: int = 8
    steps: tuple[float, float] = (0.0015, 0.08)

    def space(self, kind: str) -> Selective | TimeInvariant:
        if kind == SELECTIVE:
            return Selective(self.d_inner, self.n_states, self.rank, self.steps)
        return TimeInvariant(self.d_inner, self.n_complex, self.steps)


class Copier(nn.Module):
    """Letters among noise, then a question mark for each letter: there the letters are to be said, in their order.

    Args:    ids (B,T) integer, see ENTRIES
    Returns: logits (B,T,10), a row for each place
    Taps:    blocks.N.*; logits (B,T,10)
    Source:  selective copying: Jing et al. 2019; Gu and Dao 2023, §4.1.1. Differs: shorter, and with fewer letters
    """

    def __init__(self, config: CopyingConfig, kind: str) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(ENTRIES), config.d_model)
        self.norms = nn.ModuleList(RMSNorm(config.d_model) for _ in range(config.n_layers + 1))
        self.blocks = nn.ModuleList(MambaBlock(config.d_model, config.space(kind)) for _ in range(config.n_layers))
        self.w_out = nn.Linear(config.d_model, len(ENTRIES))

    def forward(self, ids: Tensor, tap: Tap = no_tap) -> Tensor:
        x = self.embedding(ids)
        *norms, last = self.norms
        for n, (norm, block) in enumerate(zip(norms, self.blocks, strict=True)):
            x = x + block(norm(x), under(f"blocks.{n}", tap))
        return tap("logits", self.w_out(last(x)))


LoadedCopier = LoadedModel[Copier, CopyingConfig]


def save_copier(folder: Path, kind: str, config: CopyingConfig, copier: Copier) -> None:
    """Write the sizes, and the weights rounded to fp16."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CONFIG).write_text(json.dumps(asdict(config), indent=2) + "\n")
    save_weights(folder / f"{kind}.safetensors", copier.state_dict())


@functools.cache
def load_copier(kind: str, folder: Path = SHIPPED) -> LoadedCopier:
    """One of the two, with fp32 weights, ready to run. Its tokenizer is the translator's, and never asked.

    Raises: CheckpointError, naming the file and the repair
    """
    path = folder / CONFIG
    try:
        sizes = json.loads(path.read_text())
        config = CopyingConfig(**sizes | {"steps": tuple(sizes["steps"])})
        path = folder / f"{kind}.safetensors"
        copier = Copier(config, kind)
        copier.load_state_dict({name: w.float() for name, w in load_file(path).items()})
    except (OSError, ValueError, TypeError, KeyError, RuntimeError, SafetensorError) as error:
        raise broken(path, error) from error
    device, name = pick_device(), f"copying/{kind}"
    copier = copier.eval().requires_grad_(False).to(device.torch)
    return LoadedModel(name, config, copier, load_tokenizer(), device, About(name), anatomy_of(copier))


@functools.cache
def copying_metrics(folder: Path = SHIPPED) -> dict[str, Any]:
    """What was measured of both after their training. Raises: CheckpointError, naming the file and the repair"""
    return read_figures(folder / METRICS)


@torch.inference_mode()
def trace_copier(loaded: LoadedCopier, ids: Sequence[int]) -> Trace[Copier, CopyingConfig]:
    """Everything that a copier computes for one row of places; its rows are the places, its labels the answers."""
    recorder = Recorder()
    logits = loaded.model(torch.tensor([ids], device=loaded.device.torch), recorder)[0]
    asked = [n for n, id in enumerate(ids) if id == ASKS]
    # A parameter has no batch axis.
    tensors = {tap: (x[0] if x.dim() > 2 else x).cpu().numpy() for tap, x in recorder.tensors.items()}
    tensors = {tap: x for tap, x in tensors.items() if not tap.endswith(("gate", "mixed"))}
    said = logits[asked].argmax(-1).tolist()
    src, labels = (tuple(Token(id, ENTRIES[id], -1) for id in some) for some in (ids, said))
    text = "".join(token.text for token in src)
    return Trace(loaded, text, 0, src, (), labels, MappingProxyType(tensors), (), "", True)


@describe.register
def _(module: Copier, scribe: Scribe) -> str:
    scribe = replace(scribe, tokens="src")
    for n, block in enumerate(module.blocks):
        describe(block, scribe.under(f"blocks.{n}"), "")
    return "logits"
