"""Lesson: from an id to a vector that was learned, and what the space of these vectors knows."""

import numpy as np
import streamlit as st

from experiments.inputs.vocabulary import embedding_matrix, mean_cosines
from explain import arrays, worked_cosine
from figures.embedding_space import (
    centred,
    circle_order,
    cosines,
    distance,
    largest_difference,
    nearest,
    one_hot,
)
from model.parts.embedding import TokenEmbedding
from model.text.tokenizer import Token
from model.trace import Trace
from pages.inputs.embeddings.neighbours import do
from pages.inputs.embeddings.questions import first_id, predict
from ui import engine
from ui.components.matrix import Caption, Labels, Scale, matrix
from ui.controls.address import read_pair, write_pair
from ui.controls.control import Choice
from ui.controls.stack_control import STACK
from ui.course.check import Shown, check_cell, checked_matrix, compute_it_yourself, fill_in
from ui.course.lesson import Bench, Lesson, OnMap
from ui.text import in_markdown, legible, number
from ui.views.attention_kinds import READABLE
from ui.views.decoder_inputs import shifted_inputs
from ui.views.worked_steps import show_steps

STEPS = {"1 rows of E": "tokens", "2 times √d_model": "scaled", "3 cosines": ""}
STEP = Choice("Step", "rows", tuple(STEPS))
FIRST = 16  # dimensions of the look-up shown both ways


def idea(trace: Trace) -> None:
    size, d_model = embedding_matrix(trace.model).shape
    st.markdown(
        "A piece's id is only its place in the vocabulary and says nothing about meaning. So the model looks up a row "
        f"of {d_model} learned numbers for every piece, its **embedding**. Pieces that are used alike often end up "
        "with rows that are alike."
    )
    with st.expander("The look-up as a formula"):
        st.markdown(
            f"The rows stand in a matrix **E**: {size:,} rows of d_model = {d_model} numbers. Training sets these "
            f"numbers. An id can also be written as a **one-hot vector**: {size:,} numbers, all 0 but a single "
            "1 at the id's place. This vector times E is the row of the id. Then the row is multiplied by √d_model:"
        )
        st.latex(
            r"\begin{aligned}x&=\sqrt{d_{\text{model}}}\cdot \text{onehot}(\text{id})\cdot E\\"
            rf"&=\sqrt{{{d_model}}}\cdot E_{{\text{{id}}}}\end{{aligned}}"
        )
        st.markdown(
            f"√{d_model} is {d_model**0.5:g}. With this factor the numbers are not small beside what is added next, "
            f"the position. The encoder and the decoder look up in the same E: {trace.model.about.source} and "
            f"{trace.model.about.target} share one vocabulary."
        )


def controls(trace: Trace) -> None:
    STACK.draw(trace.model)
    STEP.draw()


def tensor_name(trace: Trace, what: str = "") -> str:
    """A tensor of the embedding of the chosen side; by default that of the chosen step."""
    return f"{STACK.value(trace.model).embedding}.{what or STEPS[STEP.value()] or 'tokens'}"


def tokens_of_side(trace: Trace) -> tuple[Token, ...]:
    return trace.tokens(STACK.value(trace.model).tokens)


def see(trace: Trace) -> Shown | None:
    if STACK.value(trace.model).tokens == "tgt":
        shifted_inputs(trace)
    what = STEPS[STEP.value()]
    if not what:
        cosine_matrix(trace)
        return None
    rows, d_model = trace.tensors[tensor_name(trace)].shape
    shown = checked_matrix(
        trace,
        tensor_name(trace),
        Caption(
            "The row of E for each piece"
            if what == "tokens"
            else f"The same rows, times √{d_model} = {d_model**0.5:g}",
            f"One line a piece, {d_model} dimensions; blue is negative, orange positive, faint close to 0.",
        ),
        labels=Labels(describe="“{row}”, dimension {column}: {value}"),
    )
    st.caption(f"Shapes: E {embedding_matrix(trace.model).shape}, rows {(rows, d_model)}.")
    if what == "tokens":
        long_way(trace, tokens_of_side(trace)[shown.cell[0]])
    else:
        sizes(trace)
    return shown


def sizes(trace: Trace) -> None:
    """How large the numbers are before and after scaling, beside the positions."""
    before, after = (float(np.abs(trace.tensors[tensor_name(trace, what)]).max()) for what in ("tokens", "scaled"))
    positions = trace.tensors.get(tensor_name(trace, "positions"))
    st.caption(
        f"The largest size grows from {number(before, 2)} to {number(after, 2)}."
        + (
            ""
            if positions is None
            else f" The positions, added next, reach {number(float(np.abs(positions).max()), 2)}."
        )
    )


