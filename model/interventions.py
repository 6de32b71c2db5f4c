"""What is changed inside the model, as plain data: validated, written into an address, compiled to a tap.

An intervention changes the real computation; it never draws over its result.
"""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import partial
from typing import Self

import torch
from torch import Tensor

from model.anatomy.structure import Anatomy, SubLayer
from model.tap import Tap, no_tap

MAX_ITEMS = 64  # of any one kind: more than a person sets by hand


class InterventionError(ValueError):
    """A description of a change that cannot be read or does not fit the model; the message quotes it."""


@dataclass(frozen=True, order=True)
class Head:
    """One attention head. Layers and heads count from 0. Written `cross.2.1`."""

    attention: str
    layer: int
    head: int

    def __str__(self) -> str:
        return f"{self.attention}.{self.layer}.{self.head}"

    @classmethod
    def parse(cls, text: str) -> Self:
        match = re.fullmatch(r"([a-z_]{1,20})\.(\d{1,3})\.(\d{1,3})", text, re.ASCII)
        if not match:
            raise InterventionError(f"{text!r} names no head; one is written like cross.2.1")
        return cls(match[1], int(match[2]), int(match[3]))


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
    def place(self) -> tuple[str, int, str]:
        """Stack, layer and name, by which the anatomy finds it."""
        return self.stack, self.layer, self.name

    def __str__(self) -> str:
        return f"{self.stack}.{self.layer}.{self.name}"

    @classmethod
    def parse(cls, text: str) -> Self:
        match = re.fullmatch(r"([a-z_]{1,20})\.(\d{1,3})\.([a-z_]{1,20})", text, re.ASCII)
        if not match:
            raise InterventionError(f"{text!r} names no block; one is written like encoder.2.feed_forward")
        return cls(match[1], int(match[2]), match[3])


@dataclass(frozen=True, order=True)
class Unit:
    """One hidden unit of a feed-forward network. Layers and units count from 0. Written `encoder.2.623`."""

    stack: str
    layer: int
    unit: int

    @property
    def block(self) -> Block:
        """The network it belongs to."""
        return Block(self.stack, self.layer, "feed_forward")

    def __str__(self) -> str:
        return f"{self.stack}.{self.layer}.{self.unit}"

    @classmethod
    def parse(cls, text: str) -> Self:
        match = re.fullmatch(r"([a-z_]{1,20})\.(\d{1,3})\.(\d{1,5})", text, re.ASCII)
        if not match:
            raise InterventionError(f"{text!r} names no hidden unit; one is written like encoder.2.623")
        return cls(match[1], int(match[2]), int(match[3]))


