"""Lesson: from an id to a vector that was learned, and what the space of these vectors knows."""

from collections.abc import Sequence

import streamlit as st

from explain import arrays, worked_cosine
from figures.embedding_space import (
    cosines,
    distance,
    largest_difference,
    nearest,
    one_hot,
    principal_projection,
    space_map,
)
from model.embedding import TokenEmbedding
from model.loaded import TRANSLATOR, UNTRAINED
from model.tokenizer import Token, normalise
from model.trace import Trace
from ui import engine
from ui.components.matrix import Caption, Labels, Scale, matrix
from ui.controls.address import read_pair, write_pair
from ui.controls.segmented import one_of
from ui.controls.vocabulary_entry import EMBEDDINGS, MAX_QUERY, entries, find, neighbours_of, projection
from ui.course.check import check_cell, checked_matrix, compute_it_yourself
from ui.course.lesson import Lesson
from ui.course.quiz import Question
from ui.text import in_markdown, number
from ui.views.attention_kinds import READABLE
from ui.views.bars import bars
from ui.views.tables import numbers_of_figure
from ui.views.worked_steps import show_steps

TOKENS, SCALED = "encoder.embedding.tokens", "encoder.embedding.scaled"
STEPS = {"1 rows of E": TOKENS, "2 times √d_model": SCALED, "3 cosines": None}
WORTH_FINDING = ("big", "mother", "Monday", "swim", "three")
BANKS = ("I put my money in the bank.", "We sat on the bank of the river.")
LEARNED = 0.1  # by so much the nearest learned cosine must exceed the nearest random one to be called learned


def first_id(word: str) -> int:
    """The id of a word, or of its first piece."""
    return engine.model().tokenizer.encode(word)[0]


def idea(trace: Trace) -> None:
    size, d_model = engine.model().weights[EMBEDDINGS].shape
    st.markdown(
        "An id, a piece's number in the vocabulary, says nothing about meaning. As a **one-hot vector** "
        f"({size:,} numbers, all 0 but a single 1) it is huge, and every two words are equally far apart: "
        + far_apart()
        + f" So the model keeps a learned matrix **E** with one row of d_model = {d_model} numbers for every piece, "
        "the piece's **embedding**, and looks the row up. Words used in similar ways get similar rows, because "
        f"training moves them together. The row is multiplied by √{d_model}, so that what is added next, the position, "
        "does not drown it."
    )
    st.latex(
        r"x = \sqrt{d_{\text{model}}}\cdot \text{onehot}(\text{id})\cdot E"
        rf" = \sqrt{{{d_model}}}\cdot E_{{\text{{id}}}}\,"
    )


def far_apart() -> str:
    """The distances between one-hot vectors, computed."""
    size = engine.model().config.vocab_size
    dog, cat, orange, apple = (one_hot(first_id(word), size) for word in ("dog", "cat", "orange", "apple"))
    return (
        f"from *dog* to *cat* the distance is √2 = {number(distance(dog, cat))}, from *orange* to *apple* "
        f"{number(distance(orange, apple))}, and from *dog* to *apple* {number(distance(dog, apple))} as well."
    )


def see(trace: Trace) -> None:
    name = STEPS[one_of("Step", list(STEPS), key="rows", wrap=True)]
    d_model = trace.tensors[TOKENS].shape[1]
    if name is None:
        cosine_matrix(trace)
        return
    shown = checked_matrix(
        trace,
        name,
        Caption(
            "The row of E for each piece" if name == TOKENS else f"The same rows, times √{d_model} = {d_model**0.5:g}",
            f"One line a piece, {d_model} dimensions; blue is negative, orange positive, faint close to 0."
            if name == TOKENS
            else "The same pattern in larger numbers, to stand up against the positions that are added next.",
        ),
        labels=Labels(rows=[token.text for token in trace.src], describe="“{row}”, dimension {column}: {value}"),
    )
    st.caption(f"Shapes: E {engine.model().weights[EMBEDDINGS].shape}, rows {trace.tensors[name].shape}.")
    if name == TOKENS:
        long_way(trace.src[shown.cell[0]])


def step() -> str | None:
    """The tensor that See shows; None for the cosines."""
    label = st.session_state.get("rows") or st.query_params.get("rows")
    return STEPS.get(str(label), TOKENS)


def long_way(token: Token) -> None:
    """One-hot row times E, and the row looked up: both, and their difference."""
    E = engine.model().weights[EMBEDDINGS]
    product, looked_up = one_hot(token.id, len(E)) @ E, E[token.id]
    st.markdown(
        f"**Why the look-up is a matrix product.** The one-hot vector of **{in_markdown(token.text)}** has its 1 at "
        f"place {token.id}. Times E it is a sum of {len(E):,} rows, all multiplied by 0 but one."
    )
    matrix(
        [product[:16], looked_up[:16]],
        Labels(
            ["one-hot × E", f"E[{token.id}]"],
            [str(i + 1) for i in range(16)],
            describe="{row}, dimension {column}: {value}",
        ),
        Caption("The product and the row, dimensions 1 to 16", csv_name="one-hot times E"),
        key="see_long_way",
        scale=Scale("signed"),
    )
    st.caption(
        f"Largest difference over all {E.shape[1]} dimensions: {number(largest_difference(product, looked_up), 1)}. "
        f"The product takes {len(E):,} · {E.shape[1]} = {E.size:,} multiplications, the look-up none."
    )


