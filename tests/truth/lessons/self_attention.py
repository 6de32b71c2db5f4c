"""What the self-attention lesson shows."""

import numpy as np

from tests.forward import Forward
from tests.truth.reading import Seen, Words, expect, only_place, without_bold


def looked_at(text: str, seen: Seen, oracle: Forward) -> None:
    place, row = only_place(seen), seen.matrices[0]["selected"][0]
    weights = oracle[place.name][place.head][row]
    best = np.argsort(-weights, kind="stable")[:3]
    expect(without_bold(text), [row + 1, *(n for j in best for n in (j + 1, float(weights[j])))])


WORDS: dict[str, Words] = {
    "The chosen row": looked_at,
}
