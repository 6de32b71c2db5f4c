"""The decoder that draws: its code book, its rows, how it draws and what is measured of it."""

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from torch import Tensor, nn

from model.build import build_network
from model.families.drawing import CONFIG, FIRST_CODE, N_CODES, N_PATCHES, draw, picture_of, written
from tests.training.test_pictures import write_digits
from training import drawing as training


def random_codes() -> Tensor:
    return torch.rand(N_CODES, 16, generator=torch.Generator().manual_seed(3))


@given(st.lists(st.integers(FIRST_CODE, FIRST_CODE + N_CODES - 1), min_size=N_PATCHES, max_size=N_PATCHES))
def test_a_picture_of_the_code_book_is_written_as_it_was(ids: list[int]) -> None:
    given_ids, codes = torch.tensor([ids]), random_codes()
    drawn = picture_of(given_ids, codes)
    assert drawn.shape == (1, 28, 28)
    assert torch.equal(written(drawn, codes), given_ids)
    row, column = 3, 5  # by hand: patch 26 of 7 × 7
    assert torch.equal(drawn[0, 12:16, 20:24].flatten(), codes[ids[7 * row + column] - FIRST_CODE])


def test_a_patch_is_written_as_the_nearest_of_the_code_book() -> None:
    codes, drawn = random_codes(), torch.rand(1, 28, 28, generator=torch.Generator().manual_seed(4))
    patch = drawn[0, 4:8, 8:12].flatten()
    nearest = min(range(N_CODES), key=lambda n: float((codes[n] - patch).square().sum()))
    assert written(drawn, codes)[0, 9] == FIRST_CODE + nearest


class Likes(nn.Module):
    """Gives the patch whose number is ten above the last id by far the highest score."""

    def forward(self, ids: Tensor) -> Tensor:
        liked = (ids + 10 - FIRST_CODE) % N_CODES + FIRST_CODE
        return 9.0 * nn.functional.one_hot(liked, FIRST_CODE + N_CODES).float()


def test_each_patch_is_drawn_from_what_stands_before_it_and_a_forced_one_is_taken() -> None:
    generator = torch.Generator().manual_seed(1)
    ids, chances = draw(Likes(), torch.tensor([7, 7]), generator, temperature=0.1, forced={20: FIRST_CODE + 5})
    last = 7
    for at, one in enumerate(ids[0].tolist()):
        assert int(chances[0, at].argmax()) == (last + 10 - FIRST_CODE) % N_CODES
        assert one == (FIRST_CODE + 5 if at == 20 else (last + 10 - FIRST_CODE) % N_CODES + FIRST_CODE)
        last = one
    assert torch.allclose(chances.sum(-1), torch.ones(2, N_PATCHES))


def test_warmer_drawings_are_drawn_by_their_probabilities() -> None:
    class Even(nn.Module):
        def forward(self, ids: Tensor) -> Tensor:
            scores = torch.full((*ids.shape, FIRST_CODE + N_CODES), -50.0)
            scores[..., FIRST_CODE], scores[..., FIRST_CODE + 1] = 0.0, 1.0986  # ln 3
            return scores

    def share_of_second(temperature: float) -> float:
        ids, _ = draw(Even(), torch.zeros(60, dtype=torch.long), torch.Generator().manual_seed(1), temperature)
        return (ids == FIRST_CODE + 1).double().mean().item()

    assert share_of_second(1.0) == pytest.approx(3 / 4, abs=0.03)
    assert share_of_second(0.5) == pytest.approx(9 / 10, abs=0.03)


def test_the_code_book_holds_paper_and_what_patches_lie_around() -> None:
    kinds = torch.rand(40, 16, generator=torch.Generator().manual_seed(2))
    which = torch.randint(40, (60, 49), generator=torch.Generator().manual_seed(5))
    pictures = picture_of(FIRST_CODE + which, kinds)
    pictures[:, :8] = 0.0
    codes = training.code_book(pictures)
    assert codes.shape == (N_CODES, 16)
    assert not codes[0].any()
    apart = (picture_of(written(pictures, codes), codes) - pictures).abs().max()
    assert apart < 1e-5  # 40 kinds and paper: each has a place of its own


