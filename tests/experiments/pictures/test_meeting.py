"""Pictures and words that meet: laws, on the towers that come with the app."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from experiments.pictures.meeting import nearest, of_batch, shared_out, text_vectors
from model.files.load_clip import emoji, known_words, load_text_tower, picture_vectors, temperature


def test_a_text_alone_and_among_others_has_the_same_vector() -> None:
    texts = ("dog", "a cake with candles, and much more than that on the large table", "xyzzy")
    together = text_vectors(load_text_tower(), texts)
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    for text, vector in zip(texts, together, strict=True):
        assert np.allclose(text_vectors(load_text_tower(), (text,))[0], vector, atol=1e-5)


@given(st.integers(1, 8), st.integers(0, 99))
def test_the_nearest_come_first_and_nothing_is_nearer(n: int, seed: int) -> None:
    dice = np.random.default_rng(seed)
    others, vector = dice.normal(size=(8, 3)), dice.normal(size=3)
    found = nearest(vector, others, n)
    assert [*found.cosines] == sorted(others @ vector, reverse=True)[:n]
    assert np.array_equal((others @ vector)[list(found.which)], found.cosines)


def test_each_side_adds_up_to_one_and_cold_decides() -> None:
    cosines = np.array([[0.9, 0.5], [0.2, 0.4], [0.1, 0.0]])
    assert np.allclose(shared_out(cosines, 0.3).sum(1), 1)
    assert np.allclose(shared_out(cosines, 0.3, 0).sum(0), 1)
    assert shared_out(cosines, 0.01)[0, 0] > 0.999
    assert shared_out(cosines, 100.0)[0, 0] < 0.502


def test_a_batch_is_compared_text_by_picture() -> None:
    names = [one.name for one in emoji()]
    pictures = [names.index(name) for name in ("pizza", "rocket")]
    cosines = of_batch(load_text_tower(), ("rocket", "pizza", "dog"), pictures)
    assert cosines.shape == (3, 2)
    assert cosines[1, 0] > cosines[1, 1]
    assert cosines[0, 1] > cosines[0, 0]


def test_it_knows_its_own_pictures_by_their_names_and_their_words() -> None:
    learned = [n for n, one in enumerate(emoji()) if one.learned][::20]
    vectors = text_vectors(load_text_tower(), tuple(emoji()[n].name for n in learned))
    found = [n in nearest(vector, picture_vectors(), 5).which for n, vector in zip(learned, vectors, strict=True)]
    assert np.mean(found) > 0.7
    words = text_vectors(load_text_tower(), known_words())
    assert words.shape == (len(known_words()), picture_vectors().shape[1])
    first = [nearest(picture_vectors()[n], words, 1).which[0] for n in learned]
    own = [known_words()[word] in emoji()[n].words for n, word in zip(learned, first, strict=True)]
    assert np.mean(own) > 0.5


def test_the_temperature_is_colder_than_it_began() -> None:
    assert 0.01 <= temperature() < 0.1
