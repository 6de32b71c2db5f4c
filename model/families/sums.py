"""Four small decoders that learned to add, each from another number of sums: how a sum is written, what they answer."""

import functools
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from model.anatomy.describe import anatomy_of
from model.config import ModelConfig
from model.files import checkpoint
from model.files.device import pick_device
from model.files.loaded_model import MODELS, Array, LoadedModel
from model.files.model_card import About
from model.tap import Recorder
from model.text.tokenizer import Token
from model.trace import Trace

SIZES = (200, 400, 500, 20_000)  # sums that each learned from
SHIPPED = MODELS / "sums"
METRICS, LEARNED = "metrics.json", "learned.safetensors"
SIGNS = "0123456789+="  # what each id stands for
PLUS, EQUALS = SIGNS.index("+"), SIGNS.index("=")
WIDTH = 4  # digits of a number as it is written, zeros before it where it has fewer
N_ASKED, N_WRITTEN = 2 * WIDTH + 2, WIDTH + 1  # signs up to "=", and digits behind it
BELOW = 1000  # they learned with numbers of up to three digits: 0 to 999

CONFIG = ModelConfig(
    vocab_size=len(SIGNS),
    d_model=64,
    n_heads=4,
    n_layers=2,
    d_ff=256,
    max_len=N_ASKED + N_WRITTEN - 1,  # the last digit is written, and never read
    dropout=0.0,
    positions="learned",
    norm_place="pre",
    activation="gelu_tanh",
    family="decoder_only",
)


def asked(a: Tensor, b: Tensor) -> Tensor:
    """Sums as ids, up to "=": 0347+0285=

    Args:    a, b (N), from 0 to 9999
    Returns: ids (N,10)
    """
    plus, equals = (torch.full((len(a), 1), sign) for sign in (PLUS, EQUALS))
    return torch.cat([backwards(a, WIDTH).flip(1), plus, backwards(b, WIDTH).flip(1), equals], 1)


def backwards(n: Tensor, width: int) -> Tensor:
    """The digits of numbers (N) as ids (N,width): the last digit first, so that a carry is known when it is needed."""
    return torch.stack([n // 10**k % 10 for k in range(width)], 1)


def numbers(digits: Tensor) -> Tensor:
    """What was written, digits (N,width) with the last one first, as numbers (N); -1 where a sign is none."""
    values = (digits * 10 ** torch.arange(digits.shape[1])).sum(1)
    return torch.where((digits < PLUS).all(1), values, -1)


@torch.inference_mode()
def write(network: nn.Module, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Each digit the most probable one, and read again before the next.

    Args:    a, b (N), from 0 to 9999
    Returns: ids as they were written, the last digit first (N,5); the probability of each, those before it given (N,5)
    """
    ids, chances = asked(a, b).to(next(network.parameters()).device), []
    for _ in range(N_WRITTEN):
        most = network(ids)[:, -1].softmax(-1).max(-1)
        chances.append(most.values)
        ids = torch.cat([ids, most.indices[:, None]], 1)
    return ids[:, N_ASKED:].cpu(), torch.stack(chances, 1).cpu()


@functools.cache
def load_adder(size: int, folder: Path = SHIPPED) -> LoadedModel:
    """One of the four by the number of its sums, ready to run. Its tokenizer is the translator's, and never asked.

    Raises: CheckpointError, naming the file and the repair
    """
    network, tokenizer = checkpoint.load(folder, f"{size}.safetensors", checkpoint.SHIPPED)
    device, name = pick_device(), f"sums/{size}"
    network = network.to(device.torch)
    return LoadedModel(
        name, checkpoint.load_config(folder), network, tokenizer, device, About(name), anatomy_of(network)
    )


@functools.cache
def sums_metrics(folder: Path = SHIPPED) -> dict[str, Any]:
    """What was measured of the four after their training. Raises: CheckpointError, naming the file and the repair"""
    return checkpoint.read_figures(folder / METRICS)


@functools.cache
def learned_sums(folder: Path = SHIPPED) -> Array:
    """The sums (20000,2) of the model that learned from most; each other one learned from the first of them.

    Raises: CheckpointError, naming the file and the repair
    """
    try:
        return load_file(folder / LEARNED)["sums"].numpy()
    except (OSError, KeyError, SafetensorError) as error:
        raise checkpoint.broken(folder / LEARNED, error) from error


@dataclass(frozen=True)
class Answer:
    """What one of the four makes of a sum.

    digits, chances: as they are read, the last digit last, zeros before it included; and the probability of each
    right: those of the true sum
    learned: whether it learned from this very sum
    """

    a: int
    b: int
    digits: tuple[int, ...]
    chances: tuple[float, ...]
    right: tuple[int, ...]
    learned: bool

    @property
    def value(self) -> str:
        return "".join(SIGNS[id] for id in self.digits).lstrip("0") or "0"

    @property
    def is_right(self) -> bool:
        return self.digits == self.right

    @property
    def sure(self) -> float:
        """The probability of the answer as a whole."""
        return float(np.prod(self.chances))


def answer(loaded: LoadedModel, size: int, a: int, b: int) -> Answer:
    """What the model that learned from so many sums answers to one."""
    first, second = (torch.tensor([n]) for n in (a, b))
    written, chances = write(loaded.model, first, second)
    right = backwards(first + second, N_WRITTEN)
    learned = bool((learned_sums()[:size] == (a, b)).all(1).any())
    digits, truth = (tuple(ids[0].flip(0).tolist()) for ids in (written, right))
    return Answer(a, b, digits, tuple(chances[0].flip(0).tolist()), truth, learned)


@torch.inference_mode()
def trace_adder(loaded: LoadedModel, a: int, b: int) -> Trace:
    """Everything that one of the four computes for a sum; its rows are the signs that it reads, its labels those that
    come next, the digits that it writes at last.
    """
    first, second, recorder = torch.tensor([a]), torch.tensor([b]), Recorder()
    ids = torch.cat([asked(first, second), write(loaded.model, first, second)[0]], 1)
    loaded.model(ids[:, :-1].to(loaded.device.torch), recorder)
    tensors = {tap: (x[0] if x.dim() > 2 else x).cpu().numpy() for tap, x in recorder.tensors.items()}
    signs = tuple(Token(id, SIGNS[id], -1) for id in ids[0].tolist())
    text = "".join(sign.text for sign in signs)
    return Trace(loaded, text, 0, (), signs[:-1], signs[1:], MappingProxyType(tensors), (), text[N_ASKED:], True)
