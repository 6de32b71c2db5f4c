"""A block of the stage seen from near: which row of which head, which tensors, and what is said of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.oracle.language.claims import number
from tests.oracle.language.page import Page
from tests.oracle.language.words import Piece
from tests.oracle.passes.forward import config


def reads_of(view: str, at: str, attention: str, stream: str) -> dict[str, str]:
    """The tensors of a block of layer 1, or of the Add & Norm behind it, by what they are in the picture."""
    inner = {what: f"{at}.{attention}.{what}" for what in ("q", "k", "v", "scaled", "weights", "heads")}
    match view:
        case "project":
            return {what: inner[what] for what in "qkv"} | {"x": stream}
        case "score":
            return {what: inner[what] for what in ("q", "k", "scaled", "weights")}
        case "mix":
            return {what: inner[what] for what in ("v", "weights", "heads")}
        case "heads":
            return {what: inner[what] for what in ("weights", "heads")} | {"made": f"{at}.{attention}.output"}
        case "mask":
            return {"weights": inner["weights"], "x": stream}
        case "read":
            reads = {what: inner[what] for what in ("q", "k", "v", "weights", "heads")}
            return reads | {
                "x": f"{at}.add_norm_1.output",
                "memory": f"encoder.layers.{config()['n_layers'] - 1}.add_norm_2.output",
            }
        case "widen":
            inside = {"pre": f"{at}.feed_forward.pre_activation", "hidden": f"{at}.feed_forward.hidden"}
            return {"x": f"{at}.add_norm_1.output", **inside, "made": f"{at}.feed_forward.output"}
        case "norm":
            made = {"made": f"{at}.{attention}.output", "sum": f"{at}.add_norm_1.sum"}
            return {"x": stream, **made, "normed": f"{at}.add_norm_1.output"}
    raise KeyError(view)


def divided(weights: np.ndarray, rows: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """Head and row, of these (head, row) pairs, where the second largest weight is the largest."""
    return max(rows, key=lambda at: sorted(weights[at])[-2], default=None)


def may_be_shown(page: Page, view: str, weights: np.ndarray, letters: Any) -> list[tuple[int, int]]:
    n_heads, n_rows, _ = weights.shape
    every = [(head, row) for head in range(n_heads) for row in range(n_rows)]
    if view == "mask":
        return [(head, row) for head, row in every if 1 <= row <= n_rows // 2]
    words = [piece.word for piece in page.src]

    def fits(head: int, row: int) -> bool:
        own, other = page.src[row], page.src[int(weights[head, row].argmax())]
        return letters(own) and words.count(own.word) == 1 and letters(other) and other.text != own.text

    return [at for at in every if fits(*at)]


def said(page: Page, view: str, at: tuple[int, int], weights: np.ndarray, words: Any, spreads: list[str]) -> str:
    """words: `quoted` and `share` of the stage's oracle."""
    quoted, share = words
    head, row = at
    pieces: Sequence[Piece] = page.tgt if view == "mask" else page.src
    who = quoted((page.tgt if view == "read" else pieces)[row])
    largest = sorted(range(len(pieces)), key=lambda n: -weights[head, row, n])[:2]
    most = [f"{share(weights[head, row, n])} from {quoted(pieces[n])}" for n in largest]
    after = len(pieces) - row - 1
    n_heads, d_k = len(weights), page.oracle["encoder.layers.0.self_attn.q"].shape[-1]
    if view == "mask":
        may = f"itself and {row} piece{'s' * (row > 1)} before it" if row else "itself alone"
        hidden = (
            f"The {after} after it are hidden: weight 0%." if after > 1 else "The one after it is hidden: weight 0%."
        )
        assert not weights[:, row, row + 1 :].any()
        return f"{who} may look at {may}. {hidden if after else 'Nothing comes after it.'}"
    spreads = spreads or ["", ""]
    return {
        "project": f"From the column of {who}, head {head + 1} of layer 1 makes three shorter ones: a query, a key and "
        f"a value, {d_k} numbers each.",
        "score": f"In layer 1, head {head + 1}, the query of {who} meets every key: a score each. Softmax turns the "
        f"scores into weights: {most[0]}.",
        "mix": f"In layer 1, head {head + 1}, {who} takes a share of every value: {', '.join(most)}. Added up, "
        "they make a new column.",
        "read": f"The query is made from the decoder's own column of {who}; every key and every value from the memory. "
        f"In layer 1, head {head + 1}, it takes {' and '.join(most)}.",
        "heads": f"{n_heads} heads at work for {who}, each with weights of its own. What they make, side by side, "
        "becomes one column again.",
        "norm": f"Add: what attention made for {who} joins the column that ran past it. Norm: the sum is brought to "
        f"one scale. Its spread (standard deviation) was {spreads[0]}; now it is {spreads[1]}.",
    }[view]


def spreads_of(page: Page, reads: dict[str, str], row: int) -> list[str]:
    """How far the numbers of a row lie apart, before and after the norm."""
    shown = []
    for what in ("sum", "normed"):
        values = page.oracle[reads[what]][row]
        shown.append(number(float(((values - values.mean()) ** 2).mean() ** 0.5), 2))
    return shown


def widened(page: Page, reads: dict[str, str], row: int, quoted: Any) -> str:
    """What is said of a column in the feed-forward network of an encoder layer."""
    column, units = (page.oracle[reads[what]][row] for what in ("x", "pre"))
    assert not page.oracle[reads["hidden"]][row][units < 0].any()
    return (
        f"Feed-forward works on the column of {quoted(page.src[row])} alone. It makes {len(units):,} numbers of its "
        f"{len(column):,}, sets those below zero to 0, and goes back to {len(column):,}."
    )
