"""Training readers of digits: how pictures are moved, what is measured, what the command writes."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from torch import Tensor, nn

from training import pictures as training

STEPS = st.integers(-training.MOVED, training.MOVED)


@given(st.lists(st.tuples(STEPS, STEPS), min_size=1, max_size=4))
def test_a_picture_moves_down_and_to_the_right_and_paper_comes_in(steps: list[tuple[int, int]]) -> None:
    drawn = torch.rand(len(steps), 6, 5)
    for before, after, (down, right) in zip(drawn, training.moved(drawn, torch.tensor(steps)), steps, strict=True):
        for row in range(6):
            for column in range(5):
                y, x = row - down, column - right
                expected = before[y, x].item() if 0 <= y < 6 and 0 <= x < 5 else 0.0
                assert after[row, column].item() == expected


def test_batches_are_the_same_every_time_and_of_these_pictures_alone() -> None:
    ink = torch.zeros(3, 28, 28)
    ink[torch.arange(3), 13, 13] = torch.tensor([0.1, 0.2, 0.3])  # so that each is known wherever it was moved to
    labels = torch.tensor([7, 8, 9])
    first, again = (next(training.batches(ink, labels)) for _ in range(2))
    assert torch.equal(first["pictures"], again["pictures"])
    assert first["pictures"].shape == (training.BATCH_SIZE, 28, 28)
    assert torch.equal((first["pictures"].amax((1, 2)) * 10).round().long() + 6, first["labels"])
    places = {tuple(place[1:]) for place in first["pictures"].nonzero().tolist()}
    assert {y for y, _ in places} == {x for _, x in places} == set(range(13 - training.MOVED, 14 + training.MOVED))


class SaysRows(nn.Module):
    """Scores a class by the ink in its row."""

    def forward(self, pictures: Tensor) -> Tensor:
        return pictures.sum(-1)[:, :10]


def test_shares_and_differences_by_hand() -> None:
    drawn = torch.zeros(4, 28, 28)
    drawn[torch.arange(4), torch.tensor([3, 1, 4, 1])] = 1.0
    hits = training.right(SaysRows(), drawn, torch.tensor([3, 1, 4, 5]))
    assert hits.tolist() == [True, True, True, False]
    assert training.share(hits) == [0.75, round((0.75 * 0.25 / 4) ** 0.5, 4)]
    other = torch.tensor([True, False, False, True])
    assert training.ahead(hits, other) == [0.25, round(float(np.std([0, 1, 1, -1], ddof=1)) / 2, 4)]


def test_the_cosines_of_neighbours_and_of_places_far_apart() -> None:
    # On a grid of 2 × 2, the upper two places point one way, the lower two another: 60 degrees between them.
    table = torch.tensor([[1.0, 0.0], [2.0, 0.0], [1.0, 3**0.5], [1.0, 3**0.5]])
    found = training.nearness(table, 2)
    assert found == {"neighbours": 0.75, "far": round((2 * 1 + 4 * 0.5) / 6, 3)}


def write_digits(file: Path, n: int) -> Path:
    rng = np.random.default_rng(0)
    parts = {"train": n, "val": 2, "test": 12}
    drawn = {f"x_{part}": rng.integers(0, 256, (size, 28, 28), dtype=np.uint8) for part, size in parts.items()}
    np.savez(file, **drawn, **{f"y_{part}": np.arange(size, dtype=np.uint8) % 10 for part, size in parts.items()})
    return file


def test_pictures_are_read_from_paper_to_ink(tmp_path: Path) -> None:
    file = write_digits(tmp_path / "digits.npz", 3)
    drawn, labels = training.read_digits(file, "train")
    with np.load(file) as held:
        assert np.array_equal(drawn.numpy(), held["x_train"].astype(np.float32) / 255)
    assert labels.tolist() == [0, 1, 2]


@pytest.mark.slow  # trains
def test_the_command_writes_what_it_promises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = write_digits(tmp_path / "digits.npz", 600), tmp_path / "out"
    used = []
    batches = training.batches
    monkeypatch.setattr(training, "batches", lambda *digits: used.append(len(digits[1])) or batches(*digits))
    for name in training.NAMES:
        monkeypatch.setattr("sys.argv", ["", str(file), "--out", str(out), "--only", name, "--steps", "2"])
        training.main()
    assert used == [600, 600, 500, 500]
    files = {f"{name}.safetensors" for name in (*training.NAMES, "samples")}
    assert {path.name for path in out.iterdir()} == {"config.json", "metrics.json", "README.md"} | files
    kept = json.loads((out / "metrics.json").read_text())
    assert kept["pictures"] == 12
    assert kept["test"].keys() == set(training.NAMES)
    first, second = (load_file(out / f"vit-{n}.safetensors") for n in (8000, 500))
    assert all(w.dtype == torch.float16 for w in first.values())
    assert not torch.equal(first["head.weight"], second["head.weight"])
    held, tests = load_file(out / "samples.safetensors"), training.read_digits(file, "test")
    n_wrong = round(12 * (1 - kept["test"]["vit-8000"][0]))
    assert held["labels"].tolist()[:10] == list(range(10))
    assert len(held["labels"]) == 10 + n_wrong
    assert torch.equal(held["pictures"][:10].float() / 255, tests[0][:10])
    assert "cnn_ahead" in capsys.readouterr().out


def test_the_recipe_is_the_one_that_the_figures_are_of() -> None:
    assert dataclasses.asdict(training.RECIPE)["steps"] == 10_000
    assert (training.BATCH_SIZE, training.MOVED) == (64, 4)
