"""How the numbers between and after the attentions came about: products with matrices, activations, norms, output."""

import math

from explain.core import Blank, Cell, WorkedStep, factor, linear, rule, subscript, tex

# What a learned matrix is called in the formulas, and what is multiplied by it, by its name in the model.
MATRICES = {
    "w_1": ("W₁", "what the feed-forward network reads"),
    "w_2": ("W₂", "the hidden units"),
    "v": ("V", "what the feed-forward network reads"),
    "w_o": ("W^O", "the concatenation"),
    "down": ("Aᵀ", "the input x"),
    "up": ("Bᵀ", "Ax"),
    "w_c": ("W^C", "the layer's input"),
    "transform": ("W", "the encoder's output"),
    "pooler": ("W", "the encoder's output"),
    "classifier": ("W", "what goes in"),
    "score": ("W", "what goes in"),
    "head": ("W", "what goes in"),
    "widen": ("W", "the narrow rows"),
}


@rule("project")
def _projection(cell: Cell) -> WorkedStep:
    head, row, dimension = cell.index
    letter = cell.made.weights[0].split(".")[-2].removeprefix("w_")
    column = head * cell.numbers[cell.name].shape[-1] + dimension
    named, total, snippet, needs, blank = linear(cell, row, column)
    capital = letter.upper()
    return WorkedStep(
        f"Row {row + 1} of the input X times column {column + 1} of W^{capital} "
        f"(head {head + 1}, its dimension {dimension + 1}). {named}",
        rf"{letter}_{{{row + 1},{dimension + 1}}} = x_{{{row + 1}}} \cdot W^{capital}_{{:,{column + 1}}} "
        rf"= {total} = {tex(cell.value)}",
        cell.value,
        f"{snippet}  # torch keeps W transposed: its rows are W's columns",
        needs,
        blank,
    )


@rule("linear")
def _linear(cell: Cell) -> WorkedStep:
    row, column = cell.index
    name = cell.made.weights[0].split(".")[-2]
    matrix, source = MATRICES.get(name, (name, "what goes in"))
    named, total, snippet, needs, blank = linear(cell, row, column)
    bias = f", plus the bias {matrix.replace('W', 'b')} at the end" if len(cell.made.weights) > 1 else ""
    mixes = ", which mixes the heads" if name == "w_o" else ""
    return WorkedStep(
        f"Row {row + 1} of {source} times column {column + 1} of {matrix}{mixes}{bias}. {named}",
        rf"{total} = {tex(cell.value)}",
        cell.value,
        snippet,
        needs,
        blank,
    )


@rule("add_low_rank")
def _adapted(cell: Cell) -> WorkedStep:
    frozen, up = (float(cell.read(n)[cell.index]) for n in (0, 1))
    (scale,) = cell.made.constants
    learned = rf"{scale:g}\cdot {factor(up)}"
    return WorkedStep(
        "What the frozen matrix W₀ makes of x, plus what was learned: BAx times α/r.",
        rf"{tex(frozen)} + {learned} = {tex(cell.value)}",
        cell.value,
        f"{{0}} + {scale!r} * {{1}}".format(*(f't["{name}"]{subscript(cell.index)}' for name in cell.made.reads)),
        cell.made.reads,
        Blank(learned, scale * round(up, 4)),
    )


@rule("relu")
def _rectified(cell: Cell) -> WorkedStep:
    (source,) = cell.made.reads
    before, value = cell.read()[cell.index], cell.value
    return WorkedStep(
        "ReLU: a positive number stays as it is."
        if value > 0
        else "ReLU: a negative number becomes 0; the unit rests.",
        rf"\max(0,\ {tex(before)}) \to {tex(value)}",
        value,
        f'max(0, t["{source}"]{subscript(cell.index)})',
        (source,),
        Blank(rf"\max(0,\ {tex(before)})", value),
    )


@rule("silu")
def _swish(cell: Cell) -> WorkedStep:
    (source,) = cell.made.reads
    x = float(cell.read()[cell.index])
    return WorkedStep(
        "Swish: the number times its own sigmoid. Large numbers pass, very negative ones become nearly 0.",
        rf"\frac{{{tex(x)}}}{{1 + e^{{{tex(-x)}}}}} = {tex(cell.value)}",
        cell.value,
        f'x = t["{source}"]{subscript(cell.index)}\nx / (1 + np.exp(-x))',
        (source,),
    )


@rule("sigmoid")
def _sigmoid(cell: Cell) -> WorkedStep:
    (source,) = cell.made.reads
    x = float(cell.read()[cell.index])
    formula = rf"\frac{{1}}{{1 + e^{{{tex(-x)}}}}}"
    return WorkedStep(
        "The logistic function σ brings any number to one between 0 and 1: a probability.",
        f"{formula} = {tex(cell.value)}",
        cell.value,
        f'1 / (1 + np.exp(-t["{source}"]{subscript(cell.index)}))',
        (source,),
        Blank(formula, 1 / (1 + math.exp(-round(x, 4)))),
    )


