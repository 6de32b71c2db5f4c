"""Any heads of the model switched off, and what becomes of the translation."""

import numpy as np
import streamlit as st

from model.interventions import Head, Interventions
from model.trace import Trace
from pages.attention.multi_head.measures import layer_of, probabilities_with, read_off, write_off
from ui import engine
from ui.controls.head_control import HEAD
from ui.text import in_markdown, magnitude, number
from ui.views.attention_kinds import KINDS, READABLE
from ui.views.before_after import MOVED, pieces_before_after
from ui.views.charts.bars import bars
from ui.views.head_names import heads_in_words, where


def switch_off(trace: Trace) -> None:
    """Any heads off, and what becomes of the translation."""
    st.markdown(
        "Switch off as many heads as you like. What a head takes away becomes 0, for every piece and at every step; "
        "the others go on with what is left. A filled button is a head that is **off**."
    )
    change, problem = read_off(trace.model)
    if problem:
        st.warning(in_markdown(f"All heads are on, because the address could not be followed: {problem}."))
    choose_off(trace, change.heads_off)
    after = engine.retrace(trace, interventions=change) if change else None
    if after:
        whole_layers(change, after)
    left, right = st.columns(2, gap="large")
    with left:
        written("All heads on", trace)
    with right:
        if after is None:
            st.info("Switch a head off to fill this side.")
            return
        written(f"{heads_in_words(len(change.heads_off))} off", after)
    moved(trace, change)


def choose_off(trace: Trace, off: tuple[Head, ...]) -> None:
    """A button for every head, the same layers and heads as in the address."""
    config = trace.model.config
    layers = [(kind, layer) for kind in KINDS for layer in range(config.n_layers)]

    def collect() -> None:
        write_off(
            tuple(Head(kind, layer, n - 1) for kind, layer in layers for n in st.session_state[f"off/{kind}/{layer}"])
        )

    for column, kind in zip(st.columns(len(KINDS), gap="medium"), KINDS, strict=True):
        with column:
            for layer in range(config.n_layers):
                key = f"off/{kind}/{layer}"
                wanted = [head.head + 1 for head in off if (head.attention, head.layer) == (kind, layer)]
                if st.session_state.get(key) != wanted:
                    st.session_state[key] = wanted
                numbers = range(1, config.n_heads + 1)
                st.pills(
                    f"{KINDS[kind].label}, layer {layer + 1}",
                    numbers,
                    selection_mode="multi",
                    key=key,
                    on_change=collect,
                )
    here = HEAD.value(trace.model)
    with st.container(horizontal=True, gap="small", key="off_buttons"):
        st.button(
            f"All heads of {where(here)} off",
            key="layer_off",
            help="The attention and the layer chosen in See.",
            on_click=write_off,
            args=((*off, *layer_of(trace, here)),),
        )
        st.button("All heads on", key="all_on", disabled=not off, on_click=write_off, args=((),))


def whole_layers(change: Interventions, after: Trace) -> None:
    """What it means where no head of a layer is left."""
    config, off = after.model.config, set(change.heads_off)
    for kind in KINDS:
        empty = [n for n in range(config.n_layers) if off.issuperset(layer_of(after, Head(kind, n, 0)))]
        if not empty:
            continue
        largest = max(float(np.abs(after.attention(kind, layer, "output")).max()) for layer in empty)
        *most, last = (str(n + 1) for n in empty)
        layers = f"layers {', '.join(most)} and {last}" if most else f"layer {last}"
        consequence = "Nothing comes out of this attention: each piece goes on with the vector that it had."
        if len(empty) == config.n_layers:
            consequence = {
                "encoder": "So no English piece learns of another: the decoder gets single pieces and their places.",
                "decoder": "So the decoder knows the last piece that it read and its place, but nothing before it.",
                "cross": "So the decoder learns nothing of your sentence: it writes the same after any other.",
            }[kind]
        st.info(
            f"**{KINDS[kind].name}, {layers}: all {config.n_heads} heads are off.** What comes out of $W^O$ is 0 (its "
            f"largest number is {number(largest)}), and Add & Norm goes on with what came in. {consequence}"
        )


def written(title: str, one: Trace) -> None:
    """A translation, and how likely the model that wrote it found each piece."""
    st.markdown(f"**{title}:** {in_markdown(one.translation) or '(nothing)'}")
    shown = one.labels[:READABLE]
    bars([token.text for token in shown], one.probabilities[:READABLE], f"{title}: probability of each piece written")
    notes = []
    if len(shown) < len(one.labels):
        notes.append(f"The first {READABLE} of {len(one.labels)} pieces.")
    if not one.finished:
        notes.append(f"It did not come to an end and was stopped after {len(one.labels)} pieces.")
    if notes:
        st.caption(" ".join(notes))


def moved(trace: Trace, change: Interventions) -> None:
    """The probability of each piece of the first translation, before and after."""
    before, after = np.array(trace.probabilities), probabilities_with(trace, change)
    names = "with all heads on", f"with {heads_in_words(len(change.heads_off))} off"
    st.markdown("**How likely each piece of the first translation still is**, given the pieces before it")
    falls, rises = pieces_before_after(trace.labels, before, after, names)
    ratio = float(np.exp(np.log(after).sum() - np.log(before).sum()))
    st.markdown(
        f"It falls for **{falls}** of {len(before)} pieces and rises for **{rises}** (by more than {MOVED}). The whole "
        f"translation, read piece by piece, is **{magnitude(ratio)} times** as likely as before."
    )
