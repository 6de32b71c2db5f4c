"""Every number shown as worked out: the recorded one, and what its formula really comes to."""

from collections.abc import Iterator

import numpy as np
import pytest

from explain import DIGITS, Numbers, arrays, worked, worked_average, worked_group, worked_weight
from figures.grouping import Group
from model.interventions import Interventions
from model.trace import Trace
from tests.oracle.language.formula import agree
from tests.oracle.language.names import ATTENTIONS
from ui import engine

HALF = 0.5 * 10**-DIGITS + 1e-9

SENTENCE = "The black cat fights the white cat in the garden, and nobody knows why."
KINDS_OF_TENSOR = [
    "embedding.scaled",
    "embedding.positions",
    "embedding.output",
    *(
        f"layers.{layer}.{attention}_attn.{what}"
        for layer in (0, 2)
        for attention in ("self", "cross")
        for what in ("q", "k", "v", "products", "scaled", "scores", "weights", "heads", "concat", "output")
    ),
    *(f"layers.{layer}.feed_forward.{what}" for layer in (0, 2) for what in ("pre_activation", "hidden", "output")),
    *(f"layers.{layer}.add_norm_{n}.{what}" for layer in (0, 2) for n in (1, 2, 3) for what in ("sum", "output")),
]
NAMES = [
    f"{stack}.{name}"
    for stack in ("encoder", "decoder")
    for name in KINDS_OF_TENSOR
    if stack == "decoder" or not ("cross" in name or "add_norm_3" in name)
] + ["logits", "probabilities"]


@pytest.fixture(scope="module")
def trace() -> Trace:
    return engine.trace(SENTENCE)


@pytest.fixture(scope="module")
def numbers(trace: Trace) -> Numbers:
    return engine.numbers(trace)


def some_cells(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The corners and a few cells between."""
    random = np.random.default_rng(11)
    yield from (tuple(0 for _ in shape), tuple(n - 1 for n in shape))
    for _ in range(12):
        yield tuple(int(random.integers(n)) for n in shape)


@pytest.mark.parametrize("name", NAMES)
def test_a_step_ends_in_the_recorded_number_and_its_formula_comes_to_it(
    name: str, trace: Trace, numbers: Numbers
) -> None:
    tensor = numbers[name]
    for index in some_cells(tensor.shape):
        step = worked(numbers, name, index)
        assert step.value == tensor[index] or np.isclose(step.value, tensor[index], rtol=1e-6)
        if np.isneginf(step.value):
            assert step.formula.endswith(r"\to -\infty")
        else:
            assert agree(step.formula) == pytest.approx(step.value, abs=HALF)


@pytest.mark.parametrize("name", NAMES)
def test_the_snippet_computes_the_number_again(name: str, trace: Trace, numbers: Numbers) -> None:
    for index in some_cells(numbers[name].shape):
        step = worked(numbers, name, index)
        *before, last = step.snippet.splitlines()
        scope = {"np": np, "t": arrays(numbers, [step])}
        exec("\n".join(before), scope)
        assert eval(last, scope) == pytest.approx(step.value, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("kind", list(ATTENTIONS))
def test_a_weight_is_worked_from_query_and_key(kind: str, trace: Trace, numbers: Numbers) -> None:
    weights = trace.attention(kind, 1)
    for index in some_cells(weights.shape):
        steps = worked_weight(numbers, ATTENTIONS[kind].format(1), index)
        assert len(steps) == 3
        masked = np.isneginf(trace.attention(kind, 1, "scores")[index])
        assert steps[-1].value == (-np.inf if masked else pytest.approx(weights[index]))
        assert weights[index] == 0 or not masked
        for step in steps:
            if np.isfinite(step.value):
                assert agree(step.formula) == pytest.approx(step.value, abs=HALF)


def test_a_masked_cell_says_so(numbers: Numbers) -> None:
    *_, last = worked_weight(numbers, ATTENTIONS["decoder"].format(0), (0, 0, 5))
    assert "mask covers" in last.says
    assert np.isneginf(last.value)


def test_a_scale_that_is_off_is_not_claimed() -> None:
    bare = engine.trace(SENTENCE, interventions=Interventions(scale_off=True))
    step = worked(engine.numbers(bare), "encoder.layers.0.self_attn.scaled", (1, 2, 3))
    assert "switched off" in step.says
    assert agree(step.formula) == pytest.approx(step.value, abs=HALF)


def test_an_average_by_hand() -> None:
    step = worked_average([0.25, 0.5, 0.75, 0.1], ["one", "two", "three", "four"], 0.4)
    assert agree(step.formula) == pytest.approx(0.4)
    assert "4 weights" in step.says


@pytest.mark.parametrize(
    ("row", "column", "expected"), [((0, 1), (1, 2), 0.35), ((0,), (1, 2), 0.5), ((2,), (2,), 1.0), ((0, 1), (0,), 0.3)]
)
def test_a_weight_between_words_by_hand(row: tuple[int, ...], column: tuple[int, ...], expected: float) -> None:
    weights = np.array([[0.1, 0.2, 0.3, 0.4], [0.5, 0.1, 0.1, 0.3], [0.0, 0.0, 1.0, 0.0]])
    step = worked_group(weights, Group("row", row), Group("column", column))
    assert step.value == pytest.approx(expected)
    assert agree(step.formula) == pytest.approx(expected)


def test_a_tensor_without_a_rule_is_named(numbers: Numbers) -> None:
    with pytest.raises(KeyError, match="no rule works out 'nonsense'"):
        worked(numbers, "nonsense", (0,))
