"""What the lesson on embeddings must show."""

import functools
import math
from collections.abc import Generator

import numpy as np

from tests.oracle.claims import (
    FillIn,
    Question,
    bars,
    button,
    caption,
    control,
    fold,
    latex,
    markdown,
    matrix,
    number,
    plot,
    question,
    segmented,
    subheader,
    table,
    text_box,
    visible,
)
from tests.oracle.common import (
    Shown,
    Statements,
    check_cell,
    code_part,
    compute_it_yourself,
    numbers_of_figure,
    shown_tensor,
    tensor_matrix,
)
from tests.oracle.forward import EOS, Forward, config, tidied, weights
from tests.oracle.inputs import shifted
from tests.oracle.page import READABLE, Page
from tests.oracle.space import MATRIX, around, cosine, mean_cosine, name, neighbours, search, units, usual
from tests.oracle.statement import Statement
from tests.oracle.words import Piece, encoded, inline
from tests.oracle.worked import cosine as worked_cosine
from tests.oracle.worked import steps

ANIMAL = "The animal didn't cross the street because it was too wide."
STATES = (
    {},
    {"stack": "Decoder", "rows": "3 cosines", "cell": "2.3", "find": "king"},
    {"sentence": ANIMAL, "rows": "2 times √d_model", "find": "swim", "entry": "9999", "cell": "3.250"},
    {"sentence": "My neighbour's cat sleeps all day. " * 6, "rows": "3 cosines", "find": "q" * 60},
    {"sentence": "Go", "stack": "Decoder", "find": "riday", "cell": "1.2"},
)
STEPS = ("1 rows of E", "2 times √d_model", "3 cosines")
PLAYS = (
    "He plays basketball every Saturday.",
    "Peter plays the lead role in a Broadway show.",
    "Weather plays a big role in shaping our daily activities.",
)


def stack(page: Page) -> str:
    return page.choice("stack", ("Encoder", "Decoder"), "Encoder").lower()


def pieces(page: Page) -> tuple[Piece, ...]:
    return page.src if stack(page) == "encoder" else page.tgt


def idea(page: Page) -> Statements:
    size, width = weights()[MATRIX].shape
    yield markdown(
        "A piece's id is only its place in the vocabulary and says nothing about meaning. So the model looks up a row of "
        f"{width} learned numbers for every piece, its **embedding**. Pieces that are used alike often end up with rows "
        "that are alike."
    )
    yield fold("The look-up as a formula")
    yield markdown(
        f"The rows stand in a matrix **E**: {size:,} rows of d_model = {width} numbers. Training sets these "
        f"numbers. One can write an id as a **one-hot vector**: {size:,} numbers, all 0 but a single 1 at the id's place. "
        "This vector times E is the row of the id. Then the row is multiplied by √d_model:"
    )
    yield latex(
        r"\begin{aligned}x&=\sqrt{d_{\text{model}}}\cdot \text{onehot}(\text{id})\cdot E\\"
        rf"&=\sqrt{{{width}}}\cdot E_{{\text{{id}}}}\end{{aligned}}"
    )
    yield markdown(
        f"√{width} is {math.isqrt(width)}. With this factor the numbers are not small beside what is added next, the "
        "position. The encoder and the decoder look up in the same E: English and German share one vocabulary."
    )


def shown(page: Page) -> Shown:
    what = {"1 rows of E": "tokens", "2 times √d_model": "scaled"}[page.choice("rows", STEPS, STEPS[0])]
    return shown_tensor(
        page,
        f"{stack(page)}.embedding.{what}",
        rows=[piece.text for piece in pieces(page)],
        describe="“{row}”, dimension {column}: {value}",
    )


def see(page: Page) -> Statements:
    step = page.choice("rows", STEPS, STEPS[0])
    yield segmented("Side", ("Encoder", "Decoder"), stack(page).capitalize())
    yield segmented("Step", STEPS, step)
    if stack(page) == "decoder":
        yield from shifted(page)
    if step == STEPS[2]:
        yield from cosines(page)
        return
    size, width = weights()[MATRIX].shape
    yield from tensor_matrix(
        shown(page),
        title="The row of E for each piece"
        if step == STEPS[0]
        else f"The same rows, times √{width} = {math.isqrt(width)}",
        how_to_read=f"One line a piece, {width} dimensions; blue is negative, orange positive, faint close to 0.",
    )
    yield caption(f"Shapes: E ({size}, {width}), rows ({len(pieces(page))}, {width}).")
    if step == STEPS[0]:
        yield from long_way(page)
        return
    largest = [
        np.abs(page.oracle[f"{stack(page)}.embedding.{what}"]).max() for what in ("tokens", "scaled", "positions")
    ]
    yield caption(
        f"The largest size grows from {number(largest[0], 2)} to {number(largest[1], 2)}. The positions, added next, "
        f"reach {number(largest[2], 2)}."
    )


