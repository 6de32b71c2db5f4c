"""What hiding a word costs, beside the oracle's passes with that word blocked."""

import math
from functools import cache

import numpy as np
import pytest

from experiments.attention.ablation import all_heads, log_probabilities_hiding
from model.families.encoder_decoder import EncoderDecoder
from model.files.loaded_model import LoadedModel, load_folder
from model.interventions import Head
from model.text.tokenizer import Tokenizer
from model.trace import Trace, trace
from tests.oracle.passes.forward import Forward, softmax, source_ids
from tests.small import CONFIG, small_loaded

SENTENCE = "My sister Wilhelmina wants to learn German."  # her name takes several pieces


@cache
def loaded() -> LoadedModel:
    return load_folder()


@cache
def traced() -> Trace:
    return trace(loaded(), SENTENCE)


def oracle(blocked: tuple[int, ...]) -> np.ndarray:
    one = Forward(source_ids(SENTENCE), list(traced().label_ids), blocked=blocked)
    return softmax(one.logits)[range(len(one.labels)), one.labels]


def test_with_each_word_hidden_in_turn() -> None:
    one = traced()
    places = {word: tuple(i for i, t in enumerate(one.src) if t.word == word) for word in range(8)}
    assert len(places[2]) > 1, "a word of several pieces is hidden whole"
    words, nats = log_probabilities_hiding(loaded(), one.src, one.labels)
    assert words == tuple(range(8)), "the end of the sentence is no word"
    np.testing.assert_allclose(np.exp(nats), [oracle(()), *(oracle(places[word]) for word in words)], atol=1e-4)


def test_only_the_words_asked_for() -> None:
    one = traced()
    words, nats = log_probabilities_hiding(loaded(), one.src, one.labels, (5, 1))
    whole, without = log_probabilities_hiding(loaded(), one.src, one.labels)
    assert words == (5, 1)
    assert nats == pytest.approx(without[[0, 6, 2]], abs=1e-4)
    assert (nats <= 0).all()
    assert whole == tuple(range(8))
    assert float(np.exp(nats[0]).prod()) == pytest.approx(math.prod(one.probabilities), rel=1e-3)


def test_every_head_by_attention_layer_and_head(model: EncoderDecoder, tokenizer: Tokenizer) -> None:
    kinds, layers, heads = ("encoder", "decoder", "cross"), range(CONFIG.n_layers), range(CONFIG.n_heads)
    expected = [Head(kind, layer, head) for kind in kinds for layer in layers for head in heads]
    assert all_heads(small_loaded(model, tokenizer).anatomy) == expected
