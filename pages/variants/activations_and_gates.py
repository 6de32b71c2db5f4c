"""Lesson: the curve between the two matrices of a feed-forward network, and what a gate adds."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import streamlit as st

from experiments.blocks.activations import CURVES, GATES, curve
from experiments.exchange import Exchange
from figures.chart import BLUE, GREY
from figures.feed_forward import strongest_units
from model.anatomy.structure import Layer
from model.files.loaded_model import Array
from model.parts.feed_forward import FeedForward, GatedFeedForward
from model.trace import Trace
from ui import engine
from ui.components import scene as scenes
from ui.components.matrix import Caption, Labels
from ui.components.scene.answer import quoted
from ui.controls.control import Choice
from ui.controls.layer_control import LAYER, phrase_of, tokens_of_layer
from ui.course.check import Part, Shown, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Ask, Question
from ui.text import bold, chance, number, piece
from ui.views.attention_kinds import READABLE
from ui.views.before_after import pieces_before_after, written_anew
from ui.views.charts.curves import Axis, Line, curves
from ui.views.charts.tables import markdown_table, numbers_of_figure, table
from ui.views.siblings import two_siblings

KINDS = {
    "ReLU": "relu", "GELU": "gelu", "GELU (tanh)": "gelu_tanh", "Swish": "silu", "SwiGLU": "swiglu", "GEGLU": "geglu",
}  # fmt: skip
ACTIVATION = Choice("Activation", "activation", tuple(KINDS), default="Swish")
INSIDE = Choice("What to work out", "gate_step", ("hidden", "gate", "value"))
WHERE = Choice("Exchange it in", "exchange_in", ("all networks", "this network"))
SMALL = 0.01  # an output below it, in size, is counted as nearly at rest
LOST = 5  # so many pieces longer than before, a translation is cut
TICKS = 40  # half a tick's height is this part of the curve's
SHOWN = ("ReLU", "GELU", "Swish")  # in the scene, where everything is the translator's own
N_TICKS, N_BARS = 64, 10
WINDOW = ((-8.0, 1.5), (-0.4, 1.5))  # of the scene's curve: what goes in, what comes out
SAME = 0.02  # mean probabilities that differ by less are called the same
FORMULAS = (
    ("ReLU", r"$\max(0,z)$", "the original Transformer; this model"),
    ("GELU", r"$z\cdot\Phi(z)$", "BERT"),
    ("GELU (tanh)", r"$0.5\,z\,\bigl(1+\tanh(\sqrt{2/\pi}\,(z+0.044715\,z^3))\bigr)$", "GPT-2"),
    ("Swish (SiLU)", r"$z\,/\,(1+e^{-z})$", "as the gate of SwiGLU"),
    ("SwiGLU", r"$\operatorname{Swish}(xW_1)\odot xV$", "Llama"),
    ("GEGLU", r"$\operatorname{GELU}(xW_1)\odot xV$", "T5, version 1.1"),
)


def network(layer: Layer) -> str:
    return f"{layer.stack}.layers.{layer.index}.feed_forward"


def with_activation(trace: Trace, name: str, *layers: Layer) -> Trace:
    """The sentence and its translation, read with another activation in these layers, by default in all."""
    layers = layers or tuple(layer for stack in trace.model.anatomy.stacks for layer in stack.layers)
    return engine.with_parts(trace, *(Exchange("network", network(layer), KINDS[name]) for layer in layers))


def scene(trace: Trace) -> scenes.Scene:
    """The numbers of one piece in the encoder's last network, and the translation, under each curve."""
    row = max(range(len(trace.src) - 1), key=lambda n: (len(trace.src[n].text), -n), default=0)
    layer = trace.model.anatomy.stacks[0].layers[-1]
    before = np.sort(trace.tensors[f"{network(layer)}.pre_activation"][row])
    others = {name: with_activation(trace, name) for name in SHOWN}
    written = {name: written_anew(trace, other) for name, other in others.items()}
    title = (
        f"“{piece(trace.src[row].text)}” in the encoder's layer {layer.index + 1}: {N_TICKS} of {len(before):,} numbers"
    )
    frames = []
    for name, other in others.items():
        curved, share = scene_curve(name, before, title)
        was, now = (number(float(np.mean(one.probabilities)), 2) for one in (trace, other))
        if name == "ReLU":
            answer = (
                f"**{share}** of the numbers end at 0. The translator learned with this curve: it gives its German "
            )
            answer += f"**{now}** on average."
        else:
            anew = f"“{quoted(written[name])}”" if written[name] else "the same."
            answer = (
                f"**{share}** of the numbers end at 0, or nearly. The mean probability goes from {was} to **{now}**; "
            )
            answer += f"it writes {anew}"
        frames.append(scenes.Frame(name, answer, [[curved, bars(trace, other)]]))
    changed = (n for n, name in enumerate(SHOWN) if written[name])
    return scenes.Scene(
        "The activation in all feed-forward networks. A tick leads from what goes into the curve to what comes out.",
        "Curve",
        frames,
        start=next(changed, len(SHOWN) - 1),
        wide=(1.7, 1),
    )


