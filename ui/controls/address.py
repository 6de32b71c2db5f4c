"""State that lives in the address alone: read with suspicion, written without defaults.

Widgets keep theirs by `bind="query-params"`; this is for what is chosen by clicking in a figure.
"""

import re
from collections.abc import Callable
from typing import TypeVar

import streamlit as st

from ui.text import in_markdown

Number = TypeVar("Number", int, float)


def read_pair(
    name: str, limits: tuple[int, ...], default: tuple[int, int], lows: tuple[int, int] = (0, 0)
) -> tuple[int, int]:
    """Two counts like `3.2` (from 1 in the address, from 0 here), or the default where they are missing or do not fit.

    Args: limits: the first count too large, of each; lows: the smallest that is allowed, of each
    """
    found = re.fullmatch(r"(\d{1,3})\.(\d{1,3})", st.query_params.get(name, ""), re.ASCII)
    if not found:
        return default
    pair = int(found[1]) - 1, int(found[2]) - 1
    if all(low <= value < limit for value, limit, low in zip(pair, limits, lows, strict=True)):
        return pair
    return default


def write_pair(name: str, pair: tuple[int, int] | None, default: tuple[int, int] | None = None) -> None:
    """Put two counts into the address; the default, or None, is left out."""
    if pair is None or pair == default:
        st.query_params.pop(name, None)
    else:
        st.query_params[name] = f"{pair[0] + 1}.{pair[1] + 1}"


def read_count(name: str, limit: int, default: int = 0) -> int:
    """One count from 0 up to, but not including, the limit; the default where it is missing or does not fit."""
    text = st.query_params.get(name, "")
    found = int(text) if re.fullmatch(r"\d{1,3}", text, re.ASCII) else default
    return found if 0 <= found < limit else default


def write_count(name: str, value: int, default: int = 0) -> None:
    """Put one count into the address; the default is left out."""
    if value == default:
        st.query_params.pop(name, None)
    else:
        st.query_params[name] = str(value)


def said(name: str, widget: Callable[[], Number]) -> Number:
    """The value of a widget; if the address that opened the page asked for one that cannot be, that is said."""
    asked = None if name in st.session_state else st.query_params.get(name)
    value = widget()
    if asked is not None and not _is(asked, value):
        asked, what = in_markdown(asked[:20]), in_markdown(name)
        st.caption(f"The address asks for {what} = {asked}, which cannot be; it is {value:g}.")
    return value


def _is(text: str, value: float) -> bool:
    try:
        return float(text) == value
    except ValueError:
        return False
