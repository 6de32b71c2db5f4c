"""Two towers: how texts are cut, what a text's vector hangs on, and what belongs together."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from model.anatomy.describe import anatomy_of
from model.build_beyond_text import build_towers
from model.families.pictures import PictureConfig, cut_into_patches
from model.families.two_towers import (
    MOST_PARTS,
    MOST_WORDS,
    TowersConfig,
    TwoTowers,
    all_words,
    contrastive_loss,
    parts_of,
    parts_of_texts,
    words_of,
)
from model.tap import Recorder

SMALL = TowersConfig(
    PictureConfig(8, 4, n_classes=6, d_model=10, n_heads=2, n_layers=2, d_ff=11, channels=3), 50, 10, 2, 1, 11
)


def stirred() -> TwoTowers:
    torch.manual_seed(0)
    model = build_towers(SMALL)
    for parameter in model.parameters():
        parameter.data.add_(0.3 * torch.randn_like(parameter))
    return model.eval()


def test_a_text_is_cut_into_words_in_small_letters_without_marks() -> None:
    assert all_words("A Cat's face — naïve, 3rd!") == ["a", "cat", "s", "face", "naive", "3rd"]
    assert all_words("a_b 🙂 ...") == ["a", "b"]


def test_small_words_are_read_only_if_there_are_no_others() -> None:
    assert words_of("A cake WITH the candles") == ["cake", "candles"]
    assert words_of("to the") == ["to", "the"]
    assert words_of(f"the {'and ' * 20}{'cat ' * 20}") == ["cat"] * MOST_WORDS


@given(st.text(max_size=200))
def test_any_text_has_parts(text: str) -> None:
    words, parts = words_of(text), parts_of_texts([text, "cat"], 50)
    assert len(words) <= MOST_WORDS
    assert parts.shape[1] == max(1, len(words))
    assert parts.shape[2] <= MOST_PARTS
    assert parts.max() < 50
    assert [int((row > 0).any()) for row in parts[0]] == [1] * len(words) + [0] * (parts.shape[1] - len(words))


def test_a_word_has_a_row_for_itself_and_one_for_each_trigram() -> None:
    assert len(parts_of("cat", 4096)) == 4  # <cat>, <ca, cat, at>
    assert set(parts_of("cat", 4096)) & set(parts_of("cats", 4096)) == set(parts_of("cat", 4096)[1:3])
    assert 0 not in parts_of("cat", 4)


def test_a_texts_vector_hangs_on_its_words_and_not_on_their_order_or_on_its_neighbours() -> None:
    tower = stirred().texts
    with torch.no_grad():
        alone = tower(parts_of_texts(["red cat"], 50))
        among = tower(parts_of_texts(["red cat", "a much longer text of words", ""], 50))
        assert torch.allclose(among[:1], alone, atol=1e-6)
        assert torch.allclose(tower(parts_of_texts(["Cat, red!"], 50)), alone, atol=1e-6)
        assert not torch.allclose(tower(parts_of_texts(["red dog"], 50)), alone, atol=1e-2)
        assert among.isfinite().all()


@given(st.integers(1, 3), st.integers(1, 3))
def test_a_patch_in_colour_holds_one_colour_after_the_other(down: int, right: int) -> None:
    pictures = torch.arange(2.0 * 2 * down * 3 * right * 3).reshape(2, 2 * down, 3 * right, 3)
    patches = cut_into_patches(pictures, 2, 3)
    planes = [cut_into_patches(pictures[..., colour], 2, 3) for colour in range(3)]
    assert torch.equal(patches, torch.cat(planes, 2))


def test_fits_are_cosines_over_the_temperature() -> None:
    model, pictures = stirred(), torch.rand(3, 8, 8, 3)
    parts = parts_of_texts(["red cat", "dog", "a house"], 50)
    with torch.no_grad():
        fits, drawn, told = model(pictures, parts), model.pictures(pictures), model.texts(parts)
    temperature = model.temperature.item()
    assert temperature == pytest.approx(math.exp(-model.cold.item()))
    for n, picture in enumerate(drawn):
        for m, text in enumerate(told):
            cosine = torch.dot(picture, text) / picture.norm() / text.norm()
            assert fits[n, m].item() == pytest.approx(float(cosine) / temperature, abs=1e-4)


def test_the_temperature_begins_at_a_tenth_and_stops_at_a_hundredth() -> None:
    model = build_towers(SMALL)
    assert model.temperature.item() == pytest.approx(0.1)
    model.cold.data += 10
    assert model.temperature.item() == pytest.approx(0.01)


def test_the_loss_by_hand() -> None:
    fits = torch.tensor([[2.0, 1.0], [0.0, 3.0]])
    rows = [math.log(1 + math.exp(-1)), math.log(1 + math.exp(-3))]  # of each picture's right text
    columns = [math.log(1 + math.exp(-2)), math.log(1 + math.exp(-2))]
    assert contrastive_loss(fits).item() == pytest.approx((sum(rows) + sum(columns)) / 4)


@pytest.mark.parametrize("tower", ["pictures", "texts"])
def test_its_description_names_every_value_and_what_it_was_made_of(tower: str) -> None:
    model, recorder = getattr(build_towers(SMALL), tower), Recorder()
    given = torch.rand(1, 8, 8, 3) if tower == "pictures" else parts_of_texts(["red cat"], 50)
    with torch.no_grad():
        model(given, tap=recorder)
    anatomy = anatomy_of(model)
    assert recorder.tensors.keys() == anatomy.tensors.keys()
    assert all({*made.reads} <= anatomy.tensors.keys() for made in anatomy.tensors.values())
    used = {weight for made in anatomy.tensors.values() for weight in made.weights}
    assert used == {key for key, _ in model.named_parameters()}
