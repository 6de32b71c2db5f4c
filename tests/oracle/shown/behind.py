"""What appears behind a button, claimed from what was measured or learned: reports, times, losses come as they are."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tests.oracle.language import claims
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import Series, magnitude, number
from tests.oracle.language.common import Statements, numbers_of_figure
from tests.oracle.language.statement import Statement

prose = Prose("behind")

OVER = prose.line("over")


def growing_curve(x: Sequence[float], y: Sequence[float], *, label: str, axis: str, ends: Sequence[float]) -> Statement:
    """A curve from 0 to the right end, on a scale that holds every point; numbers stand beside it at their height."""
    top = max(ends[1], *y)
    return Statement(
        "growing_curve",
        {
            "label": label,
            "axis": axis,
            "beside": [[at / top, text] for at, text in claims.ticks(0, top)],
            "points": [[a / ends[0], b / top] for a, b in zip(x, y, strict=True)],
        },
    )


def loss_curve(reports: Sequence[Any], n_steps: int, top: float) -> Statement:
    last = reports[-1]
    return growing_curve(
        [one.step for one in reports],
        [one.loss for one in reports],
        label=f"The loss over the steps; at step {last.step} it is {magnitude(last.loss)}",
        axis="loss, in nats a piece",
        ends=(n_steps, top),
    )


def gradients(report: Any) -> Statement:
    return claims.columns(
        list(report.gradient_norms),
        [Series("gradient", np.array(list(report.gradient_norms.values())))],
        alt=f"Length of the gradient of each part at step {report.step}",
        axis=f"length of the gradient at step {report.step}, layer by layer",
    )


def over(label: str) -> Statements:
    yield from prose("over")
    yield claims.button(f"{label} again")


# --- measured --------------------------------------------------------------------------------------------------------


def reading_times(seconds: Mapping[str, Sequence[float]]) -> Statements:
    """seconds: of the RNN, the LSTM, self-attention and torch's LSTM, for 8, 16, … pieces"""
    rows = zip(*seconds.values(), strict=True)
    yield claims.table(
        ("pieces", "RNN", "LSTM", "self-attention", "LSTM, compiled"),
        *((str(8 * 2**n), *(number(1000 * one, 2) for one in row)) for n, row in enumerate(rows)),
    )
    yield from prose("milliseconds")


def one_layer_and_four(seconds: Sequence[float]) -> Statements:
    """seconds: of BERT and of ALBERT"""
    rows = zip(("our BERT", "our ALBERT"), seconds, strict=True)
    yield claims.table(
        ("your sentence, read once", "milliseconds", "times our BERT’s"),
        *((title, number(1000 * one, 2), number(one / seconds[0], 2)) for title, one in rows),
    )
    yield from prose("fastest of many passes")


def prices(seconds: Mapping[str, Sequence[float]], sizes: Mapping[str, Sequence[int]]) -> Statements:
    """seconds, bytes: of every pair and of two other ways, for 16, 32, … 8,192 pieces"""
    milliseconds = {way: 1000 * np.array(times) for way, times in seconds.items()}
    powers = ("0.001", "0.01", "0.1", "1", "10", "100", "1,000", "10,000")
    yield log_log(milliseconds, "milliseconds", -3, powers, "Milliseconds that each way takes")
    powers = ("1 kB", "10 kB", "100 kB", "1 MB", "10 MB", "100 MB", "1 GB")
    yield log_log(sizes, "memory asked for", 3, powers, "Memory that each way asks for")
    rows = []
    for power, (way, times) in zip((2, 1, 1), seconds.items(), strict=True):
        far = times[-1] * (100_000 / 8192) ** power
        shares = times[-1] / times[6], 0, seconds["every pair"][-1] / times[-1], 1
        slower = [n for n in range(10) if times[n] >= seconds["every pair"][n]]
        since = f"{16 * 2 ** (max(slower, default=-1) + 1):,}" if 9 not in slower else "–"
        grown = number(*shares[:2]), number(*shares[2:]), since
        rows.append((way, number(1000 * times[-1], 2), *grown, number(far, 2)))
    head = "| 8,192 pieces, ms | times 1,024's | all pairs take times | faster than all pairs from | 100,000 pieces, s"
    yield claims.table(f" {head}", *rows)
    asked = [part for way, many in sizes.items() for part in (way, claims.in_bytes(many[-1]))]
    yield from prose("memory that torch gave", *asked, *(number(many[-1] / many[-2], 1) for many in sizes.values()))
    yield from prose("measured now")