@dataclass(frozen=True)
class Interventions:
    """Everything that is changed. The default changes nothing.

    heads_off:       heads whose output is set to 0
    rows:            attention rows replaced
    blocked:         source tokens (by index from 0) that nobody may attend to
    units_off:       hidden units of feed-forward networks that are set to 0
    relu_off:        feed-forward networks that go without their ReLU, or whichever activation they have
    blocks_off:      sub-layers that write 0, so that what they read runs on past them unchanged
    scale_off:       no division by √d_k
    positions_off:   no positional encodings, no turning of queries and keys, no bias for distance
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
    def cacheable(self) -> bool:
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

    def check(self, anatomy: Anatomy, src_len: int) -> None:
        """Raise InterventionError, naming the numbers, where a change does not fit this model or sentence."""
        for head in (*self.heads_off, *(edit.head for edit in self.rows)):
            layers = anatomy.attentions.get(head.attention, ())
            if head.layer >= len(layers) or head.head >= layers[head.layer].n_heads:
                ends = f"layers and heads end at {len(layers) - 1} and {layers[0].n_heads - 1}" if layers else ""
                raise InterventionError(f"{head} does not exist" + (f": {ends}" if ends else " in this model"))
        for block in (*self.relu_off, *self.blocks_off):
            _check_block(anatomy, block)
        for unit in self.units_off:
            n_units = _check_block(anatomy, unit.block).n_units
            if unit.unit >= n_units:
                last = len(anatomy.stack(unit.stack).layers) - 1
                raise InterventionError(f"{unit} does not exist: layers and units end at {last} and {n_units - 1}")
        if any(index >= src_len for index in self.blocked):
            raise InterventionError(
                f"token {max(self.blocked)} cannot be blocked: the last of the sentence is {src_len - 1}"
            )
        if len(self.blocked) >= src_len:
            raise InterventionError("at least one token of the sentence must stay visible")

    def compile(self, anatomy: Anatomy) -> Tap:
        """The tap that makes these changes while a model of this anatomy runs: one tap for each run."""
        return _Change(self, anatomy) if self else no_tap


def _check_block(anatomy: Anatomy, block: Block) -> SubLayer:
    stacks = {stack.name: stack for stack in anatomy.stacks}
    if block.stack not in stacks:
        raise InterventionError(f"{block} does not exist in this model")
    layers = stacks[block.stack].layers
    if block.layer >= len(layers):
        raise InterventionError(f"{block} does not exist: layers end at {len(layers) - 1}")
    sublayers = {sublayer.name: sublayer for sublayer in layers[block.layer].sublayers}
    if block.name not in sublayers:
        raise InterventionError(f"{block} does not exist in this model")
    return sublayers[block.name]


class _Change:
    """The tap of some interventions: by name of a value, what is done to it.

    To leave out a part (see `Made`), what went in is kept, and put in the place of what comes out.
    """

    def __init__(self, change: Interventions, anatomy: Anatomy) -> None:
        self.steps: dict[str, list[Callable[[Tensor], Tensor]]] = {}
        self.stands_in: dict[str, list[str]] = {}  # by name of a value, those in whose place it is put
        self.kept: dict[str, Tensor] = {}  # by name of the value that it replaces
        for name in _left_out(change, anatomy):
            if reads := anatomy.tensors[name].reads:
                self.stands_in.setdefault(reads[0], []).append(name)
            else:
                self.add(name, torch.zeros_like)
        for name, made in anatomy.tensors.items():
            if made.operation == "causal_mask" and change.causal_mask_off:
                self.add(name, torch.ones_like)
            if made.operation == "pad_mask" and made.axes[-1] == "src" and change.blocked:
                self.add(name, partial(_without, axis=-1, indices=list(change.blocked)))
        for head in change.heads_off:
            self.add(
                anatomy.attention(head.attention, head.layer).heads, partial(_without, axis=1, indices=[head.head])
            )
        for edit in change.rows:
            self.add(anatomy.attention(edit.head.attention, edit.head.layer).weights, partial(_with_row, edit=edit))
        for unit in change.units_off:
            hidden, _ = anatomy.sublayer(*unit.block.place).units
            self.add(hidden, partial(_without, axis=-1, indices=[unit.unit]))
        for block in change.blocks_off:
            self.add(anatomy.sublayer(*block.place).writes, torch.zeros_like)

    def add(self, name: str, step: Callable[[Tensor], Tensor]) -> None:
        self.steps.setdefault(name, []).append(step)

    def __call__(self, name: str, value: Tensor) -> Tensor:
        value = self.kept.pop(name, value)
        for step in self.steps.get(name, ()):
            value = step(value)
        for replaced in self.stands_in.get(name, ()):
            self.kept[replaced] = value
        return value


def _left_out(change: Interventions, anatomy: Anatomy) -> Iterator[str]:
    """Names of the values whose part is left out."""
    linear = tuple(f"{anatomy.sublayer(*block.place).path}." for block in change.relu_off)
    for name, made in anatomy.tensors.items():
        is_bare = change.scale_off and made.part == "scale"
        is_unordered = change.positions_off and made.part == "positions"
        if is_bare or is_unordered or (made.part == "activation" and name.startswith(linear)):
            yield name


def _without(value: Tensor, axis: int, indices: list[int]) -> Tensor:
    """A copy that is 0, or False, at these indices of an axis."""
    return value.index_fill(axis, torch.tensor(indices, device=value.device), 0)


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


def _with_row(weights: Tensor, edit: RowEdit) -> Tensor:
    """weights (B,H,T,S) with one row replaced; an edit that does not fit this length is left out."""
    if edit.row >= weights.size(2) or len(edit.weights) != weights.size(3):
        return weights
    weights = weights.clone()
    weights[:, edit.head.head, edit.row] = weights.new_tensor(edit.weights)
    return weights
