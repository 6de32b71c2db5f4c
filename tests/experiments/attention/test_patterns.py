"""Which pairs a pattern keeps, by hand, and that nothing else is hidden or kept."""

import numpy as np
import pytest
import torch

from experiments.attention.patterns import (
    ALL,
    FILE,
    LONGER,
    PATTERNS,
    SIZES,
    FewerPairs,
    cost,
    figures,
    keeping,
    read_sparsely,
    translate_sparsely,
)
from experiments.family.language_models import read_text
from model.decoding.strategies import Greedy
from model.trace import trace
from pages.beyond_attention.fewer_pairs.lesson import scene
from tests.family import small
from training.loop.corpus import Document
from training.measure.patterns import perplexity
from ui import engine

SCORES = torch.tensor([[0.0, -9, -9, -9, -9], [5, 0, -9, -9, -9], [1, 2, 3, -9, -9], [9, 1, 2, 0, -9], [1, 8, 3, 2, 7]])
KEPT = {
    "window": ("1", "11", ".11", "..11", "...11"),
    "window and first": ("1", "11", "111", "1.11", "1..11"),
    "strided": ("1", "11", "111", ".111", "1.111"),
    "top k": ("1", "11", ".11", "1.1.", ".1..1"),
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_two_keys_by_hand(pattern: str) -> None:
    causal = SCORES.masked_fill(~torch.ones(5, 5, dtype=torch.bool).tril(), -torch.inf)
    left = keeping(pattern, 2)("decoder.layers.0.self_attn.scores", causal).isfinite()
    rows = ["".join(".1"[int(one)] for one in row[: n + 1]) for n, row in enumerate(left)]
    assert tuple(rows) == KEPT[pattern]
    assert not left.triu(1).any()


def test_what_keeps_all_changes_nothing_and_one_key_does() -> None:
    loaded, text = small("gpt-mini"), "The cat sat on the mat."
    whole = read_text(loaded, text).tensors["logits"]
    wide, narrow = (read_sparsely(loaded, text, "window", k).tensors["logits"] for k in (64, 1))
    assert (wide == whole).all()
    assert abs(narrow - whole).max() > 1e-3


def test_the_perplexity_of_a_document_is_that_of_its_losses() -> None:
    loaded, text = small("gpt-mini"), "The cat sat on the mat."
    read = read_text(loaded, text)
    ids = [token.id for token in read.labels[:-1]]
    document = Document((torch.tensor(ids).numpy(),), len(text))
    for pattern in (ALL, "window"):
        losses = (read if pattern == ALL else read_sparsely(loaded, text, pattern, 2)).tensors["losses"]
        expected = pytest.approx(float(torch.tensor(losses).mean().exp()), abs=0.006)
        assert perplexity(loaded.model, loaded.config.max_len, [document], pattern, 2) == expected


@pytest.mark.parametrize(("pattern", "k"), [(ALL, 0), ("window", 2), ("top k", 3)])
def test_what_it_costs_is_what_the_whole_reading_tells(pattern: str, k: int) -> None:
    loaded, text = small("gpt-mini"), "The cat sat on the mat."
    read = read_sparsely(loaded, text, pattern, k)
    found, last = cost(loaded, read.label_ids, pattern, k), loaded.anatomy.attentions["decoder"][-1].path
    assert found.weights == pytest.approx(read.tensors[f"{last}.weights"].mean(0), abs=1e-6)
    assert found.left == np.isfinite(read.tensors[f"{last}.scores"][0]).sum()
    assert found.perplexity == pytest.approx(float(np.exp(read.tensors["losses"][:-1].mean())), rel=1e-5)


def test_of_books_far_pairs_are_hardly_used_and_the_largest_scores_least_missed() -> None:
    measured = figures("gpt-mini")
    whole = measured[ALL]
    assert measured["window"]["32"] < 1.06 * whole
    assert measured["window"]["8"] > 1.2 * whole
    assert measured["top k"]["8"] < 1.03 * whole
    assert all([*measured[name]] == [str(k) for k in SIZES] for name in PATTERNS), FILE


def test_the_scene_opens_where_some_pairs_are_gone_and_some_are_left() -> None:
    for sentence, stop in (("I ate an apple", "2"), ("The old man looked at the sea and went home. " * 3, "8")):
        shown = scene(engine.trace(sentence))
        assert shown.frames[shown.start].stop == stop


def test_in_an_encoder_patterns_reach_to_both_sides_and_with_a_cache_the_query_is_the_newest() -> None:
    rows = ["".join(".1"[int(one)] for one in row) for row in PATTERNS["window"](torch.zeros(4, 4), 2)]
    assert rows == ["11..", "111.", ".111", "..11"]
    for pattern in ("window", "window and first", "strided"):
        assert (PATTERNS[pattern](torch.zeros(1, 5), 3) == PATTERNS[pattern](torch.zeros(5, 5), 3)[-1:]).all()


def test_who_may_ask_nobody_gets_zeros_and_nobody_else_is_touched() -> None:
    loaded, text = small("gpt-mini"), "The cat sat on the mat."
    alone = frozenset((2, column) for column in range(3))
    whole, read = (read_sparsely(loaded, text, ALL, 0, hidden).tensors for hidden in (frozenset(), alone))
    path = "decoder.layers.0.self_attn"
    assert (read[f"{path}.heads"][:, 2] == 0).all()
    assert (np.delete(read[f"{path}.heads"], 2, 1) == np.delete(whole[f"{path}.heads"], 2, 1)).all()
    assert np.isfinite(read["logits"]).all()


def test_the_translator_writes_the_same_with_all_pairs_and_reads_its_first_translation_with_fewer() -> None:
    first = engine.trace("I ate an apple")
    (whole, same), *narrow = (
        translate_sparsely(engine.model(), first.src_ids, first.label_ids, *change)
        for change in ((ALL, 0), ("window", 1), (ALL, 0, frozenset({(1, 3)})))
    )
    assert same == first.label_ids
    assert whole["logits"] == pytest.approx(first.tensors["logits"], abs=1e-4)
    for read, _ in narrow:
        assert read["logits"].shape == first.tensors["logits"].shape
        assert abs(read["logits"] - first.tensors["logits"]).max() > 1e-3
    read, _ = narrow[1]
    hidden = [read[f"{stack}.layers.0.self_attn.scores"][:, 1, 3] for stack in ("encoder", "decoder")]
    assert np.isneginf(hidden[0]).all()
    assert (read["decoder.layers.0.self_attn.scores"][:, 3, 1] > -np.inf).all()


@pytest.mark.parametrize(("pattern", "k"), [("window", 1), ("window", 4), ("top k", 16)])
def test_what_is_written_is_what_a_decoder_with_fewer_pairs_writes(pattern: str, k: int) -> None:
    """Whether or not the first translation is still the likeliest."""
    text = "The old man looked at the sea and went home."
    first, change = engine.trace(text), FewerPairs(pattern=pattern, k=k)
    _, ids = translate_sparsely(first.model, first.src_ids, first.label_ids, pattern, k)
    assert ids == trace(first.model, text, None, Greedy(len(first.labels) + LONGER), change).label_ids
