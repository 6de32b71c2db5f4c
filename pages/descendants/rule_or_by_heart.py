"""Lesson: four small models learned to add from more and more sums: which answers reach beyond them, and how far."""

import re
from collections.abc import Sequence

import numpy as np
import streamlit as st

from model.families.sums import (
    BELOW,
    N_ASKED,
    N_WRITTEN,
    SIGNS,
    SIZES,
    WIDTH,
    Answer,
    answer,
    asked,
    load_adder,
    sums_metrics,
    trace_adder,
    write,
)
from model.trace import Trace
from ui import engine
from ui.components.matrix import Caption, Labels, Scale
from ui.components.scene import Card, Cards, Frame, Matrix, Row, Scene
from ui.controls.control import Choice
from ui.course.check import Part, Shown, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question
from ui.text import bold, chance, in_markdown, number
from ui.views.charts.tables import table

KEY, FIRST = "sum", "367 + 285"
MODEL = Choice("Sums it learned from", "learned", tuple(f"{size:,}" for size in SIZES), default=f"{SIZES[-1]:,}")
PLACES = ("ones", "tens", "hundreds", "thousands", "ten thousands")
KINDS = {"learned": "sums it learned from", "unseen": "unseen, up to three digits", "longer": "four digits each"}
TICKS = (0, 500, 1000, 1500)  # named beside the map


def typed() -> str:
    return str(st.session_state.get(KEY, st.query_params.get(KEY, FIRST)))[:1000].strip()


def wrong(text: str) -> str:
    """What keeps the models from reading it, in one sentence; nothing if they can."""
    parts = [part.strip() for part in text.split("+")]
    unknown = next((sign for sign in text if sign not in SIGNS[:-1] + " "), "")
    if not text:
        return "There is no sum yet: write two numbers with a plus between them."
    if unknown:
        return f"Write digits and one plus: “{in_markdown(unknown)}” is neither."
    if len(parts) != 2 or not all(re.fullmatch("[0-9]+", part) for part in parts):
        return "A sum is two numbers with one plus between them."
    if (longest := max(map(len, parts))) > WIDTH:
        return f"A number has room for {WIDTH} digits: {longest} are too many."
    return ""


def own() -> tuple[int, int]:
    """The sum that was typed, if the models can read it, else the one that stood there at first."""
    a, b = (FIRST if wrong(typed()) else typed()).split("+")
    return int(a), int(b)


def own_sum() -> None:
    st.text_input("A sum of two numbers", FIRST, key=KEY, bind="query-params", live="300ms")
    if fault := wrong(typed()):
        st.info(f"{fault} Shown is {in_markdown(FIRST)}.")


def longer(n: int) -> int:
    """The number with a 1 before its three digits; a number of four digits stays as it is."""
    return n if n >= BELOW else n + BELOW


def answer_of(size: int, a: int, b: int) -> Answer:
    return engine.run(answer, load_adder(size), size, a, b)


def answers(a: int, b: int) -> dict[int, Answer]:
    """What each of the four makes of a sum."""
    return {size: answer_of(size, a, b) for size in SIZES}


def percent(share: float) -> str:
    return f"{number(100 * share, 1)}%"


def verdict(found: Answer) -> str:
    return "right" if found.is_right else f"wrong: it is {found.a + found.b}"


def scene(trace: Trace) -> Scene:
    """The learner's sum and a map of all sums, as a model learns from more of them."""
    return Scene(
        f"By rule or by heart? Four models learned to add, each from some of the {BELOW**2:,} sums of two numbers up "
        f"to {BELOW - 1}. The map: which other sums each has right, dark is all. The other picture: your sum, and one "
        "with a fourth digit.",
        "Sums it learned from",
        [scene_frame(size) for size in SIZES],
        start=len(SIZES) - 1,
        wide=(1, 1),
        plays=True,
        also=own,
    )


