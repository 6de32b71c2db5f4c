"""An activation as a curve, with the numbers of a real network as ticks on it."""

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from figures.chart import BLUE, GREY, ORANGE, layout

Array = NDArray[np.floating]


TICKS = 40  # half a tick's height is this part of the curve's


def activation_figure(z: Array, values: Array, slopes: Array, units: tuple[Array, Array], name: str) -> go.Figure:
    """The curve (N) over z (N), its slope dashed, and a tick for each of M units: what goes in and what comes out.

    All ticks are one path: a browser draws that in an instant, a thousand points in a fifth of a second.
    """
    half = float(np.ptp(values)) / TICKS
    heights = np.concatenate([values, slopes, units[1] - half, units[1] + half])
    margin = float(np.ptp(heights)) / 20
    ticks = "".join(f"M{x:.4f},{y - half:.4f}V{y + half:.4f}" for x, y in zip(*units, strict=True))
    return go.Figure(
        [
            go.Scatter(x=z, y=values, name=name, mode="lines", line={"width": 2, "color": BLUE},
                       hovertemplate="%{x:.2f} → %{y:.2f}<extra></extra>"),
            go.Scatter(x=z, y=slopes, name="its slope", mode="lines", hoverinfo="skip",
                       line={"width": 2, "color": GREY, "dash": "dash"}),
        ],
        layout(
            320,
            {"title": "before the activation", "range": [float(z[0]), float(z[-1])]},
            {"title": "after it", "range": [float(heights.min()) - margin, float(heights.max()) + margin]},
            shapes=[{"type": "path", "path": ticks, "line": {"color": ORANGE, "width": 1}, "opacity": 0.6}],
        ),
    )  # fmt: skip
