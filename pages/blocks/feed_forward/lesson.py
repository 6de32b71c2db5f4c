"""Lesson: a small network that works on every row by itself, and what its hidden units look for."""

import numpy as np
import streamlit as st

from experiments.blocks.position_wise import each_row_alone
from model.anatomy.structure import Layer
from model.parts.feed_forward import FeedForward
from model.trace import Trace
from pages.blocks.feed_forward.leave_out import alone, leave_out
from pages.blocks.feed_forward.network import network_of, shown_units
from pages.blocks.feed_forward.questions import predict
from pages.blocks.feed_forward.units import choose_unit, what_it_looks_for
from ui.components.matrix import Caption, Labels
from ui.controls.control import Choice
from ui.controls.layer_control import LAYER, title_of, tokens_of_layer
from ui.course.check import Part, Shown, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.text import in_markdown, number
from ui.views.attention_kinds import READABLE
from ui.views.charts.activation_strip import raster
from ui.views.charts.tables import numbers_of_figure

# The four steps: the tensor that each ends in, and what it is.
STEPS = {
    "1 comes in": ("in", "What comes in", "The rows that the Add & Norm before it returns, 256 dimensions."),
    "2 × W₁ + b₁": (
        "pre_activation",
        "Before the ReLU",
        "For each piece the units that it drives most; a column is one unit.",
    ),
    "3 ReLU": ("hidden", "After the ReLU", "The same units: what was negative is 0 now. Those units rest."),
    "4 × W₂ + b₂": (
        "output",
        "What goes out",
        "256 dimensions again; Add & Norm adds these rows to those that came in.",
    ),
}


STEP = Choice("Step", "ff_step", list(STEPS), default="3 ReLU")
TRIALS = LOOKS_FOR, LEAVE_OUT, ALONE = "What one unit looks for", "Leave something out", "Each row by itself"


def idea(trace: Trace) -> None:
    config = trace.model.config
    st.markdown(
        "Attention has mixed the pieces. Now a small network works on **each piece by itself**. It widens the piece's "
        f"vector x from {config.d_model} numbers to {config.d_ff:,} **hidden units**, sets the negative ones to 0 (the "
        f"**ReLU**), and narrows the rest to {config.d_model} numbers again."
    )
    st.latex(r"\operatorname{FFN}(x)=\operatorname{ReLU}(xW_1+b_1)\,W_2+b_2")
    with st.expander("The weights, and what is special about the ReLU"):
        weights_and_relu(trace)


def weights_and_relu(trace: Trace) -> None:
    """How large the network is, and what its ReLU does."""
    config, weights = trace.model.config, trace.model.weights
    own = sum(w.size for name, w in weights.items() if ".feed_forward." in name)
    st.markdown(
        f"The weights W₁, b₁, W₂ and b₂ are the same at every position; each layer has its own. There are d_ff = "
        f"{config.d_ff:,} hidden units, four times d_model = {config.d_model}. The networks hold "
        f"**{own / sum(w.size for w in weights.values()):.0%}** of all {trace.model.n_parameters / 1e6:.1f} million "
        "parameters, the numbers that the model has learned."
    )
    st.latex(r"\operatorname{ReLU}(z)=\max(0,z)")
    st.markdown(
        "The ReLU is the only place in the model where a single number is changed by a rule that is no straight line. "
        "Softmax and norm treat a row as a whole."
    )


def see(trace: Trace) -> Shown:
    layer = LAYER.draw(trace.model)
    step, title, how_to_read = STEPS[STEP.draw()]
    units = shown_units(trace, layer)
    by_unit = step in ("pre_activation", "hidden")
    shown = checked_matrix(
        trace,
        network_of(trace, layer).reads if step == "in" else f"{network_of(trace, layer).path}.{step}",
        Caption(f"{title} ({title_of(layer)})", how_to_read),
        labels=Labels(
            columns=[str(unit + 1) for unit in units] if by_unit else None,
            describe="“{row}”, unit {column}: {value}" if by_unit else "“{row}”, dimension {column}: {value}",
        ),
        part=Part(columns=units if by_unit else None),
    )
    shapes(trace, layer)
    if by_unit:
        row_in_words(trace, layer, shown.cell[0])
        all_units(trace, layer)
    return shown


def shapes(trace: Trace, layer: Layer) -> None:
    t, (d_ff, d_model) = (
        len(tokens_of_layer(trace, layer)),
        trace.model.weights[f"{network_of(trace, layer).path}.w_1.weight"].shape,
    )
    st.caption(
        f"Shapes: in ({t}, {d_model}), W₁ ({d_model}, {d_ff}), hidden ({t}, {d_ff}), W₂ ({d_ff}, {d_model}), out "
        f"({t}, {d_model})."
    )


def row_in_words(trace: Trace, layer: Layer, row: int) -> None:
    """How many units fire for a piece, and which are the strongest."""
    hidden = trace.tensors[f"{network_of(trace, layer).path}.hidden"][row]
    fires = int((hidden > 0).sum())
    best = np.argsort(-hidden, kind="stable")[: min(3, fires)]
    st.markdown(
        f"The chosen row is **{in_markdown(tokens_of_layer(trace, layer)[row].text)}**: {fires} of "
        f"{len(hidden):,} units fire, "
        f"{1 - fires / len(hidden):.1%} rest."
        + (" The strongest: " + ", ".join(f"unit {u + 1} ({number(float(hidden[u]), 2)})" for u in best) + "."
           if fires else "")
    )  # fmt: skip


def all_units(trace: Trace, layer: Layer) -> None:
    """All units of all pieces at once."""
    whole = trace.tensors[f"{network_of(trace, layer).path}.hidden"]
    hidden, texts = whole[:READABLE], [token.text for token in tokens_of_layer(trace, layer)[:READABLE]]
    d_ff = hidden.shape[1]
    st.markdown(f"**All {d_ff:,} units at once: a tick for each that fires**")
    raster(texts, hidden, f"For each piece, how many of the {d_ff} hidden units fire")
    st.caption(f"From left to right units 1 to {d_ff:,}; the fainter, the weaker. On the right: how many fire.")
    numbers_of_figure(
        ("piece", "units that fire", "units that rest", "strongest unit", "its value"),
        [
            (text, str(n), f"{1 - n / d_ff:.1%}", str(int(row.argmax()) + 1), number(float(row.max())))
            for text, n, row in zip(texts, (hidden > 0).sum(1), hidden, strict=True)
        ],
    )
    if len(whole) > READABLE:
        st.caption(f"Shown: the first {READABLE} of {len(whole)} pieces.")


def do(trace: Trace) -> None:
    layer = LAYER.value(trace.model)
    # Older addresses say what to leave out, and not that one wants to.
    trial = Choice("Try", "ff_trial", TRIALS, TRIALS["leave_out" in st.query_params]).draw()
    if trial == ALONE:
        alone(trace, layer)
        return
    unit = choose_unit(trace, layer)
    if trial == LOOKS_FOR:
        what_it_looks_for(trace, layer, unit)
    else:
        leave_out(trace, layer, unit)


LESSON = Lesson(
    "feed-forward",
    "Feed-forward",
    asks="What happens to a piece once it has gathered what it needs?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check_cell, do=do),
    code=(FeedForward, each_row_alone),
    on_map=OnMap(opens=("encoder.feed_forward", "decoder.feed_forward"), near="widen"),
)
