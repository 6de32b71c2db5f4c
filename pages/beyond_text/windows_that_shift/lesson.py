"""The lesson's parts."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from experiments.pictures.looking import travelled, window_of
from model.families.pictures import Swin
from model.files.load_pictures import load_swin
from model.parts.window_attention import ShiftedWindowAttention, into_windows, neighbours
from model.trace import Trace
from pages.beyond_text.windows_that_shift.doing import do
from pages.beyond_text.windows_that_shift.scene import SIDE, SIZES_OF, WINDOW, read_own, scene, turned_patch
from pages.own_picture import DRAWN, draw_own
from pages.patches import chosen_head
from ui.components.matrix import Caption, Labels, Scale
from ui.controls.control import Choice
from ui.course.check import Part, Shown, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question

SHOWN = Choice("What to see", "see", ("attention", "pixels"))


def idea(trace: Trace) -> None:
    st.markdown(
        "Small patches see more detail, but there are many of them, and attention compares each with each. *Swin* "
        "compares only within **windows**: squares of M × M patches. That is cheap, but nothing gets from one window "
        "into the next. So in every second block the windows are **shifted** by about half their side. Patches that "
        "were apart then share a window. No position vector is added. Instead each score gets a learned number for "
        "direction and distance from one patch to the other: a **bias**."
    )
    st.latex(r"M^2\,HW\text{ pairs instead of }(HW)^2")
    st.latex(r"\mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}}+B\right)V")
    st.caption(
        f"H, W: height and width of the picture, in patches; here {SIDE} × {SIDE}, with M = {WINDOW}. B: the bias, "
        f"{2 * WINDOW - 1} × {2 * WINDOW - 1} numbers for each head. The paper’s Swin also merges patches as it goes "
        "up, four into one. Ours does not."
    )


def controls(trace: Trace) -> None:
    SHOWN.draw()


def see(trace: Trace) -> Shown:
    read = read_own()
    row, column = divmod(turned_patch(), SIDE)
    if SHOWN.value() == "pixels":
        return checked_matrix(
            read,
            "patches",
            Caption(
                f"Pixels of patches {SIDE * row + 1} to {SIDE * (row + 1)}",
                f"A row for each patch: its {SIZES_OF.patch**2} pixels, line by line. 0 is paper, 1 is ink.",
            ),
            part=Part(rows=range(SIDE * row, SIDE * (row + 1))),
            scale=Scale("weight"),
            start=(column, 0),
        )
    paths = [one.path for one in read.model.anatomy.attentions["encoder"]]
    windows = [
        window_of((SIDE, WINDOW, SIZES_OF.shift * (n % 2)), row, column) for n in range(SIZES_OF.n_layers)
    ]  # of the turned patch, block by block
    looks = np.stack(
        [
            read.tensors[f"{path}.weights"][:, which * WINDOW**2 + place]
            for path, (which, place, _) in zip(paths, windows, strict=True)
        ]
    )  # (blocks,H,M²)
    block, head = chosen_head(
        looks.reshape(*looks.shape[:2], WINDOW, WINDOW) / looks.max(),
        f"Where patch {1 + turned_patch()} looks in its window",
        (0, 0),
        row_label="block",
    )
    which, place, patches = windows[block]
    names = tuple(str(1 + patch) for patch in patches)
    rows = range(which * WINDOW**2, (which + 1) * WINDOW**2)
    wraps = bool(np.isneginf(read.tensors[f"{paths[block]}.scores"][head, rows]).any())
    return checked_matrix(
        read,
        f"{paths[block]}.weights",
        Caption(
            f"Weights of block {block + 1}, head {head + 1}, in the window of patch {1 + turned_patch()}",
            "A row says where one patch of the window looks."
            + " Hatched: no neighbours in the picture, since the window wraps round its edge." * wraps,
        ),
        head=head,
        labels=Labels(names, names),
        part=Part(rows=rows),
        scale=Scale("positive"),
        start=(place, int(looks[block, head].argmax())),
    )


def predict(trace: Trace) -> Sequence[Question]:
    return (
        Question(
            "one",
            f"The picture has {SIDE} × {SIDE} patches, a window {WINDOW} × {WINDOW}. One patch is changed. How many "
            "patches have changed after the first block?",
            ("1", "14", "49", "196"),
            frozenset({2}),
            "All of its window: 7 × 7 = 49.",
            wrong={
                0: "That is before the first block.",
                1: "A window is a square, not a row.",
                3: "That is the whole picture.",
            },
        ),
        Question(
            "two",
            "Windows begin at row and column 1 and 8. In the second block they are shifted by 3 patches, so they begin "
            "at 4 and 11, and what is left over at the edge stands in smaller ones. The patch is in the upper left "
            "window. How many patches have changed now?",
            ("49", "98", "100", "196"),
            frozenset({2}),
            "The changed window ends at row and column 7. The shifted windows that it touches end at row and column "
            "10: 10 × 10.",
            wrong={
                0: "Shifted windows reach over the edge of the old one.",
                1: "It spreads down and to the right at once.",
                3: "The windows from row 11 on are not reached yet.",
            },
        ),
        Question(
            "size",
            "A picture becomes twice as high and twice as wide. How many times as many pairs are compared within "
            "windows?",
            ("2", "4", "16"),
            frozenset({1}),
            "Four times as many windows, each as large as before.",
            wrong={0: "Height and width both double.", 2: "That is how many times as many all pairs would be."},
        ),
    )


LESSON = Lesson(
    "windows-that-shift",
    "Swin: windows that shift",
    asks="How far does one changed patch travel?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check_cell, do=do, controls=controls),
    code=(into_windows, neighbours, ShiftedWindowAttention, Swin, travelled),
    on_map=OnMap(readers=(), pictured=("Swin", lambda: [load_swin()]), instead=draw_own, scene=scene, unkept=DRAWN),
)
