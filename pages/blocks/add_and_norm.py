"""Lesson: what runs past a sub-layer is added to what it writes, and each row is brought back to one scale."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from experiments.deep_stack import JOINTS, MAX_DEPTH, AddOnly, Neither, NormOnly, deep_run
from experiments.examples import example_rows, example_sentences, run_examples
from experiments.norm_comparison import per_feature, per_word
from figures.add_norm import gradient_lines, mean_and_deviation
from figures.feed_forward import most_changed
from figures.statistics import cosine
from model.anatomy import Layer
from model.residual import PostNorm
from model.trace import Array, Trace
from ui import engine
from ui.components.matrix import Caption, Labels
from ui.controls.address import read_count, write_count
from ui.controls.layer_control import LAYER, phrase_of, title_of, tokens_of_layer
from ui.controls.segmented import one_of
from ui.course.check import check_cell, checked_matrix
from ui.course.lesson import Lesson
from ui.course.quiz import Question
from ui.text import in_markdown, magnitude, number
from ui.views.attention_kinds import READABLE
from ui.views.before_after import before_after
from ui.views.column_chart import Series, column_chart
from ui.views.tables import numbers_of_figure, table

SHOWN = 16  # dimensions of a matrix
BESIDE = 3  # sentences that share a batch with the learner's
DRAWS = 9  # of random weights
ALIKE_AFTER = 3  # layers of the deep stack

# The steps: what each shows, and how to read it.
STEPS = {
    "1 x": ("What comes in", "What the sub-layer reads also runs past it: the residual stream, {d} dimensions."),
    "2 Sublayer(x)": (
        "What the sub-layer writes",
        "One row a piece, {d} dimensions, as different in size as it likes.",
    ),
    "3 the sum": ("Added, number by number", "What came in is still there, with a change on top."),
    "4 the norm": ("What goes out", "Each row shifted and scaled: mean 0 and deviation 1, then times γ, plus β."),
}


def idea(trace: Trace) -> None:
    st.markdown(
        "A sub-layer does not replace what it reads. It writes a *change*, and the change is **added** to what runs "
        "past it (the *residual*). After that the row's numbers may have any size, so each row is **normalised**: its "
        "mean becomes 0 and its standard deviation 1. Then every dimension is scaled and shifted by two learned "
        "numbers of its own, γ and β."
    )
    st.latex(
        r"\begin{gathered}z=x+\operatorname{Sublayer}(x)\\"
        r"\operatorname{LayerNorm}(z)_i=\gamma_i\,\frac{z_i-\mu}{\sqrt{\sigma^2+\varepsilon}}+\beta_i\\"
        r"\mu=\tfrac1d\sum_i z_i\qquad\sigma^2=\tfrac1d\sum_i(z_i-\mu)^2\end{gathered}"
    )
    st.caption(
        "σ² is the variance, and its root σ the standard deviation; ε = 0.00001 keeps us from dividing by 0. Some "
        "slides divide by the root of σ, or speak of a “unit mean”: it is σ itself, and the mean becomes 0."
    )


AFTER = {
    "self_attn": "after self-attention",
    "cross_attn": "after encoder-decoder attention",
    "feed_forward": "after feed-forward",
}


def choose_add_norm(layer: Layer) -> int:
    """Control for one Add & Norm of a layer; its number in the layer, from 1."""
    labels = [AFTER[sublayer.name] for sublayer in layer.sublayers]
    # A key for each stack, because they have different options.
    chosen = one_of("Add & Norm", labels, key=f"add_norm_{layer.stack}", default=labels[-1], wrap=True)
    return labels.index(chosen) + 1


def current_add_norm(layer: Layer) -> int:
    """The number that `choose_add_norm` is set to, also where that is not on the page (presenter mode)."""
    key, labels = f"add_norm_{layer.stack}", [AFTER[sublayer.name] for sublayer in layer.sublayers]
    chosen = st.session_state.get(key) or st.query_params.get(key)
    return labels.index(chosen) + 1 if chosen in labels else len(labels)


def names_of(trace: Trace, layer: Layer, n: int) -> list[str]:
    """Names of the tensors of the four steps."""
    sublayer = layer.sublayers[n - 1]
    return [sublayer.stream, sublayer.writes, f"{layer.path}.{sublayer.residual}.sum", sublayer.result]


def see(trace: Trace) -> None:
    layer = LAYER.draw(trace.model)
    n = choose_add_norm(layer)
    step = one_of("Step", list(STEPS), key="norm_step", default="4 the norm", wrap=True)
    names = names_of(trace, layer, n)
    title, how_to_read = STEPS[step]
    d_model = engine.model().config.d_model
    checked_matrix(
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
    per_word_or_per_feature(trace)


def why_add_and_norm() -> None:
    """The gradient in a deep stack, with and without Add and Norm."""
    st.subheader("Why add, and why norm: a deep stack", anchor=False)
    st.markdown(
        "Training changes each layer by its *gradient*: how much the error at the top would change if the layer's "
        "numbers did. It is handed down layer by layer. Here is a stack of encoder layers with random weights, as "
        "training starts with, and the size of the gradient on its way down, in four builds."
    )
    draw = read_count("draw", DRAWS)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        depth = st.slider("Layers", 2, MAX_DEPTH, MAX_DEPTH, key="depth", bind="query-params", width=360)
        st.button("Draw other random weights", on_click=write_count, args=("draw", (draw + 1) % DRAWS))
    runs = {joint: deep_run(joint, depth, draw) for joint in JOINTS}
    st.plotly_chart(
        gradient_lines({joint: run.gradients for joint, run in runs.items()}),
        key="gradients",
        config={"displayModeBar": False},
        alt="The size of the gradient at the input of every layer, on a logarithmic scale, for four builds: "
        + ", ".join(f"{joint} {size(run.gradients[0])} at the first layer" for joint, run in runs.items())
        + "; 1 at the top.",
    )
    after = min(ALIKE_AFTER, depth)
    table(
        ("build", "gradient at layer 1 (at the top: 1)", f"how alike the rows are after layer {after}"),
        [(joint, size(run.gradients[0]), number(run.alike[after], 2)) for joint, run in runs.items()],
    )
    numbers_of_figure(
        ("input of layer", *runs),
        [
            (str(n + 1) if n < depth else "output", *(size(run.gradients[n]) for run in runs.values()))
            for n in range(depth + 1)
        ],
    )
    st.caption(
        "With **neither**, each layer weakens the gradient: the lower layers hear next to nothing and hardly learn. "
        "**Adding** opens a way past every sub-layer on which it passes whole; but then the rows grow with every "
        "layer, and so does the gradient. The **norm** keeps sizes in check. Norm alone would do for the size, but see "
        "the last column, the mean cosine of two rows: attention averages, and without the residual all rows soon say "
        "the same. It takes both."
    )


def size(value: float) -> str:
    """A gradient's size: small and large ones with a power of ten."""
    return f"{value:,.0f}" if 1000 <= value < 1e6 else magnitude(value)


