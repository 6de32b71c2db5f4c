"""Check: numbers that a softmax makes of scores."""

import math

import numpy as np

from explain.core import DIGITS, Blank, Cell, WorkedStep, factor, rule, tex

LISTED = 4  # terms that are written out
LARGE = 20.0  # a score whose power is long to write; from 89 on 32 bits do not hold it


@rule("softmax")
def _weights(cell: Cell) -> WorkedStep:
    head, row, column = cell.index
    source, scores, value = cell.made.reads[0], cell.read()[head, row], cell.value
    top = float(scores.max())
    off = top if top > LARGE else 0.0  # taken off every score: that changes no ratio
    lower = " - row.max()" if off else ""
    snippet = f'row = t["{source}"][{head}, {row}]\nnp.exp(row[{column}]{lower}) / np.exp(row{lower}).sum()'

    def power(j: int) -> str:
        return rf"e^{{{tex(scores[j])}{f' - {tex(top)}' if off else ''}}}"

    if np.isneginf(scores[column]):
        return WorkedStep(
            "The mask covers this position: its score is −∞, so its weight is 0.",
            rf"e^{{-\infty}} = 0 \;\Rightarrow\; {tex(value)}",
            value,
            snippet,
            (source,),
        )
    seen = np.flatnonzero(np.isfinite(scores))
    # This cell's term and the largest others are written out; the sum is over all.
    order = [column, *[j for j in seen[np.argsort(-scores[seen], kind="stable")] if j != column]][:LISTED]
    terms = [power(j) for j in order]
    says = "Softmax turns the scores of a row into weights that add up to 1: e to this score, over the sum for all "
    says += f"{len(seen)} positions that this row may see"
    if len(order) < len(seen):
        # Added up by itself: next to a far larger term its last digits would be lost.
        terms.append(tex(float(np.exp(scores[np.setdiff1d(seen, order)] - off).sum())))
        says += f" ({len(seen) - len(order)} of them in the last term)"
    says += "."
    if off:
        says += f" The largest, {tex(top)}, is first taken off every score: that keeps the powers small."
    return WorkedStep(
        says,
        rf"\frac{{{power(column)}}}{{{' + '.join(terms)}}} = {tex(value)}",
        value,
        snippet,
        (source,),
        None if off else Blank(power(column), math.exp(round(float(scores[column]), DIGITS))),
    )


@rule("softmax_of_logits")
def _probability(cell: Cell) -> WorkedStep:
    row, token = cell.index
    logits, value = cell.read()[row], cell.value
    top = float(logits.max())
    total = float(np.exp(logits - top).sum())
    return WorkedStep(
        f"Each of the {len(logits):,} pieces has a score in row {row + 1}, its logit. Softmax turns these scores into "
        f"probabilities: e to the power of this one, over the sum for all. The largest of them, {tex(top)}, is first "
        "taken off every one: that changes no ratio and keeps the powers small.",
        rf"\frac{{e^{{{tex(logits[token])} - {factor(top)}}}}}{{{tex(total)}}} = {tex(value)}",
        value,
        f'row = t["logits[{row}]"].astype(float)\nnp.exp(row[{token}] - row.max()) / np.exp(row - row.max()).sum()',
        (f"logits[{row}]",),
    )


@rule("softmax_of_scores")
def _share_of_scores(cell: Cell) -> WorkedStep:
    """Few scores, so that the whole sum can be written out."""
    (source,), (row, column) = cell.made.reads, cell.index
    scores = cell.read()[row]
    top = rf"e^{{{tex(scores[column])}}}"
    return WorkedStep(
        f"Softmax turns {len(scores)} scores into probabilities: e to the power of this one, over the sum for all.",
        rf"\frac{{{top}}}{{{' + '.join(f'e^{{{tex(score)}}}' for score in scores)}}} = {tex(cell.value)}",
        cell.value,
        f'row = np.exp(t["{source}"][{row}].astype(float))\nrow[{column}] / row.sum()',
        (source,),
        Blank(top, math.exp(round(float(scores[column]), 4))),
    )
