"""Lesson: ALBERT, a BERT whose layers are one, used again and again, and whose table of pieces is narrow."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import streamlit as st

from experiments.blocks.logit_lens import said_after_each
from experiments.family.fill_in import reading_times
from experiments.family.language_models import published
from experiments.family.sizes import counted, total
from model.config import PRESETS, ModelConfig
from model.files.loaded_model import Array, LoadedModel
from model.parts.stacks import Encoder
from model.text.tokenizer import MASK
from model.trace import Trace
from pages.family.fill_in_the_blank.blanks import Blanks, whole
from pages.family_models import BERT, again, family_model
from pages.family_scenes import named
from pages.hidden_word import ADDED, choose_word, clearest, current_word, shown_words
from ui import engine
from ui.components.matrix import Caption
from ui.components.scene import Bar, Bars, Card, Cards, Frame, Row, Scene
from ui.components.scene.answer import quoted
from ui.controls.background import background
from ui.controls.control import Choice, Stops, Switch
from ui.course.check import Part, Shown, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question
from ui.text import chance, number
from ui.views.charts.bars import bars
from ui.views.charts.column_chart import Series, column_chart
from ui.views.charts.tables import table

ALBERT = "albert-mini"
NAMES = {BERT: "our BERT", ALBERT: "our ALBERT"}


def shape(v: int, h: int, e: int, layers: int, shares: bool = False) -> ModelConfig:
    """A BERT or an ALBERT with the 512 positions of the published ones."""
    narrow, preset = e if e != h else 0, PRESETS[BERT]
    wide = replace(preset, vocab_size=v, d_model=h, d_ff=4 * h, max_len=512)
    return replace(wide, d_embedding=narrow, n_layers=layers, shares_layers=shares)


# Of Lan et al. 2019: millions of parameters (Table 1), and the average score of five tasks (Table 2).
PUBLISHED = {
    "BERT base": (shape(30_522, 768, 768, 12), 108, 82.3),
    "BERT large": (shape(30_522, 1024, 1024, 24), 334, 85.2),
    "ALBERT base": (shape(30_000, 768, 128, 12, shares=True), 12, 80.1),
    "ALBERT xxlarge": (shape(30_000, 4096, 128, 12, shares=True), 235, 88.7),
}
BASE, SMALL = PUBLISHED["BERT base"][0], PUBLISHED["ALBERT base"][0]
INSIDE = {"input": "encoder.widened"} | {f"round {n + 1}": f"encoder.layers.{n}.add_norm_2.output" for n in range(4)}
TENSOR = Choice("The layer’s input, or its output", "albert_show", tuple(INSIDE))
V = Stops("V: pieces that it knows", "albert_v", (8000, 30_000, 30_522), default=30_522)
H = Stops("H: width of a state", "albert_h", (256, 512, 768, 1024, 2048, 4096), default=768)
E = Stops("E: width of a narrow table", "albert_e", (64, 128, 256, 512), default=128)
L = Stops("L: layers, or rounds", "albert_l", (2, 4, 6, 12, 24), default=12)
NARROW, SHARED = Switch("Narrow table", "albert_narrow"), Switch("One layer for all", "albert_shared")
COUNTER = (V, H, E, L, NARROW, SHARED)


def ours() -> list[LoadedModel]:
    return [family_model(name) for name in NAMES]


def scene(trace: Trace) -> Scene:
    """The numbers of BERT become those of ALBERT in two steps, at the published sizes and at ours."""
    text, word = clearest((*NAMES,), trace)
    text, (bert, albert) = replace(text, hidden=(word,)), (one.config for one in ours())
    stops = {
        "BERT": (BERT, BASE, bert),
        "layers shared": ("", replace(BASE, shares_layers=True), replace(bert, shares_layers=True)),
        "table narrowed, too": (ALBERT, SMALL, albert),
    }
    return Scene(
        "ALBERT has BERT’s shape, and fewer different numbers. Below your sentence: what our model would guess if it "
        f"stopped earlier. Only its last guess was trained.{f' {ADDED}' * text.is_ended}",
        "The same shape, written as",
        [frame(stop, text, *sizes, bert) for stop, sizes in stops.items()],
        wide=(1, 1),
    )


def frame(stop: str, text: Blanks, name: str, real: ModelConfig, own: ModelConfig, first: ModelConfig) -> Frame:
    """name: of our model with its own sizes, "" if there is none; first: those at the first stop"""
    words = [Card(MASK, "asked", word) if n in text.hidden else Card(word) for n, word in enumerate(shown_words(text))]
    guesses, ours_has = [Card("–", note="no model", bar=0.0)] * own.n_layers, f"**{millions(own, 2)}** million"
    ending = f"At ours, {ours_has}: counts alone, we trained no such model."
    if name:
        place, read = text.places[0], text.read_by(name)
        said, right = engine.alone(lambda: said_after_each(read, place + 1)), text.ids[place]
        best = [(int(of.argmax()), float(of.max())) for of in said]
        guesses = [Card(named(id), "strong" if id == right else "", chance(p), p) for id, p in best]
        gives = chance(float(said[-1, right]))
        ending = f"Ours, with {ours_has}, gives “{quoted(text.tokens[place].text)}” **{gives}**."
    layers, pieces = (f"{counted(real)[part] / total(real):.0%}" for part in ("layers", "table of pieces"))
    says = f"**{millions(real)}** million numbers, {layers} of them for layers and {pieces} in the table. {ending}"
    again, n_layers = real.shares_layers, real.n_layers
    each, made_of = ("round", f"1 layer, {n_layers} times") if again else ("layer", f"{n_layers} layers")
    rows = [Row(words, "your sentence"), Row(guesses, f"after {each} 1 to {own.n_layers}", "output")]
    used = [Card("1", "asked") if again and n else Card(str(n + 1), "strong") for n in range(n_layers)]
    sizes = [sized(real, BASE, "At BERT base’s measures", 1), sized(own, first, "At ours", 2)]
    return Frame(stop, says, [[Cards(rows)], [Cards([Row(used, made_of)])], sizes])


def sized(of: ModelConfig, first: ModelConfig, title: str, digits: int) -> Bars:
    then, note = counted(first), "" if of == first else "dashed: BERT"
    drawn = [
        Bar(name, n, f"{n / 1e6:.{digits}f} M" if n else "–", None if of == first else then[name], name == "layers")
        for name, n in counted(of).items()
    ]
    return Bars(drawn, f"{title}: {millions(of, digits)} M", "query", then["layers"], note)


def millions(of: ModelConfig, digits: int = 1) -> str:
    return f"{total(of) / 1e6:.{digits}f}"


def idea(trace: Trace) -> None:
    st.markdown(
        "**ALBERT** (Lan et al. 2019) is a BERT that shares its numbers. **One layer** is used again and again: each "
        "round does what a layer does, with the same matrices. And the table of pieces is **narrow**: a piece has E "
        "numbers there, and one matrix makes the H numbers of a state from them. V pieces then need fewer numbers:"
    )
    st.latex(r"V\cdot H\;\longrightarrow\;V\cdot E+E\cdot H\qquad E\ll H")


def see(trace: Trace) -> Shown:
    text = choose_word(*clearest((*NAMES,), trace))
    shows = TENSOR.draw()
    how = "One layer makes each round from the one before. The input: 64 numbers a piece, made 256 by a matrix."
    caption = Caption(f"{shows}, the first 12 of 256 numbers", how)
    return checked_matrix(text.read_by(ALBERT), INSIDE[shows], caption, part=Part(n_columns=12))


def count(trace: Trace) -> None:
    st.markdown("**How many numbers does it need, and how good is it?** Begin with one of these, and change it.")
    known = {name: sizes for name, (sizes, *_) in PUBLISHED.items()}
    known |= {NAMES[one.name]: one.config for one in ours()}
    with st.container(horizontal=True, gap="small"):
        for name, sizes in known.items():
            st.button(name, key=f"albert/{name}", on_click=take, args=(sizes,))
    for column, controls in zip(st.columns(2), (COUNTER[::2], COUNTER[1::2]), strict=True):
        with column:
            for control in controls:
                control.draw()
    v, h, e, layers, is_narrow, shares = (control.value() for control in COUNTER)
    yours = shape(v, h, e if is_narrow else h, layers, shares)
    parts = {name: n / 1e6 for name, n in counted(yours).items()}
    bars([*parts], [*parts.values()], f"Your {millions(yours)} million numbers, in millions", max(parts.values()), 2)
    tests = [published(name)["test"] for name in NAMES]
    rights = [test["accuracy"] for test in tests]
    errors = [math.sqrt(p * (1 - p) / test["masked_tokens"]) for p, test in zip(rights, tests, strict=True)]
    lines = [("yours", millions(yours, 2), *"–––")]
    lines += [(name, millions(of, 2), str(n), str(score), "–") for name, (of, n, score) in PUBLISHED.items()]
    for title, p, error in zip(NAMES.values(), rights, errors, strict=True):
        right = f"{number(100 * p, 1)} ± {number(100 * error, 1)}"
        lines.append((title, millions(known[title], 2), "–", "–", right))
    table(("", "counted, millions", "in the paper", "its score", "blanks right, in %"), lines)
    apart = abs(rights[0] - rights[1])
    st.caption(
        "Counted is all that is trained but biases in attention, with the heads for blanks and pairs. Yours has 512 "
        "positions, like the published ones; ours have 128. The paper: Lan et al. 2019, Tables 1 and 2; the "
        "score is an average over five tasks. *Blanks right*: of hidden pieces in texts that neither of ours had read, "
        f"± the standard error. The two lie {number(100 * apart, 1)} points apart, "
        f"{number(apart / math.hypot(*errors), 1)} standard errors of that. Trained twice more, from other random "
        f"numbers, our BERT has {again('accuracy')} right."
    )


def take(of: ModelConfig) -> None:
    """Set the counter to these sizes."""
    narrow = of.d_embedding or E.otherwise, bool(of.d_embedding), of.shares_layers
    chosen = (of.vocab_size, of.d_model, narrow[0], of.n_layers, *narrow[1:])
    st.session_state.update({control.key: value for control, value in zip(COUNTER, chosen, strict=True)})


def moved(trace: Trace) -> None:
    st.markdown(
        "**What does each layer, or round, change?** The mean over the pieces of your sentence, one word hidden."
    )
    text = current_word(*clearest((*NAMES,), trace))
    column_chart(
        [str(n + 1) for n in range(4)],
        [Series(title, cosines(text.read_by(name))) for name, title in NAMES.items()],
        alt="The cosine of what goes into each layer or round and what comes out, for both models",
        axis="cosine of what goes in and what comes out; 1: the direction stays",
        labelled="layer or round",
    )
    st.caption(
        "Lan et al. (2019, Figure 1) drew this for models of 24 layers: ALBERT’s went more smoothly from layer to "
        "layer than BERT’s, and neither came to rest."
    )


def cosines(read: Trace) -> Array:
    """Of what goes into each layer and what comes out, on average over the pieces (L)."""
    stack = read.model.anatomy.stack("encoder")
    states = np.stack([read.tensors[name] for name in (stack.embedding_writes, *(one.writes for one in stack.layers))])
    states = states / np.linalg.norm(states, axis=-1, keepdims=True)
    return (states[1:] * states[:-1]).sum(-1).mean(-1)


def fast(trace: Trace) -> None:
    st.markdown("**Is it faster?** A number that is shared is stored once, and multiplied as often as before.")
    models, ids = ours(), current_word(*clearest((*NAMES,), trace)).read_by(BERT).src_ids
    if found := background("albert", "Measure both", ids, lambda: engine.by_turns(reading_times(models, ids))):
        both = zip(NAMES.values(), found, strict=True)
        lines = [(title, number(1000 * seconds, 2), number(seconds / found[0], 2)) for title, seconds in both]
        table(("your sentence, read once", "milliseconds", "times our BERT’s"), lines)
        st.caption("Measured now on one core, the fastest of many passes of each.")


TRIALS = {"Count and compare": count, "What a round changes": moved, "How fast": fast}
TRIAL = Choice("Try", "albert_trial", tuple(TRIALS))


def do(trace: Trace) -> None:
    TRIALS[TRIAL.draw()](trace)


def predict(trace: Trace) -> Sequence[Question]:
    n, layers, sizes = len(whole(trace).ids) + 2, counted(BASE)["layers"], [one.config for one in ours()]
    products = 4 * (12 * n * sizes[1].d_model ** 2 + 2 * n * n * sizes[1].d_model)
    left = (total(BASE) / 12, total(replace(BASE, shares_layers=True)), total(BASE))
    fewer = number(total(sizes[0]) / total(sizes[1]), 1)
    return (
        Question(
            "shared",
            f"BERT base has {millions(BASE)} million numbers, and 12 layers. Let all 12 be one: how many are left?",
            tuple(f"{n / 1e6:.1f} million" for n in left),
            frozenset({1}),
            f"The layers’ {number(layers / 1e6, 1)} million become {number(layers / 12e6, 1)}. All else stays.",
            wrong={0: "Only the layers are shared, not the table.", 2: "Eleven of twelve layers need no numbers now."},
        ),
        Question(
            "work",
            f"Our BERT has {fewer} times as many numbers as our ALBERT. How much does ALBERT multiply in its rounds?",
            (f"{fewer} times less", "as much as BERT", "twice as much"),
            frozenset({1}),
            f"For your {n} rows four layers, or four rounds, take {products:,} multiplications.",
            wrong={0: "Fewer are stored, but each is used in four rounds.", 2: "A round does what a layer does."},
        ),
    )


LESSON = Lesson(
    "one-layer",
    "ALBERT: one layer, four times",
    asks="Which of all these numbers must differ?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check_cell, do=do),
    code=(Encoder, counted),
    on_map=OnMap(readers=(BERT,), pictured=("BERT and ALBERT", ours), scene=scene),
)
