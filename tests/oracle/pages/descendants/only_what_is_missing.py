"""What the lesson on T5 must show."""

import functools
import re
from fractions import Fraction
from itertools import groupby

import numpy as np

from tests.oracle.language import claims, common
from tests.oracle.language import scene as screen
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import chance, number
from tests.oracle.language.common import Choice, Shown, Statements
from tests.oracle.language.page import READABLE, Page, chances
from tests.oracle.language.words import inline
from tests.oracle.pages.descendants.torn_text import Text
from tests.oracle.passes import shipped
from tests.oracle.passes.family import bert
from tests.oracle.passes.forward import EOS, SOS, Forward
from tests.oracle.shown.blanks import Blanks
from tests.oracle.shown.worked import Step, steps

prose = Prose("only_what_is_missing")

T5, SEED, MORE, MOST, FIRST = "t5-mini", 54, 6, 96, min(bert.SIGNS)
STOPS = (15, 30, 50, 70)
TRIAL = Choice("Try", "t5_trial", ("Tag each word", "Answer a question", "How well it does"))
INSIDE = Choice("What to work out", "t5_inside", ("How much is cut out", "A cell of the picture"))
STORY, QUESTION = "Mary went to the garden. John went to the office. Mary took the milk.", "Where is Mary?"
LONG = "The man who told me that he had lost his umbrella there forgot it again, because it never rained. " * 5
STATES: tuple[dict[str, str], ...] = (
    {"sentence": "The boy sees the girl.", "stop": "3", "cell": "1.2", "t5_inside": INSIDE.options[1]},
    {"blanks": "2.3", "t5_trial": TRIAL.options[2], "stop": "1"},
    {"sentence": LONG, "blanks": ".".join(map(str, range(1, 60, 2))), "stop": "4"},
    {"sentence": "Go", "t5_trial": TRIAL.options[1], "t5_question": "Where is John?"},
    {
        "sentence": "Frobnicating quokkas! Where?",
        "blanks": "0",
        "t5_inside": INSIDE.options[1],
        "t5_trial": TRIAL.options[1],
        "t5_story": "Tom. " * 150,
    },
    {"sentence": "Colourless green ideas sleep", "blanks": "1.2.3.4.5"},
    {"sentence": '"', "blanks": "0", "t5_trial": TRIAL.options[2]},
    {"sentence": "Mr Müller paid.", "t5_trial": TRIAL.options[0]},
)

Ids = tuple[int, ...]
Spans = list[tuple[int, ...]]


def entries(text: str) -> Ids:
    return tuple(bert.tokenizer().encode(text, add_special_tokens=False).ids)


def passed(src: Ids, labels: Ids) -> Forward:
    return Forward([*src, EOS], list(labels), settings=shipped.config(T5), w=shipped.weights(T5))


@functools.lru_cache(512)
def written(src: Ids, most: int) -> Ids:
    ids, start = [SOS], passed(src, ())
    while len(ids) <= most and ids[-1] != EOS:
        ids.append(int(start.next_logits(ids).argmax()))
    return tuple(ids[1:])


def parts(n: int, n_parts: int, rng: np.random.Generator) -> list[int]:
    borders = sorted(1 + rng.permutation(n - 1)[: n_parts - 1])
    return [int(b - a) for a, b in zip([0, *borders], [*borders, n], strict=True)]


def sizes(n: int, share: float, mean: float) -> tuple[int, int]:
    """How many of n pieces are cut out, and in how many stretches. Raffel et al. 2020, §3.1.4 and §3.3.4"""
    hidden = max(0, min(max(1, round(share * n)), n - 1))
    return hidden, min(max(1, round(hidden / mean)), hidden, n - hidden + 1, len(bert.SIGNS) - 1)


def drawn(n: int, percent: int) -> Spans:
    rng = np.random.default_rng(SEED)
    hidden, count = sizes(n, percent / 100, 1.5)
    if not hidden:
        return []
    lengths = parts(hidden, count, rng)
    between = parts(n - hidden + 2, count + 1, rng)
    at, spans = -1, []
    for gap, length in zip(between, lengths, strict=False):
        at += gap
        spans.append(tuple(range(at, at + length)))
        at += length
    return spans


