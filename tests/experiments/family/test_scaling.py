"""The line through losses, and prompts that tell a task."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.family.fill_in import left_alone
from experiments.family.scaling import EXAMPLES, SIZES, VERDICTS, power_law, prompt, verdict_chances
from model.config import PRESETS
from model.files.loaded_model import load_model


@given(st.floats(-0.5, -0.01), st.floats(0.1, 3))
def test_a_power_of_the_size_lies_on_a_line(slope: float, start: float) -> None:
    sizes = [1e5, 3e5, 1e6, 5e6]
    found = power_law(sizes, [math.exp(start) * n**slope for n in sizes])
    assert (found.slope, found.start, found.fit) == pytest.approx((slope, start, 1), abs=1e-8)
    assert found.at(7e7) == pytest.approx(math.exp(start) * 7e7**slope)


def test_what_lies_off_the_line_lowers_the_fit() -> None:
    sizes, losses = np.array([1e5, 1e6, 1e7]), np.array([6.0, 4.0, 5.0])
    found = power_law(sizes, losses)
    assert found.fit == pytest.approx(np.corrcoef(np.log(sizes), np.log(losses))[0, 1] ** 2)


def test_a_prompt_tells_the_examples_with_their_verdicts_and_then_asks() -> None:
    assert prompt("So dull!", 0) == "So dull! This is"
    assert prompt("So dull", 0) == "So dull. This is"
    (first, right), (second, other) = EXAMPLES[:2]
    assert (
        prompt("So dull!", 2)
        == f"{first} This is{VERDICTS[right]}. {second} This is{VERDICTS[other]}. So dull! This is"
    )
    assert sorted(right for _, right in EXAMPLES) == [0, 0, 1, 1]


def test_the_verdicts_chances_are_those_behind_the_prompt_or_the_end_of_a_long_one() -> None:
    gpt = load_model("gpt-mini")
    encode = gpt.tokenizer.encode
    good, bad = (gpt.tokenizer.encode(one.strip())[0] for one in VERDICTS)
    assert [gpt.tokenizer.piece_text(id) for id in (good, bad)] == [*VERDICTS]
    said = left_alone(gpt, tuple(encode(prompt("I ate an apple.", 1))))
    assert verdict_chances(gpt, "I ate an apple.", 1) == pytest.approx((said[good], said[bad]))
    long = "It rained and rained. " * 60
    assert verdict_chances(gpt, long, 4) == pytest.approx(verdict_chances(gpt, long * 2, 2))


@pytest.mark.parametrize("name", SIZES)
def test_the_shipped_sizes_are_those_of_the_presets(name: str) -> None:
    assert load_model(name).config == PRESETS[name]