def long_way(page: Page) -> Statements:
    size, width = weights()[MATRIX].shape
    piece = pieces(page)[shown(page).cell[0]]
    row = weights()[MATRIX][piece.id]
    yield fold("Why the look-up is a matrix product, and why one-hot vectors are not enough")
    yield markdown(
        f"The one-hot vector of **{inline(piece.text)}** has its 1 at the place of id {piece.id}. Times E it is a sum "
        f"of {size:,} rows, all multiplied by 0 but one."
    )
    yield matrix(
        np.stack([row[:16], row[:16]]),
        ["one-hot × E", f"E[{piece.id}]"],
        [str(n) for n in range(1, 17)],
        title="The product and the row, dimensions 1 to 16",
        how_to_read="",
        csv_name="one-hot times E",
        scale="signed",
        describe="{row}, dimension {column}: {value}",
    )
    yield caption(
        f"Largest difference over all {width} dimensions: {number(0, 1)}. The product takes {size:,} · {width} = "
        f"{size * width:,} multiplications, the look-up none."
    )
    assert len({encoded(word)[0] for word in ("dog", "cat", "orange", "apple")}) == 4
    root = number(math.sqrt(2))
    yield markdown(
        "One-hot vectors alone know no likeness: any two are equally far apart. From *dog* to *cat* the distance is "
        f"√2 = {root}, from *orange* to *apple* {root}, and from *dog* to *apple* {root} as well."
    )


def pair(page: Page) -> tuple[int, int]:
    n = min(len(pieces(page)), READABLE)
    return page.pair("cell", (n, n), (0, 1))


def cosines(page: Page) -> Statements:
    many = pieces(page)[:READABLE]
    names = [piece.text for piece in many]
    yield matrix(
        np.array([[cosine(one.id, other.id) for other in many] for one in many]),
        names,
        names,
        title="How alike the pieces' embeddings are",
        how_to_read="The cosine of the angle between two rows of E: 1 the same direction, 0 a right angle, −1 opposite.",
        csv_name="cosines",
        scale="signed",
        limit=1.0,
        selected=pair(page),
        describe="“{row}” and “{column}”: {value}",
    )
    if len(pieces(page)) > READABLE:
        yield caption(f"Shown: the first {READABLE} of {len(pieces(page))} pieces.")
    yield caption(
        "These rows know no sentence yet: a piece has the same embedding wherever it stands. Two different rows of E "
        f"have a cosine of {number(mean_cosine(False), 2)} on average, not 0, because all rows lean a little to one "
        f"side: with the mean of all rows taken away, the average is {number(mean_cosine(True), 2)}."
    )


def check(page: Page) -> Statements:
    if page.choice("rows", STEPS, STEPS[0]) != STEPS[2]:
        yield from check_cell(shown(page))
        return
    row, column = pair(page)
    one, other = pieces(page)[row], pieces(page)[column]
    value = cosine(one.id, other.id)
    yield markdown(
        f"**How did this {number(value)} come about?** Row **{inline(one.text)}**, column **{inline(other.text)}**. "
        "Choose another cell by a click, or with the arrow keys and Enter."
    )
    step = worked_cosine(page.oracle, f"{stack(page)}.embedding.tokens", row, column)
    yield from steps(step)
    yield caption("Numbers are shown rounded and were computed unrounded.")
    assert step.blank
    yield FillIn(step.blank.formula, step.blank.answer)
    yield from compute_it_yourself(step, value)


def do(page: Page) -> Statements:
    yield subheader("Who lives next door?")
    yield markdown(
        "Choose a piece and see which rows of E point most nearly the same way. The measure is the **cosine** of the "
        "angle between two rows: 1 for the same direction, 0 for a right angle. All rows lean a little to one side, so "
        "the mean of all rows is taken from each first. Then two pieces picked at random have a cosine of "
        f"{number(mean_cosine(True), 2)} on average."
    )
    entry = yield from choose(page)
    yield fold("The nearest")
    yield from nearest(entry)
    yield fold("As a picture")
    yield from ring(entry)
    yield fold("One word, three sentences")
    yield from three_sentences()


