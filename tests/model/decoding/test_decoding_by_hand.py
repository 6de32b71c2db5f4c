"""Searches over a handful of sentences whose probabilities are written down, so that each step can be done on paper."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from model.decoding.strategies import Beam, Decoding, Greedy, Hypothesis, Sampling, Step, decoding_steps
from model.text.tokenizer import EOS_ID

A, B, C, END = 3, 4, 5, EOS_ID
VOCAB = 12
Ids = tuple[int, ...]


class Script:
    """Stands in for NextToken: the probabilities after each prefix are given; what is not named has next to none."""

    vocab_size = VOCAB

    def __init__(self, table: Mapping[Ids, Mapping[int, float]]) -> None:
        self.table = table
        self.selected: list[list[int]] = []
        self.asked: list[list[Ids]] = []

    def log_probabilities(self, prefixes: Sequence[Ids]) -> Tensor:
        self.asked.append(list(prefixes))
        rows = torch.full((len(prefixes), VOCAB), math.log(1e-9))
        for row, prefix in zip(rows, prefixes, strict=True):
            for token, probability in self.table.get(prefix, {A: 1.0}).items():
                row[token] = math.log(probability)
        return rows

    def select(self, rows: list[int]) -> None:
        self.selected.append(rows)


TABLE = {
    (): {A: 0.5, B: 0.3, END: 0.15, C: 0.05},
    (A,): {END: 0.5, A: 0.3, B: 0.2},
    (B,): {END: 0.9, A: 0.1},
}


def steps(script: Any, decoding: Decoding) -> list[Step]:
    return list(decoding_steps(script, decoding))


def written(hypotheses: Sequence[Hypothesis]) -> dict[Ids, float]:
    """Ids in order, with their probabilities."""
    return {h.ids: round(math.exp(h.log_probability), 6) for h in hypotheses}


def test_two_beams_on_paper() -> None:
    """First A (0.5) and B (0.3) are kept: END is third, so it does not count as finished. Then B END (0.3 · 0.9) and
    A END (0.5 · 0.5) are the two best, and both end."""
    script = Script(TABLE)
    first, second = steps(script, Beam(2, length_penalty=0))
    assert written(first.hypotheses) == {(A,): 0.5, (B,): 0.3}
    assert first.finished == ()
    assert written(first.pruned) == {(END,): 0.15, (C,): 0.05}
    assert list(written(second.finished).items()) == [((B, END), 0.27), ((A, END), 0.25)]
    assert written(second.hypotheses) == {(A, A): 0.15, (A, B): 0.1}
    assert second.pruned == ()
    assert second.best.ids == (B, END)
    assert first.best.ids == (A,)
    assert [(h.ids, h.parent) for h in second.hypotheses] == [((A, A), 0), ((A, B), 0)]
    assert second.finished[0].parent == 1
    assert script.selected == [[0, 0]], "what is kept goes on; nothing does after the end"
    assert [(c.id, round(c.probability, 6)) for c in second.candidates[:3]] == [(END, 0.5), (A, 0.3), (B, 0.2)]


def test_what_is_longer_wins_where_length_is_rewarded() -> None:
    """0.2 with 2 tokens against 0.17 with 3: ln 0.2 / (7/6) = −1.38, ln 0.17 / (8/6) = −1.33."""
    table = {
        (): {A: 1.0},
        (A,): {B: 0.8, END: 0.2},
        (A, B): {END: 0.2125, C: 0.7875},
        (A, B, C): {A: 1.0},
        (A, B, C, A): {A: 1.0},
    }
    by_alpha = {alpha: steps(Script(table), Beam(2, alpha))[2] for alpha in (0.0, 1.0)}
    assert [h.ids for h in by_alpha[0.0].finished] == [(A, END), (A, B, END)]
    assert [h.ids for h in by_alpha[1.0].finished] == [(A, B, END), (A, END)]
    assert [h.score(1.0) for h in by_alpha[1.0].finished] == pytest.approx(
        [math.log(0.17) / (8 / 6), math.log(0.2) / (7 / 6)]
    )
    assert by_alpha[1.0].best.ids == (A, B, END)


def test_a_beam_goes_on_until_as_many_have_finished_as_it_keeps() -> None:
    table = {(): {END: 0.6, A: 0.4}, (A,): {A: 0.6, END: 0.4}, (A, A): {END: 0.9, B: 0.1}}
    one, two, three = steps(Script(table), Beam(3, 0))
    assert [len(step.finished) for step in (one, two, three)] == [1, 2, 3]
    assert [len(steps(Script(table), Beam(size, 0))) for size in (1, 2, 3)] == [1, 2, 3]


def test_a_search_keeps_no_more_than_its_size() -> None:
    table = {(): {A: 0.4, B: 0.3, C: 0.2, 6: 0.1}} | {(n,): {A: 0.6, B: 0.4} for n in (A, B, C, 6)}
    one, two = steps(Script(table), Beam(2, max_steps=2))
    assert written(one.hypotheses) == {(A,): 0.4, (B,): 0.3}
    assert written(two.hypotheses) == {(A, A): 0.24, (B, A): 0.18}
    assert written(two.pruned) == {(A, B): 0.16, (B, B): 0.12}


@pytest.mark.parametrize("decoding", [Greedy(5), Sampling(max_steps=5), Beam(2, max_steps=5)])
def test_a_text_that_never_ends_stops_at_the_limit(decoding: Decoding) -> None:
    script = Script({(A,) * n: {A: 1.0} for n in range(9)})
    assert steps(script, decoding)[-1].best.ids == (A,) * 5
    assert len(steps(script, decoding)) == 5


@pytest.mark.parametrize("method", [Greedy, Sampling, Beam])
def test_a_given_beginning_counts_towards_the_limit(method: Any) -> None:
    script = Script({(A,) * n: {A: 1.0} for n in range(9)})
    assert len(steps(script, method(max_steps=5, prefix=(A, A)))) == 5
    assert steps(script, method(max_steps=5, prefix=(A, A)))[-1].best.ids == (A,) * 5


def test_samples_come_as_often_as_they_are_likely_and_are_worth_what_the_model_gives_them() -> None:
    """With the two likeliest tokens alone A comes 5/8 of the time, but its probability stays the model's own 0.5."""
    firsts = [steps(Script(TABLE), Sampling(top_k=2, seed=seed, max_steps=1))[0].best for seed in range(800)]
    share = sum(h.ids == (A,) for h in firsts) / len(firsts)
    assert share == pytest.approx(5 / 8, abs=0.06)
    assert {(h.ids, round(math.exp(h.log_probability), 6)) for h in firsts} == {((A,), 0.5), ((B,), 0.3)}
    whole = steps(Script(TABLE), Sampling(seed=1))[-1].best
    expected = math.prod(TABLE[whole.ids[:t]][token] for t, token in enumerate(whole.ids))
    assert math.exp(whole.log_probability) == pytest.approx(expected)


def test_a_sentence_is_finished_if_it_ends_in_the_end() -> None:
    assert Hypothesis((A, END), 0.0).finished
    assert not Hypothesis((END, A), 0.0).finished
    assert not Hypothesis((), 0.0).finished
