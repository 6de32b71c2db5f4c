"""How the numbers of attention with a small cache came about, where they differ from those of the paper's."""

from explain.core import Cell, WorkedStep, rule, subscript, tex


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
