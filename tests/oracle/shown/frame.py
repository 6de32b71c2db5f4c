"""What frames every page: the sentence bar, notices about the sentence, a lesson's place in the course."""

import functools
import platform
import re
from collections.abc import Callable, Iterator

from tests.oracle.language.claims import button, caption, header, info, link, markdown, number, text_box, toggle
from tests.oracle.language.page import DEFAULT_SENTENCE, OWN, Page
from tests.oracle.language.statement import Statement
from tests.oracle.language.words import encoded, raw
from tests.oracle.passes.forward import EOS, FOLDER, MAX_PIECES, tidied
from tests.oracle.passes.language_models import weights_of
from tests.oracle.shown.course import COURSE, place
from tests.oracle.shown.stage import clip

Statements = Iterator[Statement]

TRANSLATOR, GPT, BERT = "translator", "gpt-mini", "bert-mini"
# The models that a lesson sends the sentence through, where it is not for the translator alone.
READERS: dict[str, tuple[str, ...]] = {
    "three-kinds": (BERT, GPT, TRANSLATOR),
    "gpt": (GPT,),
    "fill-in-the-blank": (GPT, BERT),
    "pairs": (BERT,),
    "fine-tuning": (BERT, GPT),
    "learning-without-learning": (),
    "train-it-yourself": (),
}
CALLED = {
    TRANSLATOR: ("the translator", "nonsense in German from the translator"),
    GPT: ("GPT", "nonsense from GPT"),
    BERT: ("BERT", "wrong guesses from BERT"),
}
NOTHING = "There is nothing to read yet: type a sentence. Or take one of the examples: you watch it work."
EXAMPLES = (
    ("I ate an apple", "German moves the verb to the end."),
    ("Who sees whom?", "The same words in another order mean something else."),
    ("A verb that splits", "German cuts the verb in two and puts the second half at the end."),
    (
        "Two meanings of “watch”",
        "One word, two meanings: here a clock, in “We watch TV every evening.” something one does.",
    ),
    ("Word order", "Both clauses change their word order in German."),
    ("A mistake", "An honest failure: “it” is the bag, so German needs “sie”. The model writes “es”."),
    ("Surprise me", ""),
)
EXAMPLES_OF_FAMILY = (
    ("She … the door", "Hide “opened”: BERT sees the door and finds it. GPT sees “She” alone."),
    ("The … girl", "Hide “little”: BERT sees the girl and finds it. GPT sees “The” alone."),
    ("Sky and stars", "Hide “looked”: what follows tells BERT."),
    ("In the dark", "Hide “could”: GPT expects it too, but BERT is far surer."),
    ("A garden", "Let GPT go on behind it; hide “beautiful”, and BERT finds it."),
    ("Hard to guess", "Many words fit where “sees” stands: neither BERT nor GPT is sure of it."),
    ("Surprise me", ""),
)
WORDS = FOLDER / "known_words.txt"
MISTAKE = "I did not buy the bag because it was too expensive."
EMPTY = (
    "There is nothing to translate yet: type a sentence. Or take one of the examples: the model translates it, and you "
    "watch it work."
)


def bar(page: Page) -> Statements:
    """Above every page."""
    yield toggle(
        "Presenter mode",
        page.switch("present"),
        help="Large type and one part of a lesson at a time. Arrow keys step, Home starts over.",
    )
    yield text_box("English sentence", page.sentence)
    readers = READERS.get(page.slug, ())
    millions = sum(w.size for w in weights_of(readers[-1] if readers else TRANSLATOR).values()) / 1e6
    yield Statement("badge", f"● CPU · {platform.machine()} · {number(millions, 1)} M parameters")
    for name, why in EXAMPLES_OF_FAMILY if readers else EXAMPLES:
        yield button(name, help=why)


@functools.cache
def known_words() -> frozenset[str]:
    return frozenset(WORDS.read_text(encoding="utf-8").split())


def notices(page: Page) -> Statements:
    """What is said about a sentence that is unlike those the model learned from."""
    readers = READERS.get(page.slug)
    if not tidied(page.sentence):
        if readers != ():
            yield info(EMPTY if readers is None else NOTHING)
        return
    n_pieces = len(encoded(tidied(page.sentence)))
    if n_pieces > MAX_PIECES or len(page.sentence) > 2000:
        n_words = len({piece.word for piece in page.src} - {-1})
        yield info(
            f"Your text is longer than the model can take, so it reads only the first {n_words} words and marks "
            f"({len(page.src) - 1} pieces; it takes at most {MAX_PIECES}); the rest stays in the box."
        )
    if readers == ():
        return
    if said := unlike_training(page) if readers is None else unlike_english(page, readers):
        yield info(said)
    if page.slug in OWN or readers is not None:
        return
    if page.text.lower().rstrip(".") == DEFAULT_SENTENCE.lower():
        yield caption("The model met this very sentence in training. Type one of your own to see what it can do.")
    if page.text == MISTAKE:
        assert " es " in page.translation
        assert " sie " not in page.translation
        yield caption("An honest failure: “it” is the bag, so German needs “sie”. The model writes “es”.")


