"""BertViz's views of this project's own model, and query times key, element by element."""

from functools import partial

import numpy as np
import streamlit as st

from explain import worked_weight
from hub.attention import of_trace
from hub.bertviz_views import draw
from hub.open_models import OURS, own_models
from model.interventions import Head
from model.trace import Trace
from ui import engine
from ui.components.matrix import Caption, Labels, Scale, matrix
from ui.controls.address import read_pair, write_pair
from ui.controls.control import Choice
from ui.controls.head_control import HeadControl
from ui.controls.segmented import one_of
from ui.course.sentence import sentence_trace
from ui.engine import numbers
from ui.text import in_markdown, number
from ui.views.attention_kinds import KINDS, READABLE, head_title, readable_part, tokens_of
from ui.views.bertviz import bertviz
from ui.views.worked_steps import show_steps


@st.fragment
def bench(trace: Trace) -> None:
    """Everything that a choice of head changes, and nothing else."""
    head = HeadControl(default="cross").draw(trace.model)
    maps = next(maps for maps in of_trace(trace) if maps.kind == head.attention)
    bertviz(partial(draw, maps.first(READABLE), head.layer, head.head), maps.weights.shape, maps.kind, head.head)
    st.header("Query times key, number by number", anchor=False)
    query_times_key(trace, head)


def query_times_key(trace: Trace, head: Head) -> None:
    st.markdown(
        "A weight begins as a :blue[**query**] of the piece that looks and a :orange[**key**] of the piece looked at: "
        "two rows of numbers that are multiplied, one by one, and added up. BertViz has a third view for this, but "
        "only for models built into it. So here it is for this one: choose a pair of pieces."
    )
    weights = trace.attention(head.attention, head.layer)[head.head]
    rows, columns = ([token.text for token in tokens[:READABLE]] for tokens in tokens_of(trace, head.attention))
    size = slice(len(rows)), slice(len(columns))
    part = weights[size]
    row, column = read_pair("cell", part.shape, divmod(int(part.argmax()), part.shape[1]))
    left, right = st.columns([1, 1.2], gap="large")
    with left:
        matrix(
            part,
            Labels(rows, columns, describe=KINDS[head.attention].describe),
            Caption(
                "Choose a pair",
                f"{head_title(head.attention, head.layer, head.head)}: weights.",
                csv_name=f"{trace.path(head)}.weights head {head.head + 1}",
            ),
            key="pair",
            hidden=np.isneginf(trace.attention(head.attention, head.layer, "scores")[head.head])[size],
            selected=(row, column),
            on_select=lambda cell: write_pair("cell", cell),
        )
        if part.shape != weights.shape:
            st.caption(readable_part(part.shape, weights.shape))
    q = trace.attention(head.attention, head.layer, "q")[head.head, row]
    k = trace.attention(head.attention, head.layer, "k")[head.head, column]
    with right:
        st.markdown(f"Query of **{in_markdown(rows[row])}**, key of **{in_markdown(columns[column])}**")
        show_steps(worked_weight(numbers(trace), trace.path(head), (head.head, row, column)))
    elements(q, k)


def elements(q: np.ndarray, k: np.ndarray) -> None:
    """The products, the largest first or in their own order, and what they add up to."""
    first = one_of("Order", ["largest products first", "by dimension"], key="order")
    products = q.astype(np.float64) * k
    order = np.argsort(-np.abs(products), kind="stable") if first.startswith("largest") else np.arange(len(q))
    matrix(
        np.stack([q[order], k[order], products[order]]),
        Labels(["query", "key", "product"], [str(d + 1) for d in order], describe="dimension {column}, {row}: {value}"),
        Caption(
            "The query, the key and their products",
            "A column is a dimension. A positive product pulls the two together, a negative one pushes apart.",
            csv_name="query times key",
        ),
        key="elements",
        scale=Scale("signed"),
    )
    pro, contra = (float(products[signs].sum()) for signs in (products > 0, products < 0))
    largest_first = np.sort(np.abs(products))[::-1]
    half = int(np.argmax(largest_first.cumsum() >= largest_first.sum() / 2)) + 1
    st.caption(
        f"{int((products > 0).sum())} of {len(products)} products are positive and make {number(pro, 4)}; the others "
        f"make {number(contra, 4)}; together {number(float(products.sum()), 4)}, the sum of step 1 above. Half of all "
        f"that is added up, signs aside, comes from the {half} largest products."
    )


def chosen_trace() -> Trace:
    """The sentence, read by the translator or, where they come with the app, by one of its other models."""
    own = own_models()
    name = Choice("Model", "drawn", tuple(own)).draw() if len(own) > 1 else OURS
    trace = sentence_trace()
    return trace if name == OURS else engine.trace(trace.text, name=own[name])


st.title("BertViz", anchor=False)
st.markdown(
    "*BertViz* (Vig 2019) is a well-known tool that draws attention. Here it draws where each piece of "
    "your sentence looks in this model: all heads of one layer at once, or all layers."
)
bench(chosen_trace())
