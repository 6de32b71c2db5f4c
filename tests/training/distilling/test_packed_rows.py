"""Rows of several pairs: what stands where, and that each text is read as if it stood alone."""

import itertools
import random
from collections import Counter
from dataclasses import replace
from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from model.build import build_model
from model.families.encoder_decoder import EncoderDecoder
from model.text.tokenizer import EOS_ID, PAD_ID, SOS_ID, Tokenizer
from tests.small import CONFIG
from training.distilling.packed_rows import (
    OPEN_ROWS,
    WIDTH,
    Apart,
    collate_packed,
    in_one,
    packed_loader,
    positions,
    share_rows,
)
from training.loop.data import NO_VARIATION, Variation, collate
from training.loop.recipe import Recipe

LENGTHS = st.lists(st.tuples(st.integers(1, 31), st.integers(1, 31)), max_size=150)
TEXTS = st.lists(st.integers(3, 100), min_size=1, max_size=13)
ROWS = st.lists(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=4), min_size=1, max_size=3)
Row = list[tuple[list[int], list[int]]]


def batch_of(rows: list[Row]) -> dict[str, Tensor]:
    return collate_packed([(in_one([s for s, _ in row]), in_one([t for _, t in row])) for row in rows])


@given(LENGTHS)
def test_every_pair_stands_whole_in_one_row_and_no_row_is_too_long(lengths: list[tuple[int, int]]) -> None:
    rows = share_rows(lengths, 31)
    assert sorted(pair for row in rows for pair in row) == list(range(len(lengths)))
    for row in rows:
        assert row == sorted(row) != []
        assert max(sum(lengths[pair][side] for pair in row) for side in (0, 1)) <= 31


def test_only_the_newest_rows_are_looked_at() -> None:
    full, small = (30, 30), (1, 1)
    assert share_rows([*[full] * OPEN_ROWS, small], 31)[0] == [0, OPEN_ROWS]
    assert share_rows([*[full] * (OPEN_ROWS + 1), small], 31)[:2] == [[0], [1, OPEN_ROWS + 1]]


def test_rows_are_hardly_padded() -> None:
    rng = random.Random(1)
    lengths = [(n, max(2, n + rng.randint(-2, 3))) for n in (rng.randint(3, 30) for _ in range(3001))]
    assert sum(target for _, target in lengths) > 0.93 * WIDTH * len(share_rows(lengths))


def test_a_batch_by_hand() -> None:
    batch = batch_of([[([11, 12], [21]), ([13], [22, 23])], [([14], [24])]])
    expected = {
        "src_ids": [[11, 12, EOS_ID, 13, EOS_ID], [14, EOS_ID]],
        "tgt_ids": [[SOS_ID, 21, SOS_ID, 22, 23], [SOS_ID, 24]],
        "labels": [[21, EOS_ID, 22, 23, EOS_ID], [24, EOS_ID]],
    }
    assert {name: ids.tolist() for name, ids in batch.items()} == {
        name: [row + [PAD_ID] * (WIDTH - len(row)) for row in rows] for name, rows in expected.items()
    }


@given(st.lists(st.integers(1, 9), min_size=1, max_size=7))
def test_positions_begin_at_0_in_each_text(lengths: list[int]) -> None:
    texts = torch.tensor([[n for n, length in enumerate(lengths) for _ in range(length)]])
    assert positions(texts).tolist() == [[place for length in lengths for place in range(length)]]


@pytest.mark.parametrize("norm_place", ["post", "pre"])
@settings(max_examples=30)
@given(ROWS)
def test_each_pair_is_read_as_if_it_stood_alone(norm_place: str, rows: list[Row]) -> None:
    model, batch = model_of(norm_place), batch_of(rows)
    logits = model(batch["src_ids"], batch["tgt_ids"], Apart(batch["src_ids"], batch["tgt_ids"]))
    assert logits.isfinite().all(), "padding too sees something"
    for of_row, row in zip(logits, rows, strict=True):
        at = 0
        for pair in row:
            alone = collate([pair])
            expected = model(alone["src_ids"], alone["tgt_ids"])[0]
            torch.testing.assert_close(of_row[at : at + len(expected)], expected, rtol=1e-4, atol=1e-5)
            at += len(expected)


@cache
def model_of(norm_place: str) -> EncoderDecoder:
    torch.manual_seed(1)
    return build_model(replace(CONFIG, norm_place=norm_place, max_len=WIDTH)).eval().requires_grad_(False)


PAIRS = [(f"It's sentence {n}.", f"Das ist Satz {n}.") for n in range(211)]
MORE = [("A dog sees Tom.", "Ein Hund sieht Tom."), ("No.", "Nein.")]
RECIPE = Recipe(steps=3, batch_tokens=5 * WIDTH + 7, variation=NO_VARIATION)


def told(tokenizer: Tokenizer, epoch: int, recipe: Recipe = RECIPE) -> list[tuple[str, str]]:
    """The pairs of an epoch as they come; checks that each batch is full."""
    found = []
    for batch in packed_loader([PAIRS, MORE], tokenizer, recipe, 1, epoch):
        assert {ids.shape for ids in batch.values()} == {(5, WIDTH)}
        for source, labels in zip(batch["src_ids"].tolist(), batch["labels"].tolist(), strict=True):
            sides = ([tokenizer.decode(text) for text in texts(ids)] for ids in (source, labels))
            found.extend(zip(*sides, strict=True))
    return found


def texts(ids: list[int]) -> list[list[int]]:
    """The texts of a row, each up to its `<eos>`."""
    found: list[list[int]] = [[]]
    for id in ids:
        found[-1].append(id)
        if id == EOS_ID:
            found.append([])
    assert set(found.pop()) <= {PAD_ID}
    return found


def test_an_epoch_holds_all_pairs_of_all_parts_and_a_few_again(tokenizer: Tokenizer) -> None:
    found = told(tokenizer, 1)
    counted = Counter(found)
    assert counted.keys() == {*PAIRS, *MORE}
    assert set(counted.values()) <= {1, 2}
    place = [PAIRS.index(pair) for pair in found if pair in PAIRS]
    assert sum(right == left + 1 for left, right in itertools.pairwise(place)) < len(PAIRS) / 10, "in random order"


def test_an_epoch_depends_on_seed_and_number_alone(tokenizer: Tokenizer) -> None:
    recipe = replace(RECIPE, variation=Variation())
    found = told(tokenizer, 4, recipe)
    random.seed(5)
    assert told(tokenizer, 4, recipe) == found != told(tokenizer, 5, recipe)


def test_pairs_are_joined_within_their_part(tokenizer: Tokenizer) -> None:
    joined = told(tokenizer, 1, replace(RECIPE, variation=Variation(0, 0, 0, 0, join=1)))
    assert any(english.count("sentence") == 2 for english, _ in joined)
    assert any(english.count("dog") + english.count("No.") == 2 for english, _ in joined)
    assert not [english for english, _ in joined if ("dog" in english or "No." in english) and "sentence" in english]
