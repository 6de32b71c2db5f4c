"""Two towers: what they learn from, and what is measured of them."""

import io
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from safetensors.torch import load_file

from model.build_beyond_text import build_towers
from model.families.two_towers import TowersConfig, parts_of_texts
from model.files.checkpoint import CheckpointError
from model.files.load_clip import (
    Emoji,
    clip_metrics,
    emoji,
    known_words,
    load_text_tower,
    load_towers,
    picture_file,
    picture_vectors,
    temperature,
    trace_text,
)
from training import clip as training

CAT = training.Emoji(
    "cat face",
    ("cat face", "cat face, pet", "pet, whiskers"),
    ("pet", "whiskers", "kitten"),
    ("pet", "whiskers"),
    "train",
)


def write_emoji(folder: Path, n: int = 9) -> list[str]:
    """Pictures of one colour each; every third one for testing."""
    shades = np.linspace(0, 250, n).astype(np.uint8)
    np.savez(folder / "e.npz", image=np.broadcast_to(shades[:, None, None, None], (n, 32, 32, 3)))
    lines = ["index\tname\tdescriptions\tkeywords\theld-out description\tsplit"]
    for at in range(n):
        split = "test" if at % 3 == 2 else "train"
        lines.append(f'{at}\tname{at} "x\tname{at} | name{at}, one\tone | two{at} | three{at}\tone, two{at}\t{split}')
    (folder / "e.tsv").write_text("\n".join(lines) + "\n")
    (folder / "t.txt").write_text("\n\n".join(" ".join(f"name{n} w{n} w{n + 1}" for n in range(130)) for _ in range(5)))
    return [str(folder / name) for name in ("e.npz", "e.tsv", "t.txt")]


def test_pictures_and_words_are_read_in_one_order(tmp_path: Path) -> None:
    pictures, told = training.read_emoji(*map(Path, write_emoji(tmp_path)[:2]))
    assert pictures.shape == (9, 32, 32, 3)
    assert pictures[8].unique().tolist() == pytest.approx([250 / 255])
    assert told[4] == training.Emoji(
        'name4 "x', ("name4", "name4, one"), ("one", "two4", "three4"), ("one", "two4"), "train"
    )
    drawn, of = training.learned_from(pictures, told, "test")
    assert [emoji.name for emoji in of] == ['name2 "x', 'name5 "x', 'name8 "x']
    assert torch.equal(drawn, pictures[[2, 5, 8]])
    np.savez(tmp_path / "e.npz", image=np.zeros((8, 32, 32, 3), np.uint8))
    with pytest.raises(ValueError, match=r"8 pictures, .* has 9 rows"):
        training.read_emoji(tmp_path / "e.npz", tmp_path / "e.tsv")


def test_no_text_of_training_joins_two_held_out_words() -> None:
    assert training.texts_of(CAT) == [
        *("cat face", "cat face, pet", "pet", "whiskers", "kitten"),
        *("pet, kitten", "whiskers, kitten", "kitten, pet", "kitten, whiskers"),
    ]


def test_half_of_the_texts_are_descriptions() -> None:
    generator, texts = torch.Generator().manual_seed(1), training.texts_of(CAT)
    drawn = [training.drawn_text(CAT, texts, generator) for _ in range(2000)]
    assert set(drawn) == set(texts)
    assert 0.45 < sum(text in CAT.descriptions for text in drawn) / len(drawn) < 0.55
    one = training.Emoji("a", ("a",), (), (), "train")
    assert training.drawn_text(one, training.texts_of(one), generator) == "a"


