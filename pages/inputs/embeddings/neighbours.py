"""Do: which rows of E are neighbours, and what such a row cannot know."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from experiments.inputs.contextual_vectors import stages
from experiments.inputs.vocabulary import embedding_matrix, mean_cosines, nearest_cosines
from figures.embedding_space import circle_order, cosines, neighbour_ring
from model.text.tokenizer import normalise
from model.trace import Trace
from pages.inputs.embeddings.questions import ALL_BUT_THE_SAME, WORKS, first_id, row_of, states_of
from ui import engine
from ui.controls.vocabulary_entry import MAX_QUERY, entries, find, neighbours_of
from ui.text import in_markdown, number
from ui.views.attention_kinds import READABLE
from ui.views.charts.bars import bars
from ui.views.charts.tables import numbers_of_figure, table

WORTH_FINDING = ("big", "swim", "Monday", "mother", "three", "king")
PLAYS = (
    "He plays basketball every Saturday.",
    "Peter plays the lead role in a Broadway show.",
    "Weather plays a big role in shaping our daily activities.",
)
AROUND = 30  # neighbours in the ring
BY_CHANCE = 0.05  # by so much a learned cosine must exceed the one that comes about by chance
FEW = 0.25  # of all pieces: with no more than these a neighbour is called near
ROUNDING = 1e-6  # of one cosine, which is computed here and among those of all pieces


def do(trace: Trace) -> None:
    st.subheader("Who lives next door?", anchor=False)
    st.markdown(
        "Choose a piece and see which rows of E point most nearly the same way. The measure is the **centred cosine**. "
        "All rows lean a little to one side, so the mean of all rows is taken from each first. Then comes the cosine "
        "of the angle between two of them: 1 for the same direction, 0 for a right angle. Two pieces picked at random "
        f"have a centred cosine of {number(engine.run(mean_cosines, trace.model)[1], 2)} on average. The cosine in "
        "*See* is that of the rows as they are: for the same two pieces it is another number."
    )
    entry = choose_entry(trace)
    nearest, ring, senses = st.tabs(["The nearest", "As a picture", "One word, three sentences"])
    with nearest:
        neighbours(trace, entry)
    with ring:
        drawn(trace, entry)
    with senses:
        three_sentences(trace)


def choose_entry(trace: Trace) -> int:
    """A search box, and the entries that it offers as buttons; the one that is chosen."""
    typed = st.text_input(
        "Find any piece of the vocabulary",
        key="find",
        bind="query-params",
        placeholder=f"empty: “{WORKS}” and the pieces of your sentence",
        live="300ms",
    )
    with st.container(horizontal=True, key="find_examples", gap="small"):
        for word in WORTH_FINDING:
            st.button(word, key=f"find_{word}", on_click=_find, args=(word,), type="tertiary")
        st.button("Your sentence", key="find_sentence", on_click=_find, args=("",), type="tertiary")
    own = list(
        dict.fromkeys([first_id(trace.model, WORKS), *(token.id for token in trace.src[:READABLE] if token.word >= 0)])
    )
    query = normalise(typed or "")
    offered = find(query, trace.model.name) or own
    if query and offered is own:
        st.caption(f"No piece holds “{in_markdown(query[:MAX_QUERY])}”, so these are the pieces of your sentence.")
    if offered is own and len(trace.src) > READABLE:
        st.caption(f"Shown: those among the first {READABLE} of {len(trace.src)} pieces.")
    if len(query) > MAX_QUERY:
        st.caption(f"Searched for: the first {MAX_QUERY} characters.")
    return pills(trace, offered)


def pills(trace: Trace, offered: Sequence[int]) -> int:
    """One of the entries offered, kept in the address by its id; the first until another is chosen."""
    asked = st.query_params.get("entry", "")
    default = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 6 else -1
    if default not in offered:
        default = offered[0]
    key = f"entry/{'.'.join(map(str, offered))}"

    def write() -> None:
        st.query_params["entry"] = str(st.session_state[key])

    chosen = st.pills(
        "Piece",
        offered,
        format_func=lambda i: in_markdown(entries(trace.model.name)[i]),
        default=default,
        required=True,
        key=key,
        on_change=write,
    )
    return default if chosen is None else chosen


def _find(text: str) -> None:
    st.session_state["find"] = text


def neighbours(trace: Trace, entry: int) -> None:
    """The eight nearest with the learned matrix and with a random one, and how near that is."""
    name = trace.model.name
    twin = trace.model.untrained_name
    names = entries(name)
    left, right = st.columns(2, gap="medium")
    nearest = {}
    for column, which, title in (
        (left, name, "With the learned E"),
        (right, twin, "With random numbers instead"),
    ):
        ids, nearest[title] = neighbours_of(entry, which)
        with column:
            st.markdown(f"**{title}**: nearest to {in_markdown(names[entry])}")
            label = f"{title}: the pieces nearest to {names[entry]}, with their centred cosines"
            bars([names[i] for i in ids], nearest[title], label)
    (best, *_), (by_chance, *_) = nearest.values()
    sample = engine.run(nearest_cosines, trace.model)
    as_near = int((sample >= best - ROUNDING).sum())
    if best > ALL_BUT_THE_SAME:
        verdict = "That is all but the same row: this model hardly tells the two pieces apart."
    elif best <= by_chance + BY_CHANCE:
        verdict = "That is hardly more than chance, so do not read much into these neighbours."
    elif as_near > FEW * len(sample):
        verdict = "That is more than chance, but nothing special. Look at the list before you call it a meaning."
    else:
        verdict = "That is near: training has put these rows side by side."
    st.caption(
        f"The nearest row has a centred cosine of {number(best)}. With random numbers, such as a training begins with, "
        f"{number(by_chance)} comes about by chance. Of {len(sample)} pieces from all over the vocabulary, {as_near} "
        f"have a neighbour at least as near. {verdict}"
    )


def drawn(trace: Trace, entry: int) -> None:
    """The nearest 30 around the piece: how near each is, and who stands beside whom."""
    names = entries(trace.model.name)
    ids, values = neighbours_of(entry, trace.model.name, AROUND)
    order = circle_order(embedding_matrix(trace.model)[ids])
    st.markdown(
        f"**{in_markdown(names[entry])}** is in the middle. The nearer a piece stands, the larger its centred cosine "
        "(written on the dotted circles): this distance is exact. Around the circle, pieces with like rows stand side "
        f"by side, as far as a circle allows: {trace.model.config.d_model} dimensions do not fit on a page."
    )
    st.plotly_chart(
        neighbour_ring(names[entry], [names[ids[n]] for n in order], [values[n] for n in order]),
        theme="streamlit",
        key="neighbour_ring",
        alt=f"{names[entry]} in the middle, its {len(ids)} nearest pieces around it; the nearest of all is "
        f"{names[ids[0]]}. Their centred cosines are in the table below.",
        config={"displayModeBar": False},
    )
    numbers_of_figure(
        ("Piece", "Id", "Centred cosine"),
        [(names[i], str(i), number(value)) for i, value in zip(ids, values, strict=True)],
    )


def three_sentences(trace: Trace) -> None:
    """The same word in three sentences: one row of E, three vectors at the top of the encoder."""
    loaded = trace.model
    steps = list(stages(loaded).values())
    n_layers = len(loaded.anatomy.stack("encoder").layers)
    first, last = (
        np.stack([states_of(loaded, text)[step][row_of(loaded, text, "plays")] for text in PLAYS])
        for step in (steps[0], steps[-1])
    )
    st.markdown(
        "*plays* means something else in each of these sentences:\n\n"
        + "\n".join(f"{n}. *{text}*" for n, text in enumerate(PLAYS, 1))
    )
    looked_up, above = cosines(first), cosines(last)
    table(
        ("Sentences", "Cosine of the two rows of E", f"Cosine after layer {n_layers} of the encoder"),
        [
            (f"{i + 1} and {j + 1}", number(float(looked_up[i, j])), number(float(above[i, j])))
            for i, j in ((0, 1), (0, 2), (1, 2))
        ],
    )
    st.caption(
        "The row of E is one and the same. Word2Vec (2013) and GloVe (2014) learned such a table of rows, one for each "
        "word, and stopped there: these vectors are called *static*. Here a row is only where a piece starts. "
        "Attention changes it later; the lesson *Encoder* follows it layer by layer."
    )
