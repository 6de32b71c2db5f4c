"""What is drawn or photographed becomes a picture as the readers know it: in the middle, of one size."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.pictures.sheet import BOX, SIDE, box_of, centred, drawn, in_box, ink_of_photo
from model.files.load_pictures import load_vision, samples, trace_picture

SEVEN = [[(0.2, 0.2), (0.8, 0.2), (0.45, 0.9)]]
point = st.tuples(*[st.floats(0, 1, width=32)] * 2)
strokes = st.lists(st.lists(point, max_size=8), max_size=4)


def mass(picture: np.ndarray) -> np.ndarray:
    """Its centre (row, column)."""
    places = np.stack(np.meshgrid(np.arange(SIDE), np.arange(SIDE), indexing="ij"))
    return np.asarray((places * picture).sum((1, 2)) / picture.sum())


@given(strokes)
def test_a_drawing_is_a_picture_and_lies_in_the_middle(lines: list[list[tuple[float, float]]]) -> None:
    picture = drawn(lines)
    assert picture.shape == (SIDE, SIDE)
    assert picture.dtype == np.float32
    assert picture.min() >= 0
    assert picture.max() <= 1
    assert picture.any() == any(lines)
    if box := box_of(picture):
        height, width = (of.stop - of.start for of in box)
        assert max(height, width) <= BOX + 1
        off = np.abs(mass(picture) - (SIDE - 1) / 2)
        touches = [of.start == 0 or of.stop == SIDE for of in box]
        assert all(one <= 0.51 or edge for one, edge in zip(off, touches, strict=True))


@pytest.mark.parametrize(("times", "x", "y"), [(0.25, 0.7, 0.1), (0.5, 0.0, 0.5)])
def test_it_does_not_matter_where_or_how_large_one_draws(times: float, x: float, y: float) -> None:
    elsewhere = [[(times * a + x, times * b + y) for a, b in stroke] for stroke in SEVEN]
    assert np.allclose(drawn(elsewhere), drawn(SEVEN), atol=1e-5)


@pytest.mark.parametrize("n", [2, 199, 200, 201, 500])
def test_it_does_not_matter_in_how_many_pieces_one_draws_a_line(n: int) -> None:
    pieces = [(0.2 + 0.6 * at / n, 0.9 - 0.4 * at / n) for at in range(n + 1)]
    assert np.allclose(drawn([pieces]), drawn([[pieces[0], pieces[-1]]]), atol=1e-5)


def test_a_line_is_inked_along_its_way_and_as_wide_as_the_pen() -> None:
    upright = drawn([[(0.5, 0.1), (0.5, 0.9)]])
    rows, columns = box_of(upright) or pytest.fail("no ink")
    assert rows.stop - rows.start == BOX
    assert columns.stop - columns.start == 4  # 2.6 pixels wide, in the middle between two columns
    assert np.allclose(upright[10:18].sum(1), 2.6)
    assert drawn([[(0.4, 0.4)]]).sum() == pytest.approx(np.pi * 1.3**2, abs=0.5)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("n", range(10))
def test_a_photo_of_a_digit_is_read(n: int, dark: bool) -> None:
    """Whatever its size, wherever, on grey paper or on a blackboard."""
    digit = samples()[0][n]
    large = np.zeros((112, 112), np.float32)
    large[40:96, 10:66] = np.kron(digit, np.ones((2, 2)))
    photo = 0.8 - 0.6 * large if not dark else 0.1 + 0.7 * large
    found = in_box(ink_of_photo(photo.astype(np.float32)))
    assert found.dtype == np.float32
    assert trace_picture(load_vision(), found).translation == str(n)


@pytest.mark.parametrize(("high", "wide", "is_ink"), [(30, 1, True), (60, 1, True), (3, 3, False)])
def test_a_thin_stroke_is_ink_and_a_speck_is_not(high: int, wide: int, is_ink: bool) -> None:
    photo = np.full((112, 112), 0.9, np.float32)
    photo[40 : 40 + high, 50 : 50 + wide] = 0.1
    assert bool(ink_of_photo(photo).any()) == is_ink


def test_paper_is_what_most_of_the_border_is_and_so_is_all_that_differs_little_from_it() -> None:
    photo = np.full((112, 112), 0.8, np.float32)
    photo[:, 0] = photo[0, :30] = 0.2  # the edge of a table
    photo[20:30, 20:30], photo[40:50, 20:30], photo[60:90, 20:90] = 0.65, 0.5, 0.3
    photo[100, 100] = 0  # a speck
    ink = ink_of_photo(photo)
    assert [float(ink[at, 25]) for at in (10, 25, 45, 75)] == pytest.approx([0, 0, 0.5, 0.5 / 0.6], abs=1e-5)
    photo[:, 0] = photo[0, :30] = 0.8
    ink = ink_of_photo(photo)
    assert [float(ink[at, 25]) for at in (10, 25, 45, 75)] == pytest.approx([0, 0, 0.6, 1], abs=1e-5)


def test_a_photo_keeps_its_proportions() -> None:
    for ink in (np.ones((10, 40)), np.ones((80, 20))):
        shape = [of.stop - of.start for of in box_of(in_box(ink.astype(np.float32))) or ()]
        assert shape == [BOX * side // max(ink.shape) for side in ink.shape]


@given(st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_a_sheet_without_a_thing_on_it_has_no_ink(light: float, seed: int) -> None:
    noise = 0.03 * np.random.default_rng(seed).random((112, 112))
    paper = np.clip(light + noise, 0, 1).astype(np.float32)
    assert not ink_of_photo(paper).any()
    assert not in_box(ink_of_photo(paper)).any()


def test_nothing_is_pushed_over_the_edge() -> None:
    sheet = np.zeros((SIDE, SIDE), np.float32)
    sheet[0:20, 3], sheet[0, 3:27] = 1, 1  # its mass lies far from the middle of its box
    assert centred(sheet).sum() == sheet.sum()
