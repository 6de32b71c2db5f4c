"""What the masking lesson shows."""

from tests.oracle.forward import Forward
from tests.truth.lessons.common import sizes
from tests.truth.reading import Seen, Words, expect, only_place


def hidden_cells(text: str, seen: Seen, oracle: Forward) -> None:
    t, *_ = sizes(only_place(seen).name.rpartition(".")[0], oracle)
    expect(text, [t, t, t, t, t, t - 1, 2, t * (t - 1) // 2, t * t])


WORDS: dict[str, Words] = {
    "Shapes: scores": hidden_cells,
}
