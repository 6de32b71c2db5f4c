"""What the lesson on the encoder must show."""

import functools
from collections.abc import Sequence

import numpy as np

from tests.oracle.language import claims, common
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import Series, number
from tests.oracle.language.common import Choice, Shown, Statements, code_of, shown_tensor, tensor_matrix
from tests.oracle.language.page import READABLE, Page
from tests.oracle.language.words import Piece, encoded, inline, pieces, read_text, text_of, visible, words
from tests.oracle.passes.decode import translated
from tests.oracle.passes.forward import EOS, MAX_PIECES, Array, Forward, config, source_ids, tidied
from tests.oracle.passes.shipped import everyday as everyday_sentences
from tests.oracle.passes.space import cosine_of as cosine
from tests.oracle.shown.worked import writes

prose = Prose("encoder")

N = config()["n_layers"]
STAGES = {
    "look-up": "encoder.embedding.tokens",
    "with position": "encoder.embedding.output",
    **{f"after layer {n + 1}": writes("encoder", n) for n in range(N)},
}
# What can be chosen in See: what goes into the stack, and what each layer writes.
IN_SEE = {"into the stack": STAGES["with position"], **dict(list(STAGES.items())[2:])}
STAGE = Choice("Stage", "encoder_stage", list(IN_SEE), f"after layer {N}")

MONEY, RIVER = "I put my money in the bank.", "We sat on the bank of the river."
SPORT, THEATRE = "He plays basketball every Saturday.", "Peter plays the lead role in a Broadway show."
PARTNERS = (
    RIVER,
    MONEY,
    THEATRE,
    SPORT,
    "A white cat sleeps on the black sofa.",
    "The animal was too tired to cross the street.",
    "She gave the teacher an apple.",
)
LONG = "The animal didn't cross the street because it was too wide. " * 4
STATES = (
    {},
    {"sentence": MONEY, "second": RIVER, "encoder_stage": "into the stack", "cell": "2.5", "change": "2.9"},
    {"sentence": SPORT, "encoder_stage": "after layer 1", "word": "every", "change": "1.70"},
    {"sentence": "Zoë mag <b> Äpfel.", "second": "The dog.", "encoder_stage": "after layer 2", "change": "1.1"},
    {"sentence": "Go", "second": "Go"},
    {"sentence": "The dog sees the dog.", "second": "The dog sees the cat.", "word": "sees", "change": "2.3"},
    {"sentence": LONG, "second": "My cat sleeps. " * 60, "change": "3.4"},
    {"sentence": "The black cat.", "second": "A cat on the black sofa.", "word": "cat ", "change": "1.999"},
    {"sentence": "Window", "word": "zebra", "change": "x"},
    {"sentence": RIVER, "word": "<b>", "change": "99.1"},
)


def idea(page: Page) -> Statements:
    yield from prose("a word comes in", N)


def shown(page: Page) -> Shown:
    return shown_tensor(page, IN_SEE[STAGE.of(page)])


def see(page: Page) -> Statements:
    d_model = config()["d_model"]
    yield STAGE.drawn(page)
    yield from tensor_matrix(shown(page), **prose.words("the rows", STAGE.of(page), d_model))
    start, *above = (page.oracle[name][:READABLE] for name in IN_SEE.values())
    left = np.array([[cosine(start[i], rows[i]) for rows in above] for i in range(len(start))])
    names, looks = [piece.text for piece in page.src[:READABLE]], prose.words("cosine with the start")
    yield claims.matrix(left, names, list(IN_SEE)[1:], **looks, scale="signed", limit=1.0)
    yield from prose("shapes at every stage", len(page.src), d_model, number(left[:, -1].mean(), 2))


# --- one word in two sentences ---------------------------------------------------------------------------------------


class Sentence:
    """A sentence with the vectors of its words."""

    def __init__(self, text: str) -> None:
        self.oracle: Forward = translated(text)
        self.text = read_text(text)
        self.src: tuple[Piece, ...] = pieces(source_ids(text))
        self.german = text_of(self.oracle.labels)

    @functools.cached_property
    def by_ids(self) -> dict[tuple[int, ...], tuple[str, tuple[int, ...]]]:
        """Words that are no punctuation by the ids of their pieces: text and places, of equal ones the first."""
        found: dict[tuple[int, ...], tuple[str, tuple[int, ...]]] = {}
        for word in words(self.src):
            ids = tuple(self.src[n].id for n in word.pieces)
            if any(sign.isalnum() for sign in word.text) and EOS not in ids:
                found.setdefault(ids, (word.text, word.pieces))
        return found

    def vectors(self, places: Sequence[int]) -> list[Array]:
        """A word's vector at each stage: the mean of its pieces'."""
        return [self.oracle[name][list(places)].mean(0) for name in STAGES.values()]


@functools.cache
def sentence(text: str) -> Sentence:
    return Sentence(text)


