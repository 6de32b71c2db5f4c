"""Two models on one sentence, or one model on two sentences, side by side, and which of their heads are alike."""

from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from experiments.attention.two_ways import LINEAR
from hub.attention import AttentionMaps, of_trace
from hub.local_models import ModelError, Settings, listed
from hub.open_models import OURS, confinement, shelf
from hub.similarity import PLACES, places, similarity
from model.files.checkpoint import CheckpointError
from model.files.loaded_model import TRANSLATOR, model_names
from model.trace import EmptySentenceError
from ui import engine
from ui.controls.address import write_pair
from ui.controls.segmented import one_of
from ui.course.notices import MAX_CHARS
from ui.course.sentence import KEY
from ui.text import bold, in_markdown, number, visible
from ui.views.attention_kinds import KINDS
from ui.views.attention_maps import MEAN, Chosen, Place
from ui.views.charts.tables import table
from ui.views.external_models import SPECIAL, browse_maps, choose_model, refused, shown_groups

OPENS_ON = (0, 0)  # layer and head
BEST = 8  # pairs of heads that are listed
SIDES = {"left": "First", "right": "Second"}
# By the name that is shown: the models that come with the app, the translator first; not one without weights of pairs.
OWN_MODELS = {OURS if name == TRANSLATOR else name: name for name in (TRANSLATOR, *model_names()) if name != LINEAR}


@dataclass(frozen=True)
class Side:
    """A model and what it makes of a sentence."""

    model: str
    sentence: str
    maps: tuple[AttentionMaps, ...]


def maps_of(settings: Settings, name: str, sentence: str) -> Side | None:
    """The attention of a model on a sentence; None, with a message on the page, if there is none."""
    try:
        if name in OWN_MODELS:
            return Side(name, sentence, of_trace(engine.trace(sentence, name=OWN_MODELS[name])))
        with st.spinner(f"Reading with {in_markdown(name)}…"):
            return Side(name, sentence, shelf(settings).read(name, sentence).maps)
    except ModelError as error:
        refused(str(error), error.detail)
    except (EmptySentenceError, CheckpointError) as error:
        st.warning(in_markdown(str(error)))
    return None


def choose(settings: Settings) -> dict[str, Side | None]:
    """Model and sentence of each side."""
    others = [name for name in listed(settings.root) if name not in OWN_MODELS]
    names = [*OWN_MODELS, *others]
    sentence = (st.session_state.get(KEY) or "")[:MAX_CHARS].strip()
    sides: dict[str, Side | None] = {}
    left: str | None = None
    for column, side in zip(st.columns(2, gap="large"), SIDES, strict=True):
        with column:
            default = others[0] if others and side == "right" else OURS
            name = choose_model(f"{SIDES[side]} model", names, f"{side}_model", default)
            if side == "left":
                left = name
            else:
                sentence = second_sentence(sentence, same_model=name == left)
            if not sentence:
                st.info("There is nothing to read yet: type a sentence.")
            sides[side] = maps_of(settings, name, sentence) if name and sentence else None
    return sides


def second_sentence(first: str, same_model: bool) -> str:
    """What the second model reads. If nothing is typed, another model reads the same, the same model something else."""
    examples = (example.sentence for example in engine.model().about.examples)
    otherwise = next((e for e in examples if e.rstrip(".") != first.rstrip(".")), first) if same_model else first
    typed = st.text_input(
        "Sentence for the second model",
        key="second",
        bind="query-params",
        live="300ms",
        placeholder=visible(otherwise),
        help="While this is empty, another model reads the same sentence as the first, and the same model reads the "
        "sentence that stands here in grey.",
    )
    return (typed or "")[:MAX_CHARS].strip() or otherwise


@st.fragment
def compare(left: Side, right: Side) -> None:
    """Both maps, and which head of the one is most like which of the other."""
    with st.container(horizontal=True, gap="medium"):
        by_word = st.toggle("Group pieces into words", key="words", bind="query-params")
        hide = st.toggle("Hide special pieces", key="hide_special", bind="query-params", help=in_markdown(SPECIAL))
    shown: dict[str, AttentionMaps] = {}
    chosen: dict[str, Chosen] = {}
    with st.container(key="sides"):
        for column, side, one in zip(st.columns(2, gap="large"), SIDES, (left, right), strict=True):
            with column:
                st.markdown(f"{SIDES[side]}: {bold(one.model)} on “{in_markdown(one.sentence)}”")
                by_label = {KINDS[maps.kind].label: maps for maps in one.maps}
                label = one_of("Attention", list(by_label), key=f"{side}_kind")
                maps = shown[side] = by_label.get(label) or one.maps[0]
                chosen[side] = browse_maps(
                    maps.kind,
                    maps.weights,
                    maps.hidden,
                    shown_groups(maps.rows, maps.row_words, maps.row_wholes, by_word, hide),
                    shown_groups(maps.columns, maps.column_words, maps.column_wholes, by_word, hide),
                    OPENS_ON,
                    name=SIDES[side],
                    place=Place(prefix=f"{side}_", stacked=True),
                )
    st.header("What these two heads do", anchor=False)
    what_they_do(shown["left"], shown["right"], chosen["left"], chosen["right"])
    st.header("Which heads behave alike?", anchor=False)
    matched(shown["left"], shown["right"], chosen["left"])
    if by_word or hide:
        st.caption("These numbers count all pieces one by one, whatever is grouped or hidden above.")


