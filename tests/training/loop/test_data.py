"""Sentence pairs: read, varied, batched."""

import dataclasses
import itertools
import math
import random
import re
from collections import Counter
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from model.text.tokenizer import EOS_ID, PAD_ID, SOS_ID, Tokenizer
from training.loop.data import NO_VARIATION, Variation, collate, epoch_loader, length_batches, read_pairs

PAIRS = [(f"It's sentence {n}.", f"Das ist Satz {n}.") for n in range(211)]
LENGTHS = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), max_size=150)


def test_pairs_are_read_and_normalised(tmp_path: Path) -> None:
    first, second = tmp_path / "a.tsv", tmp_path / "b.tsv"
    first.write_text("It’s  late.\tEs ist spät.\nYes.\tJa.\n", encoding="utf-8")
    second.write_text("No.\t„Nein“.", encoding="utf-8")
    assert read_pairs([first, second]) == [("It's late.", "Es ist spät."), ("Yes.", "Ja."), ("No.", '"Nein".')]


def test_a_pair_ends_at_the_end_of_its_line_and_nowhere_else(tmp_path: Path) -> None:
    """Unicode has other signs that end a line or a paragraph; inside a sentence they are spaces."""
    path = tmp_path / "a.tsv"
    path.write_text("One\u2028two.\tEins\x0bzwei.\nThree.\tDrei\u2029vier.\n", encoding="utf-8")
    assert read_pairs([path]) == [("One two.", "Eins zwei."), ("Three.", "Drei vier.")]


def test_a_line_without_a_tab_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("Yes.\tJa.\nNo. Nein.\n", encoding="utf-8")
    message = f"{path}, line 2: expected English, a tab, German; got 'No. Nein.'"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        read_pairs([path])


def test_two_files_with_the_same_lines_are_read_side_by_side(tmp_path: Path) -> None:
    (tmp_path / "part.lc.en").write_text("a dog .\ntwo  dogs .\n", encoding="utf-8")
    (tmp_path / "part.lc.de").write_text("ein hund .\nzwei hunde .\n", encoding="utf-8")
    assert read_pairs([tmp_path / "part.lc"]) == [("a dog .", "ein hund ."), ("two dogs .", "zwei hunde .")]


def test_two_files_of_unequal_length_are_named(tmp_path: Path) -> None:
    english, german = tmp_path / "a.en", tmp_path / "a.de"
    english.write_text("a\nb\n", encoding="utf-8")
    german.write_text("a\n", encoding="utf-8")
    with pytest.raises(ValueError, match=f"^{re.escape(f'{english} has 2 lines, {german} has 1')}$"):
        read_pairs([tmp_path / "a"])


@pytest.mark.parametrize(
    ("variation", "english", "expected"),
    [
        (Variation(1, 0, 0, 0, 0), "Tom's Dog is ill!", "tom's Dog is ill!"),
        (Variation(0, 1, 0, 0, 0), "Tom's Dog is ill!", "tom's dog is ill!"),
        (Variation(0, 0, 1, 0, 0), "Tom's Dog is ill!", "Tom's Dog is ill"),
        (Variation(0, 0, 1, 0, 0), "Really?!", "Really"),
        (Variation(0, 0, 1, 0, 0), "Well,", "Well,"),  # no mark that ends a sentence
        (Variation(0, 0, 1, 0, 0), "...", "..."),  # never nothing at all
        (Variation(0, 0, 0, 1, 0), "Tom's Dog is ill!", "Toms Dog is ill!"),
        (Variation(0, 1, 1, 1, 0), "It's Tom.", "its tom"),
    ],
)
def test_variations_by_hand(variation: Variation, english: str, expected: str) -> None:
    assert variation.source(english, random.Random(1)) == expected


N_SENTENCES = 10_000


