"""The page that the browser tests of small pictures drive: a field of texts against pictures, and what was found."""

import numpy as np
import streamlit as st

from experiments.pictures.meeting import shared_out
from ui.components.scene import Frame, Scene, scene
from ui.components.scene.emoji import Field, Find, Finds

st.set_page_config(page_title="Emoji", layout="wide")
# One pixel each: red, blue.
DRAWN = {
    "r": "data:image/gif;base64,R0lGODlhAQABAIAAAP8AAAAAACwAAAAAAQABAAACAkQBADs=",
    "b": "data:image/gif;base64,R0lGODlhAQABAIAAAAAA/wAAACwAAAAAAQABAAACAkQBADs=",
}
TEXTS, COSINES = ("<b>one</b>", "two"), np.array([[0.9, 0.4], [0.3, 0.5]])


def frame(cold: float) -> Frame:
    shares = shared_out(COSINES, cold)
    finds = [Find("first", 0.75, "0.75", "cosine 0.9", "b", strong=True), Find("second", 0.25, "0.25", "", "r")]
    return Frame(str(cold), "", [[Field(TEXTS, ("r", "b"), shares, "Field"), Finds(finds, "Finds", "note", "r")]])


scene(
    Scene("Emoji", "cold", [frame(1.0), frame(0.1)], by="slider", pictures=DRAWN),
    key="scene",
    at=0,
    on_move=lambda at: None,
)
