"""Merging replayed, against the library that really merges."""

import itertools
import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend

from model.files.checkpoint import SHIPPED
from model.text.bpe_replay import Merges, merges_of
from model.text.tokenizer import SPECIALS, Tokenizer
from tests.small import SENTENCES

TEXTS = st.one_of(
    st.text(max_size=60), st.text("aeit hsnbcrd's.", max_size=60), st.sampled_from([*SENTENCES, "Straße 👩‍🚀 ฉันชอบ"])
)


def with_first(tokenizer: Tokenizer, count: int) -> Tokenizer:
    """The library's own tokenizer with the first rules only: an oracle for shorter vocabularies."""
    data = json.loads(tokenizer.backend.to_str())
    data["model"]["merges"] = data["model"]["merges"][:count]
    return Tokenizer(Backend.from_str(json.dumps(data)))


@pytest.fixture(scope="module")
def shipped() -> Tokenizer:
    return Tokenizer.load(SHIPPED / "tokenizer.json")


@given(TEXTS)
@example("")
@example("<sos> is text")
@example("aaaaaaa sesesese")
@settings(max_examples=300)
def test_all_merges_give_the_librarys_pieces(tokenizer: Tokenizer, text: str) -> None:
    assert Merges(tokenizer).pieces(text) == tokenizer.encode(text)


@given(TEXTS)
@settings(max_examples=100)
def test_all_merges_give_the_librarys_pieces_with_the_shipped_vocabulary(shipped: Tokenizer, text: str) -> None:
    assert merges_of(shipped).pieces(text) == shipped.encode(text)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 19, 43])
def test_fewer_merges_give_the_librarys_lengths(tokenizer: Tokenizer, count: int) -> None:
    smaller = with_first(tokenizer, count)
    for text in (*SENTENCES, "aaaa", "", "cats that sat"):
        reached = [length for known, length in Merges(tokenizer).lengths(text) if known <= count]
        assert reached[-1] == len(smaller.encode(text))


def test_each_merge_joins_the_earliest_learned_pair(tokenizer: Tokenizer) -> None:
    merges = Merges(tokenizer)
    rules = [tuple(rule) for rule in json.loads(tokenizer.backend.to_str())["model"]["merges"]]
    assert len(merges) == len(rules)
    entry = tokenizer.backend.id_to_token
    for word in merges.words("The cats sat on that street"):
        symbols = word
        for merge in merges.replay(word):
            assert merge.before == symbols
            pairs = [(entry(a), entry(b)) for a, b in itertools.pairwise(symbols)]
            possible = [rules.index(pair) + 1 for pair in pairs if pair in rules]
            assert merge.rank == min(possible)
            assert rules[merge.rank - 1] == (entry(merge.left), entry(merge.right))
            assert merge.after[merge.at] == merge.joined
            symbols = merge.after
        pairs = [(entry(a), entry(b)) for a, b in itertools.pairwise(symbols)]
        assert not set(pairs) & set(rules)


def test_of_two_equal_pairs_the_left_one_is_joined_first() -> None:
    """“aaaaa” with the rule a+a, then aa+aa: a space apart, aa aa a, then aaaa a."""
    merges = Merges(Tokenizer.train(["aaaa"] * 9, 262))
    (word,) = merges.words("aaaaa")
    done = merges.replay(word)
    before = [[merges.tokenizer.piece_text(id) for id in merge.before] for merge in done]
    assert before[0] == [" ", *"aaaaa"]
    assert [(merge.at, merges.tokenizer.piece_text(merge.joined)) for merge in done][:2] == [(1, "aa"), (2, "aa")]


def test_no_merge_makes_a_control_token(shipped: Tokenizer) -> None:
    """Though the signs of its name could be merged: `<pad>` is one entry, and no text is ever cut to it."""
    assert merges_of(shipped).pieces("<pad>") == shipped.encode("<pad>")
    assert [merges_of(shipped).of_piece(id) for id in range(len(SPECIALS))] == [(), (), ()]


def test_a_piece_is_made_from_its_own_bytes(tokenizer: Tokenizer) -> None:
    merges = Merges(tokenizer)
    for id in range(tokenizer.vocab_size):
        done = merges.of_piece(id)
        if id < len(SPECIALS) + 256:
            assert done == ()
        else:
            assert done[-1].after == (id,)
            assert done[-1].rank == id - len(SPECIALS) - 255
