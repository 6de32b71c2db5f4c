"""The first screen: a picture that writes itself, what may come next, and what is answered about it."""

import numpy as np

from experiments.pictures.looking import chances, hidden
from experiments.pictures.writing import Drawing, answers, drawing
from model.families.drawing import N_PATCHES, PATCH, QUESTIONS, SIZE, WORDS
from model.files.load_drawing import code_book, load_drawing
from model.files.load_pictures import load_vision
from model.files.loaded_model import Array
from model.trace import Trace
from ui import engine
from ui.components.scene import Bar, Bars, Frame, Scene
from ui.components.scene.sheet import Cut, Sheet
from ui.controls.control import Choice, Stops
from ui.text import chance

SIDE, OFFERED = SIZE // PATCH, 4  # patches to a side; likeliest ones that are shown
STOPS = (0, *range(SIDE // 2, N_PATCHES, SIDE), N_PATCHES)  # so that the next patch lies in the middle, where ink is
WORD = Choice("Draw a", "word", WORDS, default="seven")
ATTEMPT = Stops("Attempt", "attempt", tuple(range(1, 13)), default=4)


def drawn(temperature: float = 1.0, forced: tuple[int, int] | None = None) -> Drawing:
    return engine.run(drawing, load_drawing(), WORDS.index(WORD.value()), ATTEMPT.value(), temperature, forced)


def read_back(picture: Array) -> tuple[int, float]:
    """What the Vision Transformer takes a picture for, and how likely that is."""
    found = chances(engine.alone(lambda: hidden(load_vision(), picture, frozenset())))
    return int(found.argmax()), float(found.max())


def word_and_attempt() -> None:
    WORD.draw()
    ATTEMPT.draw()


def scene(trace: Trace) -> Scene:
    """The picture as it writes itself, what may come next, and what is answered about it."""
    shown = drawn()
    return Scene(
        f"Pictures from text: a decoder reads a word and writes {N_PATCHES} patches. You see the likeliest next "
        "ones, too, and what it answers about what is drawn so far.",
        "Patches drawn",
        [scene_frame(shown, n) for n in STOPS],
        by="slider",
        start=4,
        wide=(1, 1, 1.1),
        plays=True,
        also=lambda: (WORD.value(), ATTEMPT.value()),
    )


def scene_frame(shown: Drawing, n: int) -> Frame:
    at = min(n, N_PATCHES - 1)
    next_one = shown.chances[at]
    likeliest = np.argsort(-next_one, kind="stable")[:OFFERED]
    offered = code_book().numpy()[likeliest].reshape(OFFERED, PATCH, PATCH).transpose(1, 0, 2)
    yes = engine.run(answers, load_drawing(), shown.ids[:n])
    if n == N_PATCHES:
        named, sure = read_back(shown.picture())
        says = f"All {N_PATCHES} patches. The Vision Transformer reads **{named}**, {chance(sure)}."
    else:
        says = (
            f"{n} of {N_PATCHES} patches. For patch {n + 1} the likeliest has {chance(float(next_one.max()))}. "
            f"Is the digit even? “Yes” has **{chance(float(yes[0]))}**."
        )
    sheet = Cut(shown.picture(n), PATCH, [0.0] * N_PATCHES, range(n + 1, 1 + N_PATCHES))
    bars = [
        Bar(question, float(p), chance(float(p)), strong=bool(p > 0.5))
        for question, p in zip(QUESTIONS, yes, strict=True)
    ]
    return Frame(
        f"{n} of {N_PATCHES}",
        says,
        [
            [
                Sheet(sheet, f"“{WORDS[shown.word]}”", "patch by patch, from the upper left"),
                Sheet(
                    Cut(offered.reshape(PATCH, OFFERED * PATCH), PATCH),
                    f"1st to {OFFERED}th likeliest"
                    + (f" for patch {n + 1}" if n == at else " when the last was drawn"),
                    " · ".join(chance(float(next_one[code])) for code in likeliest),
                ),
                Bars(bars, "Asked about these patches alone: yes?", "output", 1.0, "it does not get the word here"),
            ]
        ],
    )
