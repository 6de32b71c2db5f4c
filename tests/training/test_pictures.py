"""Training readers of digits: how pictures are moved, what is measured, what the command writes."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from torch import Tensor, nn

from model.families.pictures import PictureConfig
from model.files.load_pictures import SIZES, picture_metrics
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


def test_patches_are_hidden_in_the_order_of_the_looks_or_at_random_out_of_those_with_ink(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[frozenset[int]] = []

    def read(vision: object, picture: np.ndarray, gone: frozenset[int]) -> SimpleNamespace:
        """A reader that sees what the digit is, as long as it sees patch 2."""
        asked.append(gone)
        return SimpleNamespace(translation="?" if 2 in gone else "7")

    monkeypatch.setattr(training, "hidden", read)
    monkeypatch.setattr(training, "hidden_in_turn", lambda vision, picture, n: ([5, 2, 9, 1][:n], []))
    drawn = torch.zeros(5, 28, 28)
    drawn[:, 10:18, 10:18] = 0.5  # in patches 6, 7, 10 and 11
    vision = SimpleNamespace(config=PictureConfig())
    found = training.hiding(vision, drawn, torch.full((5,), 7))  # type: ignore[arg-type]
    right, wrong = [1.0, 0.0], [0.0, 0.0]
    assert found == {
        n: {"looked_at": looked_at, "random": right}
        for n, looked_at in zip("1234", (right, wrong, wrong, wrong), strict=True)
    }
    looks = [frozenset([5, 2, 9, 1][:n]) for n in (1, 2, 3, 4)]
    assert [gone for gone in asked if not gone <= {6, 7, 10, 11}] == 5 * looks
    drawn_by_lot = [gone for gone in asked if gone <= {6, 7, 10, 11}]
    assert [len(gone) for gone in drawn_by_lot] == 5 * [1, 2, 3, 4]
    assert len(set(drawn_by_lot[::4])) > 1


def test_what_is_measured_is_of_the_reader_that_it_is_said_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_digits(tmp_path / "digits.npz", 1)
    hits = {name: torch.arange(12) % n > 0 for n, name in zip((2, 3, 5, 7, 4), training.READERS, strict=True)}
    readers = {name: training.new_network(name) for name in training.READERS}
    names = {reader: name for name, reader in readers.items()}
    still = training.new_network("swin-8000")
    names[still], hits["still"] = "still", torch.arange(12) > 8
    table = readers["vit-8000"].get_parameter("embedding.positions.table.weight")
    table.data[:] = 1.0
    table.data[0] = -1.0  # that of [class], which lies nowhere
    monkeypatch.setattr(training, "load_reader", lambda name, out: readers[name])
    monkeypatch.setattr(training, "load_vision", lambda n, out: n)
    monkeypatch.setattr(training, "load_swin", lambda shifts, folder: shifts or SimpleNamespace(model=still))
    monkeypatch.setattr(training, "right", lambda network, *digits: hits[names[network]])
    monkeypatch.setattr(training, "hiding", lambda vision, *digits: vision)
    for name in training.READERS:
        (tmp_path / f"{name}.json").write_text(json.dumps(name))
    found = training.measured(file, tmp_path)
    shares = {name: float(hit.double().mean()) for name, hit in hits.items()}
    assert found["windows_kept_still"][0] == pytest.approx(shares.pop("still"), abs=1e-4)
    assert found["swin_ahead"][0] == pytest.approx(shares["swin-8000"] - shares["vit-8000"], abs=1e-4)
    assert {name: mean for name, (mean, _) in found["test"].items()} == pytest.approx(shares, abs=1e-4)
    for n, (mean, _) in found["cnn_ahead"].items():
        assert mean == pytest.approx(shares[f"cnn-{n}"] - shares[f"vit-{n}"], abs=1e-4)
        assert mean > 0
    assert found["training"] == {name: name for name in training.READERS}
    assert found["hiding"] == 8000
    assert found["cosines_of_places"] == {"neighbours": 1.0, "far": 1.0}
    with np.load(file) as held:
        wrong = ~hits["vit-8000"].numpy()
        shown = [np.concatenate([held[part][:10], held[part][wrong]]) for part in ("x_test", "y_test")]
    kept = load_file(tmp_path / training.SAMPLES)
    assert all(np.array_equal(kept[name].numpy(), of) for name, of in zip(("pictures", "labels"), shown, strict=True))


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


def test_the_card_tells_each_figure_where_it_belongs() -> None:
    names = training.READERS
    metrics = {
        "test": {name: [0.9 + n / 100, (1 + n) / 1000] for n, name in enumerate(names)},
        "windows_kept_still": [0.5, 0.011],
        "training": {
            name: {"parameters": 1000 + n, "processor_seconds": 10 + n, "steps": 6780 - n // 2}
            for n, name in enumerate(names)
        },
        "pictures": 2000,
        "cosines_of_places": {"neighbours": 0.34, "far": -0.17},
        "recipe": {"batch_size": 64, "moved": 4},
    }
    words = " ".join(training.card(metrics).split())
    for told in (
        "a Vision Transformer (1,000 parameters;",
        "of about the same size (1,001;",
        "a Swin Transformer (1,004;",
        "| 8,000 | 6,780 | 90.0 ± 0.1 | 91.0 ± 0.2 | | 500 | 6,779 | 92.0 ± 0.3 | 93.0 ± 0.4 |",
        "learned from 8,000 in 6,778 steps: 94.0 ± 0.5; the same weights with windows that stay: 50.0 ± 1.1.",
        "0.34 for neighbours, -0.17 for",
        "A step is 64 pictures, each moved by up to 4 pixels",
        "10 to 14 seconds",
    ):
        assert told in words, told


@pytest.mark.slow  # trains
def test_the_command_writes_what_it_promises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = write_digits(tmp_path / "digits.npz", 600), tmp_path / "out"
    used = []
    batches = training.batches
    monkeypatch.setattr(training, "batches", lambda *digits: used.append(len(digits[1])) or batches(*digits))
    for name in training.READERS:
        monkeypatch.setattr("sys.argv", ["", str(file), "--out", str(out), "--only", name, "--steps", "2"])
        training.main()
    assert used == [600, 600, 500, 500, 600]
    files = {f"{name}.safetensors" for name in (*training.READERS, "samples")}
    assert {path.name for path in out.iterdir()} == {"config.json", "swin.json", "metrics.json", "README.md"} | files
    kept = json.loads((out / "metrics.json").read_text())
    assert kept["pictures"] == 12
    assert kept["test"].keys() == set(training.READERS)
    first, second = (load_file(out / f"vit-{n}.safetensors") for n in (8000, 500))
    assert all(w.dtype == torch.float16 for w in first.values())
    assert not torch.equal(first["head.weight"], second["head.weight"])
    held, tests = load_file(out / "samples.safetensors"), training.read_digits(file, "test")
    n_wrong = round(12 * (1 - kept["test"]["vit-8000"][0]))
    assert held["labels"].tolist()[:10] == list(range(10))
    assert len(held["labels"]) == 10 + n_wrong
    assert torch.equal(held["pictures"][:10].float() / 255, tests[0][:10])
    said = capsys.readouterr().out
    assert all(name in said for name in ("cnn_ahead", "swin_ahead", "windows_kept_still", "cosines_of_places"))


def test_the_recipe_is_the_one_that_the_figures_are_of() -> None:
    took = {name: of["steps"] for name, of in picture_metrics()["training"].items()}
    assert took == training.STEPS
    assert all(took[f"vit-{n}"] == took[f"cnn-{n}"] for n in SIZES)  # else they were not compared alike
    assert (training.BATCH_SIZE, training.MOVED) == (64, 4)