def choose(page: Page) -> Generator[Statement, None, int]:
    typed = page.state.get("find", "")
    yield text_box(
        "Find any piece of the vocabulary", typed, placeholder="empty: “big” and the pieces of your sentence"
    )
    for word in ("big", "swim", "Monday", "mother", "three", "king", "Your sentence"):
        yield button(word)
    own = list(dict.fromkeys([encoded("big")[0], *(p.id for p in page.src[:READABLE] if p.word >= 0)]))
    there = search(typed)
    if typed and not there:
        yield caption(f"No piece holds “{tidied(typed)[:40]}”, so these are the pieces of your sentence.")
    if not there and len(page.src) > READABLE:
        yield caption(f"Shown: those among the first {READABLE} of {len(page.src)} pieces.")
    if len(tidied(typed)) > 40:
        yield caption("Searched for: the first 40 characters.")
    there = there or own
    asked = page.state.get("entry", "")
    entry = int(asked) if asked.isdecimal() and int(asked) in there else there[0]
    yield control("button_group", "Piece", options=[visible(name(id)) for id in there], value=str(entry))
    return entry


def nearest(entry: int) -> Statements:
    best = {}
    for title, learned in (("With the learned E", True), ("With random numbers instead", False)):
        near = neighbours(entry, 8, learned)
        best[learned] = near[0][1]
        yield markdown(f"**{title}**: nearest to {inline(name(entry))}")
        yield bars(
            [name(id) for id, _ in near],
            [value for _, value in near],
            f"{title}: the pieces nearest to {visible(name(entry))}, with their cosines",
        )
    as_near = int((usual() >= best[True] - 1e-6).sum())
    if best[True] <= best[False] + 0.05:
        verdict = "That is hardly more than chance, so do not read much into these neighbours."
    elif as_near > len(usual()) / 4:
        verdict = "That is more than chance, but nothing special. Look at the list before you call it a meaning."
    else:
        verdict = "That is near: training has put these rows side by side."
    yield caption(
        f"The nearest row has a cosine of {number(best[True])}. With random numbers, as they were when training began, "
        f"{number(best[False])} comes about by chance. Of {len(usual())} pieces from all over the vocabulary, {as_near} "
        f"have a neighbour at least as near. {verdict}"
    )


def ring(entry: int) -> Statements:
    near = neighbours(entry, 30)
    order = around([id for id, _ in near])
    ids, values = [near[n][0] for n in order], np.array([near[n][1] for n in order])
    yield markdown(
        f"**{inline(name(entry))}** is in the middle. The nearer a piece stands, the larger its cosine: this distance "
        "is exact. Around the circle, pieces with like rows stand side by side, as far as a circle allows: "
        f"{config()['d_model']} dimensions do not fit on a page."
    )
    angle = 2 * np.pi * np.arange(30) / 30
    end = max(float((1 - values).max()), 0.5)
    circles = [radius for radius in (0.2, 0.4, 0.6, 0.8) if radius < end + 0.1]
    turn = np.linspace(0, 2 * np.pi, 73)
    grey, blue = "#808a96", "#0072B2"
    yield plot(
        f"{name(entry)} in the middle, its 30 nearest pieces around it; the nearest of all is {name(near[0][0])}. "
        "Their cosines are in the table below.",
        [
            *(
                {
                    "type": "scatter", "mode": "lines", "x": r * np.sin(turn), "y": r * np.cos(turn), "opacity": 0.6,
                    "line": {"color": grey, "width": 1, "dash": "dot"}, "hoverinfo": "skip",
                }
                for r in circles
            ),
            {
                "type": "scatter",
                "mode": "markers+text",
                "x": (1 - values) * np.sin(angle),
                "y": (1 - values) * np.cos(angle),
                "text": [html_safe(name(id)) for id in ids],
                "customdata": [number(value) for value in values],
                "marker": {"size": 8, "color": blue},
                "hovertemplate": "%{text}: cosine %{customdata}<extra></extra>",
            },
        ],
        x={"visible": False, "range": [-1.45 * end, 1.45 * end]},
        y={"visible": False, "range": [-1.12 * end, 1.12 * end], "scaleanchor": "x"},
        annotations=[
            *({"x": 0, "y": -r, "text": f"cosine {number(1 - r, 1)}", "showarrow": False} for r in circles),
            {
                "x": 0, "y": 0, "text": html_safe(name(entry)), "showarrow": False, "bgcolor": blue, "borderpad": 3,
            },
        ],
    )  # fmt: skip
    yield from numbers_of_figure(("Piece", "Id", "Cosine"), *((name(id), str(id), number(value)) for id, value in near))


