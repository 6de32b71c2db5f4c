"""Lesson: Swin looks around within windows, and shifts them so that news gets through."""

from collections.abc import Callable, Sequence

import numpy as np
import streamlit as st

from experiments.pictures.looking import chances, travelled, turned, window_of
from model.families.pictures import Swin, SwinConfig
from model.files.load_pictures import CNN, IN_WINDOWS, SIZES, VIT, SwinTrace, load_swin, picture_metrics, trace_picture
from model.files.loaded_model import Array
from model.parts.window_attention import ShiftedWindowAttention, into_windows, neighbours
from model.trace import Trace
from pages.own_picture import DRAWN, draw_own, own
from ui import engine
from ui.components.head_grid import head_grid
from ui.components.matrix import Caption, Labels, Scale, matrix
from ui.components.scene import Bar, Bars, Frame, Scene
from ui.components.scene.sheet import Cut, Sheet
from ui.controls.address import read_count, read_pair, write_count, write_pair
from ui.controls.control import Choice, Stops
from ui.course.check import Part, Shown, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question
from ui.text import chance, number
from ui.views.charts.tables import table

SIZES_OF = SwinConfig()
SIDE, WINDOW, N_PATCHES = SIZES_OF.side, SIZES_OF.window, SIZES_OF.n_patches
TURNED, FIRST = "patch", 76  # in the address: the patch that is turned, from 0
MAP = "map"  # in the address: block and head
HEARD = 0.25  # how blue a patch is at least that has changed at all
SHOWN = Choice("What to see", "see", ("attention", "pixels"))
TRIAL = Choice("Try", "try", ("Invert a patch", "Bias", "What it costs", "Which reads better"))
AFTER = Stops("Blocks passed", "after", (1, 2, 3, 4), default=2)
BLOCK = Choice("Block", "block", (1, 2, 3, 4))
HEAD = Choice("Head of it", "of_block", (1, 2, 3, 4))
MOVING = Choice("Windows", "windows", ("shift", "stay"))
HIGH = Stops("Picture, in patches to a side", "side", (14, 28, 56, 112), default=56)
WIDE = Stops("Window, in patches to a side", "window", (7, 14), default=7)


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
    default = 0, 0
    block, head = read_pair(MAP, looks.shape[:2], default)
    head_grid(
        looks.reshape(*looks.shape[:2], WINDOW, WINDOW) / looks.max(),
        key="looks_in_window",
        selected=(block, head),
        title=f"Where patch {1 + turned_patch()} looks in its window: a small picture for each head",
        row_label="block",
        mean=False,
        on_select=lambda chosen: write_pair(MAP, chosen, default),
    )
    which, place, patches = windows[block]
    names = tuple(str(1 + patch) for patch in patches)
    wraps = bool(block % 2 and np.ptp(patches // SIDE) + np.ptp(patches % SIDE) > 2 * (WINDOW - 1))
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
        part=Part(rows=range(which * WINDOW**2, (which + 1) * WINDOW**2)),
        scale=Scale("positive"),
        start=(place, int(looks[block, head].argmax())),
    )


def do(trace: Trace) -> None:
    tried: dict[str, Callable[[], None]] = {
        "Invert a patch": invert,
        "Bias": bias,
        "What it costs": cost,
        "Which reads better": better,
    }
    tried[TRIAL.draw()]()


def invert() -> None:
    st.markdown(
        "**Click a patch to invert it.** Each number says how much the vector of a patch has changed by that, as a "
        "share of its length."
    )
    n, moving = AFTER.draw(), MOVING.draw() == "shift"
    changed = news(moving)[n]
    _grid(
        changed.reshape(SIDE, SIDE),
        Labels(*_lines(), "Patch {name}: {value}", _names()),
        Caption(
            f"Changed after {n} of {SIZES_OF.n_layers} blocks",
            f"Marked: patch {1 + turned_patch()}, the inverted one. Hatched: exactly as it was.",
            csv_name="changed",
        ),
        hidden=(changed == 0).reshape(SIDE, SIDE),
        scale=Scale("positive"),
        selected=divmod(turned_patch(), SIDE),
        on_select=lambda cell: write_count(TURNED, SIDE * cell[0] + cell[1], FIRST),
    )
    st.markdown(f"**{int((changed > 0).sum())} of {N_PATCHES}** patches have changed.")


def _lines() -> tuple[list[str], list[str]]:
    rows, columns = ([f"{what} {n}" for n in range(1, 1 + SIDE)] for what in ("row", "column"))
    return rows, columns


def _names() -> list[list[str]]:
    return [[str(SIDE * row + column) for column in range(1, 1 + SIDE)] for row in range(SIDE)]


def _grid(values: Array, labels: Labels, caption: Caption, **more: object) -> None:
    matrix(values, labels, caption, key="do_matrix", **more)  # type: ignore[arg-type]


def bias() -> None:
    st.markdown(
        "**What does it add for each direction and distance?** In the middle: a patch looks at itself. Above it: at "
        "patches above it."
    )
    block, head = BLOCK.draw() - 1, HEAD.draw() - 1
    module = load_swin().model.encoder.layers[block].self_attn
    assert isinstance(module, ShiftedWindowAttention)
    ways = 2 * WINDOW - 1
    learned = module.positions.get_parameter("table.weight")[:, head].reshape(ways, ways).cpu().numpy()
    # The table is of the way from key to query; who looks thinks of the way from himself to what he looks at.
    seen = learned[::-1, ::-1]
    steps = range(-WINDOW + 1, WINDOW)
    _grid(
        seen,
        Labels(
            [f"{abs(n)} {'up' if n < 0 else 'down'}" if n else "same row" for n in steps],
            [f"{abs(n)} {'left' if n < 0 else 'right'}" if n else "same column" for n in steps],
        ),
        Caption(
            f"Bias of block {block + 1}, head {head + 1}", "Orange raises a score, blue lowers it.", csv_name="bias"
        ),
        scale=Scale("signed"),
    )
    row, column = divmod(int(seen.argmax()), ways)
    down, right = row - WINDOW + 1, column - WINDOW + 1
    st.markdown(
        f"Most is added for a patch {_way(down, 'down', 'up')} and {_way(right, 'right', 'left')}: "
        f"{number(float(seen.max()), 2)}. Least: {number(float(seen.min()), 2)}."
    )


def _way(steps: int, positive: str, negative: str) -> str:
    return f"{abs(steps)} {positive if steps > 0 else negative}" if steps else f"0 {positive}"


def cost() -> None:
    st.markdown("**How many pairs does a layer compare?** Choose a picture and a window.")
    side, window = HIGH.draw(), WIDE.draw()
    rows = []
    for one in dict.fromkeys((SIDE, side, 2 * side)):
        n = one**2
        rows.append((f"{one} × {one}", f"{n:,}", f"{n**2:,}", f"{window**2 * n:,}", number(n / window**2, 1)))
    table(("patches", "rows", "all pairs", f"pairs in windows of {window} × {window}", "times fewer"), rows)
    st.caption(
        "Twice as high and twice as wide: sixteen times as many pairs in all, four times as many in windows. A window "
        "twice as wide: four times as many."
    )


def better() -> None:
    kept = picture_metrics()
    read = read_own()
    now = chances(read)
    many = f"{VIT}-{SIZES[0]}", f"{CNN}-{SIZES[0]}"
    st.markdown(
        f"**Which reads better?** Right, in percent, of {kept['pictures']:,} digits that none of them learned from, "
        f"with the standard error. All have about the same size and learned from {SIZES[0]:,} digits."
    )
    names = {
        IN_WINDOWS: "Swin, windows shift",
        many[0]: "Vision Transformer, patches of 7 × 7",
        many[1]: "convolutional network",
    }
    shares = {name: kept["test"][name] for name in names}
    rows = [(names[name], _share(share), f"{kept['training'][name]['parameters']:,}") for name, share in shares.items()]
    still = ("Swin, the same weights, windows stay", _share(kept["windows_kept_still"]), rows[0][2])
    table(("reader", "right", "parameters"), [rows[0], still, *rows[1:]])
    mean, error = kept["swin_ahead"]
    apart = f"{number(100 * abs(mean), 1)} ± {number(100 * error, 1)} points"
    told = f"Swin is {apart} {'ahead of' if mean > 0 else 'behind'} the Vision Transformer."
    if abs(mean) < 2 * error:
        told = f"Swin and the Vision Transformer are {apart} apart: too little to tell which reads better."
    st.markdown(
        f"{told} Swin learned with windows that shift: what windows that stay would learn was not measured. Of this "
        f"picture it says **{int(now.argmax())}**, {chance(float(now.max()))}."
    )


def _share(of: Sequence[float]) -> str:
    return f"{number(100 * of[0], 1)} ± {number(100 * of[1], 1)}"


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
