"""A control says the same where it is drawn and where it is not, as in presenter mode."""

import json

import pytest
from streamlit.testing.v1 import AppTest


def page() -> None:
    import streamlit as st

    from ui.controls.control import Choice, Number, Stops, Switch

    controls = (
        Choice("Choice", "choice", ("a", "b")),
        Choice("Count", "count", (1, 2), default=2),
        Stops("Stops", "stops", (1, 2, 3)),
        Switch("Switch", "switch"),
        Number("Number", "number", 0.0, 2.0, 1.0),
    )
    undrawn = [one.value() for one in controls]
    st.json({"drawn": [one.draw() for one in controls], "undrawn": undrawn, "again": [one.value() for one in controls]})


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({}, ["a", 2, 1, False, 1.0]),
        ({"choice": "b", "count": "1", "stops": "3", "switch": "true", "number": "1.5"}, ["b", 1, 3, True, 1.5]),
        (dict.fromkeys(("choice", "count", "stops", "switch"), "x") | {"number": "9"}, ["a", 2, 1, False, 1.0]),
    ],
)
def test_what_the_address_says_is_read_before_it_is_drawn(query: dict[str, str], says: list[object]) -> None:
    app = AppTest.from_function(page, default_timeout=60)
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    assert json.loads(app.json[0].value) == dict.fromkeys(("drawn", "undrawn", "again"), says)
