"""Which of many units fire for each row: a line of ticks a row, plain HTML, so that it is there at once."""

from collections.abc import Sequence

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from ui.text import in_html


def raster(names: Sequence[str], values: NDArray[np.floating], label: str) -> None:
    """A tick for every value (T,N) above 0, its column across, the more opaque the larger; the count beside the line.

    Args: names: of the T rows, any text, never taken for HTML; label: what the lines are, for a screen reader
    """
    strength = np.sqrt(np.maximum(values, 0) / max(float(values.max(initial=0)), 1e-9))
    width = values.shape[1]
    lines = []
    for name, row in zip(names, strength, strict=True):
        units = np.flatnonzero(row)
        ticks = "".join(
            f'<i style="left:{100 * unit / width:.1f}%;opacity:{0.3 + 0.7 * row[unit]:.2f}"></i>' for unit in units
        )
        lines.append(
            f'<li><span class="tw-bar-name">{in_html(name)}</span>'
            f'<span class="tw-ticks" aria-hidden="true">{ticks}</span>'
            f'<span class="tw-bar-value">{len(units)}</span></li>'
        )
    st.html(f'<ol class="tw-bars" aria-label="{in_html(label)}">{"".join(lines)}</ol>')
