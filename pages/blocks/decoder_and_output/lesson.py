"""Lesson: what a decoder layer is made of, and how its last vector becomes probabilities of the next piece."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from figures.statistics import softmax
from model.decoding.strategies import filter_logits
from model.families.encoder_decoder import EncoderDecoder
from model.parts.layers import DecoderLayer
from model.trace import Trace
from pages.blocks.decoder_and_output.lens import stop
from pages.blocks.decoder_and_output.logits import likeliest, push, temperature
from pages.blocks.decoder_and_output.questions import default_row, predict
from ui.components.matrix import Caption, Labels, Scale
from ui.controls.control import Choice
from ui.controls.piece_control import choose_part, current_part
from ui.controls.vocabulary_entry import EMBEDDINGS, entries
from ui.course.check import Part, Shown, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.text import in_markdown, magnitude, number, piece
from ui.views.charts.bars import bars

VECTOR, LOGITS, SHARES = STAGES = "1 decoder output", "2 logits", "3 probabilities"
STAGE = Choice("Show", "output_stage", STAGES, default=LOGITS)
TRIALS = {"Stop at an earlier layer": stop, "Temperature": temperature, "Push one entry": push}
TRIAL = Choice("Try", "output_trial", list(TRIALS))
DIMENSIONS = 64  # of the decoder's output that are shown


def idea(trace: Trace) -> None:
    t, v = trace.tensors["logits"].shape
    st.markdown(
        "At each position the decoder ends with one vector, a row of Y. **Linear** compares it with every row of E, "
        "the embeddings of the vocabulary: each entry gets a score, its *logit*. **Softmax** turns the scores into "
        "probabilities of the next piece."
    )
    st.latex(r"P=\operatorname{softmax}(Y\,E^{\mathsf T})")
    with st.expander("The decoder's layers, and why the output is called tied"):
        st.markdown(
            f"Each of the {len(trace.model.anatomy.stack('decoder').layers)} decoder layers has three sub-layers: "
            "**masked self-attention** (what is written so far), **encoder-decoder attention** (what your sentence "
            "says) and **feed-forward**, each followed by Add & Norm. After the last one, Y holds a row for each of "
            f"the T = {t} positions."
        )
        st.markdown(
            f"E is the embedding matrix, with a row for each of the V = {v:,} entries. It is the same one that turns "
            "pieces into vectors: the output is *tied* to the input. A logit is large where the decoder's vector "
            "points the way the entry's embedding does."
        )


def current_row(trace: Trace) -> int:
    return current_part(len(trace.tgt), default_row(trace), trace.text, "row")


def choose(trace: Trace) -> None:
    read = [piece(token.text) for token in trace.tgt]
    choose_part("Position, by the piece just read", read, default_row(trace), trace.text, "row")
    STAGE.draw()


def see(trace: Trace) -> Shown:
    row, stage = current_row(trace), STAGE.value()
    logits = trace.tensors["logits"][row]
    ids = likeliest(logits)
    names = [entries()[i] for i in ids]
    last = trace.model.anatomy.stack("decoder").writes
    d_model = trace.tensors[last].shape[1]
    if stage == VECTOR:
        shown = checked_matrix(
            trace,
            last,
            Caption(
                f"What the last decoder layer holds at position {row + 1}",
                "A row of Y; a column is one of its dimensions.",
            ),
            labels=Labels(rows=[trace.tgt[row].text], describe="dimension {column}: {value}"),
            part=Part(rows=[row], n_columns=DIMENSIONS),
        )
        st.caption(f"Shown: the first {DIMENSIONS} of {d_model} dimensions.")
    else:
        is_logits = stage == LOGITS
        shown = checked_matrix(
            trace,
            "logits" if is_logits else "probabilities",
            Caption(
                f"The ten largest {'logits' if is_logits else 'probabilities'} at position {row + 1}",
                f"Ten of {len(logits):,} columns; ␣ is a space.",
            ),
            labels=Labels(rows=[trace.tgt[row].text], columns=names, describe="“{column}”: {value}"),
            part=Part(rows=[row], columns=ids),
            scale=Scale("signed" if is_logits else "weight"),
            start=(0, 0),
        )
    next_pieces(trace, row, ids, names)
    tied(trace, row)
    return shown


def next_pieces(trace: Trace, row: int, ids: Sequence[int], names: Sequence[str]) -> None:
    """The ten likeliest next pieces as bars, and what is left for all others."""
    probabilities = softmax(trace.tensors["logits"][row])
    shares = [float(probabilities[i]) for i in ids]
    st.markdown(f"**What may come after {in_markdown(trace.tgt[row].text)}**")
    bars(names, shares, "The ten likeliest next pieces, with their probabilities")
    st.markdown(
        f"The model writes **{in_markdown(trace.labels[row].text)}**. The {len(probabilities) - len(ids):,} "
        f"entries not shown share {magnitude(1 - sum(shares))}."
    )


def tied(trace: Trace, row: int) -> None:
    """The row of E that a piece came in by and the row that its logit is made with: one and the same."""
    token, (t, v) = trace.tgt[row], trace.tensors["logits"].shape
    matrix_e = trace.model.weights[EMBEDDINGS]
    same = float(np.abs(matrix_e[token.id] - trace.tensors["decoder.embedding.tokens"][row]).max())
    vector = trace.tensors[trace.model.anatomy.stack("decoder").writes][row]
    with st.expander("Tied: the same matrix on the way in and on the way out"):
        st.markdown(
            f"The piece just read, **{in_markdown(token.text)}**, has the id {token.id}: it came in as row {token.id} "
            "of E (rows of E count from 0, like ids). Were the model to write the same piece again, its logit would be "
            f"{number(float(matrix_e[token.id] @ vector))}: this position's vector times that very row. The largest "
            f"difference between the row that came in and the row used here is {magnitude(same)}."
        )
    st.caption(
        f"Shapes: Y ({t}, {len(vector)}), Eᵀ ({len(vector)}, {v:,}), logits and probabilities ({t}, {v:,}), a row a "
        "position."
    )


def do(trace: Trace) -> None:
    TRIALS[TRIAL.draw()](trace, current_row(trace))


LESSON = Lesson(
    "decoder-and-output",
    "Decoder and output",
    asks="How does a vector become the next word?",
    idea=idea,
    predict=predict,
    bench=Bench(controls=choose, see=see, check=check_cell, do=do),
    code=(DecoderLayer.forward, EncoderDecoder.output, filter_logits),
    on_map=OnMap(
        opens=("decoder.stack", "output.linear", "output.softmax"),
        plays=("decoder.feed_forward", "choose"),
    ),
)
