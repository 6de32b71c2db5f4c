"""Lesson: the same block reads word pieces, bytes, patches, pixels and sound, and counts the columns of its row."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from experiments.sounds.listening import in_patches
from experiments.sounds.tones import glide
from model.families.copying import CopyingConfig
from model.families.pictures import PatchEmbedding, SwinConfig, cut_into_patches
from model.families.sounds import SoundConfig
from model.files.load_pictures import CLASS, load_vision
from model.files.load_sounds import FIRST_ROWS
from model.files.loaded_model import Array
from model.parts.embedding import TokenEmbedding
from model.sound.spectrogram import spectrogram
from model.sound.waves import samples_of
from model.trace import Trace
from pages.own_picture import DRAWN, draw_own, own, read_own
from pages.own_sound import recorded
from ui.components.matrix import Caption, Labels
from ui.components.scene import Bar, Bars, Card, Cards, Frame, Row, Scene
from ui.components.scene.sheet import Cut, Sheet
from ui.controls.control import Choice, Stops
from ui.course.check import Shown, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question
from ui.views.charts.tables import table

ROOM = 12  # cards on the first screen
SHOWN = Choice("Columns of", "see", ("your sentence", "your drawing"))
TRIAL = Choice("Try", "try", ("Who reads what", "Cut finer", "Draw another"))
SIDE = Stops("Picture, in pixels to a side", "side", (28, 56, 112, 224), default=224)
PATCH = Stops("Patch, in pixels to a side", "cut", (1, 2, 4, 7, 14, 28), default=14)
SOUND, SWIN, STATE = SoundConfig(), SwinConfig(), CopyingConfig()


@dataclass(frozen=True)
class Way:
    """A way to make columns. of: the input that is cut; columns: of the visitor's; pairs: that a layer compares"""

    name: str
    of: str
    columns: int
    pairs: int
    says: str


def ways(trace: Trace) -> tuple[Way, ...]:
    """All seven, for the visitor's sentence and drawing and for one second of sound."""
    pieces, n_bytes = len(trace.src), len(trace.text.encode())
    patches, pixels = 1 + load_vision().config.n_patches, load_vision().config.size ** 2
    in_window, sounds = SWIN.window**2, len(FIRST_ROWS) + SOUND.n_patches

    def alike(name: str, of: str, n: int, says: str) -> Way:
        return Way(name, of, n, n**2, f"{says} Pairs, all with all: **{n**2:,}**.")

    return (
        alike("word pieces", "sentence", pieces, f"Your sentence is **{pieces}** pieces, a column each."),
        alike("bytes", "sentence", n_bytes, f"The same sentence, in bytes: **{n_bytes}**. No byte is unknown."),
        alike("patches", "drawing", patches, f"With {CLASS}, your drawing is **{patches}** columns."),
        Way(
            "windows", "drawing", SWIN.n_patches, SWIN.n_patches * in_window,
            f"In patches of {SWIN.patch} × {SWIN.patch}, your drawing is **{SWIN.n_patches}** columns. Each looks at "
            f"the {in_window} of its window: **{SWIN.n_patches * in_window:,}** pairs, not {SWIN.n_patches**2:,}.",
        ),
        alike("sound patches", "sound", sounds, f"With two learned rows, the sound is **{sounds}** columns."),
        alike("pixels", "drawing", pixels, f"Pixel by pixel, your drawing is **{pixels}** columns."),
        Way(
            "one state", "sentence", 1, 0,
            f"A state space reads your {pieces} pieces one after another. What it keeps is always **one** state, here "
            f"{STATE.d_inner} × {STATE.n_states} numbers in each layer. It compares no pairs.",
        ),
    )  # fmt: skip


def second_of_sound() -> tuple[str, Array]:
    """The loudest second of what the visitor has recorded, or a tone: what it is called; its spectrogram, highest pitch
    first (pitches,frames).
    """
    if given := recorded():
        name, wave = "Your sound", given.wave
    else:
        name, wave = "A sound", glide(samples_of(SOUND.frames)).astype(np.float32)
    return name, np.ascontiguousarray(in_patches(SOUND, wave)[::-1])


def scene(trace: Trace) -> Scene:
    """Three inputs, of which one is cut at each stop; how many columns that makes, and how many pairs."""
    every = ways(trace)
    return Scene(
        "What is a token? A sentence, a drawing and a second of sound. Each part becomes a column of numbers for the "
        "same block.",
        "Cut into",
        [scene_frame(trace, n, every) for n in range(len(every))],
        by="slider",
        wide=(0.62, 0.85, 1.5),
        plays=True,
        also=lambda: (own().key(), second_of_sound()[1].tobytes()),
    )


def scene_frame(trace: Trace, n: int, every: Sequence[Way]) -> Frame:
    way, config = every[n], load_vision().config
    parts = [token.text for token in trace.src]
    if way.name == "bytes":
        parts = [f"{byte:02x}" for byte in trace.text.encode()]
    shown = parts if len(parts) <= ROOM else [*parts[: ROOM - 1], "…"]
    sides = {"patches": config.patch, "windows": SWIN.patch, "pixels": 1, "sound patches": SOUND.high}

    def title(of: str, name: str) -> str:
        return f"{name}, in {way.name}" if way.of == of else name

    def sheet(of: str, name: str, picture: Array, windows: Sequence[int] = ()) -> Sheet:
        side = sides[way.name] if way.of == of else math.gcd(*picture.shape)
        return Sheet(Cut(picture, side, whole=way.of != of), title(of, name), "", windows)

    top = math.log10(1 + max(one.columns for one in every))
    bars = [
        Bar(
            one.name,
            math.log10(1 + one.columns) / top,
            f"{one.columns:,} · {one.pairs:,}",
            strong=one is way,
        )
        for one in every
    ]
    windows = range(0, SWIN.side + 1, SWIN.window) if way.name == "windows" else ()
    return Frame(
        way.name,
        way.says,
        [
            [Cards([Row([Card(part) for part in shown])], title=title("sentence", "Your sentence"), slots=ROOM)],
            [
                sheet("drawing", "Your drawing", own().picture, tuple(windows)),
                sheet("sound", *second_of_sound()),
                Bars(
                    bars, "Columns · pairs that a layer compares", "query", 1.0, "bars: columns, on a logarithmic scale"
                ),
            ],
        ],
    )


