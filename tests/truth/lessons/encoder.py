"""What the lesson on the encoder shows."""

from typing import Any

import numpy as np

from tests.oracle.forward import Forward, config
from tests.truth.cells import output
from tests.truth.reading import Expected, Seen, Words, expect
from ui.views.attention_kinds import READABLE


def cosines_with_the_start(oracle: Forward, data: dict[str, Any] | None = None) -> np.ndarray:
    start, *above = (
        oracle[name][:READABLE]
        for name in ("encoder.embedding.output", *(output("encoder", n) for n in range(config()["n_layers"])))
    )
    lengths = [np.linalg.norm(rows, axis=1) for rows in (start, *above)]
    return np.stack([(start * rows).sum(1) / (lengths[0] * lengths[n]) for n, rows in enumerate(above, 1)], axis=1)


def shapes(text: str, seen: Seen, oracle: Forward) -> None:
    mean = cosines_with_the_start(oracle)[:, -1].mean()
    expect(text, [len(oracle.ids["encoder"]), config()["d_model"], mean])


WORDS: dict[str, Words] = {r"Shapes: \(": shapes}
MATRICES: dict[str, Expected] = {"cosine with the start": cosines_with_the_start}
