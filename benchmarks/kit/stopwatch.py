"""A page in Chromium with a stopwatch in it: from the key or the click to the painted change."""

from playwright.sync_api import Browser, Locator, Page

# `stopwatch(event, conditions)` starts at the next event of that kind and notes, frame by frame, when each condition
# first holds; `stopwatch.times` resolves when all do.
# `lastChanges([event, part])` starts likewise and notes when what is drawn in each part of a lesson last changed;
# `lastChanges.times` resolves once the page has come to rest and the part, if one is named, has changed.
STOPWATCH = """
const QUIET = 150, IDLE = 2000;  // milliseconds after which a page that changed, or did not, is taken to be at rest
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

// Components draw inside shadow roots, which have to be watched one by one.
const shadows = [];
const attachShadow = Element.prototype.attachShadow;
Element.prototype.attachShadow = function (options) {
  const root = attachShadow.call(this, options);
  shadows.push(new WeakRef(root));
  lastChanges.watch?.(root);
  return root;
};
const partOf = (node) => {
  const part = (node.closest ? node : node.parentElement)?.closest("[class*=st-key-part_], .st-key-scene");
  return part?.className.match(/st-key-(?:part_)?([a-z]+)/)[1];
};
const lastChanges = ([event, part]) => {
  lastChanges.times = new Promise((resolve) => {
    const changed = new Set(), times = {}, observers = [];
    let start, latest;
    // Components tell by `data-updates` that they have drawn. Most other attributes change with nothing new to see.
    const shapes = ["d", "points", "transform", "x", "y", "width", "height", "fill", "src", "disabled", "data-updates"];
    const drawn = { subtree: true, childList: true, characterData: true, attributeFilter: shapes };
    const observe = (root, note) => {
      observers.push(new MutationObserver((records) => start && note(records)));
      observers.at(-1).observe(root, drawn);
    };
    observe(document, (records) => records.forEach((record) => changed.add(partOf(record.target))));
    lastChanges.watch = (root) => observe(root, () => changed.add(partOf(root.host)));
    shadows.forEach((shadow) => shadow.deref() && lastChanges.watch(shadow.deref()));
    addEventListener(event, () => (start = latest = performance.now()), { capture: true, once: true });
    const look = () => {
      const now = performance.now();
      changed.delete(undefined);
      for (const part of changed) {
        times[part] = now - start;
        latest = now;
      }
      changed.clear();
      const ran = document.querySelector("[data-test-script-state=notRunning]");
      if (ran && now - latest > (latest > start && (!part || part in times) ? QUIET : IDLE)) {
        observers.forEach((observer) => observer.disconnect());
        resolve(times);
      } else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
};
Object.assign(globalThis, { text, columns, mapTitle, stopwatch, lastChanges });
"""
PATIENCE_MS = 20_000


def opened(browser: Browser, url: str, ready: str) -> Page:
    """A page with the stopwatch in it, at rest."""
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.add_init_script(STOPWATCH)
    page.goto(url)
    page.wait_for_selector(ready)
    page.wait_for_timeout(1000)
    return page


def on(page: Page) -> Page:
    """The page in front: one in the background is not painted."""
    page.bring_to_front()
    return page


def sentence_box(page: Page) -> Locator:
    return page.get_by_label("English sentence")


def times_of(page: Page, name: str) -> dict[str, float]:
    """What `stopwatch` or `lastChanges` has noted, in milliseconds."""
    patience = f"new Promise((_, no) => setTimeout(no, {PATIENCE_MS}, 'no change'))"
    times: dict[str, float] = page.evaluate(f"() => Promise.race([{name}.times, {patience}])")
    return times


def type_sentence(page: Page, sentence: str, conditions: str) -> dict[str, float]:
    """Milliseconds from Enter until each condition, a JavaScript object of functions of `sentence`, holds."""
    page.evaluate(f"sentence => stopwatch('keydown', {conditions})", sentence)
    box = sentence_box(page)
    box.fill(sentence)
    box.press("Enter")  # at once, long before the box would send the sentence by itself
    times = times_of(page, "stopwatch")
    come_to_rest(page)
    return times


def come_to_rest(page: Page) -> None:
    """So that the next measurement starts from nothing."""
    page.wait_for_timeout(400)


def floor(page: Page, word: str) -> float:
    """Milliseconds until an empty page shows the word that was typed."""
    return type_sentence(page, word, "{ word: () => text('.st-key-word') === sentence }")["word"]
