"""What the model does without one of its heads: whether what it looked at was what it needed."""

import numpy as np
import streamlit as st

from experiments.passes import changed_pass
from figures.probabilities import probabilities_of
from model.interventions import Head, Interventions
from model.text.tokenizer import SOS_ID
from model.trace import Trace
from ui import engine
from ui.components.announcement import announce
from ui.text import bold, number, piece
from ui.views.before_after import MOVED, pieces_before_after
from ui.views.head_names import where


def without_head(trace: Trace, head: Head, row: int) -> None:
    """The probabilities of the pieces with one head switched off, beside those from before.

    Args: row: the piece, from 0, at which someone asked
    """
    off = Interventions(heads_off=(head,))
    inputs = (SOS_ID, *trace.label_ids[:-1])
    tensors = engine.run(changed_pass, trace.model, trace.src_ids, inputs, off, ("logits",))
    before = np.array(trace.probabilities)
    after = probabilities_of(tensors["logits"], trace.label_ids)
    name = f"{where(head)}, head {head.head + 1}"
    st.markdown(f"**Without {name}.** What this head adds is 0 now; the rest of the machine runs as before.")
    fell, rose = pieces_before_after(trace.labels, before, after, ("with all heads", "without this head"))
    label = trace.labels[row]
    then, now = (int(one["logits"][row].argmax()) for one in (trace.tensors, tensors))
    if now == label.id:
        writes = "It is still the likeliest." if then == now else "Now it is the likeliest."
    else:
        likeliest = bold(piece(trace.model.tokenizer.tokens([now])[0].text))
        writes = f"The likeliest is {likeliest}, as before." if then == now else f"The likeliest is now {likeliest}."
    st.markdown(
        f"{bold(piece(label.text))} had **{number(float(before[row]))}**; without the head it has "
        f"**{number(float(after[row]))}**. {writes} The probability falls for {fell} of {len(before)} pieces and rises "
        f"for {rose} (by more than {MOVED})."
    )
    st.caption(
        "A large weight says where a head looks. Whether the model needs what is there shows only when the head is off."
    )
    announce(f"Without {name}: {piece(label.text)} {number(float(after[row]))}.", key="said_off")
