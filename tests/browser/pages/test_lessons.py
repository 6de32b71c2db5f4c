"""Every lesson in Chromium: accessible, nothing cut on a phone, only what a click changed is sent again.

The sentence and what one answered go along from lesson to lesson.
"""

import re
from collections.abc import Callable
from functools import partial
from typing import Literal

import pytest
from playwright.sync_api import Page, WebSocket, expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.kit import axe_faults, becomes, lasting, rerun, seen_no_more, settled, sideways, unread, wear
from tests.course import LESSONS
from ui.course.lesson import Lesson

pytestmark = pytest.mark.browser

SENTENCE = "My neighbour's cat doesn't like the rain."


def drawn(page: Page) -> Page:
    expect(page.locator(".st-key-way_on")).to_be_visible()
    return settled(page)


# Wide at first, as on a projector, then narrow. Both themes for every lesson, each with each width for every other one.
Look = tuple[Literal["light", "dark"], int]
LOOKS: tuple[tuple[Look, Look], ...] = ((("light", 1280), ("dark", 390)), (("dark", 1280), ("light", 390)))


def faults(page: Page) -> list[str]:
    """What axe finds in the main part of the page."""
    found = axe_faults(page, '[data-testid="stMain"]')
    # The colours of Streamlit's syntax theme.
    return [fault for fault in found if not fault.startswith("color-contrast") or "stCode" not in fault]


# Words of charts and titles of scenes that leave their picture, words of columns under the pointer that leave the
# window, and words of a scene that stand on its titles.
CUT = """() => {
    const out = [];
    const inside = (text, box, home) => {
        if (box.width && (box.left < home.left - 1 || box.right > home.right + 1 || box.bottom > home.bottom + 1))
            out.push(text);
    };
    for (const chart of document.querySelectorAll(".js-plotly-plot")) {
        const home = chart.querySelector(".main-svg").getBoundingClientRect();
        for (const text of chart.querySelectorAll("text"))
            inside(text.textContent, text.getBoundingClientRect(), home);
    }
    for (const words of document.querySelectorAll(".tw-columns b")) {
        words.style.display = "block";
        const box = words.getBoundingClientRect();
        inside(words.innerText, box, { left: 0, right: innerWidth, bottom: box.bottom });
        words.style.display = "";
    }
    for (const plot of document.querySelectorAll(".tw-plot"))
        for (const text of plot.querySelectorAll("s, p, figcaption span"))
            inside(text.textContent, text.getBoundingClientRect(), plot.getBoundingClientRect());
    const roots = [...document.querySelectorAll("[class*=st-key-scene] *")].map((node) => node.shadowRoot);
    for (const title of roots.flatMap((root) => [...(root?.querySelectorAll("svg text.title") ?? [])])) {
        const a = title.getBoundingClientRect();
        inside(title.textContent, a, title.closest("svg").getBoundingClientRect());
        for (const other of title.parentNode.querySelectorAll("text.note")) {
            const b = other.getBoundingClientRect();
            const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
            if (across > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4)
                out.push(`${other.textContent} on ${title.textContent}`);
        }
    }
    const page = document.querySelector('[data-testid="stMain"]');
    if (page.scrollWidth > page.clientWidth + 1) out.push(`the page is ${page.scrollWidth} wide`);
    const badge = document.querySelector(".tw-badge").getBoundingClientRect();
    const head = document.querySelector('[data-testid="stHeader"]').getBoundingClientRect();
    if (innerWidth < 640 && !page.scrollTop && badge.top < head.bottom - 1) out.push("the badge is below the header");
    for (const one of page.querySelectorAll("input, button")) {
        const at = one.getBoundingClientRect();
        if (at.left < badge.right && at.right > badge.left && at.top < badge.bottom - 1 && at.bottom > badge.top + 1)
            out.push(`the badge lies on ${one.textContent || one.ariaLabel}`);
    }
    return out;
}"""


OPEN = """() => document.querySelectorAll("details:not([open]) > summary").forEach((fold) => fold.click())"""


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.slug)
def test_nothing_is_cut_nothing_scrolls_sideways_nothing_is_serious_for_axe_and_a_click_sends_what_it_changed(
    lesson: Lesson, new_page: Callable[..., Page], url: str
) -> None:
    wide, narrow = LOOKS[LESSONS.index(lesson) % 2]
    page = new_page(color_scheme=wide[0], reduced_motion="reduce")
    received = frames(page)
    address = f"{url}/{lesson.slug}?sentence={SENTENCE}"
    page.goto(f"{url}/{lesson.slug}")  # the first sentence has a line more above the lesson: the model has met it
    drawn(page)
    has_all_that_matters_on_the_first_screen(page, lesson)
    if lesson.on_map.instead:  # one cannot type there
        page.goto(address)
        drawn(page)
    else:
        box = page.get_by_label("English sentence")
        rerun(page, lambda: (box.fill(SENTENCE), box.press("Enter")))
    for look in (wide, narrow):
        wear(page, *look)
        assert lasting(partial(faults, page)) == [], look
        assert sideways(page) == [], look
    if page.locator(".st-key-stack").count():
        page.goto(f"{address}&stack=Decoder")
        drawn(page)
    # Only the page's own: a locator also looks into components, and the stage keeps its story folded.
    closed = page.locator("[data-testid=stExpander] details:not([open])")
    page.evaluate(OPEN)
    expect(closed).to_have_count(0)
    assert lasting(partial(page.evaluate, CUT)) == []
    assert unread(page) == []
    assert seen_no_more(page) == []
    # Last, since it leaves the page otherwise.
    cells = page.locator(".st-key-part_see [role=grid] tbody td")
    if cells.count():  # its pictures have cells to choose
        received.clear()
        cells.nth(min(3, cells.count() - 1)).click()
        settled(page)
        leaves_predict_code_and_the_map_alone([ForwardMsg.FromString(frame) for frame in received])
        expect(page.locator("h1")).to_contain_text(lesson.title)


