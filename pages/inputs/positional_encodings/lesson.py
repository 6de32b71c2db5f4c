"""Lesson: what an encoding of positions must do, and how sines and cosines do it."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import streamlit as st
import torch

from experiments.passes import shuffle
from figures.positions import candidate, closest, rule_figure
from model.parts.positions import Rotary, Sinusoidal, rotation, sinusoidal_encoding
from model.trace import Trace
from pages.inputs.positional_encodings.closer import look_closer
from pages.inputs.positional_encodings.shuffling import FEW, do
from ui.components.matrix import Caption, Labels, Scale, matrix
from ui.controls.control import Choice
from ui.controls.stack_control import STACK
from ui.course.check import Part, Shown, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question
from ui.text import in_markdown, magnitude, number
from ui.views.charts.tables import markdown_table, numbers_of_figure, table
from ui.views.decoder_inputs import shifted_inputs

# What is tried before sines and cosines: P(t + 1) from P(t), t and a constant c; constants worth trying; why it fails.
RULES: dict[str, tuple[Callable[[Any, int, float], Any], Sequence[str], str]] = {
    "P(t) + c": (lambda p, t, c: p + c, ("1", "0.1", "0.01"),
        "A steady climb has no end: large steps soon drown the word, small ones make neighbours alike."),
    "P(t) · c": (lambda p, t, c: p * c, ("1.1", "0.9", "−1"),
        "A factor above 1 explodes, one below 1 fades to nothing, and −1 goes round in a circle of two."),
    "e^(P(t) · c)": (lambda p, t, c: np.exp(p * c), ("1", "0.1"),
        "Either it explodes, or it settles on one number and all later positions look the same."),
    "P(t) · t · c": (lambda p, t, c: p * t * c, ("1", "0.1"),
        "The factor grows with t: below 1 it shrinks, at 1 two neighbours are equal, above 1 it explodes."),
}  # fmt: skip
WAVES = "sine and cosine"
RULE = Choice("P(t + 1) =", "rule", (*RULES, WAVES))
LARGEST, NEAREST = 10, 0.05  # beyond the first a number is no longer bounded here, below the second no longer unique
SHOWN = 20  # positions in the picture

# Other ways to tell a model about order: what each is, as a formula, and who uses it.
KINDS = (
    ("absolute, fixed", "sines and cosines, added to the embedding", "$x_i + P(i)$",
     "the original Transformer; this model"),
    ("absolute, learned", "a trained vector for each position, added to the embedding", "$x_i + p_i$",
     "GPT, BERT, ViT"),
    ("relative", "a trained number for each distance, added to the score", r"$q_i\cdot k_j + r_{i-j}$", "T5"),
    ("rotary (RoPE)", "queries and keys are turned, the further on the more", r"$(R_i q_i)\cdot (R_j k_j)$",
     "RoFormer, GPT-NeoX"),
    ("ALiBi", "a penalty that grows with the distance, taken from the score", r"$q_i\cdot k_j - m\,(i-j)$", "BLOOM"),
)  # fmt: skip
PLACES = ((0, 0), (1, 4), (9, 12), (1, 7))  # positions of a query and of a key

# What See shows: the tensor, and what it is.
TENSORS = {
    "Positions": ("positions", "The encoding of each position", "Odd dimensions are sines, even ones cosines."),
    "Embeddings": ("scaled", "The scaled embeddings, without positions", "The same piece has the same row anywhere."),
    "Their sum": ("output", "What enters the {stack}", "Embedding plus position, element by element."),
}
NUMBERS = Choice("Numbers", "positions_tensor", tuple(TENSORS))


def idea(trace: Trace) -> None:
    st.markdown(
        "The words *cat fights dog* and *dog fights cat* are the same pieces, and so the same embeddings. To tell the "
        "two apart, the model adds to every embedding numbers that depend only on the position: its **encoding**. "
        "They are sines and cosines of the position."
    )
    with st.expander("The formula, and a table small enough to check by hand"):
        formula(trace.model.config.d_model)
    with st.expander("Would something simpler do? Try it"):
        st.markdown(
            "In the encoder, pieces look at one another (that is *attention*, the next lessons), and nothing in that "
            "says which piece comes first. So an encoding must tell the **order**, be **unique** for every position "
            "(so it must not repeat), and stay **bounded**, however long the sentence is."
        )
        simpler_rules(trace)
    with st.expander("Other ways to tell a model about order"):
        other_ways(trace)


def formula(d_model: int) -> None:
    st.latex(
        r"\begin{aligned}PE_{(pos,\,2i)}&=\sin\!\left(pos\,/\,10000^{2i/d_{model}}\right)\\"
        r"PE_{(pos,\,2i+1)}&=\cos\!\left(pos\,/\,10000^{2i/d_{model}}\right)\end{aligned}"
    )
    st.markdown(
        f"*pos* is the position; the d_model = {d_model} numbers come in pairs *i*, a sine and a cosine each, and "
        "every pair turns more slowly than the one before. The formula counts *pos* and *i* from 0. Dimensions "
        "count from 1 here: 1 and 2 are the first pair."
    )
    matrix(
        sinusoidal_encoding(5, 5).numpy().T,
        Labels([f"dim {d}" for d in range(1, 6)], "01234", "position {column}, {row}: {value}"),
        Caption(
            "Positions 0 to 4, d_model = 5",
            "A column is a position, counted from 0 as in the formula; a row is a dimension, counted from 1: sine, "
            "cosine, sine, cosine, sine.",
            "encoding of 5 positions in 5 dimensions",
        ),
        key="small_table",
        scale=Scale("signed", limit=1.0, digits=3),
    )
    st.caption(
        "Computed just now by the function under *Code*. Five is odd, so the last sine has no cosine. Each pair turns "
        "more slowly than the one before."
    )


@st.fragment
def simpler_rules(trace: Trace) -> None:
    st.markdown(
        "Let one number stand for the position. Begin with P(1) = 1, and make each next one from the one before "
        "(here t counts positions from 1):"
    )
    config, embedding = trace.model.config, trace.model.anatomy.stacks[0].embedding
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        rule = RULE.draw()
        if rule == WAVES:
            values = sinusoidal_encoding(config.max_len + 1, config.d_model).numpy()[1:]
            shown, end = [0, 1, config.d_model // 4], 1.2
            names = [f"dimension {d + 1}" for d in shown]
            why = (
                f"One fast wave alone comes back to nearly the same numbers; {config.d_model // 2} pairs of waves, "
                f"each slower than the last, do not. The distance is that between vectors of {config.d_model} numbers."
            )
        else:
            step, constants, why = RULES[rule]
            c = float(Choice("c", f"constant_{list(RULES).index(rule)}", constants).draw().replace("−", "-"))
            values = candidate(lambda p, t: step(p, t, c), config.max_len)
            shown, names, end = [0], ["P(t)"], 5
    curves = values[:SHOWN, shown]
    # Whether it stays bounded and tells positions apart, by its numbers.
    largest, nearest = float(np.abs(values).max()), closest(values)
    embedded = float(np.abs(trace.tensors[f"{embedding}.scaled"]).max())
    st.markdown(
        f"Over {len(values)} positions: the largest size is **{magnitude(largest)}** "
        f"({'bounded' if largest <= LARGEST else 'not bounded'}), the two closest positions are "
        f"**{magnitude(nearest)}** apart ({'unique' if nearest >= NEAREST else 'not to be told apart'}). {why}"
    )
    st.caption(
        f"Here a size above {LARGEST} counts as not bounded, a distance below {NEAREST} as not to be told apart. For "
        f"comparison: the embeddings of your sentence, to which this is added, reach {number(embedded, 2)}."
    )
    st.plotly_chart(
        rule_figure(curves, names, end),
        key="candidate_figure",
        config={"displayModeBar": False},
        alt=f"The first {SHOWN} positions under the rule {rule}. {why}",
    )
    st.caption(f"The picture ends at {end} and −{end}; what is larger leaves it.")
    numbers_of_figure(("t", *names), [(str(t), *(magnitude(float(v)) for v in row)) for t, row in enumerate(curves, 1)])


def other_ways(trace: Trace) -> None:
    markdown_table(("Kind", "What it is", "Formula", "Used by"), KINDS)
    st.caption(
        "*q* and *k*, query and key, are two vectors that the next lessons explain; the score is their product, and "
        "*i* and *j* are their positions. The models named: GPT, GPT-NeoX and BLOOM write text, BERT and RoFormer read "
        "it, T5 turns one text into another, ViT looks at pictures."
    )
    st.markdown("**Rotary, in one formula.** Each pair of numbers of a query or key at position m is turned by m·θ:")
    st.latex(
        r"R_m\begin{pmatrix}x_1\\x_2\end{pmatrix}=\begin{pmatrix}\cos m\theta&-\sin m\theta\\\sin m\theta&\cos m\theta"
        r"\end{pmatrix}\begin{pmatrix}x_1\\x_2\end{pmatrix},\qquad (R_m q)\cdot(R_n k)=q\cdot R_{n-m}k"
    )
    first = next(iter(trace.model.anatomy.attentions.values()))[0].path
    q, k = (torch.tensor(trace.tensors[f"{first}.{name}"][0, :1]).double()[None, None] for name in "qk")
    products = [float((Rotary().rotate("q", q, m) * Rotary().rotate("k", k, n)).sum()) for m, n in PLACES]
    table(
        ("Position of q", "Position of k", "Distance", "Product"),
        [(str(m), str(n), str(n - m), number(one)) for (m, n), one in zip(PLACES, products, strict=True)],
    )
    st.caption(
        "Tried on a query and a key of this model, those of your first piece in its first head, for several positions "
        "(counted from 0). The product changes with the distance, and with nothing else."
    )


def dimensions(trace: Trace) -> Choice[str]:
    return Choice("Dimensions", "positions_dimensions", (f"first {FEW}", f"all {trace.model.config.d_model}"))


def controls(trace: Trace) -> None:
    STACK.draw(trace.model)
    NUMBERS.draw()
    dimensions(trace).draw()


def see(trace: Trace) -> Shown:
    stack, d_model = STACK.value(trace.model), trace.model.config.d_model
    tokens, every = trace.tokens(stack.tokens), dimensions(trace)
    name, title, how_to_read = TENSORS[NUMBERS.value()]
    if stack.tokens == "tgt":
        shifted_inputs(trace)
    shown = checked_matrix(
        trace,
        f"{stack.embedding}.{name}",
        Caption(
            f"{title.format(stack=stack.name)} ({len(tokens)}, {d_model})",
            f"A row is a position (pos, from 0) with its piece, a column a dimension (from 1). {how_to_read}",
        ),
        labels=Labels(
            [f"{position} {token.text}" for position, token in enumerate(tokens)],
            describe="position {row}, dimension {column}: {value}",
        ),
        part=Part(n_columns=FEW if every.value() == every.options[0] else None),
        start=(min(2, len(tokens) - 1), 2),
    )
    look_closer(len(tokens), d_model)
    return shown


EQUIVARIANT = Question(
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


def predict(trace: Trace) -> Sequence[Question]:
    return EQUIVARIANT, sine(trace), distance(trace.model.config.d_model)


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


def distance(d_model: int) -> Question:
    far = sinusoidal_encoding(13, d_model).double()
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
    bench=Bench(controls=controls, see=see, check=check_cell, do=do),
    code=(sinusoidal_encoding, Sinusoidal, rotation, Rotary, shuffle),
    on_map=OnMap(opens=("encoder.positions", "decoder.positions")),
)
