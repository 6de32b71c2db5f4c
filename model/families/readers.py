"""Three ways to read a sentence into one vector: a simple recurrent network, an LSTM, one layer of self-attention."""

import dataclasses
import functools
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from model.anatomy.describe import Scribe, anatomy_of, describe
from model.files.checkpoint import CONFIG, WEIGHTS, broken, load_tokenizer, read_figures
from model.files.device import Device, pick_device
from model.files.loaded_model import MODELS, LoadedModel
from model.files.model_card import About
from model.parts.attention import MultiHeadAttention
from model.parts.embedding import describe_sum
from model.parts.positions import Sinusoidal
from model.parts.recurrent import LSTMCell, Recurrent, RNNCell
from model.tap import Recorder, Tap, no_tap, under
from model.trace import Trace

READERS = ("rnn", "lstm", "attention")
SHIPPED = MODELS / "readers"
UNTRAINED = "untrained"  # folder in it, for the weights that training began with
SEED = 1  # of the random weights that training starts from


@dataclass(frozen=True)
class ReadersConfig:
    """Sizes of the three readers; all have the same width.

    Raises: ValueError, naming the number, if `d_model` is odd
    """

    vocab_size: int = 8000
    d_model: int = 64
    max_len: int = 4096  # longest text, in tokens, that positions are prepared for

    def __post_init__(self) -> None:
        if self.d_model % 2:
            raise ValueError(f"d_model={self.d_model} is odd; sines and cosines come in pairs")


class AttentionReader(nn.Module):
    """One layer of self-attention with one head: every position reads all positions at once.

    Args:    x (B,T,d_model), without positions
    Returns: (B,T,d_model)
    Taps:    positions (T,d_model); embedded (B,T,d_model); self_attn.*
    Source:  Vaswani et al. 2017, §3.2 and §3.5. Differs: no Add & Norm, no feed-forward: attention alone
    """

    def __init__(self, d_model: int, max_len: int) -> None:
        super().__init__()
        self.positions = Sinusoidal(max_len, d_model)
        self.self_attn = MultiHeadAttention(d_model, n_heads=1)

    def forward(self, x: Tensor, tap: Tap = no_tap) -> Tensor:
        x = tap("embedded", self.positions.embed(x, tap=tap))
        return self.self_attn(x, x, tap=under("self_attn", tap))


class Readers(nn.Module):
    """One embedding matrix and three readers, each by its name: "rnn", "lstm", "attention".

    A reader turns the embeddings of a text into one state for each position. From the last state alone, `recall` says
    which tokens the text held: what an encoder's last state was for, before decoders could attend to all of them.

    Args:    ids (B,T) integer, each row ending in <eos>; name of a reader
    Returns: logits (B,vocab_size)
    Taps:    tokens (B,T,d_model); under the reader's name its own and logits (B,vocab_size)
    Source:  the last state as the whole sentence: Sutskever et al. 2014, §2. Differs: a decoder wrote a translation
             from it; here it gives one score for every vocabulary entry, by the embedding matrix again
    """

    def __init__(self, config: ReadersConfig) -> None:
        super().__init__()
        d_model = config.d_model
        self.embedding = nn.Embedding(config.vocab_size, d_model)
        nn.init.normal_(self.embedding.weight, std=d_model**-0.5)
        self.rnn = Recurrent(RNNCell(d_model, d_model))
        self.lstm = Recurrent(LSTMCell(d_model, d_model))
        self.attention = AttentionReader(d_model, config.max_len)
        self.w_recall = nn.ModuleDict({name: nn.Linear(d_model, d_model) for name in READERS})

    def embed(self, ids: Tensor, tap: Tap = no_tap) -> Tensor:
        """Embeddings (B,T,d_model) of ids (B,T), times √d_model as in the translator."""
        return tap("tokens", self.embedding(ids) * math.sqrt(self.embedding.embedding_dim))

    def read(self, name: str, x: Tensor, tap: Tap = no_tap) -> Tensor:
        """The states (B,T,d_model) that a reader makes of embeddings x (B,T,d_model)."""
        states: Tensor = self.get_submodule(name)(x, under(name, tap))
        return states

    def recall(self, name: str, state: Tensor, tap: Tap = no_tap) -> Tensor:
        """logits (B,vocab_size) of the tokens that a last state (B,d_model) holds."""
        return under(name, tap)("logits", self.w_recall[name](state) @ self.embedding.weight.T)

    def forward(self, ids: Tensor, name: str, tap: Tap = no_tap) -> Tensor:
        states = self.read(name, self.embed(ids, tap), tap)
        return self.recall(name, states[:, -1], tap)


LoadedReaders = LoadedModel[Readers, ReadersConfig]


def ranks(logits: Tensor, ids: Tensor) -> Tensor:
    """How many vocabulary entries a last state scores higher than each token of its text, `<eos>` left out.

    Args:    logits (B,vocab_size); ids (B,T)
    Returns: (B,T−1)
    """
    scores = logits.gather(1, ids[:, :-1])
    return torch.stack([(logits > score[:, None]).sum(-1) for score in scores.unbind(1)], dim=1)


