"""What a path of guesses stands for."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from model.sound.ctc import BLANK, collapsed, without_repeats


@pytest.mark.parametrize(
    ("path", "merged", "heard"),
    [
        ([0, 8, 8, 0, 0, 4, 4, 0, 4], [0, 8, 0, 4, 0, 4], [7, 3, 3]),
        ([4, 4, 4], [4], [3]),
        ([0, 0], [0], []),
        ([], [], []),
    ],
)
def test_repeats_fall_together_before_blanks_go(path: list[int], merged: list[int], heard: list[int]) -> None:
    assert without_repeats(path) == merged
    assert collapsed(path) == heard


@given(st.lists(st.integers(1, 10)), st.data())
def test_a_blank_between_any_two_keeps_them_all(classes: list[int], data: st.DataObject) -> None:
    times = st.integers(1, 3)
    path = [one for c in classes for one in [c] * data.draw(times) + [BLANK] * data.draw(times)]
    assert collapsed(path) == [c - 1 for c in classes]


def test_the_chance_of_what_is_heard_is_that_of_all_paths_that_collapse_to_it() -> None:
    """So torch's loss and our collapsing mean the same blank and the same map."""
    logits = torch.randn(4, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    chances = logits.softmax(-1)
    wanted = [0, 0]
    paths = [path for path in itertools.product(range(3), repeat=4) if collapsed(path) == wanted]
    total = sum(torch.stack([chances[n, one] for n, one in enumerate(path)]).prod() for path in paths)
    loss = torch.nn.functional.ctc_loss(
        logits.log_softmax(-1)[:, None], torch.tensor([[1, 1]]), [4], [2], blank=BLANK, reduction="sum"
    )
    assert loss.item() == pytest.approx(-float(torch.log(torch.as_tensor(total))))
