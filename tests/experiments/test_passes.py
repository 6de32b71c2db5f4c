"""Words in another order, and another memory. What the other extra runs give is claimed by the oracle."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.passes import MAX_SHUFFLED, read_from, shuffle
from model.files.loaded_model import load_folder
from model.text.tokenizer import EOS_ID, Tokenizer, normalise
from model.trace import MAX_TOKENS, trace
from tests.oracle.passes.forward import Forward, config, source_ids

SENTENCE = "The black cat fights the white cat."


@given(st.text(max_size=60).map(normalise), st.integers(0, 998))
def test_a_shuffle_moves_the_pieces_of_each_word_together(tokenizer: Tokenizer, text: str, seed: int) -> None:
    found = shuffle(tokenizer, text, seed)
    if found is None:
        return
    assert found == shuffle(tokenizer, text, seed)
    assert found.shuffled != found.words
    assert sorted(found.shuffled.split()) == sorted(found.words.split())
    assert text.startswith(found.words)
    one, two = ([*tokenizer.encode(words), EOS_ID] for words in (found.words, found.shuffled))
    assert two == [one[row] for row in found.rows]
    assert sorted(found.rows) == list(range(len(one)))


def test_no_other_order_of_one_word_or_of_equal_words(tokenizer: Tokenizer) -> None:
    for text in ("", "x", "ภาษาไทย", "cat cat cat"):
        assert shuffle(tokenizer, text, 0) is None
    assert shuffle(tokenizer, "cat cat dog", 0) is not None


def test_a_long_text_is_shuffled_in_part(tokenizer: Tokenizer) -> None:
    found = shuffle(tokenizer, " ".join(f"{n}" for n in range(50)), 3)
    assert found is not None
    assert len(found.words.split()) == MAX_SHUFFLED
    assert shuffle(tokenizer, "๛" * MAX_TOKENS + " two", 3) is None


def test_a_shuffle_takes_as_many_pieces_as_the_model_and_no_more(tokenizer: Tokenizer) -> None:
    """20 words of 5 pieces each fill the 100 that a model reads; one piece more, and the last word stays away."""
    letters = map("".join, itertools.product("qxzjw", repeat=4))
    long = [word for word in letters if len(tokenizer.encode(word)) == 5][:MAX_SHUFFLED]
    assert MAX_SHUFFLED * 5 == MAX_TOKENS
    whole = shuffle(tokenizer, " ".join(long), 3)
    assert whole is not None
    assert len(whole.rows) == MAX_TOKENS + 1
    longer = next(
        word for word in map("".join, itertools.product("qxzjw", repeat=5)) if len(tokenizer.encode(word)) == 6
    )
    cut = shuffle(tokenizer, " ".join([longer, *long[1:]]), 3)
    assert cut is not None
    assert cut.words == " ".join([longer, *long[1:-1]])


@pytest.mark.parametrize("layer", [0, 1, 3])
def test_a_decoder_that_reads_a_lower_layer(layer: int) -> None:
    """Beside the oracle, which takes the same layer for the memory; what is written then is the likeliest each time."""
    one = trace(load_folder(), SENTENCE)
    reading = read_from(load_folder(), one.src_ids, one.tgt_ids, layer, max_steps=20)
    oracle = Forward(source_ids(SENTENCE), list(one.label_ids), memory_after=layer)
    expected = [oracle[f"decoder.layers.{n}.cross_attn.weights"] for n in range(config()["n_layers"])]
    np.testing.assert_allclose(reading.weights, expected, atol=1e-3)
    assert Forward(source_ids(SENTENCE), list(reading.ids), memory_after=layer).is_greedy()
