"""A question of a class and its answers, as both sides see them."""

from collections.abc import Collection

import streamlit as st

from classroom.polls import Shown
from ui.text import in_markdown


def question_text(poll: Shown) -> None:
    """The text; one of a lesson is Markdown of the app's own, one of a teacher's is shown as it was typed."""
    st.markdown(poll.asked.text if poll.asked.lesson else in_markdown(poll.asked.text))


def options_of(poll: Shown) -> list[str]:
    """The options as Markdown."""
    return [option if poll.asked.lesson else in_markdown(option) for option in poll.asked.options]


def bar(share: float, words: str) -> None:
    """A bar below its words, in Markdown: words within it no screen reader would read."""
    with st.container(gap=None):
        st.markdown(words)
        st.progress(share)


def results(poll: Shown, mine: Collection[int] = ()) -> None:
    """How many chose each option, as bars; which is right once it is closed and somebody said so.

    Args: mine: what the one who looks has chosen
    """
    for n, (label, count) in enumerate(zip(options_of(poll), poll.counts, strict=True)):
        marks = [" · your answer"] * (n in mine) + [" · **right** ✓"] * (poll.closed and n in poll.asked.right)
        share = count / poll.answered if poll.answered else 0.0
        bar(share, f"{label}: **{count}** ({share:.0%}){''.join(marks)}")
    st.caption(f"{poll.answered} answered." + (" More than one could be chosen." if poll.asked.several else ""))
    if poll.closed and poll.asked.why:
        st.markdown(poll.asked.why if poll.asked.lesson else in_markdown(poll.asked.why))
