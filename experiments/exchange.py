"""A trained model with one of its parts exchanged for a variant: what the same weights then compute.

The model was trained with the part that it had. What a variant would be worth after training with it, this cannot show.
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from experiments.passes import Ids, encode, forward
from model.anatomy.describe import anatomy_of
from model.build import ATTENTIONS, NETWORKS, PLACES
from model.config import ModelConfig
from model.decoding.strategies import Greedy
from model.files.loaded_model import Array, LoadedModel, load_model, model_names
from model.kept import kept
from model.parts.attention import MultiHeadAttention
from model.parts.feed_forward import GatedFeedForward
from model.parts.norms import RMSNorm
from model.parts.positions import N_BUCKETS, Alibi, Positions, RelativeBias, Rotary
from model.parts.residual import deep_norm_constants
from model.trace import Trace, trace

RELATIVE, TABLE = "positions-relative", "encoder.layers.0.self_attn.positions.table.weight"
SEED = 0  # of the weights that a variant needs and the model does not have


@dataclass(frozen=True)
class Exchange:
    """One part put in the place of another.

    part: a name in PARTS; path: of the attention, network or Add & Norm that it belongs to;
    kind: a name in POSITIONS, in `model.build.ATTENTIONS` or NETWORKS, or norm and place like "rms post"
    """

    part: str
    path: str
    kind: str


@kept
def learned_table(n_heads: int) -> Tensor | None:
    """T5's numbers (buckets,H) as the sibling RELATIVE learned them in the first layer of its encoder; None if that
    does not come with the app, or has another number of heads.
    """
    if RELATIVE not in model_names():
        return None
    table = torch.tensor(load_model(RELATIVE).weights[TABLE])
    return table if table.size(1) == n_heads else None


def t5_bias(n_heads: int) -> RelativeBias:
    """T5's bias for an encoder: learned, or, where nobody has learned it, drawn with a standard deviation of 1."""
    scheme, table = RelativeBias(n_heads, causal=False), learned_table(n_heads)
    random = torch.Generator().manual_seed(SEED)
    scheme.table.weight = nn.Parameter(torch.randn(N_BUCKETS, n_heads, generator=random) if table is None else table)
    return scheme


POSITIONS: dict[str, Callable[[int], Positions]] = {
    "rotary": lambda n_heads: Rotary(),
    "relative": t5_bias,
    "alibi": Alibi,
}


def _positions(attention: Any, kind: str, config: ModelConfig) -> nn.Module:
    other = MultiHeadAttention(config.d_model, config.n_heads, POSITIONS[kind](config.n_heads))
    other.w_q, other.w_k, other.w_v, other.w_o = attention.w_q, attention.w_k, attention.w_v, attention.w_o
    return other


REACH = 1  # of a window: a short sentence has pieces beyond it


def _attention(attention: Any, kind: str, config: ModelConfig) -> nn.Module:
    """An encoder's self-attention within a window, or through one state, between the same matrices."""
    other: Any = ATTENTIONS[kind].to_itself(replace(config, reach=REACH), Positions(), False)
    other.w_q, other.w_k, other.w_v, other.w_o = attention.w_q, attention.w_k, attention.w_v, attention.w_o
    return other


def _network(network: Any, kind: str, config: ModelConfig) -> nn.Module:
    """Another activation between the same matrices; a gate, which takes a third, gets three drawn at random."""
    other = NETWORKS[kind](config.d_model, config.d_ff)
    if not isinstance(other, GatedFeedForward):
        other.w_1, other.w_2 = network.w_1, network.w_2
        return other
    random = torch.Generator().manual_seed(SEED)
    for matrix in other.parameters():
        nn.init.xavier_uniform_(matrix, generator=random)
    return other


def _add_norm(residual: Any, kind: str, config: ModelConfig) -> nn.Module:
    """The norm of another kind or at another place; it has the γ that was learned, and the β if it takes one."""
    norm, place = kind.split()
    learned: nn.LayerNorm = residual.norm

    def joined() -> nn.Module:
        if norm == "layer":
            return learned
        other = RMSNorm(learned.normalized_shape[0], learned.eps)
        other.weight = learned.weight
        return other

    alpha = deep_norm_constants(config.n_layers, config.n_layers)[0].alpha
    return PLACES[place].residual(joined, alpha, 0.0)


PARTS: dict[str, Callable[[Any, str, ModelConfig], nn.Module]] = {
    "positions": _positions,
    "attention": _attention,
    "network": _network,
    "add_norm": _add_norm,
}


@kept
def exchanged(loaded: LoadedModel, exchanges: tuple[Exchange, ...]) -> LoadedModel:
    """The model with some of its parts exchanged. It shares all other weights with the model; none is copied."""
    shared = {id(one): one for one in (*loaded.model.parameters(), *loaded.model.buffers())}
    network = copy.deepcopy(loaded.model, shared)
    for exchange in exchanges:
        parent, _, name = exchange.path.rpartition(".")
        part = PARTS[exchange.part](network.get_submodule(exchange.path), exchange.kind, loaded.config)
        setattr(network.get_submodule(parent), name, part)
    network = network.eval().requires_grad_(False).to(loaded.device.torch)
    name = " with ".join([loaded.name, *(f"{one.kind} in {one.path}" for one in exchanges)])
    return replace(loaded, name=name, model=network, anatomy=anatomy_of(network))


def exchanged_pass(
    loaded: LoadedModel, exchanges: tuple[Exchange, ...], src: Ids, tgt: Ids
) -> tuple[LoadedModel, Mapping[str, Array]]:
    """The model with exchanged parts, and every value that it computes for a sentence and a given translation."""
    other = exchanged(loaded, exchanges)
    return other, forward(other, src, tgt)


def exchanged_encoding(
    loaded: LoadedModel, exchanges: tuple[Exchange, ...], src: Ids
) -> tuple[LoadedModel, Mapping[str, Array]]:
    """The model with parts of its encoder exchanged, and every value that the encoder computes for a sentence."""
    other = exchanged(loaded, exchanges)
    return other, encode(other, src)


def translate_anew(loaded: LoadedModel, text: str, most: int) -> Trace:
    """What a model writes for a text by itself, up to `most` tokens."""
    return trace(loaded, text, None, Greedy(max_steps=most))
