"""From what was measured to the figures that README.md tells: measurements made up, answers worked out by hand."""

import importlib
import itertools
import json
import random
import re
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks import browser, classroom, first_paint, lessons, load, malice, memory, poll, ride, sheet, start, views
from benchmarks.first_paint import Opening
from benchmarks.kit import report, serving
from benchmarks.kit.report import Figure
from benchmarks.kit.visitor import Answer
from benchmarks.workers import fine_tuning, strangers, training

RIGHT = Answer(seconds=2.0, size_bytes=3000, translation="Ja.", columns=["I", "ate", "<eos>"])
WRONG = Answer(seconds=4.0, size_bytes=5000, translation="Ja.", columns=["You", "ate", "<eos>"])
ANSWERS = [("I ate", RIGHT), ("I ate", RIGHT), ("I ate", WRONG)]
# Nine looks at the memory: thirds of mean 400, 420 and 441 MB.
MEMORY = [390, 400, 410, 410, 420, 430, 431, 441, 451]
ATTACK: Any = types.SimpleNamespace(refused=7, sent=90)
SECONDS = [1.0, 2.0, 9.0]  # the median is not the mean, nor the first, nor the last when turned round

# What is measured → by the end of each figure's name: its value, and the largest that it may be.
FORMULAS: dict[str, tuple[Sequence[Figure], dict[str, tuple[float, float | None]]]] = {
    "load": (
        load.figures("load", ANSWERS, 6.0),
        {"errors": (1, 0), "median": (2, None), "p95": (3.8, 1), "answers": (0.5, None),
        "size of an answer": (11 / 3, None)},
    ),
    "classroom": (
        classroom.figures_of(10, ANSWERS, 6.0, [0.3, 0.06, 0.03], 341.0, MEMORY),
        {
            "errors": (1, 0), "wait, median": (2, None), "p95": (3.8, 1), "answers": (0.5, None),
            "size of an answer": (11 / 3, None),
            "app": (100, None), "proxy": (20, None), "measuring": (10, None),
            "memory of each": (10, 5), "end / middle": (1.05, 1.05),
        },
    ),
    "poll": (
        poll.figures(3, SECONDS, [0.1, 0.2, 0.9], 5),
        {
            "not counted or twice": (2, 0), "wait, median": (2, None), "wait, p95": (8.3, 1),
            "behind, median": (0.2, None), "behind, p95": (0.83, 1),
        },
    ),
    "malice": (
        [one for kind in malice.KINDS[1:] for one in malice.figures(kind, SECONDS, [3.0, 5.0, 6.0], ATTACK)],
        {
            "without one: connections refused, of 500": (7, None), "without one: messages sent": (90, None),
            "without one: another visitor waits, p95 before": (8.3, None),
            "without one: another visitor waits, median": (5, None),
            "without one: another visitor waits, p95": (5.9, 1),
            "made-up ones: connections refused, of 500": (7, None), "made-up ones: messages sent": (90, None),
            "made-up ones: another visitor waits, p95 before": (8.3, None),
            "made-up ones: another visitor waits, median": (5, None),
            "made-up ones: another visitor waits, p95": (5.9, None),
        },
    ),
    "training": (
        training.figures(10, SECONDS, [3.0, 5.0, 6.0], [1, 2, 1], [120.0, 131.0, 110.0]),
        {
            "at a time": (2, 2), "median before": (2, None), "median meanwhile": (5, None),
            "times as long": (2.5, 1.5),
            "p95 before": (8.3, None), "p95 meanwhile": (5.9, None), "beyond the warm process": (131, 300),
        },
    ),
    "start": (  # of the rounds 10/4, 30/5 and 12/12: not the ratio of the medians
        start.figures(SECONDS, [3.0] * 3, [10.0, 30.0, 12.0]),
        {"import torch, streamlit": (2, None), "start: empty page": (3, None), "cold": (12, None),
        "(imports + empty page)": (2.5, 2)},
    ),
    "strangers": (  # sentence by sentence it adds 5, 1 and 3
        strangers.figures_of("x", SECONDS, [6.0, 3.0, 12.0]),
        {"in this process": (2, None), "process of its own": (6, None), "what that adds": (3, 30)},
    ),
    "views": (
        views.figures([30.0, 20.0, 90.0], [10.0, 5.0, 40.0], [300.0, 1200.0, 400.0]),
        {"median / floor": (3, 5), "head view, 20 tokens, median": (400, 1000), "largest": (1200, 1000)},
    ),
    "browser": (
        browser.figures(
            {"floor": [10.0, 5.0, 40.0], "translation": [30.0, 20.0, 90.0], "another head, 50 tokens": [60.0]}
        ),
        {
            "floor, median": (10, None), "floor, p90": (34, None),
            "translation, median": (30, None), "translation, p90": (78, None), "translation, median / floor": (3, 3),
            "50 tokens, median": (60, None), "50 tokens, p90": (60, None), "50 tokens, median / floor": (6, 5),
        },
    ),
    "memory": (
        memory.figures(465.0, 600.0, 660.0, 990.0, 50.0),
        {
            "first page": (465, 600), "after 100 sentences": (600, None), "after 500 sentences": (660, None),
            "500 / 100 sentences": (1.1, 1.05), "every model used": (990, 1400), "trainings beside it": (50, None),
        },
    ),
    "first paint": (  # 0.25 + 0.05 is 0.3; of three pages that open in 900, 600 and 300 ms the picture is there in 600
        first_paint.figures(
            {"a": [(Opening([0.125, shift], word), Opening([0.25, 0.125], 100.0, 200.0, 100.0 * n, [16.0, 17.0, 90.0]))
                   for n, shift, word in ((9, 0.125, 400.0), (6, 0.125, 200.0), (3, 0.5, 900.0))],
             "b": [(Opening([0.25], 900.0), Opening([], 100.0))]},
        ),
        {
            "of an empty page": (0.25, None), "shift of a": (0.375, 0.3), "outline of a": (400, 300),
            "picture of a / empty page": (1.5, 1.5), "frame of a, median": (17, 17),
            "shift of b": (0, 0.3), "outline of b": (0, 300),
        },
    ),
    "ride": (
        ride.figures((20, 19), [16.0, 17.0, 30.0], 119_500, 297_800, [30.0, 20.0, 90.0], [10.0, 5.0, 40.0]),
        {
            "20 + 19 tokens, median": (17, 17), "95th percentile": (28.7, 33), "frames": (3, None),
            "code": (119.5, 120),
            "data of 20 + 19 tokens": (297.8, 300), "first picture, median": (30, None),
            "empty page, median": (10, None),
            "first picture / empty page": (3, 1.5),
        },
    ),
    "sheet": (
        sheet.figures([16.0, 17.0, 30.0]),
        {"phone, median": (17, 17), "95th percentile": (28.7, 33), "frames": (3, None)},
    ),
    "lessons": (
        lessons.figures_of(
            "x", 50,
            lessons.in_floors(
                {"a": SECONDS, "a new sentence": [8.0], "a new drawing": [10.0], "b": [6.0]}, SECONDS
            ),
        ),
        {"a new sentence / floor": (4, 5), "a new drawing / floor": (5, 5), "slowest control / floor": (3, 5)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMULAS)
def test_figures_are_what_was_measured(name: str) -> None:
    figures, expected = FORMULAS[name]
    assert len(figures) == len(expected)
    for end, (value, bar) in expected.items():
        (figure,) = (one for one in figures if one.name.endswith(end))
        assert (figure.value, figure.bar) == (pytest.approx(value), bar), figure.name
        assert figure.missed == (bar is not None and value > bar), figure.name


def test_each_bar_that_the_readme_tells_is_one_of_the_program_beside_it() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.*\bbars? .*) \|.*\| `python -m (benchmarks\.[\w.]+).*` \|$", readme, re.MULTILINE)
    assert len(rows) > 15
    for what, program in rows:
        module = importlib.import_module(program)
        names = vars(module) | getattr(module, "figures", module.measure).__globals__  # which another may have written
        held = [bar for name, bar in names.items() if "BAR" in name]
        bars = {0.0, *(one for bar in held for one in (bar.values() if isinstance(bar, dict) else (bar,)))}
        told = "; ".join(re.findall(r"\bbars? ((?:[\d.,]*\d(?: \w+)?(?:, | \(|\)|$)?)+)", what))
        assert {float(one.replace(",", "")) for one in re.findall(r"\d[\d.,]*\d|\d", told)} <= bars, what


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (RIGHT, ""),
        (WRONG, "the map of another sentence: Youate<eos>"),
        (Answer(translation="Ja.", columns=[]), "no map"),
        (Answer(columns=["I"]), "no translation"),
        (Answer(translation="Ja.", error="It broke."), "It broke."),
    ],
)
def test_an_answer_is_right_if_it_is_that_of_the_sentence(answer: Answer, fault: str) -> None:
    assert answer.fault("I ate") == fault


