"""Extra runs: padding, one token at a time, words in another order, another memory."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from experiments.passes import (
    MAX_SHUFFLED,
    changed_pass,
    forward,
    one_at_a_time,
    padded_pass,
    read_from,
    read_out,
    see_padding,
    shuffle,
    write_without,
)
from model.families.encoder_decoder import EncoderDecoder
from model.files.loaded_model import LoadedModel, load_folder
from model.interventions import Interventions
from model.text.tokenizer import EOS_ID, PAD_ID, SOS_ID, Tokenizer, normalise
from model.trace import MAX_TOKENS, trace
from tests.oracle.passes.forward import Forward, config, source_ids
from tests.small import CONFIG, small_loaded

SRC = (*range(7, 51, 4), EOS_ID)
TGT = (SOS_ID, *range(83, 53, -5))


def small_machine(model: EncoderDecoder, tokenizer: Tokenizer) -> LoadedModel:
    return small_loaded(model, tokenizer)


def test_a_pass_over_ids_is_the_models_own(model: EncoderDecoder, tokenizer: Tokenizer) -> None:
    found = forward(small_machine(model, tokenizer), SRC, TGT)
    with torch.no_grad():
        expected = model(torch.tensor([SRC]), torch.tensor([TGT]))[0].numpy()
    np.testing.assert_array_equal(found["logits"], expected)
    assert found["encoder.layers.0.self_attn.weights"].shape == (CONFIG.n_heads, len(SRC), len(SRC))
    assert found["encoder.embedding.positions"].shape == (len(SRC), CONFIG.d_model)


def test_padding_changes_nothing_behind_the_mask_and_something_without(
    model: EncoderDecoder, tokenizer: Tokenizer
) -> None:
    loaded = small_machine(model, tokenizer)
    alone, longer = forward(loaded, SRC, TGT), (*SRC, PAD_ID, PAD_ID, PAD_ID)
    masked, seen = forward(loaded, longer, TGT), forward(loaded, longer, TGT, see_padding)
    np.testing.assert_allclose(masked["logits"], alone["logits"], atol=1e-4)
    assert np.abs(seen["logits"] - alone["logits"]).max() > 0.01
    for name, weights in masked.items():
        if name.endswith("cross_attn.weights") or (name.startswith("encoder") and name.endswith("weights")):
            assert (weights[..., -3:] == 0).all()
            assert (seen[name][..., -3:] > 0).all()


def test_one_at_a_time_is_all_at_once_but_only_with_the_causal_mask(
    model: EncoderDecoder, tokenizer: Tokenizer
) -> None:
    loaded = small_machine(model, tokenizer)
    alone = one_at_a_time(loaded, SRC, TGT)
    assert alone.shape == (len(TGT), CONFIG.vocab_size)
    np.testing.assert_allclose(forward(loaded, SRC, TGT)["logits"], alone, atol=1e-4)
    off = Interventions(causal_mask_off=True).compile(loaded.anatomy)
    lifted = forward(loaded, SRC, TGT, off)["logits"]
    assert np.abs(lifted - alone)[:-1].max() > 0.01


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


def test_the_two_passes_over_padding(model: EncoderDecoder, tokenizer: Tokenizer) -> None:
    """With the mask all is as without `<pad>`, which gets no weight; without the mask it gets some."""
    loaded = small_machine(model, tokenizer)
    alone = forward(loaded, SRC, TGT)
    masked, seen = (padded_pass(loaded, SRC, TGT, 3, masked=masked) for masked in (True, False))
    names = {name for name in alone if name.endswith((".weights", "logits"))}
    assert masked.keys() == seen.keys() == names
    for name in names:
        reads_source = name.startswith("encoder") or "cross" in name
        one, other = (found[name][..., -3:] if reads_source else np.zeros(1) for found in (masked, seen))
        assert not one.any()
        assert (other > 0).all() or not reads_source
        own = masked[name][..., : len(SRC), : len(SRC)] if name.startswith("encoder") else masked[name]
        own = own[..., : len(SRC)] if "cross" in name else own
        np.testing.assert_allclose(own, alone[name], atol=1e-4)


def test_a_pass_under_a_change_keeps_what_is_asked_for(model: EncoderDecoder, tokenizer: Tokenizer) -> None:
    loaded, change = small_machine(model, tokenizer), Interventions(scale_off=True)
    found = changed_pass(loaded, SRC, TGT, change, ("attn.products", "attn.scaled"))
    assert len(found) == 2 * 3 * CONFIG.n_layers
    for name in found:
        if name.endswith(".scaled"):
            np.testing.assert_allclose(found[name], found[name.replace(".scaled", ".products")], rtol=1e-5, atol=1e-5)
    plain = changed_pass(loaded, SRC, TGT, Interventions(), ("attn.products", "attn.scaled"))
    scaled = "encoder.layers.0.self_attn.scaled"
    np.testing.assert_allclose(found[scaled], plain[scaled] * CONFIG.d_k**0.5, rtol=1e-4, atol=1e-5)


SENTENCE = "The black cat fights the white cat."


@pytest.mark.parametrize("layer", [0, 1, 3])
def test_a_decoder_that_reads_a_lower_layer(layer: int) -> None:
    """Beside the oracle, which takes the same layer for the memory; what is written then is the likeliest each time."""
    one = trace(load_folder(), SENTENCE)
    reading = read_from(load_folder(), one.src_ids, one.tgt_ids, layer, max_steps=20)
    oracle = Forward(source_ids(SENTENCE), list(one.label_ids), memory_after=layer)
    expected = [oracle[f"decoder.layers.{n}.cross_attn.weights"] for n in range(config()["n_layers"])]
    np.testing.assert_allclose(reading.weights, expected, atol=1e-3)
    written = Forward(source_ids(SENTENCE), list(reading.ids), memory_after=layer)
    assert written.is_greedy()
    assert len(reading.ids) == 20 or reading.ids[-1] == EOS_ID
    assert (reading.ids == one.label_ids) == (layer == config()["n_layers"])


def test_what_is_written_while_some_tokens_are_hidden() -> None:
    one, hidden = trace(load_folder(), SENTENCE), (1, 6)  # black, white
    ids = write_without(load_folder(), one.src_ids, hidden)
    assert Forward(list(one.src_ids), list(ids), blocked=hidden).is_greedy()
    assert ids[-1] == EOS_ID
    assert ids != one.label_ids
    assert write_without(load_folder(), one.src_ids, ()) == one.label_ids


def test_any_vectors_through_the_output(model: EncoderDecoder, tokenizer: Tokenizer) -> None:
    loaded = small_machine(model, tokenizer)
    rows = np.random.default_rng(5).normal(size=(5, CONFIG.d_model)).astype(np.float32)
    expected = rows @ model.embedding.matrix.weight.detach().numpy().T
    np.testing.assert_allclose(read_out(loaded, rows), expected, atol=1e-5)
