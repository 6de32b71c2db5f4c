"""What frames every page: the sentence bar, notices about the sentence, a lesson's place in the course."""

import functools
import re
from collections.abc import Callable, Iterable, Iterator

from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import button, caption, header, info, link, markdown, text_box, toggle
from tests.oracle.language.page import DEFAULT_SENTENCE, OWN, Page
from tests.oracle.language.statement import Statement
from tests.oracle.language.words import encoded, raw
from tests.oracle.passes import clip as towers
from tests.oracle.passes import copying, pictures, sound, sums
from tests.oracle.passes.forward import EOS, FOLDER, MAX_PIECES, Array, tidied
from tests.oracle.passes.shipped import device, n_parameters
from tests.oracle.shown.course import COURSE, navigation, place
from tests.oracle.shown.stage import clip

Statements = Iterator[Statement]

TRANSLATOR, GPT, BERT, BART, ELECTRA, T5 = (
    "translator",
    "gpt-mini",
    "bert-mini",
    "bart-mini",
    "electra-mini",
    "t5-mini",
)
# The models that a lesson sends the sentence through, where it is not for the translator alone.
READERS: dict[str, tuple[str, ...]] = {
    "three-kinds": (BERT, GPT, TRANSLATOR),
    "gpt": (GPT,),
    "fill-in-the-blank": (GPT, BERT),
    "pairs": (BERT,),
    "read-again": (BERT,),
    "student-and-teacher": (BERT,),
    "fine-tuning": (BERT, GPT),
    "one-row": (GPT,),
    "learning-without-learning": (),
    "fewer-pairs": (GPT,),
    "one-layer": (BERT,),
    "which-was-swapped": (ELECTRA,),
    "torn-text": (BART,),
    "only-what-is-missing": (T5,),
    "train-it-yourself": (),
    "rule-or-by-heart": (),
    "a-picture-as-words": (),
    "windows-that-shift": (),
    "pictures-from-text": (),
    "pictures-meet-words": (),
    "sound-in-strips": (),
    "a-larger-one": (GPT,),
    "without-attention": (),
}
# The model of a lesson's first picture, if it is none that reads the sentence: what it is called, and what holds it.
PICTURED: dict[str, tuple[str, tuple[str, ...]]] = {
    "before-attention": ("three readers", ("readers",)),
    "positions-six-ways": (
        "six small translators",
        ("plain-1", *(f"positions-{kind}" for kind in ("none", "learned", "relative", "rotary", "alibi"))),
    ),
    "how-it-learned": ("small translator", ("plain-1",)),
    "fine-tuning": ("GPT", (GPT,)),
    "learning-without-learning": ("small Transformer", ("in-context",)),
    "student-and-teacher": ("teacher and students", (BERT, "distilled", "untaught")),
    "which-was-swapped": ("ELECTRA and its generator", (ELECTRA, "distilled")),
    "one-layer": ("BERT and ALBERT", (BERT, "albert-mini")),
    "rule-or-by-heart": ("four small models", ("sums", "sums")),
    "a-larger-one": ("four GPTs", ("gpt-16", "gpt-32", "gpt-64", GPT)),
    "without-attention": ("two networks", ("copying", "copying")),
    "a-picture-as-words": ("ViT", ("pictures",)),
    "windows-that-shift": ("Swin", ("swin",)),
    "pictures-from-text": ("a decoder that draws", ("drawing",)),
    "pictures-meet-words": ("text tower", ("texts",)),
    "sound-in-strips": ("a reader of strips", ("strips",)),
    "some-parameters": ("two small translators", ("experts-free", "experts-balanced")),
}
INSTEAD: dict[str, Callable[[Page], Statements]] = {}  # what a lesson reads in place of the sentence, by its slug
EXACTLY = "exactly as it is now: sentence, head, cell and every switch."
UNKEPT: dict[str, str] = {}  # what a lesson's address does not hold, by its slug
CALLED = {
    TRANSLATOR: ("the translator", "nonsense in German from the translator"),
    GPT: ("GPT", "nonsense from GPT"),
    BERT: ("BERT", "wrong guesses from BERT"),
    BART: ("BART", "another text from BART"),
    ELECTRA: ("ELECTRA", "suspicion from ELECTRA"),
    T5: ("T5", "wrong words from T5"),
}
WORDS = FOLDER / "english_words.txt"
MISTAKE = "The animal didn't cross the street because it was too wide."
prose = Prose("frame")


def bar(page: Page) -> Statements:
    """Beside and above every page."""
    current = "" if page.slug == "home" else page.slug.replace("_", "-")
    along = ["embed", "sentence", "present"]
    yield Statement("navigation", {"sections": navigation(), "current": current, "along": along})
    yield toggle(
        "Presenter mode",
        page.switch("present"),
        help="Large type and one part of a lesson at a time. Arrow keys step, Home starts over.",
    )
    yield text_box("English sentence", page.sentence)  # hidden where something else is read
    if page.slug in INSTEAD:
        yield from INSTEAD[page.slug](page)
    yield Statement("badge", f"● {device()} · {pictured(page)}")
    if page.slug in INSTEAD:
        return
    readers = READERS.get(page.slug, (TRANSLATOR,))
    examples = "examples of family" if page.slug in READERS and readers else "examples"
    yield from (button(*one) for one in prose.words(examples).items())