def test_pictures_vary_and_white_comes_in_at_the_edges() -> None:
    drawn = torch.ones(300, 32, 32, 3)
    drawn[:, 14:18, 20:24] = torch.tensor([0.0, 0.5, 1.0])  # a spot right of the middle
    made = training.varied(drawn, torch.Generator().manual_seed(1))
    assert made.shape == drawn.shape
    assert made.min() >= 0
    assert made.max() <= 1
    assert made[:, 0].mean() > 0.95
    ink = 1 - made[..., 0]
    weight = ink.where(ink > 0.4, 0)
    column = (weight.sum(1) * torch.arange(32)).sum(1) / weight.sum((1, 2)).clamp(min=1e-6)
    seen = column[weight.sum((1, 2)) > 0] - 15.5
    assert 0.35 < (seen < 0).double().mean() < 0.65  # every second one mirrored
    assert seen.abs().max() > 9  # moved and scaled
    spots = made[made[..., 0] < 0.4]
    assert spots[:, 0].mean() < spots[:, 1].mean() < spots[:, 2].mean()  # red is gone most


def test_batches_are_the_same_every_time_and_each_picture_has_its_own_text() -> None:
    told = [training.Emoji(f"n{at}", (f"word{at}",), (), (), "train") for at in range(training.BATCH_SIZE + 5)]
    drawn = torch.arange(len(told))[:, None, None, None].expand(-1, 4, 4, 3).float()
    calls: list[torch.Tensor] = []

    def noted(pictures: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        calls.append(pictures)
        return pictures

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "varied", noted)
        first, again = (next(training.batches(drawn, told, 4096)) for _ in range(2))
    assert all(torch.equal(first[name], again[name]) for name in first)
    which = first["pictures"][:, 0, 0, 0].int().tolist()
    assert len(set(which)) == training.BATCH_SIZE
    assert torch.equal(first["parts"], parts_of_texts([f"word{n}" for n in which], 4096))


@given(st.integers(1, 12), st.integers(0, 99))
def test_a_picture_is_found_if_fewer_than_five_are_nearer(n: int, seed: int) -> None:
    fits = torch.rand(n, n, generator=torch.Generator().manual_seed(seed))
    nearer = [sum(one > row[at] for one in row) for at, row in enumerate(fits.tolist())]
    assert training.found(fits).tolist() == [count < 5 for count in nearer]


class Knows:
    """Towers that tell pictures by their shade, and texts by what they are told to know."""

    def __init__(self, known: Sequence[str]) -> None:
        self.known = {str(parts_of_texts([text], 4096).tolist()): at for at, text in enumerate(known)}

    def pictures(self, pictures: torch.Tensor) -> torch.Tensor:
        return around((30 * pictures[:, 0, 0, 0]).round())

    def texts(self, parts: torch.Tensor) -> torch.Tensor:
        return around(torch.tensor([float(self.known.get(str(parts.tolist()), 45))]))


def around(at: torch.Tensor) -> torch.Tensor:
    """Points on a circle."""
    return torch.stack([torch.cos(at / 15), torch.sin(at / 15)], 1)


def test_each_figure_is_of_its_own_pictures_and_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "VIEWS", 0)  # the shade of a copy is another one
    split = ["train", "train", "test"] * 10
    told = [training.Emoji(f"name{n}", (), (), (f"a{n}", f"b{n}"), split[n]) for n in range(30)]
    drawn = (torch.arange(30.0) / 30)[:, None, None, None].expand(-1, 2, 2, 3)
    known, new = [f"name{n}" for n in range(30)], [f"a{n}, b{n}" for n in range(30)]
    for texts, expected in ((known, (1.0, 0.25, 1.0)), (new, (0.25, 1.0, 0.5))):
        figures = training.measured(Knows(texts), TowersConfig(n_parts=4096), drawn, told)  # type: ignore[arg-type]
        shares = [of["found"][0] for of in figures.values()]
        assert [*figures] == ["known", "new words", "unseen"]
        assert shares == list(expected)
    assert [of["pictures"] for of in figures.values()] == [20, 20, 10]
    assert [of["chance"] for of in figures.values()] == [0.25, 0.25, 0.5]
    assert figures["unseen"]["found"][1] == round(math.sqrt(0.25 / 10), 4)
    told[0] = training.Emoji("name0", (), (), (), "train")  # has no such words, so that nobody asks for it
    figures = training.measured(Knows(new), TowersConfig(n_parts=4096), drawn, told)  # type: ignore[arg-type]
    assert (figures["new words"]["found"][0], figures["new words"]["pictures"]) == (1.0, 19)


