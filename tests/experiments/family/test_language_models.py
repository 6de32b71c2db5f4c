"""What language models make of a text: losses row by row, and bits for each byte."""

import math

import numpy as np
import pytest
import torch

from experiments.family import language_models
from experiments.family.language_models import bits_per_byte, lstm_losses, published, read_text
from experiments.training.losses import LOSSES
from model.families.recurrent_language_model import RecurrentConfig, RecurrentLanguageModel
from model.files.checkpoint import CheckpointError
from model.text.tokenizer import EOS_ID, SOS_ID
from tests.family import small

TEXT = "The cat sat on the mat."


def test_every_row_of_a_text_has_a_loss_and_sees_only_what_stands_before() -> None:
    loaded = small("gpt-mini")
    whole, cut = read_text(loaded, TEXT), read_text(loaded, "The cat")
    n = len(cut.labels) - 1
    assert whole.label_ids == (*loaded.tokenizer.encode(TEXT), EOS_ID)
    assert whole.tensors[LOSSES].shape == (len(whole.labels), 1)
    assert np.allclose(whole.tensors[LOSSES][:n], cut.tensors[LOSSES][:n], atol=1e-4)
    assert np.allclose(np.exp(-whole.tensors[LOSSES][:, 0]), whole.probabilities)


def test_the_lstm_is_surprised_as_torch_says(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = small("gpt-mini")
    network = RecurrentLanguageModel(RecurrentConfig(loaded.tokenizer.vocab_size, 7, 11, 2)).eval()
    monkeypatch.setattr(language_models, "lstm", lambda: network)
    ids = loaded.tokenizer.encode(TEXT)
    with torch.no_grad():
        logits = network(torch.tensor([[SOS_ID, *ids[:-1]]]))[0]
    expected = torch.nn.functional.cross_entropy(logits, torch.tensor(ids), reduction="none")
    assert np.allclose(lstm_losses(loaded, ids), expected.numpy(), atol=1e-5)


def test_bits_per_byte_by_hand() -> None:
    assert bits_per_byte(np.array([math.log(2), 3 * math.log(2)]), "é!") == pytest.approx(4 / 3)


def test_figures_that_are_missing_are_named() -> None:
    with pytest.raises(CheckpointError, match=r"nobody.metrics\.json"):
        published("nobody")
