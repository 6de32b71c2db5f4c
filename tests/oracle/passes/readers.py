"""The readers of "Before attention" once more, in NumPy and float64, from the formulas of their papers. Imports nothing
of what it checks.

Weights are the arrays of model.safetensors by name.
"""

import math
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from tests.oracle.language.statement import factor, tex
from tests.oracle.passes.network import positions
from tests.oracle.shown.worked import RULES, Blank, Index, Step, at, long_sum

Array = np.ndarray
FOLDER = Path(__file__).parents[3] / "assets" / "models" / "readers"
Weights = Mapping[str, Array]
Values = dict[str, Array]


def arrays(module: Any) -> Weights:
    """The weights of a torch module."""
    return {name: w.numpy() for name, w in module.state_dict().items()}


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def embeddings(w: Weights, ids: list[int]) -> Array:
    """(T, d_model)"""
    matrix = w["embedding.weight"].astype(np.float64)
    return matrix[ids] * math.sqrt(matrix.shape[1])


def rnn(w: Weights, x: Array) -> Values:
    """Elman 1990: h_t = tanh(W x_t + U h_{t−1} + b). x (…,T,d_model); every value (…,T,·)."""
    weight, bias, u = (w[f"rnn.cell.{name}"].astype(np.float64) for name in ("w.weight", "w.bias", "u.weight"))
    hidden = np.zeros_like(x[..., 0, :])
    steps = []
    for t in range(x.shape[-2]):
        before = x[..., t, :] @ weight.T + hidden @ u.T + bias
        hidden = np.tanh(before)
        steps.append({"pre_activation": before, "hidden": hidden})
    return {name: np.stack([step[name] for step in steps], axis=-2) for name in steps[0]}


def lstm(w: Weights, x: Array) -> Values:
    """Hochreiter and Schmidhuber 1997 with the forget gate of Gers et al. 2000; rows stand in the order i, f, g, o."""
    weight, bias, u = (w[f"lstm.cell.{name}"].astype(np.float64) for name in ("w.weight", "w.bias", "u.weight"))
    width = x.shape[-1]
    hidden = cell = np.zeros_like(x[..., 0, :])
    steps = []
    for t in range(x.shape[-2]):
        step, parts = {}, []
        for n, (name, bend) in enumerate(
            (("input_gate", sigmoid), ("forget_gate", sigmoid), ("candidate", np.tanh), ("output_gate", sigmoid))
        ):
            rows = slice(n * width, (n + 1) * width)
            parts.append(x[..., t, :] @ weight[rows].T + hidden @ u[rows].T + bias[rows])
            step[name] = bend(parts[-1])
        cell = step["forget_gate"] * cell + step["input_gate"] * step["candidate"]
        hidden = step["output_gate"] * np.tanh(cell)
        steps.append({**step, "pre_activation": np.concatenate(parts, -1), "cell": cell, "hidden": hidden})
    return {name: np.stack([step[name] for step in steps], axis=-2) for name in steps[0]}


def attention(w: Weights, x: Array) -> Values:
    """softmax(QKᵀ/√d_k)V W^O with one head, positions added."""
    x = x + positions(x.shape[-2], x.shape[-1])
    q, k, v = (x @ w[f"attention.self_attn.w_{one}.weight"].astype(np.float64).T for one in "qkv")
    scores = q @ np.swapaxes(k, -1, -2) / math.sqrt(x.shape[-1])
    powers = np.exp(scores - scores.real.max(-1, keepdims=True))
    weights = powers / powers.sum(-1, keepdims=True)
    output = weights @ v @ w["attention.self_attn.w_o.weight"].astype(np.float64).T
    return {"embedded": x, "self_attn.weights": weights[..., None, :, :], "self_attn.output": output}


STATE = {"rnn": "hidden", "lstm": "hidden", "attention": "self_attn.output"}  # what the last row is taken of
READERS: dict[str, Callable[[Weights, Array], Values]] = {"rnn": rnn, "lstm": lstm, "attention": attention}