def per_word_or_per_feature(trace: Trace) -> None:
    """The same numbers under layer norm and batch norm, in two batches."""
    layer = LAYER.value(trace.model)
    n = current_add_norm(layer)
    st.subheader("Per word or per feature: layer norm and batch norm", anchor=False)
    own, *batches = batches_of(trace, layer, n)
    st.markdown(
        f"Take the sums of {phrase_of(layer)} (the Add & Norm chosen above), before the norm. Your sentence "
        f"stands in a "
        f"batch with {BESIDE} others. **Layer norm** normalises each word (or piece of one) by its own {own.shape[1]} "
        "numbers; **batch norm** each feature (dimension) over all words of the batch."
    )
    kinds = {"Batch norm: per feature": per_feature, "Layer norm: per word": per_word}
    kind = one_of("Normalise", list(kinds), key="norm_kind", wrap=True)
    one, two = (kinds[kind](np.concatenate([own, *others]))[: len(own)] for others in batches)
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
    whole = np.concatenate([own, *batches[0]])
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
        "out, or batch norm would count it too. Each norm sets two of the four columns to 0 and 1. Under batch norm a "
        "word's vector depends on strangers, on how many there are and how long they are; under layer norm it is the "
        "same alone, in any batch, in training and afterwards. That is why Transformers use layer norm."
    )


def spans(rows: Array) -> list[str]:
    """Smallest and largest mean and deviation of the rows, then of the columns."""
    found = []
    for numbers in (mean_and_deviation(rows), mean_and_deviation(rows.T)):
        for values in numbers.T:
            low, high = number(float(values.min()), 2), number(float(values.max()), 2)
            found.append(low if low == high else f"{low} … {high}")
    return found


