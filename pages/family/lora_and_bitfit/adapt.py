"""The training: what learns, how it goes, and what the translator writes before and after."""

import streamlit as st

from model.adapting.lora import RankError
from model.trace import Trace
from model.trace import trace as trace_anew
from pages.family.lora_and_bitfit.choosing import SLOTS, adapted, chosen, rank, width
from pages.family.lora_and_bitfit.thin_matrices import thin_matrices
from pages.live_training import loss_curve, watch
from training.live.adapting import BITFIT, EVERYTHING, LORA, Adapted, Adapting, adapted_layers
from training.live.processes import LiveTraining
from training.live.styles import FORMAL, STYLES, says_you
from ui import engine
from ui.text import magnitude, number
from ui.views.charts.tables import table


def n_learning(trace: Trace, method: str, r: int) -> int:
    """How many numbers learn."""
    if method == LORA:
        return len(adapted_layers(trace.model)) * 2 * r * width(trace.model)
    if method == EVERYTHING:
        return trace.model.n_parameters
    return sum(w.size for name, w in trace.model.weights.items() if name.endswith(".bias"))


def counts(trace: Trace) -> None:
    """What learns in one matrix and in all, drawn and counted; or why the rank cannot be."""
    d, everything = width(trace.model), trace.model.n_parameters
    try:
        r = rank(trace.model)
    except RankError as error:
        st.info(str(error))
        return

    thin_matrices(d, d, r)

    def row(name: str, one: str, n: int) -> tuple[str, ...]:
        return name, one, f"{n:,}", f"{number(100 * n / everything, 2)}%"

    table(
        ("what learns", "in one matrix W₀", "in the whole translator", "share"),
        [
            row(EVERYTHING, f"d · k = {d * d:,}", everything),
            row(f"LoRA, r = {r}", f"r · (d + k) = {2 * r * d:,}", n_learning(trace, LORA, r)),
            row("BitFit", "none: it has no bias", n_learning(trace, BITFIT, r)),
        ],
    )


def adapt(trace: Trace, method: str) -> None:
    """A button to start, or how the training goes."""
    try:
        task = chosen(trace.model, method)
    except RankError:
        return
    watch(SLOTS[method], task, lambda training: progress(trace, training), label="Start" if method == LORA else "Train")


def progress(trace: Trace, training: LiveTraining[Adapted]) -> None:
    """The loss so far; the visitor's sentence and the held-out ones, before and now."""
    task: Adapting = training.task  # type: ignore[assignment]
    first, last, style = training.reports[0], training.reports[-1], STYLES[task.style]()
    follow, exact = score(task, last)
    st.markdown(
        f"**Step {last.step} of {task.n_steps}:** loss {magnitude(last.loss)}. Of {len(style.held_out)} held-out "
        f"sentences, **{follow}** are in the style and **{exact}** word for word as wanted."
    )
    if last.learned:
        now = adapted(trace.model, training)
        written = engine.alone(lambda: trace_anew(now, trace.text)).translation
        table(("your sentence", "before", "now"), [(trace.text, trace.translation, written)])
        if written == trace.translation and last.step:
            st.caption(unchanged(task.style, trace.text, written))
    loss_curve(training, first.loss)
    with st.expander("Every held-out sentence"):
        rows = zip(style.held_out, first.translations, last.translations, strict=True)
        table(("English", "before", "now", "wanted"), [(en, old, new, de) for (en, de), old, new in rows])


def score(task: Adapting, report: Adapted) -> tuple[str, str]:
    """How many held-out sentences are in the style, and how many are as we wrote them."""
    style = STYLES[task.style]()
    exact = sum(now == wanted for now, (_, wanted) in zip(report.translations, style.held_out, strict=True))
    return str(sum(map(style.follows, report.translations))), str(exact)


def unchanged(style: str, english: str, written: str) -> str:
    """Why a style may leave a sentence as it was."""
    if style == FORMAL and not says_you(english):
        return "Your sentence stays as it was: it has no *you*, which is what this style changes."
    if STYLES[style]().follows(written):
        return "Your sentence was in this style already."
    return "Your sentence stays as it was: so little training does not reach every sentence."
