"""How a model is described: each kind of module says what its `forward` makes, with names in place of numbers.

A description stands beside its module and goes the way of its `forward`. It is given the names of what goes in, writes
down every value that is tapped, and returns the name of what comes out.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import singledispatch
from types import MappingProxyType

from torch import nn

from model.anatomy.structure import Anatomy, Attention, Layer, Made, Stack, SubLayer

Input = str | Callable[[str], str]  # a value's name; for a residual also its sub-layer, a function from name to name


@dataclass
class Scribe:
    """Writes down what is made, scoped like the tap.

    path:    before the names of taps; module: before the names of weights (two stacks may share one embedding)
    part:    what the module holds this part as, like "norm"; writes: the name under which it taps the part's result
    tokens:  the axis of the rows that pass
    stack, layer: where in the model; units: by name of a tapped value, how many hidden units it holds
    """

    path: str = ""
    module: str = ""
    part: str = ""
    writes: str = ""
    tokens: str = "tgt"
    stack: str = ""
    layer: int = 0
    tensors: dict[str, Made] = field(default_factory=dict)
    units: dict[str, int] = field(default_factory=dict)
    attentions: dict[str, list[Attention]] = field(default_factory=dict)
    layers: list[Layer] = field(default_factory=list)
    stacks: list[Stack] = field(default_factory=list)

    def name(self, what: str) -> str:
        return _join(self.path, what)

    def axes(self, name: str) -> tuple[str, ...]:
        """The axes of a value written down before; of any other, those of one row a token."""
        return self.tensors[name].axes if name in self.tensors else (self.tokens, "d_model")

    def under(self, name: str, module: str = "") -> "Scribe":
        """For a sub-module that taps under its own name; module: the path of its weights, if that is another one."""
        return replace(self, path=self.name(name), module=module or _join(self.module, name), part="", writes="")

    def of_part(self, part: str, writes: str) -> "Scribe":
        """For a part without a name in the taps: this module taps what the part returns, as `writes`."""
        return replace(self, module=_join(self.module, part), part=part, writes=writes)

    def of_stack(self, name: str, tokens: str) -> "Scribe":
        return replace(self.under(name), stack=name, tokens=tokens)

    def made(
        self,
        what: str,
        operation: str,
        *reads: str,
        weights: tuple[str, ...] = (),
        axes: tuple[str, ...] = (),
        constants: tuple[float, ...] = (),
        part: str = "",
    ) -> str:
        """Write down a value under this path, see `Made`; returns its name.

        weights: as this module calls them; axes: without any, those of one row a token
        """
        paths = tuple(_join(self.module, weight) for weight in weights)
        axes = axes or (self.tokens, "d_model")
        self.tensors[self.name(what)] = Made(operation, reads, paths, axes, constants, part or self.part)
        return self.name(what)

    def attends(self, x: str, memory: str, mask: str, n_heads: int, d_k: int) -> None:
        """Write down that this module is an attention: rows of x look at the rows of memory that the mask shows."""
        causal = mask in self.tensors and self.tensors[mask].operation == "causal_mask"
        kind = "cross" if memory != x else "decoder" if causal else "encoder"
        layers, columns = self.attentions.setdefault(kind, []), self.axes(memory)[0]
        layers.append(Attention(kind, len(layers), self.path, n_heads, d_k, self.tokens, columns, causal))

    def sublayer(self, name: str, residual: str, stream: str, reads: str, writes: str, result: str) -> SubLayer:
        """What is written down of one sub-layer and the residual around it, put together; see `SubLayer`."""
        path, before, after = self.name(name), reads != stream, writes not in self.tensors[result].reads
        is_attention = any(path == attention.path for layers in self.attentions.values() for attention in layers)
        return SubLayer(
            self.stack,
            self.layer,
            name,
            "attention" if is_attention else name,
            reads,
            writes,
            residual,
            stream,
            result,
            norm="both" if before and after else "before" if before else "after",
            units=next(((value, n) for value, n in self.units.items() if value.startswith(f"{path}.")), ("", 0)),
        )


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


@singledispatch
def describe(module: object, scribe: Scribe, *inputs: Input) -> str:
    """Write down what `module.forward` makes of its inputs; returns the name of the result.

    Raises: TypeError for a kind of module that has not been registered
    """
    raise TypeError(f"nobody has described {type(module).__name__}; register a function with model.describe.describe")


def anatomy_of(model: nn.Module) -> Anatomy:
    """What a model is made of. Raises: TypeError for a module that nobody has described"""
    scribe = Scribe()
    describe(model, scribe)
    attentions = {kind: tuple(layers) for kind, layers in scribe.attentions.items()}
    return Anatomy(tuple(scribe.stacks), MappingProxyType(scribe.tensors), MappingProxyType(attentions))
