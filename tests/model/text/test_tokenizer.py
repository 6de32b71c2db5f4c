"""The tokenizer: lossless for every text, and honest about words."""

import unicodedata
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

from model.text.tokenizer import (
    CLS_ID,
    EOS_ID,
    MASK_ID,
    MORE_SPECIALS,
    PAD_ID,
    SENTINELS,
    SEP_ID,
    SOS_ID,
    SPECIALS,
    Tokenizer,
    normalise,
)
from tests.family import small_tokenizer
from tests.small import SENTENCES

# st.text() draws any Unicode without lone surrogates, which no browser sends and UTF-8 cannot write.
TYPED = st.text(alphabet=" .,'’aZß€7\t\n<>sospade▁Ġ👩‍🚀é\u0301\x00\u200b�")
TEXTS = st.one_of(st.text(), TYPED, st.sampled_from(SENTENCES))


@given(TEXTS)
@example("")
@example(" ")
@example("  two spaces in front, and one behind ")
@example("a▁b Ġ")
@example("<sos>x<eos><pad>")
@example("👩‍🚀 and �")
@settings(max_examples=500)
def test_decoding_undoes_encoding(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert all(len(SPECIALS) <= i < tokenizer.vocab_size for i in ids)


@given(TEXTS)
def test_pieces_hold_the_bytes_of_the_text(tokenizer: Tokenizer, text: str) -> None:
    raw = b"".join(tokenizer.piece_bytes(i) for i in tokenizer.encode(text))
    assert raw == (b" " + text.encode() if text else b"")


@given(st.lists(TEXTS, max_size=5))
def test_a_batch_is_encoded_like_each_text_alone(tokenizer: Tokenizer, texts: list[str]) -> None:
    assert tokenizer.encode_batch(texts) == [tokenizer.encode(text) for text in texts]


@pytest.mark.parametrize("typed", SPECIALS)
def test_a_typed_control_token_is_text(tokenizer: Tokenizer, typed: str, tmp_path: Path) -> None:
    tokenizer.save(tmp_path / "tokenizer.json")
    for each in (tokenizer, Tokenizer.load(tmp_path / "tokenizer.json")):
        for text in (typed, f"The {typed} cat", f"a{typed}b"):
            assert not {PAD_ID, SOS_ID, EOS_ID} & set(each.encode(text))
            assert each.decode(each.encode(text)) == text


def test_control_tokens_are_the_first_ids_and_leave_no_text(tokenizer: Tokenizer) -> None:
    assert [tokenizer.piece_text(i) for i in (PAD_ID, SOS_ID, EOS_ID)] == ["<pad>", "<sos>", "<eos>"]
    cat = tokenizer.encode("cat")
    assert tokenizer.decode([SOS_ID, *cat, EOS_ID, PAD_ID, PAD_ID]) == "cat"


@pytest.mark.parametrize("typed", MORE_SPECIALS)
def test_berts_signs_are_control_tokens_only_where_a_vocabulary_has_them(tokenizer: Tokenizer, typed: str) -> None:
    with_them = small_tokenizer()
    assert (tokenizer.n_specials, with_them.n_specials) == (3, 6)
    assert min(with_them.encode(f"The {typed} cat")) >= 6
    cat = with_them.encode("cat")
    assert with_them.decode([CLS_ID, MASK_ID, *cat, SEP_ID]) == "cat"
    assert [with_them.piece_text(id) for id in (CLS_ID, SEP_ID, MASK_ID)] == list(MORE_SPECIALS)
    assert {token.word for token in with_them.tokens([CLS_ID, MASK_ID, SEP_ID])} == {-1}


def test_a_frequent_word_is_one_piece_and_a_rare_one_several(tokenizer: Tokenizer) -> None:
    assert [t.text for t in tokenizer.tokens(tokenizer.encode("The cat sees"))] == ["The", "cat", "sees"]
    assert len(tokenizer.encode("xylophone")) > 3
    assert tokenizer.encode("cat")[0] == tokenizer.encode("a cat")[-1], "the first word is cut like any other"


def test_a_character_cut_in_two_shows_as_bytes(tokenizer: Tokenizer) -> None:
    texts = [t.text for t in tokenizer.tokens(tokenizer.encode("€"))]
    assert "".join(texts).replace("‹", " ").replace("›", "").split() == ["E2", "82", "AC"]
    ids = tokenizer.encode("a €")
    assert (tokenizer.whole_text(ids), tokenizer.whole_text(ids[:-1])[:3]) == ("a €", "a ‹")


@given(TEXTS)
@example("don't ask: 'tis 12:30, A1")
@example("a  b\n\n c")
@settings(max_examples=300)
def test_words_are_the_groups_before_merging(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.encode(text)
    tokens = tokenizer.tokens(ids)
    assert [t.id for t in tokens] == ids
    # Two oracles: the library's own record of where each piece came from, and the text cut by the pre-tokenizer.
    encoding = tokenizer.backend.encode(text, add_special_tokens=False)
    assert [t.word for t in tokens] == encoding.word_ids
    grouped = [b"".join(tokenizer.piece_bytes(t.id) for t in group) for _, group in groupby(tokens, lambda t: t.word)]
    spaced = f" {text}" if text else ""
    cut = pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str(spaced)
    assert grouped == [spaced[start:end].encode() for _, (start, end) in cut]


def test_words_by_hand(tokenizer: Tokenizer) -> None:
    ids = [SOS_ID, *tokenizer.encode("Tom hasn't 31 cats."), EOS_ID, PAD_ID]
    words: dict[int, bytes] = {}
    for token in tokenizer.tokens(ids):
        words[token.word] = words.get(token.word, b"") + tokenizer.piece_bytes(token.id)
    assert words == {
        -1: b"<sos><eos><pad>",
        0: b" Tom",
        1: b" hasn",
        2: b"'t",
        3: b" 31",
        4: b" cats",
        5: b".",
    }


def test_only_spaces_are_taken_from_the_ends_of_a_piece(tokenizer: Tokenizer) -> None:
    """A model may write a line break or a tab: then that is what its piece holds."""
    texts = [token.text for sign in "\n\t\u00a0 " for token in tokenizer.tokens(tokenizer.encode(f"a{sign}")[1:])]
    assert texts == ["\n", "\t", "‹C2›", "‹A0›", " "]


@given(st.data())
@settings(max_examples=300)
def test_words_of_whatever_a_model_may_write(tokenizer: Tokenizer, data: st.DataObject) -> None:
    """Any ids in any order, half characters and control tokens too: words only ever count up."""
    ids = data.draw(st.lists(st.integers(0, tokenizer.vocab_size - 1), max_size=30))
    tokens = tokenizer.tokens(ids)
    assert [t.id for t in tokens] == ids
    assert all((t.word == -1) == (t.id < len(SPECIALS)) and t.text for t in tokens)
    words = [t.word for t in tokens if t.word >= 0]
    assert words == sorted(words)


@given(st.data())
def test_a_piece_belongs_to_the_word_it_starts_in(tokenizer: Tokenizer, data: st.DataObject) -> None:
    """Whole characters in any order: a model may write a piece that runs over the end of a word."""
    whole = [i for i in range(len(SPECIALS), tokenizer.vocab_size) if "‹" not in tokenizer.piece_text(i)]
    ids = data.draw(st.lists(st.sampled_from(whole), max_size=30))
    texts = [tokenizer.piece_bytes(i).decode() for i in ids]
    cut = pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str("".join(texts))
    starts = [len("".join(texts[:n])) for n in range(len(texts))]
    expected = [next(word for word, (_, (start, end)) in enumerate(cut) if start <= s < end) for s in starts]
    assert [t.word for t in tokenizer.tokens(ids)] == expected


def test_half_a_character_does_not_shift_the_words_after_it(tokenizer: Tokenizer) -> None:
    half = next(i for i in range(tokenizer.vocab_size) if tokenizer.piece_bytes(i) == b"\xe2")
    ids = [half, *tokenizer.encode("dog"), *tokenizer.encode("cat")]
    words = {tokenizer.piece_text(t.id).strip(): t.word for t in tokenizer.tokens(ids)}
    assert words["cat"] == 2


def test_an_accent_behind_a_control_character_joins_its_letter() -> None:
    assert normalise("e\x00\u0301") == "é"


@given(TEXTS.map(lambda text: text.replace("\x00", "")))
@settings(max_examples=500)
def test_normalising_twice_is_normalising_once(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert not any(unicodedata.category(c) == "Cc" for c in once)
    assert once == once.strip()
    assert "  " not in once


def test_half_a_character_of_another_encoding_is_dropped(tokenizer: Tokenizer) -> None:
    """A lone surrogate is no character, and no text that holds one can be written as bytes."""
    assert normalise("a\ud800b \udfffc") == "ab c"
    assert tokenizer.decode(tokenizer.encode(normalise("x\ud83d"))) == "x"


def test_normalising_by_hand() -> None:
    assert normalise("It’s  late,\tshe\n\nsaid. \x07") == "It's late, she said."
    assert normalise("‘a’ ‚b‘ `c´ “d” „e“ «f»") == "'a' 'b' 'c' \"d\" \"e\" \"f\""
    assert normalise("cafe\u0301") == "café"
    assert normalise(" \t\r\n") == ""


def test_a_tokenizer_survives_the_disk(tokenizer: Tokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path / "tokenizer.json")
    loaded = Tokenizer.load(tmp_path / "tokenizer.json")
    assert loaded.vocab_size == tokenizer.vocab_size == 331
    for sentence in SENTENCES:
        assert loaded.encode(sentence) == tokenizer.encode(sentence)
        assert loaded.decode(tokenizer.encode(sentence)) == sentence


def test_sentinels_stand_behind_the_vocabulary_and_for_no_text(tokenizer: Tokenizer) -> None:
    more, size = tokenizer.with_sentinels(), tokenizer.vocab_size
    assert (tokenizer.first_sentinel, more.first_sentinel, more.vocab_size) == (size, size, size + len(SENTINELS))
    text = "<X> said <Y>"  # what is typed is text
    assert more.encode(text) == tokenizer.encode(text)
    ids = [*tokenizer.encode("Tom"), size, *tokenizer.encode("sees"), size + 15]
    assert more.decode(ids) == "Tom sees"
    assert [token.text for token in more.tokens(ids) if token.word == -1] == ["<X>", "<K>"]
