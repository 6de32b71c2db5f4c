"""What a page shows, piece by piece, and what a claim says it must show; how the two are compared.

A claim is a statement too. Where the page shows a rounded number, the claim holds the exact one (see `number`).
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

ATOL = RTOL = 2e-4  # between the app's float32, rounded to four decimals, and the oracle's float64
_OPEN, _CLOSE = "\ue000", "\ue001"
_EXACT = re.compile(f"{_OPEN}(.*?){_CLOSE}", re.DOTALL)
_SHOWN = r"([-−]?(?:∞|\d[\d,]*(?:\.\d+)?))"
_RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


@dataclass(frozen=True)
class Statement:
    """One thing that a page shows or reads aloud.

    part: of the lesson: idea, see, do, check, predict, code; "frame" is what stands around them
    kind: "markdown", "caption", "table", "matrix", … : see `tests.oracle.language.reader`
    content: text, or names and their values, or a list
    source: of a claim's words, if they are approved text (see `tests.oracle.language.approved`)
    """

    kind: str
    content: Any
    part: str = ""
    source: Any = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.kind} {plainly(self.content)}"


@dataclass(frozen=True)
class Between:
    """A number that nobody can know beforehand, such as a time: shown is one from low to high."""

    low: float
    high: float


@dataclass(frozen=True)
class Steps:
    """Numbers that are drawn in steps as coarse as this (shades of a map); it stands in place of an array."""

    values: np.ndarray
    step: float


@dataclass(frozen=True)
class ThreeDigits:
    """Numbers that are sent with three digits; it stands in place of an array."""

    values: np.ndarray


def number(value: float, digits: int = 4, minus: str = "−") -> str:
    """An exact number to stand in a claimed text, shown with so many decimals; rounding is left to the comparison."""
    return f"{_OPEN}{minus}|{digits}|{float(value)!r}{_CLOSE}"


def perplexity(mean: float) -> str:
    """What a mean loss comes to, as unsure as among so many: one decimal, or a whole number with commas."""
    value = math.exp(mean)
    return number(value, 1) if value < 999.95 else number(value, 0, ",")


def tex(value: float, digits: int = 4) -> str:
    """The same within a formula."""
    return r"-\infty" if np.isneginf(value) else number(value, digits, "-")


def factor(value: float, digits: int = 4) -> str:
    """The same as a factor: in brackets if it is negative."""
    return f"({tex(value, digits)})" if round(value, digits) < 0 else tex(value, digits)


def between(low: float, high: float) -> str:
    """A number to stand in a claimed text that nobody can know beforehand: any from low to high."""
    return f"{_OPEN}between|{low!r}|{high!r}{_CLOSE}"


def rounding(most: float = 1e-4) -> str:
    """What is left of two equal numbers computed in two ways: any size up to this, written as by `magnitude`."""
    return f"{_OPEN}rounding|0|{most!r}{_CLOSE}"


def chance(probability: float, digits: int = 4) -> str:
    """A probability; what so many decimals would show as 0 or 1 is neither impossible nor sure."""
    smallest = 10.0**-digits
    if 0 < probability < smallest / 2:
        return f"<{smallest:.{digits}f}"
    nearly = 1 - smallest / 2 <= probability < 1 - 1e-6  # what is more may be 1 in float32
    return f">{1 - smallest:.{digits}f}" if nearly else number(probability, digits)


def legible(value: float) -> str:
    """A number; one that four decimals would show as 0 by its size."""
    return magnitude(value) if 0 < abs(value) < 5e-5 else number(value)


def magnitude(value: float) -> str:
    """A number of any size: 0.123, or 1.2 · 10⁻⁷."""
    if math.isinf(value) or value == 0 or 1e-3 <= abs(value) < 1e6:
        return number(value, 3)
    power = _power(value)
    raised = str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{number(value / 10.0**power, 1)} · 10{raised}"


def by_size(formula: str) -> str:
    """A formula; a value at its end that four decimals would show as 0 is told by its size."""
    end = re.search(rf"{_OPEN}-\|4\|([^{_CLOSE}]*){_CLOSE}$", formula)
    if not end or not 0 < abs(value := float(end[1])) < 5e-5:
        return formula
    power = _power(value)
    return rf"{formula[: end.start()]}{tex(value / 10.0**power, 1)}\cdot 10^{{{power}}}"


def _power(value: float) -> int:
    """Of ten, so that one digit stands before the point once it is rounded to one behind it."""
    power = math.floor(math.log10(abs(value)))
    return power + (round(abs(value) / 10.0**power, 1) >= 10)


def plainly(content: Any) -> str:
    """For a message: exact numbers in few digits, arrays by their shape."""
    match content:
        case str():
            return _EXACT.sub(lambda found: "{" + found[1].rpartition("|")[2][:9] + "}", content)
        case np.ndarray():
            with np.printoptions(precision=4, threshold=12, edgeitems=2):
                return f"array{content.shape} {content!s:.200}".replace("\n", "")
        case Mapping():
            return "{" + ", ".join(f"{name}: {plainly(value)}" for name, value in content.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(plainly, content)) + "]"
        case Steps() | ThreeDigits():
            return plainly(content.values)
        case _:
            return repr(content)


def difference(claimed: Any, shown: Any, at: str = "") -> str:
    """Where and how what is shown differs from the claim, in one line; '' if it does not."""
    match claimed:
        case str():
            same = isinstance(shown, str) and _text_agrees(claimed, shown)
        case np.ndarray():
            return _array_difference(claimed, np.asarray(shown), at)
        case Steps():
            shown = np.asarray(shown)
            close = shown.shape == claimed.values.shape
            close = close and np.abs(shown - claimed.values).max(initial=0) <= 0.51 * claimed.step + 1e-4
            return "" if close else _array_difference(claimed.values, shown, at)
        case ThreeDigits():
            shown = np.asarray(shown)
            half = 0.5 * 10 ** (np.floor(np.log10(np.maximum(np.abs(shown), 1e-7))) - 2)  # of the last digit
            close = shown.shape == claimed.values.shape and bool((np.abs(shown - claimed.values) <= half + ATOL).all())
            return "" if close else _array_difference(claimed.values, shown, at)
        case Mapping():
            return _mapping_difference(claimed, shown, at)
        case list() | tuple():
            if isinstance(shown, np.ndarray):
                return _array_difference(np.array(claimed, dtype=float), shown, at)
            if not isinstance(shown, list | tuple):
                return f"{at}: claimed {plainly(claimed)}, shown {plainly(shown)}"
            if len(claimed) != len(shown):
                return f"{at}: claimed {len(claimed)}: {plainly(claimed)}, shown {len(shown)}: {plainly(shown)}"
            return next(
                (
                    d
                    for n, (c, s) in enumerate(zip(claimed, shown, strict=True))
                    if (d := difference(c, s, f"{at}[{n}]"))
                ),
                "",
            )
        case Between():
            same = isinstance(shown, int | float) and claimed.low <= shown <= claimed.high
        case bool() | None:
            same = claimed is shown
        case int() | float() | np.integer() | np.floating():
            same = isinstance(shown, int | float) and not isinstance(shown, bool) and _near(claimed, shown)
        case _:
            raise TypeError(f"a claim cannot hold {claimed!r}")
    return "" if same else f"{at}: claimed {plainly(claimed)}\n{' ' * len(at)}    shown {plainly(shown)}"


def agrees(claimed: Statement, shown: Statement) -> bool:
    return claimed.kind == shown.kind and not difference(claimed.content, shown.content)


def _near(claimed: float, shown: float) -> bool:
    return bool(claimed == shown or abs(claimed - shown) <= ATOL + RTOL * abs(claimed))


def _array_difference(claimed: np.ndarray, shown: np.ndarray, at: str) -> str:
    if claimed.shape != shown.shape:
        return f"{at}: claimed shape {claimed.shape}, shown {shown.shape}"
    if claimed.dtype == bool or shown.dtype == bool:
        wrong = claimed != shown
    else:
        finite = np.isfinite(claimed) & np.isfinite(shown)
        wrong = np.where(finite, ~np.isclose(shown, claimed, atol=ATOL, rtol=RTOL), False)
        wrong |= ~finite & ~((claimed == shown) | (np.isnan(claimed) & np.isnan(shown)))
    if not wrong.any():
        return ""
    first = tuple(int(n) for n in np.argwhere(wrong)[0])
    return (
        f"{at}: {wrong.sum()} of {wrong.size} differ, first at {first}: claimed {claimed[first]}, shown {shown[first]}"
    )


def _mapping_difference(claimed: Mapping[str, Any], shown: Any, at: str) -> str:
    if not isinstance(shown, Mapping):
        return f"{at}: claimed {plainly(claimed)}, shown {plainly(shown)}"
    if odd := sorted(claimed.keys() - shown.keys()):
        return f"{at}: claimed, but not there: {', '.join(map(str, odd))} (there: {', '.join(map(str, shown))})"
    if odd := sorted(shown.keys() - claimed.keys()):
        return f"{at}: shown, but not claimed: {plainly({name: shown[name] for name in odd})}"
    return next((d for name in claimed if (d := difference(claimed[name], shown[name], f"{at}.{name}"))), "")


def _pattern(claimed: str) -> tuple[str, list[list[str]]]:
    """What a claimed text looks like on a page, with a group for each number in it, and the exact numbers."""
    pattern, exact = "", []
    for part in re.split(f"({_OPEN}.*?{_CLOSE})", claimed, flags=re.DOTALL):
        if part.startswith(_OPEN):
            exact.append(part[1:-1].split("|"))
            pattern += r"(0\.000|\d\.\d · 10⁻[⁰-⁹¹²³]+)" if exact[-1][0] == "rounding" else _SHOWN
        else:
            pattern += re.escape(part)
    return pattern, exact


def occurrences(claimed: str, shown: str) -> list[tuple[int, int]]:
    """Where a claimed text, its numbers rounded, stands in a shown one: begin and end of each."""
    pattern, exact = _pattern(claimed)
    return [
        found.span(1)
        for found in re.finditer(f"(?=({pattern}))", shown, re.DOTALL)
        if all(_number_agrees(*one, text) for one, text in zip(exact, found.groups()[1:], strict=True))
    ]


def _text_agrees(claimed: str, shown: str) -> bool:
    """Whether a text is the claimed one, each number in it within half a unit of its last decimal."""
    if _OPEN not in claimed:
        return claimed == shown
    pattern, exact = _pattern(claimed)
    found = re.fullmatch(pattern, shown, re.DOTALL)
    return bool(found) and all(_number_agrees(*one, text) for one, text in zip(exact, found.groups(), strict=True))


def _number_agrees(style: str, second: str, third: str, shown: str) -> bool:
    if style == "rounding":
        return shown == "0.000" or float(shown.replace(" · 10", "e").translate(_RAISED)) <= float(third)
    plain = float(shown.replace("−", "-").replace(",", "").replace("∞", "inf"))
    if style == "between":
        return float(second) <= plain <= float(third)
    digits, value = int(second), float(third)
    if math.isinf(value) or math.isinf(plain):
        return plain == value
    if shown[0] in "-−" and (shown[0] != style or plain == 0):
        return False  # the wrong sign for minus, or a minus before nothing
    written = shown.replace("−", "-").replace(",", "")
    if style == "," and shown != f"{int(float(written)):,}":
        return False
    # The app computes in float32; so large a number is a power of e, and what its exponent is off counts that often.
    slack = 2e-5 * max(1.0, abs(value)) * max(1.0, math.log(max(1.0, abs(value))))
    return len(written.partition(".")[2]) == digits and abs(plain - value) <= 0.5 * 10.0**-digits * 1.001 + slack


def compare(claimed: Sequence[Statement], shown: Sequence[Statement]) -> list[str]:
    """What is shown and not claimed, and what is claimed and not shown, each as a message; order counts."""
    messages = []
    for mine, theirs in paired(claimed, shown):
        if mine is None:
            messages.append(f"shown, but nobody claims it: {theirs.part}: {theirs}")
        elif theirs is None:
            messages.append(f"claimed, but not shown: {mine.part}: {mine}{_approved_in(mine)}")
        elif not agrees(mine, theirs):
            where = difference(mine.content, theirs.content)
            messages.append(f"not as claimed: {theirs.part}: {theirs.kind}{where}{_approved_in(mine)}")
    return messages


def _approved_in(one: Statement) -> str:
    """Where its words stand, and how they are renewed."""
    if one.source is None:
        return ""
    file = one.source.prose.file
    return f"\n    is [{one.source.run}] of {file.name}; if the page is right: python -m tests.approve {file.stem}"


def paired(claimed: Sequence[Statement], shown: Sequence[Statement]) -> list[tuple[Any, Any]]:
    """Each claim with what is shown in its place, in the order of the page; None stands for what is missing.

    The two are aligned as a whole, so that one missing statement does not make all that follow seem wrong.
    """
    n, m = len(claimed), len(shown)
    same = [[agrees(c, s) for s in shown] for c in claimed]
    # Longest common subsequence, from the end.
    best = np.zeros((n + 1, m + 1), int)
    for i in range(n - 1, -1, -1):
        for j in range(m - 1, -1, -1):
            best[i, j] = best[i + 1, j + 1] + 1 if same[i][j] else max(best[i + 1, j], best[i, j + 1])
    pairs: list[tuple[Any, Any]] = []
    lost: list[Statement] = []
    extra: list[Statement] = []
    i = j = 0
    while i < n or j < m:
        if i < n and j < m and same[i][j]:
            pairs += [*_gap(lost, extra), (claimed[i], shown[j])]
            lost, extra, i, j = [], [], i + 1, j + 1
        elif j == m or (i < n and best[i + 1, j] >= best[i, j + 1]):
            lost.append(claimed[i])
            i += 1
        else:
            extra.append(shown[j])
            j += 1
    return pairs + _gap(lost, extra)


def _gap(claimed: list[Statement], shown: list[Statement]) -> list[tuple[Any, Any]]:
    """What stands between two statements that agree; those of one kind are meant for each other."""
    left = list(claimed)
    pairs: list[tuple[Any, Any]] = []
    for one in shown:
        meant = next((c for c in left if c.kind == one.kind), None)
        if meant is not None:
            left.remove(meant)
        pairs.append((meant, one))
    return pairs + [(one, None) for one in left]
