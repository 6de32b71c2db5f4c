"""The code that ran, read from the running program, never a copy."""

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

ROOT = Path(__file__).parents[2]

Code = Callable[..., Any]


@functools.lru_cache(256)
def where(code: Code) -> str:
    """File and first line of a function or class, like `model/parts/attention.py, line 13`."""
    file = Path(inspect.getfile(inspect.unwrap(code))).resolve().relative_to(ROOT)
    return f"{file.as_posix()}, line {inspect.getsourcelines(code)[1]}"


@functools.lru_cache(256)
def _text(code: Code) -> str:
    return inspect.getsource(code)


def source(first: Code, *others: Code) -> None:
    """The function that matters most, open; those around it folded away.

    Long lines wrap: Streamlit's boxes of code can be scrolled, but not focused by keyboard.
    """
    st.caption(where(first))
    st.code(_text(first), language="python", wrap_lines=True)
    for code in others:
        with st.expander(f"{code.__qualname__} · {where(code)}"):
            st.code(_text(code), language="python", wrap_lines=True)
