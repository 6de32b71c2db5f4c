"""What was learned, looked into: its singular values, the merged model, BitFit beside it."""

import streamlit as st

from experiments.family import low_rank
from model.trace import Trace
from model.trace import trace as trace_anew
from pages.family.lora_and_bitfit.adapt import adapt, n_learned, score
from pages.family.lora_and_bitfit.choosing import adapted, chosen, learned, not_yet, path
from training.live.adapting import BITFIT, LORA
from ui.engine import model_lock
from ui.text import magnitude
from ui.views.charts.column_chart import Series, column_chart
from ui.views.charts.tables import numbers_of_figure, table

SHOWN = 20  # singular values


def rank_of_change(trace: Trace) -> None:
    st.markdown("**How many directions does the change have?**")
    training = learned(trace.model)
    if training is None:
        not_yet(trace.model, "Then you see here what was learned for the matrix that you choose in Check.")
        return
    values = low_rank.singular_values(adapted(trace.model, training), path(trace.model))
    names = [str(n + 1) for n in range(SHOWN)]
    column_chart(
        names,
        [Series("singular value", values[:SHOWN])],
        alt=f"The {SHOWN} largest singular values of what was added to the matrix",
        axis=f"the {SHOWN} largest of {len(values)} singular values of what was added to W₀",
    )
    numbers_of_figure(("", "singular value"), list(zip(names, map(magnitude, map(float, values)), strict=False)))
    st.markdown(f"**{low_rank.rank_of(values)} of {len(values)}** are not 0. You chose r = {chosen(trace.model).rank}.")
    st.caption(
        "A *singular value* says how far a matrix stretches one of its directions. A change of rank r has at most r "
        "that are not 0. What rounding leaves, a millionth of the largest or less, counts as 0 here."
    )


def merge(trace: Trace) -> None:
    st.markdown("**Does the merged matrix write the same?**")
    training = learned(trace.model)
    if training is None:
        not_yet(trace.model, "Then you can add here what was learned to the matrices themselves.")
        return
    model = adapted(trace.model, training)
    with model_lock:
        beside = trace_anew(model, trace.text)
        written, difference = low_rank.merging_changes(beside)
    merged = low_rank.merged(model)
    table(
        ("", "numbers in the model", "your sentence"),
        [
            ("A and B beside W₀", f"{model.n_parameters:,}", beside.translation),
            ("merged: W₀ + (α/r)BA", f"{merged.n_parameters:,}", written),
            ("before", f"{trace.model.n_parameters:,}", trace.translation),
        ],
    )
    st.markdown(f"Largest difference of a logit, beside and merged: **{magnitude(difference)}**.")
    st.caption(
        "Merged, the model is built as before it was adapted, so a step takes no longer. What differs is rounding: the "
        "same sum in another order."
    )


def beside_bitfit(trace: Trace) -> None:
    st.markdown("**BitFit: only the biases learn**")
    st.markdown(
        "The same sentences and as many steps. This translator has biases in its feed-forward networks and its norms "
        "only. Its attention has none."
    )
    adapt(trace, BITFIT)
    rows = []
    for method in (LORA, BITFIT):
        if training := learned(trace.model, method):
            task, last = chosen(trace.model, method), training.reports[-1]
            name = f"{method}, r = {task.rank}" if method == LORA else method
            rows.append((name, f"{n_learned(training):,}", str(last.step), magnitude(last.loss), *score(task, last)))
    if rows:
        table(("", "numbers that learned", "steps", "loss", "in the style", "word for word"), rows)
    missing = [method for method in (LORA, BITFIT) if learned(trace.model, method) is None]
    if rows and missing:
        st.caption(f"Train {missing[0]} as well, and it stands here beside the other.")
