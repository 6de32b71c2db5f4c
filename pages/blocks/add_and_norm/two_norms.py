"""Per word or per feature: layer norm and batch norm on the same numbers."""

import numpy as np
import streamlit as st

from experiments.blocks.norm_comparison import per_feature, per_word
from experiments.writing.examples import example_rows, example_sentences, run_examples
from figures.add_norm import mean_and_deviation
from figures.feed_forward import most_changed
from model.anatomy.structure import SubLayer
from model.files.loaded_model import Array
from model.trace import Trace
from pages.blocks.add_and_norm.place import current_sublayer, sum_of
from ui import engine
from ui.components.matrix import Labels
from ui.controls.control import Choice
from ui.controls.layer_control import LAYER, phrase_of, tokens_of_layer
from ui.text import magnitude, number
from ui.views.before_after import before_after
from ui.views.charts.tables import table

SHOWN = 16  # dimensions of a matrix
BESIDE = 3  # sentences that share a batch with the learner's
KINDS = {"Batch norm: per feature": per_feature, "Layer norm: per word": per_word}
KIND = Choice("Normalise", "norm_kind", list(KINDS))


def per_word_or_per_feature(trace: Trace) -> None:
    """The same numbers under layer norm and batch norm, in two batches."""
    layer = LAYER.value(trace.model)
    sublayer = current_sublayer(layer)
    st.subheader("Per word or per feature: layer norm and batch norm", anchor=False)
    own, *batches = batches_of(trace, sublayer)
    st.markdown(
        f"Take the sums of {phrase_of(layer)} (the Add & Norm chosen under See), before the norm. Your "
        f"sentence stands in a batch with {BESIDE} others. **Layer norm** normalises each word (or piece of "
        f"one) by its own {own.shape[1]} "
        "numbers; **batch norm** each feature (dimension) over all words of the batch."
    )
    kind = KIND.draw()
    grid(kind)
    one, two = (KINDS[kind](np.concatenate([own, *others]))[: len(own)] for others in batches)
    dimensions = most_changed(one, two, SHOWN)
    before_after(
        (one[:, dimensions], two[:, dimensions]),
        (f"Your sentence beside {BESIDE} others", f"Beside {BESIDE} other ones"),
        Labels(
            [token.text for token in tokens_of_layer(trace, layer)],
            [str(d + 1) for d in dimensions],
            describe="“{row}”, dimension {column}: {value}",
        ),
        how_to_read=f"{kind}; the {len(dimensions)} dimensions that change most. γ = 1, β = 0.",
        csv_name=kind.partition(":")[0],
        scale="signed",
    )
    difference = float(np.abs(one - two).max())
    st.markdown(
        f"The sentences beside it changed, yours did not. Largest difference between its vectors in the two batches: "
        f"**{magnitude(difference)}**."
    )
    before_and_after(np.concatenate([own, *batches[0]]))


def grid(kind: str) -> None:
    """The batch as a grid, a word a row and a feature a column; what is normalised together is marked."""
    by_row = kind.startswith("Layer")
    cells = "".join(
        "<tr>"
        + "".join(f'<td class="{"on" if (r == 1 if by_row else c == 2) else ""}"></td>' for c in range(8))
        + "</tr>"
        for r in range(5)
    )
    what = "one row: all features of one word" if by_row else "one column: one feature of all words"
    st.html(
        f'<figure class="tw-norm-grid" role="img" aria-label="A grid of words by features; marked is {what}.">'
        f"<table>{cells}</table><figcaption>rows: words · columns: features · normalised together: {what}</figcaption>"
        "</figure>"
    )


def before_and_after(whole: Array) -> None:
    """Mean and deviation of words and of features: as they are, and under either norm. whole (N,D): all words."""
    table(
        ("the first batch", "mean of a word", "deviation of a word", "mean of a feature", "deviation of a feature"),
        [
            (name, *spans(rows))
            for name, rows in (
                ("as it is", whole),
                ("layer norm", per_word(whole)),
                ("batch norm", per_feature(whole)),
            )
        ],
    )
    st.caption(
        f"Smallest to largest over the {len(whole)} pieces and {whole.shape[1]} features of the batch; padding is left "
        "out, or batch norm would count it too. Each norm sets two of the four columns to 0 and 1. While a model "
        "trains with batch norm, a word's vector depends on strangers: on how many there are, and how long. Under "
        "layer norm it is the same alone and in any batch, in training and afterwards. That is one reason why "
        "Transformers use layer norm."
    )


def spans(rows: Array) -> list[str]:
    """Smallest and largest mean and deviation of the rows, then of the columns."""
    spans_of = []
    for numbers in (mean_and_deviation(rows), mean_and_deviation(rows.T)):
        for values in numbers.T:
            low, high = number(float(values.min()), 2), number(float(values.max()), 2)
            spans_of.append(low if low == high else f"{low} … {high}")
    return spans_of


def batches_of(trace: Trace, sublayer: SubLayer) -> tuple[Array, list[Array], list[Array]]:
    """The sums of an Add & Norm for the learner's sentence, and for two times three example sentences."""
    name = sum_of(sublayer)
    others = [sentence for sentence in example_sentences(trace.model) if sentence != trace.text][: 2 * BESIDE]
    runs = engine.run(run_examples, trace.model)
    sums = [example_rows(runs[sentence], sublayer.stack)[1][name] for sentence in others]
    return trace.tensors[name], sums[:BESIDE], sums[BESIDE:]
