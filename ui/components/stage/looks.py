"""Which weights of an attention tell most, and how captions name pieces and shares."""

import functools
import math
import unicodedata
from dataclasses import dataclass

import numpy as np

from model.anatomy.structure import Attention, SubLayer
from model.text.tokenizer import Token
from model.trace import Trace
from ui.components.stage.parts import Part
from ui.text import piece


@dataclass(frozen=True)
class Look:
    """One place of one head's weights: row and column, counted from 0, and the weight there."""

    head: int
    row: int
    column: int
    weight: float


def attention_of(trace: Trace, part: Part) -> Attention:
    return trace.model.anatomy.attention_at(part.weights.removesuffix(".weights"))


def sublayer_of(trace: Trace, part: Part) -> SubLayer:
    """The sub-layer that a block of a layer is, with its residual."""
    layers = [layer for stack in trace.model.anatomy.stacks for layer in stack.layers]
    return next(one for layer in layers for one in layer.sublayers if one.result == part.result)


def sides(trace: Trace, part: Part) -> tuple[tuple[Token, ...], tuple[Token, ...]]:
    """The tokens that look, and those that are looked at. A row is the token just read, not the one to be written."""
    attention = attention_of(trace, part)
    return trace.tokens("tgt" if attention.rows == "labels" else attention.rows), trace.tokens(attention.columns)


def look_of(trace: Trace, part: Part, row: int | None = None, n_rows: int | None = None) -> Look:
    """What the story says of an attention, or of one of its rows; n_rows: how many are there, if not all.

    The head is the one that the model's description says tells most, if it is of this layer. Else it is the one with
    the largest weight from a word to another word or, of one row, to a word.
    """
    weights = trace.tensors[part.weights][:, :n_rows]
    attention = attention_of(trace, part)
    rows, columns = sides(trace, part)
    known = (trace.model.about.telling or {}).get(attention.kind)
    heads = [known.head] if known and known.layer == attention.layer else list(range(len(weights)))
    if row is not None:
        to_words = [head for head in heads if is_word(columns[int(weights[head, row].argmax())])]
        head = max(to_words or heads, key=lambda h: told_apart(weights[h, row].max()))
        column = int(weights[head, row].argmax())
        return Look(head, row, column, float(weights[head, row, column]))
    words = np.array([[is_word(a) and is_word(b) and a.text != b.text for b in columns] for a in rows[:n_rows]])
    of_words = np.where(words, weights, 0)
    shown = of_words if of_words.any() else weights
    head = max(heads, key=lambda h: told_apart(shown[h].max()))
    at, column = divmod(int(shown[head].argmax()), weights.shape[2])
    return Look(head, at, column, float(weights[head, at, column]))


def looks_of(trace: Trace, part: Part, row: int) -> list[Look]:
    """What each head takes most from, in one row."""
    weights = trace.tensors[part.weights][:, row]
    return [Look(head, row, int(one.argmax()), float(one.max())) for head, one in enumerate(weights)]


def told_apart(weight: float) -> float:
    """A weight to the digits in which 32 bits are the same whatever the order of sums: of equals the first counts."""
    return round(float(weight), 5)


def says(trace: Trace, part: Part, look: Look) -> str:
    """“In head 2, “sees” gives “girl” 55% of its attention.”"""
    rows, columns = sides(trace, part)
    whom = "itself" if look.row == look.column and not part.memory else named(columns[look.column])
    return f"In head {look.head + 1}, {named(rows[look.row])} gives {whom} {percent(look.weight)} of its attention."


@functools.lru_cache(10_000)
def is_word(token: Token) -> bool:
    """Whether a token is (part of) a word, not a sign that the model itself adds and not punctuation."""
    return token.word >= 0 and any(unicodedata.category(c)[0] in "LN" for c in token.text)


def percent(share: float) -> str:
    """A share in whole percent; what that would show as 0 or as all is not. Six digits of it can be relied on."""
    if 0 < share < 0.01:
        return "less than 1%"
    # What lies in the middle goes up, as in the picture; Python would take the even one.
    return "more than 99%" if 0.995 <= share < 1 - 1e-6 else f"{math.floor(100 * share + 0.5)}%"


def named(token: Token) -> str:
    """A token as a caption names it: short enough, and visible."""
    text = piece(token.text)
    text = text if len(text) <= 24 else f"{text[:23]}…"
    return f"“{text}”" if token.word >= 0 else text


def counted(n: int, thing: str) -> str:
    return f"{n} {thing}{'s' * (n != 1)}"
