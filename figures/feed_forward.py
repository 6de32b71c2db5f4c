"""Hidden units of a feed-forward network: which of them fire, and the figure that shows them all."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

Array = NDArray[np.floating]

_TICK = "#C4600A"  # the positive end of the signed scale, readable on a white and a dark page


def strongest_units(hidden: Array, count: int) -> list[int]:
    """The strongest units of each row of hidden (T,d_ff), row by row: about `count` in all, at least one a row.

    No unit comes twice, and none that rests; a row may therefore add fewer than its share, or none.
    """
    share = max(1, count // len(hidden))
    found: dict[int, None] = {}
    for row in hidden:
        best = np.argsort(-row, kind="stable")[:share]
        found.update(dict.fromkeys(int(unit) for unit in best if row[unit] > 0))
    return list(found)


def most_changed(before: Array, after: Array, count: int) -> list[int]:
    """The columns of two matrices (T,D) that differ most anywhere, in their own order."""
    change = np.abs(after - before).max(0)
    return sorted(int(column) for column in np.argsort(-change, kind="stable")[:count])


def firing_raster(hidden: Array, labels: Sequence[str]) -> go.Figure:
    """A tick for every unit of hidden (T,d_ff) that fires, the more opaque the stronger; rows run downwards.

    labels: HTML-safe (Plotly reads some tags), one a row, repeats allowed
    """
    rows, units = np.nonzero(hidden > 0)
    strength = hidden[rows, units].astype(np.float64)
    height = max(12, min(26, 320 // len(labels)))  # of a row, in pixels
    figure = go.Figure(
        go.Scatter(
            x=units + 1,
            y=rows,
            mode="markers",
            marker={
                "symbol": "line-ns",
                "size": height * 0.7,
                "opacity": np.round(0.3 + 0.7 * np.sqrt(strength / strength.max(initial=1e-9)), 2),
                "line": {"width": 2, "color": _TICK},
            },
            text=[labels[int(row)] for row in rows],
            customdata=np.round(strength, 4),
            hovertemplate="%{text}, unit %{x}: %{customdata:.4f}<extra></extra>",
        )
    )
    figure.update_xaxes(title="hidden unit", range=[0, hidden.shape[1] + 1], fixedrange=True, zeroline=False)
    figure.update_yaxes(
        tickvals=list(range(len(labels))),
        ticktext=list(labels),
        range=[len(labels) - 0.4, -0.6],
        fixedrange=True,
        zeroline=False,
    )
    return figure.update_layout(
        height=height * len(labels) + 64,
        margin={"l": 8, "r": 8, "t": 4, "b": 8},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        showlegend=False,
        dragmode=False,
    )
