"""Sampling on the visitor's sentence: what is drawn, and what it is drawn from."""

import streamlit as st

from experiments.writing.sampling import narrowed_at
from model.trace import MAX_TOKENS, Trace
from pages.inference.inference import state
from pages.inference.inference.another import step_cards
from pages.inference.inference.state import text_of
from ui.controls.control import Number
from ui.text import bold, chance, in_markdown, piece
from ui.views.narrowed_step import narrowed_chart, narrowed_numbers

TEMPERATURE = Number("Temperature", "temperature", 0.0, 2.0, 1.0, 0.1)
TOP_K = Number("Top-k (0: all)", "top_k", 0, 50, 0)
TOP_P = Number("Top-p", "top_p", 0.0, 1.0, 1.0, 0.05)
SEED = Number("Seed", "seed", 0, 9999, 0)  # a field to type in would fail at an address with hundreds of digits


def draw_again() -> None:
    st.session_state["seed"] = (st.session_state["seed"] + 1) % 10_000


def sampling(trace: Trace) -> None:
    st.markdown(
        "Draw each piece at random. A **temperature** below 1 sharpens the probabilities, one above 1 flattens them. "
        "**Top-k** keeps the k likeliest pieces, **top-p** the fewest that together reach p. The **seed** fixes the "
        "draw: the same seed, the same sentence."
    )
    first, second, third, fourth, fifth = st.columns([1, 1, 1, 1, 0.6], gap="medium", vertical_alignment="bottom")
    with first:
        temperature = TEMPERATURE.draw()
    with second:
        top_k = TOP_K.draw()
    with third:
        top_p = TOP_P.draw()
    with fourth:
        seed = SEED.draw()
    with fifth:
        st.button("Draw again", key="draw_again", on_click=draw_again)
    prefix, _ = state.read_prefix(trace)
    drawn = state.sampled(trace, temperature, top_k, top_p, seed, prefix)
    st.markdown(
        f"Drawn: {bold(drawn.translation or '(nothing)')} Greedy writes: "
        f"{bold(state.written(trace, prefix).translation or '(nothing)')}"
    )
    if not drawn.finished:
        st.caption(f"It did not come to an end; it was stopped after {MAX_TOKENS} pieces.")
    step = state.read_step(len(drawn.labels))
    step_cards(drawn, step, "drawn_steps", "The drawn sentence: choose a step", "not the likeliest")

    probabilities, kept = narrowed_at(drawn, step, temperature, top_k, top_p)
    likeliest = [id for id, _ in state.candidates(drawn, step)]
    names = [text_of(trace, id) for id in likeliest]
    narrowed_chart(step, names, probabilities[likeliest], kept[likeliest])
    label = drawn.labels[step]
    given = step < len(prefix)
    st.markdown(
        f"At step {step + 1} the sampler keeps **{int((kept > 0).sum()):,}** of {len(kept):,} entries"
        + ("; this piece was chosen by you, not drawn. " if given else ". It drew ")
        + f"{bold(piece(label.text))}: {chance(float(probabilities[label.id]))} before, "
        f"{chance(float(kept[label.id]))} after."
        + (" Temperature 0 leaves the likeliest alone: that is greedy." if temperature == 0 else "")
        + (" Top-p 0 keeps one: the likeliest always stays." if top_p == 0 and temperature > 0 else "")
    )
    if temperature > 0 and top_k == 0 and top_p == 1:
        st.caption(in_markdown("Nothing is narrowed: only <pad> and <sos> are left out, which are never written."))
    narrowed_numbers(names, probabilities[likeliest], kept[likeliest])
