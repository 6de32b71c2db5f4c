"""Lesson: a small network that works on every row by itself, and what its hidden units look for."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from experiments.examples import example_sentences, hidden_in_examples
from experiments.passes import changed_pass
from experiments.position_wise import each_row_alone
from figures.feed_forward import most_changed, strongest_units
from figures.probabilities import probabilities_of
from model.anatomy import Layer
from model.decoding import Greedy
from model.feed_forward import FeedForward
from model.interventions import Block, InterventionError, Interventions, Unit
from model.trace import Array, Trace
from ui import engine
from ui.components.matrix import Caption, Labels
from ui.controls.layer_control import LAYER, phrase_of, title_of, tokens_of_layer
from ui.controls.segmented import one_of
from ui.course.check import Part, check_cell, checked_matrix
from ui.course.lesson import Lesson
from ui.course.quiz import Question
from ui.text import bold, in_markdown, magnitude, number, visible
from ui.views.activation_strip import raster
from ui.views.attention_kinds import READABLE
from ui.views.bars import bars
from ui.views.before_after import before_after, pieces_before_after
from ui.views.tables import numbers_of_figure, table

SHOWN = 16  # hidden units, or dimensions, that a matrix shows
LISTED = 8  # bars
LOST = 5  # so many pieces longer than before, a translation under a change is cut

# The four steps: the tensor that each ends in, and what it is.
STEPS = {
    "1 comes in": ("in", "What comes in", "The rows that the Add & Norm before it returns, 256 dimensions."),
    "2 × W₁ + b₁": (
        "pre_activation",
        "Before the ReLU",
        "For each piece the units that it drives most; a column is one unit.",
    ),
    "3 ReLU": ("hidden", "After the ReLU", "The same units: what was negative is 0 now. Those units rest."),
    "4 × W₂ + b₂": (
        "output",
        "What goes out",
        "256 dimensions again; Add & Norm adds these rows to those that came in.",
    ),
}


def network(layer: Layer) -> str:
    return f"{layer.path}.feed_forward"


def idea(trace: Trace) -> None:
    config, weights = engine.model().config, engine.model().weights
    own = sum(w.size for name, w in weights.items() if ".feed_forward." in name)
    st.markdown(
        "Attention has mixed the pieces. Now a small network works on **each row by itself**, with the same numbers at "
        f"every position: it widens the row from d_model = {config.d_model} to d_ff = {config.d_ff:,} **hidden units** "
        "(four times as many), sets every negative unit to 0 (the **ReLU**), and narrows the rest back to "
        f"{config.d_model}."
    )
    st.latex(
        r"\begin{gathered}\operatorname{FFN}(x)=\operatorname{ReLU}(xW_1+b_1)\,W_2+b_2\\"
        r"\operatorname{ReLU}(z)=\max(0,z)\end{gathered}"
    )
    st.markdown(
        "The ReLU is the only place in the model that bends single numbers: attention adds up rows in proportion to "
        "its weights, and softmax and norm treat a row as a whole. A good part of what was learned is stored here: "
        f"**{own / sum(w.size for w in weights.values()):.0%}** of all {engine.model().n_parameters / 1e6:.1f} "
        "million parameters."
    )


def reads(trace: Trace, layer: Layer) -> str:
    """Name of the tensor that the feed-forward network of a layer reads."""
    return trace.model.anatomy.sublayer(layer.stack, layer.index, "feed_forward").reads


def see(trace: Trace) -> None:
    layer = LAYER.draw(trace.model)
    step, title, how_to_read = STEPS[one_of("Step", list(STEPS), key="ff_step", default="3 ReLU", wrap=True)]
    units = shown_units(trace, layer)
    by_unit = step in ("pre_activation", "hidden")
    shown = checked_matrix(
        trace,
        reads(trace, layer) if step == "in" else f"{network(layer)}.{step}",
        Caption(f"{title} ({title_of(layer)})", how_to_read),
        labels=Labels(
            columns=[str(unit + 1) for unit in units] if by_unit else None,
            describe="“{row}”, unit {column}: {value}" if by_unit else "“{row}”, dimension {column}: {value}",
        ),
        part=Part(columns=units if by_unit else None),
    )
    shapes(trace, layer)
    if by_unit:
        row_in_words(trace, layer, shown.cell[0])
        all_units(trace, layer)


def shown_units(trace: Trace, layer: Layer) -> list[int]:
    """A few units that each piece drives most."""
    return strongest_units(trace.tensors[f"{network(layer)}.hidden"][:READABLE], SHOWN) or [0]


def shapes(trace: Trace, layer: Layer) -> None:
    t, (d_ff, d_model) = (
        len(tokens_of_layer(trace, layer)),
        engine.model().weights[f"{network(layer)}.w_1.weight"].shape,
    )
    st.caption(
        f"Shapes: in ({t}, {d_model}), W₁ ({d_model}, {d_ff}), hidden ({t}, {d_ff}), W₂ ({d_ff}, {d_model}), out "
        f"({t}, {d_model})."
    )


def row_in_words(trace: Trace, layer: Layer, row: int) -> None:
    """How many units fire for a piece, and which are the strongest."""
    hidden = trace.tensors[f"{network(layer)}.hidden"][row]
    fires = int((hidden > 0).sum())
    best = np.argsort(-hidden, kind="stable")[: min(3, fires)]
    st.markdown(
        f"The chosen row is **{in_markdown(tokens_of_layer(trace, layer)[row].text)}**: {fires} of "
        f"{len(hidden):,} units fire, "
        f"{1 - fires / len(hidden):.1%} rest."
        + (" The strongest: " + ", ".join(f"unit {u + 1} ({number(float(hidden[u]), 2)})" for u in best) + "."
           if fires else "")
    )  # fmt: skip


def all_units(trace: Trace, layer: Layer) -> None:
    """All units of all pieces at once."""
    whole = trace.tensors[f"{network(layer)}.hidden"]
    hidden, texts = whole[:READABLE], [token.text for token in tokens_of_layer(trace, layer)[:READABLE]]
    d_ff = hidden.shape[1]
    st.markdown(f"**All {d_ff:,} units at once: a tick for each that fires**")
    raster(texts, hidden, f"For each piece, how many of the {d_ff} hidden units fire")
    st.caption(f"From left to right units 1 to {d_ff:,}; the fainter, the weaker. On the right: how many fire.")
    numbers_of_figure(
        ("piece", "units that fire", "units that rest", "strongest unit", "its value"),
        [
            (text, str(n), f"{1 - n / d_ff:.1%}", str(int(row.argmax()) + 1), number(float(row.max())))
            for text, n, row in zip(texts, (hidden > 0).sum(1), hidden, strict=True)
        ],
    )
    if len(whole) > READABLE:
        st.caption(f"Shown: the first {READABLE} of {len(whole)} pieces.")


def do(trace: Trace) -> None:
    layer = LAYER.value(trace.model)
    st.subheader("What does one unit look for?", anchor=False)
    unit = choose_unit(trace, layer)
    what_it_looks_for(trace, layer, unit)
    leave_out(trace, layer, unit)
    st.subheader("Each row by itself", anchor=False)
    alone(trace, layer)


def choose_unit(trace: Trace, layer: Layer) -> int:
    """Control for one hidden unit of this layer, among those that See shows; kept in the address."""
    tokens, hidden = tokens_of_layer(trace, layer)[:READABLE], trace.tensors[f"{network(layer)}.hidden"][:READABLE]
    units = shown_units(trace, layer)
    chosen = asked_unit(layer, hidden.shape[1])
    if chosen is None:
        chosen = most_telling(trace, layer, units)
    elif chosen not in units:
        units.append(chosen)

    def name(unit: int) -> str:
        best = int(hidden[:, unit].argmax())
        rests = "rests in this sentence" if hidden[best, unit] == 0 else f"strongest for {visible(tokens[best].text)}"
        return f"unit {unit + 1}: {rests}"

    key = f"unit/{title_of(layer)}/{trace.text}"

    def write() -> None:
        st.query_params["unit"] = str(Unit(layer.stack, layer.index, st.session_state[key]))

    return st.selectbox(
        f"Hidden unit of {phrase_of(layer)}",
        units,
        index=units.index(chosen),
        format_func=name,
        key=key,
        on_change=write,
        width=360,
    )


def asked_unit(layer: Layer, d_ff: int) -> int | None:
    """The unit that the address names, if it is one of this layer."""
    try:
        asked = Unit.parse(st.query_params.get("unit", ""))
    except InterventionError:
        return None
    here = (asked.stack, asked.layer) == (layer.stack, layer.index) and asked.unit < d_ff
    return asked.unit if here else None


def most_telling(trace: Trace, layer: Layer, units: Sequence[int]) -> int:
    """The unit that several different pieces of the example sentences drive hard: one with a taste to be guessed."""
    texts, hidden = engine.run(hidden_in_examples, trace.model, layer.stack, layer.index)
    return max(units, key=lambda unit: [0.0, *(value for _, value in strongest(texts, hidden[:, unit])[3:4])][-1])


def what_it_looks_for(trace: Trace, layer: Layer, unit: int) -> None:
    """The pieces that drive a unit, in this sentence and in the example sentences."""
    own = [token.text for token in tokens_of_layer(trace, layer)], trace.tensors[f"{network(layer)}.hidden"][:, unit]
    texts, hidden = engine.run(hidden_in_examples, trace.model, layer.stack, layer.index)
    sides = strongest(*own), strongest(texts, hidden[:, unit])
    limit = max((value for side in sides for _, value in side), default=1.0)
    names = "In your sentence", f"In {len(example_sentences(trace.model))} everyday sentences"
    counts = [(int((values > 0).sum()), len(values)) for values in (own[1], hidden[:, unit])]
    for column, name, side, (fires, of) in zip(st.columns(2, gap="large"), names, sides, counts, strict=True):
        with column:
            st.markdown(f"**{name}** it fires for {fires} of {of} pieces" + (", most for" if fires else "."))
            bars([text for text, _ in side], [value for _, value in side], f"{name}: how much unit {unit + 1} fires",
                 limit)  # fmt: skip
    st.caption(
        "The sentences are those that the bar at the top of the page offers"
        + ("" if layer.stack == "encoder" else ", in the model's own German")
        + ". A piece that occurs several times is listed once, with its largest value. Some units have a clear taste "
        "(verbs, full stops, one word), many have none that one could name."
    )


def strongest(texts: Sequence[str], values: Array) -> list[tuple[str, float]]:
    """The texts with the largest values above 0, each once."""
    found: dict[str, float] = {}
    for i in np.argsort(-values, kind="stable"):
        if values[i] > 0:
            found.setdefault(texts[i], float(values[i]))
    return list(found.items())[:LISTED]


def leave_out(trace: Trace, layer: Layer, unit: int) -> None:
    """The network without the unit, without its ReLU, or switched off: before and after."""
    st.subheader("Leave something out", anchor=False)
    block = Block(layer.stack, layer.index, "feed_forward")
    ways = {
        "This unit": Interventions(units_off=(Unit(layer.stack, layer.index, unit),)),
        "The ReLU": Interventions(relu_off=(block,)),
        "The whole network": Interventions(blocks_off=(block,)),
    }
    way = one_of("Leave out", list(ways), key="leave_out", wrap=True)
    change = ways[way]
    src, tgt = trace.src_ids, trace.tgt_ids
    after = engine.run(
        changed_pass, trace.model, src, tgt, change, (layer.writes, f"{network(layer)}.output", "logits")
    )
    one, two = trace.tensors[layer.writes], after[layer.writes]
    dimensions = most_changed(one, two, SHOWN)
    says = {
        "This unit": f"unit {unit + 1} is 0 for every piece",
        "The ReLU": "negative units pass too",
        "The whole network": "the network writes 0",
    }[way]
    before_after(
        (one[:, dimensions], two[:, dimensions]),
        ("As it is", f"After: {says}"),
        Labels(
            [token.text for token in tokens_of_layer(trace, layer)],
            [str(d + 1) for d in dimensions],
            describe="“{row}”, dimension {column}: {value}",
        ),
        how_to_read=f"What {phrase_of(layer)} passes on: the {len(dimensions)} dimensions that change most.",
        csv_name=f"output of {phrase_of(layer)}",
        scale="signed",
    )
    labels = [token.id for token in trace.labels]
    names = "as it is", "after"
    before, later = (probabilities_of(logits, labels) for logits in (trace.tensors["logits"], after["logits"]))
    st.markdown("**The probability of each piece of the translation, before and after**")
    falls, rises = pieces_before_after(trace.labels, before, later, names)
    # If every piece is still the likeliest after those before it, writing anew would give the same: no need to.
    same = after["logits"].argmax(-1).tolist() == labels
    most = len(labels) + LOST
    other = trace if same and trace.finished else engine.trace(trace.text, None, Greedy(max_steps=most), change)
    st.markdown(
        f"The probability falls for {falls} of {len(before)} pieces and rises for {rises}; on average it goes from "
        f"**{number(float(before.mean()))}** to **{number(float(later.mean()))}**. The translation was "
        f"{bold(trace.translation or '(nothing)')} Now it is {bold(other.translation or '(nothing)')}"
        + ("" if other.finished else f" (cut after {most} pieces)")
    )
    explain(trace, layer, way, after[f"{network(layer)}.output"])


def explain(trace: Trace, layer: Layer, way: str, written: Array) -> None:
    """Why that happened. written: the network's output under the change."""
    if way == "This unit":
        st.caption("One unit of many: where its pieces stand, the numbers move; elsewhere only through later layers.")
    elif way == "The whole network":
        st.caption(
            "The rows still run past the network, because Add & Norm adds what came in. What attention gathered is "
            "kept, and often that is enough for a translation."
        )
    else:
        w = {name: engine.model().weights[f"{network(layer)}.{name}"].astype(np.float64)
             for name in ("w_1.weight", "w_1.bias", "w_2.weight", "w_2.bias")}  # fmt: skip
        single = w["w_2.weight"] @ w["w_1.weight"]  # (d_model, d_model); torch keeps W transposed
        x = trace.tensors[reads(trace, layer)]
        product = x @ single.T + w["w_2.weight"] @ w["w_1.bias"] + w["w_2.bias"]
        st.caption(
            "Without the ReLU two matrices in a row are just one: multiply W₁W₂ beforehand and you get the same rows "
            f"(largest difference {magnitude(float(np.abs(product - written).max()))}). The second matrix learned "
            "to read units most of which rest; letting the negative ones pass floods it with numbers it has never met."
        )


