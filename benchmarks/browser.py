"""How long a learner waits in Chromium, from the key or the click to the painted change, beside an empty page.

All pages are driven in one browser, turn and turn about, so that a busy machine slows them alike.
"""

import itertools
from statistics import median

from playwright.sync_api import Browser, Page

from benchmarks.report import Figure, percentile, report
from benchmarks.sentences import sentences, sentences_of
from benchmarks.serving import EMPTY_PAGE, chromium, serve

ROUNDS = 20
LAYERS, HEADS = 3, 4
LONG_ROUNDS = 8  # of each longer sentence, and of clicks on heads
TRANSLATION_BAR, MAP_BAR, HEAD_BAR, LONG_HEAD_BAR = 3, 4, 3, 5

# `stopwatch(event, conditions)` starts at the next event of that kind and notes, frame by frame, when each condition
# first holds; `stopwatch.times` resolves when all do.
STOPWATCH = """
const inside = (key) => {
  const all = document.querySelectorAll(`.st-key-${key}, .st-key-${key} *`);
  return [...all].find((node) => node.shadowRoot)?.shadowRoot;
};
const text = (selector) => document.querySelector(selector)?.textContent ?? "";
const columns = () => [...(inside("map")?.querySelectorAll("thead th span") ?? [])].map((s) => s.textContent).join("");
const mapTitle = () => inside("map")?.querySelector("figcaption")?.textContent ?? "";
const stopwatch = (event, conditions) => {
  stopwatch.times = new Promise((resolve, reject) => {
    const times = {};
    let start;
    const begin = () => {
      start = performance.now();
      if (Object.values(conditions).some((holds) => holds())) reject("changed before it was asked to");
    };
    addEventListener(event, begin, { capture: true, once: true });
    const look = () => {
      for (const [name, holds] of Object.entries(conditions))
        if (start && !(name in times) && holds()) times[name] = performance.now() - start;
      if (Object.keys(conditions).every((name) => name in times)) resolve(times);
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
};
Object.assign(globalThis, { text, columns, mapTitle, stopwatch });
"""


def type_sentence(page: Page, sentence: str, conditions: str) -> dict[str, float]:
    """Milliseconds from Enter until each condition, a JavaScript object of functions of `sentence`, holds."""
    page.evaluate(f"sentence => stopwatch('keydown', {conditions})", sentence)
    box = page.get_by_label("English sentence")
    box.fill(sentence)
    box.press("Enter")  # at once, long before the box would send the sentence by itself
    return _times(page)


def click_head(page: Page, layer: int, head: int) -> float:
    """Milliseconds from the click on a head in the overview until the large map shows it."""
    name = f"layer {layer}, head {head}"
    page.evaluate("name => stopwatch('click', { map: () => mapTitle().includes(name) })", name)
    page.get_by_role("button", name=name).click()
    return _times(page)["map"]


def _times(page: Page) -> dict[str, float]:
    page.evaluate("() => Promise.race([stopwatch.times, new Promise((_, no) => setTimeout(no, 20000, 'no change'))])")
    times: dict[str, float] = page.evaluate("() => stopwatch.times")
    # Let the page come to rest, so that the next measurement starts from nothing.
    page.wait_for_timeout(400)
    return times


def floor(page: Page, word: str) -> float:
    """Milliseconds until an empty page shows the word that was typed."""
    return type_sentence(page, word, "{ word: () => text('.st-key-word') === sentence }")["word"]


def home(page: Page, sentence: str) -> dict[str, float]:
    """Milliseconds to the new `translation`, and to the `map` whose columns are the sentence's pieces."""
    return type_sentence(
        page,
        sentence,
        """(() => {
            const before = text('.st-key-translation');
            const all = sentence.replaceAll(' ', '') + '<eos>', start = columns();
            return {
                translation: () => !['', before].includes(text('.st-key-translation')),
                map: () => columns() !== start && columns() && all.startsWith(columns()),
            };
        })()""",
    )


def opened(browser: Browser, url: str, ready: str) -> Page:
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.add_init_script(STOPWATCH)
    page.goto(url)
    page.wait_for_selector(ready)
    page.wait_for_timeout(1000)
    return page


def measure() -> list[Figure]:
    with serve(EMPTY_PAGE) as empty, serve() as app, chromium() as browser:
        empty_page, home_page = opened(browser, empty.url, ".st-key-word"), opened(browser, app.url, ".st-key-map")
        times: dict[str, list[float]] = {}

        def note(**found: float) -> None:
            for name, value in found.items():
                times.setdefault(name, []).append(value)

        def on(page: Page) -> Page:
            page.bring_to_front()
            return page

        new, words = sentences(seed=1), (f"word{n}" for n in itertools.count())
        floor(on(empty_page), next(words))  # once each, unmeasured
        home(on(home_page), next(new))
        for _ in range(ROUNDS):
            note(floor=floor(on(empty_page), next(words)))
            note(**home(on(home_page), next(new)))
        heads = itertools.cycle(itertools.product(range(1, LAYERS + 1), range(1, HEADS + 1)))
        for n_tokens in (20, 50):
            longer = sentences_of(n_tokens, seed=n_tokens)
            for _ in range(LONG_ROUNDS):
                note(floor=floor(on(empty_page), next(words)))
                found = home(on(home_page), next(longer))
                note(**{f"{name}, {n_tokens} tokens": value for name, value in found.items()})
                note(floor=floor(on(empty_page), next(words)))
                note(**{f"another head, {n_tokens} tokens": click_head(on(home_page), *next(heads))})

    bars: dict[str, float] = {
        "translation": TRANSLATION_BAR,
        "map": MAP_BAR,
        "another head, 20 tokens": HEAD_BAR,
        "another head, 50 tokens": LONG_HEAD_BAR,
    }
    figures: list[Figure] = []
    least = median(times["floor"])
    for name, values in times.items():
        figures.append(Figure(f"browser: {name}, median", median(values), "ms"))
        figures.append(Figure(f"browser: {name}, p90", percentile(values, 90), "ms"))
        if name != "floor":
            figures.append(Figure(f"browser: {name}, median / floor", median(values) / least, "x", bars.get(name)))
    return figures


if __name__ == "__main__":
    report(measure())
