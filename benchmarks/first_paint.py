"""How still a page stands while it opens, and how long its first picture is an empty outline.

`python -m benchmarks.first_paint` opens home and every lesson by link, `python -m benchmarks.first_paint gpt` only
these. Beside them stands an empty Streamlit page with the same navigation: its sidebar alone moves what is seen.
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser

from benchmarks.kit.report import Figure, report
from benchmarks.kit.serving import chromium, serve
from benchmarks.kit.stopwatch import PATIENCE_MS
from tests.course import LESSONS
from ui.course.lesson import COURSE

ROUNDS = 3  # each address once more before, not counted
SHIFT_OVER_EMPTY, OUTLINE_BAR_MS = 0.05, 300
REST_MS = 2500  # nothing is expected to move any more
HOME = "home"

# From the first moment on: every layout shift, and from when to when a picture stands there without its content.
WATCH = """() => {
    const seen = { shift: 0, outline: null, filled: null };
    globalThis.firstPaint = seen;
    new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) if (!entry.hadRecentInput) seen.shift += entry.value;
    }).observe({ type: "layout-shift", buffered: true });
    const look = () => {
        const component = "[data-testid=stBidiComponentIsolated]";
        const hosts = document.querySelectorAll(`${component}, ${component} *`);
        const roots = [...hosts].map((node) => node.shadowRoot);
        const one = roots.map((root) => root?.querySelector(".stage, .scene")).find(Boolean);
        if (one && seen.outline === null) seen.outline = performance.now();
        if (one && (one.dataset.id || one.querySelector("svg text"))) seen.filled = performance.now();
        else requestAnimationFrame(look);
    };
    look();
}"""


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


def opened(browser: Browser, url: str) -> tuple[float, float]:
    """The layout shift of a page, and the milliseconds in which its picture was empty; 0 if it has none."""
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.set_default_timeout(PATIENCE_MS)
    page.add_init_script(f"({WATCH})()")
    page.goto(url)
    page.locator("[data-testid=stMain] :is(h1, p)").first.wait_for()
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(REST_MS)
    seen = page.evaluate("() => globalThis.firstPaint")
    page.close()
    outline = seen["filled"] - seen["outline"] if seen["outline"] is not None and seen["filled"] is not None else 0.0
    return float(seen["shift"]), float(outline)


def measure(slugs: Sequence[str] = ()) -> list[Figure]:
    names = slugs or (HOME, *(one.slug for one in LESSONS))
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        with serve(empty_page(Path(folder))) as empty:
            blank = [opened(browser, f"{empty.url}/{LESSONS[0].slug}")[0] for _ in range(ROUNDS + 1)][1:]
        with serve() as app:
            pages = {
                name: [opened(browser, f"{app.url}/{'' if name == HOME else name}") for _ in range(ROUNDS + 1)][1:]
                for name in names
            }
    return figures(blank, pages)


def figures(blank: Sequence[float], pages: dict[str, list[tuple[float, float]]]) -> list[Figure]:
    """Args: blank: layout shifts of the empty page; pages: by name, the shift and the milliseconds of each opening"""
    most = median(blank) + SHIFT_OVER_EMPTY
    found = [Figure("first paint: layout shift of an empty page", median(blank), "")]
    for name, seen in pages.items():
        found.append(Figure(f"first paint: layout shift of {name}", median(shift for shift, _ in seen), "", most))
        outline = median(ms for _, ms in seen)
        found.append(Figure(f"first paint: empty outline of {name}", outline, "ms", OUTLINE_BAR_MS))
    return found


if __name__ == "__main__":
    report(measure(sys.argv[1:]))
