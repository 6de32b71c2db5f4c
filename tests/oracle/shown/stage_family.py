"""The stage beside the lessons on GPT and BERT: the machine of one stack, its numbers and its story, once more."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tests.oracle.language.statement import Statement, ThreeDigits
from tests.oracle.language.words import Piece, visible
from tests.oracle.passes import bert
from tests.oracle.passes.forward import EOS, SOS, Array, softmax
from tests.oracle.passes.language_models import LONGER, Gpt, most_pieces, next_scores, text_of
from tests.oracle.shown.stage import share, shown

Look = tuple[int, int, int, float]  # head, row, column, weight
SEP, MASK = 4, 5


@dataclass(frozen=True)
class Block:
    """One block: what it is, and which tensors it makes."""

    id: str
    kind: str
    label: str
    result: str
    layer: int = 0
    added: str = ""
    weights: str = ""


@dataclass(frozen=True)
class Machine:
    """A model of one stack with a text in it.

    pieces: those that it reads; labels: ids of those that it wrote behind each; given: how many rows are there at first
    """

    stack: str
    blocks: Sequence[Block]
    config: Mapping[str, Any]
    oracle: Any
    text: str
    pieces: Sequence[Piece]
    labels: Sequence[int]
    given: int
    moments: list[dict[str, Any]] = field(default_factory=list)

    @property
    def writes(self) -> bool:
        return self.stack == "decoder"

    @cached_property
    def shares(self) -> Array:
        return softmax(self.oracle["logits"])

    @property
    def blank(self) -> int:
        """The row of the first blank, or −1."""
        return next((n for n, one in enumerate(self.pieces) if one.id == MASK), -1)

    def tensors(self) -> list[str]:
        every = [*(b.added for b in self.blocks), *(b.result for b in self.blocks), *(b.weights for b in self.blocks)]
        return [name for name in dict.fromkeys(every) if name]

    def steps(self) -> list[dict[str, Any]]:
        found = []
        for n, row in enumerate(self.shares):
            best = [int(id) for id in np.argsort(-row)[:5]]
            taken = self.labels[n] if self.writes else best[0]
            if taken not in best:
                best[-1] = taken
            if self.writes:
                written = text_of(self.labels[: n + 1])
            else:
                ids = [taken if m == n else one.id for m, one in enumerate(self.pieces)]
                written = text_of(ids) if n == self.blank else ""
            found.append(
                {
                    "candidates": [[shown(bert.entry(id)), float(row[id]), id] for id in best],
                    "chosen": best.index(taken),
                    "written": visible(written),
                }
            )
        return found


def layers(stack: str, n_layers: int, label: str) -> list[Block]:
    return [
        block
        for n in range(n_layers)
        for path in [f"{stack}.layers.{n}"]
        for block in (
            Block(
                f"{stack}.self_attn", "attention", label, f"{path}.add_norm_1.output", n + 1,
                weights=f"{path}.self_attn.weights",
            ),
            Block(f"{stack}.feed_forward", "feed_forward", "Feed-forward", f"{path}.add_norm_2.output", n + 1),
        )
    ]  # fmt: skip


def placed(stack: str, what: str, result: str) -> Block:
    return Block(f"{stack}.{what}", "positions", f"+ {what.capitalize()}", result, added=f"{stack}.embedding.{what}")


def of_gpt(ids: Sequence[int], first: Sequence[int] = ()) -> Machine:
    """The GPT reads these pieces and goes on by the likeliest ones, after those that come first; of too many, only the
    first stand there."""
    most = most_pieces()
    ids = ids if len(ids) < most else ids[: most - LONGER]
    text, labels = text_of(ids), [*ids, *first]
    while labels[-1] != EOS and len(labels) < min(len(ids) + LONGER, most):
        labels.append(int(next_scores(tuple(labels)).argmax()))
    blocks = [
        Block("decoder.embedding", "embedding", "Token embedding", "decoder.embedding.tokens"),
        placed("decoder", "positions", "decoder.embedding.output"),
        *layers("decoder", bert.config(bert.GPT)["n_layers"], "Masked self-attention"),
        Block("output.normed", "norm", "Last norm", "decoder.normed"),
        Block("output.softmax", "output", "Next piece", ""),
    ]
    pieces = bert.pieces([SOS, *labels[:-1]])
    machine = Machine("decoder", blocks, bert.config(bert.GPT), Gpt(labels), text, pieces, labels, len(ids) + 1)
    return told(machine)


def of_bert(oracle: bert.Bert) -> Machine:
    """BERT reads a text, or two, perhaps with blanks."""
    path = "encoder.embedding"
    blocks = [
        Block("encoder.embedding", "embedding", "Token embedding", f"{path}.tokens"),
        placed("encoder", "segments", f"{path}.with_segments"),
        placed("encoder", "positions", f"{path}.sum"),
        Block("encoder.embedding.norm", "norm", "Norm", f"{path}.output"),
        *layers("encoder", bert.config()["n_layers"], "Self-attention"),
        Block("output.head", "feed_forward", "Head", "masked_token.normed"),
        Block("output.softmax", "output", "Hidden piece", ""),
    ]
    pieces = bert.pieces(oracle.ids)
    return told(Machine("encoder", blocks, bert.config(), oracle, text_of(oracle.ids), pieces, (), len(pieces)))


def clip(machine: Machine, plays: Sequence[str], small: bool) -> Statement:
    """The stage with the first stretch of moments whose blocks have these ids, in layer 1 or before it."""
    blocks, moments = machine.blocks, machine.moments
    at = [n for n, one in enumerate(moments) if one["kind"] == "block" and blocks[one["part"]].id in plays]
    last = next(n for n in at if n + 1 not in at)
    clipped = [moments[n]["part"] for n in range(max(0, at[0] - 1), last + 1)]
    seen = [block for part in clipped for block in blocks[max(0, part - 1) : part + 1]]
    names = [name for name in machine.tensors() if any(name in (b.added, b.result, b.weights) for b in seen)]

    def number_of(name: str) -> int:
        return names.index(name) if name in names else -1

    parts = [
        {
            "id": block.id,
            "kind": block.kind,
            "layer": block.layer,
            "label": block.label,
            "result": number_of(block.result),
            "added": number_of(block.added),
            "weights": number_of(block.weights),
            "memory": -1,
            "causal": machine.writes and bool(block.weights),
            "lesson": "",
        }
        for block in blocks
    ]
    panel = {
        "name": machine.stack,
        "width": machine.config["d_model"],
        "side": "target" if machine.writes else "source",
        "tokens": [shown(piece.text) for piece in machine.pieces],
        "ids": [piece.id for piece in machine.pieces],
        "parts": parts,
    }
    return Statement(
        "stage",
        {
            "text": shown(machine.text),
            "intro": f"The {machine.stack} {'writes' if machine.writes else 'reads'} English.",
            "clip": [at[0], last],
            "given": machine.given,
            "entries": machine.config["vocab_size"],
            "counts": "Step" if machine.writes else "Piece",
            "panels": [panel],
            "numbers": {name: ThreeDigits(machine.oracle[name]) for name in names},
            "steps": machine.steps(),
            "moments": moments,
            "start": None,
            "small": small,
            "near": None,
        },
    )


# --- the story -------------------------------------------------------------------------------------------------------


def told(machine: Machine) -> Machine:
    cut(machine)
    first = machine.given - 1
    for at, block in enumerate(machine.blocks[:-1]):
        work(machine, at, block, first)
    if machine.writes:
        choose(machine, first)
        for step in range(first + 1, len(machine.labels)):
            write(machine, step, slow=step == first + 1)
        stop(machine, first)
    else:
        fill(machine, first)
    return machine


def add(
    machine: Machine,
    kind: str,
    caption: str,
    stop: str = "",
    *,
    part: int = 0,
    step: int = -1,
    at: tuple[int, int] = (0, -1),
    half: int = 0,
    by_head: Sequence[str] = (),
) -> None:
    """at: the head that is shown and the row that is spoken of"""
    places = {"panel": 0, "part": part, "step": step, "head": at[0], "focus": at[1], "half": half}
    machine.moments.append({"kind": kind, "caption": caption, "by_head": list(by_head), "stop": stop, **places})


def is_letters(piece: Piece) -> bool:
    return piece.id > MASK and any(unicodedata.category(c)[0] in "LN" for c in piece.text)


def quoted(piece: Piece) -> str:
    text = shown(piece.text)
    text = text if len(text) <= 24 else text[:23] + "…"
    return f"“{text}”" if piece.id > MASK else text


def entry(id: int) -> str:
    return quoted(Piece(id, bert.entry(id), 0))


def plural(n: int, thing: str) -> str:
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"


def cut(machine: Machine) -> None:
    what, signs, pieces = "The text is", "", list(machine.pieces[1 : machine.given])
    if not machine.writes:
        two = sum(one.id == SEP for one in pieces) == 2
        pieces = [one for one in pieces if one.id != SEP]
        what = "The two texts are" if two else what
        signs = " [CLS] comes first, [SEP] behind each text." if two else " [CLS] and [SEP] stand around them."
        if hidden := sum(one.id == MASK for one in pieces):
            signs += " [MASK] hides one." if hidden == 1 else " [MASK] hides some."
    words = [one for one in pieces if is_letters(one)] or pieces
    example = words[:2][-1]
    size = machine.config["vocab_size"]
    said = (
        f"{what} cut into {plural(len(pieces), 'piece')}. Each has a number in the model's list of {size:,}: "
        f"{quoted(example)} is {example.id:,}.{signs}"
    )
    add(machine, "pieces", said, "pieces")


def look(machine: Machine, block: Block, row: int | None = None) -> Look:
    """The largest weight from a word to another word; of one row, to a word."""
    weights, pieces = machine.oracle[block.weights], machine.pieces
    if row is None:
        places = [(h, r, c) for h, r, c in np.ndindex(weights.shape) if r < machine.given]  # no later row is there yet
        of_words = [
            (h, r, c)
            for h, r, c in places
            if is_letters(pieces[r]) and is_letters(pieces[c]) and pieces[r].text != pieces[c].text and weights[h, r, c]
        ]
        best = max(of_words or places, key=lambda at: (round(weights[at], 5), -at[0], weights[at]))
    else:
        every = [(h, row, int(one[row].argmax())) for h, one in enumerate(weights)]
        best = max(
            [at for at in every if is_letters(pieces[at[2]])] or every, key=lambda at: (round(weights[at], 5), -at[0])
        )
    return (*best, float(weights[best]))


def work(machine: Machine, part: int, block: Block, step: int) -> None:
    d, n_layers = machine.config["d_model"], machine.config["n_layers"]
    last = "Layers 2 to " + f"{n_layers} do the same, each with its own learned numbers."
    each = f"To each column {d} numbers are added, one to one. "
    what = block.id.partition(".")[2]
    if block.weights:
        head, row, *_ = look(machine, block)
        if block.layer > 1:
            add(machine, "block", last, part=part, step=step, at=(head, row))
            return
        whom = "itself and those before it" if machine.writes else "all pieces"
        said = (
            f"Self-attention: each piece looks at {whom} and takes a weighted average of their numbers "
            f"into its column. {machine.config['n_heads']} heads do so side by side."
        )
        add(machine, "block", said, "attention", part=part, step=step, at=(head, row), half=1)
        said = "What was gathered is added to the column."
        if not machine.writes:
            said = "Add & Norm: what was gathered is added to the column, and the sum is brought to one scale."
        add(machine, "block", said, part=part, step=step, at=(head, row), half=2)
        return
    said, stops = {
        "embedding": (
            f"Each piece becomes a vector: {d} learned numbers, drawn as a small block of colours, its column.",
            "",
        ),
        "segments": (f"{each}They tell which text it belongs to: the first or the second.", ""),
        "positions": (f"{each}They depend only on where the piece stands: first, second, third.", "vectors"),
        "embedding.norm": ("A norm brings every column to one scale.", ""),
        "normed": ("A last norm brings every column to one scale.", ""),
        "head": ("A small network, the head, makes each column ready to be compared with pieces.", ""),
        "feed_forward": (
            "Feed-forward: a small network works on each column by itself." if block.layer == 1 else last,
            "",
        ),
    }[what]
    add(machine, "block", said, stops, part=part, step=step)


def fill(machine: Machine, step: int) -> None:
    """The end of a BERT."""
    top, row = len(machine.blocks) - 1, machine.blank
    if row < 0:
        said = "The encoder is done. Each column tells of the whole text now; it writes nothing."
        add(machine, "memory", said, "end", part=top - 1, step=step)
        return
    best, of = int(machine.shares[row].argmax()), sum(one.id == MASK for one in machine.pieces)
    said = (
        f"The column of {'the first [MASK]' if of > 1 else '[MASK]'} is compared with all "
        f"{machine.config['vocab_size']:,} pieces. {entry(best)} gets {share(machine.shares[row, best])}, more than "
        "any other."
    )
    add(machine, "choose", said, "its guess", part=top, step=step, at=(0, row))
    said = "That is its guess for the blank. The encoder is done; it writes nothing more."
    add(machine, "end", said, "end", part=top, step=step, at=(0, row))


def chance(machine: Machine, step: int) -> str:
    return share(float(machine.shares[step, machine.labels[step]]))


def choose(machine: Machine, step: int) -> None:
    said = (
        f"The last column is compared with all {machine.config['vocab_size']:,} pieces. {entry(machine.labels[step])} "
        f"gets {chance(machine, step)} and is taken."
    )
    add(machine, "choose", said, "next piece", part=len(machine.blocks) - 1, step=step)


def takes(machine: Machine, one: Look) -> str:
    head, row, column, weight = one
    whom = "itself" if row == column else quoted(machine.pieces[column])
    return f"It never looks ahead. In head {head + 1}, {quoted(machine.pieces[row])} takes {share(weight)} from {whom}."


def write(machine: Machine, step: int, slow: bool) -> None:
    attentions = [n for n, block in enumerate(machine.blocks) if block.weights]
    read = quoted(machine.pieces[step])
    if slow:
        add(machine, "feed", f"{read} becomes the next input.", step=step)
        first = machine.blocks[attentions[0]]
        of_row = machine.oracle[first.weights][:, step]
        told = [takes(machine, (h, step, int(w.argmax()), float(w.max()))) for h, w in enumerate(of_row)]
        head = look(machine, first, step)[0]
        add(machine, "block", told[head], part=attentions[0], step=step, at=(head, step), by_head=told)
    last = machine.blocks[attentions[-1]]
    head, _, column, weight = look(machine, last, step)
    said = (
        f"After {read}, head {head + 1} of layer {last.layer} gives {quoted(machine.pieces[column])} {share(weight)} "
        f"of its attention. It writes {entry(machine.labels[step])}, with {chance(machine, step)}."
    )
    add(machine, "write", said, part=attentions[-1], step=step, at=(head, step))


def stop(machine: Machine, first: int) -> None:
    last = len(machine.labels) - 1
    n = last - first + 1
    said = f"It was stopped after {plural(n, 'step')}; it had not written <eos>, the end sign."
    if machine.labels[-1] == EOS:
        said = (
            f"<eos>, the end sign, is taken with {chance(machine, last)}. So the decoder stops: {plural(n, 'piece')} "
            "written, the end sign included."
        )
    add(machine, "end", said, "end", part=len(machine.blocks) - 1, step=last)
