"""Lesson: what a query, a key and a value are, and how three matrices make them out of one vector."""

from collections.abc import Sequence

import numpy as np
import streamlit as st
import torch
from torch import nn

from explain import tex
from model.attention import MultiHeadAttention, scaled_dot_product_attention
from model.interventions import Head
from model.loaded import UNTRAINED
from model.tap import Recorder
from model.trace import Array, Trace
from ui import engine
from ui.components.matrix import Caption, Labels, Scale, matrix
from ui.controls.head_control import HEAD
from ui.controls.segmented import one_of
from ui.course.check import Part, check_cell, checked_matrix
from ui.course.lesson import Lesson
from ui.course.quiz import Question, which_piece
from ui.text import in_markdown, number
from ui.views.attention_kinds import KINDS, READABLE, tokens_of
from ui.views.before_after import before_after
from ui.views.tables import table

# What one may look at: the tensor's name (of X it depends on the layer), and how to read its rows.
PARTS = {
    "X": ("", "What goes in", "A row is the vector of one piece as it enters this layer."),
    "Q": ("q", "What each piece asks", "A row is the query of one piece, for this head alone."),
    "K": ("k", "What each piece can be found by", "A row is the key of one piece, for this head alone."),
    "V": ("v", "What each piece hands over", "A row is the value of one piece, for this head alone."),
}
X_COLUMNS = 64  # of the input's d_model, as many as are shown

# A little shop. Each order has one direction of its own as its key.
ORDERS = {"order_104": (3, 4), "order_105": (1, 12), "order_106": (8, 6), "order_107": (2, 20)}
ASKED = {
    "order_104": (1.0, 0.0, 0.0, 0.0),
    "order_106": (0.0, 0.0, 1.0, 0.0),
    "104 or 105": (0.5, 0.5, 0.0, 0.0),
}

RANDOM, NONE = "Random matrices", "No matrices: X itself"


def idea(trace: Trace) -> None:
    st.markdown(
        "A database hands out a *value* when a *query* equals one of its *keys*. Attention does the same with vectors, "
        "but softly: a query matches every key a little, and the answer is a mix of all values. Each piece of your "
        "sentence makes its own :blue[**query**] (what it looks for), :orange[**key**] (what it can be found by) and "
        ":green[**value**] (what it hands over), by multiplying its vector with three learned matrices:"
    )
    st.latex(r"Q = XW^Q \qquad K = XW^K \qquad V = XW^V")
    with st.expander("Hard and soft look-up in a small database"):
        look_up()


@st.fragment
def look_up() -> None:
    """The decks' database, asked three things at once by the model's own function."""
    entries = ",\n ".join(
        f'"{name}": {{"items": {items}, "delivery_date": "May {day}"}}' for name, (items, day) in ORDERS.items()
    )
    st.code(f"{{{entries}}}", language="python", wrap_lines=True)
    st.markdown(
        'Hard look-up: the query `"order_104"` equals one key, and its value comes back, nothing else. Soft look-up: '
        "every key gets a weight between 0 and 1, the better it matches the larger. All weights together make 1. "
        "Here three queries are asked at once; each is a row."
    )
    sure = st.slider("How much a match counts", 0, 10, 2, key="sure", bind="query-params")
    # Keys of length 2 and √d_k = 2: the score of a full match is just the number on the slider.
    q = sure * torch.tensor([list(ASKED.values())])[None]  # (1,1,3,4)
    k = 2 * torch.eye(len(ORDERS))[None, None]  # (1,1,4,4)
    v = torch.tensor([list(ORDERS.values())], dtype=torch.float32)[None]  # (1,1,4,2)
    recorder = Recorder()
    answers = scaled_dot_product_attention(q, k, v, tap=recorder)[0, 0].numpy()
    weights = recorder.tensors["weights"][0, 0].numpy()
    left, right = st.columns([1.6, 1], gap="medium")
    with left:
        matrix(
            weights,
            Labels(list(ASKED), list(ORDERS), describe="“{row}” matches “{column}”: {value}"),
            Caption(
                "How well each key matches", "A row is one query; its weights add up to 1.", csv_name="look-up weights"
            ),
            key="look_up_weights",
        )
    with right:
        matrix(
            answers,
            Labels(list(ASKED), ["items", "day of May"], describe="“{row}”, {column}: {value}"),
            Caption("What comes back", "The weighted sum of the four values.", csv_name="look-up answers"),
            key="look_up_answers",
            scale=Scale("positive", limit=20),
        )
    items = [items for items, _ in ORDERS.values()]
    total = " + ".join(rf"{tex(float(w))}\cdot {n}" for w, n in zip(weights[0], items, strict=True))
    st.markdown(
        rf"First row, items: $\displaystyle {total} = {tex(float(answers[0, 0]))}$. At 0 a match counts for nothing "
        "and every answer is the plain average. At 10 the best key takes nearly all: a hard look-up, unless two keys "
        "match equally well."
    )


