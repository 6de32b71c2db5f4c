"""BertViz's views: what it is given to draw, and what is said about it."""

from collections.abc import Sequence

from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import between, caption, segmented
from tests.oracle.language.common import KINDS, Statements
from tests.oracle.language.page import READABLE, Page
from tests.oracle.language.statement import Statement
from tests.oracle.language.words import label
from tests.oracle.passes.forward import Array

prose = Prose("bertviz_views")

# Of the heads, in order; of all lines where a colour means nothing.
HEADS = "#0000b4 #ff4b00 #b44bff #690f00 #965a78 #690078 #5a5a00 #ff00b4 #690fe1 #7887d2 #a5875a #d2004b".split()
LINES = ["#08519c"]
MOST = 60_000  # weights in a view

# What their scripts write on the page: layers and heads, counted from 1, and the pieces.
WRITES = {
    "Head view": ["(d, i) => i + 1", "d => d", "layer + 1)"],
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
        layers = [layer]
        chosen = f" The number of head {head + 1}, chosen above, is underlined." if head >= 0 else ""
        yield from prose("head view", chosen)
    else:
        yield from prose("model view")
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
            "marked": head if shown == "Head view" and head >= 0 else None,
            "colours": HEADS if shown == "Head view" else LINES,
            "writes": WRITES[shown],
        },
    )
    notes = [
        f"BertViz got {part[layers].size:,} weights, rounded to 4 decimals; the view takes {between(300, 1500)} kB."
    ]
    if shown == "Model view" and count < n_layers:
        notes.append(f"Shown: layers {first + 1} to {first + count} of {n_layers}.")
    if part.shape[2:] != tuple(whole):
        sides = zip(part.shape[2:], whole, ("rows", "columns"), strict=True)
        notes.append(f"Shown: {' and '.join(f'the first {s} of {w} {side}' for s, w, side in sides if s != w)}.")
    if len(notes) > 1:
        notes.append("More would be slow and hard to read.")
    yield caption(" ".join(notes))