class Cut:
    """A text with stretches cut out, and what T5 writes for them."""

    def __init__(self, ids: Ids, spans: Spans, most: int = 0) -> None:
        self.ids, self.spans, self.prefix = ids, spans, entries("fill:")
        starts, gone = {span[0]: FIRST + k for k, span in enumerate(spans)}, {at for span in spans for at in span}
        self.source = [(starts[at], spans[starts[at] - FIRST]) if at in starts else (id, (at,)) for at, id in
                       enumerate(ids) if at in starts or at not in gone]  # fmt: skip
        self.target = tuple(id for k, span in enumerate(spans) for id in (FIRST + k, *(ids[at] for at in span)))
        self.target += (FIRST + len(spans),)
        self.src = (*self.prefix, *(id for id, _ in self.source))
        self.read = passed(self.src, written(self.src, most or len(self.target) + MORE))
        self.labels = tuple(self.read.labels)
        self.has_ended = self.labels[-1] == EOS
        self.said = self.labels[: len(self.labels) - self.has_ended]

    def stretches(self, ids: Ids) -> dict[int, Ids]:
        found: dict[int, Ids] = {}
        sign = -1
        for id in ids:
            sign = id if id >= FIRST else sign
            found[sign] = (*found.get(sign, ()), *([id] if id < FIRST else []))
        return found

    def right(self) -> set[int]:
        """The places of pieces written just where they stood."""
        wanted, sign, since, found = self.stretches(self.target), -1, 0, set()
        for at, id in enumerate(self.said):
            if id >= FIRST:
                sign, since = id, at + 1
            elif at - since < len(wanted.get(sign, ())) and wanted[sign][at - since] == id:
                found.add(at)
        return found

    def well_formed(self) -> bool:
        signs = [id for id in self.said if id >= FIRST]
        ends = self.said[:1] + self.said[-1:] == (FIRST, FIRST + len(self.spans))
        return self.has_ended and ends and signs == list(range(FIRST, FIRST + len(self.spans) + 1))