def inputs(trace: Trace, head: Head) -> tuple[str, str]:
    """Names of the tensors that the queries and that the keys and values of this attention are made from."""
    anatomy = trace.model.anatomy
    q, k = (anatomy.tensors[f"{trace.path(head)}.{letter}"] for letter in "qk")
    return q.reads[0], k.reads[0]


def choose(trace: Trace) -> None:
    config = engine.model().config
    st.markdown(
        f"The model asks in many places: in {config.n_layers} *layers*, one after the other, and in each with "
        f"{config.n_heads} *heads*, side by side. Every head has matrices of its own. Choose one, then a cell."
    )
    HEAD.draw(trace.model)
    one_of("Show", list(PARTS), key="part", default="Q", width="content")


def see(trace: Trace) -> None:
    head, part = HEAD.value(trace.model), st.session_state["part"]
    letter, title, how_to_read = PARTS[part]
    rows, columns = tokens_of(trace, head.attention)
    asks, _ = inputs(trace, head)
    where = f"{KINDS[head.attention].name.lower()}, layer {head.layer + 1}"
    checked_matrix(
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
    shapes(trace, head, len(rows), len(columns))


def shapes(trace: Trace, head: Head, t: int, s: int) -> None:
    """What is multiplied with what, as shapes."""
    n_heads, _, d_k = trace.tensors[f"{trace.path(head)}.q"].shape
    d_model = n_heads * d_k
    matrices = f"$W^Q$, $W^K$ and $W^V$, each `({d_model}, {d_model})`,"
    if head.attention == "cross":
        st.caption(
            f"X of the decoder `({t}, {d_model})` makes Q `({n_heads}, {t}, {d_k})`. The encoder's output "
            f"`({s}, {d_model})` makes K `({n_heads}, {s}, {d_k})` and V `({n_heads}, {s}, {d_k})`. {matrices} were "
            f"learned; their {d_model} columns are dealt out to {n_heads} heads, {d_k} to each."
        )
    else:
        st.caption(
            f"X `({t}, {d_model})` makes Q, K and V, each `({n_heads}, {t}, {d_k})`: {n_heads} heads, {t} pieces, "
            f"{d_k} numbers each. {matrices} were learned; their {d_model} columns are dealt out to {n_heads} heads, "
            f"{d_k} to each."
        )


@torch.inference_mode()
def with_matrices(trace: Trace, head: Head, which: str) -> Recorder:
    """The chosen attention run on the same X with other matrices in place of the learned ones."""
    attention = engine.model(UNTRAINED).model.get_submodule(trace.path(head))
    if which == NONE:
        attention = MultiHeadAttention(trace.model.config.d_model, trace.model.config.n_heads)
        for linear in (attention.w_q, attention.w_k, attention.w_v, attention.w_o):
            nn.init.eye_(linear.weight)
    asks, answers = (
        torch.tensor(trace.tensors[name][None], device=trace.model.device.torch) for name in inputs(trace, head)
    )
    allowed = torch.tensor(~np.isneginf(trace.attention(head.attention, head.layer, "scores")), device=asks.device)
    recorder = Recorder()
    attention.to(asks.device)(asks, answers, allowed[None], tap=recorder)
    return recorder


def other_weights(trace: Trace, head: Head, which: str) -> Array:
    """Weights (T,S) of the chosen head as they would be with other matrices."""
    return with_matrices(trace, head, which).tensors["weights"][0, head.head].cpu().numpy()


def do(trace: Trace) -> None:
    head = HEAD.value(trace.model)
    st.markdown(
        "What is learned is what *matching* means. Give this head the same X, but other matrices, and see which key "
        "each query finds now."
    )
    which = one_of("In place of the learned matrices", [RANDOM, NONE], key="matrices", wrap=True)
    learned = trace.attention(head.attention, head.layer)[head.head]
    other = other_weights(trace, head, which)
    hidden = np.isneginf(trace.attention(head.attention, head.layer, "scores")[head.head])
    rows, columns = ([token.text for token in tokens] for tokens in tokens_of(trace, head.attention))
    before_after(
        (learned, other),
        ("Learned matrices", which),
        Labels(rows, columns, describe=KINDS[head.attention].describe),
        how_to_read="How much each query (row) takes from each key (column), 0 to 1 on both sides.",
        csv_name=f"{trace.path(head)}.weights head {head.head + 1}",
        hidden=(hidden, hidden),
    )
    before, after = learned.argmax(-1), other.argmax(-1)
    same = int((before == after).sum())
    itself = [int((best == np.arange(len(best))).sum()) for best in (before, after)]
    note = f"The best key is the same for **{same} of {len(before)}** queries."
    if head.attention != "cross":
        note += (
            f" A piece finds itself best in **{itself[0]}** rows with the learned matrices, in **{itself[1]}** here."
        )
    st.markdown(note)
    best_keys(trace, head, learned, other, which)
    st.caption(
        "Random matrices match whatever happens to lie in the same direction; nobody meant it."
        if which == RANDOM
        else "Without matrices, the decoder's vectors meet the encoder's as they are. Nothing has taught these two to "
        "resemble each other where they should match."
        if head.attention == "cross"
        else "Without matrices a vector matches itself best, because nothing is more like it: nearly every piece would "
        "look at itself, and asking and being found would be the same thing."
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
    rows, columns = tokens_of(trace, head.attention)
    where = f"layer {head.layer + 1}, head {head.head + 1} of the {KINDS[head.attention].name.lower()}"
    scores = trace.attention(head.attention, head.layer, "scores")[head.head]
    row = 0 if head.attention != "decoder" else len(rows) - 1
    best = int(scores[row].argmax())
    kept = int((other_weights(trace, head, RANDOM).argmax(-1) == scores.argmax(-1)).sum())
    n_heads, _, d_k = trace.tensors[f"{trace.path(head)}.q"].shape
    return (
        Question(
            "poll",
            "Where do Q, K and V of a self-attention layer come from?",
            (
                "The input is split into three parts: one is Q, one is K, one is V.",
                "The whole input is multiplied by three different learned matrices.",
                "From three different sentences.",
                "Q is the input; K and V are looked up in the vocabulary.",
            ),
            frozenset({1}),
            f"Nothing is split off: each of the three sees all {n_heads * d_k} numbers of every vector. (The result is "
            f"then dealt out to {n_heads} heads, {d_k} numbers to each.)",
        ),
        which_piece(
            "best",
            f"In {where}: which key matches the query of **{in_markdown(rows[row].text)}** (row {row + 1}) best?",
            scores[row],
            columns,
            f"Its score is {number(float(scores[row, best]))}, the highest of the row, so it also gets the largest "
            f"weight: {number(float(trace.attention(head.attention, head.layer)[head.head][row, best]))}.",
        ),
        Question(
            "random",
            f"The matrices of {where} are replaced by random ones. How many of its {len(rows)} queries keep their best "
            "key?",
            ("none", "some, but fewer than half", "half or more"),
            frozenset({0 if kept == 0 else 1 if 2 * kept < len(rows) else 2}),
            f"{kept} of {len(rows)}. A query that keeps its best key does so by chance: with {len(columns)} keys, or "
            "fewer where some are masked, a blind guess is right now and then.",
        ),
    )


LESSON = Lesson(
    "query-key-value",
    "Query, key, value",
    asks="What does a piece ask, and what does it offer?",
    idea=idea,
    controls=choose,
    see=see,
    do=do,
    check=check_cell,
    predict=predict,
    code=(MultiHeadAttention.forward, MultiHeadAttention.split),
)
