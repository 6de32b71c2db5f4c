"""How a model is described: each kind of module says what its `forward` makes, with names in place of numbers.

`describe` has one function for each kind of module, chosen by its type; a new kind of module registers its own.
"""

from dataclasses import dataclass, field, replace
from functools import singledispatch
from types import MappingProxyType
from typing import Any

import torch
from torch import nn

from model.anatomy.structure import Anatomy, Attention, Layer, Made, Stack, SubLayer
from model.families.encoder_decoder import EncoderDecoder
from model.parts.attention import MultiHeadAttention
from model.parts.embedding import SegmentEmbedding, TokenEmbedding, UnscaledEmbedding
from model.parts.feed_forward import FeedForward, GatedFeedForward
from model.parts.layers import DecoderLayer, EncoderLayer
from model.parts.positions import Alibi, Learned, Positions, RelativeBias, Rotary, Sinusoidal, alibi_slopes
from model.parts.residual import DeepNorm, PostNorm, PreNorm, SandwichNorm
from model.parts.stacks import Decoder, Encoder


@dataclass
class Scribe:
    """Writes down what is made, scoped like the tap: names begin with `path`."""

    path: str = ""
    tokens: str = "tgt"  # the axis of the rows that pass
    module: str = ""  # path of the module, where its taps have another: both stacks share one embedding
    tensors: dict[str, Made] = field(default_factory=dict)
    attentions: dict[str, list[Attention]] = field(default_factory=dict)
    stacks: list[Stack] = field(default_factory=list)

    def name(self, what: str) -> str:
        return f"{self.path}.{what}" if self.path else what

    def weight(self, name: str) -> str:
        return f"{self.module}.{name}" if self.module else self.name(name)

    def under(self, path: str) -> "Scribe":
        return replace(self, path=self.name(path))

    def made(
        self,
        what: str,
        operation: str,
        *reads: str,
        weights: tuple[str, ...] = (),
        last: str = "d_model",
        constants: tuple[float, ...] = (),
    ) -> str:
        """Write down a value with one row a token, under this path; returns its name."""
        names = tuple(map(self.weight, weights))
        return self.put(what, Made(operation, reads, names, (self.tokens, last), constants))

    def put(self, what: str, made: Made) -> str:
        self.tensors[self.name(what)] = made
        return self.name(what)


@singledispatch
def describe(module: Any, scribe: Scribe, *inputs: Any) -> Any:
    """Write down what `module.forward` makes of the inputs, given by name; returns the name of the result.

    Raises: TypeError for a kind of module that has not been registered
    """
    raise TypeError(
        f"nobody has described {type(module).__name__}; register a function with model.anatomy.describe.describe"
    )


@describe.register
def _(module: nn.LayerNorm, scribe: Scribe, what: str, x: str) -> str:
    return scribe.made(what, "layer_norm", x, weights=("norm.weight", "norm.bias"), constants=(module.eps,))


@describe.register
def _(module: nn.RMSNorm, scribe: Scribe, what: str, x: str) -> str:
    epsilon = torch.finfo(module.weight.dtype).eps if module.eps is None else module.eps  # torch's default
    return scribe.made(what, "rms_norm", x, weights=("norm.weight",), constants=(epsilon,))


@describe.register
def _(module: nn.ReLU, scribe: Scribe, what: str, x: str) -> str:
    return scribe.made(what, "relu", x, last="d_ff")


@describe.register
def _(module: nn.GELU, scribe: Scribe, what: str, x: str) -> str:
    return scribe.made(what, "gelu_tanh" if module.approximate == "tanh" else "gelu", x, last="d_ff")


@describe.register
def _(module: nn.SiLU, scribe: Scribe, what: str, x: str) -> str:
    return scribe.made(what, "silu", x, last="d_ff")


@describe.register
def _(module: Positions, scribe: Scribe, what: str, x: str, axes: tuple[str, ...]) -> str:
    """What a scheme makes of x where `what` is "embed", "q", "k" or "bias"; without a scheme nothing."""
    return x


