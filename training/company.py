"""Vectors of words from running text: words that keep the same company come to lie together."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from model.families.two_towers import SMALL_WORDS, all_words, parts_of

REACH = 5  # how far apart words are, at most, that keep each other company; small words do not count
N_WORDS, FEWEST = 20_000, 5  # the most frequent words get a vector, if they stand there so often
SMOOTHING = 0.75  # power of the counts of company, so that rare words do not stand out
FITTING, RATE = 400, 0.02  # steps, and their rate


def word_vectors(documents: Iterable[str], d: int) -> tuple[list[str], Tensor]:
    """Words and a vector of length 1 for each (V,d): of how much more often than by chance two keep company, or 0, what
    d directions tell best.

    Source: Levy, Goldberg and Dagan 2015, §2.2 (PPMI and SVD, eigenvalues to the power of 1/2) and §3.2 (smoothing)
    """
    read = [[word for word in all_words(document) if word not in SMALL_WORDS] for document in documents]
    counts = Counter(word for words in read for word in words)
    known = [word for word, n in counts.most_common(N_WORDS) if n >= FEWEST]
    numbers = {word: n for n, word in enumerate(known)}
    apart = [-1] * REACH  # between documents
    row = np.array([n for words in read for n in (*(numbers.get(word, -1) for word in words), *apart)])
    u, strengths, _ = torch.svd_lowrank(_surprise(row, len(known)), q=2 * d, niter=3)
    return known, nn.functional.normalize(u[:, :d] * strengths[:d].sqrt(), dim=1)


def _surprise(row: NDArray[np.int64], n_words: int) -> Tensor:
    """ln of how many times as often as by chance each pair keeps company, where that is above 0 (V,V), sparse."""
    pairs = []
    for far in range(1, 1 + REACH):
        one, other = row[:-far], row[far:]
        both = (one >= 0) & (other >= 0)
        pairs += [one[both] * n_words + other[both], other[both] * n_words + one[both]]
    found, counts = np.unique(np.concatenate(pairs), return_counts=True)
    words, company = np.divmod(found, n_words)
    of_word = np.bincount(words, counts, n_words)
    by_chance = of_word**SMOOTHING / (of_word**SMOOTHING).sum()
    surprise = np.log(counts / of_word[words] / by_chance[company])
    kept = surprise > 0
    at = torch.from_numpy(np.stack([words[kept], company[kept]]))
    return torch.sparse_coo_tensor(
        at, torch.from_numpy(surprise[kept]).float(), (n_words, n_words), check_invariants=False
    )


def fitted_table(words: Sequence[str], vectors: Tensor, n_parts: int) -> Tensor:
    """Rows for the parts of words (n_parts,d), so that the mean of a word's rows is near its vector (V,d)."""
    parts = [parts_of(word, n_parts) for word in words]
    at = torch.tensor([[n, part] for n, own in enumerate(parts) for part in own]).T
    shares = torch.tensor([1 / len(own) for own in parts for _ in own])
    means = torch.sparse_coo_tensor(at, shares, (len(words), n_parts), check_invariants=False).coalesce()
    table = torch.zeros(n_parts, vectors.size(1), requires_grad=True)
    fitting = torch.optim.Adam([table], RATE)
    for _ in range(FITTING):
        fitting.zero_grad()
        (means @ table - vectors).square().sum().backward()
        fitting.step()
    return table.detach()
