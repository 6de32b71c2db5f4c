"""Which matrix the decoder layers read as their memory, and what they write when they read another."""

import numpy as np
import streamlit as st

from experiments.passes import read_from
from model.interventions import Head
from model.trace import MAX_TOKENS, Array, Trace
from pages.attention.encoder_decoder_attention.view import KIND, View
from ui import engine
from ui.components.matrix import Caption, Labels, Scale, matrix
from ui.controls.control import Choice
from ui.text import bold, magnitude
from ui.views.attention_kinds import KINDS
from ui.views.before_after import before_after


def memory(trace: Trace, view: View) -> None:
    """Which matrix the decoder layers read, and what would be if it were another."""
    names = list(sources(trace))
    short = [name.removeprefix("the ").replace(" layer", "") for name in names]
    layers = [f"decoder {n + 1}" for n in range(len(trace.model.anatomy.stacks[-1].layers))]
    st.markdown(
        "Which matrix does each decoder layer read? Multiply every candidate by this layer's own $W^K$ and $W^V$ and "
        "compare with the keys and values that it really used."
    )
    largest = {letter: differences(trace, letter) for letter in "kv"}
    limit = max(float(one.max()) for one in largest.values())
    for column, (letter, one) in zip(st.columns(2, gap="medium"), largest.items(), strict=True):
        capital = letter.upper()
        with column:
            matrix(
                one,
                Labels(
                    layers,
                    short,
                    describe=f"{capital} of {{row}} and {{column}} times W^{capital} differ by {{value}} at most",
                ),
                Caption(
                    f"Largest difference from the layer's own {capital}",
                    f"{capital} of the row, minus the column times the row's W^{capital}. 0 means: this is it.",
                    csv_name=f"differences of {capital}",
                ),
                key=f"memory_{letter}",
                scale=Scale("positive", limit=limit),
            )
    last = max(float(one[:, -1].max()) for one in largest.values())
    rest = min(float(one[:, :-1].min()) for one in largest.values())
    s, d_model = trace.tensors[trace.model.anatomy.stack("encoder").writes].shape
    st.markdown(
        f"In the last column the largest difference is **{magnitude(last)}** (32-bit rounding), in the others it is "
        f"**{magnitude(rest)}** or more. So all {len(layers)} decoder layers read one and the same matrix "
        f"`({s}, {d_model})`, and it is what the *last* encoder layer returns, not the layer beside them."
    )
    choose_memory(trace, view, names)


def sources(trace: Trace) -> dict[str, str]:
    """What might be the memory: everything the encoder holds after one of its layers, by what it is called."""
    layers = range(len(trace.model.anatomy.stacks[-1].layers))
    return {"the embeddings": "encoder.embedding.output"} | {
        f"encoder layer {n + 1}": trace.model.anatomy.layer("encoder", n).writes for n in layers
    }


def differences(trace: Trace, letter: str) -> Array:
    """Largest difference between K (or V) of each decoder layer and X·W, for each X that might be the memory: (L,N)."""
    by_layer = []
    for layer in range(len(trace.model.anatomy.stacks[-1].layers)):
        head = Head(KIND, layer, 0)
        own = trace.model.weights[f"{trace.path(head)}.w_{letter}.weight"].T
        true = np.concatenate(list(trace.attention(KIND, layer, letter)), axis=1)  # (S,d_model)
        by_layer.append([np.abs(trace.tensors[name] @ own - true).max() for name in sources(trace).values()])
    return np.array(by_layer)


def choose_memory(trace: Trace, view: View, names: list[str]) -> None:
    """The decoder reading another matrix as its memory, before and after."""
    st.markdown("**What if it were another matrix?** Let the decoder read what the encoder held earlier:")
    name = Choice("The decoder reads", "memory", names[:-1], names[-2]).draw()
    longest = min(2 * len(trace.tgt) + 10, MAX_TOKENS)
    reading = engine.run(read_from, trace.model, trace.src_ids, trace.tgt_ids, names.index(name), longest)
    rows, columns = view.groups(trace)
    before_after(
        (view.values(trace), view.values(trace, reading.weights)),
        (f"It reads {names[-1]}, as it learned", f"It reads {name}"),
        Labels([group.label for group in rows], [group.label for group in columns], describe=KINDS[KIND].describe),
        how_to_read=f"{view.in_full}; 0 to 1 on both sides.",
        csv_name="weights",
    )
    written = trace.model.tokenizer.decode(reading.ids)
    cut = len(reading.ids) == longest
    st.markdown(
        f"Translation before: {bold(trace.translation or '(nothing)')} Reading {name}: {bold(written or '(nothing)')}"
        + (f" … (stopped after {longest} pieces)" if cut else "")
    )
