"""A curve that grows while something runs: plain HTML, which a browser changes in place, several times a second."""

from collections.abc import Sequence

import streamlit as st

from ui.text import in_html
from ui.views.charts.column_chart import ticks


def line_chart(x: Sequence[float], y: Sequence[float], *, alt: str, axis: str, ends: tuple[float, float]) -> None:
    """A curve through N points, and the room that is left for those to come.

    Args: x from 0 to the first of `ends`; y from 0, with a scale to the second, or to the largest y if that is more
          alt: what the curve is, for a screen reader; axis: what x and y are
    """
    right, top = ends[0], max(ends[1], *y)
    points = [(100 * a / right, 100 * (1 - b / top)) for a, b in zip(x, y, strict=True)]
    # A clip path takes no stroke: the curve is a band, once along its upper edge and once back along its lower one.
    upper = [f"{a:.2f}% calc({b:.2f}% - 1.5px)" for a, b in points]
    lower = [f"{a:.2f}% calc({b:.2f}% + 1.5px)" for a, b in reversed(points)]
    area = [f"{a:.2f}% {b:.2f}%" for a, b in points] + [f"{points[-1][0]:.2f}% 100%", "0% 100%"]
    lines = "".join(f'<u style="--at:{at / top:.4f}">{text}</u>' for at, text in ticks(0, top))
    st.html(
        f'<figure class="tw-curve" role="img" aria-label="{in_html(alt)}"><figcaption>{in_html(axis)}</figcaption><div>'
        f'{lines}<i class="area" style="clip-path:polygon({",".join(area)})"></i>'
        f'<i style="clip-path:polygon({",".join(upper + lower)})"></i></div></figure>'
    )