@pytest.mark.slow  # trains
def test_the_command_writes_what_it_promises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    monkeypatch.setattr("sys.argv", ["", *write_emoji(tmp_path), "--out", str(out), "--steps", "2"])
    training.main()
    assert {path.name for path in out.iterdir()} == {
        *("model.safetensors", "config.json", "vectors.safetensors", "metrics.json", "README.md"),
        *("pictures.safetensors", "emoji.tsv"),
    }
    kept = json.loads((out / "metrics.json").read_text())
    assert kept["training"]["steps"] == 2
    assert kept["test"]["known"]["pictures"] == 6
    assert kept["test"]["unseen"]["pictures"] == 3
    assert (out / "README.md").read_text() == training.card(kept)
    vectors = load_file(out / "vectors.safetensors")["vectors"].float()
    assert vectors.shape == (9, 64)
    assert torch.allclose(vectors.norm(dim=1), torch.ones(9), atol=1e-3)
    assert "unseen: 100.0% ± 0.0 (chance 100.0%)" in capsys.readouterr().out
    assert [Image.open(io.BytesIO(picture_file(n, out))).getpixel((0, 0))[0] for n in (0, 4, 8)] == [0, 125, 250]
    assert emoji(out)[2] == Emoji('name2 "x', False, frozenset(("name2", "one", "two2", "three2")))
    assert {"one", "three0"} <= {*known_words(1, out)}
    assert known_words(6, out) == ("one",)
    assert "three2" not in known_words(1, out)
    read = trace_text(load_text_tower(out), "the name3, One")
    assert [token.text for token in read.src] == ["name3", "one"]
    assert temperature(out) == load_towers(out)[0].temperature.item()


def test_a_pictures_vector_is_the_mean_over_its_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    network, drawn = build_towers(TowersConfig(n_parts=9)).eval(), torch.rand(3, 32, 32, 3)
    monkeypatch.setattr(training, "VIEWS", 2)
    shades = iter((0.5, 0.0))
    monkeypatch.setattr(training, "varied", lambda pictures, generator: next(shades) * pictures)
    with torch.no_grad():
        views = network.pictures(drawn) + network.pictures(0.5 * drawn) + network.pictures(0 * drawn)
    mean = views / views.norm(dim=1, keepdim=True)
    assert torch.allclose(training.vectors_of(network, drawn), mean, atol=1e-6)


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 99))
def test_a_png_is_the_picture_as_it_was(high: int, wide: int, seed: int) -> None:
    drawn = np.random.default_rng(seed).integers(0, 256, (high, wide, 3), np.uint8)
    file = training.as_png(torch.from_numpy(drawn / 255))
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(file))), drawn)


@pytest.mark.parametrize(
    ("file", "read"),
    [
        ("config.json", load_towers),
        ("emoji.tsv", emoji),
        ("vectors.safetensors", picture_vectors),
        ("metrics.json", clip_metrics),
        ("pictures.safetensors", lambda folder: picture_file(0, folder)),
    ],
)
def test_a_file_that_is_missing_is_named(file: str, read: Callable[[Path], object], tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=file.replace(".", r"\.")):
        read(tmp_path)


def test_the_shipped_vectors_are_those_of_the_shipped_pictures() -> None:
    some = range(0, len(emoji()), 36)
    files = [Image.open(io.BytesIO(picture_file(n))) for n in some]
    drawn = torch.stack([torch.from_numpy(np.array(file)) for file in files]).float() / 255
    with torch.no_grad():
        own = torch.nn.functional.normalize(load_towers()[0].pictures(drawn), dim=-1).numpy()
    cosines = picture_vectors() @ own.T
    assert len(picture_vectors()) == len(emoji())
    found = cosines.argmax(0) == np.array(some)  # but for a few that look like others
    assert found.mean() > 0.9
    assert min(cosines[n, at] for at, n in enumerate(some)) > 0.7


def test_the_recipe_is_the_one_that_the_figures_are_of() -> None:
    assert (training.RECIPE.steps, training.BATCH_SIZE, training.NEAREST, training.VIEWS) == (8_000, 128, 5, 16)
