"""Blanks, on small models with random weights."""

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest
import torch

from experiments.family import fill_in
from experiments.family.fill_in import DRAWS, PASSES, SHARES, Hiding, loss_by_share, reading_times
from model.files.loaded_model import LoadedModel
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


def test_models_are_timed_by_turns_and_the_fastest_pass_of_each_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that a pass of the first moves by 2, then 1, then 3, …; of the second by 5, then 4, …"""
    now, calls = [0.0], []
    loaded = small("bert-mini")

    def stub(name: str, takes: list[float]) -> LoadedModel:
        slow = itertools.cycle(takes)

        def read(src_ids: torch.Tensor, segments: None, asked: torch.Tensor) -> tuple[torch.Tensor]:
            calls.append((name, src_ids.tolist(), asked.nonzero().tolist()))
            now[0] += next(slow)
            return (torch.zeros(len(src_ids), 9),)

        return dataclasses.replace(loaded, model=read)  # type: ignore[type-var]

    monkeypatch.setattr(fill_in.time, "perf_counter", lambda: now[0])
    models = [stub("one", [2.0, 1.0, 3.0]), stub("other", [5.0, 4.0])]
    seconds, shares = finished(reading_times(models, IDS, 2))
    assert seconds == (1.0, 4.0)
    assert shares == [n / PASSES for n in range(PASSES)]
    assert [name for name, *_ in calls] == ["one", "other"] * PASSES
    assert all(one[1:] == ([[*IDS]] * 2, [[0, 1], [1, 1]]) for one in calls), "two rows, the first token asked for"
