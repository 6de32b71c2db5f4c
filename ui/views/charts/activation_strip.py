"""Which of many units fire for each row: a strip of ticks a row, plain HTML, so that it is there at once."""

import io
from base64 import b64encode
from collections.abc import Sequence

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from PIL import Image

from ui.text import in_html

WIDTH = 512  # pixels of a strip: about as many as it gets on the screen


def raster(names: Sequence[str], values: NDArray[np.floating], label: str) -> None:
    """A tick for every value (T,N) above 0, its column across, the more opaque the larger; the count beside the strip.

    Args: names: of the T rows, any text, never taken for HTML; label: what the strips are, for a screen reader
    """
    strength = np.sqrt(np.maximum(values, 0) / max(float(values.max(initial=0)), 1e-9))
    lines = []
    for name, row in zip(names, strength, strict=True):
        # Of thousands of ticks, each an element of its own, a browser would have to lay out every one.
        lines.append(
            f'<li><span class="tw-bar-name">{in_html(name)}</span>'
            f'<span class="tw-ticks" aria-hidden="true"><i style="mask-image:url(\'{strip(row)}\')"></i></span>'
            f'<span class="tw-bar-value">{np.count_nonzero(row)}</span></li>'
        )
    st.html(f'<ol class="tw-bars" aria-label="{in_html(label)}">{"".join(lines)}</ol>')


def strip(strength: NDArray[np.floating]) -> str:
    """A picture's address: one line of pixels, opaque where one of N units, 0 to 1, is above 0."""
    firing = np.flatnonzero(strength)
    opacity = np.zeros(WIDTH + 1)
    left = firing * WIDTH // len(strength)
    for place in (left, left + 1):  # a tick is two pixels wide; where ticks meet, the stronger is seen
        np.maximum.at(opacity, place, 0.3 + 0.7 * strength[firing])
    alpha = Image.fromarray(np.round(255 * opacity[np.newaxis, :WIDTH]).astype(np.uint8))
    buffer = io.BytesIO()
    Image.merge("LA", (Image.new("L", alpha.size), alpha)).save(buffer, "PNG")
    return "data:image/png;base64," + b64encode(buffer.getvalue()).decode("ascii")
