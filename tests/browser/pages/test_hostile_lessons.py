"""Hostile text in every lesson's sentence and address: shown as text, never executed, breaking nothing."""

import re
import sys
from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from pages.family.gpt import writing
from pages.inference.inference import state
from tests.browser.conftest import ROOT
from tests.browser.kit import rerun, settled, sideways
from tests.course import LESSONS
from ui.controls.control import Choice, Number, Switch
from ui.course.lesson import Lesson

pytestmark = pytest.mark.browser

# Turning, invisible and piled up.
MARKS = "\u202eabc\u2066\u200b\ufeff Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘ \u0007\u0085 \U000e0041"
MARKUP = "[a](javascript:pwned=1) $\\href{x}{y}$ $$\\frac{ :red[<b>] `d` | {row} %{x}"
# Short enough to be shown whole, and one that never is.
NASTY = {
    "HTML": "</script><script>pwned=1</script><img src=x onerror='pwned=1'>",
    "Markdown, LaTeX, placeholders, marks, and 10,000 characters": MARKUP + MARKS + "W<b>$x$" * 1_500,
}
ODD = [
    *("", "0", "-1", "99", "1e9", "NaN", "99.99", "1.1.1", "true", "None", "٣", "[1]", "../..", "\x00", "9" * 400),
    *(MARKS, MARKUP, NASTY["HTML"]),
]

# What is typed where no sentence is.
INSTEAD = {
    "rule-or-by-heart": "A sum of two numbers",
    "without-attention": "Six letters a to h, and dots",
    "pictures-meet-words": "Type any words",
    "sound-in-strips": "Digits, up to 5",
}

# Nothing is typed there; tests/browser/pages/test_own_picture.py draws.
DRAWN = {"a-picture-as-words", "windows-that-shift", "pictures-from-text"}


def parameters() -> list[str]:
    """Every name that a page might read from the address, and more: keys of widgets, what helpers are called with."""
    files = [path for folder in ("pages", "ui") for path in (ROOT / folder).rglob("*.py")]
    source = "\n".join(path.read_text(encoding="utf-8") for path in files)
    keys = re.findall(r'\bkey=f?"(\w+)', source)
    read = re.findall(r'\b(?:read|write)_\w+\(\s*"(\w+)"', source)
    controls = re.findall(r'\b(?:Choice|Stops|Switch|Number|ChosenPieces)\(\s*(?:f?"[^"]*",\s*)?f?"(\w+)', source)
    asked = re.findall(r'query_params(?:\.\w+\(|\[)\s*"(\w+)"', source)
    constants = re.findall(r'"([a-z_]+)"', "\n".join(re.findall(r'^[A-Z_, ]+ = (".*)$', source, re.MULTILINE)))
    found = {*keys, *read, *controls, *asked, *constants}
    found |= {f"{name}{n}" for name in found if name.endswith("_") for n in range(4)}  # constant_{n}
    return sorted(found - {"sentence", "present"})


def test_the_names_are_found() -> None:
    known = {"cell", "head", "layer", "attention", "entry", "find", "position", "shuffle", "step", "constant_0"}
    loaded = [vars(module) for name, module in list(sys.modules.items()) if name.startswith("pages.")]
    controls = [one for names in loaded for one in names.values() if isinstance(one, Choice | Switch | Number)]
    known |= {one.key for one in controls} | {prefix.PREFIX.name for prefix in (state, writing)}
    assert known <= {*parameters()}


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.slug)
def test_nothing_is_executed_and_nothing_breaks(lesson: Lesson, new_page: Callable[..., Page], url: str) -> None:
    page = new_page(color_scheme="light", viewport={"width": 390, "height": 844})
    went_wrong: list[str] = []
    page.on("dialog", lambda dialog: (went_wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("pageerror", lambda error: went_wrong.append(f"error in the page: {error}"))

    def sound(what: str) -> None:
        assert went_wrong == [], what
        assert page.evaluate("() => window.pwned") is None, what
        expect(page.locator(".stException, [role=dialog]")).to_have_count(0)
        assert "Traceback" not in page.locator("body").inner_text(), what
        bad = "script, iframe, img[src=x], [onerror], [onload], [onmouseover], a[href^=javascript]"
        assert page.locator(", ".join(f".stMain {each}" for each in bad.split(", "))).count() == 0, what
        assert sideways(page) == [], what

    first, second = NASTY.items()
    at = LESSONS.index(lesson)  # another value for each name in each lesson
    linked = {name: ODD[(n + at) % len(ODD)] for n, name in enumerate(parameters())}
    page.goto(f"{url}/{lesson.slug}?{urlencode({'sentence': first[1], **linked})}")
    expect(page.locator(".st-key-way_on")).to_be_visible()
    settled(page)
    sound(f"{first[0]}, and odd values for all other names")
    if lesson.slug in DRAWN:
        return
    box = page.get_by_label(INSTEAD[lesson.slug] if lesson.on_map.instead else "English sentence")
    rerun(page, lambda: (box.fill(second[1]), box.press("Enter")))
    sound(second[0])
    expect(box).to_have_value(second[1])
