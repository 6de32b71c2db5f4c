"""What the siblings with other positions lose in texts longer than any in their training."""

from collections.abc import Iterator, Sequence

import streamlit as st

from experiments.training.siblings import Sibling, noise, of_part
from figures.siblings import longer_figure
from model.config import PRESETS
from model.files.checkpoint import CheckpointError
from ui.text import in_markdown, number
from ui.views import siblings
from ui.views.charts.tables import numbers_of_figure


def longer_texts() -> None:
    """The loss by position, as measured; nothing where there is no sibling to compare with a plain one."""
    try:
        shown = of_part(siblings.measured(), "positions")
    except CheckpointError as error:
        st.caption(in_markdown(str(error)))
        return
    plain = sorted((one for one in shown if one.is_plain), key=lambda one: one.name)
    others = sorted((one for one in shown if not one.is_plain), key=lambda one: one.name)
    both, spans = (
        [*plain, *others],
        [span for one in plain[:1] for span, loss in one.longer.items() if loss is not None],
    )
    if not plain or not others or not spans:
        return
    st.subheader("Texts longer than any in training", anchor=False)
    st.markdown(
        f"No text that the siblings learned from has more than **{PRESETS['sibling'].max_len}** pieces. Here sentences "
        "that they never saw are joined to longer and longer texts. A point is the loss of the pieces at these "
        "positions, when the right ones before them are given."
    )
    st.plotly_chart(
        longer_figure(spans, [(one.name, [one.longer.get(span) for span in spans]) for one in both], len(plain)),
        key="longer_texts",
        config={"displayModeBar": False},
        alt=f"The loss of {len(both)} siblings by position. {lowest_and_highest(both, spans[-1])}",
    )
    st.markdown(
        " ".join(
            [
                lowest_and_highest(both, spans[0]),
                lowest_and_highest(both, spans[-1]),
                *among_plain(plain, spans[-1]),
                *missing(others, spans[-1]),
            ]
        )
    )
    st.caption(
        "Length is not all that is new to them: in training a text was at most two sentence pairs joined, here it is "
        "many. So compare the lines with one another, not the ends of one line."
    )
    numbers_of_figure(
        ("sibling", *spans),
        [(one.name, *("" if (v := one.longer.get(n)) is None else number(v, 2) for n in spans)) for one in both],
    )


def lowest_and_highest(shown: Sequence[Sibling], span: str) -> str:
    """Whose loss is lowest at these positions, and whose highest."""
    values = {one.name: value for one in shown if (value := one.longer.get(span)) is not None}
    low, high = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
    return (
        f"At positions {span} the lowest loss is {number(values[low], 2)}, that of {low}, and the highest "
        f"{number(values[high], 2)}, that of {high}."
    )


def among_plain(plain: Sequence[Sibling], span: str) -> Iterator[str]:
    """How much of that is chance, if it is known."""
    if chance := noise([value for one in plain if (value := one.longer.get(span)) is not None]):
        yield (
            f"The plain ones, which differ in their random numbers alone, differ there by {number(chance.spread, 2)}."
        )


def missing(others: Sequence[Sibling], span: str) -> Iterator[str]:
    """Who has no number there."""
    if names := [one.name for one in others if one.longer.get(span) is None]:
        most = PRESETS["sibling"].max_len
        yield f"No number there: {', '.join(names)}, with vectors for {most} positions and none beyond."
