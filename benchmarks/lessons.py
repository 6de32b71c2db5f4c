"""How long a learner waits on a lesson: every control of it, a new sentence or a new drawing, beside an empty page.

`python -m benchmarks.lessons` measures all lessons, `python -m benchmarks.lessons masking embeddings` only these. The
controls are found on the page, so that a new lesson is measured as it comes. Each is used once after each new
sentence, so that whatever it computes is computed anew.
"""

import itertools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from playwright.sync_api import Browser, Locator, Page

from benchmarks.kit.report import Figure, report
from benchmarks.kit.sentences import sentences, sentences_of
from benchmarks.kit.serving import EMPTY_PAGE, chromium, serve
from benchmarks.kit.stopwatch import floor, on, opened, sentence_box, times_of
from benchmarks.sheet import SHEET
from tests.course import LESSONS

BARS = {20: 3, 50: 5}  # tokens of the sentence: how often the least that a Streamlit page can do
SENTENCE, DRAWING = "a new sentence", "a new drawing"
LONGEST_WORK_MS = 120_000
ROUNDS, MOST_ROUNDS = 2, 5  # of each length; more than the first number only while something is over its bar

# The controls that can be seen in a lesson's parts, each with what it is called and the class its element carries.
FIND = r"""() => {
  const found = [];
  for (const part of document.querySelectorAll("[class*=st-key-part_]")) {
    const all = (test) => [...part.querySelectorAll(`[data-testid=${test}]`)].filter((node) => node.checkVisibility());
    const name = (node) => (node.querySelector("[data-testid=stWidgetLabel]") ?? node).innerText.trim();
    const add = (kind, node, called = name(node), option = 0) => {
      const [key] = node.closest("[class*=st-key-]").className.match(/st-key-\S+/);
      found.push({ kind, key, name: called, option });
    };
    for (const node of all("stButtonGroup")) {
      const options = [...node.querySelectorAll("[role=radio]")];
      const texts = options.map((option) => option.innerText.trim());
      // Of a few words each does something of its own; numbers and long lists are all alike.
      const alike = texts.length > 5 || texts.every((text) => /^[\d.]+$/.test(text));
      options.forEach((option, n) => {
        if (option.ariaChecked !== "true") add("option", node, alike ? name(node) : `${name(node)}: ${texts[n]}`, n);
      });
    }
    all("stRadio").forEach((node) => add("answer", node, "an answer"));
    all("stSelectbox").forEach((node) => add("select", node));
    for (const node of all("stCheckbox"))
      if (part.matches(".st-key-part_predict")) add("toggle", node, "an answer");
      else add("toggle", node);
    all("stSlider").forEach((node) => add("slider", node));
    all("stTextInput").forEach((node) => add("text", node));
    for (const node of all("stBidiComponentIsolated")) {
      const has = (what) => [node, ...node.querySelectorAll("*")].some((n) => n.shadowRoot?.querySelector(what));
      if (node.closest("[class*=st-key-see_]") && has("tbody td:not([aria-selected])")) add("cell", node, "a cell");
      if (has("button canvas")) add("head", node, "a head of the overview");
      if (has("button.card")) add("card", node, "a piece");
    }
    for (const node of all("stButton"))  // an icon's name stands on a line of its own before the words
      if (!node.querySelector("button").disabled) add("button", node, name(node).split("\n").pop());
  }
  return found;
}"""


@dataclass(frozen=True)
class Control:
    """Something to click, turn or fill in: its kind, its element's class, its name, and which option to choose."""

    kind: str
    key: str
    name: str
    option: int


def use(page: Page, control: Control, turn: int, word: str) -> float:
    """Milliseconds from the click or the key until nothing of the lesson changes any more."""
    place = page.locator(f".{control.key}")

    def click(targets: Locator, n: int = 0) -> float:
        targets.first.wait_for()  # a component may just be drawing itself anew
        return last_change(page, "click", targets.nth(n % targets.count()).click)

    match control.kind:
        case "option":
            return click(place.get_by_role("radio"), control.option)
        case "answer":
            return click(place.locator("[role=radiogroup] label"), turn)
        case "select":
            box = place.get_by_role("combobox")
            box.click()
            for _ in range(2 + turn):
                box.press("ArrowDown")
            return last_change(page, "keydown", lambda: box.press("Enter"))
        case "toggle":
            return click(place.locator("label"))
        case "slider":
            handle = place.get_by_role("slider")
            at_end = handle.evaluate("e => (e.ariaValueNow ?? e.value) === (e.ariaValueMax ?? e.max)")
            return last_change(page, "keydown", lambda: handle.press("ArrowLeft" if at_end else "ArrowRight"))
        case "text":
            box = place.get_by_role("textbox")
            box.fill(word)
            return last_change(page, "keydown", lambda: box.press("Enter"))
        case "cell":
            return click(place.locator("tbody td:not([aria-selected])"), turn)
        case "head":
            return click(place.locator("button[aria-pressed=false]"), turn)
        case "card":
            return click(place.locator("button.card[aria-pressed=false]"), turn)
        case _:
            return click(place.get_by_role("button").filter(has_text=control.name))


def last_change(page: Page, event: str, act: Callable[[], None], part: str | None = None) -> float:
    """Milliseconds from the event that the act causes to the last change of the first screen's picture, "scene", or of
    a part of the lesson, or of all that has changed.

    0 if nothing changes there, as when a question is given the same answer again.
    """
    page.evaluate("asked => lastChanges(asked)", [event, part])
    act()
    times = times_of(page, "lastChanges")
    return times.get(part, 0.0) if part else max(times.values(), default=0.0)


