"""Extra runs: padding, one token at a time, words in another order."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from experiments.passes import MAX_SHUFFLED, forward, one_at_a_time, see_padding, shuffle
from model.families.encoder_decoder import EncoderDecoder
from model.interventions import Interventions
from model.loaded import LoadedModel
from model.tokenizer import EOS_ID, PAD_ID, SOS_ID, Tokenizer, normalise
from model.trace import MAX_TOKENS
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