def cosine_matrix(trace: Trace) -> None:
    tokens = trace.src[:READABLE]
    names = [token.text for token in tokens]
    found = cosines(trace.tensors[TOKENS][: len(tokens)])
    matrix(
        found,
        Labels(names, names, describe="“{row}” and “{column}”: {value}"),
        Caption(
            "How alike the pieces' embeddings are",
            "The cosine of the angle between two rows of E: 1 the same direction, 0 unrelated, −1 opposite.",
            csv_name="cosines",
        ),
        key="see_cosines",
        scale=Scale("signed", limit=1.0),
        selected=chosen_pair(trace),
        on_select=lambda cell: write_pair("cell", cell),
    )
    if len(tokens) < len(trace.src):
        st.caption(f"Shown: the first {len(tokens)} of {len(trace.src)} pieces.")
    st.caption("These rows know no sentence yet: a piece has the same embedding wherever it stands.")


def chosen_pair(trace: Trace) -> tuple[int, int]:
    n = min(len(trace.src), READABLE)
    return read_pair("cell", (n, n), (0, min(1, n - 1)))


def check(trace: Trace) -> None:
    if step() is not None:
        check_cell(trace)
        return
    row, column = chosen_pair(trace)
    numbers = engine.numbers(trace)
    result = worked_cosine(numbers, TOKENS, row, column)
    st.markdown(
        f"**How did this {number(result.value)} come about?** Row **{in_markdown(trace.src[row].text)}**, column "
        f"**{in_markdown(trace.src[column].text)}**. Choose another cell by a click, or with the arrow keys and Enter."
    )
    show_steps([result])
    st.caption("Numbers are shown rounded and were computed unrounded.")
    compute_it_yourself(arrays(numbers, [result]), result.snippet, result.value)


def do(trace: Trace) -> None:
    neighbours(trace, choose_entry(trace))


def choose_entry(trace: Trace) -> int:
    """A search box, and the entries that it found as buttons; the one that is chosen."""
    st.subheader("Who lives next door?", anchor=False)
    st.markdown(
        "Choose a piece and see which rows of E point most nearly the same way. The measure is the **cosine** of the "
        "angle between two rows: 1 for the same direction, 0 for unrelated ones."
    )
    typed = st.text_input(
        "Find any piece of the vocabulary",
        key="find",
        bind="query-params",
        placeholder="empty: the pieces of your sentence",
        live="300ms",
    )
    with st.container(horizontal=True, key="find_examples", gap="small"):
        for word in WORTH_FINDING:
            st.button(word, key=f"find_{word}", on_click=_find, args=(word,), type="tertiary")
        st.button("Your sentence", key="find_sentence", on_click=_find, args=("",), type="tertiary")
    own = list(dict.fromkeys(token.id for token in trace.src[:READABLE] if token.word >= 0))
    query = normalise(typed or "")
    found = find(query) or own
    if query and found is own:
        st.caption(f"No piece holds “{in_markdown(query[:MAX_QUERY])}”, so these are the pieces of your sentence.")
    if found is own and len(trace.src) > READABLE:
        st.caption(f"Shown: those among the first {READABLE} of {len(trace.src)} pieces.")
    if len(query) > MAX_QUERY:
        st.caption(f"Searched for: the first {MAX_QUERY} characters.")
    asked = st.query_params.get("entry", "")
    default = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 6 else -1
    if default not in found:
        default = longest(found) if found is own else found[0]
    key = f"entry/{'.'.join(map(str, found))}"

    def write() -> None:
        st.query_params["entry"] = str(st.session_state[key])

    chosen = st.pills(
        "Piece",
        found,
        format_func=lambda i: in_markdown(entries()[i]),
        default=default,
        required=True,
        key=key,
        on_change=write,
    )
    return default if chosen is None else chosen


def _find(text: str) -> None:
    st.session_state["find"] = text


def longest(ids: Sequence[int]) -> int:
    return max(ids, key=lambda i: len(entries()[i]))


