"""How the rows of a picture came about: pixels cut into patches, and the row of [class] put before them."""

from explain.core import Cell, WorkedStep, rule, subscript, tex


@rule("cut_into_patches")
def _pixel(cell: Cell) -> WorkedStep:
    patch, pixel = cell.index
    side = int(cell.made.constants[0])
    across = cell.read().shape[1] // side
    row, column = (
        side * of_patch + of_pixel
        for of_patch, of_pixel in zip(divmod(patch, across), divmod(pixel, side), strict=True)
    )
    source = cell.made.reads[0]
    return WorkedStep(
        f"{across} patches stand side by side, each of {side} × {side} pixels, numbered row by row. Pixel {pixel + 1} "
        f"of patch {patch + 1} lies in row {row + 1} of the picture, in column {column + 1}. 0 is paper, 1 is ink.",
        rf"\text{{picture}}_{{{row + 1},{column + 1}}} = {tex(cell.value)}",
        cell.value,
        f't["{source}"]{subscript((row, column))}',
        (source,),
    )


@rule("put_before")
def _with_class(cell: Cell) -> WorkedStep:
    row, dimension = cell.index
    source, (name,) = cell.made.reads[0], cell.made.weights
    if row:
        says, snippet, needs = (
            f"This row is that of patch {row}, as the matrix made it.",
            f't["{source}"]{subscript((row - 1, dimension))}',
            source,
        )
    else:
        says, snippet, needs = (
            "This is the row of [class]: learned, and the same for every picture.",
            f't["{name}"][{dimension}]',
            name,
        )
    return WorkedStep(says, rf"{tex(cell.value)}", cell.value, snippet, (needs,))
