"""The box in which a learner enters a number."""

import pytest
from streamlit.testing.v1 import AppTest


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