def log_log(by_way: Mapping[str, Any], title: str, low: int, powers: Sequence[str], alt: str) -> Statement:
    """Against 16, 32, … 8,192 pieces; the axis begins at 10 to the power `low`."""
    lines = [
        claims.Line(way, np.arange(4, 14), np.log10(many), colour, dotted=True)
        for colour, (way, many) in zip((claims.BLUE, claims.ORANGE, "#009E73"), by_way.items(), strict=True)
    ]
    x = claims.Axis("pieces", 4, 13, [(4, "16"), (7, "128"), (10, "1,024"), (13, "8,192")])
    y = claims.Axis(title, low, low + len(powers) - 1, list(enumerate(powers, low)))
    return claims.curves(lines, x, y, alt=f"{alt}, for texts of 16 to 8,192 pieces")


def loss_by_share(found: Mapping[int, Any]) -> Statements:
    names, losses = [f"{share}%" for share in found], np.array([one.loss for one in found.values()])
    axis = "loss, in nats a blank, by the share that is hidden"
    yield claims.columns(names, [Series("loss", losses)], alt="The loss by the share that is hidden", axis=axis)
    rows = [(name, number(one.pieces, 1), number(one.loss, 2)) for name, one in zip(names, found.values(), strict=True)]
    yield claims.table(("hidden", "blanks in a draw", "loss"), *rows)
    yield from prose("more blanks")


def with_and_without_cache(seconds: Mapping[bool, float], n_steps: int, machine: str) -> Statements:
    """seconds: with the cache (True) and without"""
    times = (number(1000 * seconds[cached], 1) for cached in (True, False))
    yield from prose("with the cache", *times, number(seconds[False] / seconds[True], 2), machine, n_steps)


def read_sooner(seconds: tuple[float, float]) -> Statements:
    """seconds: of a teacher and its student"""
    yield from prose("a student reads", number(seconds[0] / seconds[1], 2))


# --- learned ---------------------------------------------------------------------------------------------------------


def tiny(reports: Sequence[Any], n_steps: int, kind: str, label: str) -> Statements:
    """kind: of attention, as the reports name it; label: as the page does"""
    last = reports[-1]
    right = number(100 * last.right, 1)
    yield from over("Start")
    yield from prose("step of a tiny model", last.step, n_steps, magnitude(last.loss), right)
    yield loss_curve(reports, n_steps, float(np.log(29)))
    yield growing_curve(
        [one.step for one in reports],
        [100 * one.right for one in reports],
        label=f"The share of right texts over the steps; at step {last.step} it is {right}%",
        axis="texts exactly right, in %",
        ends=(n_steps, 100),
    )
    yield claims.head_grid(last.maps[kind], selected=None, title=f"{label} attention at step {last.step}")
    yield gradients(last)


def taught(reports: Sequence[Any], pairs: Sequence[Sequence[str]], others: Sequence[str], n_steps: int) -> Statements:
    first, last, n = reports[0], reports[-1], len(pairs)
    yield from over("Teach")
    yield from prose("step on your pairs", last.step, n_steps, magnitude(last.loss))
    yield loss_curve(reports, n_steps, first.loss)
    yield gradients(last)
    before_and_now = list(zip(first.translations, last.translations, strict=True))
    learned = sum(now == to_learn for (_, now), (_, to_learn) in zip(before_and_now, pairs, strict=False))
    yield from prose("your pairs", learned, n)
    rows = [(*pair, *both) for pair, both in zip(pairs, before_and_now, strict=False)]
    yield claims.table(("English", "to learn", "before", "now"), *rows)
    changed = sum(before != now for before, now in before_and_now[n:])
    yield from prose("other sentences", changed, len(others))
    rest = [(english, *both) for english, both in zip(others, before_and_now[n:], strict=True)]
    yield claims.table(("English", "before", "now"), *rest)


Style = Callable[[str], bool]  # whether a German sentence is in the style


def score(report: Any, held_out: Sequence[Sequence[str]], style: Style) -> tuple[str, str]:
    """How many are in the style, and how many are word for word as wanted."""
    exact = sum(now == wanted for now, (_, wanted) in zip(report.translations, held_out, strict=True))
    return str(sum(map(style, report.translations))), str(exact)