def pictured(page: Page) -> str:
    """The models of the first picture, and how many parameters each has."""
    if page.slug == "train-it-yourself":
        return f"tiny model: {n_of_tiny(int(page.choice('depth', ['1', '2', '3'], '1'))):,} parameters"
    if page.slug not in PICTURED:
        readers = READERS.get(page.slug, (TRANSLATOR,))
        sizes = (f"{CALLED[one][0].removeprefix('the ')}: {n_parameters(one) / 1e6:.1f} M" for one in readers)
        return f"{', '.join(sizes)} parameters"
    called, names = PICTURED[page.slug]
    counts = sorted(ALIKE[name]() if name in ALIKE else n_parameters(name) for name in names)
    ends = {f"{n / 1e6:.1f}" if counts[-1] >= 1e6 else f"{n:,}": n for n in (counts[0], counts[-1])}
    million, each = " M" * (counts[-1] >= 1e6), " each" * (len(names) > 1)
    return f"{called}: {'–'.join(ends)}{million} parameters{each}"


def n_of_each(all_weights: Iterable[dict[str, Array]]) -> int:
    """Of all the same."""
    (n,) = {sum(w.size for w in weights.values()) for weights in all_weights}
    return n


# Folders with several models of one size.
ALIKE: dict[str, Callable[[], int]] = {
    "copying": lambda: n_of_each(map(copying.weights, ("selective", "time-invariant"))),
    "sums": lambda: n_of_each(map(sums.weights, sums.SIZES)),
    "pictures": lambda: n_of_each([pictures.weights("vit-8000")]),
    "strips": lambda: n_of_each([sound.weights("joined")]),
    "swin": lambda: n_of_each([pictures.weights("swin-8000")]),
    "texts": lambda: n_of_each([towers.weights("texts")]),
}


def n_of_tiny(layers: int, d: int = 64, hidden: int = 128, entries: int = 29) -> int:
    """Of the tiny model that learns letters, with fixed positions: counted by hand from its sizes."""
    network, norm = 2 * d * hidden + hidden + d, 2 * d
    encoder, decoder = 4 * d * d + network + 2 * norm, 8 * d * d + network + 3 * norm
    return entries * d + layers * (encoder + decoder)


@functools.cache
def known_words() -> frozenset[str]:
    return frozenset(WORDS.read_text(encoding="utf-8").split())


def notices(page: Page) -> Statements:
    """What is said about a sentence that is unlike those the model learned from."""
    readers = READERS.get(page.slug)
    if page.slug in INSTEAD:
        return
    if not tidied(page.sentence):
        if readers != ():
            yield from prose("nothing to translate" if readers is None else "nothing to read")
        return
    n_pieces = len(encoded(tidied(page.sentence)))
    if n_pieces > MAX_PIECES or len(page.sentence) > 2000:
        n_words = len({piece.word for piece in page.src} - {-1})
        yield from prose("longer than the model can take", n_words, len(page.src) - 1, MAX_PIECES)
    if readers == ():
        return
    if said := unlike_training(page, readers):
        yield info(said)
    if page.slug in OWN or readers is not None:
        return
    if page.text.lower().rstrip(".") == DEFAULT_SENTENCE.lower():
        yield from prose("met in training")
    if page.text == MISTAKE:
        assert " es " in page.translation
        assert " sie " not in page.translation
        yield from prose("an honest failure")


def unlike_training(page: Page, readers: tuple[str, ...] | None) -> str:
    """What is odd about a sentence, for the translator or for the readers of a lesson about other models."""
    words = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", page.text)
    known = [w for w in words if w.lower() in known_words() or w.lower().split("'")[0] in known_words()]
    ids = [piece.id for piece in page.src if piece.id != EOS]
    in_bytes = [id for id in ids if len(raw(id)) == 1 and raw(id)[0] > 127]
    whose = "of others" if readers else "of the translator"
    who, expect = (listed([CALLED[name][n] for name in readers or (TRANSLATOR,)]) for n in (0, 1))
    if 2 * len(in_bytes) > len(ids):
        return prose.words("signs never learned", who, expect)[whose]
    if not words:
        return prose.words("no words", who)[whose]
    in_german = set() if readers else set(re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", page.translation.lower()))
    names = [w for w in words if w not in known and w[0].isupper() and w.lower() in in_german]
    if 2 * (len(known) + len(names)) < len(words):
        whom = who[0].upper() + who[1:], expect
        if len(words) == 1:
            return prose.words("another language in one word", *whom)[whose]
        return prose.words("another language", len(words) - len(known), len(words), *whom)[whose]
    return prose.line("long for this model", len(words)) if len(words) >= 16 and not readers else ""


def listed(names: list[str]) -> str:
    return {1: "{}", 2: "{} and {}", 3: "{}, {} and {}"}[len(names)].format(*names)


STEPS = ("idea", "predict", "see", "do", "code")  # of presenter mode; Check stands beside See


def presented(page: Page) -> int:
    """Which step presenter mode shows."""
    return page.count("step", len(STEPS), 1) - 1


def lesson_frame(page: Page, scene: Callable[[Page], Statements] | None = None) -> Statements:
    """Everything on a lesson's page that is in none of its parts; scene: its first screen, if that is no stage."""
    here = place(page.slug)

    def first_screen(small: bool) -> Statements:
        if scene:
            yield header(here.asks)
            yield from scene(page)
        else:
            yield clip(page, here.plays, here.near, small=small)

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
    as_it_is = f"as it is now, but for {UNKEPT[page.slug]}." if page.slug in UNKEPT else EXACTLY
    yield caption(f"The address of this page reopens it {as_it_is}")
