"""What the self-attention lesson shows."""

import re

import numpy as np

from tests.oracle.forward import Forward, config
from tests.truth.reading import Seen, Words, close, expect, only_place, without_bold
from ui.views.attention_kinds import READABLE


def looked_at(text: str, seen: Seen, oracle: Forward) -> None:
    place, row = only_place(seen), seen.matrices[0]["selected"][0]
    weights = oracle[place.name][place.head][row]
    best = np.argsort(-weights, kind="stable")[:3]
    expect(without_bold(text), [row + 1, *(n for j in best for n in (j + 1, float(weights[j])))])


def largest_weights(text: str, seen: Seen, oracle: Forward) -> None:
    """One line for every head; a place holds the weight that it is said to hold, and none is larger."""
    n_heads = config()["n_heads"]
    lines = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines()[2:]]
    assert len(lines) == config()["n_layers"] * n_heads
    for n, (layer, head, weight, *places) in enumerate(lines):
        assert (int(layer) - 1, int(head) - 1) == divmod(n, n_heads)
        weights = oracle[f"encoder.layers.{n // n_heads}.self_attn.weights"][n % n_heads, :READABLE, :READABLE]
        row, column = (int(place.split()[0]) - 1 for place in places)
        assert close(float(weight.replace("\\", "")), weights[row, column], 2)
        assert weights[row, column] >= weights.max() - 1e-5


WORDS: dict[str, Words] = {
    r"\| layer \| head \|": largest_weights,
    "The chosen row": looked_at,
}
