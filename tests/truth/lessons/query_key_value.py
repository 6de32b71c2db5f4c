"""What the lesson on query, key and value shows."""

from tests.oracle.forward import Forward, config
from tests.truth.reading import Seen, Words, expect, fixed


def projections(text: str, seen: Seen, oracle: Forward) -> None:
    s, (kind,) = len(oracle["encoder.embedding.output"]), (b.value for b in seen.buttons if b.key == "attention")
    t = s if kind == "Encoder" else len(oracle["decoder.embedding.output"])
    n_heads, d_model = config()["n_heads"], config()["d_model"]
    d_k = d_model // n_heads
    learned = [d_model, d_model, d_model, n_heads, d_k]
    if kind == "Encoder-decoder":
        expect(text, [t, d_model, n_heads, t, d_k, s, d_model, n_heads, s, d_k, n_heads, s, d_k, *learned])
    else:
        expect(text, [t, d_model, n_heads, t, d_k, n_heads, t, d_k, *learned])


WORDS: dict[str, Words] = {
    "The model asks": fixed(config()["n_layers"], config()["n_heads"]),
    "X ": projections,
}
