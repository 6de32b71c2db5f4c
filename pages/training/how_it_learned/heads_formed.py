"""When did the aligned heads form? On many sentences, and on the learner's."""

from collections.abc import Mapping, Sequence

import streamlit as st

from experiments.attention.head_roles import aligned_words
from experiments.training.forming import FORMED, aligned_shares, cross_weights, first_above
from model.trace import Trace
from pages.training.how_it_learned.lines import MOST_NAMED, snapshot_lines
from pages.training.how_it_learned.snapshots import at_step, is_too_long, measured, steps
from ui import engine
from ui.controls.control import Choice
from ui.text import number
from ui.views.charts.tables import numbers_of_figure, table

YOURS = "your sentence"
LOWER = (0.4, 0.3)  # other lines that one might draw


def shares_here(trace: Trace) -> dict[str, list[float]]:
    """The shares of each head on the learner's sentence, snapshot by snapshot."""
    aligned = engine.run(aligned_words, trace.model, trace.src, trace.labels)
    shares = [
        aligned_shares(
            engine.run(cross_weights, at_step(step), trace.src_ids, trace.tgt_ids), trace.labels, trace.src, aligned
        )
        for step in steps()
    ]
    return {head: [float(one[int(head[0]) - 1, int(head[2:]) - 1]) for one in shares] for head in measured().aligned}


def first(shares: Mapping[str, Sequence[float]], level: float = FORMED) -> tuple[str, int] | None:
    """The head that formed first, the one with the larger share there if several did, and at which step."""
    formed = {head: step for head, of in shares.items() if (step := first_above(steps(), of, level)) is not None}
    if not formed:
        return None
    return min(formed.items(), key=lambda one: (one[1], -shares[one[0]][steps().index(one[1])]))


def heads_formed(trace: Trace) -> None:
    file = measured()
    many = f"{file.n_sentences} sentences"
    st.markdown(
        "The **aligned word** of a German piece is the English word without which the piece becomes least likely. To "
        "find it, each English word is hidden in turn from the last snapshot. We say that a head has **formed** at the "
        "first snapshot in which more than half of its weight lies on the aligned words."
    )
    on = Choice("Measured on", "formed_on", (many, YOURS)).draw()
    if on == YOURS and is_too_long(trace):
        return
    shares = shares_here(trace) if on == YOURS else file.aligned
    named = sorted(sorted(shares, key=lambda head: -shares[head][-1])[:MOST_NAMED])
    snapshot_lines(
        shares,
        named,
        ("share on the aligned words", 1.0),
        alt=f"The share of each head's weight on the aligned words, snapshot by snapshot, on {on}.",
        level=FORMED,
    )
    st.markdown(says(on, shares))
    table(
        ("head", "formed at step", "share at the end"),
        [(head, when(of), number(of[-1], 2)) for head, of in shares.items()],
    )
    st.caption(
        "Each line is a head: its layer, a dot, its number in the layer. Equal weights on all pieces would give "
        f"{number(file.equal, 2)} on the {many}. A share may fall below the line again. The snapshots stand side by "
        "side, whatever the steps between them; the dotted line upright is the one chosen above."
    )
    numbers_of_figure(
        ("step", *shares),
        [(f"{step:,}", *(number(of[n], 2) for of in shares.values())) for n, step in enumerate(steps())],
    )


def when(shares: Sequence[float]) -> str:
    step = first_above(steps(), shares)
    return "never" if step is None else f"{step:,}"


def says(on: str, shares: Mapping[str, Sequence[float]]) -> str:
    """Which head formed first, and when."""
    earliest = first(shares)
    if earliest is None:
        return f"On {on} no head formed."
    head, step = earliest
    if not step:
        return (
            f"On {on} **head {head}** has **{number(shares[head][0], 2)}** of its weight on the aligned words at step "
            "**0**, with random weights: so short a text does not tell when a head forms."
        )
    others = {level: one for level in LOWER if (one := first(shares, level))}
    lower = " ".join(
        f"With a line of {level:g} it is head {head}, at step {at:,}." for level, (head, at) in others.items()
    )
    depends = ", and which head comes first depends on it" * any(one[0] != head for one in others.values())
    return (
        f"On {on} **head {head}** formed first: at step **{step:,}** it first put "
        f"**{number(shares[head][steps().index(step)], 2)}** of its weight on the aligned words. The line of "
        f"{FORMED:g} is our choice{depends}. {lower}"
    )
