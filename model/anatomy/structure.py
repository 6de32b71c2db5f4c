"""What a model is made of, told once: its stacks and layers, what feeds what, and what every tap holds.

`model.anatomy.describe` finds it out by walking through a model; a description stands beside each module. All else is
read from the result: interventions find the places they change, Check finds the numbers that a value was made from, the
map and the pages on attention find what there is to draw.

Axes: "head"; "src", "tgt" and "labels" for tokens ("labels" where row t is about the token that is written after
tgt[t]); "d_model", "d_k", "d_ff", "vocab" for numbers; "one" for an axis of length 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

TOKEN_AXES = ("src", "tgt", "labels")


@dataclass(frozen=True)
class Made:
    """How one tapped value is made.

    operation: what is done; `explain` has a rule for each
    reads:     names of the tensors it is made from; weights: names of the learned parameters
    axes:      what its axes count, the batch left out
    constants: numbers that it needs and that are not learned, like the ε of a norm
    part:      what made it within its module, like "activation", "positions" or "scale". To leave a part out is to put
               what its value reads first in the place of the value, or 0 if it reads nothing
    """

    operation: str
    reads: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()
    axes: tuple[str, ...] = ()
    constants: tuple[float, ...] = ()
    part: str = ""


@dataclass(frozen=True)
class SubLayer:
    """One sub-layer of one layer, with the residual around it.

    stack, layer, name: where it is, like "encoder", 2, "self_attn"
    kind:     "attention" or, as its name, "feed_forward"
    reads:    name of the tensor that goes in; writes: of what comes out
    residual: name of the residual in its layer; stream: the tensor that runs past; result: stream and output joined
    norm:     where the residual normalises: "after", "before" or "both"
    units:    of a feed-forward network, the tensor of its hidden units, and how many it has (d_ff)
    """

    stack: str
    layer: int
    name: str
    kind: str
    reads: str
    writes: str
    residual: str
    stream: str
    result: str
    norm: str
    units: tuple[str, int] = ("", 0)

    @property
    def path(self) -> str:
        return f"{self.stack}.layers.{self.layer}.{self.name}"

    @property
    def n_units(self) -> int:
        return self.units[1]

    @property
    def place(self) -> tuple[str, int, str]:
        """Stack, layer and name, by which an intervention finds it."""
        return self.stack, self.layer, self.name


@dataclass(frozen=True)
class Attention:
    """One attention: `kind` is "encoder", "decoder" or "cross"; rows and columns are token axes."""

    kind: str
    layer: int
    path: str
    n_heads: int
    d_k: int
    rows: str
    columns: str
    causal: bool

    @property
    def weights(self) -> str:
        """Name of the tensor of its weights (H,T,S); each row adds up to 1."""
        return f"{self.path}.weights"

    @property
    def heads(self) -> str:
        """Name of the tensor of what its heads return (H,T,d_k)."""
        return f"{self.path}.heads"


@dataclass(frozen=True)
class Layer:
    """One layer of a stack: its sub-layers in order; names of the tensors that go in and come out."""

    stack: str
    index: int
    sublayers: tuple[SubLayer, ...]
    reads: str
    writes: str

    @property
    def path(self) -> str:
        return f"{self.stack}.layers.{self.index}"


@dataclass(frozen=True)
class Stack:
    """Equal layers, one after the other. tokens: the axis of its rows; embedding: path; writes: what it returns."""

    name: str
    tokens: str
    embedding: str
    embedding_writes: str
    layers: tuple[Layer, ...]
    writes: str


@dataclass(frozen=True)
class Anatomy:
    """A whole model.

    tensors:    how every tapped value is made, by name
    attentions: every attention, by kind and then by layer
    """

    stacks: tuple[Stack, ...]
    tensors: Mapping[str, Made]
    attentions: Mapping[str, tuple[Attention, ...]]

    def stack(self, name: str) -> Stack:
        """Raises: KeyError"""
        return {stack.name: stack for stack in self.stacks}[name]

    def layer(self, stack: str, index: int) -> Layer:
        """Raises: KeyError, IndexError"""
        return self.stack(stack).layers[index]

    def sublayer(self, stack: str, layer: int, name: str) -> SubLayer:
        """Raises: KeyError, IndexError"""
        return {sublayer.name: sublayer for sublayer in self.layer(stack, layer).sublayers}[name]

    def attention(self, kind: str, layer: int) -> Attention:
        """Raises: KeyError, IndexError"""
        return self.attentions[kind][layer]

    def attention_at(self, path: str) -> Attention:
        """The attention at a module path. Raises: KeyError"""
        return self._attention_by_path[path]

    @cached_property
    def _attention_by_path(self) -> Mapping[str, Attention]:
        return {attention.path: attention for layers in self.attentions.values() for attention in layers}

    def axes(self, name: str) -> tuple[str, ...]:
        return self.tensors[name].axes

    @property
    def reads_source(self) -> bool:
        """Whether a source sentence goes in, apart from the target."""
        return any(stack.tokens == "src" for stack in self.stacks)

    @property
    def writes_target(self) -> bool:
        """Whether it writes: an encoder alone does not."""
        return any(stack.tokens == "tgt" for stack in self.stacks)
