"""How the numbers of attention within windows came about: who stands in which window, masks, and biases for places."""

import numpy as np

from explain.core import NAMED, Blank, Cell, WorkedStep, factor, rule, subscript, tex


def order_of(cut: tuple[float, ...]) -> np.ndarray:
    """The patch, from 0, in each row once rows stand window by window. cut: side, window and shift, in patches"""
    side, window, shift = map(int, cut)
    rolled = np.roll(np.arange(side**2).reshape(side, side), (-shift, -shift), (0, 1))
    across = side // window
    return rolled.reshape(across, window, across, window).swapaxes(1, 2).ravel()


def _name(patch: int, side: int) -> str:
    """Its row and column, from 1."""
    return ".".join(str(1 + at) for at in divmod(patch, side))


@rule("into_windows")
def _parted(cell: Cell) -> WorkedStep:
    row, dimension = cell.index
    side, window, shift = map(int, cell.made.constants)
    patch, (source,) = int(order_of(cell.made.constants)[row]), cell.made.reads
    first = f"The square of patches is rolled up and left by {shift}; then rows" if shift else "Rows"
    return WorkedStep(
        f"{first} are put in the order of the windows: place {row % window**2 + 1} of window {row // window**2 + 1} is "
        f"patch {_name(patch, side)}.",
        tex(cell.value),
        cell.value,
        f't["{source}"][{patch}, {dimension}]',
        (source,),
    )


@rule("out_of_windows")
def _whole(cell: Cell) -> WorkedStep:
    patch, dimension = cell.index
    row = int(np.argsort(order_of(cell.made.constants))[patch])
    window, (source,) = int(cell.made.constants[1]), cell.made.reads
    return WorkedStep(
        f"Each row goes back to its patch: this one was place {row % window**2 + 1} of window {row // window**2 + 1}.",
        tex(cell.value),
        cell.value,
        f't["{source}"][{row}, {dimension}]',
        (source,),
    )


@rule("bias_of_way")
def _bias(cell: Cell) -> WorkedStep:
    head, query, key = cell.index
    window, (table,) = int(cell.made.constants[0]), cell.made.weights
    down, across = (a - b for a, b in zip(divmod(query, window), divmod(key, window), strict=True))
    width = 2 * window - 1
    at = width * (down + window - 1) + across + window - 1
    ways = [f"{abs(n)} {low if n < 0 else high}" for n, low, high in ((down, "up", "down"), (across, "left", "right"))]
    return WorkedStep(
        f"From the key it is {ways[0]} and {ways[1]} to the query. Each of the {width} × {width} ways has a row in a "
        f"table of learned numbers; this one has row {at + 1}. The number of head {head + 1}:",
        tex(cell.value),
        cell.value,
        f't["{table}[{at}]"][{head}]',
        (f"{table}[{at}]",),
    )


@rule("add_bias_of_way")
def _biased(cell: Cell) -> WorkedStep:
    (head, row, column), (scaled, bias) = cell.index, cell.made.reads
    query = row % cell.read(1).shape[1]
    score, added = cell.read(0)[cell.index], cell.read(1)[head, query, column]
    formula = rf"{tex(score)} + {factor(added)}"
    return WorkedStep(
        "The score plus the bias B, which is learned and depends on how query and key lie to each other.",
        rf"{formula} = {tex(cell.value)}",
        cell.value,
        f't["{scaled}"]{subscript(cell.index)} + t["{bias}"][{head}, {query}, {column}]',
        (scaled, bias),
        Blank(formula, float(score + added)),
    )


@rule("mask_of_windows")
def _masked(cell: Cell) -> WorkedStep:
    (_, row, column), side = cell.index, int(cell.made.constants[0])
    order, source, before = order_of(cell.made.constants), cell.made.reads[0], cell.read()[cell.index]
    first = row // cell.read().shape[2] * cell.read().shape[2]
    names = [_name(int(order[at]), side) for at in (row, first + column)]
    masked = np.isneginf(cell.value)
    return WorkedStep(
        f"Patches {names[0]} and {names[1]} lie at opposite sides of the picture; only the roll has put them side by "
        "side. So the score becomes −∞."
        if masked
        else f"No side of the picture lies between patches {names[0]} and {names[1]}: the score stays.",
        rf"{tex(before)} \to {tex(cell.value)}",
        cell.value,
        "-np.inf  # masked" if masked else f't["{source}"]{subscript(cell.index)}',
        (source,),
    )


@rule("mean_of_rows")
def _mean(cell: Cell) -> WorkedStep:
    """Of all rows, or of as many as a constant says."""
    dimension, (source,) = cell.index[1], cell.made.reads
    rows = slice(*map(int, cell.made.constants)) if cell.made.constants else slice(None)
    column = cell.read()[rows, dimension]
    terms, others = [factor(float(one)) for one in column[:NAMED]], column[NAMED:]
    if len(others):
        terms.append(factor(float(others.sum())))
    which = f"all {len(column)} rows" if rows.stop is None else f"the first {len(column)} rows"
    said = ": the first three and the sum of the others" if len(others) else ""
    return WorkedStep(
        f"The mean of dimension {dimension + 1} of {which}{said}.",
        rf"\frac{{{' + '.join(terms)}}}{{{len(column)}}} = {tex(cell.value)}",
        cell.value,
        f't["{source}"][:{"" if rows.stop is None else rows.stop}, {dimension}].mean()',
        (source,),
    )
