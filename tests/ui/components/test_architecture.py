"""What the map sends to the browser: every block, honest pictures, the right words, few bytes."""

import json
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from figures.thumbnails import HIDDEN, value_thumbnail, weight_thumbnail
from model.files.loaded_model import load_model
from model.text.tokenizer import Token
from model.trace import Trace, trace
from tests.course import LESSONS
from ui.components.architecture import architecture_data, block_ids

MODEL = load_model()
IDS = block_ids(MODEL)


def whole_trace(n: int) -> Trace:
    """Of n pieces drawn at random, read and written; the last sign of each comes on top."""
    encode, random = MODEL.tokenizer.encode, np.random.default_rng(7)
    texts = (MODEL.tokenizer.decode([id]) for id in random.permutation(np.arange(1000, 8000)).tolist())
    words = list(islice((text for text in texts if text.isalpha() and len(encode(text)) == 1), n))
    return trace(MODEL, " ".join(words), target=" ".join(reversed(words)))


def test_lessons_name_blocks_of_the_map() -> None:
    assert {block for lesson in LESSONS for block in lesson.on_map.opens} <= {*IDS}


def test_zeros_are_the_middle_of_the_scale() -> None:
    assert (value_thumbnail(np.zeros((3, 5))).pixels == 127).all()


def test_of_many_dimensions_both_sines_and_cosines_are_shown() -> None:
    assert value_thumbnail(np.zeros((41, 512))).every == (3, 33)


def test_numbers_that_are_none_do_not_spoil_a_picture() -> None:
    small = value_thumbnail(np.array([[np.nan, np.inf, -2.0]]))
    assert small.pixels.tolist() == [[127, 127, 0]]


def test_masked_cells_are_marked_and_joined_ones_only_if_all_are_masked() -> None:
    hidden = np.triu(np.ones((6, 6), bool), 1)
    whole = weight_thumbnail(np.zeros((2, 6, 6)), hidden).pixels
    assert ((whole == HIDDEN) == hidden).all()
    joined = weight_thumbnail(np.zeros((2, 6, 6)), hidden, side=3).pixels
    assert ((joined == HIDDEN) == np.triu(np.ones((3, 3), bool), 1)).all()


@pytest.mark.parametrize("n", [1, 6, 20, 30, 40, 60, 64, 100])
def test_the_message_stays_small(n: int) -> None:
    links = dict.fromkeys(IDS, "Scaled dot-product attention")
    data = architecture_data(MODEL, links=links, trace=whole_trace(n))
    assert len(json.dumps(data, ensure_ascii=False).encode()) < 24_000
    pictures = sum(len(block["picture"]["pixels"]) for block in data["blocks"] if "picture" in block)
    assert pictures < 11_000


def test_without_a_sentence_there_are_no_numbers() -> None:
    blocks = {block["id"]: block for block in architecture_data(MODEL, links={}, trace=None)["blocks"]}
    assert not [block for block in blocks.values() if "numbers" in block or "picture" in block]
    assert blocks["encoder.stack"]["label"].endswith(" ×3")


def test_a_block_that_does_not_exist_is_named() -> None:
    with pytest.raises(ValueError, match=r"The map has no block 'encoder\.attn', 'x'; it has tokenize, encoder\."):
        architecture_data(MODEL, links={"encoder.attn": "…", "x": "…"}, trace=None)


def test_invisible_characters_of_a_piece_are_shown() -> None:
    odd = (Token(9, "\u202egnp", 0), Token(8, "", -1))
    one = replace(whole_trace(1), src=odd, translation="")
    data = architecture_data(MODEL, links={}, trace=one)
    assert data["stacks"][0]["tokens"] == ["‹U+202E›gnp", "␣"]
    assert data["output"] == "(nothing)"
