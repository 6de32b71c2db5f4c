"""A matrix and the two thin ones whose product is as large, drawn to scale, but for a pixel: plain HTML."""

import streamlit as st

SIDE = 8.0  # rem, of the large matrix


def thin_matrices(d: int, k: int, rank: int) -> None:
    """W₀ (d,k), which is frozen, and beside it B (d,r) and A (r,k), which learn."""
    scale = SIDE / max(d, k)

    def box(name: str, rows: int, columns: int, colour: str) -> str:
        size = f"width:{columns * scale:.3f}rem;height:{rows * scale:.3f}rem;min-width:1px;min-height:1px"
        return (
            f'<span><i style="display:block;{size};background:{colour}"></i>{name}<br><small>{rows} × {columns}</small>'
            "</span>"
        )

    frozen, learns = "var(--tw-line)", "var(--tw-query)"
    boxes = (box("W₀", d, k, frozen), "<b>+</b>", box("B", d, rank, learns), "<b>·</b>", box("A", rank, k, learns))
    st.html(
        f'<figure role="img" aria-label="Drawn to scale: W₀ has {d} rows and {k} columns, B {d} and {rank}, A {rank} '
        f'and {k}. W₀ is grey: it does not learn." style="margin:0;display:flex;gap:.5rem;white-space:nowrap">'
        f"{''.join(boxes)}</figure>"
    )