def test_the_teachers_count_is_behind_until_it_holds_an_answer() -> None:
    """Answers at 1, 2 and 4 s, told in any order; the counts come at 0.5, 2.5, 3 and 4.5 s."""
    seen = [(0.5, 0), (2.5, 1), (3.0, 2), (4.5, 3)]
    assert poll.behind([4.0, 1.0, 2.0], seen) == pytest.approx([1.5, 1.0, 0.5])
    assert poll.behind([4.0, 1.0, 2.9], [(0.9, 1), (3.0, 3)]) == pytest.approx([0, 0.1, 0]), "a count may come first"


@pytest.mark.parametrize(("answer_takes", "sentences"), [(1.0, 20), (4.9, 20), (10.0, 10)])
def test_who_types_does_not_wait_longer_because_an_answer_was_slow(
    answer_takes: float, sentences: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sentence every five seconds for a hundred, by a clock made up; only the last answer may be waited for."""
    now = 0.0

    async def pass_by(seconds: float) -> None:
        nonlocal now
        now += seconds

    class Somebody:
        async def type(self, sentence: str) -> Answer:
            await pass_by(answer_takes)
            return Answer(seconds=answer_takes)

    class First(random.Random):
        def uniform(self, a: float, b: float) -> float:
            return a

    monkeypatch.setattr(load, "time", types.SimpleNamespace(perf_counter=lambda: now))
    monkeypatch.setattr(load, "asyncio", types.SimpleNamespace(sleep=pass_by))
    answers: load.Answers = []
    typing = load._typist(Somebody(), map(str, itertools.count()), First(0), answers, 100.0, (5.0, 5.0))  # type: ignore[arg-type]
    with pytest.raises(StopIteration):
        typing.send(None)
    assert len(answers) == sentences


def test_who_gets_no_answer_under_attack_has_waited_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = itertools.cycle([RIGHT, RIGHT, WRONG, WRONG])

    async def at_once(*given: object) -> Answer:
        return next(answers)

    monkeypatch.setattr(malice, "asyncio", types.SimpleNamespace(sleep=at_once))  # skips the pause, and an answer
    somebody: Any = types.SimpleNamespace(type=at_once)
    with pytest.raises(StopIteration) as ended:
        malice._type(somebody, itertools.repeat("I ate"), 0.05).send(None)
    assert ended.value.value[:2] == [2.0, 0.05]


def test_a_report_names_what_missed_its_bar(capsys: pytest.CaptureFixture[str]) -> None:
    report.report([Figure("a", 1.23456, "s", 1.0), Figure("bc", 1.0, "x", 1.0), Figure("d", 7.0, "MB")])
    *lines, last = capsys.readouterr().out.splitlines()
    assert [" ".join(line.split()) for line in lines] == [
        "a 1.23 s at most 1: MISSED", "bc 1.00 x at most 1: reached", "d 7.00 MB",
    ]  # fmt: skip
    found: dict[str, Any] = json.loads(last)
    assert (found["figures"], found["missed"]) == ({"a": 1.2346, "bc": 1.0, "d": 7.0}, ["a"])


def test_a_percentile_is_what_so_many_percent_do_not_exceed() -> None:
    assert [report.percentile(range(101), n) for n in (50, 90, 95)] == [50, 90, 95]
    assert report.percentile([7.0], 95) == 7


def test_what_is_fine_tuned_are_the_lessons_first_twenty_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(fine_tuning, "seconds", lambda task: asked.append(task) or 3.0)
    found = fine_tuning.measure()
    assert [(one.value, one.bar) for one in found] == [(3.0, 30)] * 3
    first, *rest = asked
    assert (len(first.labelled), len(first.test), len(rest)) == (20, 60, 3)
    assert [one.auxiliary > 0 for one in rest] == [False, False, True]


def test_memory_is_told_in_units_of_a_million_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    known: Any = types.SimpleNamespace(memory_info=lambda: types.SimpleNamespace(rss=1_234_567_890))
    monkeypatch.setattr(serving, "psutil", types.SimpleNamespace(Process=lambda pid: known))
    server = serving.Server("http://127.0.0.1:1", types.SimpleNamespace(pid=7), Path("log"))  # type: ignore[arg-type]
    assert server.memory_mb == pytest.approx(1234.56789)
