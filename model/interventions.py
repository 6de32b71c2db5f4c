"""What is changed inside the model, as plain data: validated, written into an address, compiled to a tap.

An intervention changes the real computation; it never draws over its result.
"""

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Self

import torch
from torch import Tensor

from model.config import ModelConfig
from model.tap import Tap, no_tap

# The three kinds of attention, by the short name used in addresses, and where layer N of each lives.
ATTENTIONS = {
    "encoder": "encoder.layers.{}.self_attn",
    "decoder": "decoder.layers.{}.self_attn",
    "cross": "decoder.layers.{}.cross_attn",
}
SUBLAYERS = {"encoder": ("self_attn", "feed_forward"), "decoder": ("self_attn", "cross_attn", "feed_forward")}
MAX_ITEMS = 64  # of any one kind: more than a person sets by hand


class InterventionError(ValueError):
    """A description of a change that cannot be read or does not fit the model; the message quotes it."""


@dataclass(frozen=True, order=True)
class Head:
    """One attention head. Layers and heads count from 0. Written `cross.2.1`."""

    attention: str
    layer: int
    head: int

    @property
    def path(self) -> str:
        """Module path of the attention it belongs to."""
        return ATTENTIONS[self.attention].format(self.layer)

    def __str__(self) -> str:
        return f"{self.attention}.{self.layer}.{self.head}"

    @classmethod
    def parse(cls, text: str) -> Self:
        found = re.fullmatch(r"(encoder|decoder|cross)\.(\d{1,3})\.(\d{1,3})", text, re.ASCII)
        if not found:
            raise InterventionError(f"{text!r} names no head; one is written like cross.2.1")
        return cls(found[1], int(found[2]), int(found[3]))


@dataclass(frozen=True, order=True)
class RowEdit:
    """Other attention weights in one row of one head: shares that add up to 1. Written `cross.2.1@3=0,0.5,0.5`."""

    head: Head
    row: int
    weights: tuple[float, ...]

    def __str__(self) -> str:
        return f"{self.head}@{self.row}={','.join(f'{w:g}' for w in self.weights)}"

    @classmethod
    def parse(cls, text: str) -> Self:
        place, equals, shares = text.partition("=")
        head, at, row = place.partition("@")
        if not (equals and at and re.fullmatch(r"\d{1,3}", row, re.ASCII)):
            raise InterventionError(f"{text!r} is no edited row; one is written like cross.2.1@3=0,0.5,0.5")
        try:
            weights = tuple(float(share) for share in shares.split(","))
        except ValueError:
            raise InterventionError(f"{shares!r} is no list of numbers") from None
        total = sum(weights)
        if not all(math.isfinite(w) and w >= 0 for w in weights) or not math.isclose(total, 1, abs_tol=0.01):
            raise InterventionError(f"the weights {shares} are not shares that add up to 1 (they add up to {total:g})")
        return cls(Head.parse(head), int(row), tuple(w / total for w in weights))


@dataclass(frozen=True, order=True)
class Block:
    """One sub-layer of one layer. Layers count from 0. Written `encoder.2.feed_forward`."""

    stack: str
    layer: int
    name: str

    @property
    def path(self) -> str:
        return f"{self.stack}.layers.{self.layer}.{self.name}"

    def __str__(self) -> str:
        return f"{self.stack}.{self.layer}.{self.name}"

    @classmethod
    def parse(cls, text: str) -> Self:
        found = re.fullmatch(r"(encoder|decoder)\.(\d{1,3})\.([a-z_]+)", text, re.ASCII)
        if not found or found[3] not in SUBLAYERS[found[1]]:
            raise InterventionError(f"{text!r} names no block; one is written like encoder.2.feed_forward")
        return cls(found[1], int(found[2]), found[3])


