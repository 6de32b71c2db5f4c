"""The loss of several models in texts of growing length."""

from collections.abc import Sequence

import plotly.graph_objects as go

from figures.chart import BLUE, GREEN, GREY, ORANGE, PURPLE, layout

# Of the models that differ in a part, one after the other: colour and sign, so that colour is not all.
LOOKS = ((BLUE, "circle"), (ORANGE, "square"), (PURPLE, "diamond"), (GREEN, "cross"), ("#D55E00", "x"))


def longer_figure(
    spans: Sequence[str], losses: Sequence[tuple[str, Sequence[float | None]]], n_plain: int
) -> go.Figure:
    """A line for each model over spans of positions (N), which ends where there is no number.

    Args: spans: like "21–40" (N); losses: each model's name and its numbers (N), the plain ones first; n_plain of them
    """
    looks = [(GREY, "circle-open")] * n_plain + [LOOKS[n % len(LOOKS)] for n in range(len(losses) - n_plain)]
    return go.Figure(
        [
            go.Scatter(
                x=list(spans),
                y=list(values),
                name="plain ones" if n < n_plain else name,
                showlegend=n >= n_plain or n == 0,
                mode="lines+markers",
                line={"color": colour, "width": 1 if n < n_plain else 2},
                marker={"symbol": symbol, "size": 8},
                hovertemplate=f"{name}, positions %{{x}}: %{{y:.2f}}<extra></extra>",
            )
            for n, ((name, values), (colour, symbol)) in enumerate(zip(losses, looks, strict=True))
        ],
        layout(
            400,
            {"title": "positions in the text", "type": "category"},
            {"title": "loss, nats a piece"},
            margin={"l": 60, "r": 12, "t": 84, "b": 48},  # room for three lines of legend on a phone
        ),
    )
