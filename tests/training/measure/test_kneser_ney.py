"""The 5-gram model against the formula, counted with dictionaries; and what every such model keeps to."""

import random
from collections import Counter, defaultdict

import numpy as np
import pytest

from training.loop.corpus import Document
from training.measure.kneser_ney import KneserNey, stream_of

EOS, VOCAB = 2, 9
CHOOSE = random.Random(3)


def documents(n: int) -> list[Document]:
    return [
        Document((np.array([CHOOSE.choice([3, 3, 4, 5, 6]) for _ in range(CHOOSE.randint(1, 9))], dtype=np.uint16),), 1)
        for _ in range(n)
    ]


TRAIN, TEST = documents(40), [*documents(8), Document((np.array([7, 3, 4, 8, 3, 3], dtype=np.uint16),), 1)]


def by_hand(order: int) -> list[float]:
    """Chen and Goodman 1999, Eq. 24: max(c − D, 0)/Σc + D·N₁₊/Σc · P(one word shorter)."""
    counts: dict[int, Counter[tuple[int, ...]]] = {n: Counter() for n in range(1, order + 1)}
    seen = {n: set() for n in range(1, order + 2)}
    for document in TRAIN:
        words = [1] * (order - 1) + document.ids.tolist() + [EOS]
        for at in range(order - 1, len(words)):
            counts[order][tuple(words[at - order + 1 : at + 1])] += 1
            for n in range(2, order + 1):
                seen[n].add(tuple(words[at - n + 1 : at + 1]))
    for n in range(1, order):
        counts[n] = Counter(gram[1:] for gram in seen[n + 1])
    behind: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for n in counts:
        for gram, count in counts[n].items():
            behind[n, *gram[:-1]].append(count)

    def p(context: tuple[int, ...], word: int) -> float:
        n = len(context) + 1
        lower = p(context[1:], word) if context else 1 / VOCAB
        if not (those := behind[n, *context]):
            return lower
        once, twice = (list(counts[n].values()).count(k) for k in (1, 2))
        discount = once / (once + 2 * twice) if once else 0
        return (max(counts[n][*context, word] - discount, 0) + discount * len(those) * lower) / sum(those)

    answers = []
    for document in TEST:
        words = [1] * (order - 1) + document.ids.tolist() + [EOS]
        answers += [p(tuple(words[at - order + 1 : at]), words[at]) for at in range(order - 1, len(words))]
    return answers


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_it_is_the_formula(order: int) -> None:
    model = KneserNey(stream_of(TRAIN, order), VOCAB, order)
    assert model.probabilities(stream_of(TEST, order)) == pytest.approx(by_hand(order), rel=1e-9)


def test_an_id_of_sixteen_bits_is_taken_for_no_other() -> None:
    """Ids that are far apart, and alike in their low bits: the same text in another vocabulary."""

    def far(documents: list[Document]) -> list[Document]:
        return [Document((np.where(d.ids > EOS, d.ids * 4096 + 3, d.ids).astype(np.uint16),), 1) for d in documents]

    near, wide = (KneserNey(stream_of(some, 3), 65_536, 3) for some in (TRAIN, far(TRAIN)))
    expected = near.probabilities(stream_of(TEST, 3))
    assert wide.probabilities(stream_of(far(TEST), 3)) == pytest.approx(expected, rel=1e-12)


def test_all_words_together_have_probability_one() -> None:
    """<sos> too has its share of the uniform distribution that all begins with; it is left out of what is returned."""
    model = KneserNey(stream_of(TRAIN, 5), VOCAB, 5)
    for context in ([3, 3, 4, 5], [3, 7, 3, 3], [1, 1, 1, 1]):
        words = [word for word in range(VOCAB) if word != 1]
        total = sum(model.probabilities(np.array([*context, word]))[-1] for word in words)
        share_of_start = 1 - total
        assert -1e-12 < share_of_start < 1 / VOCAB
