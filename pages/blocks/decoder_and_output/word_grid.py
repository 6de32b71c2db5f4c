"""A grid of words with a number each: plain HTML, so that it is there at once and any reader can read it."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from ui.text import chance, in_html, piece


@dataclass(frozen=True)
class WordCell:
    """A word, its share from 0 to 1, and a sign that marks it, or none."""

    text: str
    share: float
    mark: str = ""


def word_grid(
    rows: Sequence[str], columns: Sequence[str], cells: Sequence[Sequence[WordCell]], *, title: str, corner: str
) -> None:
    """Draw words by row and column, the darker the larger their share; meant for a few columns, which fit a phone.

    Args: rows, columns, cells: any text, never taken for HTML; corner: what the rows and the columns are
    """
    head = "".join(f'<th scope="col">{in_html(column)}</th>' for column in columns)
    body = "".join(
        f'<tr><th scope="row">{in_html(piece(row))}</th>'
        + "".join(
            f'<td style="--p:{cell.share:.4f}"><b>{in_html(piece(cell.text))}</b> '
            f"<small>{in_html(chance(cell.share, 2))} {in_html(cell.mark)}</small></td>"
            for cell in line
        )
        + "</tr>"
        for row, line in zip(rows, cells, strict=True)
    )
    st.html(
        f'<table class="tw-words"><caption>{in_html(title)}</caption>'
        f'<thead><tr><th scope="col">{in_html(corner)}</th>{head}</tr></thead><tbody>{body}</tbody></table>'
    )
