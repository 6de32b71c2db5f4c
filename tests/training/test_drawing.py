"""The decoder that draws: its code book, its rows, how it draws and what is measured of it."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from torch import Tensor, nn

from model.build import build_network
from model.families.drawing import (
    CONFIG,
    FIRST_ANSWER,
    FIRST_CODE,
    FIRST_QUESTION,
    LOOK,
    N_CODES,
    N_PATCHES,
    QUESTIONS,
    draw,
    picture_of,
    says_yes,
    written,
)
from model.files.checkpoint import CheckpointError
from model.files.load_drawing import code_book, drawing_metrics
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
        return 9.0 * nn.functional.one_hot(liked, CONFIG.vocab_size).float()


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
            scores = torch.full((*ids.shape, CONFIG.vocab_size), -50.0)
            scores[..., LOOK:] = 50.0  # what is no patch is never drawn
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
    for book in (codes, code_book()):
        assert int((book.amax(1) == 0).sum()) == 1
        assert (book.sum(1).diff() > -1e-5).all()


def test_batches_are_rows_of_a_word_and_its_picture() -> None:
    drawn = torch.zeros(3, 28, 28)
    drawn[torch.arange(3), 13, 13] = torch.tensor([0.3, 0.6, 0.9])
    codes = torch.cat([torch.zeros(1, 16), *(shade * torch.eye(16) for shade in (0.3, 0.6, 0.9))])
    first, again = (next(training.batches(drawn, torch.tensor([7, 8, 9]), codes)) for _ in range(2))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert first["ids"].shape == (training.BATCH_SIZE, 1 + N_PATCHES)
    assert torch.equal(first["ids"][:, 1:], first["labels"])
    pictures = picture_of(first["labels"], codes)
    shades = pictures.amax((1, 2))
    assert torch.equal((shades * 10 / 3).round().long() + 6, first["ids"][:, 0])
    places = pictures.nonzero()[:, 1:]
    assert places.min() == 13 - training.MOVED
    assert places.max() == 13 + training.MOVED


def test_the_answers_are_true() -> None:
    questions, digits = torch.arange(3)[:, None].expand(3, 10), torch.arange(10).expand(3, 10)
    every = range(10)
    expected = [[n % 2 == 0 for n in every], [n > 5 for n in every], [n % 3 == 0 for n in every]]
    assert training.truth(questions, digits).bool().tolist() == expected


def test_a_row_that_asks_ends_with_its_question() -> None:
    patches = torch.arange(2 * N_PATCHES).reshape(2, N_PATCHES) % N_CODES + FIRST_CODE
    rows, places = training.about(patches, torch.tensor([0, 49]), torch.tensor([2, 1]))
    assert places.tolist() == [1, 50]
    assert rows[0, :2].tolist() == [LOOK, FIRST_QUESTION + 2]
    assert rows[1].tolist() == [LOOK, *patches[1].tolist(), FIRST_QUESTION + 1]
    shown, at = training.about(patches[:1], torch.tensor([20]), torch.tensor([0]))
    assert shown[0, :22].tolist() == [LOOK, *patches[0, :20].tolist(), FIRST_QUESTION]
    assert (at.item(), shown.shape[1]) == (21, CONFIG.max_len)


def test_batches_ask_about_pictures_and_of_every_second_one_show_the_beginning() -> None:
    drawn = torch.zeros(3, 28, 28)
    drawn[torch.arange(3), 13, 13] = torch.tensor([0.3, 0.6, 0.9])
    codes = torch.cat([torch.zeros(1, 16), *(shade * torch.eye(16) for shade in (0.3, 0.6, 0.9))])
    batches = training.batches(drawn, torch.tensor([7, 8, 9]), codes)
    seen, whole, begun = [], 0, set()
    for _ in range(20):
        batch = next(batches)
        assert len(batch["rows"]) == training.ASKED
        for row, place, answer in zip(batch["rows"], batch["places"].tolist(), batch["answers"].tolist(), strict=True):
            question, patches = int(row[place]) - FIRST_QUESTION, row[1:place]
            if (inked := patches[patches > FIRST_CODE]).numel():
                digit = 7 + (int(inked) - FIRST_CODE - 1) // 16
                assert answer == (digit % 2 == 0, digit > 5, digit % 3 == 0)[question]
            seen.append(question)
            whole += place == 1 + N_PATCHES
            begun.add(place - 1)
    assert {*seen} == {*range(len(QUESTIONS))}
    assert whole / len(seen) == pytest.approx(0.5, abs=0.08)
    assert min(begun) <= 2
    assert max(begun - {N_PATCHES}) >= 46


def test_the_loss_is_of_each_patch_and_of_each_answer() -> None:
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(FIRST_CODE, LOOK, (2, 1 + N_PATCHES), generator=generator)
    rows, places = training.about(ids[:, 1:], torch.tensor([49, 3]), torch.tensor([0, 2]))

    class Says(Likes):
        def forward(self, ids: Tensor) -> Tensor:
            scores = super().forward(ids)
            scores[..., FIRST_ANSWER] = 8.0
            return scores

    batch = {"ids": ids, "labels": ids[:, 1:], "rows": rows, "places": places, "answers": torch.tensor([1, 0])}
    chances = Says()(ids).log_softmax(-1)
    by_hand = [-chances[row, at, ids[row, at + 1]] for row in range(2) for at in range(N_PATCHES)]
    patches = float(torch.stack(by_hand).mean())
    assert training.loss_of_patches(Says(), batch).item() == pytest.approx(patches, rel=1e-5)
    asked = Says()(rows).log_softmax(-1)
    answers = -(asked[0, 50, FIRST_ANSWER + 1] + asked[1, 4, FIRST_ANSWER]).item() / 2
    assert training.loss(Says(), batch).item() == pytest.approx(patches + answers, rel=1e-5)


class KnowsInk(nn.Module):
    """Says yes to the first question if it has seen ink, to the others never."""

    def forward(self, ids: Tensor) -> Tensor:
        scores = torch.zeros(*ids.shape, CONFIG.vocab_size)
        inked = ((ids > FIRST_CODE) & (ids < LOOK)).any(1) & (ids[:, -1] == FIRST_QUESTION)
        scores[:, -1, FIRST_ANSWER + 1] = torch.where(inked, 3.0, -3.0)
        return scores


def test_yes_is_how_likely_it_is_beside_no() -> None:
    rows = torch.tensor([[FIRST_CODE, FIRST_CODE], [FIRST_CODE, FIRST_CODE + 9]])
    low, high = (torch.tensor(score).sigmoid().item() for score in (-3.0, 3.0))
    found = says_yes(KnowsInk(), rows)
    assert found.flatten().tolist() == pytest.approx([low, low, low, high, low, low])
    assert says_yes(KnowsInk(), rows[:, :0]).shape == (2, 3)


class ReadsInk(nn.Module):
    """Names a picture by the ink in its first pixel."""

    def forward(self, pictures: Tensor) -> Tensor:
        return nn.functional.one_hot((10 * pictures[:, 0, 0]).round().long().clamp(0, 9), 10).float()


def test_each_figure_is_of_its_own_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = torch.linspace(0, 1, N_CODES)[:, None].expand(-1, 16)
    drawn = torch.zeros(4, 28, 28)
    drawn[:, 0, 0] = torch.tensor([0.2, 0.3, 0.4, 0.9])
    monkeypatch.setattr(training, "draw", lambda network, words, generator: (nearest(words), None))

    asked: list[Tensor] = []

    def says(network: nn.Module, ids: Tensor) -> Tensor:
        asked.append(ids)
        return torch.tensor([[1.0, 0.0, 0.0]] * 4) * (ids.shape[1] > 20)

    rows: list[Tensor] = []
    monkeypatch.setattr(training, "says_yes", says)
    monkeypatch.setattr(training, "loss_of_patches", lambda _, batch: rows.append(batch["ids"]) or torch.tensor(0.5))

    def nearest(words: Tensor) -> Tensor:
        """Every drawing of seven is drawn as an eight."""
        wanted = torch.where(words == 7, 8, words) / 10
        return (FIRST_CODE + (wanted * (N_CODES - 1)).round().long())[:, None].expand(-1, N_PATCHES)

    found = training.measured(Likes(), ReadsInk(), codes, drawn, torch.tensor([2, 3, 5, 9]))
    assert found["read_back"] == [0.9, round((0.09 / 1000) ** 0.5, 4)]
    assert found["as_they_are"][0] == 0.75
    assert found["written"][0] == 0.0  # all but one pixel of each patch is paper
    assert (found["drawings"], found["pictures"], found["loss"]) == (1000, 4, 0.5)
    assert rows[0][:, 0].tolist() == [2, 3, 5, 9]
    assert all(torch.equal(ids, rows[0][:, 1 : 1 + ids.shape[1]]) for ids in asked)
    # Digits 2, 3, 5, 9: one is even, one above five, two multiples of three; it says "even" of all.
    assert {name: mean for name, (mean, _) in found["answers"].items()} == {
        "even?": 0.25, "above five?": 0.75, "a multiple of three?": 0.5,
    }  # fmt: skip
    assert found["answered"][0] == 0.5
    assert found["answered"][1] == pytest.approx(np.std([3, 1, 2, 0], ddof=1) / 3 / 2, abs=1e-4)
    assert found["answered_after"]["49"] == found["answered"]
    assert found["answered_after"]["14"][0] == pytest.approx((3 + 3 + 2) / 12, abs=1e-4)
    assert list(found["answered_after"]) == ["0", "7", "14", "21", "28", "35", "42", "49"]


def test_the_card_tells_each_figure_where_it_belongs() -> None:
    names = ("read_back", "written", "as_they_are", "answered")
    test = {name: [0.9 + n / 100, (1 + n) / 1000] for n, name in enumerate(names)}
    metrics = {
        "test": test | {"drawings": 1000, "pictures": 2000, "loss": 0.77},
        "training": {"parameters": 12345, "steps": 678, "processor_seconds": 9},
        "recipe": {"batch_size": 64, "moved": 2},
    }
    words = " ".join(training.card(metrics).split())
    for told in (
        "1,000 drawings, as the word that they were drawn from | 90.0 ± 0.1 |",
        "2,000 digits that nobody learned from, written with the code book | 91.0 ± 0.2 |",
        "the same digits as they are | 92.0 ± 0.3 |",
        "3 questions about each of these digits, 93.0 ± 0.4 are right. Loss of a patch of these digits: 0.77 nats.",
        "with 12,345 parameters",
        "678 steps of 64 pictures to draw and 32 to be asked about",
    ):
        assert told in words, told


def test_a_code_book_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"codes\.safetensors"):
        code_book(tmp_path)


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
    said = capsys.readouterr().out
    for name in ("read_back", "answered"):
        mean, error = kept["test"][name]
        assert f"{name.replace('_', ' ')}: {100 * mean:.1f}% ± {100 * error:.1f}" in said


def test_the_recipe_is_the_one_that_the_figures_are_of() -> None:
    kept = drawing_metrics()["recipe"]
    assert (training.RECIPE.steps, training.BATCH_SIZE, training.ASKED, training.MOVED) == (12_000, 64, 32, 2)
    for name in ("warmup_steps", "decay_fraction", "peak_learning_rate"):
        assert getattr(training.RECIPE, name) == kept[name]
    assert drawing_metrics()["training"]["steps"] == training.RECIPE.steps
