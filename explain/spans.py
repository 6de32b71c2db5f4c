"""How much of a text T5's noise cuts out, and how many pieces are then read and written."""

from explain.core import Blank, WorkedStep


def worked_noise(n: int, share: float, mean: float) -> list[WorkedStep]:
    """How many of n pieces training cuts out, and in how many stretches.

    Args:    share: of the pieces; mean: pieces in a stretch
    Returns: a step for each, the first alone for one piece; its blank asks the same of a text twice as long
    """
    hidden, spans = _at_least_one(share * n), _at_least_one(_at_least_one(share * n) / mean)
    of_n, of_twice = (rf"\max(1, \operatorname{{round}}({share:g}\cdot {length}))" for length in (n, 2 * n))
    blank = Blank(of_twice, _at_least_one(share * 2 * n), digits=0)
    if n == 1:
        return [WorkedStep("One piece alone stays. Nothing else would be left to read.", "1 - 1 = 0", 0, blank=blank)]
    return [
        WorkedStep(
            f"It cuts out {share:.0%} of the pieces. That is rounded, a half to the even number, and at least 1.",
            rf"{of_n} = \max(1, \operatorname{{round}}({share * n:g})) = {hidden}",
            hidden,
            blank=blank,
        ),
        WorkedStep(
            f"A stretch is to have {mean:g} pieces on average. The count of stretches is rounded, too, and at least 1.",
            rf"\max(1, \operatorname{{round}}({hidden} / {mean:g})) = {spans}",
            spans,
        ),
    ]


def worked_pair(n: int, hidden: int, spans: int, prefix: int) -> list[WorkedStep]:
    """How many pieces the encoder reads and the decoder is to write.

    Args: n: pieces of the text; hidden: how many of them are cut out; spans: in how many stretches; prefix: its pieces
    """
    pieces, stretches = f"{hidden} piece{'s' * (hidden != 1)}", f"{spans} stretch{'es' * (spans != 1)}"
    source, target = prefix + n - hidden + spans + 1, hidden + spans + 2
    return [
        WorkedStep(
            f"You cut out {pieces}, in {stretches}. The encoder reads the {prefix} pieces of the prefix, those of your "
            "text that stay, a sign for each stretch, and the end mark.",
            f"{prefix} + ({n} - {hidden}) + {spans} + 1 = {source}",
            source,
        ),
        WorkedStep(
            "T5 is to write the pieces that you cut out, a sign before each stretch, one sign more, and the end mark.",
            f"{hidden} + {spans} + 1 + 1 = {target}",
            target,
        ),
    ]


def _at_least_one(count: float) -> int:
    return max(1, round(count))
