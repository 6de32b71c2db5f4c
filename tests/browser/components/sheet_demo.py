"""The page that the browser tests of pictures drive: a picture in patches, its patches in a row, a sheet to draw on.

Every number can be checked by hand. Below stands what the page has heard of the drawing. With `wide` in the query, a
wide picture stands there in fine patches with windows, and once more uncut.
"""

import json
from typing import Any

import numpy as np
import streamlit as st

from ui.components.drawing import Drawn, Photo, Sample, drawing
from ui.components.scene import Frame, Scene, scene
from ui.components.scene.sheet import Cut, Fan, Sheet

st.set_page_config(page_title="Sheet", layout="wide")
SIDE, PATCH = 6, 2  # nine patches of four pixels
PICTURE = (np.arange(SIDE * SIDE).reshape(SIDE, SIDE) * 11 % 36 / 35).astype(np.float32)  # every level of ink once
WEIGHTS = [0.02 * (n * 4 % 9 + 1) for n in range(9)]  # the sixth is the largest
LIMIT = 2.0  # of the columns' colours; numbers go on behind it
COLUMNS = [[(9 * k + n - 22) / 8 for k in range(5)] for n in range(9)]
HIDDEN: tuple[tuple[int, ...], ...] = ((), (3, 8))


def frame(hidden: tuple[int, ...]) -> Frame:
    turned = -1 if st.session_state.get("heard") == '{"n": 2}' else 1
    cut = Cut(PICTURE[::turned], PATCH, WEIGHTS[::turned], hidden, limit=0.2)
    return Frame(str(len(hidden)), "", [[Sheet(cut, "Sheet"), Fan(cut, "top", COLUMNS, "Fan", limit=LIMIT)]])


def heard(told: Drawn | Photo | Sample) -> None:
    kept: Any = vars(told)
    if isinstance(told, Photo):
        kept = {"grey": (255 * told.grey[6::20, 6::20]).round().astype(int).tolist()}
    st.session_state["heard"] = json.dumps(kept)


WIDE = np.tile(PICTURE[0], (6, 3))[:, :16]  # 6 × 16: three patches down, eight across
CUTS = [Sheet(Cut(WIDE, PATCH), "Cut", windows=(0, 2), marked=12), Sheet(Cut(WIDE, PATCH, whole=True), "Uncut")]
frames = [Frame("", "", [CUTS])] if "wide" in st.query_params else [frame(hidden) for hidden in HIDDEN]
scene(Scene("Pictures", "hidden", frames), key="scene", at=0, on_move=lambda at: None)
drawing(
    PICTURE,
    key="drawing",
    title="A title",
    note="A note",
    samples=("first", "second", "third"),
    chosen=1,
    on_change=heard,
)
st.code(st.session_state.get("heard", "nothing"), language=None)