@pytest.mark.parametrize(
    ("variation", "english", "expected"),
    [
        (Variation(0.3, 0, 0, 0, 0), "It's Tom!", "it's Tom!"),
        (Variation(0, 0.2, 0, 0, 0), "It's Tom!", "it's tom!"),
        (Variation(0, 0, 0.4, 0, 0), "It's Tom!", "It's Tom"),
        (Variation(0, 0, 0, 0.1, 0), "It's Tom!", "Its Tom!"),
        (Variation(0, 0, 0, 0, 0.25), "It's Tom!", "It's Tom! It's Tom!"),
    ],
)
def test_each_variation_is_applied_at_its_own_rate(variation: Variation, english: str, expected: str) -> None:
    german = "Es ist Tom!"
    varied = variation.apply([(english, german)] * N_SENTENCES, random.Random(2))
    rate = max(dataclasses.astuple(variation))
    assert set(varied) == {(english, german), (expected, f"{german} {german}" if variation.join else german)}
    n_varied = sum(sentence == expected for sentence, _ in varied)
    assert abs(n_varied - rate * N_SENTENCES) < 4 * math.sqrt(rate * (1 - rate) * N_SENTENCES)  # 4 standard deviations


def test_all_small_letters_come_before_a_small_first_one() -> None:
    """The second is tried where the first did not happen: 0.5, then half of the other half."""
    varied = Variation(0.5, 0.5, 0, 0, 0).apply([("It Is", "Es")] * N_SENTENCES, random.Random(2))
    counts = Counter(english for english, _ in varied)
    assert counts.keys() == {"it is", "it Is", "It Is"}
    assert counts["it is"] == pytest.approx(5000, abs=200)
    assert counts["it Is"] == pytest.approx(2500, abs=175)


def test_any_pair_may_be_joined_to_any_other() -> None:
    pairs, rng = [(f"e{n}", f"d{n}") for n in range(7)], random.Random(1)
    varied = [pair for _ in range(300) for pair in Variation(0, 0, 0, 0, join=1).apply(pairs, rng)]
    assert {english for english, _ in varied} == {f"e{n} e{m}" for n in range(7) for m in range(7)}
    assert all(german == english.replace("e", "d") for english, german in varied)


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


def test_a_long_pair_makes_its_own_batch_smaller_and_no_later_one() -> None:
    batches = length_batches([(40, 2), *[(3, 3)] * 40], 60, random.Random(1))
    assert sorted(map(len, batches)) == [1, 20, 20]


def test_a_batch_is_alike_in_its_targets_whatever_the_sources() -> None:
    """The target is where a padded row costs most: each of its positions goes through the output matrix."""
    rng = random.Random(3)
    lengths = [(rng.randint(3, 40), rng.randint(3, 40)) for _ in range(2003)]
    for batch in length_batches(lengths, 400, rng):
        targets = [lengths[i][1] for i in batch]
        assert max(targets) - min(targets) <= 2


def test_sources_of_one_target_length_are_padded_little() -> None:
    rng = random.Random(3)
    lengths = [(rng.randint(3, 40), rng.choice((10, 20))) for _ in range(4000)]
    rows = [[lengths[i][0] for i in batch] for batch in length_batches(lengths, 400, rng)]
    padded = sum(max(row) * len(row) for row in rows)
    assert padded < 1.05 * sum(source for source, _ in lengths)


def test_pairs_of_equal_length_meet_others_in_the_next_epoch() -> None:
    """Which pairs share a batch is drawn anew."""
    batches = [length_batches([(5, 5)] * 60, 30, random.Random(seed)) for seed in (1, 2)]
    assert {frozenset(batch) for batch in batches[0]} != {frozenset(batch) for batch in batches[1]}


@pytest.mark.parametrize("lengths", [[(20, 3)] * 40, [(3, 20)] * 40])
def test_both_sides_keep_to_the_budget_and_use_it(lengths: list[tuple[int, int]]) -> None:
    assert [len(batch) for batch in length_batches(lengths, 200, random.Random(1))] == [10] * 4


def load(tokenizer: Tokenizer, epoch: int, seed: int = 1) -> list[dict[str, list[list[int]]]]:
    loader = epoch_loader(PAIRS, tokenizer, 300, Variation(), seed, epoch, 256)
    return [{name: ids.tolist() for name, ids in batch.items()} for batch in loader]


def test_an_epoch_depends_on_seed_and_number_alone(tokenizer: Tokenizer) -> None:
    batches = load(tokenizer, epoch=4)
    random.seed(5)
    torch.manual_seed(5)
    assert load(tokenizer, epoch=4) == batches
    assert load(tokenizer, epoch=5) != batches
    assert load(tokenizer, epoch=4, seed=2) != batches
    assert load(tokenizer, epoch=11, seed=1) != load(tokenizer, epoch=1, seed=11)


