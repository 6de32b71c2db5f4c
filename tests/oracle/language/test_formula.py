"""The reader of formulas that other tests lean on."""

import math

import pytest

from tests.oracle.language.formula import agree, rounding, sides


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (r"q_{1}\cdot k_{2} = 2.0000\cdot (-3.0000) + 0.5000 = -5.5000", -5.5),
        (r"\frac{-5.5000}{\sqrt{64}} = \frac{-5.5000}{8.0000} = -0.6875", -0.6875),
        (r"\displaystyle \frac{e^{1.0000}}{e^{1.0000} + e^{0.0000} + 0.2000} = 0.6938", 0.6938),
        (r"\sin\!\left(\frac{3}{10000^{2/256}}\right) = \sin(2.7917) = 0.3428", 0.3428),
        (r"e^{-\infty} = 0 \;\Rightarrow\; 0.0000", 0.0),
        (r"1.2500 \to 1.2500", 1.25),
        (r"\max(1, \operatorname{round}(0.15\cdot 30)) = \operatorname{round}(\frac{13}{3}) = 4", 4),
    ],
)
def test_the_last_side_is_the_value(formula: str, expected: float) -> None:
    assert agree(formula) == pytest.approx(expected)


@pytest.mark.parametrize(
    "formula",
    [r"2.0000\cdot 3.0000 = 6.0010", r"\frac{1.0000}{8.0000} = 0.1260", r"e^{1.0000} = 2.7200", r"1.2500 \to 1.2510"],
)
def test_a_wrong_result_is_seen(formula: str) -> None:
    with pytest.raises(AssertionError, match="is not"):
        agree(formula)


def test_letters_are_no_numbers() -> None:
    assert sides(r"q_{1}\cdot k_{2} = 6.0000") == ["6.0000"]


def test_rounding_grows_with_what_a_number_is_multiplied_by() -> None:
    assert rounding("100 * 2.0000") == pytest.approx(100 * 5e-5)
    assert rounding("exp(2.0000)") == pytest.approx(math.exp(2) * 5e-5, rel=1e-3)
