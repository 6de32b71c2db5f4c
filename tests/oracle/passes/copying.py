"""The two copiers of "Without attention" once more, in NumPy and float64, from the formulas of their papers. Imports
nothing of what it checks.
"""

import functools

import numpy as np
from safetensors.numpy import load_file

from tests.oracle.language.statement import factor, tex
from tests.oracle.passes import shipped
from tests.oracle.passes.network import Array
from tests.oracle.shown.worked import RULES, Blank, Index, Step

FOLDER = shipped.MODELS / "copying"


@functools.cache
def weights(kind: str) -> dict[str, Array]:
    return {name: w.astype(np.float64) for name, w in load_file(FOLDER / f"{kind}.safetensors").items()}


def silu(x: Array) -> Array:
    return x / (1 + np.exp(-x))


def softplus(x: Array) -> Array:
    return np.log1p(np.exp(x))


class Read:
    """Ids (T) read by one of the two: `read[name]` is a tensor or a learned weight; said: its answers, as ids."""

    def __init__(self, kind: str, ids: tuple[int, ...]) -> None:
        self.w, self.tensors = weights(kind), {}
        x = self.w["embedding.weight"][list(ids)]
        for n in range(2):
            x = x + self.block(f"blocks.{n}", self.normed(x, n))
        logits = self.normed(x, 2) @ self.w["w_out.weight"].T + self.w["w_out.bias"]
        self.said = logits[-6:].argmax(-1).tolist()

    def __getitem__(self, name: str) -> Array:
        return self.tensors[name] if name in self.tensors else self.w[name]

    def normed(self, x: Array, n: int) -> Array:
        return np.asarray(x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * self.w[f"norms.{n}.weight"])

    def block(self, path: str, x: Array) -> Array:
        """Gu and Dao 2023, Figure 3."""
        inner, gate = np.split(x @ self.w[f"{path}.w_in.weight"].T, 2, axis=-1)
        reach = self.w[f"{path}.conv.weight"][:, 0]  # (D,places)
        before = np.concatenate([np.zeros((reach.shape[1] - 1, inner.shape[1])), inner])
        near = sum(before[k : k + len(inner)] * reach[:, k] for k in range(reach.shape[1]))
        near = self.tensors[f"{path}.near"] = silu(near + self.w[f"{path}.conv.bias"])
        space = f"{path}.space"
        mixed = self.selective(space, near) if f"{space}.w_x.weight" in self.w else invariant(self.w, space, near)
        return np.asarray((mixed + self.w[f"{space}.skip"] * near) * silu(gate) @ self.w[f"{path}.w_out.weight"].T)

    def selective(self, path: str, x: Array) -> Array:
        """Gu and Dao 2023, Algorithm 2: h_t = e^{ΔA} h_{t−1} + ΔB x_t, y_t = C h_t."""
        a = -np.exp(self.w[f"{path}.log_a"])
        rank = self.w[f"{path}.w_step.weight"].shape[1]
        read = x @ self.w[f"{path}.w_x.weight"].T
        step, joins, reads = np.split(read, [rank, rank + a.shape[1]], axis=-1)
        delta = softplus(step @ self.w[f"{path}.w_step.weight"].T + self.w[f"{path}.w_step.bias"])
        state, states = np.zeros_like(a), []
        for d, b, one in zip(delta, joins, x, strict=True):
            state = np.exp(d[:, None] * a) * state + (d * one)[:, None] * b
            states.append(state)
        self.tensors |= {f"{path}.delta": delta, f"{path}.joins": joins}
        self.tensors[f"{path}.states"] = np.stack(states, 1)
        return np.einsum("dtn,tn->td", np.stack(states, 1), reads)


def invariant(w: dict[str, Array], path: str, x: Array) -> Array:
    """Gu et al. 2022 (S4D), Table 1: A discretised with zero-order hold, as a recurrence; x (T,D)."""
    a = -np.exp(w[f"{path}.log_a"]) + 1j * w[f"{path}.turn"]
    decay = np.exp(softplus(w[f"{path}.step"])[:, None] * a)
    joins, reads = (decay - 1) / a, w[f"{path}.read"] @ [1, 1j]
    state, found = np.zeros_like(decay), []
    for one in x:
        state = decay * state + joins * one[:, None]
        found.append(2 * (reads * state).sum(-1).real)
    return np.array(found)


def kernels(length: int) -> Array:
    """What a 1 leaves behind in each channel of the first time-invariant layer (D,length)."""
    w = weights("time-invariant")
    return invariant(w, "blocks.0.space", np.eye(length, 1) * np.ones(len(w["blocks.0.space.step"]))).T


@functools.lru_cache(64)
def reading(kind: str, ids: tuple[int, ...]) -> Read:
    return Read(kind, ids)


def chosen(oracle: Read, name: str, index: Index) -> Step:
    """One number of a state, from the one before it."""
    (channel, row, n), path = index, name.removesuffix(".states")
    (delta, d), (joins, b), (near, x) = (
        (where, float(oracle[where][row, at]))
        for where, at in ((f"{path}.delta", channel), (f"{path}.joins", n), (f"{path[:-6]}.near", channel))
    )
    decay = float(np.exp(-d * np.exp(oracle[f"{path}.log_a"][channel, n])))
    before = float(oracle[name][channel, row - 1, n]) if row else 0.0
    held = f't["{name}"][{channel}, {row - 1}, {n}]' if row else "0"
    step, kept = f't["{delta}"][{row}, {channel}]', rf"{tex(decay)}\cdot {factor(before)}"
    law = rf"h_{{{row + 1}}} = e^{{\Delta A}}\cdot h_{{{row}}} + \Delta\cdot B\cdot x_{{{row + 1}}}"
    return Step(
        "The state before decays by e to ΔA, and ΔB times what came in joins it."
        + ("" if row else " Before the first place the state is 0."),
        rf"{law} = {kept} + {tex(d)}\cdot {factor(b)}\cdot {factor(x)} = {tex(decay * before + d * b * x)}",
        f'np.exp(-{step} * np.exp(t["{path}.log_a"][{channel}, {n}])) * {held} + {step} * t["{joins}"][{row}, {n}] * '
        f't["{near}"][{row}, {channel}]',
        Blank(kept, round(decay, 4) * round(before, 4)),
    )


RULES[r"blocks\.\d\.space\.states"] = chosen
