"""A pair of texts, on a small model with random weights."""

import numpy as np
import pytest
import torch

from experiments.family.pairs import CHANCES, SCORES, read_pair
from model.text.tokenizer import CLS_ID, SEP_ID
from tests.family import small

FIRST, SECOND = (17, 301, 45), (100, 7)


def test_the_second_text_is_read_as_the_second_segment() -> None:
    loaded = small("bert-mini")
    ids = torch.tensor([[CLS_ID, *FIRST, SEP_ID, *SECOND, SEP_ID]])
    _, scores = loaded.model(ids, torch.tensor([[0, 0, 0, 0, 0, 1, 1, 1]]))
    read = read_pair(loaded, FIRST, SECOND)
    assert read.tensors[SCORES] == pytest.approx(scores[0].numpy(), abs=1e-5)
    assert read.tensors[CHANCES] == pytest.approx(scores[0].softmax(-1).numpy(), abs=1e-5)
    assert not np.allclose(read.tensors[SCORES], read_pair(loaded, SECOND, FIRST).tensors[SCORES], atol=1e-3)