def adapted(
    reports: Sequence[Any], n_steps: int, held_out: Sequence[Sequence[str]], style: Style, says: Sequence[str]
) -> Statements:
    """says: the visitor's sentence, its translation before and now; none where all weights learn"""
    first, last = reports[0], reports[-1]
    scored = score(last, held_out, style)
    yield from prose("step in a style", last.step, n_steps, magnitude(last.loss), len(held_out), *scored)
    if says:
        yield claims.table(("your sentence", "before", "now"), says)
        if says[1] == says[2]:
            yield from prose("in this style already" if style(says[2]) else "stays as it was")
    yield loss_curve(reports, n_steps, first.loss)
    yield claims.fold("Every held-out sentence")
    rows = zip(held_out, first.translations, last.translations, strict=True)
    yield claims.table(("English", "before", "now", "wanted"), *((en, old, new, de) for (en, de), old, new in rows))


def beside_lora(
    lora: Any, name: str, n_learned: int, other: Any, rank: int, held_out: Sequence[Sequence[str]], style: Style
) -> Statement:
    """LoRA's last report and that of another method, one below the other."""
    return claims.table(
        ("", "numbers that learned", "steps", "loss", "in the style", "word for word"),
        *(
            (name, f"{n:,}", str(one.step), magnitude(one.loss), *score(one, held_out, style))
            for name, n, one in ((f"LoRA, r = {rank}", 9 * 2 * 2 * 256 * rank, lora), (name, n_learned, other))
        ),
    )


def forgotten(others: Sequence[str], before: Sequence[str], learned: Mapping[str, Any], ending: str) -> Statements:
    """learned: the last report of each method; ending: what the style adds to all"""
    now = {name: one.others for name, one in learned.items()}
    kept = {
        name: sum(a.replace(ending, "") == b for a, b in zip(texts, before, strict=True)) for name, texts in now.items()
    }
    said = ", ".join(f"{name} **{n}**" for name, n in kept.items())
    n = len(others)
    yield from prose("other sentences kept", n, said)
    yield claims.table(("English", "before", *now), *zip(others, before, *now.values(), strict=True))
    yield from prose("back again")


def merged(n_before: int, n_beside: int, writes: Sequence[str], difference: float) -> Statements:
    """writes: the translation with A and B beside, merged, and before; difference: the largest of a logit"""
    names = "A and B beside W₀", "merged: W₀ + (α/r)BA", "before"
    counts = (f"{n:,}" for n in (n_beside, n_before, n_before))
    yield claims.table(("", "numbers in the model", "your sentence"), *zip(names, counts, writes, strict=True))
    yield from prose("merged", magnitude(difference))


def labelled(reports: Sequence[Any], n_steps: int, n_new: int) -> Statements:
    """What the pre-trained model and the random one have learned from labels."""
    names = "pre-trained", "random"
    yield from over("Train")

    def says(one: Any) -> str:
        right = one.test.right
        return f"{number(100 * right, 0)}% ± {number(100 * np.sqrt(right * (1 - right) / n_new), 0)}"

    last = reports[-1]
    yield from prose("step on labels", last.step, n_steps, n_new, *(says(last.runs[name]) for name in names))
    steps = [str(one.step) for one in reports]
    yield claims.columns(
        steps,
        [Series(name, np.array([100 * one.runs[name].test.right for one in reports])) for name in names],
        alt="The share of new sentences that each model labels rightly, after so many steps",
        axis="new sentences labelled rightly, in %, after so many steps",
        limit=100,
    )
    cells = [[c for name in names for c in (says(one.runs[name]), number(one.runs[name].loss, 2))] for one in reports]
    head = [f"{name}: {what}" for name in names for what in ("right", "loss")]
    yield from numbers_of_figure(("step", *head), *([step, *row] for step, row in zip(steps, cells, strict=True)))
    yield from prose("which layers moved", f"{last.n_learning:,}")
    yield claims.columns(
        list(last.moved),
        [Series("moved", 100 * np.array(list(last.moved.values())))],
        alt=f"How far each part of the pre-trained model is from where it was, at step {last.step}",
        axis="distance from the pre-trained weights, in % of their length",
    )
    yield from prose("distance")
