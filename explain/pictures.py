"""How the rows of a picture, or of a spectrogram, came about: cells cut into patches, learned rows put before them."""

from explain.core import Cell, WorkedStep, factor, rule, subscript, tex


def cut_from(cell: Cell, high: int, wide: int) -> tuple[int, tuple[int, ...]]:
    """How many patches stand side by side; the row and column that a cell of one of them lies in, and its colour, if
    the picture has some.
    """
    patch, at = cell.index
    picture = cell.read()
    across, (colour, inside) = picture.shape[1] // wide, divmod(at, high * wide)
    (down, right), (row, column) = divmod(patch, across), divmod(inside, wide)
    return across, (high * down + row, wide * right + column, colour)[: picture.ndim]


@rule("cut_into_patches")
def _pixel(cell: Cell) -> WorkedStep:
    patch, pixel = cell.index
    side = int(cell.made.constants[0])
    across, place = cut_from(cell, side, side)
    source, (row, column, *colour) = cell.made.reads[0], place
    means = f"Its {('red', 'green', 'blue')[colour[0]]}, from 0 to 1." if colour else "0 is paper, 1 is ink."
    return WorkedStep(
        f"{across} patches stand side by side, each of {side} × {side} pixels, numbered row by row. Pixel "
        f"{pixel % side**2 + 1} of patch {patch + 1} lies in row {row + 1} of the picture, in column {column + 1}. "
        f"{means}",
        rf"\text{{picture}}_{{{','.join(str(n + 1) for n in place)}}} = {tex(cell.value)}",
        cell.value,
        f't["{source}"]{subscript(place)}',
        (source,),
    )


@rule("cut_spectrogram")
def _moment(cell: Cell) -> WorkedStep:
    patch, inside = cell.index
    high, wide = map(int, cell.made.constants)
    across, (pitch, frame) = cut_from(cell, high, wide)
    source = cell.made.reads[0]
    return WorkedStep(
        f"{across} patches stand side by side, each of {high} pitches × {wide} moments, numbered row by row. Cell "
        f"{inside + 1} of patch {patch + 1} is pitch {pitch + 1} at moment {frame + 1}. 0 is silence, 1 the loudest.",
        rf"\text{{spectrogram}}_{{{pitch + 1},{frame + 1}}} = {tex(cell.value)}",
        cell.value,
        f't["{source}"]{subscript((pitch, frame))}',
        (source,),
    )


@rule("put_before")
def _with_class(cell: Cell) -> WorkedStep:
    row, dimension = cell.index
    source, learned = cell.made.reads[0], cell.made.weights
    if row >= len(learned):
        says, snippet, needs = (
            f"This row is that of patch {row - len(learned) + 1}, as the matrix made it.",
            f't["{source}"]{subscript((row - len(learned), dimension))}',
            source,
        )
    else:
        which = "the row of [class]" if len(learned) == 1 else f"the {('first', 'second')[row]} row before the patches"
        says, snippet, needs = (
            f"This is {which}: learned, and the same for every {'picture' if len(learned) == 1 else 'sound'}.",
            f't["{learned[row]}"][{dimension}]',
            learned[row],
        )
    return WorkedStep(says, rf"{tex(cell.value)}", cell.value, snippet, (needs,))


@rule("mean_of_parts")
def _parts(cell: Cell) -> WorkedStep:
    word, dimension = cell.index
    (table,) = cell.made.weights
    parts = [int(part) for part in cell.read()[word] if part]
    rows = cell.numbers[table][parts, dimension]
    terms = [factor(float(one)) for one in rows] or ["0"]
    return WorkedStep(
        f"The mean of {len(parts)} learned rows: one for the word, one for each three letters of it in a row.",
        rf"\frac{{{' + '.join(terms)}}}{{{max(1, len(parts))}}} = {tex(cell.value)}",
        cell.value,
        f't["{table}"][{parts}, {dimension}].sum() / {max(1, len(parts))}',
        (table,),
    )
