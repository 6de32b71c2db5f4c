"""An activation as a curve, with the numbers of a real network as dots."""

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from figures.chart import BLUE, GREY, ORANGE, layout

Array = NDArray[np.floating]


def activation_figure(z: Array, values: Array, slopes: Array, dots: tuple[Array, Array], name: str) -> go.Figure:
    """The curve (N) over z (N), its slope dashed, and dots (M): what goes into units and what comes out of them."""
    line = {"width": 2}
    return go.Figure(
        [
            go.Scatter(x=z, y=values, name=name, mode="lines", line=line | {"color": BLUE}, hoverinfo="skip"),
            go.Scatter(
                x=z, y=slopes, name="its slope", mode="lines", line=line | {"color": GREY, "dash": "dash"},
                hoverinfo="skip",
            ),
            go.Scatter(
                x=dots[0],
                y=dots[1],
                name="units",
                mode="markers",
                marker={"color": ORANGE, "size": 5, "opacity": 0.5},
                hovertemplate="%{x:.2f} → %{y:.2f}<extra></extra>",
            ),
        ],
        layout(320, {"title": "before the activation"}, {"title": "after it"}),
    )  # fmt: skip
