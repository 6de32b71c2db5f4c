"""Lesson: what runs past a sub-layer is added to what it writes, and each row is brought back to one scale."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from experiments.blocks.deep_stack import AddOnly, Neither, NormOnly, deep_run
from experiments.blocks.norm_comparison import per_feature, per_word
from figures.add_norm import mean_and_deviation
from figures.statistics import cosine
from model.files.loaded_model import Array
from model.parts.residual import PostNorm
from model.trace import Trace
from pages.blocks.add_and_norm.deep import where_to_normalise, why_add_and_norm
from pages.blocks.add_and_norm.place import add_norm_control, sublayer_after, sum_of
from pages.blocks.add_and_norm.questions import predict
from pages.blocks.add_and_norm.two_norms import per_word_or_per_feature
from ui.components.matrix import Caption, Labels
from ui.controls.control import Choice
from ui.controls.layer_control import LAYER, title_of, tokens_of_layer
from ui.course.check import Shown, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.text import number
from ui.views.attention_kinds import READABLE
from ui.views.charts.column_chart import Series, column_chart
from ui.views.charts.tables import numbers_of_figure

# The steps: what each shows, and how to read it.
STEPS = {
    "1 x": ("What comes in", "What the sub-layer reads also runs past it: the residual stream, {d} dimensions."),
    "2 Sublayer(x)": (
        "What the sub-layer writes",
        "One row a piece, {d} dimensions; some rows are long, some short.",
    ),
    "3 the sum": ("Added, number by number", "What came in is still there, with a change on top."),
    "4 the norm": ("What goes out", "Each row shifted and scaled: mean 0 and deviation 1, then times γ, plus β."),
}
STEP = Choice("Step", "norm_step", list(STEPS), default="4 the norm")


def idea(trace: Trace) -> None:
    st.markdown(
        "Attention and feed-forward, the *sub-layers*, do not replace what they read. Each writes a *change*, which "
        "is **added** to what came in, x. So a way past it stays open. Then each row is **normalised**, which keeps "
        "sizes in check, and scaled and shifted by learned numbers, γ and β."
    )
    st.latex(r"\operatorname{LayerNorm}\bigl(x+\operatorname{Sublayer}(x)\bigr)")
    with st.expander("How a row is normalised"):
        st.markdown(
            "The way past the sub-layer is called a *residual connection*; the *residual* is the change that is added "
            "to x. The sum z is one row of d numbers. Their mean μ is taken off, and the rest is divided by their "
            "standard deviation σ, which says how far the numbers lie from their mean. Then every dimension is scaled "
            "by a γ and shifted by a β of its own."
        )
        st.latex(
            r"\begin{gathered}z=x+\operatorname{Sublayer}(x)\\"
            r"\operatorname{LayerNorm}(z)_i=\gamma_i\,\frac{z_i-\mu}{\sqrt{\sigma^2+\varepsilon}}+\beta_i\\"
            r"\mu=\tfrac1d\sum_i z_i\qquad\sigma^2=\tfrac1d\sum_i(z_i-\mu)^2\end{gathered}"
        )
        st.caption(
            "σ² is the variance, and its root σ the standard deviation: one divides by σ, not by the root of σ, as "
            "some slides have it. ε = 0.00001 keeps us from dividing by 0."
        )


def see(trace: Trace) -> Shown:
    layer = LAYER.draw(trace.model)
    sublayer = sublayer_after(layer, add_norm_control(layer).draw())
    step = STEP.draw()
    names = [sublayer.stream, sublayer.writes, sum_of(sublayer), sublayer.result]
    title, how_to_read = STEPS[step]
    d_model = trace.model.config.d_model
    shown = checked_matrix(
        trace,
        names[list(STEPS).index(step)],
        Caption(f"{title} ({title_of(layer)})", how_to_read.format(d=d_model)),
        labels=Labels(describe="“{row}”, dimension {column}: {value}"),
    )
    x, written, total, output = (trace.tensors[name][:READABLE] for name in names)
    rows = len(trace.tensors[names[0]])
    st.caption(f"Shapes: x, Sublayer(x), sum and output ({rows}, {d_model}); γ and β ({d_model}).")
    texts = [token.text for token in tokens_of_layer(trace, layer)[:READABLE]]
    if step == "4 the norm":
        spread(texts, total, output)
    else:
        lengths(texts, x, written, total)
    return shown


def lengths(texts: Sequence[str], x: Array, written: Array, total: Array) -> None:
    """How long the rows are that come in and those that are written, and how the sum lies to what came in."""
    sizes = [np.linalg.norm(rows.astype(np.float64), axis=1) for rows in (x, written)]
    st.markdown("**How much comes in, and how much is written: the length of each row**")
    column_chart(
        texts,
        [Series(name, values) for name, values in zip(("comes in", "is written"), sizes, strict=True)],
        axis="length",
        alt=f"Two bars for each of {len(texts)} pieces: the length of the row that comes in and of what is written.",
    )
    along = [cosine(a, b) for a, b in zip(x, total, strict=True)]
    numbers_of_figure(
        ("piece", "comes in", "is written", "written / comes in", "cosine of the sum and what came in"),
        [
            (text, number(float(a), 2), number(float(b), 2), number(float(b / a), 2), number(c, 2))
            for text, a, b, c in zip(texts, *sizes, along, strict=True)
        ],
    )
    st.caption(
        "The length of a row is the root of the sum of its squares. On average the cosine between the sum and what "
        f"came in is **{number(float(np.mean(along)), 2)}** (1 is the same direction, 0 a right angle), and what is "
        f"written is **{number(float(np.mean(sizes[1] / sizes[0])), 2)}** times as long as what came in."
    )


def spread(texts: Sequence[str], total: Array, output: Array) -> None:
    """Mean and deviation of each row before the norm, after it, and after γ and β."""
    series = {
        "before": mean_and_deviation(total),
        "normalised": mean_and_deviation(per_word(total)),
        "after γ and β": mean_and_deviation(output),
    }
    st.markdown("**What the norm does to each row: its mean, and one standard deviation up and down**")
    column_chart(
        texts,
        [Series(name, *numbers.T) for name, numbers in series.items()],
        axis="mean ± standard deviation",
        alt=f"Three dots with bars for each of {len(texts)} pieces: mean and deviation before the norm, after it "
        "(0 and 1 everywhere) and after γ and β.",
    )
    numbers_of_figure(
        ("mean ± deviation of", *series),
        [
            (text, *(f"{number(mean, 3)} ± {number(deviation, 3)}" for mean, deviation in rows))
            for text, *rows in zip(texts, *series.values(), strict=True)
        ],
    )
    before, _, after = series.values()
    st.caption(
        f"Before, the deviations lie between **{number(before[:, 1].min(), 2)}** and "
        f"**{number(before[:, 1].max(), 2)}**; normalised, all are 1; γ and β, the same for every row, take them to "
        f"between **{number(after[:, 1].min(), 2)}** and **{number(after[:, 1].max(), 2)}**."
    )


def do(trace: Trace) -> None:
    why_add_and_norm()
    where_to_normalise()
    per_word_or_per_feature(trace)


LESSON = Lesson(
    "add-and-norm",
    "Add & Norm",
    asks="Why is the input added back, and what is normalised?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check_cell, do=do),
    code=(PostNorm, per_word, per_feature, NormOnly, AddOnly, Neither, deep_run),
    on_map=OnMap(
        opens=(
            "encoder.add_norm_1",
            "encoder.add_norm_2",
            "decoder.add_norm_1",
            "decoder.add_norm_2",
            "decoder.add_norm_3",
        ),
        plays=("encoder.self_attn",),
        near="norm",
    ),
)
