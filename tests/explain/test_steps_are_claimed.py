"""Every kind of cell of every tensor: its words, its formula, its code and what is left to the learner, claimed by the
oracle, which works each of them out from its own pass."""

import random
from typing import Any

import numpy as np
import pytest

from explain import arrays, worked
from model.families.readers import load_readers, trace_readers
from model.interventions import Interventions
from model.trace import Trace
from tests.oracle.language.formula import sides, value
from tests.oracle.language.page import tensor
from tests.oracle.language.statement import difference
from tests.oracle.passes.decode import translated
from tests.oracle.passes.forward import source_ids
from tests.oracle.passes.readers import Reading
from tests.oracle.shown.worked import typeset
from tests.oracle.shown.worked import worked as claimed
from ui import engine

SENTENCES = ("I ate an apple", "Zoë mag süße 🍎.", "The animal didn't cross the street because it was too wide.")
CELLS = 6  # of each tensor
AVERAGES = (
    *(f"{stack}.layers.{n}.{kind}.average" for n in range(3) for stack, kind in (("encoder", "self_attn"),)),
    *(f"decoder.layers.{n}.{kind}.average" for n in range(3) for kind in ("self_attn", "cross_attn")),
    "decoder.cross_attn.average",
)


def wrong(numbers: Any, oracle: Any, name: str, index: tuple[int, ...]) -> str:
    """In what the step for a cell differs from the claim; '' if in nothing."""
    step, claim = worked(numbers, name, index), claimed(oracle, name, index)
    pairs: list[tuple[Any, Any]] = [
        (claim.says, step.says),
        (claim.formula, step.formula),
        (claim.snippet, step.snippet),
        (float(tensor(oracle, name)[index]), step.value),
        (bool(claim.blank), bool(step.blank)),
    ]
    if claim.blank and step.blank:
        if step.blank.digits:  # from the numbers as they stand one gets what Check takes for right
            got = round(value(sides(step.blank.formula)[0]), step.blank.digits)
            assert abs(got - step.blank.answer) <= step.blank.near, (name, index, step.blank)
        pairs += [(claim.blank.formula, step.blank.formula), (claim.blank.answer, step.blank.answer)]
    return next((d for one, two in pairs if (d := difference(one, two, f"{name}{index}"))), "")


@pytest.mark.parametrize("sentence", SENTENCES, ids=range(len(SENTENCES)))
def test_every_step_of_check(sentence: str) -> None:
    trace, oracle = engine.trace(sentence), translated(sentence)
    assert source_ids(sentence) == [token.id for token in trace.src]
    assert oracle.labels == [token.id for token in trace.labels]
    names = [name for name in trace.tensors if not name.endswith("mask")]
    for name in (*names, "probabilities", *AVERAGES):
        check(trace, oracle, name)


def test_a_scale_that_is_off_is_said() -> None:
    trace = engine.trace(SENTENCES[0], interventions=Interventions(scale_off=True))
    check(trace, translated(SENTENCES[0], scale_off=True), "decoder.layers.1.self_attn.scaled")


def test_every_step_of_a_reader_of_one_piece_after_another() -> None:
    ids = source_ids(SENTENCES[0])
    trace, oracle = trace_readers(load_readers(), SENTENCES[0], tuple(ids)), Reading(ids, trained=True)
    for name in trace.model.anatomy.tensors:
        if name.startswith(("rnn.", "lstm.")):
            check(trace, oracle, name)


def check(trace: Trace, oracle: Any, name: str) -> None:
    numbers, choose = engine.numbers(trace), random.Random(name)
    drawn = [tuple(choose.randrange(size) for size in np.shape(numbers[name])) for _ in range(CELLS)]
    for index in (*drawn, tuple(0 for _ in drawn[0])):
        assert not wrong(numbers, oracle, name, index)


def test_matrices_in_words_are_typeset() -> None:
    assert typeset("column 3 of W^Q") == "column 3 of $W^Q$"


def test_scores_that_32_bits_cannot_hold_the_powers_of() -> None:
    text = (
        "The old man who lives next door told me that his daughter had moved to Berlin, because she had found a new "
        "job there, and that he missed her very much."
    )
    trace, name = engine.trace(text), "decoder.layers.0.self_attn.weights"
    numbers, oracle = engine.numbers(trace), translated(text)
    head, row, _ = np.unravel_index(int(trace.tensors[name.replace("weights", "scores")].argmax()), oracle[name].shape)
    assert trace.tensors[name.replace("weights", "scores")][head, row].max() > np.log(np.finfo(np.float32).max)
    for column in (0, int(row), int(row) - 1):
        index = int(head), int(row), column
        assert wrong(numbers, oracle, name, index) == ""
        step = worked(numbers, name, index)
        *lines, last = step.snippet.split("\n")
        names: dict[str, Any] = {"np": np, "t": arrays(numbers, [step])}
        exec("\n".join(lines), names)
        assert eval(last, names) == pytest.approx(step.value, abs=1e-6)