@describe.register
def _(module: Sinusoidal, scribe: Scribe, what: str, x: str, axes: tuple[str, ...]) -> str:
    return scribe.made("positions", "sinusoid") if what == "embed" else x


@describe.register
def _(module: Rotary, scribe: Scribe, what: str, x: str, axes: tuple[str, ...]) -> str:
    return x if what in ("embed", "bias") else scribe.put(f"rotated_{what}", Made("rotate", (x,), (), axes))


@describe.register
def _(module: Learned, scribe: Scribe, what: str, x: str, axes: tuple[str, ...]) -> str:
    return scribe.made("positions", "learned_position", weights=("positions.table.weight",)) if what == "embed" else x


@describe.register
def _(module: RelativeBias, scribe: Scribe, what: str, x: str, axes: tuple[str, ...]) -> str:
    if what != "bias":
        return x
    table = (scribe.weight("positions.table.weight"),)
    bias = scribe.put("bias", Made("bias_of_bucket", (), table, axes, (float(module.causal),)))
    return scribe.put("biased", Made("add_bias", (x, bias), (), axes))


@describe.register
def _(module: Alibi, scribe: Scribe, what: str, x: str, axes: tuple[str, ...]) -> str:
    if what != "bias":
        return x
    bias = scribe.put("bias", Made("bias_of_distance", (), (), axes, alibi_slopes(len(module.slopes))))
    return scribe.put("biased", Made("add_bias", (x, bias), (), axes))


@describe.register
def _(module: TokenEmbedding, scribe: Scribe, matrix: str) -> str:
    tokens = scribe.put("tokens", Made("look_up", (), (matrix,), (scribe.tokens, "d_model")))
    scaled = scribe.made("scaled", "times_sqrt_d_model", tokens)
    positions = describe(module.positions, of_embedding(scribe, matrix), "embed", scaled, ())
    return scribe.made("output", *(("add_positions", scaled, positions) if positions != scaled else ("copy", scaled)))


@describe.register
def _(module: UnscaledEmbedding, scribe: Scribe, matrix: str) -> str:
    tokens = scribe.put("tokens", Made("look_up", (), (matrix,), (scribe.tokens, "d_model")))
    positions = describe(module.positions, of_embedding(scribe, matrix), "embed", tokens, ())
    return scribe.made("output", *(("add_embeddings", tokens, positions) if positions != tokens else ("copy", tokens)))


@describe.register
def _(module: SegmentEmbedding, scribe: Scribe, matrix: str) -> str:
    axes, shared = (scribe.tokens, "d_model"), of_embedding(scribe, matrix)
    tokens = scribe.put("tokens", Made("look_up", (), (matrix,), axes))
    segments = scribe.put("segments", Made("look_up", (), (shared.weight("segments.weight"),), axes))
    both = scribe.made("with_segments", "add_embeddings", tokens, segments)
    positions = describe(module.positions, shared, "embed", both, ())
    total = scribe.made("sum", *(("add_embeddings", both, positions) if positions != both else ("copy", both)))
    return str(describe(module.norm, shared, "output", total))


def of_embedding(scribe: Scribe, matrix: str) -> Scribe:
    """A scribe for the other weights of the embedding that a matrix belongs to."""
    return replace(scribe, module=matrix.removesuffix(".matrix.weight"))


