"""The first screen: one inverted patch, and how far its change gets, with windows that shift and that stay."""

import numpy as np

from experiments.pictures.looking import travelled, turned
from model.families.pictures import SwinConfig
from model.files.load_pictures import SwinTrace, load_swin, trace_picture
from model.files.loaded_model import Array
from model.trace import Trace
from pages.own_picture import own
from ui import engine
from ui.components.scene import Bar, Bars, Frame, Scene
from ui.components.scene.sheet import Cut, Sheet
from ui.controls.address import read_count

SIZES_OF = SwinConfig()
SIDE, WINDOW, N_PATCHES = SIZES_OF.side, SIZES_OF.window, SIZES_OF.n_patches
TURNED, FIRST = "patch", 76  # in the address: the patch that is turned, from 0
HEARD = 0.25  # how blue a patch is at least that has changed at all


def turned_patch() -> int:
    return read_count(TURNED, N_PATCHES, FIRST)


def news(shifts: bool) -> Array:
    """How much each row has changed by the turned patch, before the first block and behind each (blocks+1,P)."""
    return engine.alone(lambda: travelled(load_swin(shifts), own().picture, turned_patch()))


def read_own() -> SwinTrace:
    return engine.alone(lambda: trace_picture(load_swin(), own().picture))


def borders(shift: int) -> list[int]:
    """Where windows begin, and the picture ends, in patches."""
    return [0, *range(shift or WINDOW, SIDE, WINDOW), SIDE]


def scene(trace: Trace) -> Scene:
    """One changed patch, and how far its news has got, with windows that shift and with windows that stay."""
    moving, still = news(True), news(False)
    return Scene(
        "Swin: attention within windows that shift. One patch is inverted: ink becomes paper, and paper ink. Blue "
        "are the patches whose vectors have changed by it.",
        "Blocks passed",
        [scene_frame(n, moving, still) for n in range(len(moving))],
        by="slider",
        start=2,
        wide=(1, 1, 1),
        plays=True,
        also=lambda: (own().key(), turned_patch()),
    )


def scene_frame(n: int, moving: Array, still: Array) -> Frame:
    """After n blocks. moving, still: as of `news`, with windows that shift and that stay"""

    def sheet(changed: Array, title: str, shift: int) -> Sheet:
        blue = np.where(changed > 0, HEARD + (1 - HEARD) * np.sqrt(changed / changed.max()), 0.0)
        cut = Cut(turned(own().picture, turned_patch(), SIZES_OF.patch), SIZES_OF.patch, blue.tolist())
        note = "lines: windows of this block" if n else "before the first block"
        return Sheet(cut, title, note, windows[shift], 1 + turned_patch())

    shift = SIZES_OF.shift * (n % 2 == 0)
    windows = {step: borders(step) if n else [] for step in (0, SIZES_OF.shift)}
    far, near = (int((changed[n] > 0).sum()) for changed in (moving, still))
    if n == 0:
        says = f"Patch {1 + turned_patch()} is inverted. No other has changed yet. Choose another one in Do."
    else:
        blocks = "1 block" if n == 1 else f"{n} blocks"
        says = f"After {blocks}, **{far} of {N_PATCHES}** patches have changed. If windows stay: **{near}**."
    bars = [
        Bar("windows shift", far / N_PATCHES, f"{far} of {N_PATCHES}", strong=True),
        Bar("windows stay", near / N_PATCHES, f"{near} of {N_PATCHES}"),
    ]
    return Frame(
        f"{n} of {len(moving) - 1}",
        says,
        [
            [
                sheet(moving[n], "Windows shift", shift),
                sheet(still[n], "Same weights, windows stay", 0),
                Bars(bars, "Patches that have changed", "query", 1.0, "bluer: changed more"),
            ]
        ],
    )
