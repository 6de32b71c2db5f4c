"""What the lesson on embeddings must show."""

import functools
import math
from collections.abc import Generator

import numpy as np

from tests.oracle.language import claims, common
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import number, visible
from tests.oracle.language.common import STACK, Choice, Shown, Statements, code_of, read_by
from tests.oracle.language.page import READABLE, Page
from tests.oracle.language.statement import Statement, legible
from tests.oracle.language.words import encoded, inline
from tests.oracle.passes.forward import EOS, Forward, config, tidied, weights
from tests.oracle.passes.space import MATRIX, around, cosine, mean_cosine, name, neighbours, search, units, usual
from tests.oracle.shown.worked import cosine as worked_cosine
from tests.oracle.shown.worked import steps

prose = Prose("embeddings")

ANIMAL = "The animal didn't cross the street because it was too wide."
STATES = (
    {},
    {"stack": "Decoder", "rows": "3 cosines", "cell": "2.3", "find": "king"},
    {"sentence": ANIMAL, "rows": "2 times √d_model", "find": "look", "entry": "9999", "cell": "3.250"},
    {"sentence": "My neighbour's cat sleeps all day. " * 6, "rows": "3 cosines", "find": "q" * 60},
    {"sentence": "Go", "stack": "Decoder", "find": "riday", "cell": "1.2"},
    {"find": "Bank", "entry": "7"},
    {"sentence": "# @ [", "find": "#"},  # of these hardly any stood in a text that it learned from
    {"find": "<script>* \x00", "entry": "-x", "rows": "4"},
    {"find": "   ", "entry": "99999999"},
)
STEP = Choice("Step", "rows", ("1 rows of E", "2 times √d_model", "3 cosines"))
STEPS = STEP.options
PLAYS = (
    "He plays basketball every Saturday.",
    "Peter plays the lead role in a Broadway show.",
    "Weather plays a big role in shaping our daily activities.",
)


def idea(page: Page) -> Statements:
    size, width = weights()[MATRIX].shape
    yield from prose("a piece's id is", width, f"{size:,}", math.isqrt(width))


def shown(page: Page) -> Shown:
    what = {"1 rows of E": "tokens", "2 times √d_model": "scaled"}[STEP.of(page)]
    return common.shown_tensor(
        page,
        f"{STACK.of(page).lower()}.embedding.{what}",
        rows=[piece.text for piece in read_by(page)],
        describe="“{row}”, dimension {column}: {value}",
    )


def see(page: Page) -> Statements:
    step = STEP.of(page)
    yield claims.segmented("Side", STACK.options, STACK.of(page))
    yield STEP.drawn(page)
    if STACK.of(page) == "Decoder":
        yield from common.shifted(page)
    if step == STEPS[2]:
        yield from cosines(page)
        return
    size, width = weights()[MATRIX].shape
    sizes = (width, *[math.isqrt(width)] * (step == STEPS[1]))
    yield from common.tensor_matrix(shown(page), **prose.words(step, *sizes))
    yield from prose("shapes e rows", size, width, len(read_by(page)))
    if step == STEPS[0]:
        yield from long_way(page)
        return
    largest = [
        np.abs(page.oracle[f"{STACK.of(page).lower()}.embedding.{what}"]).max()
        for what in ("tokens", "scaled", "positions")
    ]
    yield from prose("the largest size grows", number(largest[0], 2), number(largest[1], 2), number(largest[2], 2))


def long_way(page: Page) -> Statements:
    size, width = weights()[MATRIX].shape
    piece = read_by(page)[shown(page).cell[0]]
    row = weights()[MATRIX][piece.id]
    yield from prose("why the look-up is", inline(piece.text), piece.id, f"{size:,}")
    yield claims.matrix(
        np.stack([row[:16], row[:16]]),
        ["one-hot × E", f"E[{piece.id}]"],
        [str(n) for n in range(1, 17)],
        **prose.words("one-hot times e"),
        how_to_read="",
        scale="signed",
    )
    yield from prose("largest difference over all", width, number(0, 1), f"{size:,}", f"{size * width:,}")
    assert len({encoded(word)[0] for word in ("dog", "cat", "orange", "apple")}) == 4
    root = number(math.sqrt(2))
    yield from prose("one-hot vectors alone know", root)


