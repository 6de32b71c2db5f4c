"""What the map of a model shows, found from its anatomy: blocks, what runs past one, and what feeds one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from model.anatomy.structure import Anatomy, Stack, SubLayer
from model.files.model_card import About
from ui.components.architecture.words import SUBLAYERS, WORDS, Words

Picture = Literal["", "values", "weights", "peaks", "bars"]
NORMS = ("layer_norm", "rms_norm")  # operations


@dataclass(frozen=True)
class Block:
    """One block of the map.

    id:      its name in links and lessons
    kind:    of `WORDS`; fill: what stands in place of the {…} there
    tensor:  the tensor it is shown by, the last layer's if every layer has one; "" for none
    picture: how that tensor is made small
    layer:   the number of that layer, from 1; 0 for a block that stands once
    """

    id: str
    kind: str
    fill: Mapping[str, str]
    tensor: str = ""
    picture: Picture = ""
    layer: int = 0

    @property
    def words(self) -> Words:
        return Words(*(text.format_map(self.fill) for text in WORDS[self.kind]))


@dataclass(frozen=True)
class Column:
    """One stack of the map; every list goes from bottom to top.

    tokens: the axis of its tokens; pieces: what these are, where no sentence is shown
    inputs: blocks below the layers; layer: blocks of a layer; frame: around them; outputs: blocks above
    past:   for each residual, the ids of the block below which it leaves and of the one where it is added
    """

    tokens: str
    pieces: str
    inputs: tuple[Block, ...]
    layer: tuple[Block, ...]
    frame: Block
    outputs: tuple[Block, ...]
    past: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Plan:
    """The whole map.

    tokens: the block of all token rows; output: what the model writes
    feeds:  ids: the frame of a stack and the block of another stack that reads what it returns
    """

    tokens: Block
    columns: tuple[Column, ...]
    feeds: tuple[tuple[str, str], ...]
    output: str

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks from bottom to top, stack after stack; last what stands above the stacks."""
        inside = [block for c in self.columns for block in (*c.inputs, *c.layer, c.frame)]
        return (self.tokens, *inside, *(block for c in self.columns for block in c.outputs))

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(block.id for block in self.blocks)


def plan_of(anatomy: Anatomy, about: About) -> Plan:
    """The map of a model with this anatomy, in the languages that it is about."""
    reads = (
        "the decoder reads what is written so far, after <sos>"
        if anatomy.reads_source
        else "the model goes on writing where the text ends"
    )
    drawn = [_StackPlan(anatomy, about, stack) for stack in anatomy.stacks]
    return Plan(
        tokens=Block("tokenize", "tokens", {"reads": reads}),
        columns=tuple(one.column() for one in drawn),
        feeds=tuple(feed for one in drawn for feed in one.feeds()),
        output=_output(anatomy),
    )


def _output(anatomy: Anatomy) -> str:
    """What the model writes, in a word."""
    return "translation" if anatomy.reads_source else "text"


def _piece(anatomy: Anatomy, about: About, stack: Stack) -> str:
    """What a token of the stack is called; a decoder alone reads and writes one text."""
    language = about.source if stack.tokens == "src" else about.target if anatomy.reads_source else ""
    return f"{language} piece".strip()


def _cases(word: str, name: str) -> dict[str, str]:
    """A stack's name, small and as a title begins: stack, Stack."""
    return {word: name, word.capitalize(): name.capitalize()}


