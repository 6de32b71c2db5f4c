"""A class in Chromium: a teacher and learners, live, on a projector and on a phone."""

import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import ROOT, offline, served
from tests.browser.kit import axe_faults, has_run, lasting, settled, sideways, wear

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=pwned=1>"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    store = tmp_path_factory.mktemp("store") / "classes.db"
    with served(ROOT / "app.py", env={"WALKTHROUGH_CLASSES": f"sqlite:///{store}"}) as address:
        yield address


@pytest.fixture
def visitor(browser: Browser) -> Iterator[Callable[..., Page]]:
    """visitor() → a page of a browser of its own."""
    opened = []

    def start(**options: object) -> Page:
        context = offline(browser, **options)
        opened.append(context)
        page = context.__enter__().new_page()
        page.set_default_timeout(60_000)  # up to three browsers at once, and lessons in all of them
        return page

    yield start
    for context in reversed(opened):
        context.__exit__(None, None, None)


def open_class(page: Page, url: str) -> str:
    """Its code."""
    page.goto(f"{url}/teach")
    page.get_by_label("Name of the class, if you like").fill("Physics")
    page.get_by_role("button", name="Open a class").click()
    code = page.locator(".tw-code")
    expect(code).to_be_visible()
    return code.inner_text()


def join(page: Page, url: str, code: str, nickname: str = "") -> Page:
    page.goto(f"{url}/join?code={code}")
    expect(page.get_by_label("Code of the class")).to_have_value(code)
    page.get_by_label("Nickname, if you like").fill(nickname)
    page.get_by_role("button", name="Join").click()
    expect(page.get_by_text("You are in the class")).to_be_visible()
    return page


def desk(page: Page, part: str) -> None:
    page.locator(".st-key-desk").get_by_text(part, exact=True).click()


def ask_primes(teacher: Page) -> None:
    desk(teacher, "Questions")
    teacher.locator(".st-key-source").get_by_text("Your own", exact=True).click()
    teacher.get_by_label("Your question").fill("Which is prime?")
    teacher.get_by_label(re.compile("The options")).fill("4\n5\n6")
    teacher.get_by_label("The right one").click()
    teacher.keyboard.press("Escape")
    teacher.get_by_role("button", name="Ask the class").click()


@pytest.mark.timeout(400)
def test_a_lesson_from_the_first_code_to_the_last_answer(visitor: Callable[..., Page], url: str) -> None:
    teacher, ada, bob = visitor(), visitor(viewport={"width": 390, "height": 844}), visitor()
    code = open_class(teacher, url)
    expect(teacher).not_to_have_url(re.compile("secret"))
    join(ada, url, code, HOSTILE)
    join(bob, url, code.lower(), "Bob")
    expect(teacher.get_by_text("2 joined")).to_be_visible()
    ask_primes(teacher)
    for learner in (ada, bob):
        learner.get_by_text("5", exact=True).click()
    ada.get_by_role("button", name="Answer").click()
    expect(ada.get_by_text("Your answer is counted")).to_be_visible()
    began = time.monotonic()
    expect(teacher.get_by_text("1 of 2 have answered")).to_be_visible()
    assert time.monotonic() - began < 5  # one second, on a machine that does nothing else
    tab = ada.context.new_page()  # another tab of the same learner
    tab.goto(f"{url}/join")
    expect(tab.get_by_text("Your answer is counted")).to_be_visible()
    teacher.get_by_role("button", name="Reveal the answers").click()
    expect(bob.get_by_text(re.compile("5: 1"))).to_be_visible()
    bob.get_by_role("button", name="Answer").click()
    teacher.get_by_role("button", name="Close it").click()
    expect(teacher.get_by_text("5: 2 (100%)")).to_be_visible()
    # Everyone here now: to a page and its state.
    teacher.goto(f"{url}/masking?sentence=A+dog+sees+a+cat.")
    teacher.get_by_role("button", name="Everyone here now").click()
    for learner in (ada, bob):
        expect(learner.get_by_role("heading", level=1, name="Masking")).to_be_visible(timeout=60_000)
        expect(learner.get_by_label("English sentence")).to_have_value("A dog sees a cat.", timeout=60_000)
    # A reload keeps everybody where they are.
    for someone in (teacher, ada):
        someone.reload()
        expect(someone.locator(".st-key-class_strip").get_by_text(code)).to_be_visible(timeout=60_000)
    assert not has_run(ada)
    teacher.goto(f"{url}/teach?desk=Who+is+where")
    expect(teacher.get_by_role("cell", name=re.compile("Bob"))).to_be_visible(timeout=60_000)
    assert not has_run(teacher)


def test_a_learner_is_known_after_the_browser_was_closed(visitor: Callable[..., Page], url: str) -> None:
    code = open_class(visitor(), url)
    ada = join(visitor(), url, code, "Ada")
    ada.wait_for_function("code => document.cookie.includes(`walkthrough_learner=${code}.`)", arg=code)
    kept = ada.context.storage_state()
    names = {cookie["name"]: cookie["expires"] for cookie in kept["cookies"]}  # type: ignore[typeddict-item]
    assert names["walkthrough_learner"] > time.time() + 29 * 24 * 3600
    again = visitor(storage_state=kept)
    again.goto(f"{url}/join")
    expect(again.get_by_text("You are in the class")).to_be_visible()


def test_the_teachers_link_opens_the_desk_and_without_the_secret_nothing(
    visitor: Callable[..., Page], url: str
) -> None:
    teacher, stranger = visitor(), visitor()
    code = open_class(teacher, url)
    teacher.get_by_text("Your secret link").click()
    link = teacher.get_by_test_id("stCode").inner_text().strip()
    assert link.startswith(f"{url}/teach?class={code}&secret=")
    stranger.goto(link[:-3])
    expect(stranger.get_by_text("This is not the teacher's link of a class")).to_be_visible()
    expect(stranger.locator(".tw-code")).to_have_count(0)
    home = visitor()
    home.goto(link)
    expect(home.locator(".tw-code")).to_have_text(code)


LOOKS = (("light", 1280), ("dark", 390))


@pytest.mark.timeout(400)
def test_nothing_serious_for_axe_and_no_sideways_scrolling(visitor: Callable[..., Page], url: str) -> None:
    teacher, ada = visitor(), visitor()
    code = open_class(teacher, url)
    join(ada, url, code, "A" * 24)
    ask_primes(teacher)
    expect(ada.get_by_role("button", name="Answer")).to_be_visible()
    pages = [
        (ada, None),
        *((teacher, part) for part in ("Invitation", "Questions", "Who is where", "Sentences", "End")),
    ]
    for page, part in pages:
        if part:
            desk(page, part)
            page.mouse.move(0, 0)
            page.evaluate("() => document.activeElement.blur()")  # Streamlit's own colours while one presses
        for scheme, width in LOOKS:
            wear(page, scheme, width)  # type: ignore[arg-type]
            assert lasting(partial(axe_faults, page, '[data-testid="stMain"]')) == [], (part, scheme)
            assert sideways(page) == [], (part, scheme)
        wear(page, "light", 1280)


def test_visitors_without_a_class_load_nothing_of_it(visitor: Callable[..., Page], tmp_path: Path) -> None:
    store = tmp_path / "classes.db"
    with served(ROOT / "app.py", env={"WALKTHROUGH_CLASSES": f"sqlite:///{store}"}) as address:
        page = visitor()
        page.goto(f"{address}/masking")
        expect(page.get_by_role("heading", level=1, name="Masking")).to_be_visible(timeout=30_000)
        settled(page)
        assert not store.exists()
