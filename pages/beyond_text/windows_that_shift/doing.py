"""Do: invert any patch, see the bias, what windows cost, and which reader reads better."""

from collections.abc import Callable

import streamlit as st

from experiments.pictures.looking import chances
from model.files.load_pictures import CNN, IN_WINDOWS, SIZES, VIT, load_swin, picture_metrics
from model.parts.window_attention import ShiftedWindowAttention
from model.trace import Trace
from pages.beyond_text.windows_that_shift.scene import (
    FIRST,
    N_PATCHES,
    SIDE,
    SIZES_OF,
    TURNED,
    WINDOW,
    news,
    read_own,
    turned_patch,
)
from pages.patches import grid, share
from ui.components.matrix import Caption, Labels, Scale, matrix
from ui.controls.address import write_count
from ui.controls.control import Choice, Stops
from ui.text import chance, number
from ui.views.charts.tables import table

TRIAL = Choice("Try", "try", ("Invert a patch", "Bias", "What it costs", "Which reads better"))
AFTER = Stops("Blocks passed", "after", (1, 2, 3, 4), default=2)
BLOCK = Choice("Block", "block", (1, 2, 3, 4))
HEAD = Choice("Head of it", "of_block", (1, 2, 3, 4))
MOVING = Choice("Windows", "windows", ("shift", "stay"))
HIGH = Stops("Picture, in patches to a side", "side", (14, 28, 56, 112), default=56)
WIDE = Stops("Window, in patches to a side", "window", (7, 14), default=7)


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
    grid(
        changed,
        Caption(
            f"Changed after {n} of {SIZES_OF.n_layers} blocks",
            f"Marked: patch {1 + turned_patch()}, the inverted one.",
            hatched="exactly as it was",
        ),
        "do_matrix",
        scale=Scale("positive"),
        hidden=(changed == 0).reshape(SIDE, SIDE),
        selected=divmod(turned_patch(), SIDE),
        on_select=lambda cell: write_count(TURNED, SIDE * cell[0] + cell[1], FIRST),
    )
    st.markdown(f"**{int((changed > 0).sum())} of {N_PATCHES}** patches have changed.")


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
    matrix(
        seen,
        Labels(
            [f"{abs(n)} {'up' if n < 0 else 'down'}" if n else "same row" for n in steps],
            [f"{abs(n)} {'left' if n < 0 else 'right'}" if n else "same column" for n in steps],
        ),
        Caption(
            f"Bias of block {block + 1}, head {head + 1}", "Orange raises a score, blue lowers it.", csv_name="bias"
        ),
        key="do_matrix",
        scale=Scale("signed"),
    )
    row, column = divmod(int(seen.argmax()), ways)
    down, right = row - WINDOW + 1, column - WINDOW + 1
    ways_there = *_way(down, "down", "up"), *_way(right, "right", "left")
    st.markdown(
        f"Most is added for {'a patch ' + ' and '.join(ways_there) if ways_there else 'the patch itself'}: "
        f"{number(float(seen.max()), 2)}. Least: {number(float(seen.min()), 2)}."
    )


def _way(steps: int, positive: str, negative: str) -> list[str]:
    """How far, and in which direction; nothing if it is not far at all."""
    return [f"{abs(steps)} {positive if steps > 0 else negative}"] * (steps != 0)


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
    now = chances(read_own())
    st.markdown(
        f"**Which reads better?** Right, in percent, of {kept['pictures']:,} digits that none of them learned from, "
        f"with the standard error. All have about the same size and learned from {SIZES[0]:,} digits."
    )
    names = (
        (IN_WINDOWS, "Swin, windows shift"),
        (f"{VIT}-{SIZES[0]}", "Vision Transformer, patches of 7 × 7"),
        (f"{CNN}-{SIZES[0]}", "convolutional network"),
    )
    rows = []
    for name, told in names:
        learned = kept["training"][name]
        rows.append((told, share(kept["test"][name]), f"{learned['parameters']:,}", f"{learned['steps']:,}"))
    still = "Swin, the same weights, windows stay", share(kept["windows_kept_still"]), *rows[0][2:]
    table(("reader", "right", "parameters", "steps of training"), [rows[0], still, *rows[1:]])
    mean, error = kept["swin_ahead"]
    apart = f"{share((abs(mean), error))} points"
    told = f"Swin is {apart} {'ahead of' if mean > 0 else 'behind'} the Vision Transformer."
    if abs(mean) < 2 * error:
        told = f"Swin and the Vision Transformer are {apart} apart: too little to tell which reads better."
    st.markdown(
        f"{told} Swin learned with windows that shift: what windows that stay would learn was not measured. Of this "
        f"picture it says **{int(now.argmax())}**, {chance(float(now.max()))}."
    )
