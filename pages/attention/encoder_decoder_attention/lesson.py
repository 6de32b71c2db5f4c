"""Lesson: the decoder asks, the encoder's output answers. The map between them, and how far it is an alignment."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from explain import WorkedStep, worked_average, worked_group
from figures.grouping import Group, grouped
from model.attention import MultiHeadAttention
from model.interventions import Head
from model.layers import DecoderLayer
from model.tokenizer import EOS
from model.trace import Trace
from pages.attention.encoder_decoder_attention.hidden_word import hide
from pages.attention.encoder_decoder_attention.memory import memory
from pages.attention.encoder_decoder_attention.own_german import offer, own
from pages.attention.encoder_decoder_attention.view import (
    KIND,
    LAYER,
    ONE,
    VIEW,
    VIEWS,
    WORDS,
    View,
    current_view,
    is_word,
)
from ui import engine
from ui.components.head_grid import MEAN, head_grid
from ui.components.matrix import Caption, Labels, matrix
from ui.controls.address import read_pair, write_pair
from ui.controls.head_control import HeadControl
from ui.controls.segmented import one_of
from ui.course.check import check_cell, checked_matrix
from ui.course.lesson import Lesson
from ui.course.quiz import Question, which_piece
from ui.text import in_markdown, magnitude, number
from ui.views.attention_kinds import KINDS, READABLE, all_weights, readable_part
from ui.views.worked_steps import show_steps

# Sentences whose German goes another way, under a short label.
ORDERS = {
    "Verb at the end": "I know that he is tired.",
    "Verb in two parts": "I'm calling my mother.",
    "Participle at the end": "I have never seen such a beautiful house.",
    "Time before place": "She will visit her grandmother in Berlin tomorrow.",
}


def idea(trace: Trace) -> None:
    st.markdown(
        "This is where the two languages meet. Whatever the decoder is about to write, it asks with its "
        ":blue[**query**]; the :orange[**keys**] and :green[**values**] that answer are made from the English side: "
        "from M, the *final* output of the encoder, called the **memory**. Every decoder layer reads this same memory, "
        "with matrices of its own."
    )
    st.latex(
        r"\operatorname{Attention}(X,M)=\operatorname{softmax}\!\left("
        r"\frac{XW^Q\,(MW^K)^{\mathsf T}}{\sqrt{d_k}}\right)MW^V"
    )
    st.markdown("German often puts its words in another order. Four sentences in which it does:")
    with st.container(horizontal=True, gap="small", key="word_orders"):
        for label, sentence in ORDERS.items():
            offer(label, sentence)


def _choose(chosen: tuple[int, int]) -> None:
    """A click in the overview sets the same controls as a click on them."""
    layer, head = chosen
    st.session_state["layer"], st.session_state[VIEW] = layer + 1, LAYER if head == MEAN else ONE
    if head != MEAN:
        st.session_state["head"] = head + 1


def choose(trace: Trace) -> None:
    HeadControl((KIND,), KIND).draw(trace.model)
    one_of("Show", VIEWS, key=VIEW, wrap=True)
    st.toggle("Whole words", key=WORDS, bind="query-params")


def see(trace: Trace) -> None:
    view = current_view(trace)
    head, which = view.head, view.which
    head_grid(
        all_weights(trace, KIND)[:, :, :READABLE, :READABLE],
        key="cross_heads",
        selected={ONE: (head.layer, head.head), LAYER: (head.layer, MEAN)}.get(which),
        title="Every layer and head: click one to see it large",
        on_select=_choose,
    )
    title, how_to_read = f"{KINDS[KIND].title} ({view.title})", KINDS[KIND].how_to_read
    if view.by_word:
        cell = words_map(trace, view, title)
    else:
        cell = checked_matrix(
            trace,
            view.tensor(trace),
            Caption(title, how_to_read),
            head=head.head if which == ONE else None,
            start=first_cell(trace, view),
        ).cell
    what_it_shows(trace, view, cell[0])
    q, k = trace.attention(KIND, head.layer, "q"), trace.attention(KIND, head.layer, "k")
    st.caption(
        f"Shapes: Q `{q.shape}` from the decoder; K and V `{k.shape}` from the encoder; weights "
        f"`{(*q.shape[:2], k.shape[1])}`, a row a German piece, a column an English one. No causal mask here: at every "
        "step the whole English sentence may be seen."
    )


def first_cell(trace: Trace, view: View) -> tuple[int, int]:
    """The largest weight between words, or pieces of words; of all, if there is none."""
    rows, columns = ([is_word(group.label) for group in groups] for groups in view.readable(trace))
    values = view.values(trace)[: len(rows), : len(columns)]
    row, column = divmod(int((values + np.outer(rows, columns)).argmax()), len(columns))
    return row, column


def chosen_word(trace: Trace, view: View) -> tuple[int, int]:
    """The cell chosen in the map between words."""
    rows, columns = view.readable(trace)
    return read_pair("cell", (len(rows), len(columns)), first_cell(trace, view))


def words_map(trace: Trace, view: View, title: str) -> tuple[int, int]:
    """The map between words; returns the cell chosen."""
    rows, columns = view.readable(trace)
    values, cell = view.values(trace), chosen_word(trace, view)
    shown = values[: len(rows), : len(columns)]
    matrix(
        shown,
        Labels([group.label for group in rows], [group.label for group in columns], describe=KINDS[KIND].describe),
        Caption(
            title,
            "A row is one German word, the mean of its pieces; what an English word's pieces get is added up.",
            csv_name=f"words {view.title}",
        ),
        key="see_words",
        selected=cell,
        on_select=lambda chosen: write_pair("cell", chosen),
    )
    if shown.shape != values.shape:
        st.caption(readable_part(shown.shape, values.shape))
    return cell


def what_it_shows(trace: Trace, view: View, row: int) -> None:
    """The chosen row in words, and how often the largest weight cannot be a translation."""
    rows, columns = view.groups(trace)
    values = view.values(trace)
    best = [j for j in np.argsort(-values[row], kind="stable")[:3] if values[row, j] >= 0.005]
    looked = ", ".join(
        f"**{in_markdown(columns[j].label)}** (column {j + 1}) {number(float(values[row, j]), 2)}" for j in best
    )
    st.markdown(f"Row {row + 1}: before writing **{in_markdown(rows[row].label)}**, it looks most at {looked}.")
    told = [i for i, group in enumerate(rows) if is_word(group.label)]
    lost = [i for i in told if not is_word(columns[int(values[i].argmax())].label)]
    what = "words" if view.by_word else "pieces of words"
    st.markdown(
        f"**Is this an alignment?** {len(lost)} of {len(told)} German {what} have their largest weight on "
        f"{in_markdown(EOS)} or on a punctuation mark, which they surely do not translate. A weight says where the "
        "model reads, not what a word means; and the vector that it reads there already holds something of the other "
        "words."
    )


def check(trace: Trace) -> None:
    view = current_view(trace)
    if not view.by_word:
        check_cell(trace)
        return
    cell = chosen_word(trace, view)
    row, column = (groups[i] for groups, i in zip(view.groups(trace), cell, strict=True))
    step = worked_words(trace, view, row, column)
    st.markdown(
        f"**How did this {number(step.value)} come about?** Row **{in_markdown(row.label)}**, column "
        f"**{in_markdown(column.label)}**. Choose another cell by a click, or with the arrow keys and Enter."
    )
    show_steps([step])
    st.caption(
        "Switch *Whole words* off to see how a weight comes from a query and a key. Numbers are shown rounded and were "
        "computed unrounded."
    )


def worked_words(trace: Trace, view: View, row: Group, column: Group) -> WorkedStep:
    """How a weight between two words came about."""
    parts = view.parts(all_weights(trace, KIND))
    if view.which == ONE:
        return worked_group(parts[""], row, column)
    values = [float(grouped(one, [row], [column])[0, 0]) for one in parts.values()]
    return worked_average(values, list(parts), float(np.mean(values)))


def do(trace: Trace) -> None:
    trials = {"Write the German yourself": own, "Hide an English word": hide, "Change the memory": memory}
    trials[one_of("Try", list(trials), key="cross_trial", wrap=True)](trace, current_view(trace))


def predict(trace: Trace) -> Sequence[Question]:
    head = HeadControl((KIND,), KIND).value(trace.model)
    return largest(trace, head), SOURCES, kept(trace, head)


def largest(trace: Trace, head: Head) -> Question:
    """Which English piece a head looks at most, in the middle of the translation."""
    row = len(trace.labels) // 2
    weights = trace.attention(KIND, head.layer)[head.head, row]
    return which_piece(
        "largest",
        f"In layer {head.layer + 1}, head {head.head + 1}: which English piece does it look at most before writing "
        f"**{in_markdown(trace.labels[row].text)}** (row {row + 1})?",
        weights,
        trace.src,
        f"It gives it {number(float(weights.max()))} of its attention. Choose the cell in *See* to work it out.",
    )


SOURCES = Question(
    "sources",
    "In encoder-decoder attention, where do queries, keys and values come from?",
    (
        "Queries and keys from the decoder, values from the encoder.",
        "Queries from the decoder, keys and values from the encoder's output.",
        "Queries from the encoder, keys and values from the decoder.",
        "All three from the encoder's output.",
    ),
    frozenset({1}),
    "The one who writes asks; the English answers, both with what it can be found by and with what it hands over. Keys "
    "and values always come from the same place, or a weight would pick the value of something else.",
)


def kept(trace: Trace, head: Head) -> Question:
    """What becomes of the keys and values while the translation grows."""
    # The same sentence with a translation of one piece, <eos>: are the keys others?
    short = engine.trace(trace.text, "")
    changed = max(
        float(np.abs(trace.attention(KIND, n, what) - short.attention(KIND, n, what)).max())
        for n in range(len(trace.model.anatomy.stacks[-1].layers))
        for what in "kv"
    )
    n_heads, s, d_k = trace.attention(KIND, head.layer, "k").shape
    return Question(
        "kept",
        "The decoder has written a piece and goes on to the next. What becomes of the keys and values of its "
        "encoder-decoder attention?",
        (
            "They get one more row, for the piece just written.",
            "They stay exactly as they are.",
            "They are made anew and come out different, since the German has grown.",
        ),
        frozenset({1 if changed < 1e-4 else 2}),
        f"They are made from the encoder's output alone: K is ({n_heads}, {s}, {d_k}), a row for each of the {s} "
        "English pieces, however long the German. Compared with a German sentence of one piece, the keys and values "
        f"here differ by {magnitude(changed)} at most. So a translator makes them once and keeps them; only the masked "
        "self-attention's grow with every piece.",
    )


LESSON = Lesson(
    "encoder-decoder-attention",
    "Encoder-decoder attention",
    asks="How does the German know what the English says?",
    idea=idea,
    controls=choose,
    see=see,
    do=do,
    check=check,
    predict=predict,
    code=(DecoderLayer.forward, MultiHeadAttention.forward),
    blocks=("decoder.cross_attn",),
)