def batches_of(trace: Trace, layer: Layer, n: int) -> tuple[Array, list[Array], list[Array]]:
    """The sums of an Add & Norm for the learner's sentence, and for two times three example sentences."""
    name = f"{layer.path}.add_norm_{n}.sum"
    others = [sentence for sentence in example_sentences(trace.model) if sentence != trace.text][: 2 * BESIDE]
    runs = engine.run(run_examples, trace.model)
    sums = [example_rows(runs[sentence], layer.stack)[1][name] for sentence in others]
    return trace.tensors[name], sums[:BESIDE], sums[BESIDE:]


def predict(trace: Trace) -> Sequence[Question]:
    layer = LAYER.value(trace.model)
    n = current_add_norm(layer)
    return mean_question(trace, layer, n), batch_question(trace, layer, n), gradient_question()


def mean_question(trace: Trace, layer: Layer, n: int) -> Question:
    total = trace.tensors[f"{layer.path}.add_norm_{n}.sum"]
    row = int(total.std(1).argmax())
    (before,), (after,) = (mean_and_deviation(rows) for rows in (total[[row]], per_word(total[[row]])))
    pairs = ((0, 1), (1, 1), (1, 0), (0, 0))
    options = tuple(f"mean {mean}, deviation {deviation}" for mean, deviation in pairs)
    right = min(range(len(pairs)), key=lambda i: float(np.abs(after - pairs[i]).sum()))
    return Question(
        "mean",
        f"In {phrase_of(layer)}, Add & Norm {n}, the sum of "
        f"**{in_markdown(tokens_of_layer(trace, layer)[row].text)}** has mean "
        f"{number(float(before[0]), 2)} and standard deviation {number(float(before[1]), 2)}. And after the norm, "
        "before γ and β?",
        options,
        frozenset({right}),
        f"It has mean {number(abs(float(after[0])), 2)} and deviation {number(float(after[1]), 2)}: the row's own mean "
        "is taken off, and what is left is divided by the row's own deviation.",
    )


def batch_question(trace: Trace, layer: Layer, n: int) -> Question:
    own, *batches = batches_of(trace, layer, n)
    differences: list[float] = []
    for norm in (per_feature, per_word):
        one, two = (norm(np.concatenate([own, *others]))[: len(own)] for others in batches)
        differences.append(float(np.abs(one - two).max()))
    batch, layer_norm = (difference > 1e-3 for difference in differences)
    return Question(
        "batch",
        "Your sentence stays, the other sentences of the batch are replaced. Under which norm do your words' vectors "
        "change?",
        ("batch norm", "layer norm", "both", "neither"),
        frozenset({{(True, False): 0, (False, True): 1, (True, True): 2, (False, False): 3}[batch, layer_norm]}),
        f"The largest difference is {magnitude(differences[0])} under batch norm and {magnitude(differences[1])} under "
        "layer norm, which looks at one word at a time.",
    )


def gradient_question() -> Question:
    neither, both = (deep_run(joint, MAX_DEPTH).gradients[0] for joint in ("neither", "Add & Norm"))
    return Question(
        "gradient",
        f"A stack of {MAX_DEPTH} layers with random weights and neither Add nor Norm. How large is the gradient at the "
        "first layer, if it is 1 at the top?",
        ("about 1", "about a thousandth", "less than a hundred-thousandth"),
        frozenset({0 if neither > 0.03 else 1 if neither > 1e-5 else 2}),
        f"It is {size(neither)}. With Add & Norm it is {size(both)}. Move the slider under *Do* and watch it "
        "fall with every layer.",
    )


LESSON = Lesson(
    "add-and-norm",
    "Add & Norm",
    asks="Why is the input added back, and what is normalised?",
    idea=idea,
    see=see,
    do=do,
    check=check_cell,
    predict=predict,
    code=(PostNorm, per_word, per_feature, NormOnly, AddOnly, Neither, deep_run),
    blocks=(
        "encoder.add_norm_1",
        "encoder.add_norm_2",
        "decoder.add_norm_1",
        "decoder.add_norm_2",
        "decoder.add_norm_3",
    ),
)
