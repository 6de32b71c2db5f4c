"""The learner's own letters, through the model that they trained."""

import re

import streamlit as st

from model.decoding.strategies import Greedy
from model.trace import Trace
from model.trace import trace as trace_anew
from pages.training.train_it_yourself.tiny import learned, no_model_yet
from training.live.toy import MAX_LETTERS, TASKS
from ui.components.matrix import Caption, Labels, matrix
from ui.engine import model_lock
from ui.text import chance, in_markdown
from ui.views.charts.tables import table

FIRST = "learning"
MOST = MAX_LETTERS + 2  # letters that it may write: enough to see that it finds no end


def readable(typed: str) -> str:
    """What the model can read of a text: letters from a to z, and no more than it learned with."""
    return "".join(re.findall("[a-z]", typed[:1000].lower()))[:MAX_LETTERS]


def own_letters(trace: Trace) -> None:
    st.markdown("**Your own letters, through your own model**")
    typed = st.text_input("Letters", key="letters", bind="query-params", live="300ms", placeholder=FIRST) or FIRST
    letters = readable(typed)
    if not letters:
        st.info(f"The model knows the letters a to z alone: type one to {MAX_LETTERS} of them.")
        return
    if letters != typed:
        st.caption(f"The model knows the letters a to z and takes at most {MAX_LETTERS}, so it reads “{letters}”.")
    model = learned()
    if model is None:
        no_model_yet("After the training, your model reads these letters here.")
        return
    choice, network = model
    with model_lock:
        read = trace_anew(network, letters, decoding=Greedy(max_steps=MOST))
    answer, right = read.translation, TASKS[choice.task](letters)
    verdict = "That is right." if answer == right else f"Right is **{right}**."
    st.markdown(f"{letters} → **{in_markdown(answer or '(nothing)')}** {verdict}")
    pieces = [token.text for token in read.labels]
    table(("written", *pieces), [("probability", *(chance(p) for p in read.probabilities))])
    says = "before writing “{row}”, the model looks at “{column}”: {value}"
    how = "A row is a letter about to be written. Shown is the last layer, the mean of its heads."
    matrix(
        read.attention("cross", choice.n_layers - 1).mean(0),
        Labels(pieces, [token.text for token in read.src], describe=says),
        Caption("Where it looks in your letters", how),
        key="own_map",
    )