def what_they_do(left: AttentionMaps, right: AttentionMaps, one: Chosen, two: Chosen) -> None:
    """Where the two chosen heads put their weight, and how much of it they put in the same place."""
    shares = [shares_of(maps, chosen) for maps, chosen in ((left, one), (right, two))]
    both = np.minimum(*shares)
    lines = [(name, *map(number3, values)) for name, *values in zip(PLACES, *shares, both, strict=True)]
    lines.append(("together", *(number3(values.sum()) for values in (*shares, both))))
    st.markdown("What share of its weight a head puts where, averaged over all rows:")
    table(("a row looks at", f"first: {head_name(one)}", f"second: {head_name(two)}", "the smaller share"), lines)
    likeness, cell_by_cell = similarity(left, right)
    text = "Each place counts once, in the first line that fits."
    if "cross" in (left.kind, right.kind):
        text += (
            " In encoder-decoder attention the row and the columns are different texts. There “itself” is the place "
            "as far into the one as the row is into the other, whatever is written there."
        )
    if cell_by_cell and MEAN not in (one.head, two.head):
        alike = number3(likeness[one.layer, one.head, two.layer, two.head])
        text += f" Both sides have the same pieces, so every cell can be compared: then the two heads share {alike}."
    st.caption(text)


def shares_of(maps: AttentionMaps, chosen: Chosen) -> NDArray[np.floating]:
    """What share of its weight the chosen head, or the average of its layer, gives to each of PLACES."""
    shares = places(maps)[chosen.layer]
    return shares.mean(0) if chosen.head == MEAN else np.asarray(shares[chosen.head])


def matched(left: AttentionMaps, right: AttentionMaps, chosen: Chosen) -> None:
    """The head that is most like the chosen one, and the pairs that are most alike."""
    likeness, cell_by_cell = similarity(left, right)
    same = (left.rows, left.columns) == (right.rows, right.columns)
    why = "There are too many heads and pieces for that here" if same else "The two sides have different pieces here"
    st.markdown(
        "Two heads are alike if they put the same weight in the same places: 1 means all of it, 0 means none. "
        + (
            "Both sides have the same pieces here, so every cell is compared."
            if cell_by_cell
            else f"{why}, so the lines of the table above are compared: the smaller shares, added up."
        )
    )
    n_heads = likeness.shape[3]
    if chosen.head != MEAN:
        partners = likeness[chosen.layer, chosen.head]
        partner = divmod(int(partners.argmax()), n_heads)
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(
                f"Of the second model's heads, {place(partner)} is most like {head_name(chosen)} of the first: "
                f"**{number3(partners.max())}**."
            )
            st.button("Show it above", key="show_partner", on_click=write_pair, args=("right_map", partner, OPENS_ON))
    flat = likeness.reshape(likeness.shape[0] * likeness.shape[1], -1)
    best = sorted(range(len(flat)), key=lambda i: -flat[i].max())[:BEST]
    pairs = [(divmod(i, likeness.shape[1]), divmod(int(flat[i].argmax()), n_heads)) for i in best]
    st.markdown(f"The {len(pairs)} heads of the first model that have the most similar head in the second:")
    lines = [(str(n), place(one), place(two), number3(likeness[one + two])) for n, (one, two) in enumerate(pairs, 1)]
    table(("", "first", "second", "alike"), lines)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown("Show a pair in the maps above:", width="content")
        for n, pair in enumerate(pairs, 1):
            names = " and ".join(map(place, pair))
            st.button(str(n), key=f"show_pair{n}", help=names, on_click=show_pair, args=pair)
    st.caption(f"For comparison: half of all pairs of heads are less alike than {number3(np.median(flat))}.")


def show_pair(left: tuple[int, int], right: tuple[int, int]) -> None:
    write_pair("left_map", left, OPENS_ON)
    write_pair("right_map", right, OPENS_ON)


def head_name(chosen: Chosen) -> str:
    return f"layer {chosen.layer + 1}, average" if chosen.head == MEAN else place((chosen.layer, chosen.head))


def place(head: tuple[int, int]) -> str:
    return f"layer {head[0] + 1}, head {head[1] + 1}"


def number3(value: float | np.floating) -> str:
    return number(float(value), 3)


st.title("Compare", anchor=False)
st.markdown("Two models read one sentence, or one model reads two: do their heads look at the same things?")
settings = Settings.of()
if told := confinement(settings):
    st.warning(told)
if not listed(settings.root):
    st.caption("Here one model reads two sentences. The page *Any model* says how to add other models to compare with.")
sides = choose(settings)
if sides["left"] and sides["right"]:
    compare(sides["left"], sides["right"])
