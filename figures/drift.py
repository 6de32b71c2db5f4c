"""How alike two vectors are, stage by stage: one word in two sentences on its way up the encoder."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from figures.chart import BLUE, GREY, ORANGE, layout

Array = NDArray[np.floating]


def drift_lines(stages: Sequence[str], words: Mapping[str, Array], chosen: str, others: tuple[str, Array]) -> go.Figure:
    """A line for each word, the chosen one bold, and one to compare with: cosines from −0.2 to 1 at each of N stages.

    Args: words: (N) for each, by its name: HTML-safe (Plotly reads some tags); others: name and (N)
    """
    lines = [
        *(_line(stages, name, values, GREY, 1.5, legend=False) for name, values in words.items() if name != chosen),
        _line(stages, *others, ORANGE, 2.5, dash="dot"),
        _line(stages, chosen, words[chosen], BLUE, 4),
    ]
    names = [name.replace(" ", "<br>", 1) for name in stages]  # on two lines five of them fit on a phone
    x = {"zeroline": False, "tickvals": list(stages), "ticktext": names, "tickangle": 0}
    return go.Figure(lines, layout(320, x, {"range": [-0.25, 1.05], "title": "cosine"}, bottom=44))


def _line(
    stages: Sequence[str], name: str, values: Array, colour: str, width: float, dash: str = "solid", legend: bool = True
) -> go.Scatter:
    return go.Scatter(
        x=list(stages),
        y=values,
        name=name,
        showlegend=legend,
        mode="lines+markers",
        line={"color": colour, "width": width, "dash": dash},
        marker={"size": 2 * width + 1},
        hovertemplate="%{x}: %{y:.4f}<extra>" + name + "</extra>",
    )