def pair(page: Page) -> tuple[int, int]:
    n = min(len(read_by(page)), READABLE)
    return page.pair("cell", (n, n), (0, 1))


def cosines(page: Page) -> Statements:
    many = read_by(page)[:READABLE]
    names = [piece.text for piece in many]
    yield claims.matrix(
        np.array([[cosine(one.id, other.id) for other in many] for one in many]),
        names,
        names,
        **prose.words(STEPS[2]),
        scale="signed",
        limit=1.0,
        selected=pair(page),
    )
    yield from common.cut_to((len(read_by(page)), "pieces"))
    yield from prose("these rows know no", number(mean_cosine(False), 2), number(mean_cosine(True), 2))


def check(page: Page) -> Statements:
    if STEP.of(page) != STEPS[2]:
        yield from common.check_cell(shown(page))
        return
    row, column = pair(page)
    one, other = read_by(page)[row], read_by(page)[column]
    value = cosine(one.id, other.id)
    yield from prose("how did this come", legible(value), inline(one.text), inline(other.text))
    step = worked_cosine(page.oracle, f"{STACK.of(page).lower()}.embedding.tokens", row, column)
    yield from steps(step)
    yield from prose("numbers are shown rounded")
    assert step.blank
    yield claims.FillIn(step.blank.formula, step.blank.answer)
    yield from common.compute_it_yourself(step, value)


def do(page: Page) -> Statements:
    yield from prose("who lives next door", number(mean_cosine(True), 2))
    entry = yield from choose(page)
    yield from prose("the nearest")
    yield from nearest(entry)
    yield from prose("as a picture")
    yield from ring(entry)
    yield from prose("one word three sentences")
    yield from three_sentences()


def choose(page: Page) -> Generator[Statement, None, int]:
    typed = page.state.get("find", "")
    yield claims.text_box(
        "Find any piece of the vocabulary", typed, placeholder="empty: “big” and the pieces of your sentence"
    )
    for word in ("big", "swim", "Monday", "mother", "three", "king", "Your sentence"):
        yield claims.button(word)
    own = list(dict.fromkeys([encoded("big")[0], *(p.id for p in page.src[:READABLE] if p.word >= 0)]))
    there = search(typed)
    if tidied(typed) and not there:
        yield from prose("no piece holds so", tidied(typed)[:40])
    if not there and len(page.src) > READABLE:
        yield from prose("shown those among the", READABLE, len(page.src))
    if len(tidied(typed)) > 40:
        yield from prose("searched for the first")
    there = there or own
    asked = page.state.get("entry", "")
    entry = int(asked) if asked.isdecimal() and int(asked) in there else there[0]
    yield claims.control("button_group", "Piece", options=[visible(name(id)) for id in there], value=str(entry))
    return entry


def nearest(entry: int) -> Statements:
    best = {}
    for title, learned in (("With the learned E", True), ("With random numbers instead", False)):
        near = neighbours(entry, 8, learned)
        best[learned] = near[0][1]
        yield from prose("nearest to", title, inline(name(entry)))
        yield claims.bars(
            [name(id) for id, _ in near],
            [value for _, value in near],
            f"{title}: the pieces nearest to {visible(name(entry))}, with their centred cosines",
        )
    as_near = int((usual() >= best[True] - 1e-6).sum())
    by_chance, usual_one = best[True] <= best[False] + 0.05, as_near > len(usual()) / 4
    near = "same" if best[True] > 0.98 else "chance" if by_chance else "usual" if usual_one else "near"
    verdict = prose.words("how near it is")[near]
    yield from prose("the nearest row has", number(best[True]), number(best[False]), len(usual()), as_near, verdict)


