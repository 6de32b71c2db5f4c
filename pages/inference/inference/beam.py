"""Beam search on the visitor's sentence: the tree, the scores, the length penalty."""

from collections.abc import Sequence
from itertools import pairwise

import streamlit as st

from explain import worked_score
from model.decoding.strategies import Hypothesis, Step
from model.trace import MAX_TOKENS, Trace
from pages.inference.inference import state
from pages.inference.inference.state import as_text, text_of
from ui.components.beam_tree import Node, State, beam_tree
from ui.controls.address import read_pair, write_pair
from ui.controls.control import Number
from ui.text import bold, in_markdown, number
from ui.views.charts.tables import table
from ui.views.worked_steps import show_steps

WIDEST = 6  # beam
SIZE = Number("Beginnings kept", "beam", 1, WIDEST, 3)
ALPHA = Number("Length penalty α", "alpha", 0.0, 2.0, 1.0, 0.1)


def beam_search(trace: Trace) -> None:
    """The search as a tree, what came to an end, and the score of the chosen one."""
    st.markdown(
        "Keep the likeliest few beginnings at every step, extend each by every entry of the vocabulary, and keep the "
        "likeliest few again. One that reaches the end is set aside; the search stops when as many have ended as are "
        "kept."
    )
    left, right = st.columns(2, gap="medium")
    with left:
        size = SIZE.draw()
    with right:
        alpha = ALPHA.draw()
    prefix, _ = state.read_prefix(trace)
    steps = state.beam(trace, size, prefix)
    columns = looked_at(steps)
    last = steps[-1]
    # One that the visitor ended was never searched for.
    ended = last.finished or [one for one in last.hypotheses if one.finished]
    ranked = sorted(ended, key=lambda one: one.score(alpha), reverse=True)
    best = (ranked or last.hypotheses)[0]
    home = len(best.ids) - 1, [one.ids for one in columns[len(best.ids) - 1]].index(best.ids)
    column, row = read_pair("node", (len(columns), 2 * WIDEST), home)
    if row >= len(columns[column]):
        column, row = home
    beam_tree(
        nodes(trace, columns, steps),
        key="beam_tree",
        title=f"The search: {sum(map(len, columns))} extensions that came near, {len(ranked)} of them ended",
        how_to_read="Each number is the log-probability of the whole beginning up to there: closer to 0 is likelier. "
        "Struck out: dropped. Thick frame: ended. Choose a piece to see its way.",
        selected=(column, row),
        on_select=lambda chosen: write_pair("node", chosen, home),
    )
    if ranked:
        finished_table(trace, ranked, alpha)
    else:
        st.info(f"None of the beginnings came to an end within {MAX_TOKENS} pieces.")
    chosen = list(columns[column])[row]
    st.markdown(f"**The score of** {in_markdown(as_text(trace, chosen))}")
    show_steps(worked_score(piece_by_piece(chosen, steps), alpha))
    if not chosen.finished:
        st.caption("It has not ended, so it is not ranked; this is what its score would be up to here.")


def looked_at(steps: Sequence[Step]) -> list[dict[Hypothesis, State]]:
    """For each step the extensions that came near, best first, and what became of them."""
    columns = []
    for t, step in enumerate(steps, 1):
        # What is left when enough have ended is dropped too.
        left: State = "pruned" if step is steps[-1] and step.finished else "kept"
        states: dict[Hypothesis, State] = dict.fromkeys(step.pruned, "pruned")
        states |= {one: "ended" for one in step.finished if len(one.ids) == t}
        states |= {one: "ended" if one.finished else left for one in step.hypotheses}
        columns.append(dict(sorted(states.items(), key=lambda item: item[0].log_probability, reverse=True)))
    return columns


def nodes(trace: Trace, columns: Sequence[dict[Hypothesis, State]], steps: Sequence[Step]) -> list[list[Node]]:
    """The same for the drawing."""
    return [
        [
            Node(
                text_of(trace, one.ids[-1]),
                one.log_probability,
                what,
                list(columns[t - 1]).index(steps[t - 1].hypotheses[one.parent]) if t else 0,
            )
            for one, what in column.items()
        ]
        for t, column in enumerate(columns)
    ]


def piece_by_piece(one: Hypothesis, steps: Sequence[Step]) -> list[float]:
    """The log-probability of each piece of a hypothesis: how its total changed from step to step."""
    totals = [one.log_probability]
    for t in range(len(one.ids) - 1, 0, -1):
        one = steps[t - 1].hypotheses[one.parent]
        totals.insert(0, one.log_probability)
    return [after - before for before, after in pairwise([0.0, *totals])]


def finished_table(trace: Trace, ranked: Sequence[Hypothesis], alpha: float) -> None:
    """What came to an end, best first, and what the length penalty does to the order."""
    table(
        ("place", "translation", "log P", "pieces", "divided by", "score"),
        [
            (
                str(n),
                as_text(trace, one) or "(nothing)",
                number(one.log_probability),
                str(len(one.ids)),
                number(((5 + len(one.ids)) / 6) ** alpha),
                number(one.score(alpha)),
            )
            for n, one in enumerate(ranked, 1)
        ],
    )
    plain, strong = max(ranked, key=lambda one: one.score(0)), max(ranked, key=lambda one: one.score(2))
    says = "Here the winner is the same for α = 0 and α = 2."
    if plain != strong:
        first, last = (bold(as_text(trace, one)) for one in (plain, strong))
        says = f"Here α decides: with α = 0 the winner is {first}, with α = 2 {last}."
    st.markdown(
        "A longer sentence multiplies more probabilities, each at most 1, so that alone makes it less likely. Dividing "
        f"by a number that grows with the length makes up for it. {says}"
    )
    st.caption(
        "Beginnings of one step are equally long, so α never decides what is dropped on the way; it orders what has "
        "ended."
    )
