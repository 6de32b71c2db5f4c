"""A digit of one's own: drawn with the mouse or a finger, photographed, wiped; and what the model then reads."""

import io
import re
from collections.abc import Callable, Sequence

import pytest
from PIL import Image, ImageDraw
from playwright.sync_api import Page, expect

from model.files.load_pictures import samples
from tests.browser.kit import axe_faults, box_of, rerun, settled

pytestmark = pytest.mark.browser

Stroke = Sequence[tuple[float, float]]
SEVEN: Stroke = [(0.25, 0.2), (0.75, 0.2), (0.45, 0.85)]
FOUR: Sequence[Stroke] = ([(0.25, 0.2), (0.2, 0.5), (0.75, 0.5)], [(0.6, 0.15), (0.55, 0.9)])

SCROLLED = "() => document.querySelector('.stMain').scrollTop"


def opened(page: Page, url: str, query: str = "") -> Page:
    page.goto(f"{url}/a-picture-as-words{query}")
    expect(page.locator(".scene .answer")).to_contain_text("It reads")
    return settled(page)


def draw(page: Page, *strokes: Stroke) -> None:
    box = box_of(page.locator(".drawing canvas"))
    for stroke in strokes:
        at = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in stroke]
        page.mouse.move(*at[0])
        page.mouse.down()
        for x, y in at[1:]:
            page.mouse.move(x, y, steps=6)
        page.mouse.up()


def ink(page: Page) -> int:
    """How many pixels of the sheet are inked at all."""
    found: int = page.locator(".drawing canvas").evaluate(
        """(canvas) => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data
                       .filter((alpha, n) => n % 4 === 3 && alpha > 0).length"""
    )
    return found


def reads(page: Page, digit: int) -> None:
    expect(page.locator(".scene .answer")).to_contain_text(re.compile(rf"^It reads {digit},"))


def photo(lines: Sequence[Stroke], kind: str = "JPEG") -> bytes:
    picture = Image.new("RGB", (1600, 1200), (225, 220, 205))
    for line in lines:
        ImageDraw.Draw(picture).line([(400 + 800 * x, 200 + 800 * y) for x, y in line], fill=(40, 40, 90), width=48)
    held = io.BytesIO()
    picture.save(held, kind)
    return held.getvalue()


def test_what_one_draws_is_read_and_patches_can_be_hidden(page: Page, url: str) -> None:
    opened(page, url)
    reads(page, 4)
    before = ink(page)
    rerun(page, lambda: draw(page, SEVEN))
    reads(page, 7)
    expect(page.locator(".scene .answer")).not_to_contain_text("The digit is")  # what it is nobody has told
    assert 0 < ink(page) != before
    expect(page.locator(".drawing [aria-pressed=true]")).to_have_count(0)  # no sample is shown now
    assert "digit" not in page.url
    assert axe_faults(page, ".stMain") == []
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(page.locator(".scene .answer")).to_contain_text("But the sheet is empty")
    assert ink(page) == 0
    rerun(page, lambda: draw(page, *FOUR))
    reads(page, 4)
    # The scene's slider hides patches of what was drawn.
    page.get_by_role("slider").first.press("ArrowRight")
    expect(page.locator(".scene .answer")).to_contain_text(re.compile(r"^Without patch \d+ it "))
    expect(page.locator(".scene .patch.gone")).to_have_count(2)  # where it lies, and in the row
    # Further down the same picture stands; another page and back, and it is still there.
    page.get_by_role("button", name="Photo …").scroll_into_view_if_needed()
    page.get_by_role("link", name=re.compile("Some parameters")).first.click()
    expect(page).to_have_url(re.compile("some-parameters"))
    page.go_back()
    expect(page.locator(".scene .answer")).to_contain_text(re.compile("4"))
    assert ink(settled(page)) > 0