def logits(w: Weights, ids: list[int], name: str) -> Array:
    """A score for every vocabulary entry, from the last state alone (vocab_size)."""
    last = READERS[name](w, embeddings(w, ids))[STATE[name]][-1]
    read_out = w[f"w_recall.{name}.weight"].astype(np.float64) @ last + w[f"w_recall.{name}.bias"]
    return np.asarray(w["embedding.weight"].astype(np.float64) @ read_out)


def gradients(w: Weights, ids: list[int], name: str) -> Array:
    """‖∂h_T/∂x_t‖ of every position (T), by complex steps: f(x + iε) = f(x) + iε f'(x), exact for so small an ε.

    Source: Squire and Trapp 1998
    """
    x, tiny = embeddings(w, ids), 1e-30
    length, width = x.shape
    found = []
    for t in range(length):
        nudged = np.repeat(x[None].astype(complex), width, 0)
        nudged[np.arange(width), t, np.arange(width)] += 1j * tiny
        last = READERS[name](w, nudged)[STATE[name]][:, -1]
        found.append(np.sqrt(((last.imag / tiny) ** 2).sum()))
    return np.array(found)


def named(w: Weights, ids: list[int], name: str) -> int:
    """How many of the n different pieces, `<eos>` left out, are among the n best scored entries."""
    pieces = set(ids[:-1])
    best = np.argsort(-logits(w, ids, name), kind="stable")[: len(pieces)]
    return len(pieces & set(best.tolist()))


# --- the shipped readers, and how their numbers came about -----------------------------------------------------------


@cache
def weights(trained: bool) -> Weights:
    return load_file(FOLDER / ("" if trained else "untrained") / "model.safetensors")


@lru_cache(256)
def shares(ids: tuple[int, ...], trained: bool, name: str) -> Array:
    """How far each piece moves a reader's last state, 1 for the piece that moves it furthest (T)."""
    lengths = gradients(weights(trained), list(ids), name)
    return np.asarray(lengths / lengths.max())


class Reading:
    """A sentence, read by the shipped readers, trained or not: `reading[name]` is a tensor or a learned weight."""

    def __init__(self, ids: list[int], trained: bool) -> None:
        self.w = weights(trained)
        self.ids, self.trained = ids, trained
        self.tensors = {"tokens": embeddings(self.w, ids)}
        for name, reader in READERS.items():
            values = reader(self.w, self.tensors["tokens"])
            self.tensors |= {f"{name}.{what}": value for what, value in values.items()}

    def shares(self, name: str) -> Array:
        """How far each piece moves a reader's last state, 1 for the piece that moves it furthest (T)."""
        return shares(tuple(self.ids), self.trained, name)

    def __getitem__(self, name: str) -> Array:
        return self.tensors[name] if name in self.tensors else self.w[name].astype(np.float64)


def summed(oracle: Any, name: str, index: Index) -> Step:
    """W x_t + U h_{t−1} + b."""
    (row, column), kind = index, name.partition(".")[0]
    w, u, b = (f"{kind}.cell.{one}" for one in ("w.weight", "u.weight", "w.bias"))
    named, total = long_sum(oracle["tokens"][row], oracle[w][column])
    says = f"The vector of piece {row + 1} times row {column + 1} of W. {named} "
    snippet = f't["tokens"][{row}] @ t["{w}[{column}]"] + t["{b}"][{column}]'
    if row:
        named, more = long_sum(oracle[f"{kind}.hidden"][row - 1], oracle[u][column])
        says += f"Then the state after piece {row} times row {column + 1} of U. {named} "
        total += f" + {more}"
        snippet += f' + t["{kind}.hidden"][{row - 1}] @ t["{u}[{column}]"]'
    else:
        says += "There is no piece before, so the state before is all zeros. "
    law = f"a_{{{row + 1}}} = {terms(row)}"
    formula = f"{law} = {total} + {factor(oracle[b][column])} = {tex(oracle[name][index])}"
    return Step(f"{says}The bias b comes last.", formula, snippet)


def terms(row: int, of: str = "") -> str:
    """The sum in letters; of: the gate that W, U and b belong to."""
    of = of and f"_{of}"
    return f"W{of}x_{{{row + 1}}} + U{of}h_{{{row}}} + b{of}"


