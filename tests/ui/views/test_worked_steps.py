"""How worked steps stand on the page."""

import pytest

from explain import WorkedStep
from tests.oracle.language.formula import agree
from tests.oracle.language.statement import by_size, tex
from ui.views.worked_steps import arithmetic


@pytest.mark.parametrize(
    ("value", "end"),
    [(3.24e-6, r"3.2\cdot 10^{-6}"), (-9.96e-6, r"-1.0\cdot 10^{-5}"), (0.0, "0.0000"), (5.1e-5, "0.0001")],
)
def test_a_formula_ends_in_its_value_by_its_size_where_four_decimals_would_show_0(value: float, end: str) -> None:
    written = rf"10.0000\cdot 0.0000 = {'0.0001' if end == '0.0001' else '0.0000'}"
    formula = arithmetic(WorkedStep("", written, value, "", ()))
    assert formula == rf"10.0000\cdot 0.0000 = {end}"
    assert agree(formula) == pytest.approx(value, rel=0.05, abs=5e-5)
    assert (r"\cdot 10^{" in by_size(rf"x = {tex(value)}")) == (r"\cdot 10^{" in end)
