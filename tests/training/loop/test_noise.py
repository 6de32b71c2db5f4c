"""Noise on any text: how much of it, what each piece came from, and the same again by the same seed."""

import dataclasses
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.files.checkpoint import load_tokenizer
from model.files.loaded_model import MODELS
from model.text.tokenizer import MASK_ID, Tokenizer
from training.loop.noise import KINDS, Noisy, Pieces, cut, infill, mask, permute, pieces_of, rotate

SHARES, SEEDS = st.floats(0, 1), st.integers(0, 2**32 - 1)


def text(lengths: list[list[int]]) -> Pieces:
    """Sentences of words of so many pieces. No id comes twice, so that each tells where it is from."""
    n = sum(map(sum, lengths))
    begins = np.zeros(10 + n, dtype=bool)
    at, sentences = 10, []
    for words in lengths:
        sentences.append([*range(at, at + sum(words))])
        for length in words:
            begins[at] = True
            at += length
    return pieces_of(sentences, begins)


TEXTS = st.builds(text, st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=9), max_size=6))


def places(noisy: Noisy) -> list[int]:
    return [at for origins in noisy.origins for at in origins]


@given(TEXTS, st.sampled_from([*KINDS]), SHARES, SEEDS)
def test_every_piece_is_what_it_came_from_and_the_same_seed_makes_the_same(
    whole: Pieces, kind: str, share: float, seed: int
) -> None:
    noisy = KINDS[kind](whole, share, seed)
    assert noisy == KINDS[kind](whole, share, seed)
    assert len(noisy.ids) == len(noisy.origins)
    for id, origins in zip(noisy.ids, noisy.origins, strict=True):
        assert id == MASK_ID or [whole.ids[at] for at in origins] == [id]
    assert len(set(places(noisy))) == len(places(noisy)), "no piece comes twice"
    if not whole.ids:
        assert noisy == Noisy((), ())


@given(TEXTS, SHARES, SEEDS)
def test_how_much_is_hidden_or_gone(whole: Pieces, share: float, seed: int) -> None:
    n = len(whole.ids)
    masked, deleted, infilled = (KINDS[kind](whole, share, seed) for kind in ("masking", "deletion", "infilling"))
    assert masked.ids.count(MASK_ID) == n - len(deleted.ids) == round(share * n)
    assert masked.origins == tuple((at,) for at in range(n))
    assert places(deleted) == sorted(places(deleted))
    # Spans cover the text in order, one [MASK] each.
    assert places(infilled) == [*range(n)]
    spans = [origins for id, origins in zip(infilled.ids, infilled.origins, strict=True) if id == MASK_ID]
    assert sum(map(len, spans)) == round(share * n)
    assert len(infilled.ids) == n - round(share * n) + len(spans)


@given(TEXTS, SHARES, SEEDS)
def test_what_moves_is_whole_sentences_or_of_one_sentence_whole_words(whole: Pieces, share: float, seed: int) -> None:
    starts = whole.sentences if len(whole.sentences) > 1 else whole.words
    units = [tuple(range(*ends)) for ends in pairwise((*starts, len(whole.ids)))]
    moved, at, rest = 0, 0, places(permute(whole, share, seed))
    assert sorted(rest) == [*range(len(whole.ids))]
    for unit in units:
        found = next(one for one in units if one[0] == rest[at])
        assert tuple(rest[at : at + len(found)]) == found
        moved, at = moved + (found != unit), at + len(found)
    expected = round(share * len(units))
    assert moved == (max(2, expected) if share and len(units) > 1 else 0)


@given(TEXTS, SHARES, SEEDS)
def test_a_rotated_text_begins_within_the_share_and_goes_round(whole: Pieces, share: float, seed: int) -> None:
    n, found = len(whole.ids), places(rotate(whole, share, seed))
    start = found[0] if found else 0
    assert found == [*range(start, n), *range(start)]
    assert (1 if n > 1 and round(share * n) else 0) <= start <= round(share * n)


@pytest.mark.parametrize("kind", KINDS)
def test_a_share_of_nothing_changes_nothing_and_another_share_is_no_share(kind: str) -> None:
    whole = text([[1, 2], [3]])
    assert KINDS[kind](whole, 0, 5) == Noisy(whole.ids, tuple((at,) for at in range(6)))
    for share in (-0.1, 1.1):
        with pytest.raises(ValueError, match=f"^share={share} is not between 0 and 1$"):
            KINDS[kind](whole, share, 5)


