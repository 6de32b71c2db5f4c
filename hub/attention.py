"""One form for the attention of every model, so that it can be drawn and compared."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from model.trace import Trace

Weights = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class AttentionMaps:
    """All heads of one kind of attention on one sentence.

    kind: "encoder", "decoder" or "cross"
    weights (L,H,T,S): rows add up to 1
    rows T, columns S: texts of the tokens, with special tokens
    row_words, column_words: for each token the number of its word, −1 for special tokens
    row_wholes, column_wholes: for each token the text of its word; empty if that is always the tokens' texts joined
    """

    kind: str
    weights: Weights
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    row_words: tuple[int, ...]
    column_words: tuple[int, ...]
    row_wholes: tuple[str, ...] = ()
    column_wholes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        shape = len(self.rows), len(self.columns)
        if self.weights.shape[2:] != shape or (len(self.row_words), len(self.column_words)) != shape:
            raise ValueError(
                f"Weights of shape {self.weights.shape} do not fit {shape[0]} rows and {shape[1]} columns."
            )

    def first(self, n_tokens: int) -> Self:
        """The attention among the first tokens only; its rows may add up to less than 1."""
        part = slice(n_tokens)
        return replace(
            self,
            weights=self.weights[:, :, part, part],
            rows=self.rows[part],
            columns=self.columns[part],
            row_words=self.row_words[part],
            column_words=self.column_words[part],
            row_wholes=self.row_wholes[part],
            column_wholes=self.column_wholes[part],
        )

    @property
    def hidden(self) -> NDArray[np.bool_]:
        """(T,S), True where a decoder may not look: above the diagonal, where no head of any layer gives any weight."""
        nothing = np.all(self.weights == 0, axis=(0, 1))
        return np.asarray(np.triu(nothing, 1) & (self.kind == "decoder"))


def of_trace(trace: Trace) -> tuple[AttentionMaps, ...]:
    """The attention of this project's own model.

    A row of encoder-decoder attention is named by the piece about to be written, as everywhere in the app.
    """
    attentions = trace.model.anatomy.attentions
    tokens = {kind: (trace.tokens(one.rows), trace.tokens(one.columns)) for kind, (one, *_) in attentions.items()}
    return tuple(
        AttentionMaps(
            kind,
            np.stack([trace.attention(kind, layer) for layer in range(len(attentions[kind]))]),
            tuple(token.text for token in rows),
            tuple(token.text for token in columns),
            tuple(token.word for token in rows),
            tuple(token.word for token in columns),
        )
        for kind, (rows, columns) in tokens.items()
    )
