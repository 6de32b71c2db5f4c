"""Why the root of d_k: random vectors, a model before training, and this one without the scale."""

import math

import streamlit as st

from experiments.attention.random_products import PAIRS, spreads
from figures.statistics import entropy_bits, softmax_slope
from model.interventions import Head, Interventions
from model.trace import Trace
from ui import engine
from ui.controls.control import Choice, Switch
from ui.text import number
from ui.views.before_after import heads_before_after
from ui.views.charts.column_chart import Series, column_chart
from ui.views.charts.tables import numbers_of_figure, table

# What is measured of every row of weights: its name, how, and with how many decimals.
MEASURES = (
    ("entropy, in bits", entropy_bits, 2),
    ("largest weight", lambda weights: weights.max(-1), 2),
    ("steepest slope of the softmax", softmax_slope, 3),
)
TRAINED, BEFORE = "The trained model", "The same shape, random weights"
MODEL = Choice("Where", "scale_model", (TRAINED, BEFORE))
OFF = Switch("Do not divide by √d_k", "scale_off")
SIZES = (4, 16, 64, 256)  # of vectors, so that their roots are whole numbers


def random_vectors(trace: Trace, d_k: int) -> None:
    """How large products of random vectors are, measured now, against √d_k."""
    st.markdown(
        f"**Why the root?** A product of query and key is a sum of {d_k} terms. If each term has variance 1 and knows "
        f"nothing of the others, the variances add up to {d_k}. A typical size is the root of the variance: √{d_k} = "
        f"{math.sqrt(d_k):g}. Tried with {PAIRS:,} pairs of random "
        "vectors of each length:"
    )
    sizes = engine.run(spreads, trace.model, SIZES)
    roots = [math.sqrt(size) for size in SIZES]
    labels = [f"d_k = {size}" for size in SIZES]
    column_chart(
        labels,
        [Series("typical size of q·k, measured", sizes), Series("√d_k", sizes * 0 + roots)],
        axis="size",
        alt=f"Two columns for each length: the typical size of the products of {PAIRS:,} random pairs, and √d_k.",
    )
    numbers_of_figure(
        ("length", "measured", "√d_k"),
        [
            (label, number(float(size), 2), number(root, 2))
            for label, size, root in zip(labels, sizes, roots, strict=True)
        ],
    )


def without_scale(trace: Trace, head: Head) -> None:
    """The toggle, and what becomes of the weights, of the slope, and of the translation."""
    st.markdown(
        "**What harm do large scores do?** The softmax gives nearly everything to one piece and is *saturated*: its "
        "slope is near 0, and training learns by the slope. So look at *random weights*, with which a training "
        "begins. What the trained one does without the scale says less: it has learned with it."
    )
    where, off = MODEL.draw(), OFF.draw()
    name = trace.model.name if where == TRAINED else trace.model.untrained_name
    # The same target for all, so that rows can be compared.
    runs = [
        engine.trace(trace.text, trace.translation, interventions=Interventions(scale_off=one), name=name)
        for one in ((False, True) if off else (False,))
    ]
    heads_before_after(
        (runs[0], runs[1] if off else None),
        ("With the scale", "Without the scale"),
        head.attention,
        head.layer,
        head.head,
        instead="Switch the scale off, and the weights without it appear here.",
    )
    weights = [run.attention(head.attention, head.layer)[head.head] for run in runs]
    table(
        ("on average over the rows", "with the scale", *(["without it"] if off else [])),
        [
            (name, *(number(float(measure(one).mean()), digits) for one in weights))
            for name, measure, digits in MEASURES
        ],
    )
    n = weights[0].shape[1]
    st.caption(
        f"*Entropy* tells how evenly a row is spread: 0 bits when one piece gets everything, {number(math.log2(n), 2)} "
        f"bits when all {n} get the same. The *slope* tells by how much a weight w changes when its score changes a "
        "little: w · (1 − w), at most 0.25."
    )
    if off and where == TRAINED:
        both_translations(trace)


def both_translations(trace: Trace) -> None:
    other = engine.retrace(trace, interventions=Interventions(scale_off=True))
    table(
        ("", "translation"),
        [("with the scale", trace.translation or "(nothing)"), ("without it", other.translation or "(nothing)")],
    )
    d_k = trace.tensors[trace.model.anatomy.attention("encoder", 0).path + ".q"].shape[-1]
    st.caption(
        f"Without the scale, the scores of the first layer are {math.sqrt(d_k):g} times as large. What later layers "
        "read has changed as well."
    )
