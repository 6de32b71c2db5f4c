"""Small tables of texts and numbers, as Markdown."""

from collections.abc import Sequence

import streamlit as st

from ui.text import in_markdown


def table(head: Sequence[str], lines: Sequence[Sequence[str]], markdown: bool = False) -> None:
    """A table of texts. The cells may come from the visitor unless they are said to be Markdown, as the head is."""
    show = str if markdown else in_markdown
    body = "\n".join("| " + " | ".join(show(cell) for cell in line) + " |" for line in lines)
    st.markdown(f"| {' | '.join(head)} |\n|{'---|' * len(head)}\n{body}")


def numbers_of_figure(head: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """The numbers of the figure above, as a table behind a fold: for those who cannot see it, or want to reckon."""
    with st.expander("The numbers of the figure"):
        table(head, lines)
