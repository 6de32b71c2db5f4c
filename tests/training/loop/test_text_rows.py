"""Rows that language models learn from: nothing is lost or made up, and the shares are those of the paper."""

import itertools
import random

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from model.text.tokenizer import CLS_ID, EOS_ID, MASK_ID, PAD_ID, SEP_ID, SOS_ID
from training.loop.corpus import Document
from training.loop.text_rows import (
    IS_NEXT,
    N_SPECIALS,
    NO_PAIR,
    NOT_NEXT,
    SHORT,
    Masking,
    Pairing,
    ReadRow,
    collate_read,
    collate_written,
    fill,
    framed,
    masked,
    read_rows,
    written_rows,
)

VOCAB = 5000


def documents(lengths: list[list[int]]) -> list[Document]:
    """Documents of sentences this long. No id comes twice, so that each tells where it is from."""
    ids = itertools.count(N_SPECIALS)
    return [
        Document(tuple(np.array([next(ids) for _ in range(n)], dtype=np.uint16) for n in sentences), 1)
        for sentences in lengths
    ]


def flat(rows: list[np.ndarray]) -> list[int]:
    return [int(id) for row in rows for id in row]


LENGTHS = st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=12), min_size=1, max_size=5)


@given(LENGTHS, st.integers(0, 99))
def test_what_is_written_is_the_text_in_rows_of_whole_sentences(lengths: list[list[int]], seed: int) -> None:
    texts = documents(lengths)
    rows = written_rows(texts, 13, random.Random(seed))
    assert flat(rows) == [id for text in texts for id in (*text.ids.tolist(), EOS_ID)]
    begins = {int(sentence[0]) for text in texts for sentence in text.sentences}
    assert all(1 <= len(row) <= 13 and int(row[0]) in begins for row in rows)


def test_all_but_the_first_row_of_a_document_are_full() -> None:
    rows = written_rows(documents([[3] * 40]), 13, random.Random(0))
    assert {len(row) for row in rows[1:-1]} == {12}


