"""Sentences run together are as if run one by one."""

import numpy as np
import pytest

from experiments.writing import batched_translation
from experiments.writing.batched_translation import record_together, translate_together
from model import trace as tracing
from model.decoding.strategies import Greedy
from model.files.loaded_model import load_folder
from model.text.tokenizer import EOS_ID
from model.translate import translate
from ui import engine

SENTENCES = ("Go", "I ate an apple", "The black cat fights the white cat.", "ฉันชอบสุนัข")
KEPT = (".hidden", ".sum", "add_norm_2.output")


def test_a_batch_is_its_sentences_one_by_one() -> None:
    for sentence, run in zip(SENTENCES, record_together(engine.model(), SENTENCES, KEPT), strict=True):
        trace = engine.trace(sentence)
        assert run.src == trace.src
        assert run.tgt == trace.tgt
        assert {name for name in trace.tensors if name.endswith(KEPT)} == set(run.tensors)
        for name, values in run.tensors.items():
            assert values.shape == trace.tensors[name].shape
            np.testing.assert_allclose(values, trace.tensors[name], atol=2e-3, rtol=1e-3)


@pytest.mark.parametrize("group", [1, 3, 50])
def test_neither_the_others_nor_their_number_change_a_translation(group: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short and long ones take turns, so that many have ended while others are still being written."""
    monkeypatch.setattr(batched_translation, "GROUP", group)
    loaded = load_folder()
    sentences = [*SENTENCES, *loaded.about.everyday, *SENTENCES[::-1]]
    sizes: list[int] = []
    decode = loaded.model.decode
    monkeypatch.setattr(loaded.model, "decode", lambda ids, *rest: (sizes.append(len(ids)), decode(ids, *rest))[1])
    together = translate_together(loaded, sentences)
    steps = sizes.copy()
    alone = [translate(loaded, sentence, Greedy()) for sentence in sentences]
    assert together == alone
    # Each sentence is in the batch until it has ended, and no longer: as many rows as when it is alone.
    assert sum(steps) == len(sizes) - len(steps)
    assert max(steps) == min(group, len(sentences))


def test_a_sentence_that_does_not_end_in_time_is_cut_like_one_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for five pieces: all sentences but the first are still being written, and sources are cut too."""
    for module in (batched_translation, tracing):
        monkeypatch.setattr(module, "MAX_TOKENS", 5)
    loaded, finished = load_folder(), []
    for sentence, run in zip(SENTENCES, record_together(loaded, SENTENCES, KEPT), strict=True):
        alone = tracing.trace(loaded, sentence)
        assert (run.src, run.tgt) == (alone.src, alone.tgt)
        finished.append(alone.labels[-1].id == EOS_ID)
        for name, values in run.tensors.items():
            np.testing.assert_allclose(values, alone.tensors[name], atol=2e-3, rtol=1e-3)
    assert finished == [True, False, False, False]
