"""What the embeddings lesson shows."""

import re
from typing import Any

import numpy as np

from tests.oracle.forward import Forward, config, weights
from tests.truth.reading import Expected, Seen, Words, expect, only_place, place_of, without_bold
from ui.views.attention_kinds import READABLE


def one_hot_times_matrix(oracle: Forward, data: dict[str, Any]) -> np.ndarray:
    (row,) = (int(n) for n in re.findall(r"E\[(\d+)\]", data["rows"][1]))
    assert row in oracle.ids["encoder"]
    return np.stack([weights()["embedding.matrix.weight"][row, :16]] * 2)


def rows_of_matrix(text: str, seen: Seen, oracle: Forward) -> None:
    expect(text, [*weights()["embedding.matrix.weight"].shape, *oracle[only_place(seen).name].shape])


def place_of_the_one(text: str, seen: Seen, oracle: Forward) -> None:
    row = next(d["selected"][0] for d in seen.matrices if place_of(d))
    expect(without_bold(text), [1, oracle.ids["encoder"][row], config()["vocab_size"], 0])


def long_way(text: str, seen: Seen, oracle: Forward) -> None:
    size, d_model = weights()["embedding.matrix.weight"].shape
    expect(text, [d_model, 0, size, d_model, size * d_model])


def readable_pieces(text: str, seen: Seen, oracle: Forward) -> None:
    expect(text, [READABLE, len(oracle.ids["encoder"])])


WORDS: dict[str, Words] = {
    r"Shown: the first \d+ of \d+ pieces": readable_pieces,
    "Shapes: E": rows_of_matrix,
    r"\*\*Why the look-up": place_of_the_one,
    "Largest difference over all": long_way,
}
MATRICES: dict[str, Expected] = {
    "one-hot times E": one_hot_times_matrix,
}
