"""How long the largest drawings take: a search of five beams as a tree, and BertViz's head view.

`python -m benchmarks.views`. The tree is compared with an empty page, the head view with a second.
"""

import itertools
from statistics import median

from playwright.sync_api import Page

from benchmarks.kit.report import Figure, report
from benchmarks.kit.sentences import sentences_of
from benchmarks.kit.serving import EMPTY_PAGE, chromium, serve
from benchmarks.kit.stopwatch import come_to_rest, floor, on, opened, sentence_box
from benchmarks.lessons import last_change, new_sentence

ROUNDS = 7
BEAMS, TOKENS = 5, 20  # 20 tokens are about 15 words
TREE_BAR, HEAD_VIEW_BAR = 5, 1000  # times an empty page; milliseconds
WAIT_MS = 3000

# In every frame: when, in milliseconds since 1970, BertViz's lines were first on the screen.
DRAWN = """
const look = () => {
  if (document.querySelector("#vis svg line, .bertviz svg line, svg #attention line"))
    requestAnimationFrame(() => (globalThis.drawnAt = performance.timeOrigin + performance.now()));
  else requestAnimationFrame(look);
};
if (window !== top) requestAnimationFrame(look);
else addEventListener("keydown", () => (globalThis.pressedAt = performance.timeOrigin + performance.now()), true);
"""


def tree(page: Page, sentence: str) -> float:
    """Milliseconds from the click on beam search to the last change of the lesson, the search not yet run."""
    page.get_by_role("radio", name="Another word").click()
    come_to_rest(page)
    new_sentence(page, sentence)
    took = last_change(page, "click", page.get_by_role("radio", name="Beam search").click)
    if not page.locator(".st-key-beam_tree").is_visible():
        raise RuntimeError("The tree is not there.")
    return took


def head_view(page: Page, sentence: str) -> float:
    """Milliseconds from Enter to BertViz's lines."""
    box = sentence_box(page)
    box.fill(sentence)
    box.press("Enter")
    pressed = page.evaluate("pressedAt")
    page.wait_for_timeout(WAIT_MS)
    (view,) = (frame for frame in page.frames if frame != page.main_frame)
    drawn = view.evaluate("globalThis.drawnAt ?? 0")
    if drawn < pressed:
        raise TimeoutError(f"BertViz drew nothing within {WAIT_MS} ms.")
    return float(drawn - pressed)


def measure() -> list[Figure]:
    with serve(EMPTY_PAGE) as empty, serve() as app, chromium() as browser:
        empty_page = opened(browser, empty.url, ".st-key-word")
        words = (f"word{n}" for n in itertools.count())
        floor(empty_page, next(words))  # once, unmeasured
        lesson = opened(browser, f"{app.url}/inference?beam={BEAMS}", ".st-key-way_on")
        new = sentences_of(TOKENS, seed=3)
        trees = [tree(on(lesson), next(new)) for _ in range(ROUNDS)]
        floors = [floor(on(empty_page), next(words)) for _ in range(ROUNDS)]
        lesson.close()

        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.add_init_script(DRAWN)
        page.goto(f"{app.url}/bertviz")
        page.wait_for_selector("iframe")
        page.wait_for_timeout(2000)
        views = []
        for _ in range(ROUNDS):
            views.append(head_view(on(page), next(new)))
            come_to_rest(page)
    of_tree, of_view = f"views: tree of {BEAMS} beams, {TOKENS} tokens", f"views: BertViz's head view, {TOKENS} tokens"
    return [
        Figure(f"{of_tree}, median / floor", median(trees) / median(floors), "x", TREE_BAR),
        Figure(f"{of_view}, median", median(views), "ms", HEAD_VIEW_BAR),
        Figure(f"{of_view}, largest", max(views), "ms", HEAD_VIEW_BAR),
    ]


if __name__ == "__main__":
    report(measure())
