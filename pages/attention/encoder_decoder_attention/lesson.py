"""Lesson: the decoder asks, the encoder's output answers. The map between them, and how far it is an alignment."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from explain import WorkedStep, worked_average, worked_group
from figures.grouping import Group, grouped
from model.parts.attention import MultiHeadAttention
from model.parts.layers import DecoderLayer
from model.text.tokenizer import EOS
from model.trace import Array, Trace
from pages.attention.encoder_decoder_attention.hidden_word import hide
from pages.attention.encoder_decoder_attention.memory import memory
from pages.attention.encoder_decoder_attention.offers import offers
from pages.attention.encoder_decoder_attention.own_german import own
from pages.attention.encoder_decoder_attention.questions import predict
from pages.attention.encoder_decoder_attention.view import (
    BY_WORD,
    HEAD,
    KIND,
    LAYER,
    ONE,
    SHOW,
    View,
    current_view,
    is_word,
)
from ui.components.head_grid import MEAN, head_grid
from ui.components.matrix import Caption, Labels, matrix
from ui.controls.address import read_pair, write_pair
from ui.controls.control import Choice
from ui.course.check import Shown, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.text import in_markdown, legible, number
from ui.views.attention_kinds import KINDS, READABLE, all_weights, readable_part
from ui.views.charts.flow import Box, flow
from ui.views.charts.tables import markdown_table
from ui.views.worked_steps import show_steps

# Sentences whose German goes another way, under a short label.
ORDERS = {
    "Verb at the end": "I know that he is tired.",
    "Verb in two parts": "I'm calling my mother.",
    "Participle at the end": "I have never seen such a beautiful house.",
    "Time before place": "She will visit her grandmother in Berlin tomorrow.",
}


TRIALS = {"Write the German yourself": own, "Hide an English word": hide, "Change the memory": memory}
TRIAL = Choice("Try", "cross_trial", list(TRIALS))


def idea(trace: Trace) -> None:
    st.markdown(
        "Before each piece it writes, the decoder looks at the English. Its :blue[**query**] is made from X, the "
        "German so far. The :orange[**keys**] and :green[**values**] that answer are made from M, the **memory**: "
        "what the encoder's last layer puts out."
    )
    st.latex(r"\operatorname{softmax}\!\left(\frac{XW^Q\,(MW^K)^{\mathsf T}}{\sqrt{d_k}}\right)MW^V")
    with st.expander("One memory for every decoder layer"):
        st.markdown("Every decoder layer reads the same memory, with matrices of its own.")
        one_memory_for_all(trace)
    with st.expander("The three attentions side by side"):
        markdown_table(
            ("", "queries from", "keys and values from", "a row may see"),
            [
                ("encoder self-attention", "the English", "the same English", "every English piece"),
                ("masked self-attention", "the German so far", "the same German", "itself and what came before"),
                ("encoder-decoder attention", "the German so far", "the English, as M", "every English piece"),
            ],
        )
        st.caption(
            "All three run the same code; what differs is where queries, keys and values come from, and the mask."
        )
    with st.expander("Sentences whose German goes another way"):
        st.markdown("German often puts its words in another order. Each of these replaces the sentence at the top:")
        offers({label: (sentence, "") for label, sentence in ORDERS.items()}, "word_orders")


def one_memory_for_all(trace: Trace) -> None:
    """The way from the encoder's last layer to every decoder layer, as a picture."""
    encoder, decoder = (trace.model.anatomy.stack(name).layers for name in ("encoder", "decoder"))
    s, d_model = trace.tensors[trace.model.anatomy.stack("encoder").writes].shape
    way: list[Box | str] = []
    for layer in encoder:
        way += [Box(f"encoder layer {layer.index + 1}"), "→"]
    flow(
        [
            [*way, Box("M", under=f"({s}, {d_model})", colour="value")],
            *(
                [
                    "M →",
                    Box("K", colour="key"),
                    Box("V", colour="value"),
                    "→",
                    Box(f"decoder layer {layer.index + 1}"),
                    "with its own",
                    Box("Q", colour="query"),
                ]
                for layer in decoder
            ),
        ],
        f"Only what encoder layer {len(encoder)} returns, M, goes on: each of the {len(decoder)} decoder layers makes "
        "keys K and values V from it and asks with queries Q of its own.",
    )


def _choose(chosen: tuple[int, int]) -> None:
    """A click in the overview sets the same controls as a click on them."""
    layer, head = chosen
    st.session_state["layer"], st.session_state[SHOW.key] = layer + 1, LAYER if head == MEAN else ONE
    if head != MEAN:
        st.session_state["head"] = head + 1


def choose(trace: Trace) -> None:
    HEAD.draw(trace.model)
    SHOW.draw()
    BY_WORD.draw()


def see(trace: Trace) -> Shown | None:
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
    shown = None
    if view.by_word:
        cell = words_map(trace, view, title)
    else:
        shown = checked_matrix(
            trace,
            view.tensor(trace),
            Caption(title, how_to_read),
            labels=Labels(describe=KINDS[KIND].describe),
            head=head.head if which == ONE else None,
            start=first_cell(trace, view),
        )
        cell = shown.cell
    what_it_shows(trace, view, cell[0])
    q, k = trace.attention(KIND, head.layer, "q"), trace.attention(KIND, head.layer, "k")
    st.caption(
        f"Shapes: Q `{q.shape}` from the decoder; K and V `{k.shape}` from the encoder; weights "
        f"`{(*q.shape[:2], k.shape[1])}`, a row a German piece, a column an English one. No causal mask here: at every "
        "step the whole English sentence may be seen."
    )
    return shown


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
    is_it_an_alignment(view, values, rows, columns)


def is_it_an_alignment(view: View, values: Array, rows: Sequence[Group], columns: Sequence[Group]) -> None:
    """How often the largest weight of a row cannot be a translation."""
    of_words = [i for i, group in enumerate(rows) if is_word(group.label)]
    lost = [i for i in of_words if not is_word(columns[int(values[i].argmax())].label)]
    what = "words" if view.by_word else "pieces of words"
    counted = (
        f"{len(lost)} of {len(of_words)} German {what} have their largest weight on {in_markdown(EOS)} or on a "
        "punctuation mark. "
    ) * bool(of_words)
    answer = (
        "There is no German word here to align."
        if not of_words
        else "Not everywhere: no translation has its source there."
        if lost
        else "It may be one here. But a weight says where the model reads, not which word a piece comes from."
    )
    st.markdown(
        f"**Is this an alignment?** {counted}{answer} *Hide an English word*, below, measures which word a piece needs."
    )


def check(shown: Shown | Trace) -> None:
    if isinstance(shown, Shown):
        check_cell(shown)
        return
    trace, view = shown, current_view(shown)
    cell = chosen_word(trace, view)
    row, column = (groups[i] for groups, i in zip(view.groups(trace), cell, strict=True))
    step = worked_words(trace, view, row, column)
    st.markdown(
        f"**How did this {legible(step.value)} come about?** Row **{in_markdown(row.label)}**, column "
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
    TRIALS[TRIAL.draw()](trace, current_view(trace))


LESSON = Lesson(
    "encoder-decoder-attention",
    "Encoder-decoder attention",
    asks="How does the German know what the English says?",
    idea=idea,
    predict=predict,
    bench=Bench(controls=choose, see=see, check=check, do=do),
    code=(DecoderLayer.forward, MultiHeadAttention.forward),
    on_map=OnMap(opens=("decoder.cross_attn",), near="read"),
)