def ring(entry: int) -> Statements:
    near = neighbours(entry, 30)
    order = around([id for id, _ in near])
    ids, values = [near[n][0] for n in order], np.array([near[n][1] for n in order])
    yield from prose("is in the middle", inline(name(entry)), config()["d_model"])
    angle = 2 * np.pi * np.arange(30) / 30
    end = max(float((1 - values).max()), 0.5)
    circles = [radius for radius in (0.2, 0.4, 0.6, 0.8) if radius < end + 0.1]
    turn = np.linspace(0, 2 * np.pi, 73)
    grey, blue = "#808a96", "#0072B2"
    yield claims.plot(
        prose.line("in the middle its", name(entry), name(near[0][0])),
        [
            *(
                claims.scatter(r * np.sin(turn), r * np.cos(turn), colour=grey, width=1, dash="dot", opacity=0.6)
                for r in circles
            ),
            claims.scatter(
                (1 - values) * np.sin(angle),
                (1 - values) * np.cos(angle),
                "markers+text",
                text=[html_safe(name(id)) for id in ids],
                customdata=[number(value) for value in values],
                marker={"size": 8, "color": blue},
                hover="%{text}: centred cosine %{customdata}<extra></extra>",
            ),
        ],
        x={"visible": False, "range": [-1.45 * end, 1.45 * end]},
        y={"visible": False, "range": [-1.12 * end, 1.12 * end], "scaleanchor": "x"},
        annotations=[
            *({"x": 0, "y": -r, "text": number(1 - r, 1), "showarrow": False} for r in circles),
            {"x": 0, "y": 0, "text": html_safe(name(entry)), "showarrow": False, "bgcolor": blue, "borderpad": 3},
        ],
    )  # fmt: skip
    yield from common.numbers_of_figure(
        ("Piece", "Id", "Centred cosine"), *((name(id), str(id), number(value)) for id, value in near)
    )


def html_safe(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("$", "&#36;")


@functools.cache
def encoded_sentence(text: str) -> Forward:
    return Forward([*encoded(text), EOS], [EOS])


def three_sentences() -> Statements:
    yield from prose("plays means something else", "\n".join((f"{n}. *{text}*" for n, text in enumerate(PLAYS, 1))))
    last = config()["n_layers"]
    top = []
    for text in PLAYS:
        oracle = encoded_sentence(text)
        vector = oracle.memory[encoded(text).index(encoded("plays")[0])]
        top.append(vector / np.linalg.norm(vector))
    yield claims.table(
        ("Sentences", "Cosine of the two rows of E", f"Cosine after layer {last} of the encoder"),
        *((f"{i + 1} and {j + 1}", number(1), number(float(top[i] @ top[j]))) for i, j in ((0, 1), (0, 2), (1, 2))),
    )
    yield from prose("the row of e")


def predict(page: Page) -> Statements:
    dog, cat, because = (encoded(word)[0] for word in ("dog", "cat", "because"))
    yield prose.question(
        "as a one-hot vector", 2, number(math.sqrt(2)), number(cosine(dog, cat), 2), number(cosine(dog, because), 2)
    )
    yield nearest_question(page)
    yield prose.question("i put my money", 0, number(0, 1))


def nearest_question(page: Page) -> claims.Question:
    own = list(dict.fromkeys(piece.id for piece in page.src if piece.word >= 0))
    clear = [id for id in own if 0.45 <= neighbours(id, 1)[0][1] <= 0.98]
    entry = max(clear, key=lambda id: neighbours(id, 1)[0][1]) if clear else encoded("big")[0]
    near = [id for id, _ in neighbours(entry, 8)]
    there = [i for i in (entry + 1, entry + 2, entry + 3, entry - 1, entry - 2) if 0 <= i < len(units())]
    others = [i for i in dict.fromkeys([near[-1], *there]) if i != near[0] and name(i) != name(near[0])][:3]
    options = sorted({near[0], *others})
    names = [inline(name(i)) for i in options]
    wrong = [
        prose.line("is in the list", one, near.index(i) + 1) if i in near else prose.line("only stands near it", one)
        for i, one in zip(options, names, strict=True)
    ]
    asked = inline(name(entry)), f"{len(units()) - 1:,}", number(neighbours(entry, 1)[0][1])
    return prose.question("which of these has", options.index(near[0]), *asked, options=names, wrong=wrong)


code = code_of(
    "model/parts/embedding.py: TokenEmbedding.forward",
    "figures/embedding_space.py: cosines, centred, nearest, circle_order",
)
