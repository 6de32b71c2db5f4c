"""What told BERT? Each other word is hidden as well, one at a time."""

import numpy as np
import streamlit as st

from experiments.family.fill_in import without_each
from model.trace import Trace
from pages.family.fill_in_the_blank.blanks import chosen, current_blank
from pages.family_models import BERT, family_model
from ui import engine
from ui.text import bold, chance
from ui.views.charts.column_chart import Series, column_chart
from ui.views.charts.tables import numbers_of_figure


def telling(trace: Trace) -> None:
    blanks = chosen(trace)
    if not blanks.hidden:
        st.info("There is no blank to fill: click a word above to hide it.")
        return
    place = current_blank(blanks)
    others = [n for n in range(len(blanks.words)) if n not in blanks.hidden]
    if not others:
        st.info("Every word is hidden: show one again, and you see here what it tells BERT.")
        return
    groups = tuple(blanks.words[n] for n in others)
    each, whole = engine.run(without_each, family_model(BERT), blanks.ids, blanks.places, place, groups)
    own = blanks.word_at(place)
    names = [blanks.word(n) for n in others]
    st.markdown(
        f"BERT gives {bold(blanks.tokens[place].text)} the probability **{chance(whole)}**. What if one more word is "
        "hidden? The lower the column, the more that word told BERT."
    )
    column_chart(
        names,
        [Series("probability", np.array(each))],
        alt=f"The probability of the hidden piece while each of {len(names)} other words is hidden, too",
        axis="probability of the hidden piece while this word is hidden, too",
    )
    sides = ["left" if n < own else "right" for n in others]
    numbers_of_figure(
        ("word", "side", "probability without it"),
        [(name, side, chance(one)) for name, side, one in zip(names, sides, each, strict=True)],
    )
    least = int(np.argmin(each))
    if each[least] >= whole:
        st.markdown(
            "No single word helps here: without any of them BERT finds the hidden piece as likely, or likelier."
        )
        return
    sees = "where GPT does not look" if sides[least] == "right" else "where GPT looks, too"
    st.markdown(
        f"Most is lost without {bold(blanks.word(others[least]))}: the probability falls to {chance(each[least])}. "
        f"That word stands to the {sides[least]}, {sees}."
    )
