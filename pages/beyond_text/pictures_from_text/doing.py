"""Do: put a patch there by hand, draw colder and warmer, ask about a drawing, see how often it is right."""

from collections.abc import Callable

import streamlit as st

from experiments.pictures.writing import answers, in_patches, picture_in_codes
from model.families.drawing import FIRST_CODE, N_CODES, N_PATCHES, PATCH, QUESTIONS, SIZE, WORDS, YES
from model.files.load_drawing import drawing_metrics, load_drawing
from model.files.loaded_model import Array
from model.trace import Trace
from pages.beyond_text.pictures_from_text.scene import drawn, read_back
from pages.own_picture import draw_own, own
from pages.patches import share
from ui import engine
from ui.components.matrix import Caption, Labels, Scale, matrix
from ui.components.scene import Card, Cards, Frame, Link, Row, Scene
from ui.components.scene import scene as draw_scene
from ui.components.scene.sheet import Cut, Sheet
from ui.controls.address import read_count, write_count
from ui.controls.control import Choice, Stops
from ui.text import chance
from ui.views.charts.tables import table

TASK = "task"  # in the address: which question, from 0
TRIAL = Choice("Try", "try", ("Force a patch", "Colder and warmer", "Ask about your drawing", "How often it is right"))
PLACE = Stops("Place", "place", tuple(range(1, 1 + N_PATCHES)), default=11)
CODE = Stops("Patch of the code book, from paper to most ink", "code", tuple(range(1, 1 + N_CODES)), default=N_CODES)
WARMTH = Stops("Temperature", "temperature", ("0.3", "0.6", "1", "1.5", "2.5"), default="0.3")


def do(trace: Trace) -> None:
    tried: dict[str, Callable[[], None]] = {
        "Force a patch": force,
        "Colder and warmer": warm,
        "Ask about your drawing": ask,
        "How often it is right": how_often,
    }
    tried[TRIAL.draw()]()


def _picture(values: Array, title: str, how_to_read: str, key: str) -> None:
    names = [str(n) for n in range(1, 1 + SIZE)]
    matrix(
        values,
        Labels(names, names, "Row {row}, column {column}: {value}"),
        Caption(title, how_to_read, csv_name=title),
        key=key,
        scale=Scale("weight"),
    )


def force() -> None:
    st.markdown("**What if you replace one patch?** The rest is drawn after it, with the same random numbers.")
    place, code = PLACE.draw(), CODE.draw()
    pair = drawn(), drawn(1.0, (place - 1, FIRST_CODE + code - 1))
    reads = [read_back(one.picture()) for one in pair]
    titles = "As it drew it", f"With patch {place} replaced"
    for column, one, (named, sure), title in zip(st.columns(2), pair, reads, titles, strict=True):
        with column:
            key = "as_drawn" if one is pair[0] else "forced"
            _picture(one.picture(), title, f"The Vision Transformer reads {named}, {chance(sure)}.", key)
    changed = [n for n in range(place, N_PATCHES) if pair[0].ids[n] != pair[1].ids[n]]
    after = N_PATCHES - place
    st.markdown(
        f"Patches after it that came out different: **{len(changed)}** of {after}."
        if after
        else "No patch comes after it."
    )


def warm() -> None:
    st.markdown(
        "**Colder or warmer?** Scores are divided by the temperature before the softmax. Below 1, likely patches are "
        "drawn more often; above 1, unlikely ones."
    )
    temperature = WARMTH.draw()
    one = drawn(float(temperature))
    named, sure = read_back(one.picture())
    _picture(
        one.picture(),
        f"“{WORDS[one.word]}” at temperature {temperature}",
        f"The Vision Transformer reads {named}, {chance(sure)}.",
        "warm",
    )


def ask() -> None:
    draw_own(rewinds=False)
    st.markdown(
        f"**What does it say of your drawing?** The row that it reads: {N_PATCHES} patches and a question. Each "
        "question is a task. All three have one decoder, and only the last column differs."
    )
    # Alone, not by `engine.run`: what is drawn is not remembered.
    found = engine.alone(lambda: answers(load_drawing(), in_patches(own().picture)))
    tasks = Scene(
        "One decoder, three tasks: your drawing, a question, and the answer.",
        "Question",
        [task_frame(n, float(p)) for n, p in enumerate(found)],
        wide=(1, 1.6),
    )
    at = read_count(TASK, len(QUESTIONS))
    draw_scene(tasks, key="tasks", at=at, on_move=lambda n: write_count(TASK, n))
    st.caption(
        "*UniT* (Hu and Singh 2021) does seven tasks in this way: it encodes picture and text, and one decoder gets "
        "learned vectors that say which task is asked."
    )


def task_frame(n: int, yes: float) -> Frame:
    """A question about the visitor's drawing; yes: how likely that is the answer"""
    shown, answer, sure = own(), "yes" if yes > 0.5 else "no", max(yes, 1 - yes)
    truth = ""
    if shown.is_empty:
        truth = " But the sheet is empty: that is said of paper."
    elif shown.label is not None:
        truth = " That is right." if (shown.label in YES[n]) == (yes > 0.5) else f" The digit is {shown.label}."
    reads = Row([Card(f"{N_PATCHES} patches"), Card(QUESTIONS[n], "asked")], "it reads", "key")
    writes = Row([Card(answer, "written", chance(sure), sure)], "it writes", "output")
    links = [Link((0, column), (1, 0), 1.0) for column in range(len(reads.cards))]
    return Frame(
        QUESTIONS[n],
        f"“{QUESTIONS[n].capitalize()}” It says **{answer}**, {chance(sure)}.{truth}",
        [
            [
                Sheet(Cut(picture_in_codes(shown.picture), PATCH), "Your drawing, in the code book"),
                Cards([reads, writes], links, "One decoder, whatever is asked"),
            ]
        ],
    )


def how_often() -> None:
    test = drawing_metrics()["test"]
    st.markdown(
        f"**As measured.** Of {test['drawings']:,} drawings, the Vision Transformer reads {share(test['read_back'])}% "
        f"as the word that they were drawn from. Of {test['pictures']:,} real digits it reads "
        f"{share(test['as_they_are'])}% right, and {share(test['written'])}% once they are written with the code "
        "book."
    )
    table(
        ("question", "right, %"),
        [(question, share(test["answers"][question])) for question in QUESTIONS]
        + [("mean of the three", share(test["answered"]))],
    )
    st.markdown("**How much must it see?** Answers that are right when it sees only the beginning of a picture:")
    table(
        ("patches seen", "right, %"),
        [(n, share(right)) for n, right in test["answered_after"].items()],
    )
    st.caption(
        "Digits that it did not learn from; after ± the standard error. 0 counts as a multiple of three. One training, "
        "with one seed: how much another would differ was not measured. A drawing that the reader takes for another "
        "digit may look right to you."
    )
