"""Boxes in a row with signs between them: vectors, matrices with their shapes, the steps of a time line. Plain HTML."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import streamlit as st

from ui.text import in_html, piece

Colour = Literal["query", "key", "value", "output", "plain"]


@dataclass(frozen=True)
class Box:
    """One box.

    text:   what it is; raised: what stands above its end, as in W^Q; under: small print, such as its shape
    colour: that of queries, keys, values or results
    parts:  names of the columns that it is divided into, side by side
    size:   width and height in rem; by default as large as its text
    """

    text: str
    under: str = ""
    colour: Colour = "plain"
    parts: tuple[str, ...] = ()
    size: tuple[float, float] = (0.0, 0.0)
    raised: str = ""


def flow(rows: Sequence[Sequence[Box | str]], label: str) -> None:
    """Draw rows of boxes; a text between them is a sign. All texts may be any, none is taken for HTML.

    Args: label: what the picture shows, for a screen reader
    """
    body = "".join(f"<div>{''.join(map(_item, row))}</div>" for row in rows)
    st.html(f'<figure class="tw-flow" aria-label="{in_html(label)}">{body}</figure>')


def _item(item: Box | str) -> str:
    if isinstance(item, str):
        return f"<em>{in_html(item)}</em>"
    width, height = item.size
    parts = "".join(f"<i>{in_html(part)}</i>" for part in item.parts)
    name = in_html(piece(item.text))
    raised = f"<sup>{in_html(item.raised)}</sup>" if item.raised else ""
    under = f"<small>{in_html(item.under)}</small>" if item.under else ""
    return (
        f'<span class="{item.colour}"><s style="--w:{width:g};--h:{height:g}"><b>{name}{raised}</b>'
        f"{parts}</s>{under}</span>"
    )
