"""Where “it” looks when it is the street, and when it is the animal."""

import re
from collections.abc import Sequence

import streamlit as st

from model.trace import Trace
from pages.attention.self_attention.others import look, of_same_model, shares_of_it
from ui.components.matrix import Labels
from ui.controls.control import Choice
from ui.text import number
from ui.views.before_after import before_after
from ui.views.charts.tables import table

WIDE = "The animal didn't cross the street because it was too wide."
TIRED = "The animal didn't cross the street because it was too tired."
NOUN = Choice("From “it” to", "noun", ("street", "animal"))


def what_it_looks_at(trace: Trace) -> None:
    """Weights of “it” in two sentences that differ in one word, and both translations."""
    st.markdown(
        f"*{WIDE}* Streets are wide, so *it* is the street. Write *tired* in place of *wide*, and *it* is the animal. "
        "Books like to show a head that has understood this: its weight moves from one word to the other. Does it "
        "here? This model is small and learned from short everyday sentences."
    )
    noun = NOUN.draw()
    traces = [of_same_model(trace, sentence) for sentence in (WIDE, TIRED)]
    shares = [shares_of_it(one, "street", "animal", "it") for one in traces]
    wide, tired = (of_one[("street", "animal").index(noun)] for of_one in shares)
    layers, heads = wide.shape
    averages = [tuple(float(share.mean()) for share in of_one) for of_one in shares]
    st.markdown(verdict([(street, animal) for street, animal, _ in averages]))
    before_after(
        (wide, tired),
        ("… because it was too wide", "… because it was too tired"),
        Labels(
            [f"layer {n + 1}" for n in range(layers)],
            [f"head {n + 1}" for n in range(heads)],
            describe=f"{{row}}, {{column}}: “it” gives “{noun}” {{value}}",
        ),
        how_to_read=f"The weight that “it” gives to “{noun}” in every head, 0 to 1 on both sides.",
        csv_name=f"it to {noun}",
    )
    table(
        (f"“it” gives, on average over {layers * heads} heads", "to “street”", "to “animal”", "to itself"),
        [
            (f"too {end}", *(number(share, 3) for share in of_one))
            for end, of_one in zip(("wide", "tired"), averages, strict=True)
        ],
    )
    german_of_it([one.translation for one in traces])
    st.markdown(
        "**Attention is not an explanation.** A weight says how much of a value flows in here, in this head of this "
        "layer. It does not say why, nor what becomes of it: from the second layer on, each vector already holds "
        "something of the others. To learn what matters, change something and look at the result, as you did here with "
        "one word."
    )
    look(trace, WIDE, "it")


def verdict(averages: Sequence[tuple[float, float]]) -> str:
    """What the averages for street and animal, with wide and with tired, say about the meaning of “it”."""
    winners = ["street" if street > animal else "animal" for street, animal in averages]
    match winners:
        case ["street", "animal"]:
            return (
                "The larger share **changes over with the meaning**, from the street to the animal. Whether that is "
                "understanding, the weights do not say."
            )
        case [one, other] if one == other:
            return (
                f"On average the {one} gets more **both times**, though the meaning has changed: **the weights do not "
                "follow it**. A single picture of the first sentence might have looked like understanding."
            )
        case _:
            return "The larger share changes over **the wrong way round**: the weights do not follow the meaning."


def german_of_it(translations: Sequence[str]) -> None:
    """Which pronoun the two translations use, and whether it is the right one."""
    right = [
        bool(re.search(rf"\b{pronoun}\b", text)) for pronoun, text in zip(("sie", "es"), translations, strict=True)
    ]
    st.markdown(
        "The German shows which one the model took: *sie* is the street (die Straße), *es* the animal (das Tier)."
    )
    table(
        ("too", "the model writes", "its pronoun is"),
        [
            (end, text, "right" if is_right else "wrong")
            for end, text, is_right in zip(("wide", "tired"), translations, right, strict=True)
        ],
    )
