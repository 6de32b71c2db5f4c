"""What the lesson on the decoder and its output shows; the bars and Do are in tests/pages."""

import re

import numpy as np

from tests.oracle.forward import Forward, config, embedding_matrix
from tests.pages.kit import size
from tests.truth.reading import Seen, Words, close, expect, fixed, only_place, without_bold

LIKELIEST = 10
COUNTS = {"row": 6}  # positions that the walk through the lesson tries


def row_of(seen: Seen) -> int:
    rows = only_place(seen).rows
    assert rows is not None
    return rows[0]


def left_over(text: str, seen: Seen, oracle: Forward) -> None:
    shares = np.sort(oracle["probabilities"][row_of(seen)])[::-1]
    others, _, rest = without_bold(text).rpartition("All other ")[2].partition(" entries share ")
    assert int(others.replace(",", "")) == config()["vocab_size"] - LIKELIEST
    assert close(size(rest.rstrip(".")), shares[LIKELIEST:].sum(), 3)


def tied(text: str, seen: Seen, oracle: Forward) -> None:
    row = row_of(seen)
    id = oracle.ids["decoder"][row]
    assert np.array_equal(embedding_matrix()[id], oracle["decoder.embedding.tokens"][row])
    expect(without_bold(text), [id, id, 0, oracle["logits"][row, id], 0])


def shapes(text: str, seen: Seen, oracle: Forward) -> None:
    (t, v), d_model = oracle["logits"].shape, config()["d_model"]
    expect(text, [t, d_model, d_model, v, t, v])


def no_numbers(text: str, seen: Seen, oracle: Forward) -> None:
    assert not re.search(r"\d", without_bold(text))


WORDS: dict[str, Words] = {
    r"\*\*What may come after": no_numbers,
    r"The model writes \*\*": left_over,
    r"\*\*Tied": tied,
    "Shapes: Y": shapes,
    r"Shown: the first \d+ of \d+ dimensions": fixed(64, config()["d_model"]),
}