def alone(trace: Trace, layer: Layer) -> None:
    """The network and self-attention on every row alone, against the same rows in their sentence."""
    st.markdown(
        "Take every row out of the sentence and send it through the network alone, as a sequence of one. Do the same "
        "with the self-attention of this layer."
    )
    differences = differences_alone(trace, layer)
    table(
        ("each row alone, against the same row in its sentence", "largest difference of a number"),
        [("feed-forward network", magnitude(differences[0])), ("self-attention", magnitude(differences[1]))],
    )
    st.caption(
        "For the network no more than rounding is left: it never looks at another row, so it does not matter who "
        "stands beside it, in which order, or whether anybody does. That is what *position-wise* means. Attention is "
        "the opposite."
    )


def differences_alone(trace: Trace, layer: Layer) -> list[float]:
    """The largest difference that it makes to run every row alone: for the network and for self-attention."""
    differences = []
    for name in ("feed_forward", "self_attn"):
        sublayer = trace.model.anatomy.sublayer(layer.stack, layer.index, name)
        by_itself = each_row_alone(trace.model, Block(*sublayer.place), trace.tensors[sublayer.reads])
        differences.append(float(np.abs(by_itself - trace.tensors[sublayer.writes]).max()))
    return differences


def predict(trace: Trace) -> Sequence[Question]:
    layer = LAYER.value(trace.model)
    return how_many_fire(trace, layer), position_wise(trace, layer), what_hurts_more(trace, layer)


