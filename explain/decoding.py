"""How the score of a translation came about."""

from collections.abc import Sequence

from explain.core import WorkedStep, factor, tex

WRITTEN_OUT = 12  # log-probabilities; of a longer translation the rest are added up


def worked_score(log_probabilities: Sequence[float], length_penalty: float) -> list[WorkedStep]:
    """A translation's log-probability from those of its pieces, and its score with the length penalty α."""
    total, length = sum(log_probabilities), len(log_probabilities)
    terms, says = list(log_probabilities), f"Add the log-probabilities of its {length} pieces"
    if length > WRITTEN_OUT:
        terms = [*terms[:WRITTEN_OUT], sum(terms[WRITTEN_OUT:])]
        says += f" ({length - WRITTEN_OUT} of them in the last term)"
    base, score = (5 + length) / 6, total / ((5 + length) / 6) ** length_penalty
    return [
        WorkedStep(
            f"{says}: to multiply probabilities is to add their logarithms.",
            rf"{' + '.join(map(factor, terms))} = {tex(total)}",
            total,
        ),
        WorkedStep(
            f"With 5 more and divided by 6, the length {length} becomes",
            rf"\frac{{5 + {length}}}{{6}} = {tex(base)}",
            base,
        ),
        WorkedStep(
            f"The score is the sum divided by that number to the power α = {length_penalty:.1f}.",
            rf"\frac{{{tex(total)}}}{{{tex(base)}^{{{length_penalty:.1f}}}}} = {tex(score)}",
            score,
        ),
    ]
