"""What one hidden unit looks for: the pieces that drive it."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from experiments.writing.examples import example_sentences, hidden_in_examples
from model.anatomy.structure import Layer
from model.files.loaded_model import Array
from model.interventions import InterventionError, Unit
from model.trace import Trace
from pages.blocks.feed_forward.network import network_of, shown_units
from ui import engine
from ui.controls.layer_control import phrase_of, title_of, tokens_of_layer
from ui.text import visible
from ui.views.attention_kinds import READABLE
from ui.views.charts.bars import bars

LISTED = 8  # bars


def choose_unit(trace: Trace, layer: Layer) -> int:
    """Control for one hidden unit of this layer, among those that See shows; kept in the address."""
    tokens, hidden = (
        tokens_of_layer(trace, layer)[:READABLE],
        trace.tensors[f"{network_of(trace, layer).path}.hidden"][:READABLE],
    )
    units = shown_units(trace, layer)
    chosen = asked_unit(layer, hidden.shape[1])
    if chosen is None:
        chosen = most_telling(trace, layer, units)
    elif chosen not in units:
        units.append(chosen)

    def name(unit: int) -> str:
        best = int(hidden[:, unit].argmax())
        rests = "rests in this sentence" if hidden[best, unit] == 0 else f"strongest for {visible(tokens[best].text)}"
        return f"unit {unit + 1}: {rests}"

    key = f"unit/{title_of(layer)}/{trace.text}"

    def write() -> None:
        st.query_params["unit"] = str(Unit(layer.stack, layer.index, st.session_state[key]))

    return st.selectbox(
        f"Hidden unit of {phrase_of(layer)}",
        units,
        index=units.index(chosen),
        format_func=name,
        key=key,
        on_change=write,
        width=360,
    )


def asked_unit(layer: Layer, d_ff: int) -> int | None:
    """The unit that the address names, if it is one of this layer."""
    try:
        asked = Unit.parse(st.query_params.get("unit", ""))
    except InterventionError:
        return None
    here = (asked.stack, asked.layer) == (layer.stack, layer.index) and asked.unit < d_ff
    return asked.unit if here else None


def most_telling(trace: Trace, layer: Layer, units: Sequence[int]) -> int:
    """The unit that several different pieces of the example sentences drive hard: one with a taste to be guessed."""
    texts, hidden = engine.run(hidden_in_examples, trace.model, layer.stack, layer.index)
    return max(units, key=lambda unit: [0.0, *(value for _, value in strongest(texts, hidden[:, unit])[3:4])][-1])


def what_it_looks_for(trace: Trace, layer: Layer, unit: int) -> None:
    """The pieces that drive a unit, in this sentence and in the example sentences."""
    own = (
        [token.text for token in tokens_of_layer(trace, layer)],
        trace.tensors[f"{network_of(trace, layer).path}.hidden"][:, unit],
    )
    texts, hidden = engine.run(hidden_in_examples, trace.model, layer.stack, layer.index)
    sides = strongest(*own), strongest(texts, hidden[:, unit])
    limit = max((value for side in sides for _, value in side), default=1.0)
    names = "In your sentence", f"In {len(example_sentences(trace.model))} everyday sentences"
    counts = [(int((values > 0).sum()), len(values)) for values in (own[1], hidden[:, unit])]
    for column, name, side, (fires, of) in zip(st.columns(2, gap="large"), names, sides, counts, strict=True):
        with column:
            st.markdown(f"**{name}** it fires for {fires} of {of} pieces" + (", most for" if fires else "."))
            bars([text for text, _ in side], [value for _, value in side], f"{name}: how much unit {unit + 1} fires",
                 limit)  # fmt: skip
    st.caption(
        "The same everyday sentences for every visitor"
        + ("" if layer.stack == "encoder" else ", in the model's own translation")
        + ". A piece that occurs several times is listed once, with its largest value. Some units have a clear taste "
        "(verbs, full stops, one word), many have none that one could name."
    )


def strongest(texts: Sequence[str], values: Array) -> list[tuple[str, float]]:
    """The texts with the largest values above 0, each once."""
    found: dict[str, float] = {}
    for i in np.argsort(-values, kind="stable"):
        if values[i] > 0:
            found.setdefault(texts[i], float(values[i]))
    return list(found.items())[:LISTED]