def test_the_first_row_of_a_long_document_ends_elsewhere_each_time_and_a_short_one_stays_whole() -> None:
    texts, short = documents([[1] * 40]), documents([[1] * 12])
    first = {len(written_rows(texts, 13, random.Random(seed))[0]) for seed in range(99)}
    assert first == set(range(13 // 4, 14))
    assert {len(written_rows(short, 13, random.Random(seed))) for seed in range(99)} == {1}


def test_a_sentence_that_is_longer_than_a_row_is_cut_and_the_end_is_kept_apart() -> None:
    (row, *more) = written_rows(documents([[20, 2]]), 13, random.Random(0))
    assert row.tolist() == list(range(N_SPECIALS, N_SPECIALS + 13))
    assert flat(more) == [N_SPECIALS + 20, N_SPECIALS + 21, EOS_ID]


def test_written_rows_in_a_batch_by_hand() -> None:
    batch = collate_written([np.array([7, 8, EOS_ID], dtype=np.uint16), np.array([9], dtype=np.uint16)])
    assert {name: values.tolist() for name, values in batch.items()} == {
        "tgt_ids": [[SOS_ID, 7, 8], [SOS_ID, PAD_ID, PAD_ID]],
        "labels": [[7, 8, EOS_ID], [9, PAD_ID, PAD_ID]],
    }
    assert batch["labels"].dtype == torch.int64


def test_marks_stand_around_each_text_and_segments_count_them() -> None:
    first, second = np.array([7, 8], dtype=np.uint16), np.array([9], dtype=np.uint16)
    alone, pair = framed(first), framed(first, second, IS_NEXT)
    assert (alone.ids.tolist(), alone.segment_ids.tolist(), alone.label) == ([CLS_ID, 7, 8, SEP_ID], [0] * 4, NO_PAIR)
    assert pair.ids.tolist() == [CLS_ID, 7, 8, SEP_ID, 9, SEP_ID]
    assert (pair.segment_ids.tolist(), pair.label) == ([0, 0, 0, 0, 1, 1], IS_NEXT)


def halves(row: ReadRow) -> tuple[list[int], list[int]]:
    ids = row.ids.tolist()
    if row.label == NO_PAIR:
        return ids[1:-1], []
    middle, end = (at for at, id in enumerate(ids) if id == SEP_ID)
    assert (ids[0], end) == (CLS_ID, len(ids) - 1)
    assert row.segment_ids.tolist() == [0] * (middle + 1) + [1] * (end - middle)
    return ids[1:middle], ids[middle + 1 : end]


TEXTS = documents([[random.Random(n * 50 + k).randint(1, 9) for k in range(40)] for n in range(9)])
HOME = {int(id): n for n, text in enumerate(TEXTS) for id in text.ids}


def test_neighbours_are_neighbours_and_the_others_come_from_another_document() -> None:
    rows = read_rows(TEXTS, 31, random.Random(3))
    assert {row.label for row in rows} == {NO_PAIR, IS_NEXT, NOT_NEXT}
    for row in rows:
        if row.label == NO_PAIR:  # the last sentence of a text, when its neighbour stands in another row
            assert int(row.ids[-2]) in {int(text.ids[-1]) for text in TEXTS}
            continue
        first, second = halves(row)
        assert first
        assert second
        assert len(row.ids) <= 31
        for half in (first, second):
            assert half == list(range(half[0], half[0] + len(half))), "a stretch of one document"
            assert HOME[half[0]] == HOME[half[-1]]
        if row.label == IS_NEXT:
            assert second[0] == first[-1] + 1
            assert HOME[first[0]] == HOME[second[0]]
        else:
            assert HOME[first[0]] != HOME[second[0]]


def test_every_sentence_is_the_first_or_second_text_of_its_own_row() -> None:
    """What a strange second text leaves out comes in the next row. Without a limit in the way nothing is cut off."""
    rows = read_rows(TEXTS, 2000, random.Random(3), Pairing(short=1.0))
    seen = [id for row in rows for half in halves(row)[: 2 if row.label == IS_NEXT else 1] for id in half]
    assert seen == [int(id) for text in TEXTS for id in text.ids]


def test_the_shares_of_pairs_are_those_asked_for() -> None:
    def rows(pairing: Pairing) -> list[ReadRow]:
        rows = (row for seed in range(30) for row in read_rows(TEXTS, 61, random.Random(seed), pairing))
        return [row for row in rows if row.label != NO_PAIR]

    half = [row.label == NOT_NEXT for row in rows(Pairing(not_next=0.5, short=0.0))]
    assert np.mean(half) == pytest.approx(0.5, abs=0.05)
    assert {row.label for row in rows(Pairing(not_next=0.0))} == {IS_NEXT}
    assert {row.label for row in rows(Pairing(not_next=1.0))} == {NOT_NEXT}
    never, always = (
        [len(row.ids) for row in rows(Pairing(0.0, short)) if row.label == IS_NEXT] for short in (0.0, 1.0)
    )
    assert np.median(never) > 55
    assert np.median(always) < 45


def test_single_sentences_stand_in_as_many_pairs_as_asked_for() -> None:
    borders = {(int(text.sentences[n][0]), int(text.sentences[n][-1])) for text in TEXTS for n in range(40)}

    def are_single(row: ReadRow) -> bool:
        return all((half[0], half[-1]) in borders for half in halves(row))

    for share in (0.0, 0.5, 1.0):
        rows = read_rows(TEXTS, 200, random.Random(1), Pairing(single=share, short=0.0))
        pairs = [row for row in rows if row.label != NO_PAIR]
        assert np.mean([*map(are_single, pairs)]) == pytest.approx(share, abs=0.12)
    assert np.mean([row.label == IS_NEXT for row in pairs]) == pytest.approx(0.5, abs=0.12)


def test_a_short_row_has_a_share_of_its_own() -> None:
    rows = [framed(np.full(length, 40, dtype=np.uint16)) for length in (SHORT - 3, SHORT - 2) for _ in range(200)]
    asked = masked(rows, 50, np.random.default_rng(0), Masking(share=0.4, short=0.1))
    shares = [
        np.mean([(labels != PAD_ID).sum() / (len(ids) - 2) for ids, _, labels, _ in some])
        for some in (asked[:200], asked[200:])
    ]
    assert shares == pytest.approx([0.1, 0.4], abs=0.02)


def test_the_defaults_are_the_papers() -> None:
    assert (Masking(), Pairing()) == (Masking(0.15, 0.15, 0.8, 0.1), Pairing(0.5, 0.0, 0.3))


def test_a_pair_that_is_too_long_loses_the_ends_that_lie_outside() -> None:
    """Neighbours of 30 and 30 tokens in a row of 41: 19 of each would fit, and the seam stays."""
    (row,) = read_rows(documents([[30, 30], [1, 1]])[:2], 41, random.Random(0), Pairing(0.0, 0.0))[:1]
    first, second = halves(row)
    assert (len(first), len(second)) == (19, 19)
    assert (first[-1], second[0]) == (N_SPECIALS + 29, N_SPECIALS + 30)


def test_a_document_of_one_sentence_stands_alone() -> None:
    rows = read_rows(documents([[40], [2, 2], [3, 3]]), 17, random.Random(0))
    assert (len(rows[0].ids), rows[0].label) == (17, NO_PAIR)
    assert all(row.label != NO_PAIR or len(row.ids) == 4 for row in rows[1:]), "or is a last one"
    assert read_rows(documents([[4, 4]]), 17, random.Random(0)) == [], "there is no other to take a strange text from"


def test_fill_stops_as_soon_as_there_is_enough() -> None:
    sentences = documents([[4, 3, 2, 5]])[0].sentences
    assert [fill(sentences, 0, n) for n in (1, 4, 5, 7, 8, 99)] == [1, 1, 2, 2, 3, 4]
    assert fill(sentences, 3, 99) == 4


def test_fifteen_in_a_hundred_are_asked_and_eighty_ten_ten_of_them_replaced() -> None:
    ids = np.random.default_rng(1).integers(N_SPECIALS, VOCAB, 40_000, dtype=np.uint16)
    rows = [framed(half) for half in np.split(ids, 400)]
    out = masked(rows, VOCAB, np.random.default_rng(2))
    asked = kept = replaced = gaps = 0
    for row, (new, segments, labels, pair) in zip(rows, out, strict=True):
        at = labels != PAD_ID
        assert (segments is row.segment_ids, pair) == (True, NO_PAIR)
        assert (labels[at] == row.ids[at]).all(), "the label is what stood there"
        assert (new[~at] == row.ids[~at]).all(), "the others stay"
        assert not at[[0, -1]].any(), "marks are never asked for"
        asked += at.sum()
        gaps += (new[at] == MASK_ID).sum()
        kept += (new[at] == row.ids[at]).sum()
        others = new[at][(new[at] != MASK_ID) & (new[at] != row.ids[at])]
        replaced += len(others)
        assert (others >= N_SPECIALS).all()
        assert (others < VOCAB).all()
    assert asked / 40_000 == pytest.approx(0.15, abs=0.01)
    assert [gaps / asked, replaced / asked, kept / asked] == pytest.approx([0.8, 0.1, 0.1], abs=0.02)


def test_the_same_generator_masks_the_same_tokens() -> None:
    rows = [framed(np.arange(100, 200, dtype=np.uint16))] * 3
    one, same, other = (masked(rows, VOCAB, np.random.default_rng(seed)) for seed in (4, 4, 5))
    assert all((a[0] == b[0]).all() for a, b in zip(one, same, strict=True))
    assert any((a[0] != b[0]).any() for a, b in zip(one, other, strict=True))
    assert (one[0][0] != one[1][0]).any(), "each row is drawn anew"


def test_read_rows_in_a_batch_by_hand() -> None:
    long = (np.array([3, 5, 9, 4], dtype=np.uint16), np.array([0, 0, 0, 0], dtype=np.uint8))
    short = (np.array([3, 8], dtype=np.uint16), np.array([0, 1], dtype=np.uint8))
    batch = collate_read([(*long, np.array([0, 7, 0, 0]), NO_PAIR), (*short, np.array([0, 8]), NOT_NEXT)])
    assert {name: values.tolist() for name, values in batch.items()} == {
        "src_ids": [[3, 5, 9, 4], [3, 8, PAD_ID, PAD_ID]],
        "segment_ids": [[0, 0, 0, 0], [0, 1, 0, 0]],
        "labels": [[0, 7, 0, 0], [0, 8, 0, 0]],
        "pair_labels": [NO_PAIR, NOT_NEXT],
    }
