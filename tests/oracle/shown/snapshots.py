"""The snapshots of the plain small translator, in NumPy from their files: passes, losses, aligned words, dropout."""

import functools
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from tests.oracle.language.page import OWN, Own, Page
from tests.oracle.language.statement import factor, tex
from tests.oracle.language.words import encoded, pieces, text_of, words
from tests.oracle.passes.decode import Writer, greedy
from tests.oracle.passes.draws import Dropout
from tests.oracle.passes.forward import EOS, MAX_PIECES, Array, Forward, softmax, source_ids, tidied
from tests.oracle.shown.siblings import MODELS, Sibling, config_of
from tests.oracle.shown.worked import RULES, Blank, Index, Step

NAME = "plain-1"
EPSILON = 0.1  # Vaswani et al. 2017, §5.4
LONGER = 10

Ids = tuple[int, ...]


@functools.cache
def steps() -> list[int]:
    return sorted(int(path.stem) for path in (MODELS / NAME / "snapshots").glob("*.safetensors"))


@functools.cache
def measured() -> dict[str, Any]:
    return json.loads((MODELS / NAME / "forming.json").read_text())


@functools.cache
def weights_at(step: int) -> dict[str, Array]:
    file = MODELS / NAME / "snapshots" / f"{step:05}.safetensors"
    return {name: w.astype(np.float64) for name, w in load_file(file).items()}


class Snapshot(Sibling):
    """One pass. blocked: source positions that nobody sees; seed: of dropout, None for without"""

    def __init__(self, step: int, src: Ids, labels: Ids, blocked: Ids = (), seed: int | None = None) -> None:
        config = config_of(NAME)
        self.drop = (lambda rows: rows) if seed is None else Dropout(seed, config["dropout"])
        super().__init__(config, weights_at(step), list(src), list(labels), blocked=blocked)
        costs = self.costs()
        right = costs[np.arange(len(labels)), list(labels)]
        self.keep("losses", right[:, None])
        self.keep("smoothed_losses", ((1 - EPSILON) * right + EPSILON * costs.mean(1))[:, None])

    def costs(self) -> Array:
        """−ln P of every piece in every row."""
        top = self.logits.max(1, keepdims=True)
        return np.log(np.exp(self.logits - top).sum(1, keepdims=True)) + top - self.logits

    @property
    def chances(self) -> Array:
        """The probability of each label (T)."""
        return softmax(self.logits)[np.arange(len(self.labels)), self.labels]

    def embed(self, stack: str, ids: list[int], *more: Any) -> Array:
        return self.drop(super().embed(stack, ids, *more))

    def joined(self, path: str, x: Array, sublayer: Callable[[Array], Array]) -> Array:
        return super().joined(path, x, lambda rows: self.drop(sublayer(rows)))


@functools.lru_cache(64)
def written(step: int, text: str, most: int = MAX_PIECES) -> Ids:
    """What greedy search writes."""
    writer = Writer("Go")
    writer.passes = Snapshot(step, tuple(source_ids(text)), (EOS,))
    return greedy(writer, most=most)


@functools.lru_cache(128)
def reading(step: int, src: Ids, labels: Ids, blocked: Ids = (), seed: int | None = None) -> Snapshot:
    return Snapshot(step, src, labels, blocked, seed)


def target(page: Page) -> Ids:
    """The last snapshot's translation, as pieces that the others are given to read."""
    return (*encoded(tidied(text_of(list(last_written(page)))))[:MAX_PIECES], EOS)


def last_written(page: Page) -> Ids:
    return written(steps()[-1], page.sentence)


def written_at(page: Page, step: int) -> Ids:
    return written(step, page.sentence, len(last_written(page)) + LONGER)


def forced(page: Page, step: int, seed: int | None = None) -> Snapshot:
    return reading(step, tuple(source_ids(page.sentence)), target(page), (), seed)


def shares_on(page: Page) -> dict[str, list[float]]:
    """Of each head's weight on the aligned words, snapshot by snapshot, while it reads what the last one wrote."""
    src, labels = tuple(source_ids(page.sentence)), last_written(page)
    english, at = pieces(src), np.arange(len(labels))
    hidden = [word.pieces for word in words(english) if english[word.pieces[0]].word >= 0]
    whole = np.log(reading(steps()[-1], src, labels).chances)
    falls = np.array([whole - np.log(reading(steps()[-1], src, labels, one).chances) for one in hidden])
    behind = {t: hidden[falls[:, t].argmax()] for t in at if falls[:, t].max() >= -math.log(0.9)}
    found: dict[str, list[float]] = {f"{layer}.{head}": [] for layer in (1, 2) for head in (1, 2, 3, 4)}
    for step in steps():
        oracle = reading(step, src, labels)
        for name, shares in found.items():
            map_ = oracle[f"decoder.layers.{int(name[0]) - 1}.cross_attn.weights"][int(name[2]) - 1]
            shares.append(float(np.mean([map_[t, list(of)].sum() for t, of in behind.items()])) if behind else 0.0)
    return found


def last_pass(sentence: str) -> Snapshot:
    """What the page shows above the lesson's parts: the last snapshot writes its own translation."""
    return reading(steps()[-1], tuple(source_ids(sentence)), written(steps()[-1], sentence))


OWN["how-it-learned"] = Own(config_of(NAME), last_pass)


# --- Check -----------------------------------------------------------------------------------------------------------


def loss(oracle: Forward, name: str, index: Index) -> Step:
    row = index[0]
    logits, right = oracle.logits[row], oracle.labels[row]
    top = logits.max()
    total = np.exp(logits - top).sum()
    return Step(
        f"The loss of row {row + 1} is minus the logarithm of P, the probability of the right piece. Softmax makes P "
        f"of the {len(logits):,} logits of the row, a score for each piece. The largest of them, {tex(top)}, is first "
        "taken off all. Then the loss is the logarithm of the sum of e to the power of each, less the right piece's "
        "own.",
        rf"-\ln P = \ln({tex(total)}) - ({tex(logits[right])} - {factor(top)}) = {tex(oracle[name][index])}",
        f'row = t["logits[{row}]"].astype(float)\nrow = row - row.max()\nnp.log(np.exp(row).sum()) - row[{right}]',
        Blank(rf"\ln({tex(total)})", math.log(total)),
    )


def smoothed_loss(oracle: Forward, name: str, index: Index) -> Step:
    assert isinstance(oracle, Snapshot)
    row = index[0]
    costs, right = oracle.costs()[row], oracle.labels[row]
    sure = rf"0.9\cdot {tex(costs[right])}"
    return Step(
        f"With label smoothing the right piece of row {row + 1} counts only 0.9. The other 0.1 is shared by all "
        f"{len(costs):,} pieces alike. So it multiplies the mean of −ln P over all of them.",
        rf"{sure} + 0.1\cdot {tex(costs.mean())} = {tex(oracle[name][index])}",
        f'row = t["logits[{row}]"].astype(float)\ncosts = np.log(np.exp(row - row.max()).sum()) + row.max() - row\n'
        f"(1 - 0.1) * costs[{right}] + 0.1 * costs.mean()",
        Blank(sure, 0.9 * costs[right]),
    )


RULES |= {"losses": loss, "smoothed_losses": smoothed_loss}
