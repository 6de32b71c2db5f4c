"""What one may try with masks: lift the causal one, add padding, run all rows at once or one by one."""

from collections.abc import Mapping

import numpy as np
import streamlit as st

from experiments.passes import changed_pass, one_at_a_time, padded_pass
from figures.probabilities import probabilities_of
from model.files.loaded_model import Array
from model.interventions import Head, Interventions
from model.parts.masks import causal_mask
from model.text.tokenizer import PAD
from model.trace import Trace
from pages.attention.masking.rows import time_lines
from ui import engine
from ui.components.matrix import Labels
from ui.controls.control import Number
from ui.text import magnitude, number
from ui.views.attention_kinds import READABLE, head_title
from ui.views.before_after import MOVED, before_after, pieces_before_after
from ui.views.charts.tables import table

ANY_ROW = "“{row}” looks at “{column}”: {value}"  # also where a row is padding
PADS = Number(f"How many {PAD} after your sentence", "pads", 1, 10, 3)


def without_causal_mask(trace: Trace) -> Mapping[str, Array]:
    """Weights and logits of the same pass with the mask lifted."""
    change = Interventions(causal_mask_off=True)
    return engine.run(changed_pass, trace.model, trace.src_ids, trace.tgt_ids, change, ("weights", "logits"))


def lift(trace: Trace, head: Head) -> None:
    st.markdown(
        "Let the decoder see the whole translation at once, the words it has yet to write included. Nothing else "
        "changes."
    )
    lifted = without_causal_mask(trace)
    labels = [token.id for token in trace.labels]
    before, after = (probabilities_of(logits, labels) for logits in (trace.tensors["logits"], lifted["logits"]))
    st.markdown("**The probability of each piece of the translation, with and without the mask**")
    lower, higher = pieces_before_after(trace.labels, before, after, ("with the mask", "mask lifted"))
    st.markdown(
        f"On average the probability goes from **{number(float(before.mean()))}** to "
        f"**{number(float(after.mean()))}**: it falls for {lower} of {len(before)} pieces and rises for {higher} "
        f"(by more than {MOVED:g})."
    )
    weights = f"{trace.path(head)}.weights"
    texts = [token.text for token in trace.tgt]
    before_after(
        (trace.tensors[weights][head.head], lifted[weights][head.head]),
        ("With the causal mask", "Mask lifted"),
        Labels(texts, texts, describe=ANY_ROW),
        how_to_read=f"{head_title('decoder', head.layer, head.head)}; 0 to 1 on both sides.",
        csv_name="weights",
        hidden=(~causal_mask(len(texts))[0, 0].numpy(), None),
    )
    st.caption(
        "This model learned with the mask: it has never seen the future. A model that learned without it could copy "
        "the next piece from its own input. In training it would make nearly no error; when it has to write, there is "
        "nothing to copy."
    )


def pad(trace: Trace, head: Head) -> None:
    st.markdown(
        f"Sentences that run together are brought to one length with `{PAD}`. Put some after yours, once with the "
        "padding mask and once without: what changes for your words?"
    )
    count = PADS.draw()
    src, tgt = trace.src_ids, trace.tgt_ids
    with_mask, without = (engine.run(padded_pass, trace.model, src, tgt, count, masked) for masked in (True, False))
    logits = trace.tensors["logits"]
    table(
        ("the same sentence with padding", "largest difference of a logit", "rows whose first choice changes"),
        [
            (name, magnitude(float(np.abs(one["logits"] - logits).max())), str(first_choices(one["logits"], logits)))
            for name, one in (("with the padding mask", with_mask), ("without it", without))
        ],
    )
    texts = [token.text for token in trace.src][: READABLE - count] + [PAD] * count
    kept = [*range(len(texts) - count), *range(len(src), len(src) + count)]
    path = trace.model.anatomy.attention("encoder", head.layer).path
    left, right = (one[f"{path}.weights"][head.head][np.ix_(kept, kept)] for one in (with_mask, without))
    hidden = np.zeros(left.shape, dtype=bool)
    hidden[:, -count:] = True
    before_after(
        (left, right),
        ("With the padding mask", "Without it"),
        Labels(texts, texts, describe=ANY_ROW),
        how_to_read=f"{head_title('encoder', head.layer, head.head)}; 0 to 1 on both sides.",
        csv_name="weights",
        hidden=(hidden, None),
    )
    st.caption(
        f"A logit is the score of one vocabulary entry; there are {logits.shape[0]} rows of {logits.shape[1]:,}. "
        "Compared with your sentence alone. With the mask, the padding changes nothing but the last digits, which "
        "depend on the order of additions. Rows of padding are computed too, but no other row reads them."
    )
    if len(src) + count > len(texts):
        st.caption(f"Shown: the first {len(texts) - count} of {len(src)} pieces, and the padding.")


