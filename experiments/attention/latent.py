"""A trained decoder that keeps r numbers of each piece in place of its keys and values, found without training."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from experiments.family.language_models import published
from experiments.passes import Ids, forward
from model.anatomy.describe import Scribe, anatomy_of, describe
from model.decoding.cache import NULL_CACHE, Cache
from model.files.checkpoint import broken, load_weights
from model.files.loaded_model import MODELS, Array, LoadedModel
from model.kept import kept
from model.parts.attention import MultiHeadAttention, describe_joined, describe_projections, describe_weighted_sum
from model.parts.fp16_matmul import Linear
from model.parts.layers import Memory
from model.tap import Recorder, Tap, no_tap
from model.text.tokenizer import SOS_ID

BASES, FILE = "latent.safetensors", "latent.json"  # in a model's folder; training.measure.latent writes them
SIZES = (256, 128, 96, 64, 32, 16, 8)  # r
WHOLE = 512  # numbers of a key and a value together


class NarrowAttention(MultiHeadAttention):
    """Attention that reads the memory through r numbers a position: keys and values are made from these alone.

    Taps:    squeezed (B,S,r), and those of MultiHeadAttention
    Source:  DeepSeek-AI 2024, §2.1.2, Eq. 9 to 11. Differs: not trained; no short key that positions turn beside it
    """

    def __init__(self, like: Any, down: Tensor, up_k: Tensor, up_v: Tensor) -> None:
        super().__init__(like.w_q.in_features, like.n_heads, like.positions)
        self.w_q, self.w_o = like.w_q, like.w_o
        self.w_c, self.w_k, self.w_v = (_linear(matrix) for matrix in (down, up_k, up_v))

    def forward(
        self, x: Tensor, memory: Tensor, mask: Tensor | None = None, cache: Cache = NULL_CACHE, tap: Tap = no_tap
    ) -> Tensor:
        return super().forward(x, tap("squeezed", self.w_c(memory)), mask, cache, tap)


def _linear(matrix: Tensor) -> Linear:
    made = Linear(matrix.size(1), matrix.size(0), bias=False)
    made.weight = nn.Parameter(matrix.contiguous(), requires_grad=False)
    return made


@describe.register
def _(module: NarrowAttention, scribe: Scribe, x: str, memory: str, mask: str = "") -> str:
    rows, columns = scribe.tokens, scribe.axes(memory)[0]
    squeezed = scribe.made("squeezed", "linear", memory, weights=("w_c.weight",), axes=(columns, "latent"))
    q_k_v = describe_projections(module, scribe, x, squeezed)
    heads = describe_weighted_sum(module.positions, scribe, q_k_v, ("head", rows, columns))
    scribe.attends(x, memory, mask, module.n_heads, module.d_k)
    return describe_joined(scribe, heads)


def basis_of(gram: Tensor, r: int) -> tuple[Tensor, Tensor]:
    """The r directions along which keys and values, each in its own unit, are longest.

    Args:    gram (2d,2d): Σ zzᵀ over rows z = [k, v] of a text
    Returns: basis (2d,r), its columns orthogonal and of length 1; scales (2): the size of k's numbers, 1, and of v's
    """
    half = len(gram) // 2
    diagonal = gram.diagonal()
    scales = torch.stack([diagonal[:half].mean(), diagonal[half:].mean()]).sqrt()
    unit = scales.repeat_interleave(half)
    # The right singular vectors of the rows are the eigenvectors of their Gram matrix.
    _, vectors = torch.linalg.eigh(gram / unit / unit[:, None])
    return vectors.flip(1)[:, :r], scales / scales[0]


def through(attention: Any, basis: Tensor, scales: Tensor) -> NarrowAttention:
    """An attention through r numbers: c = Bᵀ[k/σ_k, v/σ_v], and back. basis (2d,r); scales (2)"""
    half = len(basis) // 2
    unit = scales.repeat_interleave(half)[:, None]
    both = torch.cat([attention.w_k.weight, attention.w_v.weight])  # (2d,d): makes [k, v] of a row
    up = basis * unit
    return NarrowAttention(attention, basis.T @ (both / unit), up[:half], up[half:])


@kept
def bases(name: str) -> Mapping[str, Tensor]:
    """Of a model's folder, in fp32: "layers.0.basis", "layers.0.scales" … Raises: CheckpointError, naming the file"""
    return load_weights(MODELS / name / BASES)


