"""How alike two vectors are, stage by stage: one word in two sentences on its way up the encoder."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

Array = NDArray[np.floating]

BLUE, GREY, ORANGE = "#0072B2", "#808a96", "#E69F00"


def drift_lines(stages: Sequence[str], words: Mapping[str, Array], chosen: str, others: tuple[str, Array]) -> go.Figure:
    """A line for each word, the chosen one bold, and one to compare with: cosines from −0.2 to 1 at each of N stages.

    Args: words: (N) for each, by its name: HTML-safe (Plotly reads some tags); others: name and (N)
    """
    figure = go.Figure()
    for name, values in words.items():
        if name != chosen:
            _line(figure, stages, name, values, {"color": GREY, "width": 1.5}, 4, legend=False)
    _line(figure, stages, others[0], others[1], {"color": ORANGE, "width": 2.5, "dash": "dot"}, 7, "square")
    _line(figure, stages, chosen, words[chosen], {"color": BLUE, "width": 4}, 9)
    figure.update_yaxes(range=[-0.25, 1.05], title="cosine", fixedrange=True, zeroline=True)
    figure.update_xaxes(fixedrange=True, zeroline=False)
    return figure.update_layout(
        height=320,
        margin={"l": 8, "r": 8, "t": 40, "b": 8},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        legend={"orientation": "h", "y": 1.2, "x": 0},
        dragmode=False,
    )


def _line(
    figure: go.Figure,
    stages: Sequence[str],
    name: str,
    values: Array,
    line: dict[str, object],
    size: int,
    symbol: str = "circle",
    legend: bool = True,
) -> None:
    figure.add_scatter(
        x=list(stages),
        y=values,
        name=name,
        showlegend=legend,
        mode="lines+markers",
        line=line,
        marker={"size": size, "symbol": symbol},
        hovertemplate="%{x}: %{y:.4f}<extra>" + name + "</extra>",
    )
