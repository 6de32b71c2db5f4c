"""What the learner chooses before a training, and what to look at during one."""

import streamlit as st

from model.config import CHOICES
from model.trace import Trace
from training.live import toy
from ui.controls.control import Choice

TASK = Choice("Task", "task", tuple(toy.TASKS))
LAYERS = Choice("Layers in each stack", "depth", (1, 2, 3))
HEADS = Choice("Heads", "n_heads", (1, 2, 4, 8), default=2)
POSITIONS = Choice("Positions", "positions", CHOICES["positions"])
RATE = Choice("Learning rate", "rate", ("0.0003", "0.001", "0.003", "0.01", "0.1", "10"), default="0.003")

# The kinds of attention, by what people read.
KINDS = {"Encoder-decoder": "cross", "Encoder": "encoder", "Masked decoder": "decoder"}
MAPS = Choice("Attention to watch", "maps", tuple(KINDS))


def controls(trace: Trace) -> None:
    for control in (TASK, LAYERS, HEADS, POSITIONS, RATE):
        control.draw()  # type: ignore[attr-defined]


def chosen() -> toy.Choice:
    return toy.Choice(TASK.value(), LAYERS.value(), HEADS.value(), POSITIONS.value(), float(RATE.value()))


def examples() -> None:
    """The task in three examples."""
    task = TASK.value()
    shown = ("  →  ".join((text, toy.TASKS[task](text))) for text in (toy.EXAMPLE, "hello", "x"))
    st.markdown(f"**To {task}:** " + " · ".join(f"`{one}`" for one in shown))
