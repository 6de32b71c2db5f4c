"""What the scaled dot-product lesson shows."""

from tests.oracle.forward import Forward
from tests.truth.lessons.common import sizes
from tests.truth.reading import Seen, Words, expect, only_place


def cost(text: str, seen: Seen, oracle: Forward) -> None:
    t, s, d_k = sizes(only_place(seen).name.rpartition(".")[0], oracle)
    expect(text, [t, d_k, s, d_k, s, d_k, t, s, t, s, d_k, t * s * d_k])


WORDS: dict[str, Words] = {
    "Shapes: Q": cost,
}
