"""What the lesson on Add & Norm shows."""

import numpy as np

from tests.oracle.forward import Forward, config
from tests.truth.cells import stream
from tests.truth.reading import Seen, Words, close, expect, numbers_in
from ui.views.attention_kinds import READABLE

SUBLAYERS = {
    "after self-attention": "self_attn",
    "after encoder-decoder attention": "cross_attn",
    "after feed-forward": "feed_forward",
}


def rows(seen: Seen, oracle: Forward) -> list[np.ndarray]:
    """What comes in, what is written, the sum and the output of the Add & Norm that the controls are set to."""
    chosen = {button.key: button.value for button in seen.buttons}
    stack, layer = chosen["stack"].lower(), chosen["layer"] - 1
    after = chosen[f"add_norm_{stack}"]
    order = list(SUBLAYERS) if stack == "decoder" else ["after self-attention", "after feed-forward"]
    n, path = order.index(after) + 1, f"{stack}.layers.{layer}"
    names = [
        stream(stack, layer) if n == 1 else f"{path}.add_norm_{n - 1}.output",
        f"{path}.{SUBLAYERS[after]}.output",
        f"{path}.add_norm_{n}.sum",
        f"{path}.add_norm_{n}.output",
    ]
    return [oracle[name] for name in names]


def shapes(text: str, seen: Seen, oracle: Forward) -> None:
    expect(text, [*rows(seen, oracle)[0].shape, config()["d_model"]])


def lengths(seen: Seen, oracle: Forward) -> np.ndarray:
    """Of each row: its length, that of what is written, their ratio, the cosine of the sum and what came in."""
    x, written, total, _ = (found[:READABLE] for found in rows(seen, oracle))
    a, b, c = (np.linalg.norm(found, axis=1) for found in (x, written, total))
    return np.stack([a, b, b / a, (x * total).sum(1) / (a * c)], axis=1)


def length_table(text: str, seen: Seen, oracle: Forward) -> None:
    table(text, lengths(seen, oracle), 2)


def length_words(text: str, seen: Seen, oracle: Forward) -> None:
    _, _, ratio, along = lengths(seen, oracle).mean(0)
    expect(text, [along, 1, 0, ratio])


def spreads(seen: Seen, oracle: Forward) -> np.ndarray:
    """Mean and deviation of each row before the norm, after it, and after γ and β."""
    *_, total, output = (found[:READABLE] for found in rows(seen, oracle))
    normal = (total - total.mean(1, keepdims=True)) / np.sqrt(total.var(1, keepdims=True) + 1e-5)
    return np.stack([f(axis=1) for found in (total, normal, output) for f in (found.mean, found.std)], axis=1)


def spread_table(text: str, seen: Seen, oracle: Forward) -> None:
    table(text, spreads(seen, oracle), 3, columns=3)


def spread_words(text: str, seen: Seen, oracle: Forward) -> None:
    _, before, _, _, _, after = spreads(seen, oracle).T
    expect(text, [before.min(), before.max(), 1, after.min(), after.max()])


def table(text: str, true: np.ndarray, digits: int, columns: int | None = None) -> None:
    lines = text.replace("\\", "").splitlines()[2:]
    assert len(lines) == len(true)
    for line, numbers in zip(lines, true, strict=True):
        cells = line.rsplit(" | ", columns or len(numbers))[1:]
        for shown, number in zip(numbers_in(" ".join(cells)), numbers, strict=True):
            assert close(shown, number, digits), line


WORDS: dict[str, Words] = {
    "Shapes: x, Sublayer": shapes,
    r"\| piece \| comes in": length_table,
    "The length of a row": length_words,
    r"\| mean ± deviation of": spread_table,
    "Before, the deviations": spread_words,
}
