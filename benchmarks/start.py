"""From nothing to the painted first page, beside the least that this takes: two imports and an empty page."""

import re
import subprocess
import sys
import time
from statistics import median

from playwright.sync_api import Browser, expect

from benchmarks.kit.report import Figure, report
from benchmarks.kit.serving import EMPTY_PAGE, chromium, serve

ROUNDS = 5
BAR = 2


def import_seconds() -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import torch, streamlit"], check=True)
    return time.perf_counter() - start


def page_seconds(browser: Browser, url: str, key: str) -> float:
    """Until a new browser context, with an empty cache, shows some text in the container with this key."""
    context = browser.new_context()
    try:
        page = context.new_page()
        start = time.perf_counter()
        page.goto(url)
        expect(page.locator(f".st-key-{key}")).to_contain_text(re.compile(r"\w"), timeout=60_000)
        page.evaluate("() => new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)))")
        return time.perf_counter() - start
    finally:
        context.close()


def cold_start_seconds(browser: Browser) -> float:
    start = time.perf_counter()
    with serve(wait_seconds=0) as server:
        while not server.answers():
            time.sleep(0.02)
        page_seconds(browser, server.url, "translation")
        return time.perf_counter() - start


def measure() -> list[Figure]:
    imports: list[float] = []
    empty: list[float] = []
    cold: list[float] = []
    with serve(EMPTY_PAGE) as server, chromium() as browser:
        for round_ in range(ROUNDS + 1):
            times = import_seconds(), page_seconds(browser, server.url, "word"), cold_start_seconds(browser)
            if round_:  # the first, with cold disks, is not counted
                for seconds, values in zip(times, (imports, empty, cold), strict=True):
                    values.append(seconds)
    ratios = [c / (i + e) for i, e, c in zip(imports, empty, cold, strict=True)]
    return [
        Figure("start: import torch, streamlit", median(imports), "s"),
        Figure("start: empty page", median(empty), "s"),
        Figure("start: first page, cold", median(cold), "s"),
        Figure("start: cold / (imports + empty page)", median(ratios), "x", BAR),
    ]


if __name__ == "__main__":
    report(measure())