@describe.register
def _(module: MultiHeadAttention, scribe: Scribe, kind: str, x: str, memory: str, axes: tuple[str, str, bool]) -> str:
    rows, columns, causal = axes
    q = scribe.put("q", Made("project", (x,), (scribe.name("w_q.weight"),), ("head", rows, "d_k")))
    k = scribe.put("k", Made("project", (memory,), (scribe.name("w_k.weight"),), ("head", columns, "d_k")))
    v = scribe.put("v", Made("project", (memory,), (scribe.name("w_v.weight"),), ("head", columns, "d_k")))
    q = describe(module.positions, scribe, "q", q, ("head", rows, "d_k"))
    k = describe(module.positions, scribe, "k", k, ("head", columns, "d_k"))
    grid = ("head", rows, columns)
    products = scribe.put("products", Made("dot", (q, k), (), grid))
    scaled = scribe.put("scaled", Made("divide_by_sqrt_d_k", (products, q), (), grid))
    biased = describe(module.positions, scribe, "bias", scaled, grid)
    scores = scribe.put("scores", Made("mask", (biased,), (), grid))
    weights = scribe.put("weights", Made("softmax", (scores,), (), grid))
    heads = scribe.put("heads", Made("weighted_sum", (weights, v), (), ("head", rows, "d_k")))
    concat = scribe.put("concat", Made("concatenate", (heads,), (), (rows, "d_model")))
    n_heads, width = module.n_heads, module.w_q.out_features
    layers = scribe.attentions.setdefault(kind, [])
    layers.append(Attention(kind, len(layers), scribe.path, n_heads, width // n_heads, rows, columns, causal))
    return scribe.put("output", Made("linear", (concat,), (scribe.name("w_o.weight"),), (rows, "d_model")))


@describe.register
def _(module: FeedForward, scribe: Scribe, x: str) -> str:
    before = scribe.made("pre_activation", "linear", x, weights=("w_1.weight", "w_1.bias"), last="d_ff")
    hidden = describe(module.activation, scribe, "hidden", before)
    return scribe.made("output", "linear", hidden, weights=("w_2.weight", "w_2.bias"))


@describe.register
def _(module: GatedFeedForward, scribe: Scribe, x: str) -> str:
    before = scribe.made("pre_activation", "linear", x, weights=("w_1.weight",), last="d_ff")
    gate = describe(module.activation, scribe, "gate", before)
    value = scribe.made("value", "linear", x, weights=("v.weight",), last="d_ff")
    hidden = scribe.made("hidden", "multiply", gate, value, last="d_ff")
    return scribe.made("output", "linear", hidden, weights=("w_2.weight",))


# A residual is told in two halves: what its sub-layer reads, and how the sub-layer's output joins the stream.


@singledispatch
def sublayer_input(residual: Any, scribe: Scribe, stream: str) -> str:
    """The name of what the sub-layer reads: by default the stream itself."""
    return stream


@sublayer_input.register(PreNorm)
@sublayer_input.register(SandwichNorm)
def _(residual: Any, scribe: Scribe, stream: str) -> str:
    return str(describe(residual.norm, scribe, "normed", stream))


@describe.register
def _(module: PostNorm, scribe: Scribe, stream: str, output: str) -> tuple[str, str]:
    return describe(module.norm, scribe, "output", scribe.made("sum", "add_residual", stream, output)), "after"


@describe.register
def _(module: DeepNorm, scribe: Scribe, stream: str, output: str) -> tuple[str, str]:
    total = scribe.made("sum", "add_weighted_residual", stream, output, constants=(module.alpha,))
    return describe(module.norm, scribe, "output", total), "after"


@describe.register
def _(module: PreNorm, scribe: Scribe, stream: str, output: str) -> tuple[str, str]:
    return scribe.made("output", "add_residual", stream, output), "before"


@describe.register
def _(module: SandwichNorm, scribe: Scribe, stream: str, output: str) -> tuple[str, str]:
    inside = replace(scribe)
    renormed = describe(module.norm_after, inside, "renormed", output)
    made = scribe.tensors[renormed]
    weights = tuple(name.replace(".norm.", ".norm_after.") for name in made.weights)
    scribe.tensors[renormed] = replace(made, weights=weights)
    return scribe.made("output", "add_residual", stream, renormed), "both"


def describe_layer(layer: nn.Module, scribe: Scribe, place: tuple[str, int], x: str, order: tuple[Any, ...]) -> Layer:
    """A layer of sub-layers in this order, each (name, kind, what describes it, given its input's name)."""
    sublayers, stream = [], x
    for n, (name, kind, tell) in enumerate(order, 1):
        residual, inside = getattr(layer, f"add_norm_{n}"), scribe.under(f"add_norm_{n}")
        reads = sublayer_input(residual, inside, stream)
        writes = tell(scribe.under(name), reads)
        result, norm = describe(residual, inside, stream, writes)
        n_units = layer.get_parameter(f"{name}.w_1.weight").size(0) if kind == "feed_forward" else 0
        residual_name = f"add_norm_{n}"
        sublayers.append(SubLayer(*place, name, kind, reads, writes, residual_name, stream, result, norm, n_units))
        stream = result
    return Layer(*place, tuple(sublayers), x, stream)


@describe.register
def _(module: EncoderLayer, scribe: Scribe, place: tuple[str, int], x: str, causal: bool) -> Layer:
    axes, kind = (scribe.tokens, scribe.tokens, causal), "decoder" if causal else "encoder"
    order = (
        ("self_attn", "attention", lambda at, x: describe(module.self_attn, at, kind, x, x, axes)),
        ("feed_forward", "feed_forward", lambda at, x: describe(module.feed_forward, at, x)),
    )
    return describe_layer(module, scribe, place, x, order)


@describe.register
def _(module: DecoderLayer, scribe: Scribe, place: tuple[str, int], x: str, memory: str) -> Layer:
    order = (
        ("self_attn", "attention", lambda at, x: describe(module.self_attn, at, "decoder", x, x, ("tgt", "tgt", True))),
        (
            "cross_attn",
            "attention",
            lambda at, x: describe(module.cross_attn, at, "cross", x, memory, ("labels", "src", False)),
        ),
        ("feed_forward", "feed_forward", lambda at, x: describe(module.feed_forward, at, x)),
    )
    return describe_layer(module, scribe, place, x, order)


def describe_stack(module: Encoder | Decoder, scribe: Scribe, name: str, x: str, reads: Any) -> str:
    """The layers of a stack whose embedding returns x; `reads` is what each layer needs besides its input."""
    stream, layers = x, []
    for n, layer in enumerate(module.layers):
        layers.append(describe(layer, scribe.under(f"layers.{n}"), (name, n), stream, reads))
        stream = layers[-1].writes
    if module.norm:
        stream = describe(module.norm, scribe, "normed", stream)
    scribe.stacks.append(Stack(name, scribe.tokens, f"{name}.embedding", x, tuple(layers), stream))
    return stream


@describe.register
def _(module: EncoderDecoder, scribe: Scribe) -> None:
    matrix = "embedding.matrix.weight"
    encoder = replace(scribe, path="encoder", tokens="src")
    x = describe(module.embedding, encoder.under("embedding"), matrix)
    encoder.put("mask", Made("pad_mask", (), (), ("one", "one", "src")))
    memory = describe_stack(module.encoder, encoder, "encoder", x, False)

    decoder = replace(scribe, path="decoder", tokens="tgt")
    x = describe(module.embedding, decoder.under("embedding"), matrix)
    decoder.put("mask", Made("causal_mask", (), (), ("one", "tgt", "tgt")))
    decoder.put("memory_mask", Made("pad_mask", (), (), ("one", "one", "src")))
    x = describe_stack(module.decoder, decoder, "decoder", x, memory)
    scribe.put("logits", Made("compare_with_embeddings", (x,), (matrix,), ("tgt", "vocab")))


def anatomy_of(model: nn.Module) -> Anatomy:
    """What a model is made of. Raises: TypeError for a module that nobody has described"""
    scribe = Scribe()
    describe(model, scribe)
    attentions = {kind: tuple(layers) for kind, layers in scribe.attentions.items()}
    return Anatomy(tuple(scribe.stacks), MappingProxyType(scribe.tensors), MappingProxyType(attentions))
