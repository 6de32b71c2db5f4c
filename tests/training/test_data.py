"""Sentence pairs: read, varied, batched."""

import random
import re
from collections import Counter
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from model.tokenizer import EOS_ID, PAD_ID, SOS_ID, Tokenizer
from training.data import NO_VARIATION, Variation, collate, epoch_loader, length_batches, read_pairs

PAIRS = [(f"It's sentence {n}.", f"Das ist Satz {n}.") for n in range(211)]
LENGTHS = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), max_size=150)


def test_pairs_are_read_and_normalised(tmp_path: Path) -> None:
    first, second = tmp_path / "a.tsv", tmp_path / "b.tsv"
    first.write_text("It’s  late.\tEs ist spät.\nYes.\tJa.\n", encoding="utf-8")
    second.write_text("No.\tNein.", encoding="utf-8")
    assert read_pairs([first, second]) == [("It's late.", "Es ist spät."), ("Yes.", "Ja."), ("No.", "Nein.")]


def test_a_line_without_a_tab_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("Yes.\tJa.\nNo. Nein.\n", encoding="utf-8")
    message = f"{path}, line 2: expected English, a tab, German; got 'No. Nein.'"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        read_pairs([path])


def test_no_variation_changes_nothing() -> None:
    assert NO_VARIATION.apply(PAIRS, random.Random(1)) == PAIRS


def test_variation_leaves_german_alone() -> None:
    varied = Variation(0.5, 0.5, 0.5, 0.5, join=0).apply(PAIRS, random.Random(1))
    assert [german for _, german in varied] == [german for _, german in PAIRS]
    assert len({english for english, _ in varied} - {english for english, _ in PAIRS}) > 100


def test_joined_pairs_are_joined_on_both_sides() -> None:
    german_of = dict(PAIRS)
    varied = Variation(0, 0, 0, 0, join=0.5).apply(PAIRS, random.Random(1))
    joined = 0
    for (english, german), (first, _) in zip(varied, PAIRS, strict=True):
        second = english.removeprefix(first).strip()
        assert german == f"{german_of[first]} {german_of[second]}" if second else german == german_of[first]
        joined += bool(second)
    assert 80 < joined < 130


@pytest.mark.parametrize(
    ("variation", "english", "expected"),
    [
        (Variation(1, 0, 0, 0, 0), "Tom's Dog is ill!", "tom's Dog is ill!"),
        (Variation(0, 1, 0, 0, 0), "Tom's Dog is ill!", "tom's dog is ill!"),
        (Variation(0, 0, 1, 0, 0), "Tom's Dog is ill!", "Tom's Dog is ill"),
        (Variation(0, 0, 1, 0, 0), "Really?!", "Really"),
        (Variation(0, 0, 1, 0, 0), "...", "..."),  # never nothing at all
        (Variation(0, 0, 0, 1, 0), "Tom's Dog is ill!", "Toms Dog is ill!"),
    ],
)
def test_variations_by_hand(variation: Variation, english: str, expected: str) -> None:
    assert variation.source(english, random.Random(1)) == expected


@given(LENGTHS, st.integers(30, 200), st.integers(0, 9))
def test_batches_cover_every_pair_once_within_the_budget(
    lengths: list[tuple[int, int]], batch_tokens: int, seed: int
) -> None:
    batches = length_batches(lengths, batch_tokens, random.Random(seed))
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    for batch in batches:
        padded = len(batch) * max(max(lengths[i]) for i in batch)
        assert padded <= batch_tokens or len(batch) == 1


def test_batches_are_full_alike_in_length_and_in_random_order() -> None:
    rng = random.Random(3)
    lengths = [(n, n) for n in (rng.randint(3, 40) for _ in range(2003))]
    batches = length_batches(lengths, 400, rng)
    tokens = sum(target for _, target in lengths)
    assert len(batches) * 400 < 1.2 * tokens  # less than a fifth of the room is empty
    longest = [max(lengths[i][1] for i in batch) for batch in batches]
    assert all(max(lengths[i][1] for i in b) - min(lengths[i][1] for i in b) <= 5 for b in batches)
    assert longest != sorted(longest)


def test_collate_by_hand() -> None:
    batch = collate([([11, 12, 13], [21]), ([14], [22, 23])])
    assert {name: ids.tolist() for name, ids in batch.items()} == {
        "src_ids": [[11, 12, 13, EOS_ID], [14, EOS_ID, PAD_ID, PAD_ID]],
        "tgt_ids": [[SOS_ID, 21, PAD_ID], [SOS_ID, 22, 23]],
        "labels": [[21, EOS_ID, PAD_ID], [22, 23, EOS_ID]],
    }
    assert {ids.dtype for ids in batch.values()} == {torch.int64}


def load(tokenizer: Tokenizer, epoch: int, seed: int = 1, max_len: int = 256) -> list[dict[str, list[list[int]]]]:
    loader = epoch_loader(PAIRS, tokenizer, 300, Variation(), seed, epoch, max_len)
    return [{name: ids.tolist() for name, ids in batch.items()} for batch in loader]


def test_an_epoch_depends_on_seed_and_number_alone(tokenizer: Tokenizer) -> None:
    batches = load(tokenizer, epoch=4)
    random.seed(5)
    torch.manual_seed(5)
    assert load(tokenizer, epoch=4) == batches
    assert load(tokenizer, epoch=5) != batches
    assert load(tokenizer, epoch=4, seed=2) != batches


def test_an_epoch_holds_every_pair_once(tokenizer: Tokenizer) -> None:
    loader = epoch_loader(PAIRS, tokenizer, 300, NO_VARIATION, seed=1, epoch=1, max_len=256)
    rows = Counter(tokenizer.decode(row.tolist()) for batch in loader for row in batch["labels"])
    assert rows == Counter(german for _, german in PAIRS)
    assert len(loader) > 10


def test_pairs_too_long_for_the_model_are_left_out(tokenizer: Tokenizer) -> None:
    longest = max(len(row) for batch in load(tokenizer, 1) for row in batch["src_ids"])
    batches = load(tokenizer, 1, max_len=longest - 1)
    assert batches
    assert max(len(row) for batch in batches for rows in batch.values() for row in rows) <= longest - 1