def neighbours(trace: Trace, entry: int) -> None:
    names = entries()
    left, right = st.columns(2, gap="medium")
    found = {name: neighbours_of(entry, name) for name in (TRANSLATOR, UNTRAINED)}
    for column, name, title in (
        (left, TRANSLATOR, "With the learned E"),
        (right, UNTRAINED, "With random numbers instead"),
    ):
        ids, values = found[name]
        with column:
            st.markdown(f"**{title}**: nearest to {in_markdown(names[entry])}")
            bars([names[i] for i in ids], values, f"{title}: the pieces nearest to {names[entry]}, with their cosines")
    best, by_chance = found[TRANSLATOR][1][0], found[UNTRAINED][1][0]
    st.caption(
        f"The nearest learned row has cosine {number(best)}. With random numbers, which is how training began, "
        f"{number(by_chance)} comes about by chance. "
        + (
            "So this neighbourhood was learned. English and German share one E: a neighbour may be a translation."
            if best > by_chance + LEARNED
            else "That is hardly less, so do not read much into these neighbours: this row has hardly been learned."
        )
    )
    vocabulary_map(trace)


def vocabulary_map(trace: Trace) -> None:
    st.subheader("The whole vocabulary on one map", anchor=False)
    names, seen = entries(), projection()
    lit = list(dict.fromkeys(token.id for token in trace.src[:READABLE]))
    share, d_model = sum(seen.shares), engine.model().config.d_model
    st.markdown(
        f"Every dot is one of {len(names):,} pieces; those of your sentence are named"
        + (f" (the first {READABLE} of {len(trace.src)})" if len(trace.src) > READABLE else "")
        + f". Point at a dot to read it. A map of {d_model} dimensions on two keeps only "
        f"**{share:.1%}** of the variance (how far the rows spread), so pieces that lie together here may be far apart "
        "in truth; trust the cosines."
    )
    st.plotly_chart(
        space_map(seen, names, lit),
        theme="streamlit",
        key="space_map",
        alt=f"A map of {len(names):,} dots, one a piece; the {len(lit)} of the sentence are named. Where they "
        "lie is in the table below.",
        config={"displayModeBar": False, "scrollZoom": False},
    )
    numbers_of_figure(
        ("Piece", "Id", "First direction", "Second direction"),
        [(names[i], str(i), *(number(float(place), 3) for place in seen.points[i])) for i in lit],
    )


def predict(trace: Trace) -> Sequence[Question]:
    return one_hot_question(), nearest_question(trace), bank_question()


def one_hot_question() -> Question:
    E = engine.model().weights[EMBEDDINGS]
    dog, cat, other = (first_id(word) for word in ("dog", "cat", "because"))
    near_, far = (distance(one_hot(dog, len(E)), one_hot(i, len(E))) for i in (cat, other))
    learned = [float(cosines(E[[dog]], E[[i]])[0, 0]) for i in (cat, other)]
    return Question(
        "one-hot",
        "As one-hot vectors: which lies nearer to *dog*, *cat* or *because*?",
        ("cat", "because", "neither: both are equally far"),
        frozenset({0 if near_ < far else 1 if near_ > far else 2}),
        f"Both distances are √(1² + 1²) = {number(near_)}: two one-hot vectors differ in exactly two places. In the "
        f"learned space the cosine of *dog* and *cat* is {number(learned[0], 2)}, of *dog* and *because* "
        f"{number(learned[1], 2)}.",
    )


def nearest_question(trace: Trace) -> Question:
    own = list(dict.fromkeys(token.id for token in trace.src[:-1]))
    entry = longest(own)
    ids, values = neighbours_of(entry)
    names = entries()
    # The nearest, a distant neighbour and two entries picked by their place in the vocabulary: no chance in it.
    others = [ids[-1], *(i for i in (entry + 1, entry + 2, entry + 3, entry - 1, entry - 2) if 0 <= i < len(names))]
    options = sorted({ids[0], *[i for i in dict.fromkeys(others) if i != ids[0] and names[i] != names[ids[0]]][:3]})
    return Question(
        "nearest",
        f"Which of these has the embedding nearest to that of **{in_markdown(names[entry])}**?",
        tuple(in_markdown(names[i]) for i in options),
        frozenset({options.index(ids[0])}),
        f"The cosine is {number(values[0])}, the largest of all {len(names) - 1:,}. The rest of the list is "
        "under *Do*.",
    )


def bank_question() -> Question:
    bank = first_id("bank")
    rows = []
    for text in BANKS:
        trace = engine.trace(text)
        rows.append(trace.tensors[TOKENS][[token.id for token in trace.src].index(bank)])
    off = largest_difference(*rows)
    return Question(
        "bank",
        f"*{BANKS[0]}* and *{BANKS[1]}* Does *bank* have the same embedding in both?",
        ("Yes", "No, the neighbours change it", "No, the place in the sentence changes it"),
        frozenset({0 if off == 0 else 1}),
        f"The largest difference between the two rows is {number(off, 1)}: the look-up knows nothing but the id. "
        "Place and neighbours come in later, with the positions and with attention.",
    )


LESSON = Lesson(
    "embeddings",
    "Embeddings",
    asks="How does a number become a meaning?",
    idea=idea,
    see=see,
    do=do,
    check=check,
    predict=predict,
    code=(TokenEmbedding.forward, cosines, nearest, principal_projection),
    blocks=("encoder.embedding", "decoder.embedding"),
)