def shared(one: Sequence[tuple[int, ...]], two: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    return [ids for ids in one if ids in two]


def second(page: Page) -> Sentence:
    """The second sentence: as typed, else the partner that shares the longest word."""
    typed = page.state.get("second", "").strip()
    if tidied(typed):
        return sentence(typed)
    own = sentence(page.sentence)

    def longest(text: str) -> int:
        other = sentence(text)
        return max((len(own.by_ids[ids][0]) for ids in shared(list(own.by_ids), list(other.by_ids))), default=0)

    return sentence(max((text for text in PARTNERS if text != page.text), key=longest))


def chosen(page: Page, one: Sentence, both: Sequence[tuple[int, ...]]) -> int:
    """The shared word of the address, else the longest."""
    texts = [one.by_ids[ids][0] for ids in both]
    asked = page.state.get("word", "")
    return texts.index(asked) if asked in texts else texts.index(max(texts, key=len))


def rows_of(one: Sentence, two: Sentence, ids: tuple[int, ...]) -> list[float]:
    """How alike a shared word's two vectors are, stage by stage."""
    sides = zip(one.vectors(one.by_ids[ids][1]), two.vectors(two.by_ids[ids][1]), strict=True)
    return [cosine(a, b) for a, b in sides]


def different(one: Sentence, two: Sentence) -> list[float]:
    """The mean cosine of a word of one with a different word of the other, stage by stage; NaN if there is none."""
    pairs = [(a, b) for a in one.by_ids for b in two.by_ids if a != b]
    if not pairs:
        return [float("nan")] * len(STAGES)
    cosines = [
        [cosine(x, y) for x, y in zip(one.vectors(one.by_ids[a][1]), two.vectors(two.by_ids[b][1]), strict=True)]
        for a, b in pairs
    ]
    return [float(value) for value in np.mean(cosines, axis=0)]


def do(page: Page) -> Statements:
    yield from two_sentences(page)
    yield from prose("how far does a")
    yield from change_a_piece(page)
    yield from prose("encoder decoder or both")
    yield prose.table("the table of kind each piece")
    yield from prose("an encoder writes no")


def two_sentences(page: Page) -> Statements:
    one, two = sentence(page.sentence), second(page)
    typed = page.state.get("second", "")
    yield from prose("one word in two")
    label, empty = prose.words("a second sentence").values()
    yield claims.text_box(label, typed, placeholder=empty)
    yield claims.button("Two sentences with “bank”")
    yield claims.button("Two sentences with “plays”")
    if len(encoded(tidied(typed))) > MAX_PIECES:
        n_words = len({piece.word for piece in two.src} - {-1})
        yield from prose("your text is longer", n_words, len(two.src) - 1, MAX_PIECES)
    texts = ((inline(each.text), inline(each.german) or "(nothing)") for each in (one, two))
    yield from prose("both translations", *(text for each in texts for text in each))
    both = shared(list(one.by_ids), list(two.by_ids))[:12]
    if not both:
        yield from prose("these two sentences share")
        return
    at = chosen(page, one, both)
    texts = [one.by_ids[ids][0] for ids in both]
    word, rows, others = texts[at], [rows_of(one, two, ids) for ids in both], different(one, two)
    yield from prose("how alike its two", inline(word))
    series = [Series(word, np.array(rows[at]))]
    if np.isfinite(others).all():
        series.append(Series("two different words", np.array(others)))
    listed = ", ".join(f"{number(value, 2)} {name}" for name, value in zip(STAGES, rows[at], strict=True))
    looks = prose.words("cosines of the two", visible(word), listed)
    yield claims.columns(list(STAGES), series, limit=1.0, **looks)
    yield claims.matrix(
        np.array([*rows, others]),
        [*texts, "different"],
        list(STAGES),
        **prose.words("cosines of shared words"),
        scale="signed",
        limit=1.0,
        selected=(at, len(STAGES) - 1),
    )
    top = rows[at][-1]
    # The positions are the same only where the places are.
    same_place = one.by_ids[both[at]][1] == two.by_ids[both[at]][1]
    verdict = prose.words("how far apart")["near" if top > 0.8 else "apart" if top > 0.5 else "far"]
    compared = f"; for two different words it is {number(others[-1], 2)} on average" if np.isfinite(others[-1]) else ""
    where = "the same place in both" if same_place else "different places"
    start, into = number(rows[at][0], 2), number(rows[at][1], 2)
    yield from prose("at the look-up both", start, where, into, number(top, 2), compared, verdict)
    if word == "bank":
        yield from prose("in german a bank")


# --- a change that travels -------------------------------------------------------------------------------------------


@functools.cache
def everyday() -> dict[str, int]:
    """Words of the example sentences that are one piece each, in alphabetical order."""
    found = {}
    for text in everyday_sentences():
        sequence = pieces(encoded(text))
        for word in words(sequence):
            if len(word.pieces) == 1 and word.text.isalpha():
                found[word.text] = sequence[word.pieces[0]].id
    return dict(sorted(found.items(), key=lambda item: item[0].lower()))


def change(page: Page) -> tuple[int, str]:
    """Which piece, and the word that takes its place: those of the address, else the last word and *window*."""
    n = max(1, min(len(page.src) - 1, READABLE))
    last = max((i for i in range(n) if page.src[i].text.isalnum()), default=n - 1)
    names = list(everyday())
    row, word = page.pair("change", (n, len(names)), (last, names.index("window")))
    # A word that stands there already is no change: the next one.
    return row, names[word] if everyday()[names[word]] != page.src[row].id else names[(word + 1) % len(names)]


@functools.lru_cache(64)
def states_of(src: tuple[int, ...], attention_off: bool) -> tuple[Array, ...]:
    off = tuple(f"encoder.layers.{n}.self_attn" for n in range(N)) if attention_off else ()
    oracle = Forward(list(src), [EOS], blocks_off=off)
    return tuple(oracle[name] for name in STAGES.values())


def moved(page: Page, attention_off: bool = False) -> Array:
    """How far each row moves at each stage, as a share of its length (S, stages)."""
    row, word = change(page)
    src = [piece.id for piece in page.src]
    after = states_of(tuple(everyday()[word] if n == row else id for n, id in enumerate(src)), attention_off)
    before = states_of(tuple(src), attention_off)
    return np.stack(
        [np.linalg.norm(b - a, axis=1) / np.linalg.norm(a, axis=1) for a, b in zip(before, after, strict=True)], 1
    )


def change_a_piece(page: Page) -> Statements:
    row, word = change(page)
    n = max(1, min(len(page.src) - 1, READABLE))
    yield from prose("replace one piece of")
    yield claims.numbered("Replace the piece", page.src[:n], row)
    yield claims.select("by", [w for w, id in everyday().items() if id != page.src[row].id], word)
    both = moved(page), moved(page, attention_off=True)
    yield from common.before_after(
        both,
        ("With self-attention", "Self-attention off in the encoder"),
        [f"{p.text} → {word}" if i == row else p.text for i, p in enumerate(page.src)],
        list(STAGES),
        **prose.words("how far a row moves"),
        scale="positive",
    )
    rest = np.delete(both[0], row, 0)
    reached = (rest > 1e-3).sum(0)
    others = [i for i in range(len(page.src)) if i != row]
    most = max(others, key=lambda i: np.float32(both[0][i, -1]))
    article = " It is an article; in German its form depends on the noun."
    far = inline(page.src[most].text), most + 1, number(both[0][most, -1], 2)
    noun = article * (page.src[most].text.lower() in ("the", "a", "an"))
    counts = len(rest), reached[1], reached[2], reached[-1], N
    yield from prose("of the other rows", *counts, number(rest[:, -1].mean(), 2), *far, noun)
    ids = [piece.id for piece in page.src[:-1]]
    changed = [everyday()[word] if i == row else id for i, id in enumerate(ids)]
    text = text_of(changed)
    if encoded(text) == changed:  # else nobody could type it
        german = (inline(each) or "(nothing)" for each in (page.translation, sentence(text).german))
        yield from prose("before and after", inline(page.text), next(german), inline(text), next(german))
    yield from prose("one layer is enough")


# --- questions -------------------------------------------------------------------------------------------------------


def predict(page: Page) -> Statements:
    one, two = sentence(page.sentence), second(page)
    both = shared(list(one.by_ids), list(two.by_ids))[:12]
    if not both:
        one, two = sentence(MONEY), sentence(RIVER)
        both = shared(list(one.by_ids), list(two.by_ids))
    ids = both[chosen(page, one, both)]
    word = one.by_ids[ids][0]
    pair = f"*{inline(one.text)}* and *{inline(two.text)}* share the word **{inline(word)}**."
    sides = zip(one.vectors(one.by_ids[ids][1]), two.vectors(two.by_ids[ids][1]), strict=True)
    apart = [float(np.abs(a - b).max()) for a, b in sides]
    right = min(next((n for n, size in enumerate(apart) if size > 1e-6), 3), 3)
    yield prose.question("where do its two", right, pair, *map(number, apart[:3]))
    yield travels(page)
    yield how_alike(one, two, ids, pair)


def travels(page: Page) -> object:
    row, word = change(page)
    far = np.delete(moved(page)[:, 2], row) > 1e-3
    right = 2 if far.all() else 1
    if not far.any():
        right = 0
    values = inline(page.src[row].text), row + 1, inline(word), len(far), far.sum()
    return prose.question("replace piece by how", right, *values)


def how_alike(one: Sentence, two: Sentence, ids: tuple[int, ...], pair: str) -> object:
    top, others = rows_of(one, two, ids)[-1], different(one, two)[-1]
    right = 3 if np.isnan(others) else 0 if top > 0.8 else 1 if top > others + 0.1 else 2
    compared = f"; two different words of these sentences have {number(others, 2)} on average." if right < 3 else "."
    return prose.question("after the last layer its", right, pair, number(top, 2), compared)


code = code_of(
    "model/parts/stacks.py: Encoder",
    "model/parts/layers.py: EncoderLayer",
    "experiments/inputs/contextual_vectors.py: alike, travelled",
)
