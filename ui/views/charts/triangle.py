"""The decoder's triangle: what each row may see, and what it predicts: a table, for any reader."""

from collections.abc import Sequence

import streamlit as st

from ui.text import in_html, piece


def triangle(inputs: Sequence[str], predicted: Sequence[str], rows: Sequence[int], title: str) -> None:
    """One line for each of these rows (from 0): the inputs it sees, coloured; those hidden, hatched; what it predicts.

    Args: inputs, predicted (T): any text, never taken for HTML; rows: which of the T rows are drawn
    """
    columns = [in_html(piece(inputs[j])) for j in rows]
    head = "".join(f'<th scope="col">{column}</th>' for column in columns)
    body = "".join(_line(i, inputs, predicted, rows) for i in rows)
    st.html(
        f'<table class="tw-triangle"><caption>{in_html(title)}</caption><thead><tr><th scope="col">row</th>{head}'
        f'<th scope="col">predicts</th></tr></thead><tbody>{body}</tbody></table>'
    )


def _line(row: int, inputs: Sequence[str], predicted: Sequence[str], columns: Sequence[int]) -> str:
    cells = "".join(
        f'<td class="seen">{in_html(piece(inputs[j]))}</td>' if j <= row else '<td class="hidden">−∞</td>'
        for j in columns
    )
    return f'<tr><th scope="row">{row + 1}</th>{cells}<td class="next">{in_html(piece(predicted[row]))}</td></tr>'