@pytest.mark.parametrize("kind", KINDS)
def test_one_piece(kind: str) -> None:
    whole = text([[1]])
    ids = {KINDS[kind](whole, 1.0, seed).ids for seed in range(20)}
    assert all(set(some) <= {MASK_ID, 10} for some in ids)
    assert KINDS[kind](whole, 0.3, 1).ids == (10,)


def test_lengths_of_spans_are_those_of_a_poisson_distribution() -> None:
    """λ = 3, empty ones among them; only the last span of a text is cut."""
    whole, counts = text([[1] * 1000]), Counter[int]()
    for seed in range(20):
        noisy = infill(whole, 0.5, seed)
        spans = zip(noisy.ids, noisy.origins, strict=True)
        counts.update(len(origins) for id, origins in spans if id == MASK_ID)
    n = counts.total()
    assert sum(length * many for length, many in counts.items()) / n == pytest.approx(3, abs=0.15)
    assert counts[0] / n == pytest.approx(np.exp(-3), abs=0.015)
    assert counts[3] / n == pytest.approx(np.exp(-3) * 27 / 6, abs=0.03)


def test_every_piece_is_as_likely_to_be_masked() -> None:
    whole = text([[1] * 10])
    counts = Counter(at for seed in range(2000) for at, id in enumerate(mask(whole, 0.3, seed).ids) if id == MASK_ID)
    assert [counts[at] / 2000 for at in range(10)] == pytest.approx([0.3] * 10, abs=0.05)


def test_any_place_may_be_hidden_moved_or_the_beginning() -> None:
    whole, seeds = text([[1]] * 10), range(1000)
    hidden: Counter[int] = Counter()
    for one in (infill(whole, 0.3, seed) for seed in seeds):
        hidden.update(at for id, of in zip(one.ids, one.origins, strict=True) if id == MASK_ID for at in of)
    moved = Counter(at for seed in seeds for at, old in enumerate(places(permute(whole, 0.3, seed))) if at != old)
    begins = Counter(places(rotate(whole, 0.3, seed))[0] for seed in seeds)
    assert min(hidden[at] for at in range(10)) > 100
    assert [moved[at] / 1000 for at in range(10)] == pytest.approx([0.3] * 10, abs=0.06)
    assert [begins[at] / 1000 for at in (1, 2, 3)] == pytest.approx([1 / 3] * 3, abs=0.06)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return load_tokenizer(MODELS / "gpt-mini")


def test_a_text_is_cut_into_sentences_and_words(tokenizer: Tokenizer) -> None:
    pieces = cut(' The cat  sat. "No!" said Antananarivo\'s king.', tokenizer)
    assert pieces.ids == tuple(tokenizer.encode('The cat sat. "No!" said Antananarivo\'s king.'))
    ends = (*pieces.words[1:], len(pieces.ids))
    words = [tokenizer.decode(pieces.ids[start:end]) for start, end in zip(pieces.words, ends, strict=True)]
    assert [word.strip() for word in words] == ["The", "cat", "sat.", '"No!"', "said", "Antananarivo's", "king."]
    assert pieces.sentences == (0, pieces.words[3])
    assert cut(" \n", tokenizer) == Pieces()


@given(st.text(max_size=60))
def test_any_text_can_be_cut_and_spoilt(typed: str) -> None:
    tokenizer = load_tokenizer(MODELS / "gpt-mini")
    pieces = cut(typed, tokenizer)
    assert {*pieces.sentences} <= {*pieces.words} <= {*range(len(pieces.ids))}
    assert all(starts[:1] == ((0,) if pieces.ids else ()) for starts in (pieces.words, pieces.sentences))
    for spoil in KINDS.values():
        assert set(places(spoil(pieces, 0.3, 1))) <= set(range(len(pieces.ids)))


def test_a_text_in_one_sentence_moves_its_words() -> None:
    whole = text([[2, 1, 1]])
    assert permute(whole, 1.0, 0).ids in {(12, 13, 10, 11), (13, 10, 11, 12)}
    two = dataclasses.replace(whole, sentences=(0, 3))
    assert permute(two, 0.1, 0).ids == (13, 10, 11, 12)
