"""Two of the small translators that were trained alike, side by side on the visitor's sentence."""

import functools
from collections.abc import Sequence

import numpy as np
import streamlit as st

from model.loaded import sibling_names
from model.trace import Trace
from ui import engine
from ui.components.matrix import Caption, Labels, matrix
from ui.controls.control import Choice
from ui.text import bold, in_markdown, number
from ui.views.attention_kinds import KINDS, READABLE, tokens_of
from ui.views.column_chart import Series, column_chart
from ui.views.tables import table

MAP = Choice("Map", "sibling_map", tuple(kind.label for kind in KINDS.values()))


@functools.cache
def names() -> tuple[str, ...]:
    """Those that come with the app; none come while it runs."""
    return sibling_names()


def two_siblings(trace: Trace, part: str) -> None:
    """The sentence through any two siblings: translation, probabilities, maps. Nothing where there are not two.

    Args: part: what the second one differs in until another is chosen, as its name begins, like "positions"
    """
    if len(names()) < 2:
        return
    st.subheader("Two trained siblings side by side", anchor=False)
    st.markdown(
        "Small translators, trained alike on the same sentences. Each is named after the one part in which it differs; "
        "those named *plain* differ in the random numbers that training began with."
    )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        chosen = [choose(label, part, n) for n, label in enumerate(("One sibling", "Another"))]
        label = MAP.draw()
    kind = next(kind for kind, words in KINDS.items() if words.label == label)
    runs = [engine.trace(trace.text, name=name) for name in chosen]
    table(
        ("sibling", "mean probability of its pieces", "parameters"),
        [
            (name, number(float(np.mean(run.probabilities))), f"{run.model.n_parameters:,}")
            for name, run in zip(chosen, runs, strict=True)
        ],
    )
    for column, side, name, run in zip(st.columns(2, gap="medium"), "12", chosen, runs, strict=True):
        with column:
            _one(run, name, kind, f"sibling_{side}")


def choose(label: str, part: str, n: int) -> str:
    """Control for the n-th of the two: at first the plain one, and one that differs in the part."""
    key = f"{part}_sibling_{n + 1}"
    return str(st.selectbox(label, names(), index=_first(names(), part)[n], key=key, bind="query-params", width=240))


def _first(known: Sequence[str], part: str) -> tuple[int, int]:
    """The first plain one, and the first that differs in the part; else the first two."""
    plain = next((n for n, name in enumerate(known) if name.startswith("plain")), 0)
    other = next((n for n, name in enumerate(known) if name.startswith(part)), int(plain == 0))
    return plain, other


def _one(run: Trace, name: str, kind: str, key: str) -> None:
    """What one sibling writes, how sure it is, and one of its maps."""
    st.markdown(f"{in_markdown(name)} writes {bold(run.translation or '(nothing)')}")
    texts = [token.text for token in run.labels[:READABLE]]
    column_chart(
        texts,
        [Series("probability", np.array(run.probabilities[:READABLE]))],
        axis=name,
        limit=1.0,
        alt=f"A bar for each of {len(texts)} pieces that {name} wrote: its probability.",
    )
    last = len(run.model.anatomy.attentions[kind]) - 1
    weights = run.attention(kind, last).mean(0)[:READABLE, :READABLE]
    rows, columns = ([token.text for token in tokens[:READABLE]] for tokens in tokens_of(run, kind))
    hidden = np.isneginf(run.attention(kind, last, "scores")[0])[:READABLE, :READABLE]
    matrix(
        weights,
        Labels(rows, columns, describe=KINDS[kind].describe),
        Caption(
            f"{KINDS[kind].name} of {name}",
            f"The average of the heads of layer {last + 1}; 0 to 1.",
            csv_name=f"{kind} attention of {name}",
        ),
        key=key,
        hidden=hidden,
    )
