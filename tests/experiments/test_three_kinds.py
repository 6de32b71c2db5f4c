"""What three kinds of model may see, on small models with random weights."""

from dataclasses import replace

import numpy as np

from experiments.family.language_models import read_text
from experiments.family.three_kinds import may_see, scores_from_the_left
from model.build import build_model
from model.text.tokenizer import CLS_ID, MASK_ID, SEP_ID, Tokenizer
from model.trace import read, trace
from tests.family import small
from tests.small import CONFIG, small_loaded

IDS = (17, 301, 45, 100, 7)


def test_a_decoder_alone_does_not_notice_what_stands_behind() -> None:
    gpt = small("gpt-mini")
    one = scores_from_the_left(gpt, IDS, 2)
    assert np.allclose(one, scores_from_the_left(gpt, (*IDS[:2], 9, 8, 9, 8), 2), atol=1e-5)
    assert not np.allclose(one, scores_from_the_left(gpt, (9, *IDS[1:]), 2), atol=1e-2)


def test_the_masks_of_three_kinds(tokenizer: Tokenizer) -> None:
    encoder = read(small("bert-mini"), [CLS_ID, *IDS[:2], MASK_ID, *IDS[3:], SEP_ID])
    assert np.array_equal(may_see(encoder, ("encoder",), 5), np.ones((5, 5), bool))
    decoder = read_text(small("gpt-mini"), "The cat sat on the mat.")
    assert np.array_equal(may_see(decoder, ("decoder",), 4), np.tri(4, dtype=bool))
    model = build_model(replace(CONFIG, vocab_size=tokenizer.vocab_size)).eval()
    translating = trace(small_loaded(model, tokenizer), "The cat sat.", "Die")
    both = may_see(translating, ("encoder", "decoder", "cross"), 3)
    n = 3
    assert both[:n, :n].all()
    assert not both[:n, n:].any()
    assert both[n:, :n].all()
    assert np.array_equal(both[n:, n:], np.tri(len(both) - n, dtype=bool))