def source_of(oracle: Any, name: str, index: Index) -> tuple[float, str]:
    """The sum that a gate, a candidate or an RNN's state is made from, and where it stands."""
    kind, _, what = name.partition(".")
    order = ("input_gate", "forget_gate", "candidate", "output_gate")
    place = (index[0], index[1] + (order.index(what) * oracle["tokens"].shape[1] if what in order else 0))
    return float(oracle[f"{kind}.pre_activation"][place]), f't["{kind}.pre_activation"]{at(place)}'


def tanh_of(x: float) -> str:
    return rf"\frac{{e^{{{tex(x)}}} - e^{{{tex(-x)}}}}}{{e^{{{tex(x)}}} + e^{{{tex(-x)}}}}}"


def squashed(oracle: Any, name: str, index: Index) -> Step:
    x, source = source_of(oracle, name, index)
    t = index[0] + 1
    law = rf"h_{{{t}}} = \tanh(a_{{{t}}})" if "rnn" in name else rf"g_{{{t}}} = \tanh({terms(t - 1, 'g')})"
    says = "The hyperbolic tangent, tanh, brings any number to one between −1 and 1."
    return Step(says, f"{law} = {tanh_of(x)} = {tex(oracle[name][index])}", f"np.tanh({source})")


def gated(oracle: Any, name: str, index: Index) -> Step:
    x, source = source_of(oracle, name, index)
    formula, letter = rf"\frac{{1}}{{1 + e^{{{tex(-x)}}}}}", name.partition(".")[2][0]
    law = rf"{letter}_{{{index[0] + 1}}} = \sigma({terms(index[0], letter)})"
    return Step(
        "The logistic function σ brings any number to one between 0, a closed gate, and 1, an open one.",
        f"{law} = {formula} = {tex(oracle[name][index])}",
        f"1 / (1 + np.exp(-{source}))",
        Blank(formula, float(sigmoid(np.array(x)))),
    )


def kept_and_taken_in(oracle: Any, name: str, index: Index) -> Step:
    row, column = index
    f, i, g = (oracle[f"lstm.{what}"][index] for what in ("forget_gate", "input_gate", "candidate"))
    before = oracle["lstm.cell"][row - 1, column] if row else 0.0
    held = f't["lstm.cell"]{at((row - 1, column))}' if row else "0"
    return Step(
        "What the forget gate keeps of the cell before, plus what the input gate takes in of the candidate."
        + ("" if row else " Before the first piece the cell is 0."),
        rf"c_{{{row + 1}}} = f_{{{row + 1}}}\cdot c_{{{row}}} + i_{{{row + 1}}}\cdot g_{{{row + 1}}} = "
        rf"{tex(f)}\cdot {factor(before)} + {tex(i)}\cdot {factor(g)} = {tex(f * before + i * g)}",
        f't["lstm.forget_gate"]{at(index)} * {held} + t["lstm.input_gate"]{at(index)} * t["lstm.candidate"]{at(index)}',
        Blank(rf"{tex(f)}\cdot {factor(before)}", f * before),
    )


def let_out(oracle: Any, name: str, index: Index) -> Step:
    gate, cell = (oracle[f"lstm.{what}"][index] for what in ("output_gate", "cell"))
    law = "h_{0} = o_{0}\\cdot\\tanh(c_{0})".replace("0", str(index[0] + 1))
    return Step(
        "The output gate decides how much of the cell shows: gate times tanh of the cell.",
        rf"{law} = {tex(gate)}\cdot {tanh_of(cell)} = {tex(gate * np.tanh(cell))}",
        f't["lstm.output_gate"]{at(index)} * np.tanh(t["lstm.cell"]{at(index)})',
    )


RULES |= {
    r"(rnn|lstm)\.pre_activation": summed,
    r"rnn\.hidden|lstm\.candidate": squashed,
    r"lstm\.(input|forget|output)_gate": gated,
    r"lstm\.cell": kept_and_taken_in,
    r"lstm\.hidden": let_out,
}