def test_an_epoch_holds_every_pair_once_and_its_two_sides_stay_together(tokenizer: Tokenizer) -> None:
    loader = epoch_loader(PAIRS, tokenizer, 300, NO_VARIATION, seed=1, epoch=1, max_len=256)
    rows = [zip(batch["src_ids"].tolist(), batch["labels"].tolist(), strict=True) for batch in loader]
    assert Counter(tuple(map(tokenizer.decode, pair)) for batch in rows for pair in batch) == Counter(PAIRS)
    assert len(loader) > 10


def test_an_epoch_is_varied_as_asked(tokenizer: Tokenizer) -> None:
    for variation in (NO_VARIATION, Variation(0, 1, 0, 0, 0), Variation(0, 0, 0, 0, 1)):
        loader = epoch_loader(PAIRS, tokenizer, 300, variation, seed=1, epoch=1, max_len=256)
        rows = [tokenizer.decode(row.tolist()) for batch in loader for row in batch["src_ids"]]
        assert len(rows) == len(PAIRS)
        assert all(row == row.lower() for row in rows) == (variation.lower_all == 1)
        assert all(row.count("sentence") == 2 for row in rows) == (variation.join == 1)


def test_every_epoch_is_varied_anew(tokenizer: Tokenizer) -> None:
    loaders = [epoch_loader(PAIRS, tokenizer, 300, Variation(0.5, 0, 0, 0, 0), 1, epoch, 256) for epoch in (0, 1)]
    small, also = (
        {row for batch in loader for row in map(tokenizer.decode, batch["src_ids"].tolist()) if row[0] == "i"}
        for loader in loaders
    )
    assert small
    assert small != also


def test_no_batch_of_an_epoch_exceeds_its_tokens_with_the_signs_counted(tokenizer: Tokenizer) -> None:
    shapes = [
        ids.shape for batch in epoch_loader(PAIRS, tokenizer, 120, Variation(), 1, 1, 256) for ids in batch.values()
    ]
    assert max(rows * columns for rows, columns in shapes) <= 120
    assert max(rows for rows, _ in shapes) > 1


def test_a_pair_is_left_out_exactly_from_where_the_model_takes_no_more(tokenizer: Tokenizer) -> None:
    """With `<eos>` or `<sos>` 7 tokens fill a model of 8."""
    token = tokenizer.decode(tokenizer.encode("a")[:1])
    of = {n: " ".join([token] * n) for n in (0, 1, 7, 8)}
    assert all(len(tokenizer.encode(text)) == n for n, text in of.items())
    pairs = [(of[s], of[t]) for s in of for t in of]
    loader = epoch_loader(pairs, tokenizer, 1000, NO_VARIATION, seed=1, epoch=1, max_len=8)
    rows = {
        (int((s != PAD_ID).sum()) - 1, int((t != PAD_ID).sum()) - 1)
        for batch in loader
        for s, t in zip(batch["src_ids"], batch["tgt_ids"], strict=True)
    }
    assert rows == {(1, 1), (1, 7), (7, 1), (7, 7)}


@pytest.mark.parametrize(("n_pairs", "processes"), [(2, 2), (2, 3), (211, 2), (211, 3), (211, 5), (211, 7)])
def test_a_batch_comes_again_only_if_processes_would_wait(tokenizer: Tokenizer, n_pairs: int, processes: int) -> None:
    """Every process gets as many, though there be few."""
    loaders = [epoch_loader(PAIRS[:n_pairs], tokenizer, 300, NO_VARIATION, 1, 1, 256, n) for n in (1, processes)]
    alone, batches = ([batch["labels"].tolist() for batch in loader] for loader in loaders)
    assert len(batches) % processes == 0
    assert 0 <= len(batches) - len(alone) < processes
    assert batches == list(itertools.islice(itertools.cycle(alone), len(batches)))


def test_no_pair_at_all_is_said(tokenizer: Tokenizer) -> None:
    with pytest.raises(ValueError, match=r"^no pair has two sides of 1 to 7 tokens$"):
        epoch_loader([("", "Ja."), ("Yes.", "")], tokenizer, 100, NO_VARIATION, 1, 1, max_len=8)


def test_a_file_without_pairs_is_said() -> None:
    with pytest.raises(ValueError, match=r"^the files hold no sentence pairs$"):
        read_pairs([])
