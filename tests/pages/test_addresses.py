"""A page is a function of its address: whatever one does on it, its address reopens it exactly as it is."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.course import LESSONS
from tests.oracle.language.reader import blocks, read
from tests.oracle.language.statement import Statement, compare
from tests.pages.kit import assert_sound, choose_in, component, opened
from ui.course.lesson import Lesson

OTHER_SENTENCE = "The animal didn't cross the street because it was too wide."
CONTROLS = (
    "text_input", "toggle", "button_group", "selectbox", "slider", "select_slider", "checkbox", "radio", "number_input"
)  # fmt: skip


def without_questions(app: AppTest) -> list[Statement]:
    """They ask about what was chosen when they were first drawn, and stay."""
    return [replace(one, content=without_rounding(one.content)) for one in read(app) if one.part != "predict"]


def without_rounding(content: Any) -> Any:
    """What is left of two equal numbers computed in two ways may differ from run to run."""
    if isinstance(content, str):
        return re.sub(r"\b0\.000\b|\d\.\d · 10⁻[⁵⁶⁷⁸]", "0.000", content)
    if isinstance(content, list):
        return [without_rounding(one) for one in content]
    return content


def controls(app: AppTest) -> Iterator[Any]:
    """What a visitor can set, but neither the sentence nor an answer."""
    for block in app.main.children.values():
        for element in outside_questions(block):
            if element.type in CONTROLS and element.key != "sentence" and not element.disabled:
                yield element


def outside_questions(node: Any) -> Iterator[Any]:
    if getattr(node, "key", None) == "part_predict":
        return
    yield node
    for child in getattr(node, "children", {}).values():
        yield from outside_questions(child)


def other_values(element: Any) -> list[Any]:
    """Values to set a control to."""
    match element.type:
        case "toggle" | "checkbox":
            return [not element.value]
        case "text_input":
            return ["quiet"]
        case "slider" | "number_input":
            return [element.max if element.value != element.max else element.min]
        case "button_group":
            others = [option for option in element.options if option != str(element.value)]
            return others[-1:] if all(option.isdecimal() for option in others) else others
        case _:
            return [element.options[-1]]


def figures(app: AppTest) -> list[Any]:
    """Components with a cell that is chosen."""
    found = [one for one in blocks(app.main) if one.type == "bidi_component" and one.proto.WhichOneof("data")]
    return [one for one in found if component(app, one.key).get("selected") is not None]


def other_cell(data: dict[str, Any]) -> tuple[int, int]:
    """The first or the last cell of an overview of heads, a row of cards or a tree; of a matrix the first of its last
    row, so that a row taken for a column shows.
    """
    first = (0, 0)
    if "rows" in data:
        last = len(data["rows"]) - 1, 0
    elif "layers" in data:
        last = data["layers"] - 1, data["heads"] - 1
    elif "cards" in data:
        last = 0, len(data["cards"]) - 1
    else:
        last = len(data["columns"]) - 1, len(data["columns"][-1]) - 1
    return first if data["selected"] == list(last) else last


def address(app: AppTest) -> dict[str, Any]:
    """The address as it stands above the page: what the app writes, and what the browser writes for bound controls."""
    found = {name: values[0] if len(values) == 1 else values for name, values in app.query_params.items()}
    for element in blocks(app.main):
        if name := getattr(element.proto, "query_param_key", ""):
            found[name] = str(element.value).lower() if isinstance(element.value, bool) else str(element.value)
    return found


def differences(app: AppTest, lesson: Lesson) -> list[str]:
    """In what the page differs from the one that its address opens; the first few."""
    return compare(without_questions(opened(lesson.slug, **address(app))), without_questions(app))[:3]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda one: one.slug)
def test_an_address_reopens_its_page(lesson: Lesson) -> None:
    app = opened(lesson.slug)
    tried: set[tuple[Any, Any]] = set()
    messages = []

    def next_action() -> tuple[str, Any] | None:
        for element in controls(app):
            for value in other_values(element):
                if (element.key, str(value)) not in tried:
                    tried.add((element.key, str(value)))
                    return element.key, value
        return None

    action = next_action()
    while action:
        key, value = action
        (element,) = (one for one in controls(app) if one.key == key)
        element.set_value(value)
        app.run()
        assert_sound(app)
        action = next_action()
        if action is None or action[0] != key:  # each control as it was left, and all that were set before it
            messages += [f"after {key} was set to {value}: {m}" for m in differences(app, lesson)]
    for key in [figure.key for figure in figures(app)]:
        (figure,) = (one for one in figures(app) if one.key == key)
        cell = other_cell(component(app, key))
        choose_in(app, figure, *cell)
        assert component(app, key)["selected"] == list(cell)
        messages += [f"after {cell} was chosen in {key}: {m}" for m in differences(app, lesson)]
    app.text_input(key="sentence").set_value(OTHER_SENTENCE).run()
    messages += [f"after another sentence was typed: {message}" for message in differences(app, lesson)]
    assert not messages, "\n".join(["", *messages])
    assert tried