def idea(trace: Trace) -> None:
    st.markdown(
        "A block of a Transformer reads a row of columns, and does not know what they were. Whatever can be cut into "
        "parts, and each part made into a vector, is a sentence to it. Such a part is a **token**. Somebody has "
        "chosen it: a piece of a word, a byte, a patch of a picture or of a sound’s spectrogram, a pixel. The choice "
        "has a price. Finer parts keep more detail, but there are more of them, and attention compares each with each."
    )
    st.latex(r"n\text{ parts}\;\rightarrow\;X\in\mathbb{R}^{n\times d}\;\rightarrow\;n^2\text{ pairs in each layer}")
    st.caption("d: numbers of a column. With windows there are fewer pairs, with a state space none.")


def controls(trace: Trace) -> None:
    SHOWN.draw()


def see(trace: Trace) -> Shown:
    how = "A row here is one column of the picture above, its place added. Two kinds of input, one kind of row."
    if SHOWN.value() == "your drawing":
        read = read_own()
        caption = Caption("Patches of your drawing, as the encoder reads them", how)
        return checked_matrix(
            read, "encoder.embedding.output", caption, labels=Labels(tuple(row.text for row in read.src))
        )
    return checked_matrix(
        trace, "encoder.embedding.output", Caption("Pieces of your sentence, as the encoder reads them", how)
    )


def do(trace: Trace) -> None:
    tried: dict[str, Callable[[], None]] = {"Who reads what": who, "Cut finer": finer, "Draw another": another}
    tried[TRIAL.draw()]()


def who() -> None:
    st.markdown("**Who reads what?** A choice of models, each with its paper; for words, that of the pieces.")
    table(
        ("token", "read by", "why"),
        (
            (
                "word piece",
                "GPT (pieces by Sennrich et al. 2016), BERT (pieces by Schuster and Nakajima 2012)",
                "few columns, and rare words fall into known pieces",
            ),
            ("byte", "ByT5 (Xue et al. 2022)", "no list of pieces; any language; misspelt words harm it less"),
            ("patch", "ViT (Dosovitskiy et al. 2021)", "16 × 16 pixels a word"),
            ("patch in a window", "Swin (Liu et al. 2021)", "pairs grow as the picture does, not as its square"),
            ("spectrogram patch", "AST (Gong et al. 2021)", "a sound is read as a picture"),
            ("pixel", "Image GPT (Chen et al. 2020)", "a picture is written as a sentence is, pixel by pixel"),
            ("state", "Mamba (Gu and Dao 2023)", "the work grows with the length alone"),
        ),
    )


def another() -> None:
    draw_own()
    st.caption("What you record in the lesson *Sound in strips* stands here in place of the tone.")


def finer() -> None:
    st.markdown("**What does a finer cut cost?** Choose a picture and a patch.")
    side, patch = SIDE.draw(), PATCH.draw()
    rows = []
    for one in dict.fromkeys((28, patch, *[patch // 2] * (patch % 2 == 0))):
        n = (side // one) ** 2
        rows.append((f"{one} × {one}", f"{n:,}", f"{n**2:,}", f"{3 * one**2:,}"))
    table(("patch", "columns", "pairs", "numbers in a patch, in colour"), rows)
    st.caption(
        "Half the side of a patch: four times the columns, sixteen times the pairs. The numbers in a patch are what a "
        "column of a few hundred numbers has to hold."
    )


def predict(trace: Trace) -> Sequence[Question]:
    return (
        Question(
            "bytes",
            "“straße” has six letters. How many bytes does it have in UTF-8?",
            ("6", "7", "12"),
            frozenset({1}),
            "ß takes two bytes, each of the other letters one.",
            wrong={0: "Only the letters of ASCII take one byte each.", 2: "Two bytes for every letter is UTF-16."},
        ),
        Question(
            "patches",
            "A picture of 224 × 224 pixels is cut into patches of 16 × 16. How many are there?",
            ("14", "196", "50,176"),
            frozenset({1}),
            "224 / 16 = 14 to a side, 14 × 14 = 196.",
            wrong={0: "That is how many stand side by side.", 2: "That is how many pixels it has."},
        ),
        Question(
            "finer",
            "Patches half as high and half as wide: how many times as many pairs does a layer compare?",
            ("2", "4", "16"),
            frozenset({2}),
            "Four times the columns, and each compared with four times as many.",
            wrong={
                0: "There are four times as many columns.",
                1: "So many times the columns. Pairs are the square.",
            },
        ),
    )


LESSON = Lesson(
    "what-is-a-token",
    "What is a token?",
    asks="How many columns does it make?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check_cell, do=do, controls=controls),
    code=(TokenEmbedding, PatchEmbedding, cut_into_patches, spectrogram),
    on_map=OnMap(scene=scene, unkept=f"{DRAWN} or recorded"),
)
