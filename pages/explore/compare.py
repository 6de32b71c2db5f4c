"""Two models on one sentence, or one model on two sentences, side by side; heads matched by what they look at."""

import numpy as np
import streamlit as st

from explore.attention import AttentionMaps, of_trace
from explore.folders import ModelError, Settings, listed
from explore.hugging_face import shelf
from explore.similarity import similarity
from figures.grouping import pieces, words
from model.trace import EmptySentenceError
from ui import engine
from ui.address import write_pair
from ui.attention import KINDS
from ui.foreign import choose_model
from ui.maps import MEAN, Chosen, browse
from ui.notices import MAX_CHARS
from ui.one_of import one_of
from ui.sentence import KEY
from ui.tables import table
from ui.text import in_markdown, number

OURS = "this translator"
OPENS_ON = (0, 0)  # layer and head
BEST = 8  # pairs of heads that are listed
SIDES = {"left": "First", "right": "Second"}

Side = tuple[AttentionMaps, ...]


def maps_of(settings: Settings, name: str, sentence: str) -> Side | None:
    """The attention of a model on a sentence; None, and a word why, if it cannot be had."""
    try:
        if name == OURS:
            return of_trace(engine.trace(sentence))
        with st.spinner(f"Reading with {in_markdown(name)}…"):
            return shelf(settings).read(name, sentence).maps
    except (ModelError, EmptySentenceError) as error:
        st.warning(in_markdown(str(error)))
        return None


def choose(settings: Settings) -> dict[str, Side | None]:
    """Model and sentence of each side."""
    names = [OURS, *listed(settings.root)]
    typed = (st.session_state.get(KEY) or "")[:MAX_CHARS].strip()
    found: dict[str, Side | None] = {}
    for column, side in zip(st.columns(2, gap="large"), SIDES, strict=True):
        with column:
            other = next((name for name in names if side == "right" and name != OURS), OURS)
            name = choose_model(f"{SIDES[side]} model", names, f"{side}_model", other)
            if side == "left":
                sentence = typed
            else:
                own = st.text_input(
                    "Another sentence for the second (empty: the same)", key="second", bind="query-params", live="300ms"
                )
                sentence = (own or "")[:MAX_CHARS].strip() or typed
            if not sentence:
                st.info("There is nothing to read yet: type a sentence.")
            found[side] = maps_of(settings, name, sentence) if name and sentence else None
    return found


@st.fragment
def compare(left: Side, right: Side) -> None:
    """Both maps, and which head of the one is most like which of the other."""
    by_word = st.toggle("Group pieces into words", key="words", bind="query-params")
    shown: dict[str, AttentionMaps] = {}
    chosen: dict[str, Chosen] = {}
    for column, side, maps in zip(st.columns(2, gap="large"), SIDES, (left, right), strict=True):
        with column:
            by_label = {KINDS[one.kind].label: one for one in maps}
            label = next(iter(by_label))
            if len(by_label) > 1:
                label = one_of(f"{SIDES[side]}: attention", list(by_label), key=f"{side}_kind", default=label)
            one = shown[side] = by_label.get(label) or maps[0]
            chosen[side] = browse(
                one.weights,
                words(one.rows, one.row_words) if by_word else pieces(one.rows),
                words(one.columns, one.column_words) if by_word else pieces(one.columns),
                title=KINDS[one.kind].name,
                how_to_read="A row is a token that looks; its weights over all columns add up to 1.",
                describe="“{row}” looks at “{column}”: {value}",
                csv_name=f"{SIDES[side]} {one.kind} attention",
                default=OPENS_ON,
                prefix=f"{side}_",
                stacked=True,
            )
    matched(shown["left"], shown["right"], chosen["left"])


def matched(left: AttentionMaps, right: AttentionMaps, chosen: Chosen) -> None:
    """The likeliest partners of the chosen head, and the best pairs of all."""
    st.header("Which heads do alike?", anchor=False)
    likeness, cell_by_cell = similarity(left, right)
    st.markdown(
        "Two heads are alike as far as they put the same weight on the same place: 1 is all of it, 0 none. "
        + (
            "Both sides have the same tokens here, so every cell counts."
            if cell_by_cell
            else "The two sides have different tokens here, so what counts is the kind of place: the token itself, the "
            "previous, the next, the first, the last, or any other to the left or right."
        )
    )
    if chosen.head != MEAN:
        partners = likeness[chosen.layer, chosen.head]
        layer, head = divmod(int(partners.argmax()), partners.shape[1])
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(
                f"Most like the head chosen on the left (layer {chosen.layer + 1}, head {chosen.head + 1}) is layer "
                f"{layer + 1}, head {head + 1} on the right: **{number(float(partners.max()), 3)}**."
            )
            st.button("Show it", key="show_partner", on_click=write_pair, args=("right_map", (layer, head), OPENS_ON))
    flat = likeness.reshape(likeness.shape[0] * likeness.shape[1], -1)
    best = sorted(range(len(flat)), key=lambda i: -flat[i].max())[:BEST]
    lines = [
        (
            place(i, likeness.shape[1]),
            place(int(flat[i].argmax()), likeness.shape[3]),
            number(float(flat[i].max()), 3),
        )
        for i in best
    ]
    st.markdown(f"The {len(lines)} heads on the left with the best partners:")
    table(("on the left", "most like, on the right", "alike"), lines)
    by_chance = float(np.median(flat))
    st.caption(f"Half of all pairs of heads are less alike than {number(by_chance, 3)}.")


def place(index: int, n_heads: int) -> str:
    layer, head = divmod(index, n_heads)
    return f"layer {layer + 1}, head {head + 1}"


st.title("Compare", anchor=False)
st.markdown("Two models on one sentence, or one model on two sentences: do their heads look at the same things?")
sides = choose(Settings.of())
if sides["left"] and sides["right"]:
    compare(sides["left"], sides["right"])
