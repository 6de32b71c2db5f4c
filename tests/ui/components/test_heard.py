"""What a scene shows of a sound: groups of strips, and a spectrogram that one frame lends the others."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from model.sound.ctc import collapsed
from ui.components.scene import Heard

SIGNS = "–012"


@given(st.lists(st.integers(0, 3), max_size=20), st.integers(0, 20))
def test_cards_are_the_groups_that_are_read_out(path: list[int], upto: int) -> None:
    shown = Heard([(SIGNS[one], 0.5) for one in path], upto, "–", 4)
    cards = shown.cards()
    assert [int(text) for *_, text in cards] == collapsed(path[:upto])
    said = {at: text for first, last, text in cards for at in range(first, last + 1)}
    assert said == {at: SIGNS[one] for at, one in enumerate(path[:upto]) if one}


def test_the_spectrogram_stands_on_its_feet_and_is_sent_once() -> None:
    drawn = np.array([[0.0, 1.0, 0.5], [0.25, 0.0, 0.0]])  # the lower pitch is loud
    loud = np.array([0.0, 1.0, 0.5])
    first = Heard([("–", 1.0)], 0, "–", 3, drawn, loud).sent()
    assert (first["ink"], first["high"], first["loud"]) == ("9000zi", 2, "0zi")
    other = Heard([("–", 1.0)], 1, "–", 3).sent()
    assert not {"ink", "high", "loud"} & other.keys()
    json.dumps([first, other])
