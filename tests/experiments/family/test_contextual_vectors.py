"""Vectors in context, beside loops over the tensors of a second computation in NumPy."""

import itertools
import math
import re
from functools import cache

import numpy as np
import pytest

from experiments.inputs.contextual_vectors import (
    MONEY,
    PARTNERS,
    RIVER,
    Shared,
    alike,
    different_words,
    everyday_words,
    partner,
    shared_words,
    stages,
    travelled,
    vectors,
)
from model.decoding.strategies import Greedy
from model.files.loaded_model import LoadedModel, load_folder
from model.text.tokenizer import EOS_ID, Token
from model.trace import Trace, trace
from tests.oracle.passes.forward import EOS, Forward, config, source_ids, tokenizer

STAGES = (
    "encoder.embedding.tokens",
    "encoder.embedding.output",
    *(f"encoder.layers.{n}.add_norm_2.output" for n in range(config()["n_layers"])),
)


@cache
def loaded() -> LoadedModel:
    return load_folder()


@cache
def traced(text: str) -> Trace:
    return trace(loaded(), text, decoding=Greedy(max_steps=1))


@cache
def oracle(ids: tuple[int, ...], attention_off: bool = False) -> list[np.ndarray]:
    """What every row is at each stage (S,d_model)."""
    paths = [f"encoder.layers.{n}.self_attn" for n in range(config()["n_layers"])]
    one = Forward(list(ids), [EOS], blocks_off=tuple(paths) if attention_off else ())
    return [one[name] for name in STAGES]


def cosine(one: np.ndarray, two: np.ndarray) -> float:
    return float(one @ two / math.sqrt((one @ one) * (two @ two)))


def written(*words: tuple[str, ...]) -> list[Token]:
    """Tokens of words given in pieces; equal pieces have equal ids. `<eos>` ends them."""
    some = [Token(10 + len(text) * 97 + ord(text[0]), text, n) for n, word in enumerate(words) for text in word]
    return [*some, Token(EOS_ID, "<eos>", -1)]


def test_shared_words_by_hand() -> None:
    """Once each, in the order of the first sentence, at their first place; a mark or a part of a word is none."""
    one = written(("The",), ("ri", "ver"), ("ban", "k"), ("by",), ("ban", "k"), (".",))
    two = written(("by",), ("ban",), ("ban", "k"), ("ri", "ver", "s"), ("by",), (".",))
    assert shared_words(one, two) == [Shared("bank", (3, 4), (2, 3)), Shared("by", (5,), (0,))]
    assert shared_words(two, one) == [Shared("by", (0,), (5,)), Shared("bank", (2, 3), (3, 4))]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("My teacher walks along the river.", "She gave the teacher an apple."),  # teacher is longer than river
        ("They walk along the river.", RIVER),
        ("Money!", RIVER),  # none shared: `Money` is no `money`
        ("The bank is closed.", RIVER),  # two have it: the first
        (RIVER, MONEY),  # a sentence is not its own partner
        (PARTNERS[-1], RIVER),  # `She gave the teacher an apple.` shares only `the` with others
    ],
)
def test_the_partner_shares_the_longest_word(sentence: str, expected: str) -> None:
    assert partner(traced(sentence)) == expected


def test_the_vector_of_a_word_is_the_mean_of_its_pieces_at_each_stage() -> None:
    one = traced(MONEY)
    assert tuple(stages(loaded()).values()) == STAGES
    assert list(stages(loaded()))[:3] == ["look-up", "with position", "after layer 1"]
    expected = [(rows[2] + rows[3] + rows[6]) / 3 for rows in oracle(one.src_ids)]
    np.testing.assert_allclose(vectors(one, (2, 3, 6)), expected, atol=1e-3)


def test_cosines_stage_by_stage() -> None:
    one, two = np.random.default_rng(5).normal(size=(2, 5, 7)).astype(np.float32)
    assert alike(one, two) == pytest.approx([cosine(a, b) for a, b in zip(one, two, strict=True)], abs=1e-6)


def words_by_hand(text: str) -> dict[tuple[int, ...], list[int]]:
    """The words of a sentence without marks or apostrophes: ids, and the rows at which they first stand."""
    found: dict[tuple[int, ...], list[int]] = {}
    at = 0
    for word in re.findall(r"\w+|[.,!?]", text):
        ids = tuple(tokenizer().encode(f"{word}" if word.isalnum() else word, add_special_tokens=False).ids)
        ids = ids if word.isalnum() else ids[-1:]  # a mark has no space in front
        if word.isalnum():
            found.setdefault(ids, list(range(at, at + len(ids))))
        at += len(ids)
    assert at == len(source_ids(text)) - 1
    return found


def test_different_words_of_two_sentences_pair_by_pair() -> None:
    one, two = MONEY, RIVER
    rows = [oracle(tuple(source_ids(text))) for text in (one, two)]
    expected = []
    for first, second in zip(*rows, strict=True):
        values = [
            cosine(first[a].mean(0), second[b].mean(0))
            for (left, a), (right, b) in itertools.product(words_by_hand(one).items(), words_by_hand(two).items())
            if left != right
        ]
        expected.append(sum(values) / len(values))
    assert different_words(traced(one), traced(two)) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(("one", "two"), [("Dog", "Dog!"), ("...", "Dog"), ("Dog", "?!")])
def test_without_different_words_there_is_no_mean(one: str, two: str) -> None:
    assert np.isnan(different_words(traced(one), traced(two))).tolist() == [True] * len(STAGES)


@pytest.mark.parametrize("attention_off", [False, True])
def test_how_far_a_changed_word_moves_each_row(attention_off: bool) -> None:
    src = tuple(source_ids(MONEY))
    changed = (*src[:3], src[6], *src[4:])
    before, after = oracle(src, attention_off), oracle(changed, attention_off)
    expected = [
        [np.linalg.norm(b[row] - a[row]) / np.linalg.norm(a[row]) for a, b in zip(before, after, strict=True)]
        for row in range(len(src))
    ]
    moved = travelled(loaded(), src, changed, attention_off)
    np.testing.assert_allclose(moved, expected, atol=2e-3)
    others = np.delete(moved, 3, axis=0)
    assert not others[:, :2].any()
    assert (others[:, 2:] == 0).all() if attention_off else (others[:, 2:] > 0).all()


def test_everyday_words_are_single_pieces_in_alphabetical_order() -> None:
    found = everyday_words(loaded())
    assert list(found) == sorted(found, key=str.lower)
    for word, id in found.items():
        assert tokenizer().encode(word, add_special_tokens=False).ids == [id], word
    plain = {
        word
        for sentence in loaded().about.everyday
        for word in re.findall(r"[A-Za-z]+", re.sub(r"\w+'\w+", "", sentence))
        if len(tokenizer().encode(word, add_special_tokens=False).ids) == 1
    }
    assert plain <= found.keys()
    assert all(word.isalpha() for word in found)
