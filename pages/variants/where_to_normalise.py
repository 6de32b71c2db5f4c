"""Lesson: four places for a norm and two kinds of it, in the trained model and in a deep stack before training."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from experiments.blocks.deep_stack import MAX_DEPTH
from experiments.blocks.norm_comparison import per_word, per_word_rms
from experiments.blocks.norm_places import PlaceRun, Stack, place_run
from experiments.exchange import Exchange
from figures.add_norm import layer_lines, mean_and_deviation
from figures.statistics import cosine
from model.parts.residual import DeepNorm, PostNorm, PreNorm, SandwichNorm
from model.trace import Trace
from ui import engine
from ui.components.matrix import Caption, Labels
from ui.components.scene import Bar, Bars, Frame, Scene
from ui.components.scene.layers import Slot, Tower, Wiring
from ui.controls.control import Choice, Number
from ui.course.check import Part, Shown, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Ask, Question
from ui.text import bold, number
from ui.views.charts.tables import markdown_table, numbers_of_figure, table
from ui.views.siblings import two_siblings

NORMS = {"LayerNorm": "layer", "RMSNorm": "rms"}
PLACES = {"Post-norm": "post", "Pre-norm": "pre", "Sandwich": "sandwich", "DeepNorm": "deep"}
# What can be worked out at each place, and the tensor that holds it.
STEPS = {
    "Post-norm": {"after the norm": "output", "the sum": "sum"},
    "Pre-norm": {"after the norm": "normed"},
    "Sandwich": {"after the second norm": "renormed", "after the first norm": "normed"},
    "DeepNorm": {"after the norm": "output", "the sum": "sum"},
}
SUBLAYERS = {"feed-forward": 2, "self-attention": 1}
NORM = Choice("Norm", "norm_kind_of", tuple(NORMS))
# Exchanged so, the default sentence changes most: its mean probability falls from 0.90 to 0.10.
PLACE = Choice("Place", "norm_place", tuple(PLACES), default="Pre-norm")
SUBLAYER = Choice("Around", "norm_around", tuple(SUBLAYERS))
RATES = ("0.00001", "0.0001", "0.001")
DEPTH = Number("Layers", "places_depth", 2, MAX_DEPTH, MAX_DEPTH)
RATE = Choice("Size of the step", "places_rate", RATES, default="0.0001")
DRAW = Choice("Random weights", "places_draw", (1, 2, 3))
# Where the norms stand at each place, and in words.
STANDS: dict[str, tuple[tuple[Slot, Slot], str]] = {
    "Post-norm": (("after the sum", "after the sum"), "after the sum"),
    "Pre-norm": (("before", "before"), "before the sub-layer"),
    "Sandwich": (("before", "after"), "before the sub-layer and after it"),
    "DeepNorm": (("after the sum", "after the sum"), "after a sum that holds more of the stream"),
}
SHOWN = 8  # pieces of the translation in the scene
LOST = 5  # so many pieces longer than before, a translation is cut
FORMULAS = (
    ("Post-norm", r"$\operatorname{Norm}(x+\operatorname{Sublayer}(x))$", "the original Transformer; this model"),
    ("Pre-norm", r"$x+\operatorname{Sublayer}(\operatorname{Norm}(x))$", "GPT-2, Llama"),
    ("Sandwich", r"$x+\operatorname{Norm}(\operatorname{Sublayer}(\operatorname{Norm}(x)))$", "CogView"),
    ("DeepNorm", r"$\operatorname{LayerNorm}(\alpha x+\operatorname{Sublayer}(x))$", "DeepNet, with 1,000 layers"),
)


def layer_choice(trace: Trace) -> Choice[int]:
    """A layer of the encoder."""
    n = len(trace.model.anatomy.stacks[0].layers)
    return Choice("Layer", "layer", tuple(range(1, n + 1)), default=n, goes_along=True)


def path_of(trace: Trace) -> str:
    """The Add & Norm that is chosen."""
    layer = layer_choice(trace).value() - 1
    return f"{trace.model.anatomy.stacks[0].name}.layers.{layer}.add_norm_{SUBLAYERS[SUBLAYER.value()]}"


def exchange(trace: Trace) -> Exchange:
    return Exchange("add_norm", path_of(trace), f"{NORMS[NORM.value()]} {PLACES[PLACE.value()]}")


def step_choice(place: str) -> Choice[str]:
    return Choice("Show", f"norm_shows_{PLACES[place]}", tuple(STEPS[place]))


def scene(trace: Trace) -> Scene:
    """Each place in turn; it opens with the one where the step moves the stack furthest."""
    moved = {name: at_start(place, MAX_DEPTH).moved for name, place in PLACES.items()}
    return Scene(
        "Four places to normalise: one layer's wiring, a deep stack after one step, and your translation.",
        "The norm stands",
        [scene_frame(trace, name, max(moved.values())) for name in PLACES],
        start=list(moved).index(max(moved, key=lambda name: moved[name])),
        wide=(1, 1, 1.2),
    )


def scene_frame(trace: Trace, name: str, furthest: float) -> Frame:
    (norms, where), run = STANDS[name], at_start(PLACES[name], MAX_DEPTH)
    stack = trace.model.anatomy.stacks[0]
    path = f"{stack.name}.layers.{len(stack.layers) - 1}.add_norm_{SUBLAYERS['feed-forward']}"
    other = engine.with_parts(trace, Exchange("add_norm", path, f"layer {PLACES[name]}"))
    before, later = (float(np.mean(one.probabilities)) for one in (trace, other))
    pieces = zip(trace.labels[:SHOWN], trace.probabilities, other.probabilities, strict=False)
    was, now = number(before, 2), number(later, 2)
    moves = f"goes from {was} to **{now}**" if was != now else f"stays at **{now}**"
    trained = (
        "Your translator was trained so."
        if PLACES[name] == "post"
        else f"Put the last norm of your translator's encoder there, and the mean probability of its pieces {moves}."
    )
    return Frame(
        name,
        f"Norm **{where}**: one step moves the output of {MAX_DEPTH} layers by **{run.moved:.1%}** of its length. "
        + trained,
        [
            [
                Wiring("feed-forward", norms, "One layer", name == "DeepNorm"),
                Tower(
                    (*run.swayed[:-1], run.moved), f"{run.moved:.1%}", f"{MAX_DEPTH} random layers, one step",
                    "layer 1 at the bottom, the output on top", furthest,
                ),
                Bars(
                    [Bar(piece.text, later, number(later, 2), before) for piece, before, later in pieces],
                    "Your translator, its last encoder norm so", note="dashed: as it was trained",
                ),
            ]
        ],
    )  # fmt: skip


def idea(trace: Trace) -> None:
    st.markdown(
        "Attention and feed-forward are *sub-layers*. What comes in also runs past them, as the *stream*; the two are "
        "added. A **norm** brings a row of numbers to one scale. The Transformer of 2017 has it after the sum, most "
        "models since have it before the sub-layer. The norm itself may be simpler, too: RMSNorm does not subtract the "
        "mean."
    )
    with st.expander("The four places"):
        markdown_table(("Place", "Formula", "Used by"), FORMULAS)
        st.caption("α is above 1 and grows with the depth. DeepNorm also begins with smaller weights.")
    with st.expander("The two norms"):
        st.latex(
            r"\begin{aligned}\operatorname{LayerNorm}(x)_i&=\gamma_i\,\frac{x_i-\mu}{\sqrt{\sigma^2+\varepsilon}}"
            r"+\beta_i\\\operatorname{RMSNorm}(x)_i&=\gamma_i\,\frac{x_i}{\sqrt{\tfrac1d\sum_j x_j^2+\varepsilon}}"
            r"\end{aligned}"
        )
        st.caption(
            "μ is the mean of the row and σ² its variance. One divides by σ, the root of the variance; some slides "
            "have the root of σ. RMS is the root of the mean square; RMSNorm has no β. ε = 0.00001 keeps us from "
            "dividing by 0."
        )


def controls(trace: Trace) -> None:
    layer_choice(trace).draw()
    for control in (SUBLAYER, NORM, PLACE):
        control.draw()


def see(trace: Trace) -> Shown:
    place = PLACE.value()
    label = step_choice(place).draw()
    other, name = engine.with_parts(trace, exchange(trace)), f"{path_of(trace)}.{STEPS[place][label]}"
    title = f"{place} with {NORM.value()}: {label}"
    caption = Caption(title, "One row a piece; the first 16 dimensions.")
    labels = Labels(describe="“{row}”, dimension {column}: {value}")
    shown = checked_matrix(other, name, caption, labels=labels, part=Part(n_columns=16))
    made = engine.numbers(other).made(name)
    source = made.reads[0] if made.operation.endswith("_norm") else name
    row = shown.cell[0]
    two_norms(other.tensors[source][[row]], trace.src[row].text)
    return shown


def two_norms(row: np.ndarray, text: str) -> None:
    """What either norm makes of a row (1,D), without γ and β."""
    rows = {"before the norm": row, "LayerNorm": per_word(row), "RMSNorm": per_word_rms(row)}
    lines = []
    for name, one in rows.items():
        (mean, deviation) = mean_and_deviation(one)[0]
        root = float(np.sqrt((one.astype(np.float64) ** 2).mean()))
        lines.append((name, *(number(float(value), 3) for value in (mean, deviation, root))))
    table(("the row, without γ and β", "mean", "deviation", "RMS"), lines)
    apart = float(np.abs(rows["LayerNorm"] - rows["RMSNorm"]).max())
    along = cosine(rows["LayerNorm"][0], rows["RMSNorm"][0])
    st.caption(
        f"The row of {bold(text)}. LayerNorm makes the mean 0 and the deviation 1, RMSNorm the RMS 1. The two results "
        f"differ by at most **{number(apart, 3)}** in a dimension; their cosine is **{number(along, 4)}**."
    )


def do(trace: Trace) -> None:
    deep_stack()
    st.subheader("Exchange one norm of the trained model", anchor=False)
    most, place = len(trace.labels) + LOST, f"{PLACE.value()} with {NORM.value()}"
    other = engine.with_parts(trace, exchange(trace))
    before, later = (float(np.mean(one.probabilities)) for one in (trace, other))
    anew = engine.write_anew(trace, other, most)
    st.markdown(
        f"The chosen Add & Norm becomes **{place}**, with the γ it has learned and no training. The mean probability "
        f"of the translation's pieces goes from **{number(before)}** to **{number(later)}**. The translation was "
        f"{bold(trace.translation or '(nothing)')} Now it is {bold(anew.translation or '(nothing)')}"
        + ("" if anew.finished else f" (cut after {most} pieces)")
    )
    st.caption("The model was trained with post-norm and LayerNorm; another norm would have led to other weights.")
    two_siblings(trace, "norm")


def deep_stack() -> None:
    st.subheader("A deep stack before training", anchor=False)
    st.markdown(
        "Encoder layers with random weights, the same at all four places; DeepNorm makes some of them smaller. The "
        "*gradient* of a layer says how the loss changes with its weights, and a step of training moves the weights "
        "against it. How long is the gradient, and how far does **one step** move what the stack puts out?"
    )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        depth, rate, draw = DEPTH.draw(), RATE.draw(), DRAW.draw()
    runs = {name: place_run(place, depth, float(rate), draw - 1) for name, place in PLACES.items()}
    st.plotly_chart(
        layer_lines({name: run.gradients for name, run in runs.items()}),
        key="place_gradients",
        config={"displayModeBar": False},
        alt=f"The length of the gradient of each of {depth} layers, for four places of the norm: "
        + ", ".join(
            f"{name} {number(run.gradients[0], 0)} at the first and {number(run.gradients[-1], 0)} at the last"
            for name, run in runs.items()
        )
        + ".",
    )
    table(
        ("place", "gradient, layer 1", f"gradient, layer {depth}", "one step moves the output by"),
        [
            (name, number(run.gradients[0], 0), number(run.gradients[-1], 0), f"{run.moved:.1%}")
            for name, run in runs.items()
        ],
    )
    shallow = place_run("post", 2, float(rate), draw - 1)
    st.caption(
        "How far the output moves is a share of its own length. In a post-norm stack of 2 layers this step moves it by "
        f"{shallow.moved:.1%}, in one of {depth} by {runs['Post-norm'].moved:.1%}. A **warm-up** begins training with "
        "steps so small that little moves, which deep post-norm stacks need (Xiong et al. 2020). Choose another size "
        "of the step and read the row again."
    )
    numbers_of_figure(
        ("layer", *runs),
        [(str(n + 1), *(number(run.gradients[n], 1) for run in runs.values())) for n in range(depth)],
    )


def predict(trace: Trace) -> Sequence[Ask]:
    return by_hand(), moved_most, deeper


def by_hand() -> Question:
    row = np.array([[1.0, 3.0]])
    layer, rms, share = (
        f"({', '.join(number(float(value), 2) for value in one[0])})"
        for one in (per_word(row), per_word_rms(row), row / row.sum())
    )
    return Question(
        "rms",
        "RMSNorm divides a row by its root mean square. (γ, a learned factor, is 1 here.) What does it make of the row "
        "(1, 3)?",
        (layer, rms, share),
        frozenset({1}),
        "The squares are 1 and 9, their mean is 5, and both numbers are divided by √5 = 2.24.",
        wrong={0: "That is LayerNorm: it takes the mean, 2, off first.", 2: "That divides by the sum of the row."},
    )


def at_start(place: str, depth: int) -> PlaceRun:
    return place_run(place, depth, float(RATE.otherwise))


def moved_most() -> Question:
    moved = {name: at_start(place, MAX_DEPTH).moved for name, place in PLACES.items()}
    options = ("Post-norm", "Pre-norm", "DeepNorm")
    right = max(range(3), key=lambda n: moved[options[n]])
    return Question(
        "moved",
        f"Three stacks of {MAX_DEPTH} layers have random weights. Each takes one step of training, of the same size. "
        "In which does the output move furthest?",
        options,
        frozenset({right}),
        ", ".join(f"{name} {share:.1%}" for name, share in moved.items()) + " of the output's own length.",
        wrong={
            n: f"There it moves by {moved[name]:.1%} of its length." for n, name in enumerate(options) if n != right
        },
    )


def deeper() -> Question:
    few, many = at_start("post", 2).moved, at_start("post", MAX_DEPTH).moved
    options = ("less than twice as far", "2 to 10 times as far", "more than 10 times as far")
    right = 0 if many < 2 * few else 1 if many <= 10 * few else 2
    says = (
        f"Twice as far would be {2 * few:.1%}.",
        f"10 times as far would be {10 * few:.1%}.",
        f"More than 10 times as far would be above {10 * few:.1%}.",
    )
    return Question(
        "deeper",
        f"A post-norm stack has {MAX_DEPTH} layers in place of 2. How far does the same step move its output?",
        options,
        frozenset({right}),
        f"By {many:.1%} in place of {few:.1%} of its length: {number(many / few, 0)} times as far.",
        wrong={n: text for n, text in enumerate(says) if n != right},
    )


LESSON = Lesson(
    "where-to-normalise",
    "Where to normalise, and how",
    asks="One small step: how far does a deep stack sway?",
    idea=idea,
    predict=predict,
    bench=Bench(controls=controls, see=see, check=check_cell, do=do),
    code=(PreNorm, PostNorm, SandwichNorm, DeepNorm, per_word_rms, Stack, place_run),
    on_map=OnMap(scene=scene),
)
