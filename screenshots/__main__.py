"""`python -m screenshots`: a picture of every page, and the ride as an animated one, into assets/images.

Every picture is of the app as it runs, in Chromium, at the size of a laptop's window.
"""

import argparse
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import Browser, Page, ViewportSize

import pages.course  # noqa: F401 - fills the course
from benchmarks.kit.serving import ROOT, chromium, serve
from benchmarks.ride import FIND
from screenshots.classroom import a_class
from ui.course.lesson import COURSE

IMAGES = ROOT / "assets" / "images"
SENTENCE = "The boy sees the girl."
SIZE: ViewportSize = {"width": 1280, "height": 720}
PATIENCE_MS = 60_000
CLASS = {"class-questions": "Questions", "class-progress": "Progress"}  # what the teacher of a class sees
HOME = "home"  # its address is empty
LESSONS = tuple(lesson.slug for lesson in COURSE.lessons)
PAGES = (HOME, *LESSONS, "bertviz", "compare", "any-model", "results", "about", *CLASS)
QUIET_SECONDS = 1.5  # without a change on the page, then it is drawn

SECONDS, FRAMES_A_SECOND, WIDTH = 20, 8, 900  # of the animated picture
QUALITY = 50
MAX_BYTES = 3_000_000

RIDE = f"({FIND})().ride"
QUIET = """(seconds) => new Promise((done) => {
    let timer;
    const wait = () => { clearTimeout(timer); timer = setTimeout(done, 1000 * seconds); };
    new MutationObserver(wait).observe(document.body, { subtree: true, childList: true, attributes: true });
    wait();
})"""


def opened(browser: Browser, url: str, slug: str, **state: str) -> Page:
    """A page with the sentence in it, in this state, once it is drawn."""
    page = browser.new_page(viewport=SIZE, color_scheme="light")
    page.set_default_timeout(PATIENCE_MS)
    page.goto(f"{url}/{slug}?{urlencode({'sentence': SENTENCE, **state})}")
    page.locator("h1").first.wait_for()
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')
    page.evaluate(QUIET, QUIET_SECONDS)
    return page


def ride(page: Page) -> list[Image.Image]:
    """The stage of the home page from the first moment to the last, in even steps."""
    stage = page.locator(".st-key-stage")
    length = page.evaluate(f"() => {RIDE}.data.moments.at(-1).end")
    frames = []
    count = SECONDS * FRAMES_A_SECOND
    for n in range(count):
        page.evaluate(f"(t) => {RIDE}.go(t)", length * n / (count - 1))
        frame = Image.open(BytesIO(stage.screenshot())).convert("RGB")
        frames.append(frame.resize((WIDTH, round(frame.height * WIDTH / frame.width)), Image.Resampling.LANCZOS))
    return frames


def save(frames: Sequence[Image.Image], file: Path) -> None:
    """Raises: ValueError, naming the size, if the picture is too large for a README"""
    first, *others = frames
    step = round(1000 / FRAMES_A_SECOND)
    first.save(file, save_all=True, append_images=others, duration=step, loop=0, quality=QUALITY, method=6)
    if (size := file.stat().st_size) > MAX_BYTES:
        raise ValueError(f"{file.name} has {size:,} bytes; at most {MAX_BYTES:,} are wanted")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", help=f"of {', '.join(PAGES)}; all if none is named")
    parser.add_argument("--out", type=Path, default=IMAGES)
    arguments = parser.parse_args()
    if unknown := [slug for slug in arguments.pages if slug not in PAGES]:
        parser.error(f"there is no page {unknown[0]!r}")
    with a_class() as teacher, serve() as app, chromium() as browser:
        for slug in arguments.pages or PAGES:
            if slug in CLASS:
                page = opened(browser, app.url, "teach", desk=CLASS[slug], **teacher)
            else:
                page = opened(browser, app.url, "" if slug == HOME else slug)
            picture = Image.open(BytesIO(page.screenshot())).convert("RGB")
            picture.save(arguments.out / f"{slug}.webp", lossless=True, method=6)  # as true as PNG, half its bytes
            if slug == HOME:
                save(ride(page), arguments.out / "ride.webp")
            page.close()


if __name__ == "__main__":
    main()
