"""The box in which a learner enters a number."""

import pytest
from streamlit.testing.v1 import AppTest

from explain import Blank


def asked() -> None:
    from explain import Blank
    from ui.course.check import fill_in

    fill_in(Blank(r"2.6506^2", 7.0266), key="asked")


@pytest.mark.parametrize(
    ("given", "is_right"), [(7.03, True), (7.027, True), (7.0266, True), (7.0, False), (7.02, False), (7.04, False)]
)
def test_a_number_asked_for_to_two_decimals_is_right_to_two_decimals(given: float, is_right: bool) -> None:
    app = AppTest.from_function(asked).run()
    app.number_input[0].set_value(given).run()
    assert [one.value for one in app.success] == ["Right: it is 7.0266."] * is_right
    assert len(app.warning) == (not is_right)


@pytest.mark.parametrize(("given", "is_near"), [(23147.69, True), (23151.16, True), (23154.0, False)])
def test_of_a_large_power_what_the_exponent_as_it_stands_gives_is_right(given: float, is_near: bool) -> None:
    """e^10.04975, which may stand there as e^10.0497 or as e^10.0498."""
    asked = Blank("e^{10.0497}", 23148.841)
    assert (abs(given - asked.answer) <= asked.near) == is_near
