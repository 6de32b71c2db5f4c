"""A class in Chromium: a teacher and learners, live, on a projector and on a phone."""

import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect

from tests.browser.classes import ask_primes, desk, join, open_class
from tests.browser.conftest import ROOT, served
from tests.browser.kit import axe_faults, has_run, lasting, settled, sideways, wear

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=pwned=1>"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    store = tmp_path_factory.mktemp("store") / "classes.db"
    with served(ROOT / "app.py", env={"WALKTHROUGH_CLASSES": f"sqlite:///{store}"}) as address:
        yield address


@pytest.mark.timeout(900)
def test_a_lesson_from_the_first_code_to_the_last_answer(new_page: Callable[..., Page], url: str) -> None:
    teacher, ada, bob = new_page(), new_page(viewport={"width": 390, "height": 844}), new_page()
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
    looked = teacher.evaluate("() => watched.runs.looks")  # once a second, on a machine that does nothing else
    expect(teacher.get_by_text("1 of 2 have answered")).to_be_visible()
    assert teacher.evaluate("() => watched.runs.looks") <= looked + 4
    tab = ada.context.new_page()  # another tab of the same learner
    tab.goto(f"{url}/join")
    expect(tab.get_by_text("Your answer is counted")).to_be_visible()
    teacher.get_by_role("button", name="Reveal the answers").click()
    expect(bob.get_by_text(re.compile("5: 1"))).to_be_visible()
    bob.get_by_role("button", name="Answer").click()
    teacher.get_by_role("button", name="Close it").click()
    expect(teacher.get_by_text("5: 2 (100%)")).to_be_visible()
    # Everyone here now: to a page and its state.
    teacher.goto(f"{url}/masking?sentence=A+dog+sees+a+cat.&head=4")
    teacher.get_by_role("button", name="Everyone here now").click()
    for learner in (ada, bob):
        expect(learner.get_by_role("heading", level=1, name="Masking")).to_be_visible()
        expect(learner.get_by_label("English sentence")).to_have_value("A dog sees a cat.")
        expect(learner.locator(".st-key-head").get_by_role("radio", name="4")).to_be_checked()
    # To another page with the same controls, and on that page to another piece.
    for head, piece in ((2, "4 es"), (3, "2 dog")):
        teacher.goto(f"{url}/self-attention?sentence=A+dog+sees+a+cat.&head={head}&hide={piece[0]}")
        teacher.get_by_role("button", name="Everyone here now").click()
        for learner in (ada, bob):
            expect(learner.locator(".st-key-head").get_by_role("radio", name=str(head))).to_be_checked()
            expect(learner.get_by_label("Piece to hide")).to_have_value(piece)
            expect(learner.locator(".st-key-part_predict")).to_contain_text(f", head {head}:")
    # A reload keeps everybody where they are.
    for someone in (teacher, ada):
        someone.reload()
        expect(someone.locator(".st-key-class_strip, .st-key-class_desk").get_by_text(code)).to_be_visible()
    assert not has_run(ada)
    teacher.goto(f"{url}/teach?desk=Who+is+where")
    expect(teacher.get_by_role("cell", name=re.compile("Bob"))).to_be_visible()
    # A nickname for the projector, and a learner who is removed.
    unfold(teacher)
    choose(teacher, "Bob · learner 2")
    teacher.get_by_label("New nickname").fill(HOSTILE[:22])
    teacher.get_by_role("button", name="Rename").click()
    choose(teacher, f"{HOSTILE[:22]} · learner 2")
    teacher.get_by_text("Yes, remove this learner").click()
    teacher.get_by_role("button", name="Remove").click()
    expect(bob.get_by_text("Your teacher took you out of the class")).to_be_visible()
    expect(bob.locator(".st-key-class_strip")).to_have_count(0)
    assert not has_run(teacher)


def unfold(teacher: Page) -> None:
    """And wait: a list that is opened while its fold still moves closes again."""
    fold = teacher.locator("details", has_text="Rename or remove a learner")
    fold.locator("summary").click()
    fold.evaluate("(fold) => Promise.all(fold.getAnimations({ subtree: true }).map((one) => one.finished))")


def choose(teacher: Page, learner: str) -> None:
    teacher.get_by_role("combobox", name="Learner").click()
    teacher.get_by_role("option", name=learner).click()


# A busy browser may miss that it is sent elsewhere.
LOSE_ONE = "addEventListener('popstate', (e) => e.stopImmediatePropagation(), { once: true, capture: true })"