def count(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"


def scene(page: Page) -> Statements:
    text = Text(page)
    spans = [drawn(text.n, percent) for percent in STOPS]
    most = max(sum(map(len, some)) + len(some) + 1 for some in spans) + MORE  # for all alike
    frames = [scene_frame(Cut(text.ids, some, most), percent) for some, percent in zip(spans, STOPS, strict=True)]
    yield from screen.scene(page, prose.line("t5 writes only what", text.said), "Share that is cut out", frames)


def scene_frame(cut: Cut, percent: int) -> screen.Panel:
    gone, n, begins = {at for span in cut.spans for at in span}, len(cut.ids), len(cut.prefix)
    p, right = chances(cut.read), cut.right()
    own = [screen.card(bert.entry(id), "unseen" if at in gone else "") for at, id in enumerate(cut.ids)]
    read = [screen.card(bert.entry(id)) for id in cut.prefix]
    read += [screen.card(bert.entry(id), "asked" if id >= FIRST else "") for id, _ in cut.source]
    said = []
    for j, id in enumerate(cut.said):
        state = "asked" if id >= FIRST else "strong" if j in right else ""
        said.append(screen.card(bert.entry(id), state, chance(p[j]), p[j]))
    links = []
    for at, (id, places) in enumerate(cut.source):
        links += [screen.link((0, i), (1, begins + at), 0.2, "key" if id >= FIRST else "query") for i in places]
    signs = {id: begins + at for at, (id, _) in enumerate(cut.source) if id >= FIRST}
    links += [screen.link((1, signs[id]), (2, j), 0.2, "key") for j, id in enumerate(cut.said) if id in signs]
    rows = [(own, "your text"), (read, "the encoder reads", "plain"), (said, "the decoder writes", "output")]
    few, many = len(cut.target) + 1, n + 1
    bars = [screen.bar("T5", few, str(few), None, True), screen.bar("all of it, as BART", many, str(many))]
    says = prose.line(
        "cut out of your",
        count(n, "piece", "pieces"),
        len(gone),
        count(len(cut.spans), "stretch", "stretches"),
        len(right),
    )
    says += "" if cut.has_ended else f" {prose.line('not ended')}"
    drawn_bars = screen.bars(bars, "Pieces to write, with signs and end mark", limit=max(few, many))
    return screen.frame(f"{percent}%", says, [screen.cards([screen.row(*row) for row in rows], links)], [drawn_bars])


def idea(page: Page) -> Statements:
    config = shipped.config(T5)
    yield from prose("t5 raffel et al", config["n_layers"], f"{shipped.n_parameters(T5):,}")


class Chosen(Blanks):
    """The words that the address cuts out; at first the first, and the one before the last."""

    def default(self) -> int:
        return 0

    def __init__(self, page: Page) -> None:
        super().__init__(page, opened=True)
        n, asked = len(self.words), page.state.get("blanks", "")
        self.hidden = (0, n - 2) if n > 2 else (0,)
        if asked == "0":
            self.hidden = ()
        elif re.fullmatch(r"\d+(\.\d+)*", asked):
            named = tuple(sorted({int(k) - 1 for k in asked.split(".")}))
            self.hidden = named if named[0] >= 0 and named[-1] < n else self.hidden
        self.places = tuple(place for k in self.hidden for place in self.words[k])
        runs = groupby(enumerate(self.places), lambda pair: pair[1] - pair[0])
        self.spans = [tuple(place for _, place in run) for _, run in runs][: len(bert.SIGNS) - 1]

    def sign(self, place: int) -> str:
        named = zip(bert.SIGNS.values(), self.spans, strict=False)
        return next((sign for sign, span in named if place in span), self.pieces[place].text)


def shown(page: Page) -> Shown:
    text = Chosen(page)
    cut = Cut(text.ids, text.spans)
    read = cut.read
    rows, columns = ([bert.entry(id) for id in ids][:READABLE] for ids in (read.labels, (*cut.src, EOS)))
    name = f"decoder.layers.{read.config['n_layers'] - 1}.cross_attn.average"
    return common.shown_tensor(page, name, kind="cross", rows=rows, columns=columns, oracle=read)


def see(page: Page) -> Statements:
    text = Chosen(page)
    cards = [
        (text.sign(n), [piece.text], piece.word, True) if n in text.places else (piece.text, [], piece.word, False)
        for n, piece in enumerate(text.pieces)
    ]
    yield claims.cards(cards, **prose.words("your sentence in pieces"), runs=True)
    if text.ended:
        yield from prose("ended")
    if text.is_cut:
        yield from prose("only the first pieces", len(text.pieces))
    if not text.spans:
        yield from prose("nothing is cut out")
        return
    cut = Cut(text.ids, text.spans)
    each = (inline(" ".join(bert.entry(id) for id in ids)) for ids in (cut.src, cut.target, cut.said))
    yield from prose("where does it look", *each)
    if not cut.well_formed():
        yield from prose("that is not well")
    yield from common.tensor_matrix(shown(page), **prose.words("matrix"))


def at_least_one(of: Fraction) -> int:
    return max(1, round(of))


def of_pieces(n: int) -> str:
    return rf"\max(1, \operatorname{{round}}(0.15\cdot {n}))"


def noise(page: Page) -> Statements:
    """By hand: what training cuts out of so many pieces, and what is read and written with the learner's own cut."""
    text = Chosen(page)
    n, spans = len(text.ids), text.spans
    yield from prose("how much does training", count(n, "piece", "pieces"))
    told = prose.words("by hand")
    share = Fraction(15, 100) * n
    hidden = at_least_one(share)
    worked = [
        Step(told["pieces"], rf"{of_pieces(n)} = \max(1, \operatorname{{round}}({float(share):g})) = {hidden}"),
        Step(
            told["stretches"], rf"\max(1, \operatorname{{round}}({hidden} / 3)) = {at_least_one(Fraction(hidden, 3))}"
        ),
    ]
    if n == 1:
        worked = [Step(told["alone"], "1 - 1 = 0")]
    if spans:
        cut, k = Cut(text.ids, spans), len(spans)
        pieces, begins = sum(map(len, spans)), len(cut.prefix)
        given = count(pieces, "piece", "pieces"), count(k, "stretch", "stretches"), begins
        read, write = [*cut.src, EOS], [*cut.target, EOS]
        worked += [
            Step(prose.line("you cut out", *given), f"{begins} + ({n} - {pieces}) + {k} + 1 = {len(read)}"),
            Step(told["target"], f"{pieces} + {k} + 1 + 1 = {len(write)}"),
        ]
    yield from steps(*worked)
    yield from prose("twice as long", 2 * n)
    yield claims.FillIn(of_pieces(2 * n), at_least_one(2 * share), whole=True)


def cell(page: Page) -> Statements:
    if Chosen(page).spans:
        yield from common.check_cell(shown(page))
    else:
        yield from prose("there is nothing to")


def said_to(source: Ids) -> str:
    ids = [id for id in written(source, MOST) if len(bert.NAMES) <= id < FIRST]
    return bert.tokenizer().decode(ids)


def tag(page: Page) -> Statements:
    text = Chosen(page)
    words = [text.word(n) for n in range(len(text.words))]
    while len(source := entries(f"tag: {' '.join(words)}")) + len(words) >= MOST:
        words.pop()
    said = said_to(source).split()
    yield from prose("the same model another")
    rows = []
    for n, word in enumerate(words):
        again, kind = (*said[2 * n : 2 * n + 2], "", "")[:2]
        rows.append((word, kind if kind and again == word else "–"))
    yield claims.table("your word | its kind", *rows)
    yield from prose("there it wrote another")


def answer(page: Page) -> Statements:
    story, question = page.state.get("t5_story", STORY), page.state.get("t5_question", QUESTION)
    yield from prose("a question and a")
    yield claims.control("text_area", "Story", value=story)
    yield claims.text_box("Question", question)
    source = entries(f"answer: {question} {story}")
    said = said_to(source[: MOST - 1])
    yield from prose("it answers", f"**{inline(said)}**" if said else "nothing")
    if len(source) >= MOST:
        yield from prose("it reads the first", len(source))
    yield from prose("it learned from short")


def measured(page: Page) -> Statements:
    test = shipped.metrics(T5)["test"]
    yield from prose("how well does it")
    rows = []
    for key, name in prose.words("what is right").items():
        right, error = (number(100 * test[key][what], 1) for what in ("right", "standard_error"))
        rows.append((name, f"{right} ± {error}", f"{test[key]['n']:,}"))
    yield claims.table("what is right | in % | of", *rows)
    few, many = (test[key]["mean"] for key in ("target_pieces", "text_pieces"))
    yield from prose("its targets have pieces", number(few, 1), number(many, 1), number(few / many, 2))


def predict(page: Page) -> Statements:
    n = len(Chosen(page).ids)
    hidden, spans = sizes(n, 0.15, 3.0)
    right = hidden + spans + 2
    options = sorted({hidden, right, n + 1})
    whys = {hidden: prose.line("too few"), n + 1: prose.line("too many")}
    wrong = {k: whys[one] for k, one in enumerate(options) if one != right}
    values = (
        count(n, "piece", "pieces"),
        hidden,
        count(spans, "stretch", "stretches"),
        count(hidden, "piece", "pieces"),
        count(spans, "sign", "signs"),
    )
    texts = [str(one) for one in options]
    yield prose.question("how many pieces is", options.index(right), *values, options=texts, wrong=wrong)
    yield prose.question("you want the kinds", 1)


check = INSIDE.trials(noise, cell)
do = TRIAL.trials(tag, answer, measured)
code = common.code_of("training/loop/spans.py: hide_spans, cut_spans")
