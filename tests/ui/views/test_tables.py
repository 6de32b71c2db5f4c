"""Tables: texts as they are, numbers in one piece."""

import pytest

from tests.payloads import PAYLOADS
from ui.views.charts import tables


def drawn(monkeypatch: pytest.MonkeyPatch, cell: str) -> str:
    found: list[str] = []
    monkeypatch.setattr(tables.st, "html", found.append)
    tables.table(("a",), [(cell,)])
    return found[0].partition("<tbody>")[2].removesuffix("</tbody></table>")


def test_a_power_of_ten_never_breaks_at_the_end_of_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(monkeypatch, "2.4 · 10⁻⁷") == "<tr><td>2.4&nbsp;·&nbsp;10⁻⁷</td></tr>"


def test_nothing_stays_nothing_and_a_space_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(monkeypatch, "") == "<tr><td></td></tr>"
    assert drawn(monkeypatch, " ") == "<tr><td>␣</td></tr>"


@pytest.mark.parametrize("text", PAYLOADS)
def test_no_cell_becomes_markup(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = drawn(monkeypatch, text).removeprefix("<tr><td>").removesuffix("</td></tr>")
    assert not {"<", ">", '"'} & set(cell)
