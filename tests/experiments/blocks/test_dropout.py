"""Dropout as in training, and nothing of it left behind."""

import torch

from experiments.blocks.dropout import probabilities_with_dropout
from model.text.tokenizer import EOS_ID
from ui import engine


def test_neither_the_model_nor_torchs_random_numbers_notice() -> None:
    model, before = engine.model("plain-1@6000"), torch.get_rng_state()
    probabilities_with_dropout(model, (5, 6, EOS_ID), (7, EOS_ID), 4)
    assert not any(one.training for one in model.model.modules())
    assert torch.equal(before, torch.get_rng_state())
