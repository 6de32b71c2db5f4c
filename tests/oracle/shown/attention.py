"""The overview of all maps with one of them large, and a weight worked out: on the home page and wherever maps are."""

from collections.abc import Sequence

import numpy as np

from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import announcement, caption, head_grid, matrix
from tests.oracle.language.common import KINDS, Statements, cut_to
from tests.oracle.language.page import READABLE, Page
from tests.oracle.language.statement import legible
from tests.oracle.language.words import Piece, Word, inline, visible, words
from tests.oracle.passes.forward import Array, Forward, config
from tests.oracle.shown.worked import Step, between_words, mean_of, steps, worked

prose = Prose("attention")

MEAN = -1  # in place of a head: the mean over the heads


def groups(pieces: Sequence[Piece], by_word: bool, hide_eos: bool) -> list[Word]:
    """What rows or columns stand for: pieces, or words; without <eos> if there is anything else."""
    found = words(pieces) if by_word else [Word(piece.text, (n,)) for n, piece in enumerate(pieces)]
    return ([g for g in found if g.text != "<eos>"] or found) if hide_eos else found


def regrouped(weights: Array, rows: Sequence[Word], columns: Sequence[Word]) -> Array:
    """Weights (…,T,S) between words: added over a column's pieces, averaged over a row's."""
    added = np.stack([sum(weights[..., j] for j in column.pieces) for column in columns], -1)
    return np.stack([sum(added[..., i, :] for i in row.pieces) / len(row.pieces) for row in rows], -2)


def selected_map(page: Page, shape: Sequence[int], default: tuple[int, int], name: str = "map") -> tuple[int, int]:
    """Layer and head, from 0, of the address; there head 0 is the mean."""
    layer, _, head = page.state.get(name, "").partition(".")
    if layer.isdecimal() and head.isdecimal():
        pair = int(layer) - 1, int(head) - 1
        if 0 <= pair[0] < shape[0] and MEAN <= pair[1] < shape[1]:
            return pair
    return default


def which(layer: int, head: int) -> str:
    return f"layer {layer + 1}, " + ("average of all heads" if head == MEAN else f"head {head + 1}")


def overview(
    page: Page,
    weights: Array,
    masked: Array,
    rows: Sequence[Word],
    columns: Sequence[Word],
    *,
    title: str,
    how_to_read: str,
    describe: str,
    csv_name: str,
    default: tuple[int, int],
    note: str = "",
    prefix: str = "",
) -> Statements:
    """Every map of weights (L,H,T,S) small, and the chosen one large; masked (T,S) is what no row may see.

    Args: prefix: of the names in the address, where a page has two of them
    """
    whole = len(rows), len(columns)
    rows, columns = rows[:READABLE], columns[:READABLE]
    maps = regrouped(weights, rows, columns)
    layer, head = selected_map(page, maps.shape, default, f"{prefix}map")
    yield head_grid(maps, selected=(layer, head), title="Every layer and head")
    if note:
        yield caption(note)
    values = chosen_map(maps, layer, head)
    yield matrix(
        values,
        [row.text for row in rows],
        [column.text for column in columns],
        title=f"{title} ({which(layer, head)})",
        how_to_read=how_to_read,
        describe=describe,
        # A word is hidden from another if every piece of it is hidden from every piece of the other.
        hidden=np.array([[masked[np.ix_(r.pieces, c.pieces)].all() for c in columns] for r in rows]),
        selected=chosen_cell(page, values, f"{prefix}cell"),
        csv_name=f"{csv_name} {which(layer, head)}",
    )
    yield from cut_to(*zip(whole, ("rows", "columns"), strict=True))


def chosen_map(maps: Array, layer: int, head: int) -> Array:
    return maps[layer].mean(0) if head == MEAN else maps[layer, head]


def chosen_cell(page: Page, values: Array, name: str = "cell") -> tuple[int, int]:
    """The cell of the address, else the largest."""
    return page.pair(name, values.shape, divmod(int(values.astype(np.float32).argmax()), values.shape[1]))


def weights_of(oracle: Forward, kind: str) -> tuple[Array, Array]:
    """The translator's weights (L,H,T,S) of one kind, and what its mask hides (T,S)."""
    paths = [KINDS[kind].path.format(layer) for layer in range(config()["n_layers"])]
    return np.stack([oracle[f"{path}.weights"] for path in paths]), np.isneginf(oracle[f"{paths[0]}.scores"][0])


def work_out(
    page: Page, oracle: Forward, kind: str, rows: Sequence[Word], columns: Sequence[Word], default: tuple[int, int]
) -> Statements:
    """How the chosen weight came about."""
    layer, head = selected_map(page, weights_of(oracle, kind)[0].shape, default)
    path = KINDS[kind].path.format(layer)
    weights = oracle[f"{path}.weights"]
    each = regrouped(weights, rows[:READABLE], columns[:READABLE])
    values = each.mean(0) if head == MEAN else each[head]
    cell = chosen_cell(page, values)
    row, column = rows[cell[0]], columns[cell[1]]
    yield from prose("how did this come", legible(values[cell]), inline(row.text), inline(column.text))
    place = f"row {visible(row.text)}, column {visible(column.text)}"
    yield announcement(f"Now worked out: {place}, {legible(values[cell])}.")
    if head == MEAN:
        names = [f"head {n + 1}" for n in range(len(weights))]
        yield from steps(mean_of([float(one[cell]) for one in each], names))
        more = "Choose one head in the overview to see how its weight comes from a query and a key."
    elif len(row.pieces) == len(column.pieces) == 1:
        index = head, row.pieces[0], column.pieces[0]
        yield from prose("row asks with its", index[1] + 1, index[2] + 1, oracle[f"{path}.q"].shape[-1])
        yield from steps(*weight_steps(oracle, path, index))
        more = "The better the two fit, the more of what the column holds, its :green[**value**], goes into the row."
    else:
        yield from steps(between_words(weights[head], row.pieces, column.pieces))
        more = "Switch off the grouping to see how the weight between two pieces comes from a query and a key."
    yield from prose("numbers are shown rounded", more)


def weight_steps(oracle: Forward, path: str, index: tuple[int, int, int]) -> list[Step]:
    """From query and key to a weight, or to −∞ where the mask hides."""
    last = "scores" if np.isneginf(oracle[f"{path}.scores"][index]) else "weights"
    return [worked(oracle, f"{path}.{what}", index) for what in ("products", "scaled", last)]