class _StackPlan:
    """Finds the blocks of one stack."""

    def __init__(self, anatomy: Anatomy, about: About, stack: Stack) -> None:
        self.anatomy, self.about, self.stack = anatomy, about, stack
        self.layer = stack.layers[-1]
        self.n = len(stack.layers)
        self.has_last_norm = stack.writes != self.layer.writes
        self.source = {sublayer.name: self._source(stack, sublayer) for sublayer in self.layer.sublayers}
        piece, output = _piece(anatomy, about, stack), _output(anatomy)
        given = stack.tokens == "src"
        self.fill = {
            **_cases("stack", stack.name),
            "n": str(self.n),
            "layers": f"{self.n} layer{'s' * (self.n != 1)}",
            "then": self._then(),
            "piece": piece,
            "piece_so_far": piece + ("" if given else " written so far" if anatomy.reads_source else " so far"),
            "whole": "sentence" if given else output,
            "output": output,
        }

    def _source(self, stack: Stack, sublayer: SubLayer) -> Stack | None:
        """The other stack whose output an attention of this stack takes its keys and values from, if it does."""
        reads = self.anatomy.tensors[f"{sublayer.path}.k"].reads if sublayer.kind == "attention" else ()
        return next((other for other in self.anatomy.stacks if other is not stack and other.writes in reads), None)

    def _then(self) -> str:
        """What becomes of the stack's output, and what its layers read besides their input."""
        readers = [
            other.name
            for other in self.anatomy.stacks
            if any(self._source(other, sublayer) is self.stack for sublayer in other.layers[-1].sublayers)
        ]
        returns = "a last norm makes of it" if self.has_last_norm else "the last one returns"
        then = [f"; the {reader} reads what {returns}" for reader in readers]
        return "".join([*then, *(f"; each of them reads the {s.name}'s result" for s in self.source.values() if s)])

    def column(self) -> Column:
        parts = [tuple(self._sublayer(sublayer)) for sublayer in self.layer.sublayers]
        so_far = "" if self.stack.tokens == "src" else " so far"
        outputs = tuple(self._outputs())
        return Column(
            tokens=self.stack.tokens,
            pieces=f"{self.fill['piece']}s{so_far}",
            inputs=tuple(self._inputs()),
            layer=tuple(block for part in parts for block in part),
            frame=Block(
                f"{self.stack.name}.stack", "stack", self.fill, self.layer.writes if outputs else self.stack.writes
            ),
            outputs=outputs,
            past=tuple((part[0].id, part[-1].id) for part in parts),
        )

    def feeds(self) -> Iterator[tuple[str, str]]:
        for sublayer, source in self.source.items():
            if source:
                yield f"{source.name}.stack", f"{self.stack.name}.{sublayer}"

    def _inputs(self) -> Iterator[Block]:
        """The embedding, and positions where they are added to it."""
        name, tensors = self.stack.name, self.anatomy.tensors
        made = tensors[self.stack.embedding_writes]
        scaled = made.reads[0] if made.reads else self.stack.embedding_writes
        yield Block(f"{name}.embedding", "embedding", self.fill, scaled, "values")
        if made.operation == "add_positions":
            kind = "sinusoid" if tensors[made.reads[1]].operation == "sinusoid" else "positions"
            yield Block(f"{name}.positions", kind, self.fill, made.reads[1], "values")

    def _sublayer(self, sublayer: SubLayer) -> Iterator[Block]:
        """A sub-layer with what stands around it, in its order: norms, and where the residual is added."""
        kind = sublayer.kind
        fill = dict(self.fill)
        if kind == "attention":
            kind = "masked" if self.anatomy.attention_at(sublayer.path).causal else "self"
        if source := self.source[sublayer.name]:
            kind = "cross"
            fill |= _cases("other", source.name) | {"other_piece": _piece(self.anatomy, self.about, source)}
        fill["sublayer"], fill["what"] = (text.format_map(fill) for text in SUBLAYERS[kind])
        around = f"{self.stack.name}.{sublayer.residual}"

        def block(id: str, kind: str, tensor: str, picture: Picture = "values") -> Block:
            return Block(id, kind, fill, tensor, picture, self.n)

        if sublayer.norm in ("before", "both"):
            yield block(f"{around}.norm", "norm", sublayer.reads)
        if sublayer.kind == "attention":
            yield block(f"{self.stack.name}.{sublayer.name}", kind, f"{sublayer.path}.weights", "weights")
        else:
            yield block(f"{self.stack.name}.{sublayer.name}", kind, sublayer.writes)
        if sublayer.norm == "both":
            yield block(f"{around}.norm_after", "norm_after", self.anatomy.tensors[sublayer.result].reads[-1])
        yield block(around, "add_norm" if sublayer.norm == "after" else "add", sublayer.result)

    def _outputs(self) -> Iterator[Block]:
        """From what the last layer returns to the probabilities, if this is the stack that the scores are made from."""
        path, name = ["logits"], "logits"
        while name != self.layer.writes:
            made = self.anatomy.tensors.get(name)
            if made is None or not made.reads:
                return
            name = made.reads[0]
            path.append(name)
        before = path[1:-1]
        if all(self.anatomy.tensors[tensor].operation in NORMS for tensor in before):
            for tensor in reversed(before):
                yield Block(f"output.{tensor.rpartition('.')[2]}", "last_norm", self.fill, tensor, "values")
        else:
            yield Block("output.head", "head", self.fill, before[0], "values")
        tied = self.anatomy.tensors["logits"].operation.startswith("compare_with_embeddings")
        yield Block("output.linear", "tied" if tied else "linear", self.fill, "logits", "peaks")
        yield Block("output.softmax", "softmax", self.fill, "probabilities", "bars")
