"""The parts of the lesson on queries, keys and values."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from experiments.attention.projections import weights_with_matrices
from model.files.loaded_model import Array
from model.interventions import Head
from model.parts.attention import MultiHeadAttention
from model.trace import Trace
from pages.attention.query_key_value.database import look_up
from ui import engine
from ui.components.matrix import Caption, Labels
from ui.controls.control import Choice
from ui.controls.head_control import EARLY_HEAD as HEAD
from ui.course.check import Part, Shown, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question, which_piece
from ui.text import in_markdown, number
from ui.views.attention_kinds import KINDS, READABLE, tokens_of
from ui.views.before_after import before_after
from ui.views.charts.flow import Box, Colour, flow
from ui.views.charts.tables import table

# What one may look at: the tensor's name (of X it depends on the layer), and how to read its rows.
PARTS = {
    "X": ("", "What goes in", "A row is the vector of one piece as it enters this layer."),
    "Q": ("q", "What each piece asks", "A row is the query of one piece, for this head alone."),
    "K": ("k", "What each piece can be found by", "A row is the key of one piece, for this head alone."),
    "V": ("v", "What each piece hands over", "A row is the value of one piece, for this head alone."),
}
COLOURS: dict[str, Colour] = {"Q": "query", "K": "key", "V": "value"}
X_COLUMNS = 64  # of the input's d_model, as many as are shown

RANDOM, NONE = "Random matrices", "No matrices: X itself"
PART = Choice("Show", "part", tuple(PARTS), "Q")
MATRICES = Choice("In place of the learned matrices", "matrices", (RANDOM, NONE))


def idea(trace: Trace) -> None:
    st.markdown(
        "A piece that looks at the others asks with its :blue[**query**]: what it looks for. Every piece answers with "
        "its :orange[**key**], what it can be found by, and hands over its :green[**value**]. The better a key fits "
        "the query, the more of its value is taken."
    )
    with st.expander("How a vector becomes a query, a key and a value"):
        st.markdown(
            "The vectors of your sentence are the rows of X, one for each piece. The model multiplies X by three "
            "learned matrices W. The rows of Q are the queries, those of K the keys, those of V the values:"
        )
        st.latex(r"Q = XW^Q \quad K = XW^K \quad V = XW^V")
    with st.expander("Hard and soft look-up in a small database"):
        st.markdown(
            "A database hands out a *value* when a *query* equals one of its *keys*. Attention does the same with "
            "vectors, but softly: a query matches every key a little, and the answer is a mix of all values."
        )
        look_up()


def inputs(trace: Trace, head: Head) -> tuple[str, str]:
    """Names of the tensors that the queries and that the keys and values of this attention are made from."""
    anatomy = trace.model.anatomy
    q, k = (anatomy.tensors[f"{trace.path(head)}.{letter}"] for letter in "qk")
    return q.reads[0], k.reads[0]


def choose(trace: Trace) -> None:
    config = trace.model.config
    st.markdown(
        f"The model asks in many places: in {config.n_layers} *layers*, one after the other, and in each with "
        f"{config.n_heads} *heads*, side by side. Every head has matrices of its own. Choose one, then a cell."
    )
    HEAD.draw(trace.model)
    PART.draw()


def see(trace: Trace) -> Shown:
    head, part = HEAD.value(trace.model), PART.value()
    letter, title, how_to_read = PARTS[part]
    rows, columns = tokens_of(trace, head.attention)
    asks, _ = inputs(trace, head)
    where = f"{KINDS[head.attention].name.lower()}, layer {head.layer + 1}"
    shown = checked_matrix(
        trace,
        f"{trace.path(head)}.{letter}" if letter else asks,
        Caption(
            f"{part}: {title[0].lower()}{title[1:]} ({where}{f', head {head.head + 1}' if letter else ''})",
            f"{how_to_read} A column is one of its dimensions.",
        ),
        head=head.head if letter else None,
        labels=Labels(
            rows=[token.text for token in (columns if part in "KV" else rows)],
            describe="“{row}”, dimension {column}: {value}",
        ),
        part=Part(n_columns=None if letter else X_COLUMNS),
    )
    products_as_boxes(trace, head, part)
    return shown


def products_as_boxes(trace: Trace, head: Head, part: str) -> None:
    """What is multiplied with what, as boxes with shapes; the columns of the result are divided among the heads."""
    n_heads, t, d_k = trace.tensors[f"{trace.path(head)}.q"].shape
    s, d_model = trace.tensors[f"{trace.path(head)}.k"].shape[1], n_heads * d_k
    names = tuple(f"head {n + 1}" for n in range(n_heads))
    letters = "QKV" if part == "X" else part
    source = {letter: "M" if head.attention == "cross" and letter != "Q" else "X" for letter in letters}

    def row(letter: str) -> tuple[Box | str, ...]:
        n, colour = t if letter == "Q" else s, COLOURS[letter]
        return (
            Box(source[letter], f"({n}, {d_model})", size=(4.5, 1.8)),
            "·",
            Box("W", f"({d_model}, {d_model})", colour, names, (9, 5), raised=letter),
            "=",
            Box(letter, f"({n}, {d_model})", colour, names, (9, 1.8)),
        )

    flow(
        [row(letter) for letter in letters],
        "; ".join(f"{source[letter]} times W^{letter} is {letter}" for letter in letters),
    )
    st.caption(
        f"The {d_model} columns are divided among {n_heads} heads, {d_k} to each."
        + (f" The matrix above shows those of head {head.head + 1}." if part != "X" else "")
        + (" M is the encoder's output, from which the keys and values are made." if head.attention == "cross" else "")
    )


def other_weights(trace: Trace, head: Head, which: str) -> Array:
    """Weights (T,S) of the chosen head as they would be with other matrices."""
    other = engine.model(trace.model.untrained_name) if which == RANDOM else None
    return engine.run(weights_with_matrices, trace.model, trace.src_ids, trace.tgt_ids, head, other)


def do(trace: Trace) -> None:
    head = HEAD.value(trace.model)
    st.markdown(
        "The matrices decide which key fits which query. Give this head the same X, but other matrices, and see which "
        "key each query finds now."
    )
    which = MATRICES.draw()
    learned = trace.attention(head.attention, head.layer)[head.head]
    other = other_weights(trace, head, which)
    hidden = np.isneginf(trace.attention(head.attention, head.layer, "scores")[head.head])
    rows, columns = ([token.text for token in tokens] for tokens in tokens_of(trace, head.attention))
    how_many_agree(head, learned, other)
    before_after(
        (learned, other),
        ("Learned matrices", which),
        Labels(rows, columns, describe=KINDS[head.attention].describe),
        how_to_read="How much each query (row) takes from each key (column), 0 to 1 on both sides.",
        csv_name=f"{trace.path(head)}.weights head {head.head + 1}",
        hidden=(hidden, hidden),
    )
    best_keys(trace, head, learned, other, which)
    st.caption(why(which, head))


def how_many_agree(head: Head, learned: Array, other: Array) -> None:
    """How many queries keep their best key, and how many find themselves, in words."""
    before, after = learned.argmax(-1), other.argmax(-1)
    same = int((before == after).sum())
    itself = [int((best == np.arange(len(best))).sum()) for best in (before, after)]
    note = f"The best key is the same for **{same} of {len(before)}** queries."
    if head.attention != "cross":
        note += f" How many find themselves best: **{itself[0]}** with the learned matrices, **{itself[1]}** here."
    st.markdown(note)


def why(which: str, head: Head) -> str:
    """What to make of the other matrices."""
    if which == RANDOM:
        return "Two unrelated random matrices reward no likeness of the pieces: which key fits best is arbitrary."
    if head.attention == "cross":
        return "Without matrices, the decoder's vectors meet the encoder's as they are."
    return (
        "Without matrices, two pieces match equally well both ways: to ask and to be found are one thing. And a piece "
        "times itself is the square of its own length, which is hard to beat."
    )


def best_keys(trace: Trace, head: Head, learned: Array, other: Array, which: str) -> None:
    """For each query the key that it matches best, with both sets of matrices."""
    rows, columns = tokens_of(trace, head.attention)
    lines = [
        (
            token.text,
            *(
                f"{columns[best].text} {number(float(w[i, best]), 2)}"
                for w in (learned, other)
                for best in [w[i].argmax()]
            ),
        )
        for i, token in enumerate(rows[:READABLE])
    ]
    with st.expander("The best key of every query, with its weight"):
        table(("Query of", "Learned: best key", f"{which.split(':')[0]}: best key"), lines)
        if len(rows) > READABLE:
            st.caption(f"Shown: the first {READABLE} of {len(rows)} queries.")


def predict(trace: Trace) -> Sequence[Question]:
    head = HEAD.value(trace.model)
    return origin(trace, head), best_match(trace, head), random_matrices(trace, head)


def where(head: Head) -> str:
    return f"layer {head.layer + 1}, head {head.head + 1} of the {KINDS[head.attention].name.lower()}"


def origin(trace: Trace, head: Head) -> Question:
    n_heads, _, d_k = trace.tensors[f"{trace.path(head)}.q"].shape
    return Question(
        "poll",
        "Where do Q, K and V come from when a sentence attends to itself?",
        (
            "The input is split into three parts: one is Q, one is K, one is V.",
            "The whole input is multiplied by three different learned matrices.",
            "From three different sentences.",
            "Q is the input; K and V are looked up in the vocabulary.",
        ),
        frozenset({1}),
        f"Each of the three sees all {n_heads * d_k} numbers of every vector. (The result is then divided among "
        f"{n_heads} heads, {d_k} numbers to each.)",
        wrong={
            0: "Nothing of the input is split off: the three are made by multiplying, all from the same X.",
            2: "There is one sentence here, and all three are made from it.",
            3: "The vocabulary was needed once, to look up the embeddings. Q is not the input, but the input times "
            "a matrix.",
        },
    )


def best_match(trace: Trace, head: Head) -> Question:
    rows, columns = tokens_of(trace, head.attention)
    scores = trace.attention(head.attention, head.layer, "scores")[head.head]
    row = 0 if head.attention != "decoder" else len(rows) - 1
    best = int(scores[row].argmax())
    weight = float(trace.attention(head.attention, head.layer)[head.head][row, best])
    return which_piece(
        "best",
        f"In {where(head)}: which key matches the query of **{in_markdown(rows[row].text)}** (row {row + 1}) best?",
        scores[row],
        columns,
        f"The better the match, the larger its weight: here {number(weight)}, the largest of the row.",
    )


def random_matrices(trace: Trace, head: Head) -> Question:
    rows, columns = tokens_of(trace, head.attention)
    scores = trace.attention(head.attention, head.layer, "scores")[head.head]
    kept = int((other_weights(trace, head, RANDOM).argmax(-1) == scores.argmax(-1)).sum())
    right = 0 if kept == 0 else 1 if 2 * kept < len(rows) else 2
    count = f"{kept} of {len(rows)} {'keeps' if kept == 1 else 'keep'} it."
    return Question(
        "random",
        f"The matrices of {where(head)} are replaced by random ones. How many of its {len(rows)} queries keep their "
        "best key?",
        ("none", "some, but fewer than half", "half or more"),
        frozenset({right}),
        f"A query that keeps its best key does so by chance: with {len(columns)} keys"
        + (", or fewer where some are masked," if head.attention == "decoder" else "")
        + " a blind guess is right now and then.",
        wrong={n: f"{count} {hint}" for n, hint in enumerate(_COUNTED) if n != right},
    )


# What is wrong with each answer about the random matrices.
_COUNTED = (
    "Even a random match hits the old one now and then.",
    "So it is not between none and a half.",
    "Random matrices know nothing of the learned ones.",
)

LESSON = Lesson(
    "query-key-value",
    "Query, key, value",
    asks="What does a piece ask, and what does it offer?",
    idea=idea,
    predict=predict,
    bench=Bench(controls=choose, see=see, check=check_cell, do=do),
    code=(MultiHeadAttention.forward, MultiHeadAttention.split),
    on_map=OnMap(plays=("encoder.self_attn",), near="project"),
)
