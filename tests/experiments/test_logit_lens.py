"""The logit lens beside the oracle's states times the embedding matrix, sorted whole."""

import numpy as np
import pytest

from experiments.blocks.logit_lens import LIKELIEST, logit_lens
from model.files.loaded_model import load_folder
from model.trace import trace
from tests.oracle.forward import Forward, config, embedding_matrix, softmax, source_ids

SENTENCE = "The black cat fights the white cat."


def test_every_layer_through_the_output() -> None:
    loaded = load_folder()
    one = trace(loaded, SENTENCE)
    lens = logit_lens(loaded, one.src_ids, one.label_ids)
    oracle = Forward(source_ids(SENTENCE), list(one.label_ids))
    layers = range(config()["n_layers"])
    names = ["decoder.embedding.output", *(f"decoder.layers.{n}.add_norm_3.output" for n in layers)]
    assert lens.ids.shape == lens.probabilities.shape == (len(names), len(one.labels), LIKELIEST)
    for stage, name in enumerate(names):
        probabilities = softmax(oracle[name] @ embedding_matrix().T)
        best = -np.sort(-probabilities, axis=-1)[:, :LIKELIEST]
        np.testing.assert_allclose(lens.probabilities[stage], best, atol=2e-4)
        named = np.take_along_axis(probabilities, lens.ids[stage], axis=-1)
        np.testing.assert_allclose(named, best, atol=2e-4)
        assert all(len(set(row)) == LIKELIEST for row in lens.ids[stage].tolist())
        by_hand = [probabilities[t, id] for t, id in enumerate(one.label_ids)]
        np.testing.assert_allclose(lens.written[stage], by_hand, atol=2e-4)
    assert lens.written[-1] == pytest.approx(one.probabilities, abs=1e-4)
