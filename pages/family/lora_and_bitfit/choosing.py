"""What the learner chooses: a style, a rank, a matrix to look into; and what was learned for it."""

import re

import streamlit as st

from model.adapting.lora import RankError, check_rank
from model.files.loaded_model import LoadedModel
from model.trace import Trace
from pages.live_training import still_learns, trained
from training.live import adapting
from training.live.adapting import ADAPTED, BITFIT, EVERYTHING, LORA, Adapted, Adapting
from training.live.processes import LiveTraining
from training.live.styles import STYLES
from ui import engine
from ui.controls.control import Choice
from ui.views.attention_kinds import KINDS

SLOTS = {LORA: "lora", BITFIT: "bitfit", EVERYTHING: "everything"}
MOST = 16  # the largest rank that may be learned here
STYLE = Choice("Style", "style", tuple(STYLES))
OF = {one.label: kind for kind, one in KINDS.items()}
ATTENTION = Choice("Attention", "of", tuple(OF), default=KINDS["cross"].label)
LAYER = Choice("Layer", "at", (1, 2, 3))
LETTERS = {f"W^{name[-1].upper()}": name for name in ADAPTED}
MATRIX = Choice("Matrix", "matrix", tuple(LETTERS))


def width(loaded: LoadedModel) -> int:
    return loaded.config.d_model


def controls(trace: Trace) -> None:
    STYLE.draw()
    st.text_input("Rank r", "4", key="rank", bind="query-params")


def typed_rank() -> str:
    return str(st.session_state.get("rank") or st.query_params.get("rank") or "4")[:100].strip()


def rank(loaded: LoadedModel) -> int:
    """The rank that was typed. Raises: RankError, in one sentence"""
    typed = typed_rank()
    if not re.fullmatch(r"[-−]?\d{1,9}", typed, re.ASCII):
        raise RankError(f"A rank is a whole number: write one from 1 to {MOST}.")
    asked = int(typed.replace("−", "-"))
    if asked > (d := width(loaded)):
        raise RankError(f"A matrix of {d} rows and {d} columns has rank {d} at most: write a number from 1 to {MOST}.")
    check_rank(asked, d, d)
    if asked > MOST:
        raise RankError(f"Rank {asked} could be learned, but not here: write a whole number from 1 to {MOST}.")
    return asked


def chosen(loaded: LoadedModel, method: str = LORA) -> Adapting:
    """Raises: RankError"""
    at = rank(loaded) if method == LORA else 0
    return Adapting(loaded.name, STYLE.value(), method, at, adapting.STEPS)


def path(loaded: LoadedModel) -> str:
    """Of the matrix to look into."""
    return f"{loaded.anatomy.attention(OF[ATTENTION.value()], LAYER.value() - 1).path}.{LETTERS[MATRIX.value()]}"


def which_matrix() -> None:
    for control in (ATTENTION, LAYER, MATRIX):
        control.draw()  # type: ignore[attr-defined]


def learned(loaded: LoadedModel, method: str = LORA) -> LiveTraining[Adapted] | None:
    """The visitor's training of just this, if it has ended and left something."""
    try:
        return trained(SLOTS[method], chosen(loaded, method))
    except RankError:
        return None


def adapted(loaded: LoadedModel, training: LiveTraining[Adapted]) -> LoadedModel:
    """The model as it was last reported."""
    task: Adapting = training.task  # type: ignore[assignment]
    return engine.alone(lambda: task.network(loaded, training.reports[-1].learned))


def not_yet(loaded: LoadedModel, then: str) -> None:
    """Tell why there is nothing yet. Args: then: what one can do here once there is, a whole sentence"""
    try:
        runs = still_learns(SLOTS[LORA], chosen(loaded))
    except RankError:
        runs = False
    st.caption(f"The model still learns. {then}" if runs else f"First press *Start* in See. {then}")