def remembered(logits: Tensor, ids: Tensor) -> Tensor:
    """Whether a last state still tells each token: it is among the n best scored, n the different tokens of the text.

    Returns: boolean (B,T−1)
    """
    different = torch.tensor([len(set(row)) for row in ids[:, :-1].tolist()], device=ids.device)
    return ranks(logits, ids) < different[:, None]


def trace_readers(loaded: LoadedReaders, text: str, ids: Sequence[int]) -> Trace[Readers, ReadersConfig]:
    """Everything that the three readers compute for one sentence, and how strongly its end depends on each token.

    Args:    loaded: by `load_readers`; text, and its ids (T), ending in `<eos>`
    Returns: a trace without a target. The taps of single steps, `rnn.steps.3.hidden`, are stacked over all steps:
             `rnn.hidden` (T,d_model). Added: `rnn.gradients` (T) and the like, see `gradients`
    """
    src_ids, arrays = torch.tensor([list(ids)], device=loaded.device.torch), {}
    readers = loaded.model
    for name in READERS:
        recorder = Recorder()
        with torch.inference_mode():
            readers(src_ids, name, recorder)
        steps: dict[str, list[Tensor]] = {}
        for tap, value in recorder.tensors.items():
            path, _, step = tap.partition(".steps.")
            if step:
                steps.setdefault(f"{path}.{step.partition('.')[2]}", []).append(value)
            else:
                arrays[tap] = value.squeeze(0) if value.size(0) == 1 else value
        arrays |= {tap: torch.cat(values) for tap, values in steps.items()}
        arrays[f"{name}.gradients"] = gradients(readers, name, readers.embed(src_ids))
    tensors = MappingProxyType({tap: value.cpu().numpy() for tap, value in arrays.items()})
    return Trace(loaded, text, 0, loaded.tokenizer.tokens(ids), (), (), tensors, (), "", True)


def gradients(readers: Readers, name: str, x: Tensor) -> Tensor:
    """How strongly a reader's last state depends on each position: the length of its gradient.

    For position t that is ‖∂h_T/∂x_t‖: the root of the sum of the squares of all derivatives of the numbers of the last
    state with respect to the numbers of the t-th embedding.

    Args:    x (1,T,d_model), embeddings
    Returns: (T)
    """
    # A copy for each number of the state, so that one pass back gives the derivatives of all.
    x = x.detach().repeat(x.size(-1), 1, 1).requires_grad_()
    last = readers.read(name, x)[:, -1]
    (derivatives,) = torch.autograd.grad(last.diagonal().sum(), x)  # (d_model,T,d_model)
    return derivatives.square().sum((0, 2)).sqrt()


def named_tokens(read: Trace[Readers, ReadersConfig], name: str) -> int:
    """How many different tokens of a sentence a reader's last state still tells (see `remembered`)."""
    logits, ids = torch.tensor(read.tensors[f"{name}.logits"]), torch.tensor([token.id for token in read.src])
    hits = remembered(logits[None], ids[None])[0]
    return len(set(ids[:-1][hits].tolist()))


def untrained_readers(config: ReadersConfig, seed: int = SEED) -> Readers:
    """Readers with the random weights that training starts from."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Readers(config)


def save_readers(folder: Path, config: ReadersConfig, readers: Readers) -> None:
    """Write the config, and the weights rounded to fp16."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CONFIG).write_text(json.dumps(dataclasses.asdict(config), indent=2) + "\n")
    save_file({name: w.detach().half().contiguous() for name, w in readers.state_dict().items()}, folder / WEIGHTS)


@functools.cache
def load_readers(folder: Path = SHIPPED, device: Device | None = None) -> LoadedReaders:
    """The readers in a folder, with fp32 weights, ready to run; their tokenizer is the translator's.

    Raises: CheckpointError, naming the file and the repair
    """
    path = folder / CONFIG
    try:
        config = ReadersConfig(**json.loads(path.read_text()))
        path = folder / WEIGHTS
        readers = Readers(config)
        readers.load_state_dict({name: w.float() for name, w in load_file(path).items()})
    except (OSError, ValueError, TypeError, RuntimeError, SafetensorError) as error:
        raise broken(path, error) from error
    device = device or pick_device()
    readers = readers.eval().requires_grad_(False).to(device.torch)
    name = str(folder.relative_to(MODELS)) if folder.is_relative_to(MODELS) else folder.name
    return LoadedModel(name, config, readers, load_tokenizer(), device, About(name), anatomy_of(readers))


@functools.cache
def learned_distances() -> dict[str, Any]:
    """What `training.measure.distances` measured: by length of text and reader, the shares of its runs; the recipe.

    Raises: CheckpointError, naming the file and the repair
    """
    return read_figures(SHIPPED / "distances.json")


@describe.register
def _(module: AttentionReader, scribe: Scribe, x: str) -> str:
    x = describe_sum(module.positions, scribe, "embedded", "add_positions", x)
    return describe(module.self_attn, scribe.under("self_attn"), x, x)


@describe.register
def _(module: Readers, scribe: Scribe) -> str:
    scribe = replace(scribe, tokens="src")
    tokens = scribe.made("tokens", "look_up_scaled", weights=("embedding.weight",))
    for name in READERS:
        written = describe(module.get_submodule(name), scribe.under(name), tokens)
    return written