def test_batches_are_rows_of_a_word_and_its_picture() -> None:
    drawn = torch.zeros(3, 28, 28)
    drawn[torch.arange(3), 13, 13] = torch.tensor([0.3, 0.6, 0.9])
    codes = torch.cat([torch.zeros(1, 16), *(shade * torch.eye(16) for shade in (0.3, 0.6, 0.9))])
    first, again = (next(training.batches(drawn, torch.tensor([7, 8, 9]), codes)) for _ in range(2))
    assert torch.equal(first["ids"], again["ids"])
    assert first["ids"].shape == (training.BATCH_SIZE, 1 + N_PATCHES)
    assert torch.equal(first["ids"][:, 1:], first["labels"])
    pictures = picture_of(first["labels"], codes)
    shades = pictures.amax((1, 2))
    assert torch.equal((shades * 10 / 3).round().long() + 6, first["ids"][:, 0])
    places = pictures.nonzero()[:, 1:]
    assert places.min() == 13 - training.MOVED
    assert places.max() == 13 + training.MOVED


def test_the_loss_is_of_each_patch_after_what_stands_before_it() -> None:
    ids = torch.randint(
        FIRST_CODE, FIRST_CODE + N_CODES, (2, 1 + N_PATCHES), generator=torch.Generator().manual_seed(1)
    )
    found = training.loss(Likes(), {"ids": ids, "labels": ids[:, 1:]})
    chances = Likes()(ids).log_softmax(-1)
    by_hand = [-chances[row, at, ids[row, at + 1]] for row in range(2) for at in range(N_PATCHES)]
    assert found.item() == pytest.approx(float(torch.stack(by_hand).mean()), rel=1e-5)


class ReadsInk(nn.Module):
    """Names a picture by the ink in its first pixel."""

    def forward(self, pictures: Tensor) -> Tensor:
        return nn.functional.one_hot((10 * pictures[:, 0, 0]).round().long().clamp(0, 9), 10).float()


def test_each_figure_is_of_its_own_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = torch.linspace(0, 1, N_CODES)[:, None].expand(-1, 16)
    drawn = torch.zeros(4, 28, 28)
    drawn[:, 0, 0] = torch.tensor([0.2, 0.3, 0.4, 0.9])
    monkeypatch.setattr(training, "draw", lambda network, words, generator: (nearest(words), None))

    def nearest(words: Tensor) -> Tensor:
        """Every drawing of seven is drawn as an eight."""
        wanted = torch.where(words == 7, 8, words) / 10
        return (FIRST_CODE + (wanted * (N_CODES - 1)).round().long())[:, None].expand(-1, N_PATCHES)

    found = training.measured(Likes(), ReadsInk(), codes, drawn, torch.tensor([2, 3, 5, 9]))
    assert found["read_back"] == [0.9, round((0.09 / 1000) ** 0.5, 4)]
    assert found["as_they_are"][0] == 0.75
    assert found["written"][0] == 0.0  # all but one pixel of each patch is paper
    assert (found["drawings"], found["pictures"]) == (1000, 4)


@pytest.mark.slow  # trains
def test_the_command_writes_what_it_promises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = write_digits(tmp_path / "digits.npz", 20), tmp_path / "out"
    monkeypatch.setattr(training, "N_DRAWN", 2)
    monkeypatch.setattr("sys.argv", ["", str(file), "--out", str(out), "--steps", "2"])
    training.main()
    assert {path.name for path in out.iterdir()} == {
        *("model.safetensors", "config.json", "codes.safetensors", "metrics.json", "README.md")
    }
    kept = json.loads((out / "metrics.json").read_text())
    assert kept["test"]["drawings"] == 20
    assert kept["test"]["pictures"] == 12
    assert kept["training"]["steps"] == 2
    assert (out / "README.md").read_text() == training.card(kept)
    assert load_file(out / "codes.safetensors")["codes"].shape == (N_CODES, 16)
    weights, fresh = load_file(out / "model.safetensors"), build_network(CONFIG).state_dict()
    assert {name: w.shape for name, w in weights.items()} == {name: w.shape for name, w in fresh.items()}
    assert "read back: " in capsys.readouterr().out


def test_the_recipe_is_the_one_that_the_figures_are_of() -> None:
    assert (training.RECIPE.steps, training.BATCH_SIZE, training.MOVED, training.N_DRAWN) == (12_000, 64, 2, 100)