def new_sentence(page: Page, sentence: str) -> float:
    """Milliseconds from Enter to the last change of See."""
    box = sentence_box(page)
    box.fill(sentence)
    return last_change(page, "keydown", lambda: box.press("Enter"), "see")


def new_drawing(page: Page, turn: int) -> float:
    """Milliseconds from the end of a stroke to the last change of the first screen: the answer, with its maps."""
    page.get_by_role("button", name="Clear").click()  # the same strokes once more would change nothing
    page.wait_for_timeout(1000)
    page.locator(SHEET).scroll_into_view_if_needed()
    sheet = page.locator(SHEET).bounding_box()
    assert sheet
    x, y = sheet["x"] + sheet["width"] * (0.3 + 0.05 * turn), sheet["y"] + 0.2 * sheet["height"]

    def stroke() -> None:
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + 0.3 * sheet["width"], y + 0.6 * sheet["height"], steps=6)
        page.mouse.up()

    took = last_change(page, "pointerup", stroke, "scene")
    assert took, "the stroke changed nothing"
    return took


def walk(page: Page, turn: int, words: Iterator[str]) -> Iterator[tuple[str, float]]:
    """Use every control of the lesson once, also those that others bring; the name of each, and what it took."""
    used: set[str] = set()
    while True:
        found = [Control(**control) for control in page.evaluate(FIND)]
        fresh = next((control for control in found if control.name not in used), None)
        if not fresh:
            return
        used.add(fresh.name)
        yield fresh.name, use(page, fresh, turn, next(words))
        if page.get_by_role("dialog").count():  # it stands over the other controls
            page.keyboard.press("Escape")
            page.get_by_role("dialog").wait_for(state="detached")
        # Long work that a button began shows its progress again and again, and takes a core: it is waited for.
        page.wait_for_function("!document.querySelector('[data-testid=stProgress]')", timeout=LONGEST_WORK_MS)


def times_at(
    page: Page, empty_page: Page, n_tokens: int, bar: float, typed: Iterator[str]
) -> tuple[dict[str, float], float]:
    """For sentences of this length: what each control takes as a multiple of the floor, by name; the floor in ms."""
    new, words = sentences_of(n_tokens, seed=n_tokens), (f"word{n}" for n in itertools.count(n_tokens * 100))
    times: dict[str, list[float]] = {}
    floors: list[float] = []
    for turn in range(MOST_ROUNDS):
        floors += [floor(on(empty_page), next(words)) for _ in range(2)]
        if sentence_box(on(page)).is_visible():  # one lesson reads something else
            times.setdefault(SENTENCE, []).append(new_sentence(page, next(new)))
        if page.locator(SHEET).is_visible():
            times.setdefault(DRAWING, []).append(new_drawing(page, turn))
        for name, took in walk(page, turn, typed):
            if took:
                times.setdefault(name, []).append(took)
        ratios = in_floors(times, floors)
        if turn + 1 >= ROUNDS and max(ratios.values()) <= bar:
            break
    return ratios, median(floors)


def in_floors(times: Mapping[str, Sequence[float]], floors: Sequence[float]) -> dict[str, float]:
    """The median of each as a multiple of the floor's. Args: milliseconds"""
    return {name: median(values) / median(floors) for name, values in times.items()}


def figures_of(slug: str, n_tokens: int, ratios: Mapping[str, float]) -> list[Figure]:
    """Of one lesson, for sentences of this length. Args: ratios: by control, and of a new sentence or drawing, if it
    reads one
    """
    name, bar = f"lessons: {slug}, {n_tokens} tokens", BARS[n_tokens]
    given = [one for one in (SENTENCE, DRAWING) if one in ratios]
    slowest = max(ratio for control, ratio in ratios.items() if control not in given)
    own = [Figure(f"{name}, {one} / floor", ratios[one], "x", bar) for one in given]
    return [*own, Figure(f"{name}, slowest control / floor", slowest, "x", bar)]


def floor_with_our_settings(browser: Browser) -> float:
    """What an empty page takes, in milliseconds, with the app's settings and loop."""
    with serve(EMPTY_PAGE, as_it_comes=False) as server:
        page = opened(browser, server.url, ".st-key-word")
        times = [floor(page, f"word{n}") for n in range(12)]
        page.close()
    return median(times[2:])


def measure(slugs: Sequence[str] = ()) -> list[Figure]:
    figures: list[Figure] = []
    floors: list[float] = []
    with serve(EMPTY_PAGE) as empty, serve() as app, chromium() as browser:
        strict = floor_with_our_settings(browser)
        empty_page = opened(browser, empty.url, ".st-key-word")
        floor(empty_page, "first")  # once, unmeasured
        for lesson in LESSONS:
            if slugs and lesson.slug not in slugs:
                continue
            page = opened(browser, f"{app.url}/{lesson.slug}", ".st-key-way_on")
            for summary in page.locator(".st-key-part_idea summary").all():
                summary.click()
            typed = (sentence.split()[-4] for sentence in sentences(seed=2))
            for n_tokens, bar in BARS.items():
                ratios, least = times_at(page, empty_page, n_tokens, bar, typed)
                floors.append(least)
                print(f"{lesson.slug}, {n_tokens} tokens, × {least:.0f} ms:", end=" ")
                print(
                    *(f"{ratio:.2f} {name}" for name, ratio in sorted(ratios.items(), key=lambda r: -r[1])), sep=" · "
                )
                figures += figures_of(lesson.slug, n_tokens, ratios)
            page.close()
    least_of_all = Figure("lessons: an empty page with the app's settings", strict, "ms")
    return [Figure("lessons: floor", median(floors), "ms"), least_of_all, *figures]


if __name__ == "__main__":
    report(measure(sys.argv[1:]))
