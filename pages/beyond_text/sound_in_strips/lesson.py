"""The lesson's parts."""

from collections.abc import Sequence

import streamlit as st

from experiments.sounds.listening import named
from model.families.sounds import SpectrogramTransformer, StripReader
from model.files.load_sounds import FIRST_ROWS, NEW_VOICE, VOICES, load_sound, load_strips, sound_metrics
from model.sound.ctc import chance_of, collapsed
from model.sound.spectrogram import HOP, PITCHES, RATE, WINDOW, spectrogram
from model.trace import Trace
from pages.beyond_text.sound_in_strips.doing import do
from pages.beyond_text.sound_in_strips.scene import BLANK_SIGN, SECONDS, WIDE, read_strips, scene, sign
from pages.own_sound import SPOKEN, draw_own, own
from pages.patches import chosen_head, weights_of
from ui import engine
from ui.components.matrix import Caption, Labels
from ui.controls.control import Choice
from ui.course.check import Part, Shown, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question
from ui.text import number

SEE = Choice("What to see", "see", ("strips: their scores", "patches: where it looks"))


def idea(trace: Trace) -> None:
    st.markdown(
        "A wave is thousands of numbers a second. Cut it into short moments and measure in each how loud every pitch "
        "is: that is a **spectrogram**, a picture of the sound. Cut the picture into parts, and each becomes a vector: "
        "the encoder reads them like words. With patches, as in a picture, it can name one word. With **strips**, one "
        f"after another in time, each can say a digit, or {BLANK_SIGN}, the **blank**: nothing new. Nobody tells it "
        "which strip belongs to which digit. So training adds up all paths that come to the right digits."
    )
    st.latex(r"P(y\mid x)=\sum_{\pi:\,B(\pi)=y}\;\prod_{t=1}^{T}P(\pi_t\mid x)")
    st.caption(
        "π: a path, an entry for each of T strips; B: equal neighbours fall together, then blanks go. This is "
        "*connectionist temporal classification*, CTC (Graves et al. 2006). The reader of patches is a small *Audio "
        f"Spectrogram Transformer*, AST (Gong et al. 2021). Here: {RATE:,} numbers a second, moments of "
        f"{1000 * WINDOW / RATE:.0f} ms every {1000 * HOP / RATE:.0f} ms, {PITCHES} pitches, ten English digits."
    )


def controls(trace: Trace) -> None:
    SEE.draw()


def see(trace: Trace) -> Shown:
    return strips() if SEE.value() == SEE.options[0] else patches()


def strips() -> Shown:
    read = read_strips()
    scores = read.tensors["logits"]
    sure = int(scores[:, 1:].max(1).argmax())
    return checked_matrix(
        read,
        "logits",
        Caption("Scores of each strip", f"A row for each strip, a column for {BLANK_SIGN} and for each digit."),
        labels=Labels(tuple(row.text for row in read.src), [sign(one) for one in range(scores.shape[1])]),
        part=Part(rows=range(len(scores))),
        start=(sure, int(scores[sure].argmax())),
    )


def patches() -> Shown:
    loaded = load_sound()
    read = engine.alone(lambda: named(loaded, own().one))
    weights = weights_of(read)  # (L,H,42,42)
    looks = weights[:, :, 0, len(FIRST_ROWS) :].reshape(*weights.shape[:2], -1, loaded.config.across)
    # As in the spectrogram above, low pitches stand below.
    layer, head = chosen_head(
        looks[:, :, ::-1] / looks.max(), f"Where {FIRST_ROWS[0]} looks, low pitches below", (len(weights) - 1, 0)
    )
    return checked_matrix(
        read,
        f"{read.model.anatomy.attention('encoder', layer).path}.weights",
        Caption(
            f"Weights of layer {layer + 1}, head {head + 1}",
            f"A row says where one row looks: {FIRST_ROWS[0]} and {FIRST_ROWS[1]}, whose mean is read at the end, then "
            "the patches.",
        ),
        head=head,
        part=Part(rows=range(len(read.src)), columns=range(len(read.src))),
        start=(0, int(weights[layer, head, 0].argmax())),
    )


def predict(trace: Trace) -> Sequence[Question]:
    test = sound_metrics()["test"]
    known, new = (100 * test[name][0] for name in (VOICES, NEW_VOICE))
    error = 100 * (test[VOICES][1] ** 2 + test[NEW_VOICE][1] ** 2) ** 0.5
    right = 1 if abs(known - new) < 2 * error else 0 if new > known else 2
    whys = ("It is not.", "They are not alike by two standard errors.", "It is not.")
    return (
        Question(
            "collapse",
            f"Eight strips say 7 7 {BLANK_SIGN} 3 3 {BLANK_SIGN} 3 {BLANK_SIGN}. Which digits are that?",
            ("7 3", "7 3 3", "7 7 3 3 3"),
            frozenset({1}),
            f"Equal neighbours fall together: 7 {BLANK_SIGN} 3 {BLANK_SIGN} 3 {BLANK_SIGN}. Then blanks go: 7 3 3.",
            wrong={
                0: f"The {BLANK_SIGN} between the threes keeps them apart until equal neighbours have fallen together.",
                2: "Only blanks have gone. Equal neighbours are one.",
            },
        ),
        Question(
            "strips",
            f"A strip has {WIDE} moments of {number(1000 * HOP / RATE, 0)} ms. How many strips is a second?",
            ("about 4", "about 16", "about 63"),
            frozenset({1}),
            f"A strip is {number(SECONDS, 3)} seconds: {number(1 / SECONDS, 1)} in a second.",
            wrong={0: "That is how many moments a strip has.", 2: "That is how many moments a second has."},
        ),
        Question(
            "voice",
            "A reader learned digits from four voices, another one from six. How well does the first name those of a "
            "voice that it has never heard, beside the other one on its own six voices?",
            ("better", "about as well", "worse"),
            frozenset({right}),
            f"Right: {number(new, 1)}% of a new voice, {number(known, 1)}% of known ones.",
            wrong={k: why for k, why in enumerate(whys) if k != right},
        ),
    )


LESSON = Lesson(
    "sound-in-strips",
    "Sound in strips",
    asks="Two threes in a row: how does it count them?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check_cell, do=do, controls=controls),
    code=(spectrogram, collapsed, chance_of, StripReader, SpectrogramTransformer),
    on_map=OnMap(
        readers=(),
        pictured=("a reader of strips", lambda: [load_strips()]),
        instead=draw_own,
        scene=scene,
        unkept=SPOKEN,
    ),
)
