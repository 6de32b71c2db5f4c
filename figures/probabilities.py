"""Probabilities of pieces, before and after a change."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from figures.statistics import softmax

BLUE, ORANGE = "#0072B2", "#E69F00"


def probabilities_of(logits: NDArray[np.floating], ids: Sequence[int]) -> NDArray[np.floating]:
    """Softmax of each row of logits (T,V) at one id a row: (T) probabilities."""
    return softmax(logits)[np.arange(len(ids)), list(ids)]


def paired_bars(
    labels: Sequence[str],
    before: NDArray[np.floating],
    after: NDArray[np.floating],
    names: tuple[str, str],
    axis: str = "probability",
    limit: float = 1.0,
) -> go.Figure:
    """Two numbers (N), by default probabilities, side by side for each of N pieces.

    labels: HTML-safe (Plotly reads some tags), one a piece, repeats allowed; axis, limit: what the numbers are, and the
    end of their scale
    """
    places = np.arange(len(labels))
    return go.Figure(
        [
            go.Bar(
                x=places,
                y=values,
                name=name,
                marker={
                    "color": colour,
                    "pattern": {"shape": pattern, "fillmode": "overlay", "fgcolor": "white", "size": 6},
                },
                customdata=list(labels),
                hovertemplate="%{customdata}: %{y:.4f}<extra>" + name + "</extra>",
            )
            for values, name, colour, pattern in (
                (before, names[0], BLUE, ""),
                (after, names[1], ORANGE, "/"),
            )
        ],
        {
            "barmode": "group",
            "bargap": 0.25,
            "height": 280,
            "margin": {"l": 8, "r": 8, "t": 28, "b": 8},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "legend": {"orientation": "h", "y": 1.15, "x": 0},
            "dragmode": False,
            "xaxis": {"tickvals": places, "ticktext": list(labels), "fixedrange": True},
            "yaxis": {"range": [0, 1.02 * limit], "title": axis, "fixedrange": True},
        },
    )
