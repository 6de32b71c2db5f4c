"""Lesson: the decoder writes one piece at a time. Step by step, by several methods, with and without its cache."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from model.cache import KeyValueCache
from model.decoding import beam_steps, filter_logits, forced_prefix_steps, greedy_steps, sampling_steps
from model.interventions import Head
from model.tokenizer import EOS
from model.trace import Trace
from pages.inference.inference import state
from pages.inference.inference.another import another_word, total
from pages.inference.inference.beam import beam_search
from pages.inference.inference.cost import all_at_once, with_and_without_cache
from pages.inference.inference.sampling import narrowed_at, sampling
from pages.inference.inference.stage import KIND, NUMBERS, OWN, SENTENCE, numbers_of_step, stage
from pages.inference.inference.why import why
from ui import engine
from ui.controls.head_control import HeadControl
from ui.controls.segmented import one_of
from ui.course.check import check_cell
from ui.course.lesson import Lesson
from ui.course.quiz import Question
from ui.text import bold, number, piece

HEADS = "All heads of the layer, averaged", "The chosen head"
NUCLEUS = 0.9  # top-p of the question


def idea(trace: Trace) -> None:
    st.markdown(
        "The encoder reads your sentence once. Then the decoder writes the German one piece at a time: it reads "
        f"`<sos>` and all that is written so far, gives every entry of the vocabulary a probability, one of them is "
        f"taken and put behind the rest, and it all begins again, until the piece taken is `{EOS}`, the end."
    )
    st.latex(r"P(y\mid x)=\prod_{t=1}^{T} P(y_t\mid y_1,\dots,y_{t-1},\,x)")
    st.markdown(
        "How one piece is *taken* is not learned; it is up to us. **Greedy**: always the likeliest. **Beam search**: "
        "keep several beginnings and see which turns out best. **Sampling**: draw at random, as often as the "
        "probabilities say."
    )


def see(trace: Trace) -> None:
    _, note = state.read_prefix(trace.text)
    if note:
        st.warning(note)
    writing, step = state.now(trace)
    place = st.container()  # the theatre stands above the controls that it heeds
    with st.container(horizontal=True, vertical_alignment="center", key="own_way"):
        st.button(
            "Back to the model's own choice",
            key="own_choice",
            on_click=state.write_prefix,
            args=((),),
            disabled=not any(state.yours(writing)),
        )
        st.markdown(state.ended(writing))
    head = HeadControl((KIND,), KIND).draw(trace.model)
    averaged = one_of("Attention of", HEADS, key="heads_of", wrap=True) == HEADS[0]
    with place:
        stage(writing, step, head, averaged)
    numbers_of_step(writing, step, head, averaged, one_of("Numbers of this step", NUMBERS, key="numbers", wrap=True))


def check(trace: Trace) -> None:
    writing, step = state.now(trace)
    place = st.container(border=True, key="why")  # measured last, because that takes longest
    check_cell(writing)
    with place:
        if needed := why(writing, step):
            st.button("Show that head in See", key="show_head", on_click=show_head, args=(needed,))


def show_head(head: Head) -> None:
    st.session_state["layer"], st.session_state["head"] = head.layer + 1, head.head + 1
    st.session_state["heads_of"] = HEADS[1]
    st.session_state["numbers"] = SENTENCE if head.attention == KIND else OWN


def do(trace: Trace) -> None:
    trials = {
        "Another word": another_word,
        "Beam search": beam_search,
        "Sampling": sampling,
        "With and without cache": with_and_without_cache,
        "All at once": all_at_once,
    }
    trials[one_of("Try", list(trials), key="method", wrap=True)](trace)


def predict(trace: Trace) -> Sequence[Question]:
    return nucleus(trace), likelier(trace), PARALLEL, GPT


def nucleus(trace: Trace) -> Question:
    """How many pieces top-p keeps, at the step where they are most."""
    counts = [int((narrowed_at(trace, n, 1.0, 0, NUCLEUS)[1] > 0).sum()) for n in range(len(trace.labels))]
    step = int(np.argmax(counts))
    right = counts[step]
    size = engine.model().config.vocab_size
    options = sorted({min(n, size) for n in (1, right, 2 * right + 1, 10 * right, size)})
    found = trace.steps[step].candidates
    return Question(
        "nucleus",
        f"At step {step + 1}, after {bold(piece(trace.tgt[step].text))}, the likeliest piece is "
        f"{bold(state.text_of(found[0].id))} with probability {number(found[0].probability, 2)}. How many pieces does "
        f"top-p {NUCLEUS} keep there?",
        tuple(f"{n:,}" for n in options),
        frozenset({options.index(right)}),
        f"The {right:,} likeliest together are the fewest that reach {NUCLEUS}. Where the model is sure, one is "
        "enough; where it hesitates, many stay: top-p adapts to the step, top-k does not.",
    )


def likelier(trace: Trace) -> Question:
    best = state.beam(trace.text, 5, ())[-1]
    likeliest = max(best.finished or best.hypotheses, key=lambda one: one.log_probability)
    own, other = total(trace), likeliest.log_probability
    same = likeliest.ids == state.ids(trace.labels)
    right = 2 if same else 0 if other > own else 1
    return Question(
        "beam",
        "Beam search with 5 beginnings looks further than greedy. On this sentence, its likeliest finished translation "
        "is…",
        ("likelier than the greedy one", "less likely than the greedy one", "the very same"),
        frozenset({right}),
        f"Greedy: {bold(trace.translation or '(nothing)')} with log-probability {number(own, 2)}. Beam: "
        f"{bold(state.as_text(likeliest) or '(nothing)')} with {number(other, 2)}. A beam usually finds something at "
        "least as likely, but nothing guarantees it: it, too, drops beginnings that would have turned out well.",
    )


PARALLEL = Question(
    "parallel",
    "Training computes all rows of the decoder at once. Why does inference not?",
    (
        "Because the model is too large to run in parallel.",
        "Because each piece is part of the input of the next step, and does not exist before it is written.",
        "Because the cache allows one position at a time only.",
        "Because the causal mask forbids it.",
    ),
    frozenset({1}),
    "In training the right translation is known, so all inputs are there from the start. The causal mask is what makes "
    "the parallel pass give the same numbers; the cache only saves work.",
)

GPT = Question(
    "gpt",
    "The first GPT is a decoder that writes like this one. Its count of parameters is closest to…",
    ("117", "117 thousand", "117 million", "117 billion"),
    frozenset({2}),
    "About 117 million (Radford et al. 2018). Its successors kept the way of writing and grew to many billions.",
)


LESSON = Lesson(
    "inference",
    "Inference",
    asks="How does the model write, one piece at a time?",
    idea=idea,
    see=see,
    do=do,
    check=check,
    predict=predict,
    code=(greedy_steps, beam_steps, filter_logits, sampling_steps, forced_prefix_steps, KeyValueCache),
    lit=("decoder.embedding", "decoder.stack", "output.softmax"),
)
