"""Numbers from 0 up as a list of bars: plain HTML, so that it is there at once and any reader can read it."""

from collections.abc import Sequence

import streamlit as st

from ui.text import chance, in_html, piece


def bars(names: Sequence[str], values: Sequence[float], label: str, limit: float = 1.0, digits: int = 4) -> None:
    """One bar for each name, on a scale from 0 to the limit, with its number; a negative value has no bar.

    Args: names: any text, never taken for HTML, spaces alone shown as ␣; label: what the list is, for a screen reader;
          limit: more than 0; digits: of its number behind the point
    """
    rows = "".join(
        f'<li><span class="tw-bar-name">{in_html(piece(name))}</span>'
        f'<span class="tw-bar-room" style="--p:{max(0.0, min(1.0, value / limit)):.4f}" aria-hidden="true"></span>'
        f'<span class="tw-bar-value">{in_html(chance(value, digits))}</span></li>'
        for name, value in zip(names, values, strict=True)
    )
    st.html(f'<ol class="tw-bars" aria-label="{in_html(label)}">{rows}</ol>')