def late(page: Page, ours: bytes, after: bytes) -> None:
    """Have what the browser tells the server of one thing follow what it tells of another, however late that is."""

    def start(route: WebSocketRoute) -> None:
        server = route.connect_to_server()
        held: list[bytes] = []

        def forward(message: str | bytes) -> None:
            if not isinstance(message, bytes) or ours not in message:
                server.send(message)
            else:
                held.append(message)
            if isinstance(message, bytes) and after in message:
                while held:
                    server.send(held.pop())

        route.on_message(forward)

    page.route_web_socket("**/_stcore/stream", start)


def test_a_click_before_the_first_picture_is_drawn_counts(new_page: Callable[..., Page], url: str) -> None:
    teacher = new_page()
    open_class(teacher, url)
    late(teacher, b"said_painted", after=b"class_send")
    teacher.goto(f"{url}/encoder?sentence=A+dog+sees+a+cat.")
    teacher.get_by_role("button", name="Everyone here now").click()
    expect(teacher.get_by_text("Sent: they will be here in a moment.")).to_be_visible()


def test_nothing_typed_is_lost_when_everyone_is_called_elsewhere(new_page: Callable[..., Page], url: str) -> None:
    teacher, ada = new_page(), new_page()
    code = open_class(teacher, url)
    join(ada, url, code)
    ask_primes(teacher)
    ada.locator(".st-key-class_question").get_by_text("5", exact=True).click()
    expect(ada.get_by_role("button", name="Answer")).to_be_enabled()
    ada.get_by_role("link", name="Scaled dot-product").click()
    lesson = ada.get_by_role("heading", level=1, name="Scaled dot-product")
    expect(lesson).to_be_visible()
    question = ada.locator(".st-key-part_predict")
    stability = "Scaling is there for numerical stability."
    question.get_by_text(stability).click()
    expect(question.get_by_role("button", name="Check my answer")).to_be_enabled()
    number = ada.get_by_label("Your number")
    number.press_sequentially("0.25")  # and has not left the box yet
    ada.evaluate(LOSE_ONE)
    teacher.goto(f"{url}/encoder?sentence=A+dog+sees+a+cat.")
    teacher.get_by_role("button", name="Everyone here now").click()
    expect(ada.get_by_role("heading", level=1, name="Encoder")).to_be_visible()
    expect(ada).to_have_url(re.compile(r"/encoder\?sentence=A\+dog\+sees\+a\+cat\.$"))
    expect(ada.get_by_label("English sentence")).to_have_value("A dog sees a cat.")
    ada.go_back()
    expect(lesson).to_be_visible()
    expect(question.get_by_role("checkbox", name=stability)).to_be_checked()
    expect(number).to_have_value("0.25")
    question.get_by_role("button", name="Check my answer").click()
    expect(question.get_by_text(re.compile("^(Right|Not quite)"))).to_be_visible()
    ada.get_by_role("link", name="Question 1 is open").click()
    ada.get_by_role("button", name="Answer").click()
    expect(ada.get_by_text("Your answer is counted: 5")).to_be_visible()


def test_a_learner_and_what_they_know_outlast_the_browser_and_the_server(
    new_page: Callable[..., Page], tmp_path: Path
) -> None:
    env = {"WALKTHROUGH_CLASSES": f"sqlite:///{tmp_path}/classes.db"}
    with served(ROOT / "app.py", env=env) as url:
        ada, teacher = new_page(), new_page()
        ada.goto(f"{url}/masking")
        expect(ada.get_by_role("heading", level=1, name="Masking")).to_be_visible()
        settled(ada)
        assert not (tmp_path / "classes.db").exists()  # without a class nothing of it is loaded
        code = open_class(teacher, url)
        join(ada, url, code, "Ada")
        ada.get_by_role("link", name="Masking").click()
        question = ada.locator(".st-key-part_predict")
        question.get_by_text("0.5", exact=True).click()
        question.get_by_role("button", name="Check my answer").click()
        expect(ada.get_by_role("link", name="Masking 1/2")).to_be_visible()
        ada.wait_for_function("() => document.cookie.includes('walkthrough_progress=masking.2.alpha')")
        ada.wait_for_function("code => document.cookie.includes(`walkthrough_learner=${code}.`)", arg=code)
        teacher.wait_for_function("code => document.cookie.includes(`walkthrough_teacher=${code}.`)", arg=code)
        desk(teacher, "Progress")
        expect(teacher.get_by_text("Masking: 1 of 2 answered right.")).to_be_visible()
        kept = [page.context.storage_state() for page in (teacher, ada)]
    expires = {one["name"]: one["expires"] for one in kept[1]["cookies"]}  # type: ignore[typeddict-item]
    assert expires["walkthrough_learner"] > time.time() + 29 * 24 * 3600
    assert expires["walkthrough_progress"] > time.time() + 364 * 24 * 3600
    with served(ROOT / "app.py", env=env) as url:
        ada = new_page(storage_state=kept[1])
        ada.goto(f"{url}/join")
        expect(ada.get_by_text("You are in the class")).to_be_visible()
        expect(ada.get_by_role("link", name="Masking 1/2")).to_be_visible()
        teacher = new_page(storage_state=kept[0])
        teacher.goto(f"{url}/teach?desk=Progress")
        expect(teacher.get_by_text("Masking: 1 of 2 answered right.")).to_be_visible()