@dataclass(frozen=True, order=True)
class Unit:
    """One hidden unit of a feed-forward network. Layers and units count from 0. Written `encoder.2.623`."""

    stack: str
    layer: int
    unit: int

    @property
    def path(self) -> str:
        """Module path of the network it belongs to."""
        return Block(self.stack, self.layer, "feed_forward").path

    def __str__(self) -> str:
        return f"{self.stack}.{self.layer}.{self.unit}"

    @classmethod
    def parse(cls, text: str) -> Self:
        found = re.fullmatch(r"(encoder|decoder)\.(\d{1,3})\.(\d{1,5})", text, re.ASCII)
        if not found:
            raise InterventionError(f"{text!r} names no hidden unit; one is written like encoder.2.623")
        return cls(found[1], int(found[2]), int(found[3]))


@dataclass(frozen=True)
class Interventions:
    """Everything that is changed. The default changes nothing.

    heads_off:       heads whose output is set to 0
    rows:            attention rows replaced
    blocked:         source tokens (by index from 0) that nobody may attend to
    units_off:       hidden units of feed-forward networks that are set to 0
    relu_off:        feed-forward networks that go without their ReLU
    blocks_off:      sub-layers that write 0, so that what they read runs on past them unchanged
    scale_off:       no division by √d_k
    positions_off:   no positional encodings
    causal_mask_off: the decoder sees the whole target
    """

    heads_off: tuple[Head, ...] = ()
    rows: tuple[RowEdit, ...] = ()
    blocked: tuple[int, ...] = ()
    units_off: tuple[Unit, ...] = ()
    relu_off: tuple[Block, ...] = ()
    blocks_off: tuple[Block, ...] = ()
    scale_off: bool = False
    positions_off: bool = False
    causal_mask_off: bool = False

    def __post_init__(self) -> None:
        # One order and no doubles, so that equal changes compare equal and are cached once.
        for name in _READERS:
            values = tuple(sorted(set(getattr(self, name))))
            if len(values) > MAX_ITEMS:
                raise InterventionError(f"{len(values)} entries in {name}; at most {MAX_ITEMS} are taken")
            object.__setattr__(self, name, values)
        if any(index < 0 for index in self.blocked):
            raise InterventionError(f"blocked tokens count from 0, got {min(self.blocked)}")
        for block in self.relu_off:
            if block.name != "feed_forward":
                raise InterventionError(f"{block} has no ReLU; only feed-forward networks have one")

    def __bool__(self) -> bool:
        return self != NOTHING

    @property
    def settled(self) -> bool:
        """Whether a target position's keys and values stay as they are while the target grows, so that a cache helps.

        Not where the decoder sees ahead, and not where a row is replaced: which row that is shows in a whole map only.
        """
        return not (self.causal_mask_off or self.rows)

    def __str__(self) -> str:
        """For an address: `heads_off:cross.2.1;scale_off`. Nothing changed: the empty string."""
        parts = []
        for field in fields(self):
            value = getattr(self, field.name)
            if value is True:
                parts.append(field.name)
            elif value:
                parts.append(f"{field.name}:{'+'.join(map(str, value))}")
        return ";".join(parts)

    @classmethod
    def parse(cls, text: str) -> Self:
        """The inverse of `str`.

        Raises: InterventionError, quoting the part that cannot be read
        """
        values: dict[str, object] = {}
        for part in filter(None, text.split(";")):
            name, colon, items = part.partition(":")
            if name in values:
                raise InterventionError(f"{name} is given twice")
            if colon and name in _READERS:
                values[name] = tuple(_READERS[name](item) for item in items.split("+"))
            elif not colon and name in ("scale_off", "positions_off", "causal_mask_off"):
                values[name] = True
            else:
                raise InterventionError(f"{part!r} is no change this model knows")
        return cls(**values)  # type: ignore[arg-type]

    def check(self, config: ModelConfig, src_len: int) -> None:
        """Raise InterventionError, naming the numbers, where a change does not fit this model or sentence."""
        layers = config.n_layers - 1
        for head in (*self.heads_off, *(edit.head for edit in self.rows)):
            if head.layer > layers or head.head >= config.n_heads:
                raise InterventionError(
                    f"{head} does not exist: layers and heads end at {layers} and {config.n_heads - 1}"
                )
        for unit in self.units_off:
            if unit.layer > layers or unit.unit >= config.d_ff:
                raise InterventionError(
                    f"{unit} does not exist: layers and units end at {layers} and {config.d_ff - 1}"
                )
        for block in (*self.relu_off, *self.blocks_off):
            if block.layer > layers:
                raise InterventionError(f"{block} does not exist: layers end at {layers}")
        if any(index >= src_len for index in self.blocked):
            raise InterventionError(
                f"token {max(self.blocked)} cannot be blocked: the last of the sentence is {src_len - 1}"
            )
        if len(self.blocked) >= src_len:
            raise InterventionError("at least one token of the sentence must stay visible")

    def compile(self, d_k: int) -> Tap:
        """The tap that makes these changes while a model with heads of width d_k runs: one tap for each run.

        Without a ReLU the tap puts what went into it in the place of what came out, so it remembers that one value.
        """
        if not self:
            return no_tap
        heads = _by_path((head.path, head.head) for head in self.heads_off)
        units = _by_path((unit.path, unit.unit) for unit in self.units_off)
        linear, silent = ({block.path for block in blocks} for blocks in (self.relu_off, self.blocks_off))
        before_relu: dict[str, Tensor] = {}
        edits = {path: [e for e in self.rows if e.head.path == path] for path in {e.head.path for e in self.rows}}

        def change(name: str, value: Tensor) -> Tensor:
            path, _, what = name.rpartition(".")
            match what:
                case "scaled" if self.scale_off and path.endswith("_attn"):
                    return value * math.sqrt(d_k)
                case "positions" if self.positions_off:
                    return torch.zeros_like(value)
                case "mask" if self.causal_mask_off and path == "decoder":
                    return torch.ones_like(value)
                case "mask" | "memory_mask" if self.blocked and name != "decoder.mask":
                    return _without(value, self.blocked)
                case "weights" if path in edits:
                    return _with_rows(value, edits[path])
                case "heads" if path in heads:
                    value = value.clone()
                    value[:, heads[path]] = 0
                    return value
                case "pre_activation" if path in linear:
                    before_relu[path] = value
                case "hidden" if path in linear or path in units:
                    value = before_relu.pop(path, value).clone()
                    value[..., units.get(path, [])] = 0
                    return value
                case "output" if path in silent:
                    return torch.zeros_like(value)
            return value

        return change


def _parse_index(text: str) -> int:
    if not re.fullmatch(r"\d{1,3}", text, re.ASCII):
        raise InterventionError(f"{text!r} is no token index")
    return int(text)


# The fields that hold several things, and how one of them is read.
_READERS: dict[str, Callable[[str], object]] = {
    "heads_off": Head.parse,
    "rows": RowEdit.parse,
    "blocked": _parse_index,
    "units_off": Unit.parse,
    "relu_off": Block.parse,
    "blocks_off": Block.parse,
}

NOTHING = Interventions()


def _by_path(places: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for path, index in places:
        found.setdefault(path, []).append(index)
    return found


def _without(mask: Tensor, blocked: tuple[int, ...]) -> Tensor:
    mask = mask.clone()
    mask[..., list(blocked)] = False
    return mask


def _with_rows(weights: Tensor, edits: list[RowEdit]) -> Tensor:
    """weights (B,H,T,S) with some rows replaced; an edit that does not fit this length is left out."""
    weights = weights.clone()
    for edit in edits:
        if edit.row < weights.size(2) and len(edit.weights) == weights.size(3):
            weights[:, edit.head.head, edit.row] = weights.new_tensor(edit.weights)
    return weights
