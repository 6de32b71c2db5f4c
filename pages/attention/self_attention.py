"""Lesson: a sentence asks itself. Every encoder head's map, what it shows, and what it does not prove."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from figures.grouping import Group, grouped, words
from figures.statistics import cosine
from model.attention import MultiHeadAttention
from model.interventions import Head, Interventions
from model.layers import EncoderLayer
from model.trace import Array, Trace
from ui import engine
from ui.address import read_count, write_count, write_pair
from ui.attention import KINDS, READABLE, n_layers
from ui.check import check_cell, checked_matrix
from ui.choose import choose_head, current_head
from ui.compare import heads_before_after
from ui.components.head_grid import head_grid
from ui.components.matrix import matrix
from ui.course import show_lesson
from ui.quiz import Question
from ui.sentence import KEY as SENTENCE
from ui.text import in_markdown, number, visible
from ui.worked import output_of

KIND = "encoder"
WIDE = "The animal didn't cross the street because it was too wide."
TIRED = "The animal didn't cross the street because it was too tired."
MONEY = "I put my money in the bank."
RIVER = "We sat on the bank of the river."


def chosen_head() -> Head:
    return current_head(KIND, (KIND,))


def idea(trace: Trace) -> None:
    st.markdown(
        "In *self*-attention a sentence asks itself: :blue[**queries**], :orange[**keys**] and :green[**values**] are "
        "all made from the same vectors X. So every piece may look at every piece, itself too, in one step and at any "
        "distance, and its new vector carries something of what it looked at. X times a matrix is all it takes:"
    )
    st.latex(
        r"\operatorname{SelfAttention}(X)=\operatorname{softmax}\!\left("
        r"\frac{XW^Q\,(XW^K)^{\mathsf T}}{\sqrt{d_k}}\right)XW^V"
    )


def _choose(chosen: tuple[int, int]) -> None:
    """A click in the overview sets the same controls as a click on them."""
    st.session_state["layer"], st.session_state["head"] = chosen[0] + 1, chosen[1] + 1


def row_of(trace: Trace, text: str, head: Head) -> tuple[int, int] | None:
    """The row of a word in a head's map and the column with its largest weight; None if there is no such word."""
    row = next((i for i, token in enumerate(trace.src[:READABLE]) if token.text == text), None)
    if row is None:
        return None
    return row, int(trace.attention(KIND, head.layer)[head.head, row, :READABLE].argmax())


def see(trace: Trace) -> None:
    head = choose_head((KIND,), KIND)
    maps = np.stack([trace.attention(KIND, layer)[:, :READABLE, :READABLE] for layer in range(n_layers(trace))])
    head_grid(
        maps,
        key="encoder_heads",
        selected=(head.layer, head.head),
        title="Every layer and head at a glance: click one to see it large",
        mean=False,
        on_select=_choose,
    )
    shown = checked_matrix(
        trace,
        f"{head.path}.weights",
        head=head.head,
        kind=KIND,
        title=f"{KINDS[KIND].title} (layer {head.layer + 1}, head {head.head + 1})",
        how_to_read=KINDS[KIND].how_to_read,
        start=row_of(trace, "it", head),
    )
    row = shown.cell[0]
    weights = trace.attention(KIND, head.layer)[head.head][row]
    best = np.argsort(-weights, kind="stable")[:3]
    looked = ", ".join(
        f"**{in_markdown(trace.src[j].text)}** (piece {j + 1}) {number(float(weights[j]), 2)}" for j in best
    )
    st.markdown(
        f"The chosen row is piece {row + 1}, **{in_markdown(trace.src[row].text)}**. It looks most at: {looked}. "
        "What is left goes to the others."
        if len(weights) > len(best)
        else f"The chosen row is piece {row + 1}, **{in_markdown(trace.src[row].text)}**. It looks at: {looked}."
    )


def do(trace: Trace) -> None:
    block(trace)
    st.subheader("Two hard cases", anchor=False)
    st.markdown(
        "Books like to show heads that have understood a sentence. Here is what *this* model does. It is small and "
        "learned from short everyday sentences, so do not expect much."
    )
    left, right = st.columns(2, gap="large")
    with left:
        what_it_looks_at()
    with right:
        two_banks()


