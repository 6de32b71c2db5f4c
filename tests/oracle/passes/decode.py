"""Greedy search, beam search and what sampling draws from, once more in NumPy, from the papers: no code of the project.

Every prefix is scored by itself, not in a batch; of the rows before its last one what they made is remembered.
"""

import functools
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.oracle.passes.forward import EOS, SOS, Forward, source_ids, tokenizer

PAD = 0
LONGEST = 100  # pieces of a translation

Ids = tuple[int, ...]


class Writer:
    """Scores what may come next in the translation of one sentence; remembers the scores of each prefix.

    Args: changes: what is switched off in the model, see `Forward`
    """

    def __init__(self, text: str, **changes: Any) -> None:
        self.passes = Forward(source_ids(text), [EOS], **changes)
        self.known: dict[Ids, np.ndarray] = {}

    def scores(self, prefix: Ids) -> np.ndarray:
        """Log-probabilities (V) of the piece after a prefix; `<pad>` and `<sos>` are never written."""
        if prefix not in self.known:
            logits = self.passes.next_logits([SOS, *prefix])
            found = logits - logits.max() - math.log(np.exp(logits - logits.max()).sum())
            found[[PAD, SOS]] = -np.inf
            self.known[prefix] = found
        return self.known[prefix]

    def total(self, ids: Ids) -> float:
        return sum(float(self.scores(ids[:t])[id]) for t, id in enumerate(ids))


def greedy(writer: Writer, prefix: Ids = (), most: int = LONGEST) -> Ids:
    ids = prefix
    while ids[-1:] != (EOS,) and len(ids) < most:
        ids = (*ids, int(writer.scores(ids).argmax()))
    return ids


@functools.cache
def translated(text: str, **changes: Any) -> Forward:
    """The pass of a sentence and of what greedy search writes for it, in the model as it is or with changes."""
    return Forward(source_ids(text), list(greedy(Writer(text, **changes))), **changes)


def german(text: str) -> str:
    """What greedy search writes for a sentence, as text."""
    return tokenizer().decode(translated(text).labels, skip_special_tokens=True)


def penalised(total: float, length: int, alpha: float) -> float:
    """Wu et al. 2016, Equation 14, without the coverage term: log P over lp, lp = (5 + |Y|)^α / (5 + 1)^α."""
    return total * (5 + 1) ** alpha / (5 + length) ** alpha


@dataclass
class Search:
    """A beam search, each translation with its log-probability.

    looked_at: of each step twice as many extensions as are kept, best first; kept: the unfinished after each step
    """

    looked_at: list[dict[Ids, float]] = field(default_factory=list)
    kept: list[dict[Ids, float]] = field(default_factory=list)
    finished: dict[Ids, float] = field(default_factory=dict)

    def best(self, alpha: float) -> Ids:
        among = self.finished or self.kept[-1]
        return max(among, key=lambda ids: penalised(among[ids], len(ids), alpha))


def beam(writer: Writer, size: int, prefix: Ids = ()) -> Search:
    """Each step extends all that are kept: of the `size` best those that end are done, the best others go on."""
    search, kept = Search(), {prefix: writer.total(prefix)}
    if prefix[-1:] == (EOS,):
        search.finished = kept
        return search
    for _ in range(LONGEST - len(prefix)):
        extensions = []
        for ids, total in kept.items():
            scores = total + writer.scores(ids)
            # No more than twice `size` extensions of one prefix can matter.
            extensions += [(float(scores[id]), (*ids, int(id))) for id in np.argsort(-scores)[: 2 * size]]
        extensions = sorted(extensions, reverse=True)[: 2 * size]
        search.looked_at.append({ids: total for total, ids in extensions})
        search.finished |= {ids: total for total, ids in extensions[:size] if ids[-1] == EOS}
        kept = dict([(ids, total) for total, ids in extensions if ids[-1] != EOS][:size])
        search.kept.append(kept)
        if len(search.finished) >= size:
            break
    return search


def filter_logits(scores: np.ndarray, temperature: float, top_k: int, top_p: float) -> np.ndarray:
    """What sampling draws from (V), given log-probabilities (V).

    Temperature: softmax(scores / T). Top-k (Fan et al. 2018): the k likeliest. Top-p (Holtzman et al. 2020, §3.1): the
    smallest set of likeliest pieces whose probabilities reach p. What is left is scaled up to add up to 1.
    """
    if temperature == 0:
        return (np.arange(len(scores)) == scores.argmax()).astype(float)
    powers = np.exp((scores - scores.max()) / temperature)
    probabilities = powers / powers.sum()
    order = np.argsort(-probabilities, kind="stable")
    size = int(np.searchsorted(np.cumsum(probabilities[order]), top_p)) + 1
    size = min(size, top_k or len(order), len(order))
    found = np.zeros_like(probabilities)
    found[order[:size]] = probabilities[order[:size]]
    return found / found.sum()
