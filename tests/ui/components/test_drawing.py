"""What the sheet to draw on sends: checked, and not believed."""

from base64 import b64encode

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ui.components.drawing import MOST_NUMBERS, MOST_STROKES, PHOTO, SIDE, Drawn, Photo, Sample, read

json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda one: st.lists(one) | st.dictionaries(st.text(), one),
)


def test_strokes_are_points_in_their_order() -> None:
    assert read(["strokes", [[0, 0, 10, 20, SIDE, 5], [], [7, 8]]], 3) == Drawn(
        (((0, 0), (10, 20), (SIDE, 5)), ((7, 8),))
    )
    assert read(["strokes", []], 3) == Drawn(())


def test_a_photo_is_grey_from_black_to_white() -> None:
    grey = np.arange(PHOTO**2, dtype=np.uint8)
    found = read(["photo", b64encode(grey.tobytes()).decode()], 3)
    assert isinstance(found, Photo)
    assert found.grey.shape == (PHOTO, PHOTO)
    assert found.grey.dtype == np.float32
    assert np.allclose(255 * found.grey.ravel(), grey)


def test_a_sample_is_one_there_is() -> None:
    assert [read(["sample", n], 3) for n in (-1, 0, 2, 3)] == [None, Sample(0), Sample(2), None]


@pytest.mark.parametrize(
    "sent",
    [
        ["strokes", [[1, 2, 3]]],
        ["strokes", [[1, -1]]],
        ["strokes", [[1, SIDE + 1]]],
        ["strokes", [[1, 2.5]]],
        ["strokes", [[True, 1]]],
        ["strokes", [[1, float("nan")]]],
        ["strokes", ["12"]],
        ["strokes", [[1, 2]] * (MOST_STROKES + 1)],
        ["strokes", [[1, 2] * MOST_NUMBERS]],
        ["strokes", [[1, 2] * (MOST_NUMBERS // 2)] * 3],
        ["photo", "?"],
        ["photo", "AAAA"],
        ["photo", 7],
        ["sample", "0"],
        ["other", 1],
        [],
    ],
)
def test_what_cannot_be_is_nothing(sent: object) -> None:
    assert read(sent, 3) is None


@given(json, st.sampled_from(["strokes", "photo", "sample"]))
def test_anything_is_read_or_is_nothing(sent: object, kind: str) -> None:
    for one in (sent, [kind, sent]):
        assert read(one, 3) is None or isinstance(read(one, 3), Drawn | Photo | Sample)
