"""How still a page stands while it opens, when its first picture is there, and how it moves.

`python -m benchmarks.first_paint` opens home and every lesson by link, `python -m benchmarks.first_paint gpt` only
these. Beside them stands an empty Streamlit page with the same navigation: its sidebar alone moves what is seen.
"""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser

from benchmarks.kit.report import Figure, report
from benchmarks.kit.serving import APP, chromium, serve
from benchmarks.kit.stopwatch import PATIENCE_MS
from tests.course import LESSONS
from ui.course.lesson import COURSE

ROUNDS = 3  # each address once more before, not counted
SHIFT_OVER_EMPTY, OUTLINE_BAR_MS = 0.05, 300
FIRST_BAR, FRAME_BAR_MS = 1.5, 17  # empty pages until the first picture; a frame while a control moves
REST_MS = 2500  # nothing is expected to move any more
SIDEBAR_MS = 500  # the same of an empty page
HOME = "home"

# From the first moment on: every layout shift, and from when to when a picture stands there without its content.
WATCH = """() => {
    const seen = { shifts: [], word: null, outline: null, filled: null };
    globalThis.firstPaint = seen;
    new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) if (!entry.hadRecentInput) seen.shifts.push(entry.value);
    }).observe({ type: "layout-shift", buffered: true });
    const look = () => {
        const component = "[data-testid=stBidiComponentIsolated]";
        const hosts = document.querySelectorAll(`${component}, ${component} *`);
        const roots = [...hosts].map((node) => node.shadowRoot);
        const one = roots.map((root) => root?.querySelector(".stage, .scene")).find(Boolean);
        const word = document.querySelector("[data-testid=stMain] :is(h1, p)");
        if (word && seen.word === null) seen.word = performance.now();
        if (one && seen.outline === null) seen.outline = performance.now();
        if (one && (one.dataset.id || one.querySelector("svg text"))) seen.filled = performance.now();
        else requestAnimationFrame(look);
    };
    look();
}"""
# The milliseconds of each frame while a scene's control goes from stop to stop.
MOVE = """async () => {
    const roots = [...document.querySelectorAll("[class*=st-key-scene] *")].map((node) => node.shadowRoot);
    const scene = roots.map((root) => root?.querySelector(".scene")).find(Boolean);
    const [slider, options] = [scene?.querySelector("input[type=range]"), scene?.querySelectorAll("fieldset input")];
    const times = [];
    for (let n = 0; n < (slider ? Number(slider.max) + 1 : (options?.length ?? 0)); n++) {
        if (slider) {
            slider.value = n;
            slider.dispatchEvent(new Event("input"));
        } else options[n].click();
        let last = await new Promise(requestAnimationFrame);
        for (const end = last + 200; last < end; ) {
            const now = await new Promise(requestAnimationFrame);
            times.push(now - last);
            last = now;
        }
    }
    return times;
}"""


@dataclass(frozen=True)
class Opening:
    """What was seen of a page, in milliseconds since it was asked for.

    shifts: what Chromium tells of each layout shift; word: the first one; outline, filled: the picture's place, and the
    picture, if it has one; frames: how long each took while the picture's control moved
    """

    shifts: Sequence[float]
    word: float
    outline: float | None = None
    filled: float | None = None
    frames: Sequence[float] = ()

    @property
    def empty(self) -> float:
        """How long the picture's place stood empty; 0 without a picture."""
        return 0.0 if self.outline is None or self.filled is None else self.filled - self.outline


def empty_page(folder: Path) -> Path:
    """A script of a page with one word, and the course's navigation beside it."""
    lines = [
        "import streamlit as st",
        'st.set_page_config(layout="wide")',
        "def page(): st.write('word')",
        "pages = {}",
    ]
    for section, lessons in COURSE.sections.items():
        listed = ", ".join(f"st.Page(page, title={one.title!r}, url_path={one.slug!r})" for one in lessons)
        lines.append(f"pages[{section!r}] = [{listed}]")
    script = folder / "empty.py"
    script.write_text("\n".join([*lines, "st.navigation(pages, expanded=True).run()"]))
    return script


def opened(browser: Browser, url: str, rest_ms: int = REST_MS) -> Opening:
    """A page opened by link, looked at until it has rested for so long."""
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.set_default_timeout(PATIENCE_MS)
    page.add_init_script(f"({WATCH})()")
    page.goto(url)
    page.locator("[data-testid=stMain] :is(h1, p)").first.wait_for()
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(rest_ms)
    seen = page.evaluate("() => globalThis.firstPaint")
    frames = page.evaluate(MOVE)
    page.close()
    return Opening(**seen, frames=frames)


def measure(slugs: Sequence[str] = ()) -> list[Figure]:
    """Each page is told as soon as it is measured: all of them take long."""
    names, turns = slugs or (HOME, *(one.slug for one in LESSONS)), {}
    with ExitStack() as stack:
        browser, folder = stack.enter_context(chromium()), stack.enter_context(tempfile.TemporaryDirectory())
        empty = stack.enter_context(serve(empty_page(Path(folder)), as_it_comes=True))
        app = stack.enter_context(serve(APP))

        def turn(name: str) -> tuple[Opening, Opening]:
            address = f"{app.url}/{'' if name == HOME else name}"
            return opened(browser, f"{empty.url}/{LESSONS[0].slug}", SIDEBAR_MS), opened(browser, address)

        opened(browser, empty.url, SIDEBAR_MS)
        for name in names:
            opened(browser, f"{app.url}/{'' if name == HOME else name}", 0)
            turns[name] = [turn(name) for _ in range(ROUNDS)]
            print(*(f"{one.name} {one.value:.2f}" for one in figures({name: turns[name]})), sep=", ", flush=True)
        return figures(turns)


def figures(turns: Mapping[str, Sequence[tuple[Opening, Opening]]]) -> list[Figure]:
    """Args: turns: by name of a page, openings of an empty one and of it, one after the other"""
    shift = median(sum(blank.shifts) for pairs in turns.values() for blank, _ in pairs)
    found = [Figure("first paint: layout shift of an empty page", shift, "")]
    for name, pairs in turns.items():
        word, seen = median(blank.word for blank, _ in pairs), [one for _, one in pairs]
        moved = median(sum(one.shifts) for one in seen)
        found.append(Figure(f"first paint: layout shift of {name}", moved, "", shift + SHIFT_OVER_EMPTY))
        outline = median(one.empty for one in seen)
        found.append(Figure(f"first paint: empty outline of {name}", outline, "ms", OUTLINE_BAR_MS))
        if pictures := [one.filled for one in seen if one.filled is not None]:
            times = median(pictures) / word
            found.append(Figure(f"first paint: first picture of {name} / empty page", times, "x", FIRST_BAR))
        if frames := [ms for one in seen for ms in one.frames]:
            found.append(Figure(f"first paint: frame of {name}, median", median(frames), "ms", FRAME_BAR_MS))
    return found


if __name__ == "__main__":
    report(measure(sys.argv[1:]))
