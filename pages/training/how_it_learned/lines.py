"""What was measured of the snapshots, as lines over them."""

from collections.abc import Mapping, Sequence

from figures.chart import BLUE, GREEN, GREY, ORANGE, PURPLE
from pages.training.how_it_learned.snapshots import chosen, steps
from ui.views.charts.curves import Axis, Line, curves

COLOURS = (BLUE, ORANGE, PURPLE, GREEN)
MOST_NAMED = len(COLOURS)  # lines that get a colour of their own


def snapshot_lines(
    lines: Mapping[str, Sequence[float]],
    named: Sequence[str],
    axis: tuple[str, float],
    *,
    alt: str,
    level: float | None = None,
) -> None:
    """A line (N) for each of some quantities over the N snapshots, which stand at even distances.

    Args: named: those drawn in a colour, at most MOST_NAMED; the others are grey
          axis: what is drawn, and the upper end of its scale; level: where a line runs across
    """
    places = [(float(n), f"{step:,}") for n, step in enumerate(steps())]
    colours = dict(zip(named, COLOURS, strict=False))
    curves(
        [
            Line(name, list(enumerate(of)), colours.get(name, GREY), dotted=True, pale=name not in colours)
            for name, of in lines.items()
        ],
        Axis("step of the snapshot", -0.3, len(places) - 0.7, places),
        Axis(axis[0], 0, axis[1]),
        alt=alt,
        upright=steps().index(chosen()),
        across=level,
    )
