"""Blanks, on small models with random weights."""

from typing import Any

import numpy as np
import pytest
import torch

from experiments.family.fill_in import DRAWS, PASSES, SHARES, Hiding, loss_by_share, reading_times
from model.text.tokenizer import CLS_ID, MASK_ID, SEP_ID
from serving.work_queue import Work
from tests.family import small

IDS = (17, 301, 45, 100, 7)


def chance(src_ids: list[int], place: int, right: int) -> float:
    """Of one piece at one row, by a pass of its own."""
    logits, _ = small("bert-mini").model(torch.tensor([src_ids]))
    return float(logits[0, place].double().softmax(-1)[right])


def measured(ids: tuple[int, ...]) -> dict[int, Hiding]:
    found, shares = finished(loss_by_share(small("bert-mini"), ids))
    assert shares == [n / len(SHARES) for n in range(len(SHARES))]
    return dict(found)


def finished(work: Work) -> tuple[Any, list[float]]:
    """What long work returns, and what it told on its way."""
    shares = []
    while True:
        try:
            shares.append(next(work))
        except StopIteration as end:
            return end.value, shares


def test_the_loss_is_that_of_the_hidden_pieces() -> None:
    """Of a text of one piece each draw hides just this one."""
    expected = -np.log(chance([CLS_ID, MASK_ID, SEP_ID], 1, 17))
    for hiding in measured((17,)).values():
        assert hiding.pieces == 1
        assert hiding.loss == pytest.approx(expected, abs=1e-5)


def test_so_many_are_hidden_as_are_asked_for() -> None:
    found = measured(IDS * 6)
    assert [*found] == [*SHARES]
    for share, hiding in found.items():
        deviation = np.sqrt(30 * share / 100 * (1 - share / 100) / DRAWS)
        assert abs(hiding.pieces - 30 * share / 100) < 4 * deviation + 0.2  # at least one each time


def test_models_are_timed_by_turns() -> None:
    seconds, shares = finished(reading_times([small("bert-mini")] * 2, IDS))
    assert shares == [n / PASSES for n in range(PASSES)]
    assert len(seconds) == 2
    assert min(seconds) > 0
