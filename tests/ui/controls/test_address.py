"""What is chosen by clicking in a figure, in the address."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ui.controls import address
from ui.controls.address import read_pair, write_pair

Pair = tuple[int, int]


@pytest.fixture(autouse=True)
def parameters(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """The page's query parameters; a plain dict stands in for Streamlit's."""
    found: dict[str, str] = {}
    monkeypatch.setattr(address.st, "query_params", found)
    return found


def test_what_is_written_is_read(parameters: dict[str, str]) -> None:
    for pair in [(0, 0), (2, 3), (98, 0)]:
        write_pair("cell", pair)
        assert read_pair("cell", (99, 99), (5, 5)) == pair
    assert parameters == {"cell": "99.1"}  # counted from 1


def test_the_average_is_head_zero(parameters: dict[str, str]) -> None:
    write_pair("map", (2, -1))
    assert parameters == {"map": "3.0"}
    assert read_pair("map", (3, 4), (0, 0), lows=(0, -1)) == (2, -1)
    assert read_pair("map", (3, 4), (0, 0)) == (0, 0)  # where there is no average


@pytest.mark.parametrize("pair", [None, (1, 1)])
def test_the_default_is_left_out(pair: Pair | None, parameters: dict[str, str]) -> None:
    parameters["cell"] = "1.1"
    write_pair("cell", pair, default=(1, 1))
    write_pair("other", pair, default=(1, 1))
    assert parameters == {}


@pytest.mark.parametrize(
    "text",
    ["", "1", "1.", ".1", "1.1.1", "0.1", "4.1", "1.5", "99.99", "-1.1", "1.-1", "1,1", "１.１", "1e0.1", "1.1\n"],
)
def test_what_does_not_fit_is_the_default(text: str, parameters: dict[str, str]) -> None:
    parameters["cell"] = text
    assert read_pair("cell", (3, 4), (2, 0)) == (2, 0)


@given(st.text(alphabet="0123456789.-") | st.text())
def test_anything_gives_a_pair_that_fits(text: str) -> None:
    address.st.query_params["cell"] = text
    row, column = read_pair("cell", (3, 4), (2, 0))
    assert 0 <= row < 3
    assert 0 <= column < 4
