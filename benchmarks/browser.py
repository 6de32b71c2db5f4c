"""How long a learner waits in Chromium, from the key or the click to the painted change, beside an empty page.

All pages are driven in one browser, turn and turn about, so that a busy machine slows them alike.
"""

import itertools
from statistics import median

from playwright.sync_api import Page

from benchmarks.kit.report import Figure, percentile, report
from benchmarks.kit.sentences import sentences, sentences_of
from benchmarks.kit.serving import EMPTY_PAGE, chromium, serve
from benchmarks.kit.stopwatch import come_to_rest, floor, on, opened, times_of, type_sentence

ROUNDS = 20
LAYERS, HEADS = 3, 4
LONG_ROUNDS = 8  # of each longer sentence, and of clicks on heads
TRANSLATION_BAR, MAP_BAR, HEAD_BAR, LONG_HEAD_BAR = 3, 4, 3, 5


def click_head(page: Page, layer: int, head: int) -> float:
    """Milliseconds from the click on a head in the overview until the large map shows it."""
    name = f"layer {layer}, head {head}"
    page.evaluate("name => stopwatch('click', { map: () => mapTitle().includes(name) })", name)
    page.get_by_role("button", name=name).click()
    took = times_of(page, "stopwatch")["map"]
    come_to_rest(page)
    return took


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


def measure() -> list[Figure]:
    with serve(EMPTY_PAGE) as empty, serve() as app, chromium() as browser:
        empty_page, home_page = opened(browser, empty.url, ".st-key-word"), opened(browser, app.url, ".st-key-map")
        times: dict[str, list[float]] = {}

        def note(**found: float) -> None:
            for name, value in found.items():
                times.setdefault(name, []).append(value)

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
