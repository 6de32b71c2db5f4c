"""What the lesson on DistilBERT says of a difference that was measured."""

import pytest

from pages.descendants import student_and_teacher
from tests.pages.kit import markdown, opened


@pytest.mark.parametrize(("more", "says"), [(0.0021, "hardly"), (-0.0021, "hardly"), (0.0019, "perhaps")])
def test_a_difference_is_hardly_chance_beyond_two_standard_errors(
    more: float, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = student_and_teacher.figures
    found = {"more_right_than_the_other": {"mean": more, "standard_error": 0.001}}
    monkeypatch.setattr(student_and_teacher, "figures", lambda name: measured(name) | found)
    assert f"percentage points, {says} chance" in markdown(opened("student-and-teacher"))
