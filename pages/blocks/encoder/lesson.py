"""Lesson: the whole stack, in which a word's vector becomes that of a word in its sentence."""

import numpy as np
import streamlit as st

from experiments.inputs.contextual_vectors import alike, stages, travelled
from figures.embedding_space import cosines
from model.parts.layers import EncoderLayer
from model.parts.stacks import Encoder
from model.trace import Trace
from pages.blocks.encoder.change import change_a_piece
from pages.blocks.encoder.questions import predict
from pages.blocks.encoder.two_sentences import two_sentences
from ui.components.matrix import Caption, Labels, Scale, matrix
from ui.controls.control import Choice
from ui.course.check import check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.text import number
from ui.views.attention_kinds import READABLE
from ui.views.charts.tables import table


def idea(trace: Trace) -> None:
    n = len(trace.model.anatomy.stack("encoder").layers)
    st.markdown(
        "A word comes in as a vector that knows nothing of its neighbours. In each of the "
        f"{n} layers every piece looks at **all** pieces and takes something from them. What leaves the top, the "
        "*memory* that the decoder reads, stands for the word **in this sentence**."
    )
    with st.expander("The layers, one after another"):
        st.markdown(
            "Each layer is self-attention, Add & Norm, feed-forward, Add & Norm, with weights of its own. Layer n "
            "makes its rows from those of the layer before; the first one begins with the look-up and the positions:"
        )
        st.latex(
            r"\begin{gathered}X^{(0)}=\text{embedding}+\text{positions}\\"
            rf"X^{{(n)}}=\operatorname{{EncoderLayer}}_n\!\left(X^{{(n-1)}}\right),\quad n=1\dots {n}\end{{gathered}}"
        )
        st.markdown("A vector that depends on the whole sentence is called a *contextual representation*.")


def see(trace: Trace) -> None:
    names = dict(list(stages(trace.model).items())[1:])
    labels = {"into the stack" if label == "with position" else label: name for label, name in names.items()}
    stage = Choice("Stage", "encoder_stage", list(labels), default=list(labels)[-1]).draw()
    d_model = trace.model.config.d_model
    checked_matrix(
        trace,
        labels[stage],
        Caption(
            f"The rows {stage}", f"One row a piece, {d_model} dimensions: the layers change the numbers, not the shape."
        ),
        labels=Labels(describe="“{row}”, dimension {column}: {value}"),
    )
    first, *above = (trace.tensors[name][:READABLE] for name in labels.values())
    left = np.stack([cosines(first, rows).diagonal() for rows in above], axis=1)
    matrix(
        left,
        Labels([token.text for token in trace.src[:READABLE]], list(labels)[1:], describe="“{row}” {column}: {value}"),
        Caption(
            "How much of its start is left in each piece",
            "Cosine of a row with the row that went into the stack: 1 is the same direction, 0 a right angle.",
            csv_name="cosine with the start",
        ),
        key="see_start",
        scale=Scale("signed", limit=1.0),
    )
    st.caption(
        f"Shapes: ({len(trace.src)}, {d_model}) at every stage. After the last layer the mean cosine with the start is "
        f"**{number(float(left[:, -1].mean()), 2)}**."
    )


def do(trace: Trace) -> None:
    two_sentences(trace)
    st.subheader("How far does a change travel?", anchor=False)
    change_a_piece(trace)
    with st.expander("Encoder, decoder, or both: three kinds of model"):
        kinds_of_model()


def kinds_of_model() -> None:
    """What models are made of one stack or of both. Sources: the papers named."""
    table(
        ("kind", "each piece sees", "it puts out", "for example"),
        [
            ("encoder alone", "the whole text", "a vector for each piece", "BERT (2018): classify, find, fill in"),
            ("decoder alone", "itself and what came before", "the next piece", "GPT (2018): go on writing"),
            ("encoder and decoder", "the whole source; of the target what came before", "another text", "this one"),
        ],
    )
    st.caption(
        "An encoder writes no text by itself: it knows its whole input, and nothing comes next. A decoder writes, but "
        "no piece ever sees what follows it."
    )


LESSON = Lesson(
    "encoder",
    "Encoder",
    asks="What does a word become once it has read its sentence?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check_cell, do=do),
    code=(Encoder, EncoderLayer, alike, travelled),
    on_map=OnMap(
        opens=("encoder.stack",),
        plays=("encoder.embedding", "encoder.positions", "encoder.self_attn", "encoder.feed_forward", "memory"),
    ),
)
