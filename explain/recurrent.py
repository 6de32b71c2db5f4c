"""How the numbers of a recurrent network came about: what a step reads, its gates, its cell and its state."""

import math

from explain.core import Blank, Cell, WorkedStep, dot_product, factor, rule, subscript, tex

BLOCKS = ("input_gate", "forget_gate", "candidate", "output_gate")  # side by side in an LSTM's pre-activations
LETTERS = {"input_gate": "i", "forget_gate": "f", "candidate": "g", "output_gate": "o"}


@rule("recur")
def _pre_activation(cell: Cell) -> WorkedStep:
    (row, column), value, numbers = cell.index, cell.value, cell.numbers
    x, states = cell.made.reads
    w, bias, u = cell.made.weights
    named, total = dot_product(numbers[x][row], numbers[w][column])
    says = f"The vector of piece {row + 1} times row {column + 1} of W. {named} "
    snippet = f't["{x}"][{row}] @ t["{w}[{column}]"] + t["{bias}"][{column}]'
    needs: tuple[str, ...] = x, f"{w}[{column}]", bias
    if row == 0:
        says += "There is no piece before, so the state before is all zeros. "
    else:
        named, more = dot_product(numbers[states][row - 1], numbers[u][column])
        total += f" + {more}"
        says += f"Then the state after piece {row} times row {column + 1} of U. {named} "
        snippet += f' + t["{states}"][{row - 1}] @ t["{u}[{column}]"]'
        needs = *needs, states, f"{u}[{column}]"
    total += f" + {factor(numbers[bias][column])}"
    formula = rf"a_{{{row + 1}}} = {summed(row)} = {total} = {tex(value)}"
    return WorkedStep(f"{says}The bias b comes last.", formula, value, snippet, needs)


def summed(row: int, letter: str = "") -> str:
    """What a step sums up, as LaTeX; letter: of the gate whose W, U and b they are."""
    of = f"_{letter}" if letter else ""
    return f"W{of}x_{{{row + 1}}} + U{of}h_{{{row}}} + b{of}"


def tanh(x: float) -> str:
    """tanh of a number as LaTeX, by its definition."""
    up, down = f"e^{{{tex(x)}}}", f"e^{{{tex(-x)}}}"
    return rf"\frac{{{up} - {down}}}{{{up} + {down}}}"


@rule("tanh", "tanh_of_block")
def _squashed(cell: Cell) -> WorkedStep:
    at, source, x = _before(cell)
    t, is_state = cell.index[0] + 1, cell.made.operation == "tanh"
    law = rf"h_{{{t}}} = \tanh(a_{{{t}}})" if is_state else rf"g_{{{t}}} = \tanh({summed(t - 1, 'g')})"
    return WorkedStep(
        "The hyperbolic tangent, tanh, brings any number to one between −1 and 1.",
        rf"{law} = {tanh(x)} = {tex(cell.value)}",
        cell.value,
        f'np.tanh(t["{source}"]{subscript(at)})',
        (source,),
    )


@rule("sigmoid_of_block")
def _gate(cell: Cell) -> WorkedStep:
    at, source, x = _before(cell)
    letter = LETTERS[cell.name.rpartition(".")[2]]
    law = rf"{letter}_{{{at[0] + 1}}} = \sigma({summed(at[0], letter)})"
    formula = rf"\frac{{1}}{{1 + e^{{{tex(-x)}}}}}"
    return WorkedStep(
        "The logistic function σ brings any number to one between 0, a closed gate, and 1, an open one.",
        f"{law} = {formula} = {tex(cell.value)}",
        cell.value,
        f'1 / (1 + np.exp(-t["{source}"]{subscript(at)}))',
        (source,),
        Blank(formula, 1 / (1 + math.exp(-round(x, 4)))),
    )


def _before(cell: Cell) -> tuple[tuple[int, ...], str, float]:
    """Where the sum stands that a gate, a candidate or an RNN's state is made from: index, tensor, and the number."""
    (source, *_), (row, column), name = cell.made.reads, cell.index, cell.name.rpartition(".")[2]
    if name in BLOCKS:
        column += BLOCKS.index(name) * cell.numbers[cell.name].shape[-1]
    return (row, column), source, float(cell.numbers[source][row, column])


@rule("keep_and_take_in")
def _cell(cell: Cell) -> WorkedStep:
    row, column = cell.index
    t = row + 1
    forget, taken, candidate = (float(cell.read(n)[cell.index]) for n in range(3))
    kept = float(cell.numbers[cell.name][row - 1, column]) if row else 0.0
    f, i, g = (f't["{name}"]{subscript(cell.index)}' for name in cell.made.reads)
    before = f't["{cell.name}"]{subscript((row - 1, column))}' if row else "0"
    return WorkedStep(
        "What the forget gate keeps of the cell before, plus what the input gate takes in of the candidate."
        + ("" if row else " Before the first piece the cell is 0."),
        rf"c_{{{t}}} = f_{{{t}}}\cdot c_{{{row}}} + i_{{{t}}}\cdot g_{{{t}}} = "
        rf"{tex(forget)}\cdot {factor(kept)} + {tex(taken)}\cdot {factor(candidate)} = {tex(cell.value)}",
        cell.value,
        f"{f} * {before} + {i} * {g}",
        (*cell.made.reads, cell.name),
        Blank(rf"{tex(forget)}\cdot {factor(kept)}", round(forget, 4) * round(kept, 4)),
    )


@rule("show")
def _shown(cell: Cell) -> WorkedStep:
    gate, held = (float(cell.read(n)[cell.index]) for n in (0, 1))
    o, c = (f't["{name}"]{subscript(cell.index)}' for name in cell.made.reads)
    t = cell.index[0] + 1
    return WorkedStep(
        "The output gate decides how much of the cell shows: gate times tanh of the cell.",
        rf"h_{{{t}}} = o_{{{t}}}\cdot\tanh(c_{{{t}}}) = {tex(gate)}\cdot {tanh(held)} = {tex(cell.value)}",
        cell.value,
        f"{o} * np.tanh({c})",
        cell.made.reads,
    )


@rule("select")
def _selected(cell: Cell) -> WorkedStep:
    channel, row, n = cell.index
    t, (delta, joins, x), (weight,) = row + 1, cell.made.reads, cell.made.weights
    step, join, came = (float(cell.read(i)[row, at]) for i, at in enumerate((channel, n, channel)))
    decay = math.exp(-step * math.exp(float(cell.numbers[weight][channel, n])))
    before = float(cell.numbers[cell.name][channel, row - 1, n]) if row else 0.0
    kept = rf"{tex(decay)}\cdot {factor(before)}"
    state = f't["{cell.name}"]{subscript((channel, row - 1, n))}' if row else "0"
    steps, joined, read = (f't["{one}"][{row}, {at}]' for one, at in ((delta, channel), (joins, n), (x, channel)))
    return WorkedStep(
        "The state before decays by e to ΔA, and ΔB times what came in joins it."
        + ("" if row else " Before the first place the state is 0."),
        rf"h_{{{t}}} = e^{{\Delta A}}\cdot h_{{{row}}} + \Delta\cdot B\cdot x_{{{t}}} = "
        rf"{kept} + {tex(step)}\cdot {factor(join)}\cdot {factor(came)} = {tex(cell.value)}",
        cell.value,
        f'np.exp(-{steps} * np.exp(t["{weight}"][{channel}, {n}])) * {state} + {steps} * {joined} * {read}',
        (*cell.made.reads, weight, cell.name),
        Blank(kept, round(decay, 4) * round(before, 4)),
    )
