"""Lesson: what an encoding of positions must do, and how sines and cosines do it."""

from collections.abc import Sequence

import streamlit as st

from experiments.passes import shuffle
from model.parts.positions import Rotary, Sinusoidal, rotation, sinusoidal_encoding
from model.text.tokenizer import Token
from model.trace import Trace
from pages.inputs.positional_encodings.closer import look_closer
from pages.inputs.positional_encodings.kinds import kinds
from pages.inputs.positional_encodings.shuffling import FEW, do
from pages.inputs.positional_encodings.simpler_rules import candidates, small_table
from ui.components.matrix import Caption, Labels
from ui.controls.control import Choice
from ui.controls.stack_control import STACK
from ui.course.check import Part, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question
from ui.text import in_markdown, number
from ui.views.decoder_inputs import shifted_inputs

# What See shows: the tensor, and what it is.
TENSORS = {
    "Positions": ("positions", "The encoding of each position", "Odd dimensions are sines, even ones cosines."),
    "Embeddings": ("scaled", "The scaled embeddings, without positions", "The same piece has the same row anywhere."),
    "Their sum": ("output", "What enters the {stack}", "Embedding plus position, element by element."),
}
NUMBERS = Choice("Numbers", "positions_tensor", tuple(TENSORS))


def idea(trace: Trace) -> None:
    d_model = trace.model.config.d_model
    st.markdown(
        "The words *cat fights dog* and *dog fights cat* are the same pieces, and so the same embeddings. To tell the "
        "two apart, the model adds to every embedding numbers that depend only on the position: its **encoding**. "
        "They are sines and cosines of the position."
    )
    with st.expander("The formula, and a table small enough to check by hand"):
        st.latex(
            r"\begin{aligned}PE_{(pos,\,2i)}&=\sin\!\left(pos\,/\,10000^{2i/d_{model}}\right)\\"
            r"PE_{(pos,\,2i+1)}&=\cos\!\left(pos\,/\,10000^{2i/d_{model}}\right)\end{aligned}"
        )
        st.markdown(
            f"*pos* is the position; the d_model = {d_model} numbers come in pairs *i*, a sine and a cosine each, and "
            "every pair turns more slowly than the one before. The formula counts *pos* and *i* from 0. Dimensions "
            "count from 1 here: 1 and 2 are the first pair."
        )
        small_table()
    with st.expander("Would something simpler do? Try it"):
        st.markdown(
            "In the encoder, pieces look at one another (that is *attention*, the next lessons), and nothing in that "
            "says which piece comes first. So an encoding must tell the **order**, be **unique** for every position "
            "(so it must not repeat), and stay **bounded**, however long the sentence is."
        )
        candidates(trace)
    with st.expander("Other ways to tell a model about order"):
        kinds(trace)


def dimensions(trace: Trace) -> Choice[str]:
    return Choice("Dimensions", "positions_dimensions", (f"first {FEW}", f"all {trace.model.config.d_model}"))


def tokens_of_side(trace: Trace) -> tuple[Token, ...]:
    return trace.tokens(STACK.value(trace.model).tokens)


def controls(trace: Trace) -> None:
    STACK.draw(trace.model)
    NUMBERS.draw()
    dimensions(trace).draw()


def see(trace: Trace) -> None:
    stack, tokens = STACK.value(trace.model), tokens_of_side(trace)
    name, title, how_to_read = TENSORS[NUMBERS.value()]
    every = dimensions(trace)
    d_model = trace.model.config.d_model
    if stack.tokens == "tgt":
        shifted_inputs(trace)
    checked_matrix(
        trace,
        f"{stack.embedding}.{name}",
        Caption(
            f"{title.format(stack=stack.name)} ({len(tokens)}, {d_model})",
            f"A row is a position (pos, from 0) with its piece, a column a dimension (from 1). {how_to_read}",
        ),
        labels=Labels(
            rows=[f"{position} {token.text}" for position, token in enumerate(tokens)],
            describe="position {row}, dimension {column}: {value}",
        ),
        part=Part(n_columns=FEW if every.value() == every.options[0] else None),
        start=(min(2, len(tokens) - 1), 2),
    )
    look_closer(tokens, d_model)


def check(trace: Trace) -> None:
    check_cell(trace)


def predict(trace: Trace) -> Sequence[Question]:
    return equivariant(), sine(trace), distance(trace)


def equivariant() -> Question:
    return Question(
        "equivariant",
        "Leave the positions out and shuffle the words. The rows of the encoder's output will…",
        (
            "be the same numbers, shuffled like the words",
            "not change at all, not even their order",
            "be entirely different numbers",
        ),
        frozenset({0}),
        "Each row is made from its own piece and the set of all pieces, and neither depends on the order. That is "
        "called permutation-equivariant. Try it under *Do*.",
        wrong={
            1: "There is one row for each piece, so the rows stand where their pieces stand.",
            2: "Only their places change: a piece meets the same pieces as before.",
        },
    )


def sine(trace: Trace) -> Question:
    values = trace.tensors[f"{trace.model.anatomy.stacks[0].embedding}.positions"][:8, 0]
    best = int(values.argmax())
    which = "these pieces" if len(values) == len(trace.src) else f"the first {len(values)} pieces"
    return Question(
        "sine",
        f"Dimension 1 is sin(pos). At which of {which} of your sentence is it largest? (pos counts from 0, angles are "
        "in radians.)",
        tuple(f"{in_markdown(token.text)} (pos {t})" for t, token in enumerate(trace.src[: len(values)])),
        frozenset({best}),
        f"sin({best}) = {number(float(values[best]))}: a quarter turn is π/2 = 1.57, and whole turns of 2π = 6.28 come "
        "back to it. The piece itself plays no part.",
        wrong={t: f"sin({t}) = {number(float(value))}." for t, value in enumerate(values) if t != best},
    )


def distance(trace: Trace) -> Question:
    far = sinusoidal_encoding(13, trace.model.config.d_model).double()
    near, later = float(far[1] @ far[4]), float(far[9] @ far[12])
    return Question(
        "distance",
        "The dot product of two encodings tells how alike they are: multiply them number by number and add up. "
        f"P(1) · P(4) is {number(near, 3)}. What is P(9) · P(12)?",
        ("larger", "the same", "smaller"),
        frozenset({1}),
        f"It is {number(later, 3)}. Both pairs are 3 positions apart, and the product depends on the distance "
        "alone: cos(a) cos(b) + sin(a) sin(b) = cos(a − b), for every pair of dimensions.",
        wrong={
            0: "The numbers of an encoding do not grow with the position; sines and cosines stay between −1 and 1.",
            2: "Nothing fades with the position; sines and cosines go on for ever.",
        },
    )


LESSON = Lesson(
    "positional-encodings",
    "Positional encodings",
    asks="How does the model know which word comes first?",
    idea=idea,
    predict=predict,
    bench=Bench(controls=controls, see=see, check=check, do=do),
    code=(sinusoidal_encoding, Sinusoidal, rotation, Rotary, shuffle),
    on_map=OnMap(opens=("encoder.positions", "decoder.positions")),
)