def scene_curve(name: str, before: Array, title: str) -> tuple[scenes.Curve, str]:
    """The curve over some of the numbers (d_ff), evenly chosen by rank; how many of all come out at 0, nearly."""
    (low, high), (bottom, top) = WINDOW
    share = f"{(np.abs(curve(KINDS[name], before)[0]) < SMALL).mean():.0%}"
    some, z = before[len(before) // N_TICKS // 2 :: len(before) // N_TICKS], np.linspace(low, high, 81)
    some = some[(low <= some) & (some <= high)]
    return scenes.Curve(
        [scenes.Line(name, list(zip(z, curve(KINDS[name], z)[0], strict=True)))],
        scenes.Axis("before the curve", low, high),
        scenes.Axis("after it", bottom, top),
        title,
        rug=list(zip(some, curve(KINDS[name], some)[0], strict=True)),
        words=[(-4.0, 1.2, f"{name}: {share} at 0")],
        height=290,
    ), share


def bars(trace: Trace, other: Trace) -> scenes.Bars:
    """How likely each piece of the translation is, before and under another curve."""
    pieces = zip(trace.labels, other.probabilities, trace.probabilities, strict=True)
    return scenes.Bars(
        [scenes.Bar(token.text, now, chance(now), was) for token, now, was in list(pieces)[:N_BARS]],
        "Probability of the German pieces (dashed: ReLU)",
    )


def idea(trace: Trace) -> None:
    st.markdown(
        "Between its two matrices a feed-forward network bends every number by a curve, the **activation**. ReLU "
        "turns every negative number into 0. Later curves bend **smoothly**. A **gate** goes further: the bent numbers "
        "multiply a second set of numbers, so one half decides how much of the other passes."
    )
    with st.expander("The formulas"):
        markdown_table(("Activation", "Formula", "Used by"), FORMULAS)
        st.markdown(
            "Φ(z) is the share of a standard normal distribution that lies below z. ⊙ multiplies two rows number by "
            "number. A gate needs a third matrix, V; so that the network stays as large, it gets two thirds of the "
            "units."
        )
        st.caption(
            "Some slides write SwiGLU as x ⊙ σ(Wx + b). That is a plain gate on x itself; in SwiGLU the gate is Swish, "
            "and what passes through it is xV."
        )


def controls(trace: Trace) -> None:
    LAYER.draw(trace.model)
    ACTIVATION.draw()


def see(trace: Trace) -> Shown:
    layer, name = LAYER.value(trace.model), ACTIVATION.value()
    path, gated = network(layer), KINDS[name] in GATES
    other, place = with_activation(trace, name, layer), st.container()
    what = INSIDE.draw() if gated else "hidden"
    hidden = other.tensors[f"{path}.hidden"]
    units = strongest_units(hidden[:READABLE], 16) or [0]
    values = other.tensors[f"{path}.{what}"][:READABLE, units]
    shown = checked_matrix(
        other,
        f"{path}.{what}",
        Caption(f"After the activation: {name}" if what == "hidden" else f"{name}: {what}", "A column is one unit."),
        labels=Labels(columns=[str(unit + 1) for unit in units], describe="“{row}”, unit {column}: {value}"),
        part=Part(columns=units),
        start=divmod(int(values.argmin()), len(units)),  # the curves differ where numbers are small
    )
    with place:
        row = shown.cell[0]
        curve_with_ticks(name, other.tensors[f"{path}.pre_activation"][row], hidden[row])
        st.caption(
            f"Each orange tick is one of {hidden.shape[1]:,} units of {phrase_of(layer)} for "
            f"{bold(tokens_of_layer(trace, layer)[row].text)}. "
            + (
                "This model has learned no gate: its three matrices are drawn at random here. A tick leaves the curve, "
                "because what passes the gate is multiplied by xV."
                if gated
                else "What goes in are the translator's own numbers. Choose another row below."
            )
        )
    resting(trace, layer, row)
    return shown


def curve_with_ticks(name: str, before: Array, after: Array) -> None:
    """The curve over all numbers that go in, and at least from −4 to 4."""
    low, high = min(-4.0, float(np.floor(before.min()))), max(4.0, float(np.ceil(before.max())))
    z = np.linspace(low, high, 201)
    values, slopes = curve(KINDS[name], z)
    title = f"{name}'s gate" if KINDS[name] in GATES else name
    half, heights = float(np.ptp(values)) / TICKS, np.concatenate([values, slopes, after])
    low_y, high_y = float(heights.min()) - half, float(heights.max()) + half
    curves(
        [
            Line(title, list(zip(z, values, strict=True)), BLUE),
            Line("its slope", list(zip(z, slopes, strict=True)), GREY, dashed=True),
        ],
        Axis("before the activation", low, high),
        Axis("after it", low_y, high_y),
        alt=f"The curve of {title} and its slope from {number(low, 0)} to {number(high, 0)}, with {len(before)} units "
        "as ticks.",
        strokes=[(x, y - half, y + half) for x, y in zip(before.tolist(), after.tolist(), strict=True)],
    )
    points = np.arange(-3.0, 4)
    numbers_of_figure(
        ("before", title, "slope"),
        [tuple(number(float(n), 3) for n in line) for line in zip(points, *curve(KINDS[name], points), strict=True)],
    )


def resting(trace: Trace, layer: Layer, row: int) -> None:
    """How many units rest for a piece under each activation."""
    before = trace.tensors[f"{network(layer)}.pre_activation"][row]
    outputs = {name: curve(kind, before)[0] for name, kind in KINDS.items() if kind in CURVES}
    table(
        ("activation", f"units whose output is smaller than {SMALL:g} in size"),
        [(name, f"{(np.abs(output) < SMALL).mean():.1%}") for name, output in outputs.items()],
    )
    st.caption(
        f"The translator's own numbers go into all four. Under the ReLU {(outputs['ReLU'] == 0).mean():.1%} of the "
        "units rest: output and slope are exactly 0, so they add nothing and learn nothing from this piece. The other "
        "curves come close to 0 without a corner."
    )


def do(trace: Trace) -> None:
    exchange_activation(trace)
    two_siblings(trace, "activation")


def exchange_activation(trace: Trace) -> None:
    name, layer = ACTIVATION.value(), LAYER.value(trace.model)
    st.subheader("Exchange the activation of the trained model", anchor=False)
    st.markdown(
        "The translator was trained with ReLU. Here another curve takes its place afterwards, with no training."
    )
    if KINDS[name] in GATES:
        st.info("A gate needs a third matrix, which this model has not learned. Choose one of the first four.")
        return
    other = with_activation(trace, name, *([layer] if WHERE.draw() == WHERE.options[1] else []))
    before, later = (np.array(one.probabilities) for one in (trace, other))
    pieces_before_after(trace.labels, before, later, ("with ReLU", f"with {name}"))
    most = len(trace.labels) + LOST
    anew = engine.write_anew(trace, other, most)
    st.markdown(
        f"On average the probability goes from **{number(float(before.mean()))}** to "
        f"**{number(float(later.mean()))}**. The translation was {bold(trace.translation or '(nothing)')} Now it is "
        f"{bold(anew.translation or '(nothing)')}" + ("" if anew.finished else f" (cut after {most} pieces)")
    )
    st.caption(
        "This says how far the new curve is from the old one for these weights. It does not say which of them is "
        "better: a model trained with it would have learned other weights."
    )


def predict(trace: Trace) -> Sequence[Ask]:
    return below_zero(), partial(one_network, trace), partial(how_many_units, trace)


def below_zero() -> Question:
    relu, gelu = (float(curve(kind, np.array([-1.0]))[0][0]) for kind in ("relu", "gelu"))
    return Question(
        "below",
        "A unit gets −1. Which activation gives a number below 0?",
        ("ReLU", "GELU", "both", "neither"),
        frozenset({1}),
        f"ReLU gives {number(relu, 2)}, GELU {number(gelu, 2)}: it dips below 0 before it comes to rest.",
        wrong={
            0: "ReLU turns every negative number into 0.",
            2: "ReLU gives 0 here, and 0 is not below 0.",
            3: "GELU is −1 times the share of the normal distribution below −1, and that is not 0.",
        },
    )


def one_network(trace: Trace) -> Question:
    stacks = trace.model.anatomy.stacks
    first, second = (float(np.mean(with_activation(trace, "Swish", one.layers[0]).probabilities)) for one in stacks)
    right = 2 if abs(first - second) < SAME else 0 if first < second else 1
    wrong = [f"In the {other} the new curve takes more." for other in ("decoder", "encoder")]
    wrong.append(f"They differ by {number(abs(first - second), 2)}.")
    return Question(
        "network",
        "Now one network alone gets Swish: the first of the encoder, or the first of the decoder. Where does that make "
        f"your translation less likely? (The same: the mean probability differs by less than {SAME:g}.)",
        ("in the encoder", "in the decoder", "the same"),
        frozenset({right}),
        f"The mean probability of its pieces is {number(first, 2)} with Swish in the encoder's first network, and "
        f"{number(second, 2)} with Swish in the decoder's.",
        wrong={n: text for n, text in enumerate(wrong) if n != right},
    )


def how_many_units(trace: Trace) -> Question:
    d_ff = trace.model.config.d_ff
    fewer = round(2 * d_ff / 3)
    return Question(
        "units",
        f"A network without a gate has {d_ff:,} units and two matrices. How many units may one with a gate have, for "
        "about as many weights?",
        (f"{d_ff:,}", f"{fewer:,}", f"{d_ff // 2:,}"),
        frozenset({1}),
        f"It has three matrices, so two thirds of the units: 3 · {fewer:,} is about 2 · {d_ff:,}.",
        wrong={
            0: "Then its three matrices would hold half as many weights again.",
            2: "It has three matrices, not four.",
        },
    )


LESSON = Lesson(
    "activations-and-gates",
    "Activations and gates",
    asks="What does the curve let through?",
    idea=idea,
    predict=predict,
    bench=Bench(controls=controls, see=see, check=check_cell, do=do),
    code=(FeedForward, GatedFeedForward, curve),
    on_map=OnMap(scene=scene),
)
