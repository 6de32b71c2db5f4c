"""Choosing a piece or a word of a sentence, kept in the address by its number."""

from collections.abc import Sequence

import streamlit as st

from ui.controls.address import read_count, write_count
from ui.text import piece


def choose_part(label: str, texts: Sequence[str], default: int, of: str, name: str = "hide") -> int:
    """Control for one piece or word of a sentence `of`; kept in the address, under this name, by its number.

    It stays the same box for every sentence: of two boxes, Streamlit would take the old one away only when the whole
    page has run.
    """
    key = f"{name}/part"

    def write() -> None:
        write_count(name, st.session_state[key] + 1, default + 1)

    chosen = current_part(len(texts), default, of, name)
    if st.session_state.get(f"{key}/of") != of:
        st.session_state[key], st.session_state[f"{key}/of"] = chosen, of
    return st.selectbox(
        label,
        range(len(texts)),
        index=chosen,
        format_func=lambda i: f"{i + 1} {piece(texts[i])}",
        key=key,
        on_change=write,
        width=260,
    )


def current_part(n: int, default: int, of: str, name: str = "hide") -> int:
    """Which of n parts `choose_part` is set to, also where that is not on the page (presenter mode)."""
    in_address = (read_count(name, n + 1) or default + 1) - 1
    is_of_this = st.session_state.get(f"{name}/part/of") == of
    return int(st.session_state.get(f"{name}/part", in_address)) if is_of_this else in_address


def forget_parts() -> None:
    """What was chosen here means nothing where one goes by an address, which says what is chosen there."""
    for key in [str(key) for key in st.session_state if str(key).endswith("/part/of")]:
        del st.session_state[key]
