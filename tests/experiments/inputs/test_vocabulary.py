"""What the embedding matrix holds, beside loops over its rows."""

import math

import numpy as np
import pytest

from experiments.inputs.vocabulary import (
    EVERY,
    cosines_of,
    embedding_matrix,
    entry_texts,
    mean_cosines,
    nearest_cosines,
    neighbours,
)
from model.families.encoder_decoder import EncoderDecoder
from model.files.loaded_model import LoadedModel
from model.text.tokenizer import Tokenizer
from tests.small import CONFIG, small_loaded

N = CONFIG.vocab_size


@pytest.fixture
def loaded(model: EncoderDecoder, tokenizer: Tokenizer) -> LoadedModel:
    """Its rows have something in common, so that it matters whether their mean is taken away."""
    model.requires_grad_(False).embedding.matrix.weight.add_(0.1)
    return small_loaded(model, tokenizer)


@pytest.fixture
def rows(loaded: LoadedModel) -> list[list[float]]:
    return [[float(number) for number in row] for row in loaded.model.embedding.matrix.weight]


def without_mean(rows: list[list[float]]) -> list[list[float]]:
    means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    return [[x - mean for x, mean in zip(row, means, strict=True)] for row in rows]


def cosine(one: list[float], two: list[float]) -> float:
    product, *squares = (sum(a * b for a, b in zip(x, y, strict=True)) for x, y in ((one, two), (one, one), (two, two)))
    return product / math.sqrt(squares[0] * squares[1])


def test_the_matrix_is_the_learned_one(loaded: LoadedModel, rows: list[list[float]]) -> None:
    np.testing.assert_array_equal(embedding_matrix(loaded), np.array(rows, dtype=np.float32))


def test_neighbours_are_the_others_with_the_largest_cosine(loaded: LoadedModel, rows: list[list[float]]) -> None:
    centred = without_mean(rows)
    order = sorted((-cosine(centred[17], row), n) for n, row in enumerate(centred) if n != 17)[:5]
    ids, values = neighbours(loaded, 17, 5)
    assert list(ids) == [n for _, n in order]
    assert values == pytest.approx([-value for value, _ in order])


def test_how_near_the_nearest_usually_is(loaded: LoadedModel, rows: list[list[float]]) -> None:
    centred = without_mean(rows)
    expected = [max(cosine(centred[at], centred[n]) for n in range(N) if n != at) for at in range(0, N, EVERY)]
    assert EVERY == 16
    assert nearest_cosines(loaded).tolist() == pytest.approx(sorted(expected), abs=1e-5)


def test_how_alike_rows_are_with_and_without_what_they_have_in_common(
    loaded: LoadedModel, rows: list[list[float]]
) -> None:
    expected = [
        np.mean([cosine(one[a], one[b]) for a in range(N) for b in range(a)]) for one in (rows, without_mean(rows))
    ]
    assert mean_cosines(loaded) == pytest.approx(expected, abs=1e-6)


def test_cosines_of_some_rows_and_others(loaded: LoadedModel, rows: list[list[float]]) -> None:
    expected = [[cosine(rows[a], rows[b]) for b in (5, 90, 31, 7)] for a in (90, 4, 11)]
    np.testing.assert_allclose(cosines_of(loaded, (90, 4, 11), (5, 90, 31, 7)), expected, atol=1e-6)


def test_every_entry_is_text_with_its_spaces_made_visible(loaded: LoadedModel) -> None:
    texts, tokenizer = entry_texts(loaded), loaded.tokenizer
    assert len(texts) == tokenizer.vocab_size
    assert texts[tokenizer.encode("cat")[0]].startswith("␣")
    assert not any(" " in text for text in texts)
    assert texts[:3] == ("<pad>", "<sos>", "<eos>")