def unlike_training(page: Page) -> str:
    words = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", page.text)
    known = [w for w in words if w.lower() in known_words() or w.lower().split("'")[0] in known_words()]
    ids = [piece.id for piece in page.src if piece.id != EOS]
    in_bytes = [id for id in ids if len(raw(id)) == 1 and raw(id)[0] > 127]
    if 2 * len(in_bytes) > len(ids):
        return "Most of this text is in signs the model never learned: it reads them byte by byte and writes nonsense."
    if not words:
        return "There are no words in this text; the model learned from everyday English sentences, so expect little."
    if 2 * len(known) < len(words):
        return (
            f"{len(words) - len(known)} of {len(words)} words hardly occur in the English sentences the model learned "
            "from (another language, or rare words), so expect nonsense in German."
        )
    if len(words) >= 16:
        return (
            f"This is long for this model: {len(words)} words, while 99% of the sentences it learned from have fewer "
            "than 16; beyond that expect nonsense."
        )
    return ""


def unlike_english(page: Page, readers: tuple[str, ...]) -> str:
    """The same on a lesson about other models."""
    who, expect = (listed([pair[n] for pair in map(CALLED.__getitem__, readers)]) for n in (0, 1))
    said = unlike_training(page)
    if said.startswith("Most of this text"):
        return f"Most of this text is in signs that {who} never learned. They are read byte by byte: expect {expect}."
    if said.startswith("There are no words"):
        return f"There are no words in this text, and {who} learned from English texts: expect little."
    if "hardly occur" not in said:
        return ""
    counts = said.partition(" words")[0]
    return (
        f"{counts} words are rare in everyday English, or of another language. {who[0].upper() + who[1:]} learned from "
        f"English texts alone: expect {expect}."
    )


def listed(names: list[str]) -> str:
    return {1: "{}", 2: "{} and {}", 3: "{}, {} and {}"}[len(names)].format(*names)


STEPS = ("idea", "predict", "see", "do", "code")  # of presenter mode; Check stands beside See


def presented(page: Page) -> int:
    """Which step presenter mode shows."""
    return page.count("step", len(STEPS), 1) - 1


def lesson_frame(
    page: Page,
    on_stage: Callable[[Page, bool], Statement] | None = None,
    scene: Callable[[Page], Statements] | None = None,
) -> Statements:
    """Everything on a lesson's page that is in none of its parts.

    Args: on_stage: what the stage beside it shows, small or not, if it is another model than the visitor's
          scene: its first screen, if it has one of its own instead of the stage
    """
    here = place(page.slug)

    def first_screen(small: bool) -> Statements:
        if scene:
            yield header(here.asks)
            yield from scene(page)
        else:
            yield on_stage(page, small) if on_stage else clip(page, here.plays, here.near, small=small)

    yield from bar(page)
    yield from notices(page)
    at = COURSE.index(here)
    if not page.switch("present"):
        bars = [["here"] if n == at else [] for n in range(len(COURSE))]
        yield Statement("course", {"words": f"Lesson {at + 1} of {len(COURSE)}", "bars": bars})
    yield Statement("title", here.title)
    if page.switch("present"):
        step = presented(page)
        yield button("Back", disabled=step == 0)
        yield button("Next", disabled=step == len(STEPS) - 1)
        yield button("Reset", disabled=step == 0)
        yield markdown(f"Part {step + 1} of {len(STEPS)}: **{STEPS[step].capitalize()}**")
        if STEPS[step] == "idea":
            yield from first_screen(False)
        return
    if not scene:
        yield markdown(f"*{here.asks}*")
    yield from first_screen(True)
    if at:
        yield link(f"← {COURSE[at - 1].title}", COURSE[at - 1].slug)
    if at + 1 < len(COURSE):
        yield link(f"Next: {COURSE[at + 1].title} →", COURSE[at + 1].slug)
    yield caption("The address of this page reopens it exactly as it is now: sentence, head, cell and every switch.")