@pytest.mark.parametrize("width", [1280, 1000, 390])
@pytest.mark.parametrize("stop", [2, 4])
def test_the_matrices_of_lora_have_whole_names(stop: int, width: int, new_page: Callable[..., Page], url: str) -> None:
    page = new_page(viewport={"width": width, "height": 844})
    page.goto(f"{url}/lora-and-bitfit?stop={stop}")
    titles = drawn(page).locator(".scene text.title").all_text_contents()
    assert "added to W₀" in titles
    notes = page.locator(".scene text.number").all_text_contents()
    assert f"{(stop - 1) / 4:g} · (α/r)BA" in notes
    assert "…" not in "".join(titles + notes)


def has_all_that_matters_on_the_first_screen(page: Page, lesson: Lesson) -> None:
    """1280×720, before anybody scrolls: the question, a picture of the lesson's subject, and its control."""
    expect(page.get_by_text(lesson.asks, exact=True).first).to_be_in_viewport(ratio=1)
    assert page.locator('[data-testid="stMain"]').evaluate("e => e.scrollTop") == 0
    if not lesson.on_map.scene:  # the machine plays the step that the lesson is about
        expect(page.locator(".st-key-opening canvas").first).to_be_in_viewport(ratio=1)
        expect(page.locator(".st-key-opening").get_by_role("button", name="Play", exact=True)).to_be_in_viewport()
        return
    scene = page.locator(".scene").first  # Do may have others
    expect(scene).to_be_in_viewport(ratio=0.99)
    expect(scene.locator("input, button").first).to_be_visible()
    caption = (scene.locator(".caption").text_content() or "").lower()
    subject = [one for one in re.findall(r"\w{3,}", lesson.title.lower()) if one not in ("the", "and", "how", "where")]
    assert any(word[:5] in caption for word in subject), f"“{caption}” does not name {lesson.title}"


def frames(page: Page) -> list[bytes]:
    """What the server sends from now on."""
    received: list[bytes] = []

    def listen(socket: WebSocket) -> None:
        socket.on("framereceived", lambda frame: received.append(frame) if isinstance(frame, bytes) else None)

    page.on("websocket", listen)
    return received


def leaves_predict_code_and_the_map_alone(sent: list[ForwardMsg]) -> None:
    """What the server sends after a click in See: that fragment, and of it what is drawn again."""
    finished = [m.script_finished for m in sent if m.WhichOneof("type") == "script_finished"]
    assert set(finished) == {ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY}
    elements = [m.delta.new_element for m in sent if m.delta.HasField("new_element")]
    kinds = {str(element.WhichOneof("type")) for element in elements}
    assert "bidi_component" in kinds
    assert not kinds & {"radio", "page_link"}
    drawn_again = [element.bidi_component.id for element in elements if element.HasField("bidi_component")]
    assert not [id for id in drawn_again if id.endswith("-here")]
    code = [element.code.code_text for element in elements if element.HasField("code")]
    assert all("np.load" in text for text in code)  # Check's lines, not those of the part on code


@pytest.mark.parametrize("first", [0, len(LESSONS) - 3])  # the last but one does not read it
def test_the_sentence_goes_from_lesson_to_lesson(first: int, page: Page, url: str) -> None:
    page.goto(f"{url}/{LESSONS[first].slug}?sentence={SENTENCE}")
    drawn(page)
    for lesson in LESSONS[first + 1 : first + 3]:
        page.get_by_role("link", name=re.compile(f"^Next: {lesson.title}")).click()
        expect(page.get_by_role("heading", level=1, name=lesson.title)).to_be_visible()
        drawn(page)
        expect(page.get_by_label("English sentence")).to_have_value(SENTENCE)
        expect(page).to_have_url(re.compile("sentence="))
        expect(page).to_have_title(f"{lesson.title} · Transformer Walkthrough")


def answer(page: Page, option: str) -> None:
    question = page.locator(".st-key-part_predict")
    question.get_by_test_id("stRadioGroup").get_by_text(option, exact=True).click()
    question.get_by_role("button", name="Check my answer").click()
    expect(question.get_by_text(re.compile("^(Right|Not quite)"))).to_be_visible()


def kept(page: Page) -> set[str]:
    cookies = {cookie.get("name"): cookie.get("value", "") for cookie in page.context.cookies()}
    return set(filter(None, cookies.get("walkthrough_progress", "").split("~")))


def test_what_is_answered_in_two_tabs_is_kept_of_both(new_page: Callable[..., Page], url: str) -> None:
    first = new_page(color_scheme="dark")
    second = first.context.new_page()
    for tab in (first, second):
        tab.goto(f"{url}/masking")
        expect(tab.get_by_role("button", name="Check my answer")).to_be_visible()
    answer(first, "0.5")
    becomes(lambda: kept(first), {"masking.2.alpha"})
    question = second.locator(".st-key-part_predict")
    question.get_by_role("radio", name="2", exact=True).click()
    expect(question.get_by_text("row 1, give to itself").first).to_be_visible()
    answer(second, "1")
    becomes(lambda: kept(first), {"masking.2.first.alpha"})
    answer(first, "1")  # now it is wrong, and no longer counts
    becomes(lambda: kept(first), {"masking.2.first"})
    second.get_by_role("link", name="Encoder", exact=True).click()
    expect(second.get_by_role("heading", level=1, name="Encoder", exact=True)).to_be_visible()
    becomes(lambda: kept(first), {"masking.2.first"})
    second.reload()
    expect(second.get_by_role("link", name="Masking 1/2")).to_be_visible()
