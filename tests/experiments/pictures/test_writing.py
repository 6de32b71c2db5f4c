"""Pictures that are written: laws, on the decoder that comes with the app."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.pictures.looking import chances, hidden
from experiments.pictures.writing import answers, drawing, in_patches
from model.families.drawing import FIRST_CODE, LOOK, N_PATCHES
from model.files.load_drawing import code_book, load_drawing, trace_drawing
from model.files.load_pictures import load_vision, samples


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 9), st.integers(1, 12), st.integers(0, 48), st.integers(FIRST_CODE, LOOK - 1))
def test_a_forced_patch_stands_where_it_is_put_and_changes_nothing_before_it(
    word: int, seed: int, place: int, code: int
) -> None:
    free, forced = (drawing(load_drawing(), word, seed, 1.0, pair) for pair in (None, (place, code)))
    assert forced.ids[place] == code
    assert forced.ids[:place] == free.ids[:place]
    assert np.array_equal(forced.chances[: place + 1], free.chances[: place + 1])
    assert all(FIRST_CODE <= one < LOOK for one in free.ids)


def test_other_dice_draw_another_picture_and_the_same_ones_the_same() -> None:
    one, again, other = (drawing(load_drawing(), 7, seed).ids for seed in (1, 1, 2))
    assert one == again != other


def test_what_is_not_drawn_yet_is_paper() -> None:
    shown = drawing(load_drawing(), 8, 3)
    half = shown.picture(24)
    assert np.array_equal(half[:12], shown.picture()[:12])
    assert not half[16:].any()
    assert not half[12:16, 12:].any()
    assert in_patches(shown.picture()) == shown.ids
    assert not code_book()[0].any()


def test_the_probabilities_are_those_that_the_row_gives_once_it_is_written() -> None:
    shown = drawing(load_drawing(), 3, 5, temperature=0.6)
    read = trace_drawing(load_drawing(), (3, *shown.ids))
    scores = torch.from_numpy(read.tensors["logits"].copy())[:, FIRST_CODE:LOOK]
    assert np.allclose((scores / 0.6).softmax(-1).numpy(), shown.chances, atol=1e-5)
    assert [token.text for token in read.tgt] == ["three", *map(str, range(1, N_PATCHES))]
    assert [token.text for token in read.labels] == [*map(str, range(1, N_PATCHES + 1))]


def test_it_answers_about_most_samples_as_is_true() -> None:
    pictures, labels = samples()
    right = 0
    for picture, label in zip(pictures[:10], labels[:10].tolist(), strict=True):
        said = answers(load_drawing(), in_patches(picture)) > 0.5
        right += int((said == [label % 2 == 0, label > 5, label % 3 == 0]).sum())
    assert right >= 27
    assert answers(load_drawing(), ()).shape == (3,)


def test_the_lesson_opens_on_a_seven_that_one_other_patch_makes_another_digit_of() -> None:
    free, forced = (drawing(load_drawing(), 7, 4, 1.0, pair) for pair in (None, (10, LOOK - 1)))
    reads = [chances(hidden(load_vision(), one.picture(), frozenset())).argmax() for one in (free, forced)]
    assert reads[0] == 7
    assert reads[1] != 7