def choose_piece(trace: Trace) -> int:
    """Control for one piece of the source, kept in the address by its number."""
    n, default = len(trace.src), min(1, len(trace.src) - 2)
    # The key belongs to the sentence: another one has other options.
    key = f"hide/{trace.text}"

    def write() -> None:
        write_count("hide", st.session_state[key] + 1, default + 1)

    return st.selectbox(
        "Piece to hide",
        range(n),
        index=(read_count("hide", n + 1) or default + 1) - 1,
        format_func=lambda i: f"{i + 1} {visible(trace.src[i].text)}",
        key=key,
        on_change=write,
        width=260,
    )


def block(trace: Trace) -> None:
    """Hide one piece from every row, before and after."""
    st.markdown(
        "Hide a piece: nobody may look at it any more, in no layer, neither encoder nor decoder. Its share goes to the "
        "others, and the translation has to do without it."
    )
    piece = choose_piece(trace)
    head = chosen_head()
    after = engine.trace(trace.text, interventions=Interventions(blocked=(piece,)))
    heads_before_after(
        (trace, after),
        ("Before: every piece may be seen", f"After: piece {piece + 1} is hidden"),
        KIND,
        head.layer,
        head.head,
    )
    share = float(trace.attention(KIND, head.layer)[head.head][:, piece].mean())
    st.markdown(
        f"Translation before: **{in_markdown(trace.translation) or '(nothing)'}** "
        f"Without {in_markdown(trace.src[piece].text)}: **{in_markdown(after.translation) or '(nothing)'}**"
    )
    st.caption(
        f"Before, **{in_markdown(trace.src[piece].text)}** got {number(share)} of a row on average in this head; now "
        "0. It still asks (its row is there), but nobody hears what it would answer."
    )


def word(trace: Trace, text: str) -> Group:
    """The first piece or pieces that make up this word of the source."""
    groups = words([token.text for token in trace.src], [token.word for token in trace.src])
    return next(group for group in groups if group.label == text)


def shares_of_it(*others: str) -> list[Array]:
    """Weights (L,H) from 'it' to each of these words in the sentence about the animal and the street."""
    trace = engine.trace(WIDE)
    maps = np.stack([trace.attention(KIND, layer) for layer in range(n_layers(trace))])
    found = grouped(maps, [word(trace, "it")], [word(trace, other) for other in others])
    return [found[..., 0, j] for j in range(len(others))]


def look(sentence: str, at: str) -> None:
    """A button that puts a sentence into the bar and chooses the row of a word."""

    def put() -> None:
        st.session_state[SENTENCE] = sentence
        write_pair("cell", row_of(engine.trace(sentence), at, chosen_head()))

    if st.button(f"Look at '{at}' in the map above", key=f"look_{at}", on_click=put):
        st.rerun()  # the whole page: the sentence bar too


def what_it_looks_at() -> None:
    """The share of weight that 'it' gives to 'animal' and to 'street', in every head."""
    st.markdown(f"**What does *it* mean?** {WIDE}")
    animal, street, itself = shares_of_it("animal", "street", "it")
    layers, heads = [f"layer {n + 1}" for n in range(len(animal))], [f"head {n + 1}" for n in range(animal.shape[1])]
    for column, name, shares in zip(st.columns(2, gap="small"), ("animal", "street"), (animal, street), strict=True):
        with column:
            matrix(
                shares, layers, heads, key=f"it_{name}", title=f"From 'it' to '{name}'",
                describe=f"{{row}}, {{column}}: 'it' gives '{name}' {{value}}", csv_name=f"it to {name}",
            )  # fmt: skip
    st.markdown(
        f"Streets are wide, so *it* is the street. On average over all {animal.size} heads *it* gives the street "
        f"{number(float(street.mean()), 3)}, the animal {number(float(animal.mean()), 3)} and itself "
        f"{number(float(itself.mean()), 3)}; the animal gets more than the street in {int((animal > street).sum())} of "
        f"{animal.size} heads. "
        + (
            "Neither gets more than a tenth: no sign that this model works out what *it* stands for."
            if max(street.mean(), animal.mean()) < 0.1
            else "Whether that is understanding, the weights do not say."
        )
    )
    st.markdown(
        "A second look, at the German: *sie* would be the street (die Straße), *es* the animal (das Tier). "
        f"With *wide*: **{in_markdown(engine.trace(WIDE).translation)}** With *tired*, where *it* is the animal: "
        f"**{in_markdown(engine.trace(TIRED).translation)}**"
    )
    st.markdown(
        "**Attention is not an explanation.** A weight says how much of a value flows in here, in this head of this "
        "layer. It does not say why, nor what becomes of it: by the second layer each vector already holds something "
        "of the others. To learn what matters, change something and look at the result, as above."
    )
    look(WIDE, "it")


