"""Choosing a model by name, kept in the address: for pages that show other models than this project's own."""

from collections.abc import Sequence

import streamlit as st

MAX_NAME = 200  # characters of a name that are read


def choose_model(label: str, names: Sequence[str], key: str, default: str | None = None) -> str | None:
    """A box to choose a model from a list or to type another one's name; None until something is chosen."""
    asked = (st.query_params.get(key) or default or "")[:MAX_NAME].strip()
    options = [*names, *([asked] if asked and asked not in names else [])]

    def write() -> None:
        chosen = st.session_state[f"{key}_box"]
        if chosen is None or chosen == default:
            st.query_params.pop(key, None)
        else:
            st.query_params[key] = chosen[:MAX_NAME]

    chosen = st.selectbox(
        label,
        options,
        index=options.index(asked) if asked else None,
        placeholder="Choose one, or type a name",
        accept_new_options=True,
        key=f"{key}_box",
        on_change=write,
    )
    return chosen[:MAX_NAME].strip() if chosen else None
