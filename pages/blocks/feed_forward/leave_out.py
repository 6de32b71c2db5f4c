"""The network without a unit, without its ReLU, or switched off; and each row sent through it alone."""

import numpy as np
import streamlit as st

from experiments.blocks.position_wise import each_row_alone
from experiments.passes import changed_pass
from figures.feed_forward import most_changed
from figures.probabilities import probabilities_of
from model.anatomy.structure import Layer
from model.decoding.strategies import Greedy
from model.files.loaded_model import Array
from model.interventions import Block, Interventions, Unit
from model.trace import Trace
from pages.blocks.feed_forward.network import SHOWN, network_of
from ui import engine
from ui.components.matrix import Labels
from ui.controls.control import Choice
from ui.controls.layer_control import phrase_of, tokens_of_layer
from ui.text import bold, magnitude, number
from ui.views.before_after import MOVED, before_after, pieces_before_after
from ui.views.charts.tables import table

LOST = 5  # so many pieces longer than before, a translation under a change is cut


def leave_out(trace: Trace, layer: Layer, unit: int) -> None:
    """The network without the unit, without its ReLU, or switched off: before and after."""
    block = Block(layer.stack, layer.index, "feed_forward")
    ways = {
        "This unit": Interventions(units_off=(Unit(layer.stack, layer.index, unit),)),
        "The ReLU": Interventions(relu_off=(block,)),
        "The whole network": Interventions(blocks_off=(block,)),
    }
    way = Choice("Leave out", "leave_out", list(ways)).draw()
    change = ways[way]
    src, tgt = trace.src_ids, trace.tgt_ids
    after = engine.run(
        changed_pass, trace.model, src, tgt, change, (layer.writes, network_of(trace, layer).writes, "logits")
    )
    one, two = trace.tensors[layer.writes], after[layer.writes]
    dimensions = most_changed(one, two, SHOWN)
    says = {
        "This unit": f"unit {unit + 1} is 0 for every piece",
        "The ReLU": "negative units pass too",
        "The whole network": "the network writes 0",
    }[way]
    before_after(
        (one[:, dimensions], two[:, dimensions]),
        ("As it is", f"After: {says}"),
        Labels(
            [token.text for token in tokens_of_layer(trace, layer)],
            [str(d + 1) for d in dimensions],
            describe="“{row}”, dimension {column}: {value}",
        ),
        how_to_read=f"What {phrase_of(layer)} passes on: the {len(dimensions)} dimensions that change most.",
        csv_name=f"output of {phrase_of(layer)}",
        scale="signed",
    )
    consequences(trace, after["logits"], change)
    explain(trace, layer, way, after[network_of(trace, layer).writes])


def consequences(trace: Trace, logits: Array, change: Interventions) -> None:
    """What becomes of the translation: of each piece's probability, and of what is written."""
    labels = list(trace.label_ids)
    names = "as it is", "after"
    before, later = (probabilities_of(one, labels) for one in (trace.tensors["logits"], logits))
    st.markdown("**The probability of each piece of the translation, before and after**")
    falls, rises = pieces_before_after(trace.labels, before, later, names)
    # If every piece is still the likeliest after those before it, writing anew would give the same: no need to.
    same = logits.argmax(-1).tolist() == labels
    most = len(labels) + LOST
    other = trace if same and trace.finished else engine.retrace(trace, None, Greedy(max_steps=most), change)
    st.markdown(
        f"The probability falls for {falls} of {len(before)} pieces and rises for {rises} (by more than {MOVED:g}); on "
        f"average it goes from **{number(float(before.mean()))}** to **{number(float(later.mean()))}**. The "
        f"translation was {bold(trace.translation or '(nothing)')} Now it is {bold(other.translation or '(nothing)')}"
        + ("" if other.finished else f" (cut after {most} pieces)")
    )


def explain(trace: Trace, layer: Layer, way: str, written: Array) -> None:
    """Why that happened. written: the network's output under the change."""
    if way == "This unit":
        st.caption(
            "One unit of many. In this layer only the rows for which it fires change; the other rows can change "
            "in later "
            "layers alone, where attention brings the news."
        )
    elif way == "The whole network":
        st.caption(
            "The rows still run past the network: Add & Norm adds what came in, so what attention gathered is kept."
        )
    else:
        w = {name: trace.model.weights[f"{network_of(trace, layer).path}.{name}"].astype(np.float64)
             for name in ("w_1.weight", "w_1.bias", "w_2.weight", "w_2.bias")}  # fmt: skip
        single = w["w_2.weight"] @ w["w_1.weight"]  # (d_model, d_model); torch keeps W transposed
        x = trace.tensors[network_of(trace, layer).reads]
        negatives = trace.tensors[f"{network_of(trace, layer).path}.pre_activation"]
        product = x @ single.T + w["w_2.weight"] @ w["w_1.bias"] + w["w_2.bias"]
        st.caption(
            "Without the ReLU two matrices in a row are just one: multiply W₁W₂ beforehand and you get the same rows "
            f"(largest difference {magnitude(float(np.abs(product - written).max()))}). In training W₂ met no negative "
            f"unit; here it meets {int(np.median((negatives < 0).sum(1)))} in a typical row (the median)."
        )


def alone(trace: Trace, layer: Layer) -> None:
    """The network and self-attention on every row alone, against the same rows in their sentence."""
    st.markdown(
        "Take every row out of the sentence and send it through the network alone, as a sequence of one. Do the same "
        "with the self-attention of this layer."
    )
    differences = differences_alone(trace, layer)
    table(
        ("each row alone, against the same row in its sentence", "largest difference of a number"),
        [("feed-forward network", magnitude(differences[0])), ("self-attention", magnitude(differences[1]))],
    )
    st.caption(
        "For the network no more than rounding is left: it never looks at another row. It does not matter who stands "
        "beside it, in which order, or whether anybody does. That is what *position-wise* means. Attention is "
        "the opposite."
    )


def differences_alone(trace: Trace, layer: Layer) -> list[float]:
    """The largest difference that it makes to run every row alone: for the network and for self-attention."""
    differences = []
    for name in ("feed_forward", "self_attn"):
        sublayer = trace.model.anatomy.sublayer(layer.stack, layer.index, name)
        by_itself = each_row_alone(trace.model, Block(*sublayer.place), trace.tensors[sublayer.reads])
        differences.append(float(np.abs(by_itself - trace.tensors[sublayer.writes]).max()))
    return differences
