"""BertViz's views: what it is given to draw, and what is said about it."""

from collections.abc import Sequence

from tests.oracle.claims import between, caption, segmented
from tests.oracle.common import KINDS, Statements
from tests.oracle.forward import Array
from tests.oracle.page import READABLE, Page
from tests.oracle.statement import Statement
from tests.oracle.words import label

# The colours that BertViz gives to heads, in order.
COLOURS = "blue orange green red purple brown pink grey olive"
MOST = 60_000  # weights in a view

# What their scripts write on the page: layers and heads, counted from 1, and the pieces.
WRITES = {
    "Head view": ["d => d", "layer + 1)"],
    "Model view": [
        '"Heads"',
        '"Layers"',
        "'Layer ' + (config.layers[layerIndex] + 1) + \", head \" + (config.heads[headIndex] + 1)",
        "config.heads[i] + 1",
        "config.layers[i] + 1",
    ],
}


def view(
    page: Page, kind: str, weights: Array, rows: Sequence[str], columns: Sequence[str], layer: int, head: int
) -> Statements:
    """One view of weights (L,H,T,S), cut to what can be read and to the layers around one that are quick."""
    shown = page.choice("bertviz", ["Head view", "Model view"], "Head view")
    n_layers, n_heads, *whole = weights.shape
    part = weights[:, :, :READABLE, :READABLE]
    count = min(n_layers, max(1, MOST // part[0].size))
    first = min(max(0, layer - count // 2), n_layers - count)
    layers = list(range(first, first + count))
    yield segmented("View", ["Head view", "Model view"], shown)
    if shown == "Head view":
        chosen = f": head {head + 1}, chosen above, is {COLOURS.split()[head % 9]}" if head >= 0 else ""
        yield caption(
            "A line is a weight, from the piece that looks (left) to the one looked at (right): the stronger the line, "
            f"the larger the weight. Each colour is a head{chosen}. Click a coloured square to hide or show its head, "
            "double-click to see that head alone. Point at a piece to see its lines alone."
        )
    else:
        yield caption(
            "A row is a layer, a column a head; each map draws its weights as lines from left to right. Click a map to "
            "see it large, with its pieces; click again to close it. On a narrow screen, scroll the maps sideways."
        )
    yield Statement(
        "bertviz",
        {
            "alt": f"BertViz, {shown.lower()} of the {KINDS[kind].name.lower()}; its numbers are in the tables.",
            "name": {"cross": "Cross"}.get(kind),
            "weights": part[layers],
            "rows": [label(text) for text in rows[:READABLE]],
            "columns": [label(text) for text in columns[:READABLE]],
            "layers": layers,
            "opens_on": layer if shown == "Head view" else None,
            "heads": list(range(n_heads)) if shown == "Model view" else None,
            "writes": WRITES[shown],
        },
    )
    notes = f"BertViz got {part[layers].size:,} weights, rounded to 4 decimals; the view takes {between(300, 1500)} kB."
    if count < n_layers:
        notes += f" Shown: layers {first + 1} to {first + count} of {n_layers}."
    if part.shape[2:] != tuple(whole):
        sides = zip(part.shape[2:], whole, ("rows", "columns"), strict=True)
        notes += f" Shown: {' and '.join(f'the first {s} of {w} {side}' for s, w, side in sides if s != w)}."
    yield caption(
        notes + " More would be slow and hard to read." * (len(layers) < n_layers or part.shape != weights.shape)
    )
