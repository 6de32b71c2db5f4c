"""Worked steps on the page."""

import re
from collections.abc import Sequence

import streamlit as st

from explain import WorkedStep
from ui.text import in_markdown


def arithmetic(step: WorkedStep) -> str:
    """Its formula (LaTeX), which ends in the value by its size if four decimals would show that as 0."""
    if not 0 < abs(step.value) < 0.00005:
        return step.formula
    digits, power = f"{step.value:.1e}".split("e")
    return re.sub(r"\b0\.0000$", rf"{digits}\\cdot 10^{{{int(power)}}}", step.formula)


def show_steps(steps: Sequence[WorkedStep]) -> None:
    """Worked steps, numbered, with typeset arithmetic."""
    for n, step in enumerate(steps, 1):
        says = re.sub(r"W\\\^([QKVO])", r"$W^\1$", in_markdown(step.says))  # the matrices as the formulas write them
        st.markdown(f"{n}\\. {says}")
        # Inline, because only inline formulas break at the end of a line.
        st.markdown(rf"$\displaystyle {arithmetic(step)}$")
