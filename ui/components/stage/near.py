"""A block seen from near: what it does with the numbers of one piece. The clip of a lesson may come to rest there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from model.anatomy.structure import SubLayer
from model.files.loaded_model import Array
from model.text.tokenizer import Token
from model.trace import Trace
from ui.components.stage.looks import (
    Look,
    attention_of,
    counted,
    is_word,
    look_of,
    looks_of,
    named,
    percent,
    sides,
    sublayer_of,
)
from ui.components.stage.parts import Part
from ui.components.stage.story import Moment
from ui.text import number

SECONDS = 4.0
View = Literal["project", "score", "mix", "heads", "mask", "norm", "read", "widen"]


@dataclass(frozen=True)
class Near:
    """What is seen of one row of a block, or of the Add & Norm behind it.

    view:   of an attention of a text to itself project (a column becomes a query, a key and a value), score (the
            query meets the keys), mix (of the values), heads (all of them side by side), mask (what the row may not
            see), norm (Add & Norm); of one that reads a memory read; of a feed-forward network widen
    moment: its place in the story, its head, its row, and what is said
    reads:  the tensors that are drawn, by what they are in the picture
    spreads: of norm, the standard deviation of the row before and after it
    """

    view: View
    moment: Moment
    reads: Mapping[str, str]
    spreads: tuple[str, ...] = ()


def near_of(trace: Trace, view: View, part: Part, moment: Moment) -> Near | None:
    """The block of a moment from near, or None if it has nothing of the kind."""
    if not _fits(trace, view, part):
        return None
    here = Moment("near", SECONDS, panel=moment.panel, part=moment.part, step=moment.step)
    reads = _reads(trace, view, sublayer_of(trace, part))
    if view == "widen":
        row = _example(trace, sublayer_of(trace, part)) if moment.step < 0 else moment.step
        return Near(view, replace(here, focus=row, caption=_widened(trace, part, reads, row)), reads)
    look = look_of(trace, part, max(moment.step, 0)) if view == "read" else _shared(trace, part, view)
    spreads = tuple(_spread(trace, reads[what], look.row) for what in ("sum", "normed")) if view == "norm" else ()
    said = _said(trace, view, part, look, spreads)
    heads = looks_of(trace, part, look.row) if view in ("project", "score", "mix", "read") else []
    by_head = tuple(_said(trace, view, part, one, spreads) for one in heads)
    return Near(view, replace(here, head=look.head, focus=look.row, caption=said, by_head=by_head), reads, spreads)


def _fits(trace: Trace, view: View, part: Part) -> bool:
    """Whether a block has what a view shows."""
    if view == "widen":
        hidden = f"{sublayer_of(trace, part).path}.hidden" if part.kind == "feed_forward" else ""
        return bool(hidden) and trace.model.anatomy.tensors[hidden].operation == "relu"
    if part.kind != "attention" or bool(part.memory) != (view == "read"):
        return False
    return view != "norm" or sublayer_of(trace, part).norm == "after"


def _example(trace: Trace, sublayer: SubLayer) -> int:
    """The piece that stands for all: the second of the words, as where the text is cut."""
    tokens = trace.tokens(trace.model.anatomy.stack(sublayer.stack).tokens)
    words = [n for n, token in enumerate(tokens) if is_word(token)] or list(range(len(tokens)))
    return words[min(1, len(words) - 1)]


def _widened(trace: Trace, part: Part, reads: Mapping[str, str], row: int) -> str:
    tokens = trace.tokens(trace.model.anatomy.stack(sublayer_of(trace, part).stack).tokens)
    narrow, wide = (len(trace.tensors[reads[what]][row]) for what in ("x", "pre"))
    return (
        f"Feed-forward works on the column of {named(tokens[row])} alone. It makes {wide:,} numbers of its {narrow:,}, "
        f"sets those below zero to 0, and goes back to {narrow:,}."
    )


def _spread(trace: Trace, name: str, row: int) -> str:
    return number(float(np.std(trace.tensors[name][row].astype(np.float64))), 2)


def _shared(trace: Trace, part: Part, view: View) -> Look:
    """The row that divides its attention most evenly between two: its second largest weight is the largest of all.

    Only rows of whole words are asked that look most at another word. To see a mask, it is one of the first half but
    not the first: something stands before it and behind it.
    """
    rows, columns = sides(trace, part)
    weights = trace.tensors[part.weights]
    most = weights.argmax(-1)
    if view == "mask":
        asked = np.broadcast_to([0 < n <= len(rows) // 2 for n in range(len(rows))], most.shape)
    else:
        whole = [is_word(a) and sum(a.word == b.word for b in rows) == 1 for a in rows]
        other = np.array([[is_word(b) and a.text != b.text for b in columns] for a in rows])
        asked = np.where(whole, other[np.arange(len(rows)), most], False)
    if not asked.any():
        return look_of(trace, part)
    second = np.where(asked, np.sort(weights, -1)[..., -2], -1.0)
    head, row = divmod(int(second.argmax()), len(rows))
    column = int(most[head, row])
    return Look(head, row, column, float(weights[head, row, column]))


def _reads(trace: Trace, view: View, sublayer: SubLayer) -> dict[str, str]:
    path = sublayer.path
    if view == "widen":
        inner = {"pre": f"{path}.pre_activation", "hidden": f"{path}.hidden"}
        return {"x": sublayer.reads, **inner, "made": sublayer.writes}
    inside = {name: f"{path}.{name}" for name in ("q", "k", "v", "scaled", "weights", "heads")}
    of = {
        "read": ("q", "k", "v", "weights", "heads"),
        "project": ("q", "k", "v"),
        "score": ("q", "k", "scaled", "weights"),
        "mix": ("v", "weights", "heads"),
        "heads": ("weights", "heads"),
        "mask": ("weights",),
        "norm": (),
    }[view]
    reads = {name: inside[name] for name in of}
    if view in ("project", "mask", "read"):
        reads["x"] = sublayer.reads
    if view == "read":
        (reads["memory"],) = trace.model.anatomy.tensors[inside["k"]].reads
    if view == "heads":
        reads["made"] = sublayer.writes
    if view == "norm":
        added = f"{sublayer.path.rpartition('.')[0]}.{sublayer.residual}.sum"
        reads |= {"x": sublayer.stream, "made": sublayer.writes, "sum": added, "normed": sublayer.result}
    return reads


def _said(trace: Trace, view: View, part: Part, look: Look, spreads: tuple[str, ...]) -> str:
    rows, columns = sides(trace, part)
    who, layer, head = named(rows[look.row]), part.layer, look.head + 1
    weights = trace.tensors[part.weights]
    most = _most(weights[look.head, look.row], columns)
    attention = attention_of(trace, part)
    match view:
        case "project":
            return (
                f"From the column of {who}, head {head} of layer {layer} makes three shorter ones: a query, a key and "
                f"a value, {attention.d_k} numbers each."
            )
        case "score":
            return (
                f"In layer {layer}, head {head}, the query of {who} meets every key: a score each. Softmax turns the "
                f"scores into weights: {most[0]}."
            )
        case "mix":
            return (
                f"In layer {layer}, head {head}, {who} takes a share of every value: {', '.join(most)}. Added up, "
                "they make a new column."
            )
        case "heads":
            return (
                f"{counted(len(weights), 'head')} at work for {who}, each with weights of its own. What they make, "
                "side by side, becomes one column again."
            )
        case "read":
            return (
                f"The query is made from the decoder's own column of {who}; every key and every value from the memory. "
                f"In layer {layer}, head {head}, it takes {' and '.join(most)}."
            )
        case "mask":
            return f"{who} may look at {_seen(look.row)}. {_hidden(len(columns) - look.row - 1)}"
    return (
        f"Add: what attention made for {who} joins the column that ran past it. Norm: the sum is brought to one scale. "
        f"Its spread (standard deviation) was {spreads[0]}; now it is {spreads[1]}."
    )


def _most(weights: Array, columns: Sequence[Token]) -> list[str]:
    """The two largest weights of a row in words."""
    largest = np.argsort(-weights, kind="stable")[:2]
    return [f"{percent(float(weights[n]))} from {named(columns[n])}" for n in largest]


def _seen(row: int) -> str:
    return f"itself and {counted(row, 'piece')} before it" if row else "itself alone"


def _hidden(n: int) -> str:
    if not n:
        return "Nothing comes after it."
    return f"The {n} after it are hidden: weight 0%." if n > 1 else "The one after it is hidden: weight 0%."