@kept
def squeezed(loaded: LoadedModel, r: int) -> LoadedModel:
    """The model with r numbers in place of each key and value of its decoder; all other weights are shared with it.

    Raises: ValueError if r is not of SIZES; CheckpointError, naming the file and the repair
    """
    if r not in SIZES:
        raise ValueError(f"r={r} is none of {', '.join(map(str, SIZES))}")
    found = bases(loaded.name)
    network = copy.deepcopy(loaded.model, {id(one): one for one in loaded.model.parameters()})
    try:
        for n, layer in enumerate(network.get_submodule("decoder.layers")):  # type: ignore[arg-type, var-annotated]
            basis, scales = (found[f"layers.{n}.{one}"].to(loaded.device.torch) for one in ("basis", "scales"))
            layer.self_attn = through(layer.self_attn, basis[:, :r], scales)
    except (KeyError, RuntimeError) as error:
        raise broken(MODELS / loaded.name / BASES, error) from error
    network = network.eval().requires_grad_(False)
    return replace(loaded, name=f"{loaded.name} through {r}", model=network, anatomy=anatomy_of(network))


def squeezed_pass(loaded: LoadedModel, r: int, src: Ids, tgt: Ids) -> tuple[LoadedModel, Mapping[str, Array]]:
    """The model that keeps r numbers, and every value that it computes for a sentence and a given translation."""
    other = squeezed(loaded, r)
    return other, forward(other, src, tgt)


@dataclass(frozen=True)
class Beginning:
    """How a decoder that keeps r numbers reads a translation.

    kept: (T,r) of the last layer; chances: the probability of each piece, given those before; likeliest: there
    ids: what it writes by itself, up to the first piece that is another
    """

    kept: Array
    chances: tuple[float, ...]
    likeliest: Ids
    ids: Ids


def keeping(sizes: Sequence[int]) -> Tap:
    """The change that makes each row of a batch keep fewer numbers, so many as `sizes` says: all others become 0."""

    def change(name: str, value: Tensor) -> Tensor:
        if not name.endswith(".squeezed"):
            return value
        return value * (torch.arange(value.size(-1)) < torch.tensor(sizes)[:, None]).to(value)[:, None]

    return change


@torch.inference_mode()
def at_sizes(loaded: LoadedModel, sizes: Ids, src: Ids, labels: Ids) -> Mapping[int, Beginning]:
    """For several r, all in one batch. Args: labels: the translation, or its first pieces"""
    model, recorder, device = squeezed(loaded, max(SIZES)).model, Recorder(keeping(sizes)), loaded.device.torch
    states, mask = loaded.model.encode(torch.tensor([src], device=device))
    memory = Memory(states.expand(len(sizes), -1, -1), mask)
    tgt_ids = torch.tensor([[SOS_ID, *labels[:-1]]] * len(sizes), device=device)
    logits, right = model.decode(tgt_ids, memory, tap=recorder), torch.tensor(labels, device=device)
    likeliest, chances = logits.argmax(-1), logits.softmax(-1)[:, range(len(labels)), right]
    same = (likeliest == right).cumprod(-1).sum(-1).tolist()  # so many pieces are written as before
    kept = recorder.tensors[f"decoder.layers.{loaded.config.n_layers - 1}.self_attn.squeezed"].cpu().numpy()
    rows = zip(sizes, kept, chances.tolist(), likeliest.tolist(), same, strict=True)
    return {r: Beginning(one[:, :r], tuple(p), tuple(best), tuple(best[: n + 1])) for r, one, p, best, n in rows}


@torch.inference_mode()
def perplexities(loaded: LoadedModel, labels: Ids) -> tuple[float, ...]:
    """Of a text that ends in `<eos>`, which is not counted, as a decoder alone reads it: for each r of SIZES."""
    tgt_ids = torch.tensor([[SOS_ID, *labels[:-1]]] * len(SIZES), device=loaded.device.torch)
    logits = squeezed(loaded, max(SIZES)).model(tgt_ids, keeping(SIZES))[:, :-1]
    right = torch.tensor(labels[:-1]).expand(len(SIZES), -1)
    losses = nn.functional.cross_entropy(logits.transpose(1, 2).cpu().double(), right, reduction="none").mean(-1)
    return tuple(losses.exp().tolist())


def figures(name: str) -> dict[str, Any]:
    """What was measured of a model at each r. Raises: CheckpointError, naming the file"""
    return published(name, FILE)
