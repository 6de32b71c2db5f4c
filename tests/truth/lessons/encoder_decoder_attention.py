"""What the encoder-decoder attention lesson shows, by pieces; tests/pages has the same by words."""

import numpy as np

from tests.oracle.forward import Forward, config
from tests.truth.lessons.common import sizes
from tests.truth.reading import Seen, Words, expect, only_place, place_of, without_bold

GRID = "decoder.layers.{}.cross_attn"


def of_words(labels: list[str]) -> np.ndarray:
    return np.array([label != "<eos>" and any(sign.isalnum() for sign in label) for label in labels])


def whole_map(seen: Seen, oracle: Forward) -> tuple[np.ndarray, dict]:
    (data,) = (d for d in seen.matrices if place_of(d))
    return only_place(seen).whole(oracle), data


def row_in_words(text: str, seen: Seen, oracle: Forward) -> None:
    weights, data = whole_map(seen, oracle)
    row = data["selected"][0]
    best = [j for j in np.argsort(-weights[row], kind="stable")[:3] if weights[row, j] >= 0.005]
    expect(without_bold(text), [row + 1, *(n for j in best for n in (j + 1, float(weights[row, j])))])


def alignment(text: str, seen: Seen, oracle: Forward) -> None:
    """How many rows of words look most at what is none; only as far as the labels of the map tell."""
    weights, data = whole_map(seen, oracle)
    if weights.shape != (len(data["rows"]), len(data["columns"])):
        return
    rows, columns = of_words(data["rows"]), of_words(data["columns"])
    expect(without_bold(text), [int((rows & ~columns[weights.argmax(-1)]).sum()), int(rows.sum())])


def shapes(text: str, seen: Seen, oracle: Forward) -> None:
    t, s, d_k = sizes("decoder.layers.0.cross_attn", oracle)
    h = config()["n_heads"]
    expect(text, [h, t, d_k, h, s, d_k, h, t, s])


WORDS: dict[str, Words] = {
    r"Row \d+: before writing": row_in_words,
    r"\*\*Is this an alignment": alignment,
    "Shapes: Q": shapes,
}
