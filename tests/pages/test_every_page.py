"""What holds for all pages."""

import ast
import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.kit import ROOT, ROUTER, opened
from ui.course.lesson import LESSONS

PAGES = sorted((ROOT / "pages").rglob("*.py"))
SENTENCES = ["I ate an apple", "x", "ภาษาไทย", "My neighbour's cat. " * 20]


def name(page: Path) -> str:
    return page.relative_to(ROOT / "pages").as_posix()


def in_the_navigation() -> set[Path]:
    """Files of the pages the router offers."""
    text = ROUTER.read_text(encoding="utf-8")
    named = [n.value for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Constant) and str(n.value).endswith(".py")]
    return {ROOT / "pages" / n for n in named} | {lesson.file for lesson in LESSONS}


def test_every_file_in_pages_is_in_the_navigation_and_the_other_way_round() -> None:
    assert in_the_navigation() == set(PAGES)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_runs_and_has_a_title(page: Path) -> None:
    assert len(opened(page).title) == 1


@pytest.mark.parametrize("page", [p for p in PAGES if p.name != "about.py"], ids=name)
def test_a_page_takes_any_sentence(page: Path) -> None:
    for sentence in SENTENCES:
        opened(page, sentence=sentence)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_chart_has_a_text_and_a_table_of_its_numbers(page: Path) -> None:
    """For those who cannot see it. The project's own components bring both."""
    app = opened(page)
    texts = [chart.proto.alt for chart in app.get("plotly_chart")]
    drawn = (e.proto.body for e in app.get("html") if e.proto.body.startswith('<figure class="tw-columns'))
    texts += [alt for body in drawn for alt in re.findall('^[^>]*aria-label="([^"]*)"', body)]
    assert all(len(text) > 40 for text in texts), texts
    without = [text for text in texts if "numbers are in the matrix beside" not in text]
    assert sum(fold.label == "The numbers of the figure" for fold in app.expander) >= len(without), without


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_an_empty_parameter_is_as_good_as_none(page: Path) -> None:
    """Streamlit would empty a control that asks for a choice: use `ui.controls.segmented`."""
    keys = [group.key for group in opened(page).button_group if group.key and "/" not in group.key]
    for key in keys:
        chosen = {group.key: group.value for group in opened(page, **{key: ""}).button_group}
        assert chosen[key] is not None, key


def test_the_sentence_follows_from_page_to_page() -> None:
    app = AppTest.from_file(ROUTER, default_timeout=60).run()
    app.text_input(key="sentence").input("A dog sees a cat.").run()
    for lesson in LESSONS[::-1]:
        app.switch_page(str(lesson.file)).run()
        for box in app.text_input:
            if box.key == "sentence":
                assert box.value == "A dog sees a cat."
