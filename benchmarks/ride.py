"""The ride on the home page: frames while it plays, bytes of code and data, time to the first picture.

One sentence of 20 tokens, with a translation of about as many. Every page is opened anew for its first picture, turn
and turn about with an empty one, in one browser.
"""

import itertools
from collections.abc import Sequence
from statistics import median
from urllib.parse import quote

from playwright.sync_api import Browser, Page

from benchmarks.kit.report import Figure, percentile, report
from benchmarks.kit.sentences import sentences_of
from benchmarks.kit.serving import EMPTY_PAGE, chromium, serve
from benchmarks.kit.stopwatch import PATIENCE_MS
from model.files.loaded_model import load_model
from model.trace import Trace, trace
from ui.components.shared.wire import browser_file, with_bytes
from ui.components.stage import CODE, STYLES
from ui.components.stage.data import stage_data

N_TOKENS = 20
ROUNDS = 6
CODE_BAR_KB, DATA_BAR_KB, FRAME_BAR_MS, SLOW_FRAME_BAR_MS, FIRST_BAR = 120, 300, 17, 33, 1.5

FIND = """() => {
    const host = [...document.querySelectorAll(".st-key-stage *")].find((node) => node.shadowRoot);
    const root = host?.shadowRoot.querySelector(".stage");
    return root?.dataset.id ? root : null;
}"""
# When a picture is there, in milliseconds since the page was asked for.
ARRIVAL = """(found) => new Promise((resolve) => {
    const look = () => found() ? resolve(performance.now()) : requestAnimationFrame(look);
    look();
})"""
# The length of every frame of the whole ride, without its stops, in milliseconds.
PLAY = f"""() => new Promise((resolve) => {{
    const {{ ride }} = ({FIND})();
    const times = [];
    const look = (now) => {{
        times.push(now);
        if (ride.playing) requestAnimationFrame(look);
        else resolve(times.slice(1).map((time, n) => time - times[n]));
    }};
    ride.setStops(false);
    ride.toggle();
    requestAnimationFrame(look);
}})"""


def long_trace() -> Trace:
    """The first sentence of so many tokens whose translation has about as many."""
    loaded = load_model()
    for sentence in sentences_of(N_TOKENS, seed=1):
        one = trace(loaded, sentence)
        if abs(len(one.tgt) - N_TOKENS) <= 1:
            return one
    raise AssertionError("unreachable: the sentences have no end")


def arrival(browser: Browser, url: str, found: str) -> tuple[Page, float]:
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.goto(url, wait_until="commit")
    page.set_default_timeout(PATIENCE_MS)
    return page, float(page.evaluate(f"() => ({ARRIVAL})({found})"))


def measure() -> list[Figure]:
    one = long_trace()
    code = sum(len(browser_file(*files).encode()) for files in (CODE, STYLES))
    data = len(with_bytes(stage_data(one)))
    first: dict[str, list[float]] = {"empty": [], "stage": []}
    frames: list[float] = []
    with serve(EMPTY_PAGE) as empty, serve() as app, chromium() as browser:
        pages = {
            "empty": (empty.url, "() => document.querySelector('.st-key-word')"),
            "stage": (f"{app.url}/?sentence={quote(one.text)}", FIND),
        }
        for n, (name, (url, found)) in itertools.product(range(ROUNDS + 1), pages.items()):
            page, took = arrival(browser, url, found)
            if n:  # the first of each is not counted
                first[name].append(took)
            if name == "stage" and n == ROUNDS:
                page.wait_for_timeout(2000)
                frames = page.evaluate(PLAY)
            page.close()
    return figures((len(one.src), len(one.tgt)), frames, code, data, first["stage"], first["empty"])


def figures(
    tokens: tuple[int, int],
    frames: Sequence[float],
    code: int,
    data: int,
    stage: Sequence[float],
    empty: Sequence[float],
) -> list[Figure]:
    """Args: tokens: read and written; frames, stage, empty: milliseconds; code, data: bytes"""
    of_both = "{} + {} tokens".format(*tokens)
    return [
        Figure(f"ride: frame at {of_both}, median", median(frames), "ms", FRAME_BAR_MS),
        Figure("ride: frame, 95th percentile", percentile(frames, 95), "ms", SLOW_FRAME_BAR_MS),
        Figure("ride: frames", len(frames), ""),
        Figure("ride: code", code / 1000, "kB", CODE_BAR_KB),
        Figure(f"ride: data of {of_both}", data / 1000, "kB", DATA_BAR_KB),
        Figure("ride: first picture, median", median(stage), "ms"),
        Figure("ride: empty page, median", median(empty), "ms"),
        Figure("ride: first picture / empty page", median(stage) / median(empty), "x", FIRST_BAR),
    ]


if __name__ == "__main__":
    report(measure())