def html_safe(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("$", "&#36;")


@functools.cache
def encoded_sentence(text: str) -> Forward:
    return Forward([*encoded(text), EOS], [EOS])


def three_sentences() -> Statements:
    yield markdown(
        "*plays* means something else in each of these sentences:\n\n"
        + "\n".join(f"{n}. *{text}*" for n, text in enumerate(PLAYS, 1))
    )
    last = config()["n_layers"]
    top = []
    for text in PLAYS:
        oracle = encoded_sentence(text)
        vector = oracle.memory[encoded(text).index(encoded("plays")[0])]
        top.append(vector / np.linalg.norm(vector))
    yield table(
        ("Sentences", "Cosine of the two rows of E", f"Cosine after layer {last} of the encoder"),
        *((f"{i + 1} and {j + 1}", number(1), number(float(top[i] @ top[j]))) for i, j in ((0, 1), (0, 2), (1, 2))),
    )
    yield caption(
        "The row of E is one and the same. Word2Vec (2013) and GloVe (2014) learned such a table of rows, one for each "
        "word, and stopped there: these vectors are called *static*. Here a row is only where a piece starts. "
        "Attention changes it later; the lesson *Encoder* follows it layer by layer."
    )


def predict(page: Page) -> Statements:
    dog, cat, because = (encoded(word)[0] for word in ("dog", "cat", "because"))
    yield question(
        "As a *one-hot vector*, a piece is a long row of 0 with a single 1 at the place of its id. Which of these "
        "vectors lies nearer to that of *dog*: that of *cat* or that of *because*?",
        ("cat", "because", "neither: both are equally far"),
        2,
        f"Both distances are √(1² + 1²) = {number(math.sqrt(2))}: two one-hot vectors differ in exactly two places. The "
        f"rows of E are not like that: the cosine of *dog* and *cat* is {number(cosine(dog, cat), 2)}, of *dog* and "
        f"*because* {number(cosine(dog, because), 2)} (1 means the same direction).",
        {
            0: "A cat is more like a dog, but a one-hot vector holds nothing but the id.",
            1: "The ids may lie closer together in the list, but a one-hot vector does not count places.",
        },
    )
    yield nearest_question(page)
    yield question(
        "*I put my money in the bank.* and *We sat on the bank of the river.* Does *bank* have the same embedding in "
        "both?",
        ("Yes", "No, the neighbours change it", "No, the place in the sentence changes it"),
        0,
        f"The largest difference between the two rows is {number(0, 1)}: the look-up knows nothing but the id.",
        {
            1: "Neighbours change the vector later, by attention; the embedding is looked up before that.",
            2: "The place is added in the next step, as a vector of its own; the embedding itself does not know it.",
        },
    )


def nearest_question(page: Page) -> Question:
    own = list(dict.fromkeys(piece.id for piece in page.src if piece.word >= 0))
    entry = max(own, key=lambda id: neighbours(id, 1)[0][1])
    if neighbours(entry, 1)[0][1] < 0.45:
        entry = encoded("big")[0]
    near = [id for id, _ in neighbours(entry, 8)]
    there = [i for i in (entry + 1, entry + 2, entry + 3, entry - 1, entry - 2) if 0 <= i < len(units())]
    others = [i for i in dict.fromkeys([near[-1], *there]) if i != near[0] and name(i) != name(near[0])][:3]
    options = sorted({near[0], *others})
    return question(
        "Which of these has the row of E that points most nearly the same way as the row of "
        f"**{inline(name(entry))}**?",
        [inline(name(i)) for i in options],
        options.index(near[0]),
        f"Of all {len(units()) - 1:,} others, it has the largest cosine: {number(neighbours(entry, 1)[0][1])}. *Do* "
        "shows who comes next.",
        {
            n: f"{inline(name(i))} is number {near.index(i) + 1} in the list of the nearest."
            if i in near
            else f"{inline(name(i))} only stands near it in the vocabulary; its id tells nothing about meaning."
            for n, i in enumerate(options)
        },
    )


def code(page: Page) -> Statements:
    yield from code_part(
        ("model/parts/embedding.py", "TokenEmbedding.forward"),
        ("figures/embedding_space.py", "cosines"),
        ("figures/embedding_space.py", "centred"),
        ("figures/embedding_space.py", "nearest"),
        ("figures/embedding_space.py", "circle_order"),
    )
