"""What a path of guesses stands for."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from model.sound.ctc import BLANK, chance_of, collapsed, likeliest, without_repeats


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


def all_outcomes(chances: np.ndarray) -> dict[tuple[int, ...], float]:
    """Path by path."""
    total: dict[tuple[int, ...], float] = {}
    for path in itertools.product(range(chances.shape[1]), repeat=len(chances)):
        heard = tuple(collapsed(path))
        total[heard] = total.get(heard, 0.0) + float(np.prod([chances[n, one] for n, one in enumerate(path)]))
    return total


@given(st.integers(1, 6), st.integers(0, 9))
def test_outcomes_have_the_chances_of_their_paths_and_the_likeliest_come_first(strips: int, seed: int) -> None:
    chances = np.random.default_rng(seed).dirichlet(np.full(3, 0.4), strips)
    total = all_outcomes(chances)
    for heard, chance in total.items():
        assert chance_of(heard, chances) == pytest.approx(chance)
    assert chance_of([0] * (strips + 1), chances) == 0
    found = likeliest(chances, 3, width=200)
    assert [one.chance for one in found] == pytest.approx(sorted(total.values(), reverse=True)[:3])
    assert all(total[one.heard] == pytest.approx(one.chance) for one in found)


def test_the_chance_is_what_torchs_loss_says() -> None:
    """So what the page shows is what was made large in training."""
    chances = torch.randn(9, 5, generator=torch.Generator().manual_seed(3), dtype=torch.float64).softmax(-1)
    heard = [3, 3, 0, 1]
    labels = torch.tensor([[one + 1 for one in heard]])
    loss = torch.nn.functional.ctc_loss(chances.log()[:, None], labels, [9], [4], blank=BLANK, reduction="sum")
    assert chance_of(heard, chances.numpy()) == pytest.approx(float((-loss).exp()))


def test_enough_beginnings_are_kept_where_a_few_entries_of_a_strip_are_likely() -> None:
    chances = np.random.default_rng(0).dirichlet(np.full(11, 0.3), 8)
    assert likeliest(chances, 4) == likeliest(chances, 4, width=2000)


def test_only_the_likeliest_beginnings_are_kept() -> None:
    chances = np.array([[0.4, 0.35, 0.25], [0.1, 0.2, 0.7]])
    assert [one.heard for one in likeliest(chances, 9, width=1)] == [(1,)]
    assert len(likeliest(chances, 9, width=2)) == 2
