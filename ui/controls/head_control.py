"""Choosing an attention head: the same controls on every lesson, kept in the address."""

from collections.abc import Sequence

import streamlit as st

from model.interventions import Head
from ui.controls.address import read_count, write_count
from ui.controls.segmented import one_of
from ui.engine import machine
from ui.text import visible
from ui.views.attention_kinds import KINDS, choose_kind

LAYER = (
    "The same block stands several times, one after the other. Each of these layers reads what the one before wrote."
)
HEAD = "Within a layer, several heads look at once, side by side, each with matrices of its own."


def choose_head(kinds: Sequence[str] = tuple(KINDS), default: str = "encoder") -> Head:
    """Controls for kind of attention, layer and head, side by side."""
    config = machine().config
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="choose_head", width="content"):
        kind = choose_kind(kinds, default) if len(kinds) > 1 else default
        layers, heads = range(1, config.n_layers + 1), range(1, config.n_heads + 1)
        layer = one_of("Layer", layers, key="layer", default=config.n_layers, goes_along=True, help=LAYER)
        head = one_of("Head", heads, key="head", goes_along=True, help=HEAD)
    return Head(kind, layer - 1, head - 1)


def current_head(default: str = "encoder", kinds: Sequence[str] = tuple(KINDS)) -> Head:
    """The head that `choose_head` is set to, also where that is not on the page (presenter mode)."""
    config = machine().config

    def count(name: str, n: int, otherwise: int) -> int:
        text = str(st.session_state.get(name) or st.query_params.get(name, ""))
        return int(text) - 1 if text in map(str, range(1, n + 1)) else otherwise

    label = st.session_state.get("attention") or st.query_params.get("attention")
    kind = next((k for k in kinds if KINDS[k].label == label), default)
    return Head(
        kind,
        count("layer", config.n_layers, config.n_layers - 1),
        count("head", config.n_heads, 0),
    )


def choose_part(label: str, texts: Sequence[str], default: int, of: str, name: str = "hide") -> int:
    """Control for one piece or word of a sentence `of`; kept in the address, under this name, by its number."""
    key = _part_key(name, of)

    def write() -> None:
        write_count(name, st.session_state[key] + 1, default + 1)

    return st.selectbox(
        label,
        range(len(texts)),
        index=current_part(len(texts), default, of, name),
        format_func=lambda i: f"{i + 1} {visible(texts[i])}",
        key=key,
        on_change=write,
        width=260,
    )


def current_part(n: int, default: int, of: str, name: str = "hide") -> int:
    """Which of n parts `choose_part` is set to, also where that is not on the page (presenter mode)."""
    in_address = (read_count(name, n + 1) or default + 1) - 1
    return int(st.session_state.get(_part_key(name, of), in_address))


def _part_key(name: str, of: str) -> str:
    """The key belongs to the sentence: another one has other options."""
    return f"{name}/{of}"
