"""Vocabulary size against sequence length."""

from collections.abc import Sequence

import plotly.graph_objects as go

from figures.chart import BLUE, layout

_TICKS = (260, 500, 1000, 2000, 4000, 8000, 16000, 32000)


def length_curve(sizes: Sequence[int], lengths: Sequence[int], marked: int | None = None) -> go.Figure:
    """How many pieces a text has (lengths) with a vocabulary of so many entries (sizes, rising); a step at each change.

    Args: marked: index of the point that is singled out
    """
    lines = [
        go.Scatter(
            x=list(sizes),
            y=list(lengths),
            mode="lines",
            line={"shape": "hv", "width": 3, "color": BLUE},
            hovertemplate="%{x:,} entries: %{y} pieces<extra></extra>",
        )
    ]
    if marked is not None:
        lines.append(
            go.Scatter(
                x=[sizes[marked]],
                y=[lengths[marked]],
                mode="markers+text",
                marker={"size": 12, "color": BLUE},
                text=[f"{lengths[marked]}"],
                textposition="top center",
                textfont={"size": 14},
                cliponaxis=False,
                hoverinfo="skip",
            )
        )
    x = {
        "type": "log",
        "title": "Entries in the vocabulary",
        "tickvals": [t for t in _TICKS if t <= max(sizes) * 1.01],
        "tickformat": ",",
    }
    return go.Figure(lines, layout(300, x, {"title": "Pieces of this text", "rangemode": "tozero"}, legend=False))
