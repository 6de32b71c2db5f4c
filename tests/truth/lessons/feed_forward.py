"""What the feed-forward lesson shows."""

import numpy as np

from tests.oracle.forward import Forward, config
from tests.truth.reading import Seen, Words, close, expect, without_bold
from ui.views.attention_kinds import READABLE


def hidden(seen: Seen, oracle: Forward) -> np.ndarray:
    """The hidden units that the controls of the page are set to."""
    stack, layer = (next(b.value for b in seen.buttons if b.key == key) for key in ("stack", "layer"))
    return oracle[f"{stack.lower()}.layers.{layer - 1}.feed_forward.hidden"]


def shapes(text: str, seen: Seen, oracle: Forward) -> None:
    t, d_ff = hidden(seen, oracle).shape
    d_model = config()["d_model"]
    expect(text, [t, d_model, d_model, d_ff, t, d_ff, d_ff, d_model, t, d_model])


def chosen_row(text: str, seen: Seen, oracle: Forward) -> None:
    (data,) = seen.matrices
    row = hidden(seen, oracle)[data["selected"][0]]
    fires = int((row > 0).sum())
    best = np.argsort(-row, kind="stable")[: min(3, fires)]
    strongest = [n for unit in best for n in (unit + 1, row[unit])]
    expect(without_bold(text), [fires, len(row), 100 * (1 - fires / len(row)), *strongest])


def every_row(text: str, seen: Seen, oracle: Forward) -> None:
    """The table below the raster."""
    rows = hidden(seen, oracle)[:READABLE]
    lines = text.splitlines()[2:]
    assert len(lines) == len(rows)
    for line, row in zip(lines, rows, strict=True):
        fires, rests, unit, value = (cell.replace("\\", "").strip(" %|") for cell in line.rsplit(" | ", 4)[1:])
        assert int(fires) == (row > 0).sum(), line
        assert close(float(rests), 100 * (row <= 0).mean(), 1), line
        assert row[int(unit) - 1] >= row.max() - 1e-4, line
        assert close(float(value), row.max()), line


def n_units(text: str, seen: Seen, oracle: Forward) -> None:
    expect(text.replace("*", ""), [config()["d_ff"]])


def unit_numbers(text: str, seen: Seen, oracle: Forward) -> None:
    expect(text, [1, config()["d_ff"]])


def readable_pieces(text: str, seen: Seen, oracle: Forward) -> None:
    expect(text, [READABLE, len(hidden(seen, oracle))])


WORDS: dict[str, Words] = {
    "Shapes: in": shapes,
    "The chosen row is": chosen_row,
    "From left to right units": unit_numbers,
    r"\| piece \| units that fire": every_row,
    r"\*\*All [\d,]+ units at once": n_units,
    r"Shown: the first \d+ of \d+ pieces": readable_pieces,
}
