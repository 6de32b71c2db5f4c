"""What was learned, looked into: its singular values, the merged model, BitFit beside it."""

import streamlit as st

from experiments.family import low_rank
from experiments.writing.batched_translation import translate_together
from model.trace import Trace
from model.trace import trace as trace_anew
from pages.family.lora_and_bitfit.adapt import adapt, n_learning, score
from pages.family.lora_and_bitfit.choosing import adapted, chosen, learned, not_yet, path
from training.live.adapting import BITFIT, EVERYTHING, LORA, RATES
from training.live.styles import OTHERS, STYLES
from ui import engine
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
    st.markdown(f"Not 0: **{low_rank.rank_of(values)} of {len(values)}**. You chose r = {chosen(trace.model).rank}.")
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
    beside = engine.alone(lambda: trace_anew(model, trace.text))
    written, difference = engine.alone(lambda: low_rank.merging_changes(beside))
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
    side_by_side(trace, BITFIT)


def forgetting(trace: Trace) -> None:
    st.markdown("**Catastrophic forgetting**: what does a model lose when all its weights learn something new?")
    st.markdown(
        f"All weights of a copy learn the same sentences, in as many steps, with a learning rate of "
        f"{RATES[EVERYTHING]:g}. Before and after, it translates {len(OTHERS)} *other* sentences, which speak to "
        "nobody. They should stay as they were, but for the ending that a style adds to all."
    )
    if not side_by_side(trace, EVERYTHING):
        return
    without = STYLES[chosen(trace.model).style]().without
    before = engine.run(translate_together, trace.model, OTHERS)
    columns = {
        method: training.reports[-1].others
        for method in (EVERYTHING, LORA)
        if (training := learned(trace.model, method))
    }
    kept = {method: sum(map(str.__eq__, map(without, now), before)) for method, now in columns.items()}
    said = ", ".join(f"{method} **{n}**" for method, n in kept.items())
    st.markdown(f"**Other sentences** translated as before, of {len(OTHERS)}: {said}, W₀ without BA **{len(before)}**.")
    table(("English", "before", *columns), list(zip(OTHERS, before, *columns.values(), strict=True)))
    st.caption("LoRA leaves W₀ as it is. Take BA away, and the translator from before is back, number for number.")


def side_by_side(trace: Trace, method: str) -> bool:
    """Train by another method, beside LoRA. Returns whether there is something to compare."""
    adapt(trace, method)
    rows, missing = [], []
    for one in (LORA, method):
        if training := learned(trace.model, one):
            task, last = chosen(trace.model, one), training.reports[-1]
            name = f"{one}, r = {task.rank}" if one == LORA else one
            n = n_learning(trace, one, task.rank)
            rows.append((name, f"{n:,}", str(last.step), magnitude(last.loss), *score(task, last)))
        else:
            missing.append(one)
    if rows:
        table(("", "numbers that learned", "steps", "loss", "in the style", "word for word"), rows)
    if rows and missing:
        st.caption(f"Train {missing[0]} as well, and it stands here beside the other.")
    return bool(rows)
