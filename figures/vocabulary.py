"""Vocabulary size against sequence length."""

from collections.abc import Sequence

import plotly.graph_objects as go

_BLUE = "#0072B2"
_TICKS = (260, 500, 1000, 2000, 4000, 8000, 16000, 32000)


def length_curve(sizes: Sequence[int], lengths: Sequence[int], marked: int | None = None) -> go.Figure:
    """How many pieces a text has (lengths) with a vocabulary of so many entries (sizes, rising); a step at each change.

    Args: marked: index of the point that is singled out
    """
    figure = go.Figure(
        go.Scatter(
            x=list(sizes),
            y=list(lengths),
            mode="lines",
            line={"shape": "hv", "width": 3, "color": _BLUE},
            hovertemplate="%{x:,} entries: %{y} pieces<extra></extra>",
        )
    )
    if marked is not None:
        figure.add_scatter(
            x=[sizes[marked]],
            y=[lengths[marked]],
            mode="markers+text",
            marker={"size": 12, "color": _BLUE},
            text=[f"{lengths[marked]}"],
            textposition="top center",
            textfont={"size": 14},
            cliponaxis=False,
            hoverinfo="skip",
        )
    figure.update_xaxes(
        type="log",
        title="Entries in the vocabulary",
        tickvals=[t for t in _TICKS if t <= max(sizes) * 1.01],
        tickformat=",",
        fixedrange=True,
    )
    figure.update_yaxes(title="Pieces of this text", rangemode="tozero", fixedrange=True)
    figure.update_layout(
        height=300,
        margin={"l": 10, "r": 20, "t": 20, "b": 10},
        showlegend=False,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
    )
    return figure