def how_many_fire(trace: Trace, layer: Layer) -> Question:
    hidden, tokens = trace.tensors[f"{network(layer)}.hidden"], tokens_of_layer(trace, layer)
    row = min(1, len(tokens) - 1)
    share = float((hidden[row] > 0).mean())
    return Question(
        "firing",
        f"Of the {hidden.shape[1]:,} hidden units of {phrase_of(layer)}: how many fire for "
        f"**{in_markdown(tokens[row].text)}** (piece {row + 1})?",
        ("fewer than one in ten", "between one in ten and a half", "more than half"),
        frozenset({0 if share < 0.1 else 1 if share <= 0.5 else 2}),
        f"It is {int((hidden[row] > 0).sum())}, so {1 - share:.1%} rest. Nobody asked for that: training found it "
        "useful that each unit speaks up for few pieces only.",
    )


def position_wise(trace: Trace, layer: Layer) -> Question:
    network_differs, attention_differs = differences_alone(trace, layer)
    tiny = 1e-3
    options = (
        "only the feed-forward network writes the same as before",
        "only self-attention writes the same as before",
        "both do",
        "neither does",
    )
    same = network_differs < tiny, attention_differs < tiny
    return Question(
        "alone",
        f"Take one row of your sentence out of its context and send it alone through both blocks of "
        f"{phrase_of(layer)}.",
        options,
        frozenset({{(True, False): 0, (False, True): 1, (True, True): 2, (False, False): 3}[same]}),
        f"The largest difference is {magnitude(network_differs)} for the network, which is rounding, and "
        f"{magnitude(attention_differs)} for self-attention, whose answer is mixed from the others.",
    )


