"""The lesson's parts."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from model.families.drawing import N_CODES, N_PATCHES, SIZE, draw, picture_of, says_yes, written
from model.files.load_drawing import drawing_metrics, load_drawing, trace_drawing
from model.trace import Trace
from pages.beyond_text.pictures_from_text.doing import do
from pages.beyond_text.pictures_from_text.scene import SIDE, drawn, scene, word_and_attempt
from pages.own_picture import DRAWN
from pages.patches import chosen_head, weights_of
from ui import engine
from ui.components.matrix import Caption
from ui.controls.control import Stops
from ui.course.check import Part, Shown, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question
from ui.text import number

NEXT = Stops("Patch that is drawn", "patch", tuple(range(2, 1 + N_PATCHES)), default=25)


def idea(trace: Trace) -> None:
    st.markdown(
        "A decoder writes a text piece by piece, each drawn from its probabilities after all that stands before it. "
        f"Cut a picture into patches, choose {N_CODES} typical ones, a **code book**, and number them: a picture is "
        f"then a row of {N_PATCHES} numbers. So a decoder can write it. In the same row words can stand: one before "
        "the picture says what to draw; one after it asks something about it."
    )
    st.latex(r"P(x_1,\dots,x_{49}\mid\text{word})=\prod_{t=1}^{49}P(x_t\mid\text{word},x_1,\dots,x_{t-1})")
    st.caption(
        "xₜ: the number of patch t in the code book. *DALL·E* (Ramesh et al. 2021) wrote pictures so: 256 pieces of "
        "text, then 1,024 patches out of 8,192. *LLaVA* (Liu et al. 2023) puts vectors of patches into the row of a "
        "language model and asks. Ours has three layers, ten words, three questions, and learned from 8,000 digits."
    )


def controls(trace: Trace) -> None:
    NEXT.draw()


def see(trace: Trace) -> Shown:
    read = engine.run(trace_drawing, load_drawing(), (drawn().word, *drawn().ids))
    n = NEXT.value()  # the row before it has read the word and n − 1 patches
    looks = weights_of(read, "decoder")[:, :, n - 1]  # (L,H,49)
    seen = np.zeros((*looks.shape[:2], N_PATCHES))
    seen[..., : n - 1] = looks[..., 1:n]
    layer, head = chosen_head(
        seen.reshape(*looks.shape[:2], SIDE, SIDE) / seen.max(),
        f"Where it looks before it draws patch {n}",
        (len(looks) - 1, 0),
    )
    first = (n - 1) // SIDE * SIDE  # the row of the picture that the patch lies in
    rows, columns = range(first, n), range(n)
    return checked_matrix(
        read,
        f"{read.model.anatomy.attention('decoder', layer).path}.weights",
        Caption(
            f"Weights of layer {layer + 1}, head {head + 1}",
            f"A row is what has been read last before a patch is drawn; the last one draws patch {n}. Columns: "
            "the word, then the patches.",
        ),
        head=head,
        part=Part(rows=rows, columns=columns),
        start=(len(rows) - 1, int(looks[layer, head, :n].argmax())),
    )


def predict(trace: Trace) -> Sequence[Question]:
    after = drawing_metrics()["test"]["answered_after"]
    stops = (str(2 * SIDE), str(4 * SIDE), str(N_PATCHES))
    shares = [after[n][0] for n in stops]
    first = next(k for k, share in enumerate(shares) if share >= 0.9) if max(shares) >= 0.9 else len(stops)
    options = (*(f"after {n} patches" for n in stops), "never")
    lines = [f"After {n}, {number(100 * share, 1)}% are right." for n, share in zip(stops, shares, strict=True)]
    lines.append("See the first one where it is.")
    return (
        Question(
            "rows",
            f"It is about to draw the last of {N_PATCHES} patches. How many pieces has it read, the word included?",
            (str(N_PATCHES - 1), str(N_PATCHES), str(N_PATCHES + 1), str(SIZE**2)),
            frozenset({1}),
            f"The word and {N_PATCHES - 1} patches.",
            wrong={
                0: "The word is a piece, too.",
                2: "The last patch is not there yet.",
                3: "That is the number of pixels.",
            },
        ),
        Question(
            "twice",
            "You ask for the same word again, in another attempt. Will the picture be the same?",
            ("yes", "no"),
            frozenset({1}),
            "Each patch is drawn by its probability, and what is drawn is read before the next one.",
            wrong={0: "It would be so if it always took the likeliest patch."},
        ),
        Question(
            "half",
            "It is asked about digits of which it sees only the beginning, row by row. Which is the first of these "
            "after which at least 90% of its answers are right?",
            options,
            frozenset({first}),
            " ".join(lines[:-1]),
            wrong={k: line for k, line in enumerate(lines) if k != first},
        ),
    )


LESSON = Lesson(
    "pictures-from-text",
    "Pictures from text",
    asks="One word: what does it draw next?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check_cell, do=do, controls=controls),
    code=(draw, says_yes, written, picture_of),
    on_map=OnMap(
        readers=(),
        pictured=("a decoder that draws", lambda: [load_drawing()]),
        instead=word_and_attempt,
        scene=scene,
        unkept=DRAWN,
    ),
)
