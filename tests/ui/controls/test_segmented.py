"""A control of which one option is always chosen, and which of its values go along to other pages."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

PAGE = """
import streamlit as st
from ui.controls.persist import restore
from ui.controls.segmented import one_of

restore("{name}")
st.write("chosen " + one_of("Colour", ["red", "green", "blue"], key="colour", default="{default}", goes_along=True))
"""


@pytest.fixture
def app(tmp_path: Path) -> AppTest:
    """Two pages with the same control; the first opens on red, the second on blue."""
    (tmp_path / "app.py").write_text(
        "import streamlit as st\nst.navigation([st.Page('one.py', default=True), st.Page('two.py')]).run()\n"
    )
    for name, default in (("one", "red"), ("two", "blue")):
        (tmp_path / f"{name}.py").write_text(PAGE.format(name=name, default=default))
    return AppTest.from_file(tmp_path / "app.py")


def chosen(app: AppTest) -> str:
    assert not app.exception
    return app.markdown[0].value.removeprefix("chosen ")


def test_a_default_does_not_go_along(app: AppTest) -> None:
    assert chosen(app.run()) == "red"
    assert chosen(app.switch_page("two.py").run()) == "blue"
    assert chosen(app.switch_page("one.py").run()) == "red"


@pytest.mark.parametrize("colour", ["green", "blue"])
def test_a_choice_goes_along(colour: str, app: AppTest) -> None:
    app.run().button_group[0].set_value(colour).run()
    assert chosen(app) == colour
    assert chosen(app.switch_page("two.py").run()) == colour
    assert chosen(app.switch_page("one.py").run()) == colour


def test_a_page_s_own_default_goes_along_once_it_was_chosen(app: AppTest) -> None:
    app.run().button_group[0].set_value("green").run()
    app.button_group[0].set_value("red").run()
    assert chosen(app.switch_page("two.py").run()) == "red"


def test_what_the_address_chose_goes_along(app: AppTest) -> None:
    app.query_params["colour"] = "green"
    assert chosen(app.run()) == "green"
    assert chosen(app.switch_page("two.py").run()) == "green"


@pytest.mark.parametrize("value", ["", "violet", ["", ""], ["red", ""]])
def test_what_the_address_cannot_mean_is_the_default(value: str | list[str], app: AppTest) -> None:
    app.query_params["colour"] = value
    assert chosen(app.run()) == "red"
    assert chosen(app.switch_page("two.py").run()) == "blue"