def what_hurts_more(trace: Trace, layer: Layer) -> Question:
    block, (src, tgt) = Block(layer.stack, layer.index, "feed_forward"), (trace.src_ids, trace.tgt_ids)
    labels = [token.id for token in trace.labels]
    keep = layer.writes, f"{network(layer)}.output", "logits"
    off, linear = (
        float(probabilities_of(engine.run(changed_pass, trace.model, src, tgt, change, keep)["logits"], labels).mean())
        for change in (Interventions(blocks_off=(block,)), Interventions(relu_off=(block,)))
    )
    return Question(
        "hurts",
        f"What harms your translation more in {phrase_of(layer)}: to leave out the ReLU alone, or the whole network?",
        ("the ReLU alone", "the whole network", "both about the same"),
        frozenset({2 if abs(off - linear) < 0.02 else 0 if linear < off else 1}),
        f"The mean probability of the translation's pieces is {number(float(np.mean(trace.probabilities)))} as it is, "
        f"{number(linear)} without the ReLU and {number(off)} without the network. Missing a contribution is one "
        "thing, being flooded with wrong ones another. See *Do*.",
    )


LESSON = Lesson(
    "feed-forward",
    "Feed-forward",
    asks="What happens to a piece once it has gathered what it needs?",
    idea=idea,
    see=see,
    do=do,
    check=check_cell,
    predict=predict,
    code=(FeedForward, each_row_alone),
    blocks=("encoder.feed_forward", "decoder.feed_forward"),
)