def first_choices(logits: Array, others: Array) -> int:
    """In how many rows (T,V) the largest logit is another."""
    return int((logits.argmax(-1) != others.argmax(-1)).sum())


def parallel(trace: Trace, head: Head) -> None:
    st.markdown(
        "In training the decoder reads the *right* pieces, not those it would have written itself: that is *teacher "
        "forcing*. They are all known beforehand, so all rows go through **in one pass**. When the model "
        "writes, the next input does not exist until it has written it. Do the two compute the same?"
    )
    time_lines(trace)
    alone = engine.run(one_at_a_time, trace.model, trace.src_ids, trace.tgt_ids)
    together, lifted = trace.tensors["logits"], without_causal_mask(trace)["logits"]
    differences, without = (np.abs(logits - alone).max(-1) for logits in (together, lifted))
    table(
        ("", "runs of the decoder", "largest difference from one by one"),
        [
            ("one by one", str(len(trace.tgt)), ""),
            ("all at once, with the causal mask", "1", magnitude(float(differences.max()))),
            ("all at once, mask lifted", "1", magnitude(float(without.max()))),
        ],
    )
    st.caption(
        f"Compared are all {together.shape[0]} · {together.shape[1]:,} logits (the scores of all vocabulary entries). "
        "With the mask a row depends on nothing after it. So it does not matter whether the rest is there already, "
        "and training can run all rows at once."
    )
    row_by_row(trace, differences, without)
    with st.expander("What training minimises in this one pass"):
        loss(trace)


def row_by_row(trace: Trace, differences: Array, without: Array) -> None:
    with st.expander("The largest difference, row by row"):
        table(
            ("row", "reads", "predicts", "with the mask", "mask lifted"),
            [
                (str(i + 1), trace.tgt[i].text, trace.labels[i].text, magnitude(float(d)), magnitude(float(w)))
                for i, (d, w) in enumerate(zip(differences[:READABLE], without[:READABLE], strict=True))
            ],
        )
        if len(trace.tgt) > READABLE:
            st.caption(f"The first {READABLE} of {len(trace.tgt)} rows.")


def loss(trace: Trace) -> None:
    """−log P of each right piece, and their sum; the model's own translation stands for the right one."""
    probabilities = probabilities_of(trace.tensors["logits"], [token.id for token in trace.labels])
    losses = -np.log(probabilities)
    st.markdown(
        "Each row gives the right piece a probability P. Its *loss* is −log P: 0 if it was sure. The less it expected "
        "the piece, the larger the loss. Training changes the weights so that the sum over all rows gets smaller. Take "
        "the model's own translation for the right one:"
    )
    table(
        ("row", "right piece", "P", "−log P"),
        [
            (str(i + 1), token.text, number(float(p)), number(float(one)))
            for i, (token, p, one) in enumerate(zip(trace.labels, probabilities, losses, strict=False))
            if i < READABLE
        ],
    )
    st.markdown(f"The sum over all {len(losses)} rows is **{number(float(losses.sum()))}**.")
    st.caption(
        "Training differs from this in more than one way. *Dropout* sets a part of the numbers to 0, chosen anew at "
        f"every step ({100 * trace.model.config.dropout:g}% in this model), so that the model relies on no single "
        "number. Here it is off. And the model was asked to leave a little probability for the other pieces (*label "
        "smoothing*)."
    )
