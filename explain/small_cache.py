"""How the numbers of attention with a small cache came about, where they differ from those of the paper's."""

from explain.core import Cell, WorkedStep, dot_product, largest_product, rule, subscript, tex


@rule("share_in_group")
def _shared(cell: Cell) -> WorkedStep:
    head, row, dimension = cell.index
    (source,), n_groups = cell.made.reads, cell.read().shape[0]
    group = head * n_groups // cell.numbers[cell.name].shape[0]
    before = cell.read()[group, row, dimension]
    return WorkedStep(
        f"Head {head + 1} shares it with all heads of group {group + 1} (of {n_groups}).",
        rf"{tex(before)} \to {tex(cell.value)}",
        cell.value,
        f't["{source}"]{subscript((group, row, dimension))}',
        (source,),
    )


@rule("side_by_side")
def _joined(cell: Cell) -> WorkedStep:
    """The second tensor may have one row for all heads."""
    head, row, column = cell.index
    width = cell.read(0).shape[-1]
    is_first = column < width
    source, part = cell.made.reads[not is_first], cell.read(not is_first)
    at = (min(head, part.shape[0] - 1), row, column if is_first else column - width)
    return WorkedStep(
        f"The first {width} columns tell what stands there, the others where: column {column + 1} is column "
        f"{at[2] + 1} of {'the first' if is_first else 'the second'} part.",
        rf"{tex(part[at])} \to {tex(cell.value)}",
        cell.value,
        f't["{source}"]{subscript(at)}',
        (source,),
    )


@rule("squeeze")
def _squeezed(cell: Cell) -> WorkedStep:
    head, row, dimension = cell.index
    (source,), (squeezing,) = cell.made.reads, cell.made.weights
    weights = cell.numbers[squeezing]
    block, line = divmod(row, len(weights))
    start = block * weights.shape[1]
    rows = cell.read()[head, start : start + weights.shape[1], dimension]
    named, total = dot_product(weights[line, : len(rows)], rows, of="positions")
    return WorkedStep(
        f"Block {block + 1} is squeezed into {len(weights)} rows. This is the weighted sum of its positions, "
        f"{start + 1} to {start + len(rows)}, by row {line + 1} of the learned weights. {named}",
        f"{total} = {tex(cell.value)}",
        cell.value,
        f't["{squeezing}"][{line}, :{len(rows)}] @ t["{source}"][{head}, {start}:{start + len(rows)}, {dimension}]',
        (squeezing, source),
        largest_product(weights[line, : len(rows)], rows),
    )


@rule("append")
def _appended(cell: Cell) -> WorkedStep:
    head, row, dimension = cell.index
    n_first = cell.read(0).shape[1]
    source, part, at = cell.made.reads[row >= n_first], cell.read(row >= n_first), row - n_first * (row >= n_first)
    before = part[head, at, dimension]
    return WorkedStep(
        f"The {n_first} squeezed rows come first, then those of the text: row {row + 1} is row {at + 1} of "
        f"{'the text' if row >= n_first else 'the squeezed ones'}.",
        rf"{tex(before)} \to {tex(cell.value)}",
        cell.value,
        f't["{source}"]{subscript((head, at, dimension))}',
        (source,),
    )
