"""BertViz's views of this project's own model, and query times key, element by element."""

import numpy as np
import streamlit as st

from explore.attention import AttentionMaps, of_trace
from explore.bertviz_views import DIGITS, head_view, model_view
from model.interventions import Head
from model.trace import Trace
from ui.address import read_pair, write_pair
from ui.attention import KINDS, READABLE, head_title, readable_part, tokens_of
from ui.choose import choose_head
from ui.components.matrix import matrix
from ui.engine import numbers
from ui.one_of import one_of
from ui.sentence import sentence_trace
from ui.steps import show_steps
from ui.text import in_markdown, number
from ui.worked import worked_weight

LINE, HEAD, THUMBNAIL = (
    23,
    90,
    260,
)  # pixels: a token's line and the head of BertViz's head view; a map of its model view


@st.fragment
def bench(trace: Trace) -> None:
    """Everything that a choice of head changes, and nothing else."""
    head = choose_head(default="cross")
    views(trace, head)
    st.header("Query times key, number by number", anchor=False)
    query_times_key(trace, head)


def views(trace: Trace, head: Head) -> None:
    kind = head.attention
    view = one_of("View", ["Head view", "Model view"], key="bertviz")
    (maps,) = (one for one in of_trace(trace) if one.kind == kind)
    n_layers = len(maps.weights)
    shown = maps.first(READABLE)
    mode = "dark" if st.context.theme.type == "dark" else "light"
    if view == "Head view":
        st.caption(
            "A line is a weight: the stronger, the larger. Each colour is a head; click a coloured square to hide or "
            "show one, double-click to see it alone. Point at a token to follow its lines alone. "
            "BertViz counts layers from 0."
        )
        with st.spinner("Drawing…"):
            page = head_view(shown, mode, layer=head.layer)
        height = HEAD + LINE * max(len(shown.rows), len(shown.columns))
    else:
        st.caption("A row is a layer, a column a head, both counted from 0. Click a map to see it large.")
        with st.spinner("Drawing…"):
            page = model_view(shown, mode)
        height = HEAD + n_layers * max(THUMBNAIL, LINE * max(len(shown.rows), len(shown.columns)) // 2)
    st.iframe(
        page, height=height, alt=f"BertViz, {view.lower()} of the {KINDS[kind].name.lower()}; its numbers are below."
    )
    st.caption(notes(maps, shown, len(page)))


def notes(maps: AttentionMaps, shown: AttentionMaps, size: int) -> str:
    """What BertViz was given, and what was left out."""
    text = (
        f"BertViz got {shown.weights.size:,} weights, rounded to {DIGITS} decimals; the view takes {size // 1000} kB."
    )
    if shown.weights.shape != maps.weights.shape:
        text += (
            f" {readable_part(shown.weights.shape[2:], maps.weights.shape[2:])} More would be slow and hard to read."
        )
    return text


def query_times_key(trace: Trace, head: Head) -> None:
    st.markdown(
        "BertViz's third view shows how the single numbers of a query and a key make a weight, but it takes three "
        "models that are built into it and no other. So here it is for yours: choose a pair of pieces."
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
            rows,
            columns,
            key="pair",
            title="Choose a pair",
            how_to_read=f"{head_title(head.attention, head.layer, head.head)}: weights.",
            describe=KINDS[head.attention].describe,
            hidden=np.isneginf(trace.attention(head.attention, head.layer, "scores")[head.head])[size],
            selected=(row, column),
            csv_name=f"{head.path}.weights head {head.head + 1}",
            on_select=lambda cell: write_pair("cell", cell),
        )
    q = trace.attention(head.attention, head.layer, "q")[head.head, row]
    k = trace.attention(head.attention, head.layer, "k")[head.head, column]
    with right:
        st.markdown(f"Query of **{in_markdown(rows[row])}**, key of **{in_markdown(columns[column])}**")
        show_steps(worked_weight(numbers(trace), head.path, (head.head, row, column)))
    elements(q, k)


def elements(q: np.ndarray, k: np.ndarray) -> None:
    """The products, the largest first or in their own order, and what they add up to."""
    first = one_of("Order", ["largest products first", "by dimension"], key="order")
    products = q.astype(np.float64) * k
    order = np.argsort(-np.abs(products), kind="stable") if first.startswith("largest") else np.arange(len(q))
    matrix(
        np.stack([q[order], k[order], products[order]]),
        ["query", "key", "product"],
        [str(d + 1) for d in order],
        key="elements",
        title="The query, the key and their products",
        how_to_read="A column is a dimension. A positive product pulls the two together, a negative one pushes apart.",
        scale="signed",
        describe="dimension {column}, {row}: {value}",
        csv_name="query times key",
    )
    pro, contra = (float(products[signs].sum()) for signs in (products > 0, products < 0))
    largest_first = np.sort(np.abs(products))[::-1]
    half = int(np.argmax(largest_first.cumsum() >= largest_first.sum() / 2)) + 1
    st.caption(
        f"{int((products > 0).sum())} of {len(products)} products speak for this pair and make {number(pro, 3)}; the "
        f"others make {number(contra, 3)}; together {number(float(products.sum()), 3)}. Half of all that is added up, "
        f"signs aside, comes from the {half} largest products."
    )


st.title("BertViz", anchor=False)
st.markdown(
    "*BertViz* (Vig 2019) has drawn the pictures of attention that most people know. Here it draws your sentence in "
    "this model."
)
bench(sentence_trace())
