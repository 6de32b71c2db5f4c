"""What holds for all pages."""

import ast
import json
import re
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages import first_screen
from pages.course import ORDER
from tests.course import LESSONS
from tests.pages.kit import ROOT, ROUTER, go_to, opened
from ui import engine
from ui.course.lesson import Lesson

FILES = sorted((ROOT / "pages").rglob("*.py"))
ALONE = ("home.py", "about.py", "results.py")
OTHERS = [ROOT / "pages" / name for name in ALONE] + sorted((ROOT / "pages" / "explore").glob("*.py"))
OTHERS += [ROOT / "pages" / "classes" / name for name in ("join.py", "teach.py")]
PAGES: list[Path | str] = [*OTHERS, *(lesson.slug for lesson in LESSONS)]
# No lessons: what draws pages, and what several lessons share.
SHARED = (
    *("router", "classes", "course.py", "family_models.py", "family_scenes.py", "hidden_word.py"),
    *("first_screen.py", "lesson_page.py", "live_training.py", "attention_prices.py", "own_picture.py", "own_sound.py"),
    "patches.py",
)

LONG = (
    "The old man who lives in the small white house near the sea told the children yesterday that he had once seen a "
    "very large ship which came from a country far away and brought strange fruit, silver coins and a blue parrot that "
    "could sing."
)


def name(page: Path | str) -> str:
    return page if isinstance(page, str) else page.stem


def named_by_the_router() -> set[Path]:
    text = ROUTER.read_text(encoding="utf-8")
    constants = [n.value for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Constant)]
    return {ROOT / "pages" / str(n) for n in constants if str(n).endswith(".py")}


def test_every_page_is_in_the_navigation_and_the_other_way_round() -> None:
    assert named_by_the_router() == set(OTHERS)


def test_every_lesson_file_belongs_to_the_course() -> None:
    """A lesson is a file, or a folder whose files are its own parts."""
    lessons = {Path(*place.split(".")) for place in ORDER}
    for file in FILES:
        place = file.relative_to(ROOT / "pages")
        if file in OTHERS or place.parts[0] in SHARED:
            continue
        assert place.with_suffix("") in lessons or place.parent in lessons, place


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_chart_has_a_text_and_a_table_and_an_empty_parameter_is_as_good_as_none(page: Path | str) -> None:
    app = opened(page)
    charts_have_a_text_and_a_table_of_their_numbers(app)
    # Streamlit would empty a control that asks for a choice: use `ui.controls.segmented`. A card that moves when it is
    # clicked stays chosen in no state: that is no choice.
    groups = app.button_group
    keys = [group.key for group in groups if group.key and "/" not in group.key and group.value is not None]
    for key in keys:
        chosen = {group.key: group.value for group in opened(page, **{key: ""}).button_group}
        assert chosen[key] is not None, key


def charts_have_a_text_and_a_table_of_their_numbers(app: AppTest) -> None:
    """For those who cannot see it. The project's own components bring both."""
    texts = [chart.proto.alt for chart in app.get("plotly_chart")]
    drawn = (e.proto.body for e in app.get("html") if e.proto.body.startswith('<figure class="tw-columns'))
    texts += [alt for body in drawn for alt in re.findall('^[^>]*aria-label="([^"]*)"', body)]
    assert all(len(text) > 40 for text in texts), texts
    without = [text for text in texts if "numbers are in the matrix beside" not in text]
    assert sum(fold.label == "The numbers of the figure" for fold in app.expander) >= len(without), without


@pytest.mark.parametrize("lesson", [one for one in LESSONS if one.on_map.scene], ids=lambda one: one.slug)
def test_a_scene_has_no_more_than_40_kb_of_data(lesson: Lesson) -> None:
    assert lesson.on_map.scene
    for sentence in "I ate an apple", LONG:
        assert len(json.dumps(lesson.on_map.scene(engine.trace(sentence)).sent())) <= 40_000, sentence


@pytest.mark.parametrize("lesson", [one for one in LESSONS if one.on_map.scene], ids=lambda one: one.slug)
def test_asterisks_in_a_text_never_make_an_answer_bold(lesson: Lesson) -> None:
    assert lesson.on_map.scene
    for sentence in "a ** b ** c", "***":
        for frame in lesson.on_map.scene(engine.trace(sentence)).frames:
            own = frame.answer.replace("\u2060*\u2060", "")  # quoted asterisks are gone: all others are marks
            plain, bold = own.split("**")[::2], own.split("**")[1::2]
            assert len(plain) == len(bold) + 1, frame.answer
            assert all(words == words.strip() for words in bold), frame.answer
            assert "*" not in "".join(plain + bold), frame.answer


@pytest.mark.parametrize(
    ("page", "picture"), [(ROOT / "pages" / "home.py", "stage"), ("masking", "stage"), ("gpt", "scene")]
)
def test_a_visit_gets_its_first_picture_before_the_rest_of_the_page(
    page: Path | str, picture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(first_screen, "wait_until_painted", lambda page, most: waits.append(most) or st.stop())
    app = opened(page)
    drawn = {one.proto.component_name.rpartition(".")[2] for one in app.main.get("bidi_component")}
    assert drawn & {"stage", "scene", "matrix", "head_grid"} == {picture}
    # The browser has painted it: the script runs anew, and begins with the same.
    again = [one.proto.component_name.rpartition(".")[2] for one in app.run().main.get("bidi_component")]
    assert {one for one in again[: len(drawn)] if one in ("stage", "scene", "matrix", "head_grid")} == {picture}
    assert len(again) > len(drawn)
    app.run()
    assert len(waits) == 1  # a visit waits once


def test_the_sentence_follows_from_page_to_page() -> None:
    app = AppTest.from_file(ROUTER, default_timeout=60).run()
    app.text_input(key="sentence").input("A dog sees a cat.").run()
    for lesson in LESSONS[::-1]:
        go_to(app, lesson.slug).run()
        for box in app.text_input:
            if box.key == "sentence":
                assert box.value == "A dog sees a cat."
