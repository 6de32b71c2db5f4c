"""One text gone on with at three temperatures, side by side; and what holds greedy decoding in a circle."""

from statistics import fmean

import streamlit as st

from model.text.tokenizer import Token
from model.trace import Trace, most_tokens
from pages.family.gpt.reading import gpt, read
from pages.family.gpt.writing import Continuation, decoding, opening, openings
from pages.family_models import GPT
from ui import engine
from ui.text import bold, chance, number, piece
from ui.views.charts.tables import table

TEMPERATURES = (0.0, 0.7, 1.2)
LONG = 40  # pieces that are written at most
SHORTEST = 3  # pieces of a circle: to say one word twice is none


def three_temperatures(trace: Trace) -> None:
    text, first = opening(read(trace).text)
    n, most = len(gpt().tokenizer.encode(text)), most_tokens(gpt())
    st.markdown(
        "**The same text, three temperatures.** At 0 the likeliest piece is taken every time. Above 0 chance draws: "
        "the higher the temperature, the more often it draws an unlikely piece."
        + (" The first word is the likeliest one in each, so that it does not stop at once." if first else "")
    )
    openings()
    if n >= most:
        st.info(f"Your text fills all {most} places of this GPT: shorten it, and it goes on writing.")
        return
    written = [
        Continuation(
            engine.trace(text, decoding=decoding(warmth, 0, 0, min(n + LONG, most), first), name=GPT), n, first
        )
        for warmth in TEMPERATURES
    ]
    table(
        ("temperature", "it goes on", "mean probability of a piece"),
        [
            (number(warmth, 1), one.text.strip() or "(nothing)", chance(fmean(one.whole.probabilities[n:])))
            for warmth, one in zip(TEMPERATURES, written, strict=True)
        ],
    )
    labels = written[0].labels
    if not (found := circle(labels)):
        st.caption("At temperature 0 it goes in no circle here. Take the first of the beginnings, and it does.")
        return
    start, size = found
    again = start + size
    share = float(written[0].whole.probabilities[n + again])
    came_round = gpt().tokenizer.decode([token.id for token in labels[start:again]]).strip()
    before, next_one = (bold(piece(labels[at].text)) for at in (again - 1, again))
    st.markdown(
        f"**At 0 it goes in a circle**: {bold(came_round)}, and then the same again. After {before} the likeliest "
        f"piece is {next_one} once more, with {chance(share)}, and at 0 the likeliest is always taken. A draw can "
        f"leave the circle: {chance(1 - share)} lies on other pieces."
    )


def circle(labels: tuple[Token, ...]) -> tuple[int, int] | None:
    """Where pieces begin that stand there twice in a row, and how many they are."""
    ids = [token.id for token in labels]
    for start in range(len(ids)):
        for size in range(SHORTEST, (len(ids) - start) // 2 + 1):
            if ids[start : start + size] == ids[start + size : start + 2 * size]:
                return start, size
    return None