def test_a_patch_is_hidden_by_a_click_and_shown_by_another(page: Page, url: str) -> None:
    opened(page, url)
    cells = page.locator(".st-key-hide_patches").get_by_role("gridcell")
    cells.nth(7).click()  # the first is the corner
    expect(page.get_by_text("Hidden: 7. It reads")).to_be_visible()
    cells.nth(6).click()
    expect(page.get_by_text("Hidden: 6, 7. It reads 7,")).to_be_visible()
    assert "hide=6.7" in page.url
    # Faster than the server answers: Streamlit tells it of the last click alone, with the address from before both.
    cells.nth(7).evaluate("(cell, other) => [cell, other].forEach((one) => one.click())", cells.nth(6).element_handle())
    expect(page.get_by_text("Nothing is hidden. It reads 4,")).to_be_visible()
    # A click that never left the browser is shown as lost after three seconds; from then on it counts no more.
    page.evaluate("() => { window.sent = WebSocket.prototype.send; WebSocket.prototype.send = () => {}; }")
    cells.nth(7).click()
    page.wait_for_timeout(3_100)
    page.evaluate("() => { WebSocket.prototype.send = window.sent; }")
    cells.nth(6).click()
    expect(page.get_by_text("Hidden: 6. It reads")).to_be_visible()


def test_samples_go_round_through_all_that_it_reads_wrong(page: Page, url: str) -> None:
    opened(page, url)
    rerun(page, lambda: draw(page, SEVEN))
    page.get_by_role("button", name="3", exact=True).click()
    reads(page, 3)
    shown = ink(settled(page))
    opened(page, url, "?digit=3")
    assert ink(page) == shown  # of what was drawn nothing was left
    wrong = page.get_by_role("button", name="a hard one")
    said = []
    for _ in range(3):
        before = page.locator(".scene .answer").inner_text()
        wrong.click()
        expect(page.locator(".scene .answer")).not_to_have_text(before)
        said.append(page.locator(".scene .answer").inner_text())
    assert all(re.match(r"It reads (\d), [\d.]+\. The digit is (?!\1)\d\.", one) for one in said), said
    assert len(set(said)) == 3
    expect(wrong).to_have_attribute("aria-pressed", "true")
    opened(page, url, f"?digit={len(samples()[1]) - 1}")
    wrong.click()
    expect(page).to_have_url(re.compile(r"digit=10\b"))  # behind the last stands the first


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_a_photo_is_made_small_in_the_browser_and_read(page: Page, url: str, kind: str) -> None:
    opened(page, url)
    sent: list[int] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(len(frame))))
    page.reload()
    opened(page, url)
    sent.clear()
    files = page.locator(".drawing input[type=file]")
    name = {"name": "my seven.x", "mimeType": f"image/{kind.lower()}", "buffer": photo([SEVEN], kind)}
    files.set_input_files(name)  # type: ignore[arg-type]
    reads(page, 7)
    assert max(sent) < 30_000  # 112 × 112 pixels in grey, not 1,600 × 1,200 in colour
    assert ink(page) > 1000


@pytest.mark.parametrize(
    "content",
    [b"", b"<svg xmlns='http://www.w3.org/2000/svg'><script>pwned=1</script></svg>", photo([SEVEN], "PNG")[:40]],
)
def test_a_file_that_is_no_picture_is_said_and_nothing_is_lost(page: Page, url: str, content: bytes) -> None:
    opened(page, url)
    rerun(page, lambda: draw(page, SEVEN))
    files = page.locator(".drawing input[type=file]")
    files.set_input_files({"name": "x.png", "mimeType": "image/png", "buffer": content})
    expect(page.locator(".drawing .fault")).to_have_text("Your browser cannot read this file as a picture.")
    assert page.evaluate("() => window.pwned") is None
    reads(page, 7)


def test_a_finger_draws_on_a_phone_and_does_not_scroll(new_page: Callable[..., Page], url: str) -> None:
    page = opened(new_page(viewport={"width": 390, "height": 844}, has_touch=True, color_scheme="dark"), url)
    box, top = (
        box_of(page.locator(".drawing canvas")),
        page.evaluate(SCROLLED),
    )
    touch = page.context.new_cdp_session(page)

    def at(x: float, y: float) -> list[dict[str, float]]:
        return [{"x": box["x"] + x * box["width"], "y": box["y"] + y * box["height"]}]

    for n, (x, y) in enumerate((0.5, 0.1 + 0.08 * n) for n in range(11)):
        touch.send("Input.dispatchTouchEvent", {"type": "touchMove" if n else "touchStart", "touchPoints": at(x, y)})
    rerun(page, lambda: touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []}))
    reads(page, 1)
    assert page.evaluate(SCROLLED) == top
    badge = box_of(page.locator(".st-key-badge"))
    title = box_of(page.locator(".drawing .title"))
    assert badge["y"] + badge["height"] <= title["y"] + 2 or badge["x"] >= title["x"] + title["width"]
