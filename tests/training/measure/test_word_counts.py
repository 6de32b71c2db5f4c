"""What counting words reaches: tags as one counts them by hand, and the weights of logistic regression."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from model.files.loaded_model import load_model
from training.measure import word_counts
from training.measure.word_counts import counted, most_frequent_tags, of_ordered_pair, of_pair, regression

TRAIN = [(["good", "any"], 1), (["bad", "any"], 0), (["good", "film"], 1)]


def test_a_word_gets_its_most_frequent_tag_and_a_new_one_that_of_all_words() -> None:
    """A word with a capital is another one."""
    train = [("the run ends", "DET NOUN VERB"), ("we run runs", "PRON VERB NOUN"), ("run dog", "NOUN NOUN")]
    train.append(("We The", "NOUN NUM"))
    test = [("the run zebra", "DET NOUN NOUN"), ("run we The", "VERB VERB NUM")]
    both = ([(words.split(), tags.split()) for words, tags in one] for one in (train, test))
    assert most_frequent_tags(*both) == 4 / 6


def test_it_counts_the_examples_of_a_head_and_answers_the_words_that_the_head_reads(tmp_path: Path) -> None:
    """Of two sentences to learn from a head takes the first; of one word a piece it reads 62 and not the rest."""
    (tmp_path / "pos.train.tsv").write_text("words\ttags\nthe dog\tDET NOUN\ndog dog\tVERB VERB\n")
    words, tags = " ".join(["the"] * 62 + ["dog"] * 8), " ".join(["DET"] * 62 + ["NOUN"] * 8)
    (tmp_path / "pos.test.tsv").write_text(f"words\ttags\n{words}\t{tags}\ndog\tNOUN\n")
    tokenizer = load_model("bert-mini").tokenizer
    assert counted("pos", tmp_path, 1, tokenizer) == 1
    assert counted("pos", tmp_path, 2, tokenizer) == round(62 / 63, 4)


def test_of_a_pair_is_counted_what_both_have_and_what_one_has_alone() -> None:
    names, label = of_pair(("1", "A cat.", "The cat!"))
    assert (sorted(names), label) == (["any", "both cat", "one !", "one .", "one a", "one the"], 1)
    assert sorted(of_ordered_pair((word_counts.ENTAILS[0], "a cat", "the cat"))[0]) == [
        "any", "both cat", "first a", "second the",
    ]  # fmt: skip


def test_regression_learns_as_worked_out_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three steps of AdamW on all examples at once, from zeros; each step takes the share DECAY of a weight away."""
    monkeypatch.setattr(word_counts, "EPOCHS", 3)
    kept: list[Any] = []
    made = torch.optim.AdamW
    monkeypatch.setattr(torch.optim, "AdamW", lambda given, **how: kept.append(given) or made(given, **how))
    assert regression(TRAIN, TRAIN) == 1
    counts = np.array([[1, 1, 0, 0, 1], [0, 1, 1, 0, 1], [1, 0, 0, 1, 1]])  # good, any, bad, film, and the constant
    labels, w, m, v = np.array([1, 0, 1]), np.zeros(5), np.zeros(5), np.zeros(5)
    for step in range(1, 4):
        gradient = counts.T @ (1 / (1 + np.exp(-counts @ w)) - labels) / len(labels)
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        w = w * (1 - 3e-3) - 0.01 * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
    weights, bias = (one.detach().numpy() for one in kept[0])
    assert [*weights[:4, 0], *bias] == pytest.approx(w, abs=1e-6)
