"""Lesson: the decoder writes one piece at a time. Step by step, by several methods, with and without its cache."""

import streamlit as st

from model.decoding.cache import KeyValueCache
from model.decoding.strategies import beam_steps, filter_logits, forced_prefix_steps, greedy_steps, sampling_steps
from model.interventions import Head
from model.text.tokenizer import EOS
from model.trace import Trace
from pages.inference.inference import state
from pages.inference.inference.another import another_word
from pages.inference.inference.beam import beam_search
from pages.inference.inference.cost import all_at_once, with_and_without_cache
from pages.inference.inference.questions import predict
from pages.inference.inference.sampling import sampling
from pages.inference.inference.stage import HEAD, KIND, NUMBERS, OWN, SENTENCE, numbers_of_step, stage
from pages.inference.inference.why import why
from ui.controls.control import Choice
from ui.course.check import Shown, check_cell
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.ride import watch_step
from ui.views.translation import translation

AVERAGED, ONE = "All heads of the layer, averaged", "The chosen head"
HEADS = Choice("Attention of", "heads_of", (AVERAGED, ONE))
TRIALS = {
    "Another word": another_word,
    "Beam search": beam_search,
    "Sampling": sampling,
    "With and without cache": with_and_without_cache,
    "All at once": all_at_once,
}
TRIAL = Choice("Try", "method", list(TRIALS))


def idea(trace: Trace) -> None:
    st.markdown(
        "The encoder reads your sentence once. The decoder reads `<sos>` and all that is written so far, and gives "
        "every piece of the vocabulary a probability. One piece is taken and put at the end, and it all begins "
        f"again, until the piece taken is `{EOS}`, the end."
    )
    with st.expander("How a piece is taken, and how likely a whole translation is"):
        st.markdown(
            "How one piece is *taken* is not learned; it is up to us. **Greedy**: always the likeliest. **Beam "
            "search**: keep several beginnings and see which turns out best. **Sampling**: draw at random, as often as "
            "the probabilities say."
        )
        st.markdown(
            "The probability of a whole translation y of a sentence x is the product of those of its T pieces, each "
            "given what stands before it:"
        )
        st.latex(r"P(y\mid x)=\prod_{t=1}^{T} P(y_t\mid y_1,\dots,y_{t-1},\,x)")


def see(trace: Trace) -> Shown:
    _, note = state.read_prefix(trace)
    if note:
        st.warning(note)
    writing, step = state.now(trace)
    # The theatre stands above the controls that it follows, and the reasons beside it also on a phone.
    theatre, reasons = st.container(), st.container(border=True, key="why")
    with st.container(horizontal=True, vertical_alignment="center", key="own_way"):
        st.button(
            "Back to the model's own choice",
            key="own_choice",
            on_click=state.write_prefix,
            args=((),),
            disabled=not any(state.yours(writing)),
        )
        if st.button("Watch this step in the machine", key="watch_step", icon=":material/play_circle:"):
            watch_step(writing, step)
        st.markdown(state.ended(writing))
    with st.expander("Which attention the shades show"):
        head = HEAD.draw(trace.model)
        averaged = HEADS.draw() == AVERAGED
    with theatre:
        translation(writing, own=not any(state.yours(writing)))
        stage(writing, step, head, averaged)
    shown = numbers_of_step(writing, step, head, averaged, NUMBERS.draw())
    with reasons:  # measured last, because that takes longest
        if needed := why(writing, step):
            st.button("Show that head", key="show_head", on_click=show_head, args=(needed,))
    return shown


def show_head(head: Head) -> None:
    st.session_state["layer"], st.session_state["head"] = head.layer + 1, head.head + 1
    st.session_state[HEADS.key] = ONE
    st.session_state[NUMBERS.key] = SENTENCE if head.attention == KIND else OWN


def do(trace: Trace) -> None:
    TRIALS[TRIAL.draw()](trace)


LESSON = Lesson(
    "inference",
    "Inference",
    asks="How does the model write, one piece at a time?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check_cell, do=do),
    code=(greedy_steps, beam_steps, filter_logits, sampling_steps, forced_prefix_steps, KeyValueCache),
    on_map=OnMap(plays=("choose", "feed", "decoder.self_attn", "write", "end")),
)