def test_the_teachers_link_opens_the_desk_until_it_is_replaced_and_without_the_secret_nothing(
    new_page: Callable[..., Page], url: str
) -> None:
    teacher, stranger = new_page(), new_page()
    code = open_class(teacher, url)
    teacher.get_by_text("Your secret link").click()
    expect(teacher.get_by_test_id("stCode")).to_contain_text("secret=")
    link = teacher.get_by_test_id("stCode").inner_text().strip()
    assert link.startswith(f"{url}/teach?class={code}&secret=")
    stranger.goto(link[:-3])
    expect(stranger.get_by_text("This is not the teacher's link of a class")).to_be_visible()
    expect(stranger.locator(".tw-code")).to_have_count(0)
    home = new_page()
    home.goto(link)
    expect(home.locator(".tw-code")).to_have_text(code)
    desk(teacher, "End")
    teacher.get_by_text("Yes, replace it").click()
    teacher.get_by_role("button", name="New secret link").click()
    expect(teacher.get_by_text("The old link works no more.")).to_be_visible()
    expect(home.get_by_text("was replaced, so it works no more")).to_be_visible()
    expect(home.locator(".tw-code")).to_have_count(0)
    teacher.wait_for_function("old => !document.cookie.includes(old)", arg=link.partition("secret=")[2])
    teacher.reload()
    expect(teacher.get_by_text("Questions: 0.")).to_be_visible()


# What of the line above a page the badge lies on, and buttons there that the header cuts.
COVERED = """() => {
    const badge = document.querySelector(".tw-badge").getBoundingClientRect();
    const head = document.querySelector('[data-testid="stHeader"]').getBoundingClientRect();
    const line = [...document.querySelectorAll(":is(.st-key-class_strip, .st-key-class_desk) :is(p, a, button)")];
    if (!line.length) return ["there is no line"];
    return line.filter((one) => {
        const at = one.getBoundingClientRect();
        const under = at.left < badge.right && at.right > badge.left && at.top < badge.bottom && at.bottom > badge.top;
        return at.width && (under || (one.matches("button") && at.top < head.bottom - 1));
    }).map((one) => one.textContent);
}"""


@pytest.mark.parametrize("width", [390, 320])
def test_on_a_phone_the_line_of_a_class_can_be_read(width: int, new_page: Callable[..., Page], url: str) -> None:
    teacher, ada = new_page(), new_page()
    join(ada, url, open_class(teacher, url), "Ada")
    for page, line in ((ada, ".st-key-class_strip"), (teacher, ".st-key-class_desk")):
        page.wait_for_function("() => /walkthrough_(learner|teacher)=\\w{6}\\./.test(document.cookie)")
        page.goto(f"{url}/masking")
        expect(page.locator(line)).to_be_visible()
        wear(page, "light", width)
        assert lasting(partial(page.evaluate, COVERED)) == []


LOOKS = (("light", 1280), ("dark", 390))


@pytest.mark.timeout(900)
def test_nothing_serious_for_axe_and_no_sideways_scrolling(new_page: Callable[..., Page], url: str) -> None:
    teacher, ada = new_page(), new_page()
    code = open_class(teacher, url)
    join(ada, url, code, "A" * 24)
    ask_primes(teacher)
    expect(ada.get_by_role("button", name="Answer")).to_be_visible()
    pages = [
        (ada, None),
        *((teacher, part) for part in ("Invitation", "Questions", "Who is where", "Progress", "Sentences", "End")),
    ]
    for page, part in pages:
        if part:
            desk(page, part)
            if part == "Who is where":
                unfold(page)
                choose(page, f"{'A' * 24} · learner 1")
                expect(page.get_by_role("button", name="Remove")).to_be_visible()
            page.mouse.move(0, 0)
            page.evaluate("() => document.activeElement.blur()")  # Streamlit's own colours while one presses
        for scheme, width in LOOKS:
            wear(page, scheme, width)  # type: ignore[arg-type]
            assert lasting(partial(axe_faults, page, '[data-testid="stMain"]')) == [], (part, scheme)
            assert sideways(page) == [], (part, scheme)
        wear(page, "light", 1280)
