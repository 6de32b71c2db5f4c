"""GPT's and BERT's form: what they read and write."""

import pytest
import torch

from model.build import build_network
from model.config import PRESETS
from model.decoding.strategies import Greedy
from model.text.tokenizer import CLS_ID, MASK_ID, SEP_ID
from model.trace import EmptySentenceError, Trace, trace
from tests.family import FAMILY, SIZES, small

SENTENCE = "The cat sat on the mat."


def traced(name: str, **more: object) -> Trace:
    return trace(small(name), SENTENCE, decoding=Greedy(max_steps=15), **more)  # type: ignore[arg-type]


def test_they_have_at_most_eight_million_parameters() -> None:
    """By hand: the embeddings; 4·d² + 2·d·d_ff + d_ff + d + 4d a layer; GPT's last norm, or BERT's heads."""
    v, d, f, n = 8000, 256, 1024, 4
    layers = n * (4 * d * d + 2 * d * f + f + d + 4 * d)
    heads = (d * d + d + 2 * d + v) + (d * d + d + 2 * d + 2)
    expected = {"gpt-mini": v * d + 128 * d + layers + 2 * d, "bert-mini": (v + 128 + 2) * d + 2 * d + layers + heads}
    for name in FAMILY:
        assert sum(p.numel() for p in build_network(PRESETS[name]).parameters()) == expected[name] < 8_000_000


def test_bert_reads_from_both_sides_and_writes_nothing() -> None:
    loaded = small("bert-mini")
    ids = loaded.tokenizer.encode(SENTENCE)
    one = trace(loaded, SENTENCE)
    assert one.src_ids == (CLS_ID, *ids, SEP_ID)
    assert (one.tgt, one.labels, one.steps, one.translation) == ((), (), (), "")
    assert one.text == SENTENCE
    assert (one.attention("encoder", 0) > 0).all()
    with pytest.raises(EmptySentenceError):
        trace(loaded, "  ")
    long = trace(loaded, "the cat " * 90)
    assert len(long.src) == SIZES["max_len"]
    assert long.n_cut > 0


def test_padding_and_the_rows_asked_for_change_nothing_for_bert() -> None:
    model, ids = small("bert-mini").model, torch.tensor([[CLS_ID, 40, MASK_ID, 42, SEP_ID]])
    logits, next_sentence = model(ids)
    padded, with_padding = model(torch.nn.functional.pad(ids, (0, 3)))
    assert torch.allclose(padded[:, :5], logits, atol=1e-5)
    assert torch.allclose(with_padding, next_sentence, atol=1e-5)
    asked, _ = model(ids, rows=ids == MASK_ID)
    assert torch.allclose(asked, logits[:, 2], atol=1e-5)