@rule("gelu")
def _gelu(cell: Cell) -> WorkedStep:
    (source,) = cell.made.reads
    x = float(cell.read()[cell.index])
    share = (1 + math.erf(x / math.sqrt(2))) / 2
    return WorkedStep(
        "GELU: the number times Φ of it, the share of a standard normal distribution that lies below it.",
        rf"{tex(x)}\cdot\Phi({tex(x)}) = {factor(x)}\cdot {tex(share)} = {tex(cell.value)}",
        cell.value,
        f'import math\nx = t["{source}"]{subscript(cell.index)}\nx * (1 + math.erf(x / math.sqrt(2))) / 2',
        (source,),
    )


@rule("gelu_tanh")
def _gelu_tanh(cell: Cell) -> WorkedStep:
    (source,) = cell.made.reads
    x = float(cell.read()[cell.index])
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return WorkedStep(
        "GELU, with a hyperbolic tangent in place of the exact share.",
        rf"0.5\cdot {factor(x)}\cdot(1 + \tanh({tex(inner)})) = {tex(cell.value)}",
        cell.value,
        f'x = t["{source}"]{subscript(cell.index)}\n'
        "0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))",
        (source,),
    )


@rule("multiply")
def _gated(cell: Cell) -> WorkedStep:
    gate, passes = (cell.read(n)[cell.index] for n in (0, 1))
    return WorkedStep(
        "The gate decides how much of the value passes: the two are multiplied, number by number.",
        rf"{factor(gate)}\cdot {factor(passes)} = {tex(cell.value)}",
        cell.value,
        " * ".join(f't["{name}"]{subscript(cell.index)}' for name in cell.made.reads),
        cell.made.reads,
    )


@rule("layer_norm")
def _layer_norm(cell: Cell) -> WorkedStep:
    row, dimension = cell.index
    names = *cell.made.reads, *cell.made.weights
    x = cell.read()[row]
    gamma, beta = (float(cell.numbers[name][dimension]) for name in cell.made.weights)
    (epsilon,) = cell.made.constants
    mean, deviation = float(x.mean()), math.sqrt(x.var() + epsilon)
    value = cell.value
    return WorkedStep(
        f"Layer norm: from dimension {dimension + 1} of the row take the "
        f"row's mean, divide by the row's standard deviation (over {len(x)} dimensions), then times γ, plus β, two "
        "learned numbers of this dimension.",
        rf"{factor(gamma)}\cdot\frac{{{tex(x[dimension])} - {factor(mean)}}}{{{tex(deviation)}}} + {factor(beta)} "
        rf"= {tex(value)}",
        value,
        f'row = t["{names[0]}"][{row}]\n'
        f't["{names[1]}"][{dimension}] * (row[{dimension}] - row.mean()) / np.sqrt(row.var() + {epsilon})'
        f' + t["{names[2]}"][{dimension}]',
        names,
    )


@rule("rms_norm")
def _rms_norm(cell: Cell) -> WorkedStep:
    row, dimension = cell.index
    (source,), (name,) = cell.made.reads, cell.made.weights
    x, gamma = cell.read()[row], float(cell.numbers[name][dimension])
    (epsilon,) = cell.made.constants
    size = math.sqrt(float((x**2).mean()) + epsilon)
    return WorkedStep(
        f"RMS norm: divide dimension {dimension + 1} of the row by the root of the mean square of its {len(x)} "
        "numbers, then times γ, a learned number of this dimension.",
        rf"{factor(gamma)}\cdot\frac{{{tex(x[dimension])}}}{{{tex(size)}}} = {tex(cell.value)}",
        cell.value,
        f'row = t["{source}"][{row}].astype(float)\n'
        f't["{name}"][{dimension}] * row[{dimension}] / np.sqrt((row**2).mean() + {epsilon})',
        (source, name),
    )


def _compared(cell: Cell, said: str) -> WorkedStep:
    """A row times the embedding of an entry. said: what that is, in words"""
    named, total, snippet, needs, blank = linear(cell, *cell.index)
    return WorkedStep(f"{said} {named}", rf"{total} = {tex(cell.value)}", cell.value, snippet, needs, blank)


@rule("compare_with_embeddings")
def _logit(cell: Cell) -> WorkedStep:
    row, token = cell.index
    return _compared(
        cell,
        f"Row {row + 1} of the decoder's output times the embedding of entry {token}: the more alike the two, the "
        "larger the logit, the score of this entry.",
    )


@rule("compare_with_embeddings_and_bias")
def _logit_with_bias(cell: Cell) -> WorkedStep:
    row, token = cell.index
    return _compared(
        cell,
        f"Row {row + 1}, as the head made it, times the embedding of entry {token}, plus a bias of this entry: the "
        "more alike the two, the larger the logit.",
    )


@rule("tanh_of_row")
def _squashed_row(cell: Cell) -> WorkedStep:
    (source,), x = cell.made.reads, float(cell.read()[cell.index])
    return WorkedStep(
        "The hyperbolic tangent, tanh, brings any number to one between −1 and 1.",
        rf"\tanh({tex(x)}) = {tex(cell.value)}",
        cell.value,
        f'np.tanh(t["{source}"]{subscript(cell.index)})',
        (source,),
    )
