"""What the lesson on positional encodings shows."""

import re
from typing import Any

import numpy as np

from tests.oracle.forward import Forward, config, positions
from tests.truth.lessons.inference import text_of
from tests.truth.reading import Expected, Seen, Words, close, expect, fixed, numbers_in
from ui.views.attention_kinds import READABLE


def products_of_positions(oracle: Forward, data: dict[str, Any]) -> np.ndarray:
    table = positions(len(data["rows"]), config()["d_model"])  # a short sentence is shown with a few positions more
    return table @ table.T


def rotation(oracle: Forward, data: dict[str, Any]) -> np.ndarray:
    (step,) = (int(n) for n in re.findall(r"rotation by (\d+)", data["csv_name"]))
    size = len(data["rows"])
    result = np.zeros((size, size))
    for i in range(size // 2):
        angle = step / 10000 ** (2 * i / config()["d_model"])
        result[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
    return result


def same_products(text: str, seen: Seen, oracle: Forward) -> None:
    """A diagonal's products differ by rounding alone."""
    found = re.match(r"Within a diagonal the products differ by at most ([\d.]+)(?: · 10([⁻⁰-⁹¹²³]+))?, ", text)
    assert found
    power = (found[2] or "⁰").translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
    assert float(found[1]) * 10.0 ** int(power) < 1e-3, text
    expect(text[found.end() :], [2, config()["d_model"] // 2])


def steps_on(text: str, seen: Seen, oracle: Forward) -> None:
    (step,) = seen.sliders
    length = (config()["d_model"] / 2) ** 0.5
    begins, lengths = text.split("A rotation changes no length")
    assert numbers_in(begins)[:4] == [step, 0, 99 - step, step]
    assert re.search(r"by at most \*\*(0\.000|[\d.]+ · 10⁻[⁵-⁹¹²³])", begins), text
    expect(lengths, [100, length, length, config()["d_model"] // 2, length])


def unitary(text: str, seen: Seen, oracle: Forward) -> None:
    """A rotation's eigenvalues all have size 1."""
    sizes = [float(size) for size in re.findall(r"\*\*([\d.]+)\*\*", text)]
    assert len(sizes) == 2
    assert all(close(size, 1.0) for size in sizes)


def clock_table(text: str, seen: Seen, oracle: Forward) -> None:
    (position,), d_model = seen.sliders, config()["d_model"]
    for line in text.splitlines()[2:]:
        pair, angle, sine, cosine = numbers_in(line.replace("\\", ""))
        turned = position / 10000 ** (2 * (pair - 1) / d_model)  # pairs count from 1
        assert close(angle % (2 * np.pi), turned % (2 * np.pi)) or close(angle, turned), line
        assert close(sine, np.sin(turned)), line
        assert close(cosine, np.cos(turned)), line


def clock_caption(text: str, seen: Seen, oracle: Forward) -> None:
    length = len(oracle.ids["encoder"])
    expect(text, [1, 2, 1, 0, 1, 1, 57, 0, *([READABLE, length] if length > READABLE else [])])


def written_pieces(text: str, seen: Seen, oracle: Forward) -> None:
    expect(text, [READABLE, len(oracle.labels)])


def readable_pieces(text: str, seen: Seen, oracle: Forward) -> None:
    expect(text, [READABLE, len(oracle.ids["encoder"])])


WORDS: dict[str, Words] = {
    "Within a diagonal": same_products,
    "The same matrix takes": steps_on,
    r"\| pair \| angle": clock_table,
    "Each pair of dimensions is a clock hand": clock_caption,
    "Shown: the positions of": readable_pieces,
    r"Shown: the first \d+ of \d+ pieces\.": written_pieces,
    "A matrix that makes no vector longer": unitary,
    r"Orange is \+1, blue −1": fixed(1, -1),
}
MATRICES: dict[str, Expected] = {
    "products of positions": products_of_positions,
    r"rotation by \d+ positions": rotation,
}


def decoder_inputs(data: dict[str, Any], oracle: Forward) -> None:
    """What goes into the decoder, shifted by `<sos>`: each card names the piece that is written there."""
    written = [text_of(id) for id in oracle.labels][:READABLE]
    read = ["<sos>", *written[:-1]]
    shown = [card[0].strip(" ") or "␣" for card in data["cards"]]
    writes = [card[1][0].removeprefix("→ ").strip(" ") or "␣" for card in data["cards"]]
    assert shown == read[: len(shown)]
    assert writes == written[: len(shown)]


OTHER = decoder_inputs
CHARTS = {"clocks", "waves"}  # read and checked in tests/pages/test_positional_encodings.py
