"""Approved text: what a file may hold, and how values find their holes again when the words around them change."""

from pathlib import Path

import pytest

from tests.approve import with_holes
from tests.oracle.language import approved
from tests.oracle.language.approved import Line, Prose
from tests.oracle.language.claims import table
from tests.oracle.language.statement import number


@pytest.mark.parametrize(
    ("template", "values", "shown", "renewed"),
    [
        ("It is {#0}.", (number(0.5, 2),), "It was 0.50, once.", "It was {#0}, once."),
        ("{#0} of {#1} rows", (3, 3), "Of 3 columns 3 are seen.", "Of {#0} columns {#1} are seen."),
        ("from {#0} to {#1}", ("a", "b"), "it goes from a down to b", "it goes from {#0} down to {#1}"),
        ("the {#0} reads {#0}", ("cat",), "a cat, the cat reads cat", "a cat, the {#0} reads {#0}"),
        ("It is {#0}.", (number(0.5, 2),), "It is 0.5.", None),  # too few decimals: no value of the claim's
        ("It is {#0}{#1}.", ("1", ""), "So it is 1.", "So it is {#0}{#1}."),
    ],
)
def test_values_go_back_into_their_holes(template: str, values: tuple, shown: str, renewed: str | None) -> None:
    assert with_holes(template, values, shown) == renewed


def test_a_file_is_written_as_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approved, "FOLDER", tmp_path)
    prose = Prose("some_page")
    prose.add([Line("markdown", "Two\nlines: {#0}"), Line("latex", r"\frac{2}{3}")], "a run")
    prose.sections["a run"] = "see"
    assert prose.add([Line("caption", "All of this is new.")]) == "all of this is"
    prose.write()
    again = Prose("some-page")
    assert (again.runs, again.sections) == (prose.runs, prose.sections)
    assert [one.content for one in again("a run", 7)] == ["Two\nlines: 7", r"\frac{2}{3}"]
    for wrong in (("a run",), ("a run", 1, 2), ("another",)):
        with pytest.raises(AssertionError, match=r"some-page.txt: \["):
            list(again(*wrong))
    again.add([Line("head", "a | b"), Line("row", "1 | {#0}")], "rows")
    assert again.words("rows", 2) == {"head": "a | b", "row": "1 | 2"}
    assert again.table("rows", 2) == table(("a", "b"), ("1", "2"))
