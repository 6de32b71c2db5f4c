"""Small tables of texts and numbers: plain HTML, which a browser draws many times faster than Markdown."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import streamlit as st

from ui.text import in_html, piece

WIDE = 4  # columns, from which a table may be wider than a phone


@dataclass(frozen=True)
class Link:
    """A cell that leads out of the app; its address may not come from the visitor."""

    text: str
    url: str


def table(head: Sequence[str], lines: Sequence[Sequence[str | Link]]) -> None:
    """A table of any texts; none is taken for HTML, and spaces alone are shown as ␣."""
    body = "".join(_row("td", line) for line in lines)
    # A wide one scrolls in its own box on a phone, and arrow keys move that once the table has the focus.
    reached = ' tabindex="0"' if len(head) >= WIDE else ""
    st.html(f'<table class="tw-table"{reached}><thead>{_row("th", head)}</thead><tbody>{body}</tbody></table>')


def _row(tag: str, cells: Iterable[str | Link]) -> str:
    tags = [(tag if cell else "td", _cell(cell)) for cell in cells]  # an empty cell heads nothing
    return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for tag, cell in tags) + "</tr>"


def _cell(cell: str | Link) -> str:
    if isinstance(cell, Link):
        return f'<a href="{in_html(cell.url)}" target="_blank" rel="noopener">{in_html(cell.text)}</a>'
    return in_html(piece(cell)).replace(" · 10", "&nbsp;·&nbsp;10") if cell else ""


def markdown_table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """A table of Markdown, for formulas: nothing in it may come from the visitor."""
    body = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    st.markdown(f"| {' | '.join(head)} |\n|{'---|' * len(head)}\n{body}")


def numbers_of_figure(head: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """The numbers of the figure above, as a table behind a fold: for those who cannot see it, or want to calculate."""
    with st.expander("The numbers of the figure"):
        table(head, lines)