def two_banks() -> None:
    """The vector of 'bank' in two sentences, layer by layer."""
    traces = [engine.trace(sentence) for sentence in (MONEY, RIVER)]
    st.markdown(f"**One word, two meanings.** {MONEY} / {RIVER}")
    places = [list(word(trace, "bank").pieces) for trace in traces]
    layers = range(n_layers(traces[0]))
    names = ["encoder.embedding.tokens", *(output_of(KIND, layer) for layer in layers)]
    one, two = ([t.tensors[name][at].mean(0) for name in names] for t, at in zip(traces, places, strict=True))
    alike = np.array([cosine(a, b) for a, b in zip(one, two, strict=True)])
    matrix(
        alike[None], ["bank, bank"], ["embedding", *(f"after layer {n + 1}" for n in layers)], key="banks",
        title="How alike the two vectors of 'bank' are",
        how_to_read="Cosine of the angle between them: 1 is the same direction, 0 is a right angle.",
        scale="signed", limit=1.0, describe="{column}: {value}", csv_name="cosine of bank and bank",
    )  # fmt: skip
    top = float(alike[-1])
    st.markdown(
        f"Both begin as the same row of the embedding matrix: {number(float(alike[0]), 2)}. Self-attention mixes in "
        f"their neighbours, so after the last layer it is {number(top, 2)}. "
        + (
            "That is still nearly the same vector: this model hardly tells the two apart."
            if top > 0.8
            else "They have moved apart: the vector of a word depends on its sentence."
        )
    )
    st.markdown(
        "And the German, where it should be *die Bank* for money and *das Ufer* for a river: "
        f"**{in_markdown(traces[0].translation)}** / **{in_markdown(traces[1].translation)}**"
    )
    look(RIVER, "bank")


def predict(trace: Trace) -> Sequence[Question]:
    head = chosen_head()
    weights = trace.attention(KIND, head.layer)  # (H,S,S)
    row = 0
    best = int(weights[head.head, row].argmax())
    order = sorted({best, *(int(j) for j in np.argsort(-weights[head.head, row], kind="stable")[:4])})
    own = weights.diagonal(axis1=1, axis2=2).mean(-1)
    animal, street = shares_of_it("animal", "street")
    more, n_heads = int((animal > street).sum()), animal.size
    return (
        Question(
            "first",
            f"In layer {head.layer + 1}, head {head.head + 1}: what does the first piece, "
            f"**{in_markdown(trace.src[row].text)}**, look at most?",
            tuple(f"{in_markdown(trace.src[j].text)} (piece {j + 1})" for j in order),
            frozenset({order.index(best)}),
            f"It gives it {number(float(weights[head.head, row, best]))} of its attention. Choose the cell in *See* to "
            "work it out.",
        ),
        Question(
            "itself",
            f"In which head of layer {head.layer + 1} do the pieces look most at themselves?",
            tuple(f"head {h + 1}" for h in range(len(own))),
            frozenset({int(own.argmax())}),
            "That is the diagonal of a map. Averaged over the rows it is "
            + ", ".join(f"{number(float(share))} in head {h + 1}" for h, share in enumerate(own))
            + ".",
        ),
        Question(
            "coreference",
            f"*{WIDE}* In how many of the {n_heads} heads does *it* give the animal more than the street?",
            ("in none", "in some, but fewer than half", "in half of them or more"),
            frozenset({0 if more == 0 else 1 if 2 * more < n_heads else 2}),
            f"In {more} of {n_heads}. That would be evidence of understanding only if the weights were large and "
            "followed the meaning; compare them above.",
        ),
    )


show_lesson(
    "self-attention",
    idea=idea,
    see=see,
    do=do,
    check=check_cell,
    predict=predict,
    code=(EncoderLayer.forward, MultiHeadAttention.forward),
)
