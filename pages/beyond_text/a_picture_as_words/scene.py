"""The first screen: a picture as a row of patches; hide those that are looked at most, and it reads another digit."""

import numpy as np

from experiments.pictures.looking import chances, hidden_in_turn, looked_at
from model.files.load_pictures import CLASS, load_vision
from model.trace import Trace
from pages.own_picture import own
from ui import engine
from ui.components.scene import Bar, Bars, Frame, Scene
from ui.components.scene.sheet import Cut, Fan, Sheet
from ui.text import chance

STOPS = (0, 1, 2, 3, 4, 6, 8)
NUMBERS = 12  # of a column that are drawn


def scene(trace: Trace) -> Scene:
    """The visitor's picture, with more and more patches hidden."""
    shown = own()

    def frames() -> list[Frame]:
        order, reads = hidden_in_turn(load_vision(), shown.picture, STOPS[-1])
        return [scene_frame(order[:n], reads[0], reads[n]) for n in STOPS]

    return Scene(
        "ViT: a picture as a row of words. The picture is cut into 16 patches, and each becomes a column of "
        f"{load_vision().config.d_model} numbers. A learned column, {CLASS}, looks at them and names the digit.",
        "Patches hidden, each time the one it looks at most",
        engine.alone(frames),
        by="slider",
        wide=(1, 2.1, 1),
        plays=True,
        also=lambda: own().key(),
    )


def truth(named: int) -> str:
    """What the picture is, where that is known and the model does not see it."""
    shown = own()
    if shown.is_empty:
        return "But the sheet is empty: it knows ten digits, and no “nothing”. "
    if shown.label not in (None, named):
        return f"The digit is **{shown.label}**. "
    return ""


def scene_frame(gone: list[int], first: Trace, read: Trace) -> Frame:
    """gone: patches hidden, in their order; first: the picture read whole; read: without them"""
    before, now, weights = chances(first), chances(read), looked_at(read)
    named, was = int(now.argmax()), int(before.argmax())
    columns = read.tensors["encoder.embedding.projected"][:, :NUMBERS]
    cut = Cut(read.tensors["picture"], read.model.config.patch, weights, gone, float(weights.max()))
    most = int(weights.argmax()) + 1
    looks = f"{CLASS} looks most at patch {most}, {chance(float(weights[most - 1]))}."
    if not gone:
        says = f"It reads **{named}**, {chance(float(now[named]))}. {truth(named)}{looks}"
    else:
        which = f"patch {gone[0]}" if len(gone) == 1 else f"patches {', '.join(map(str, gone[:-1]))} and {gone[-1]}"
        change = f"it reads **{named}**" if named != was else f"it still reads **{named}**"
        says = f"Without {which} {change}, {chance(float(now[named]))}; " + (
            f"{was} fell from {chance(float(before[was]))} to {chance(float(now[was]))}."
            if named != was
            else f"before, {chance(float(before[was]))}."
        )
    bars = [
        Bar(str(digit), float(p), chance(float(p)), float(before[digit]) if gone else None, digit == named)
        for digit, p in enumerate(now)
    ]
    return Frame(
        f"{len(gone)} hidden",
        says,
        [
            [
                Sheet(cut, "Your picture, in patches", "bluer: looked at more"),
                Fan(
                    cut,
                    CLASS,
                    columns,
                    "Each patch is a column, as a word would be",
                    f"above: its first {NUMBERS} numbers",
                    limit=float(np.abs(columns).max()),
                ),
                Bars(bars, "It reads", "output"),
            ]
        ],
    )