def scene_frame(size: int) -> Frame:
    (a, b), kept = own(), sums_metrics()
    test, cell = kept["test"][str(size)], kept["map"]["cell"]
    by_cell = np.array(kept["map"]["right"][str(size)]).T[::-1]  # the first number to the right, the second upwards
    n_cells, found, further = len(by_cell), answer_of(size, a, b), answer_of(size, longer(a), longer(b))
    inside = max(a, b) < n_cells * cell
    whole = Matrix(
        by_cell,
        "Unseen sums that it has right",
        f"right: first number, up: second; 0 to {n_cells * cell - 1:,}",
        [f"{n * cell:,}" if n * cell in TICKS else "·" for n in reversed(range(n_cells))],
        ends=1.0,
        marked=(n_cells - 1 - b // cell, a // cell) if inside else None,
    )
    said = Cards(
        [written(found), *([] if found == further else [written(further)])],
        title="It answers; below a digit: its probability",
        slots=N_WRITTEN,
    )
    return Frame(
        f"{size:,}",
        f"It answers your sum {a} + {b} with **{found.value}**, {verdict(found)}."
        + " It learned from this sum." * found.learned
        + f" Of sums that it never saw it has **{percent(test['unseen']['right'][0])}** right, of those with four "
        f"digits **{percent(test['longer']['right'][0])}**.",
        [[whole, said]],
    )


def written(found: Answer) -> Row:
    """The digits of an answer as cards, without the zeros before it that are right."""
    pairs = [*zip(found.digits, found.right, found.chances, strict=True)]
    begins = next((n for n, (said, right, _) in enumerate(pairs) if said or right), len(pairs) - 1)
    return Row(
        [
            Card(SIGNS[said], "written" if said == right else "unseen", chance(p, 2), p)
            for said, right, p in pairs[begins:]
        ],
        f"{found.a} + {found.b} =",
        "output",
    )


def idea(trace: Trace) -> None:
    st.markdown(
        "A model can be right in two ways. It may know an answer **by heart**, because it learned from that very "
        "example. Or it goes by a **rule**, and is right where it has seen nothing. From outside, one test tells "
        "them apart: ask what is new. *Rule* means no more than that here: right on sums that it never saw. How the "
        "model does it inside is not shown.\n\n"
        "Four small decoders learned to add. They are alike, and began with the same weights; only the number of sums "
        "differs. A sum is a row of signs. Each number has four digits, so there are zeros before it. The answer has "
        "its **last digit first**, as one adds on paper: `0347+0285=23600`. Since no number was above 999, the first "
        "digit of both was always 0. The loss counts the five digits d of the answer:"
    )
    st.latex(r"L=-\frac15\sum_{t=1}^{5}\ln P(d_t\mid \text{sum},d_1,\dots,d_{t-1})")


def controls(trace: Trace) -> None:
    MODEL.draw()


def see(trace: Trace) -> Shown:
    size = SIZES[[f"{size:,}" for size in SIZES].index(MODEL.value())]
    reading = engine.run(trace_adder, load_adder(size), *own())
    st.markdown(
        f"**How sure is it of each digit?** It reads {bold(reading.text[:N_ASKED])} and writes "
        f"{bold(reading.translation)}, from the ones to the ten thousands."
    )
    return checked_matrix(
        reading,
        "probabilities",
        Caption("Probability of each digit", "A row is a place of the answer, in the order of writing."),
        labels=Labels(PLACES, tuple(SIGNS[:10])),
        part=Part(rows=range(N_ASKED - 1, N_ASKED + N_WRITTEN - 1), columns=range(10)),
        scale=Scale("weight"),
        start=(0, reading.labels[N_ASKED - 1].id % 10),
    )


def do(trace: Trace) -> None:
    a, b = own()
    st.markdown(
        "**One digit more.** Each number gets a 1 before its three digits, if it has no fourth one yet. How sure a "
        "model is: the probability of its answer as a whole."
    )
    sums = [*dict.fromkeys(((a, b), (longer(a), longer(b))))]
    if len(sums) == 1:
        st.caption("Both of your numbers have a fourth digit already.")
    found, lines = [answers(*one) for one in sums], []
    for size in SIZES:
        said = (one[size] for one in found)
        lines.append(
            (f"{size:,}", *(text for one in said for text in (f"{one.value}, {verdict(one)}", chance(one.sure))))
        )
    table(("learned from", *(name for x, y in sums for name in (f"{x} + {y}", "how sure"))), lines)
    as_measured()


def as_measured() -> None:
    kept = sums_metrics()
    recipe, lines = kept["recipe"], []
    for size in SIZES:
        test = kept["test"][str(size)]
        shares = ((100 * share for share in test[kind]["right"]) for kind in KINDS)
        shown = (f"{number(share, 2)} ± {number(error, 2)}" for share, error in shares)
        sure = (test[kind]["sure_when_wrong"] for kind in ("unseen", "longer"))
        lines.append((f"{size:,}", *shown, *("–" if of is None else number(of, 2) for of in sure)))
    st.markdown(
        "**As measured.** Sums with all digits right, in percent, with the standard error. Last, how sure it was of "
        "its wrong answers, on average."
    )
    table(("learned from", *KINDS.values(), "sure when wrong, unseen", "sure when wrong, four digits"), lines)
    n_unseen = kept["test"][str(SIZES[0])]["unseen"]["sums"]
    st.caption(
        f"Where all of {n_unseen:,} are right, or none, the error cannot be 0: were {number(300 / n_unseen, 2)}% of "
        "all such sums otherwise, one test in twenty would still meet none of them. "
        f"Unseen: {n_unseen:,} sums that none of the four learned from, nor with the numbers exchanged. Four "
        "digits: as many, both numbers from 1000 to 9999. Each model took "
        f"{recipe['steps']:,} steps of {recipe['batch_size']} sums and has "
        f"{kept['training'][str(SIZES[0])]['parameters']:,} parameters. One training each, with one "
        "seed; the numbers of sums were picked to show the jump."
    )


def predict(trace: Trace) -> Sequence[Question]:
    (a, b), test = own(), sums_metrics()["test"][str(SIZES[-1])]
    found = answers(a, b)
    none = len(SIZES)
    right = frozenset(n for n, size in enumerate(SIZES) if found[size].is_right) or frozenset({none})
    others = {n: f"The one with {size:,} sums answers {found[size].value}." for n, size in enumerate(SIZES)} | {
        none: "At least one is right."
    }
    inside, outside = (test[kind]["right"][0] for kind in ("unseen", "longer"))
    fits = 0 if outside > 0.9 else 1 if outside > 0.1 else 2
    measured = f"Measured was {percent(outside)}."
    whys = (
        f"As many would be {percent(inside)}. {measured}",
        f"Some would be over 10%. {measured}",
        f"{measured} It is more.",
    )
    return (
        Question(
            "own",
            f"You ask all four for {a} + {b}. Which are right?",
            (*(f"the one with {size:,} sums" for size in SIZES), "none of them"),
            right,
            f"They answer {', '.join(found[size].value for size in SIZES)}. The sum is {a + b}.",
            several=True,
            wrong={n: why for n, why in others.items() if n not in right},
        ),
        Question(
            "longer",
            f"The one with {SIZES[-1]:,} sums has {percent(inside)} right of those that it never saw. And of sums of "
            "two numbers with four digits?",
            ("about as many", "some of them", "at most one in ten"),
            frozenset({fits}),
            f"{measured} In all that it learned from, the first of the four digits was 0.",
            wrong={n: why for n, why in enumerate(whys) if n != fits},
        ),
    )


LESSON = Lesson(
    "rule-or-by-heart",
    "Rule or by heart?",
    asks="Has it learned a rule, or its examples?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check_cell, do=do, controls=controls),
    code=(write, asked, answer),
    on_map=OnMap(
        readers=(),
        pictured=("four small models", lambda: [load_adder(size) for size in SIZES]),
        instead=own_sum,
        scene=scene,
    ),
)