def long_way(trace: Trace, token: Token) -> None:
    """One-hot row times E, and the row looked up: both, and their difference."""
    E = embedding_matrix(trace.model)
    with st.expander("Why the look-up is a matrix product, and why one-hot vectors are not enough"):
        product, looked_up = one_hot(token.id, len(E)) @ E, E[token.id]
        st.markdown(
            f"The one-hot vector of **{in_markdown(token.text)}** has its 1 at the place of id {token.id}. Times E it "
            f"is a sum of {len(E):,} rows, all multiplied by 0 but one."
        )
        matrix(
            [product[:FIRST], looked_up[:FIRST]],
            Labels(
                ["one-hot × E", f"E[{token.id}]"],
                [str(i + 1) for i in range(FIRST)],
                describe="{row}, dimension {column}: {value}",
            ),
            Caption(f"The product and the row, dimensions 1 to {FIRST}", csv_name="one-hot times E"),
            key="see_long_way",
            scale=Scale("signed"),
        )
        st.caption(
            f"Largest difference over all {E.shape[1]} dimensions: "
            f"{number(largest_difference(product, looked_up), 1)}. The product takes {len(E):,} · {E.shape[1]} = "
            f"{E.size:,} multiplications, the look-up none."
        )
        dog, cat, orange, apple = (
            one_hot(first_id(trace.model, word), len(E)) for word in ("dog", "cat", "orange", "apple")
        )
        st.markdown(
            "One-hot vectors alone show no likeness: any two are equally far apart. From *dog* to *cat* the distance "
            f"is √2 = {number(distance(dog, cat))}, from *orange* to *apple* {number(distance(orange, apple))}, and "
            f"from *dog* to *apple* {number(distance(dog, apple))} as well."
        )


def cosine_matrix(trace: Trace) -> None:
    tokens = tokens_of_side(trace)
    names = [token.text for token in tokens[:READABLE]]
    alike = cosines(trace.tensors[tensor_name(trace)][:READABLE])
    matrix(
        alike,
        Labels(names, names, describe="“{row}” and “{column}”: {value}"),
        Caption(
            "How alike the pieces' embeddings are",
            "The cosine of the angle between two rows of E as they are: 1 the same direction, 0 a right angle, −1 "
            "opposite.",
            csv_name="cosines",
        ),
        key="see_cosines",
        scale=Scale("signed", limit=1.0),
        selected=chosen_pair(trace),
        on_select=lambda cell: write_pair("cell", cell),
    )
    if len(names) < len(tokens):
        st.caption(f"Shown: the first {len(names)} of {len(tokens)} pieces.")
    as_they_are, without_mean = engine.run(mean_cosines, trace.model)
    st.caption(
        "These rows depend on no sentence yet: a piece has the same embedding wherever it stands. Two different rows "
        f"of E have a cosine of {number(as_they_are, 2)} on average, not 0: all rows lean a little to one side. "
        f"With the mean of all rows taken from each first, it is called the *centred cosine* here: "
        f"{number(without_mean, 2)} on average. *Do* measures by that one."
    )


def chosen_pair(trace: Trace) -> tuple[int, int]:
    n = min(len(tokens_of_side(trace)), READABLE)
    return read_pair("cell", (n, n), (0, min(1, n - 1)))


def check(shown: Shown | Trace) -> None:
    if isinstance(shown, Shown):
        check_cell(shown)
        return
    trace = shown
    (row, column), tokens = chosen_pair(trace), tokens_of_side(trace)
    numbers, name = engine.numbers(trace), tensor_name(trace)
    result = worked_cosine(numbers, name, row, column)
    st.markdown(
        f"**How did this {legible(result.value)} come about?** Row **{in_markdown(tokens[row].text)}**, column "
        f"**{in_markdown(tokens[column].text)}**. Choose another cell by a click, or with the arrow keys and Enter."
    )
    show_steps([result])
    st.caption("Numbers are shown rounded and were computed unrounded.")
    if result.blank:
        fill_in(result.blank, key=f"{name}/{row}/{column}/{trace.text}")
    compute_it_yourself(arrays(numbers, [result]), result.snippet, result.value)


LESSON = Lesson(
    "embeddings",
    "Embeddings",
    asks="How does a number become a meaning?",
    idea=idea,
    predict=predict,
    bench=Bench(controls=controls, see=see, check=check, do=do),
    code=(TokenEmbedding.forward, cosines, centred, nearest, circle_order),
    on_map=OnMap(opens=("encoder.embedding", "decoder.embedding")),
)
