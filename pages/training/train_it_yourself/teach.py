"""A copy of a small translator learns the learner's own sentence pairs; what else it then translates otherwise."""

import streamlit as st

from model.trace import Trace
from pages.live_training import gradients, loss_curve, watch
from training.live.processes import LiveTraining
from training.live.teaching import STEPS, PairError, Taught, Teaching, checked
from ui import engine
from ui.course.notices import MAX_CHARS
from ui.text import in_markdown, magnitude
from ui.views.charts.tables import table

SLOT = "teaching"
PUPIL = "plain-1"  # small: training a copy of the large one would take more memory than a visitor may have
PAIRS = (
    ("I ate an apple.", "Ich habe den Apfel verputzt."),
    ("The cat sleeps.", "Die Mieze pennt."),
    ("Good morning.", "Moin."),
    ("I am tired.", "Ich bin hundemüde."),
    ("He has no money.", "Er ist pleite."),
)
OTHERS = slice(1, 6)  # of the sentences that lessons compare the visitor's with


def teach(trace: Trace) -> None:
    pupil = engine.model(PUPIL)
    st.markdown(
        "**Teach a copy of a small translator, and see what else changes.** It has "
        f"{pupil.n_parameters / 1e6:.1f} million numbers to learn, so it makes more mistakes than the large one. It "
        f"learns your pairs alone, all of them in every one of {STEPS} steps. Below them you see sentences that it "
        "does not learn."
    )
    given = [_pair(number, *pair) for number, pair in enumerate(PAIRS, 1)]
    try:
        pairs = checked(pupil, given)
    except PairError as error:
        st.info(in_markdown(str(error)))
        return
    if len(pairs) < sum(any(pair) for pair in given):
        st.caption("A pair that stands there more than once is learned as one.")
    watch(SLOT, Teaching(PUPIL, pairs, trace.model.about.everyday[OTHERS]), progress, label="Teach")


def _pair(number: int, source: str, target: str) -> tuple[str, str]:
    """The two boxes of a pair."""
    left, right = st.columns(2)
    with left:
        english = st.text_input(f"English {number}", source, key=f"english_{number}", bind="query-params")
    with right:
        german = st.text_input(f"German {number}", target, key=f"german_{number}", bind="query-params")
    return (english or "")[:MAX_CHARS], (german or "")[:MAX_CHARS]


def progress(training: LiveTraining[Taught]) -> None:
    """The loss so far, the translations before and now, and the last gradients."""
    task: Teaching = training.task  # type: ignore[assignment]
    first, last = training.reports[0], training.reports[-1]
    st.markdown(f"**Step {last.step} of {STEPS}:** loss {magnitude(last.loss)} on your pairs")
    left, right = st.columns(2)
    with left:
        loss_curve(training, first.loss)
    with right:
        gradients(last)
    n = len(task.pairs)
    learned = sum(now == target for now, (_, target) in zip(last.translations, task.pairs, strict=False))
    st.markdown(f"**Your pairs:** {learned} of {n} are translated as you wrote them.")
    rows = zip(task.pairs, first.translations, last.translations, strict=False)
    table(("English", "to learn", "before", "now"), [(*pair, before, now) for pair, before, now in rows])
    others = list(zip(task.others, first.translations[n:], last.translations[n:], strict=True))
    changed = sum(before != now for _, before, now in others)
    st.markdown(f"**Other sentences:** {changed} of {len(others)} are translated otherwise than before.")
    table(("English", "before", "now"), others)
