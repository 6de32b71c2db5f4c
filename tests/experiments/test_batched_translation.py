"""Sentences run together are as if run one by one."""

import numpy as np

from experiments.batched_translation import translate_together
from ui import engine

SENTENCES = ("Go", "I ate an apple", "The black cat fights the white cat.", "ฉันชอบสุนัข")
KEPT = (".hidden", ".sum", "add_norm_2.output")


def test_a_batch_is_its_sentences_one_by_one() -> None:
    for sentence, run in zip(SENTENCES, translate_together(engine.model(), SENTENCES, KEPT), strict=True):
        trace = engine.trace(sentence)
        assert run.src == trace.src
        assert run.tgt == trace.tgt
        assert {name for name in trace.tensors if name.endswith(KEPT)} == set(run.tensors)
        for name, values in run.tensors.items():
            assert values.shape == trace.tensors[name].shape
            np.testing.assert_allclose(values, trace.tensors[name], atol=2e-3, rtol=1e-3)
