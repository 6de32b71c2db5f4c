"""The language of claims: what counts as the same, and what a message says if it is not."""

import numpy as np
import pytest

from tests.oracle.language.statement import (
    Between,
    Statement,
    Steps,
    between,
    chance,
    compare,
    difference,
    factor,
    magnitude,
    number,
    rounding,
    tex,
)


@pytest.mark.parametrize(
    ("claimed", "shown"),
    [
        (f"It is {number(0.12345)}.", "It is 0.1235."),
        (f"It is {number(0.12345)}.", "It is 0.1234."),  # half way: float32 may fall on either side
        (number(-2.5, 1), "−2.5"),
        (tex(-2.5, 1), "-2.5"),
        (factor(-2.5), "(-2.5000)"),
        (factor(2.5), "2.5000"),
        (number(-1e-9), "0.0000"),
        (number(-np.inf), "−∞"),
        (tex(-np.inf), r"-\infty"),
        (number(1234567.0, 0), "1,234,567"),
        (f"{between(1, 5)} ms", "2.7 ms"),
        (rounding(), "0.000"),
        (rounding(), "3.1 · 10⁻⁷"),
        (chance(0.00001), "<0.0001"),
        (chance(0.5), "0.5000"),
        (magnitude(0.0), "0.000"),
        (magnitude(1.24e-7), "1.2 · 10⁻⁷"),
        (magnitude(9.99e-8), "1.0 · 10⁻⁷"),
        (magnitude(12.0), "12.000"),
        (1, 1.0001),
        (Between(0, 1), 0.5),
        (None, None),
        (["a", {"b": np.array([1.0, np.nan, -np.inf])}], ["a", {"b": np.array([1.0001, np.nan, -np.inf])}]),
        ([1, 2], np.array([1.0, 2.0])),
        (Steps(np.array([0.5]), 1 / 255), np.array([128 / 255])),
    ],
    ids=str,
)
def test_the_same(claimed: object, shown: object) -> None:
    assert not difference(claimed, shown)


@pytest.mark.parametrize(
    ("claimed", "shown"),
    [
        ("one key", "one query"),
        (f"It is {number(0.12345)}.", "It was 0.1235."),
        (number(0.12345), "0.1237"),
        (number(0.12345), "0.123"),  # too few decimals
        (number(0.12345), "−0.1235"),
        (number(-0.5, 1), "-0.5"),  # a hyphen for a minus
        (tex(-0.5, 1), "−0.5"),
        (number(-1e-9), "−0.0000"),
        (number(np.inf), "−∞"),
        (rounding(), "2.0 · 10⁻³"),
        (rounding(), "0.001"),
        (f"{between(1, 5)} ms", "7.1 ms"),
        (chance(0.00001), "0.0000"),
        (True, 1),
        (1, True),
        (1, 1.01),
        (None, 0),
        (["a"], ["a", "b"]),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1, "b": 2}, {"a": 1}),
        (np.array([[1.0, 2.0]]), np.array([[1.0], [2.0]])),
        (np.array([1.0]), np.array([np.nan])),
        (np.array([True]), np.array([False])),
        (Steps(np.array([0.5]), 1 / 255), np.array([126 / 255])),
    ],
    ids=str,
)
def test_not_the_same(claimed: object, shown: object) -> None:
    assert difference(claimed, shown)


def said(*texts: str) -> list[Statement]:
    return [Statement("markdown", text, "see") for text in texts]


def test_one_statement_too_many_or_too_few_does_not_spoil_the_others() -> None:
    assert not compare(said("a", "b", "c"), said("a", "b", "c"))
    (message,) = compare(said("a", "b", "c"), said("a", "c"))
    assert message == "claimed, but not shown: see: markdown b"
    (message,) = compare(said("a", "c"), said("a", "b", "c"))
    assert message == "shown, but nobody claims it: see: markdown b"
    (message,) = compare(said("a", "b", "c"), said("a", "x", "c"))
    assert message.startswith("not as claimed: see: markdown")


def test_order_counts() -> None:
    assert compare(said("a", "b"), said("b", "a"))
