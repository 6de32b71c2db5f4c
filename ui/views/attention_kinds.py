"""The kinds of attention: their names, how to read their maps, and what labels their rows and columns."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from figures.grouping import Group, pieces, words
from model.files.loaded_model import Array
from model.text.tokenizer import Token
from model.trace import Trace
from ui.controls.segmented import one_of

READABLE = 40  # rows and columns; a larger map is cut to this part of it


@dataclass(frozen=True)
class Kind:
    """The words for one kind of attention: its names, and how to read its maps."""

    name: str
    label: str
    title: str
    how_to_read: str
    describe: str


KINDS = {
    "encoder": Kind(
        "Encoder self-attention",
        "Encoder",
        "Where each piece of your sentence looks in it",
        "A row is one piece of your sentence; its weights over all pieces add up to 1.",
        "“{row}” looks at “{column}”: {value}",
    ),
    "decoder": Kind(
        "Decoder masked self-attention",
        "Masked decoder",
        "Where the decoder looks in what is already written",
        "A row is one piece the decoder has read; it sees itself and what came before, never what follows.",
        "after reading “{row}”, the decoder looks at “{column}”: {value}",
    ),
    "cross": Kind(
        "Encoder-decoder attention",
        "Encoder-decoder",
        "Where the model looks in your sentence for each piece it writes",
        "A row is the piece about to be written; its weights over the pieces of your sentence add up to 1.",
        "before writing “{row}”, the model looks at “{column}”: {value}",
    ),
}


def choose_kind(kinds: Sequence[str] = tuple(KINDS), default: str = "encoder") -> str:
    """Control for the kind of attention, the same on every page."""
    by_label = {KINDS[kind].label: kind for kind in kinds}
    label = one_of("Attention", list(by_label), default=KINDS[default].label, key="attention", goes_along=True)
    return by_label.get(label, default)


def tokens_of(trace: Trace, kind: str) -> tuple[Sequence[Token], Sequence[Token]]:
    """Tokens that label the rows and the columns of one kind of attention."""
    attention = trace.model.anatomy.attention(kind, 0)
    return trace.tokens(attention.rows), trace.tokens(attention.columns)


def head_title(kind: str, layer: int, head: int) -> str:
    """Which head a map shows, counted from 1."""
    return f"{KINDS[kind].name}, layer {layer + 1}, head {head + 1}"


def readable_part(shown: tuple[int, ...], whole: tuple[int, ...]) -> str:
    """Which part of a matrix is shown, naming only what is cut."""
    cut = [
        f"the first {s} of {w} {name}" for s, w, name in zip(shown, whole, ("rows", "columns"), strict=True) if s != w
    ]
    return f"Shown: {' and '.join(cut)}."


def groups_of(tokens: Sequence[Token], by_word: bool) -> list[Group]:
    texts = [token.text for token in tokens]
    return words(texts, [token.word for token in tokens]) if by_word else pieces(texts)


def all_weights(trace: Trace, kind: str) -> Array:
    """The weights of every layer and head (L,H,T,S)."""
    return np.stack([trace.attention(kind, layer) for layer in range(len(trace.model.anatomy.attentions[kind]))])
