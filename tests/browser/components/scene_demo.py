"""The page that the browser tests of `scene` drive: every mean once, in two frames, with numbers one can check by hand.

Query parameters: `word` of a card, `slots` for cards, `by`, `hostile` for texts that would run, `press` for a button,
`stop` as on pages, `lines` that change their rows. A switch brings another sentence: bars half as long.
"""

import numpy as np
import streamlit as st

from ui.components.scene import (
    Axis,
    Bands,
    Bar,
    Bars,
    Card,
    Cards,
    Curve,
    Dots,
    Frame,
    Line,
    Link,
    Matrix,
    Row,
    Ruler,
    Scene,
    scene,
)
from ui.components.scene.answer import quoted
from ui.components.scene.layers import Slot, Tower, Wiring
from ui.components.scene.sheet import Cut, Sheet
from ui.components.scene.strips import Square

st.set_page_config(page_title="Scene", layout="wide")
HOSTILE = "<img src=x onerror=window.pwned=1>"
NORMS: tuple[tuple[Slot, Slot], ...] = (("after the sum", "after the sum"), ("before", "before"), ("before", "after"))
word = HOSTILE if "hostile" in st.query_params else st.query_params.get("word", "girl")


another = st.toggle("Another sentence")


def frame(at: int) -> Frame:
    share = (0.25, 0.5, 1.0)[at] / (2 if another else 1)
    upper = [Card("The"), Card(word, "asked", note="here", bar=share), Card(".", "unseen", column=[-1, 0, 1, 0.5])]
    rows = [Row(upper, "Reads"), Row([Card("Das", "written"), Card("Mädchen", "strong")], "Writes", "output")]
    links = [Link((0, 0), (0, 2), share), Link((0, 1), (1, 1), 1 - share / 2, "value")]
    if "lines" in st.query_params:  # only the later frames have a line above the cards
        links = [Link((0, 0), (0, 2) if at else (1, 0), share), Link((0, 1), (1, 1), share)]
    bars = [Bar("first", share, f"{share:.2f}", before=0.25, strong=True), Bar(word, 0.1, "0.10")]
    return Frame(
        f"stop {at + 1}",
        f"At **{share}** {quoted(word)} is read.",
        [
            [
                Cards(rows, links, title="Cards", tall=(2, 5), slots=int(st.query_params.get("slots", 0))),
                Bars(bars, "Bars", note="of all"),
            ],
            [
                Curve(
                    [Line("a", [(0, 0), (5, share), (10, 1)]), Line("b", [(0, 1), (10, 1)], "key", dashed=True)],
                    Axis("steps", 0, 10, [(0, "none"), (10, "10")]),
                    Axis("loss", -1, 1),
                    "Curve",
                    knob=(5, share),
                    rug=[(2, 0.5)],
                    words=[(8, 0.5, "word")],
                    dots=[(2.5, 0.5)],
                ),
                Matrix(np.array([[share, -1.0], [0.0, 1.0]]), "Matrix", "of four", signed=True, marked=(0, 1)),
                Dots(
                    [(0.0, False), (share, True), (share, True)], ("low", "high"), "Dots", "50%", "of three", mine=0.5
                ),
            ],
            [
                Bands(["The", word], np.array([[1.0, share], [0.0, 0.5]]), ["half", "all"], "Bands", direct=at == 2),
                Ruler(word, 1 + 4 * at, 2, 10, ((0, "query"), (1, word))),
            ],
            [
                Wiring("sub-layer", NORMS[at], "Wiring", at == 2),
                Tower([0.0, share], "far", "Tower", "note", limit=2),
                Square(2 + 2 * at, 2, 6, 0, ("yours", word), "Square"),
            ],
            [Sheet(Cut(np.zeros((2, 2)), 1), "Sheet", windows=(0,), marked=1)],
        ],
    )


def moved(at: int) -> None:
    st.session_state["rests"] = at


def pressed() -> None:
    st.session_state["pressed"] = st.session_state.get("pressed", 0) + 1


shown = Scene(
    "A scene of every mean.",
    "How much",
    [frame(at) for at in range(3)],
    by=st.query_params.get("by", "choice"),  # type: ignore[arg-type]
    wide=(2, 1, 1),
    plays="plays" in st.query_params,
    press="Start" if "press" in st.query_params else "",
    on_press=pressed,
)
scene(shown, key="scene", at=st.session_state.get("rests", 0), on_move=moved)
st.write(f"It rests at {st.session_state.get('rests', 0)}, pressed {st.session_state.get('pressed', 0)} times.")
