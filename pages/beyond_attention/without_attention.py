"""Lesson: a state in place of attention: as recurrence, as convolution, and with steps that each place chooses."""

from collections.abc import Sequence
from functools import cache, partial

import numpy as np
import streamlit as st
import torch

from experiments.attention import price
from model.families.copying import (
    ASKS,
    ENTRIES,
    INVARIANT,
    KINDS,
    LENGTHS,
    LETTERS,
    N_LETTERS,
    PLACES,
    SELECTIVE,
    LoadedCopier,
    copying_metrics,
    load_copier,
    trace_copier,
)
from model.files.loaded_model import Array
from model.parts.state_space import MambaBlock, Selective, TimeInvariant, convolution, recurrence
from model.trace import AnyTrace, Trace
from pages.attention_prices import COLOURS, measured, prices_chart
from ui import engine
from ui.components.matrix import Caption, Labels
from ui.components.scene import Axis, Card, Cards, Curve, Frame, Line, Row, Scene
from ui.controls.background import background
from ui.course.check import Part, Shown, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question
from ui.text import in_markdown, magnitude, number
from ui.views.charts.curves import Axis as Along
from ui.views.charts.curves import Line as Stroke
from ui.views.charts.curves import curves
from ui.views.charts.tables import table

KEY, FIRST = "tape", ".f.a.......c.a..d....e..."
SPACE, D = "blocks.1.space", price.D_K


def typed() -> str:
    return str(st.session_state.get(KEY, st.query_params.get(KEY, FIRST)))[:1000].strip().lower().replace(" ", ".")


def wrong(signs: str) -> str:
    """What keeps the networks from reading it, in one sentence; nothing if they can."""
    letters = [sign for sign in signs if sign != "."]
    unknown = next((sign for sign in letters if sign not in LETTERS), "")
    if not signs:
        return f"There are no letters: write {N_LETTERS} from a to h, and dots for noise."
    if not letters:
        return f"All of it is noise: write {N_LETTERS} letters from a to h among the dots."
    if unknown:
        return f"The networks know the letters a to h and dots: “{in_markdown(unknown)}” is none of them."
    if len(signs) > PLACES:
        return f"A row of {PLACES} places has no room for {len(signs)} signs."
    if len(letters) != N_LETTERS:
        return f"The networks learned to repeat {N_LETTERS} letters, and you wrote {len(letters)}."
    return ""


def tape() -> str:
    """What was typed, if the networks can read it, else what stood there at first."""
    return FIRST if wrong(typed()) else typed()


def own_row() -> None:
    st.text_input("Six letters a to h, and dots", FIRST, key=KEY, bind="query-params", live="300ms")
    if fault := wrong(typed()):
        st.info(f"{fault} Shown is the row “{FIRST}”.")


def row(places: int) -> tuple[int, ...]:
    """What was typed, drawn out to so many places, then a question for each letter, as ids."""
    signs, ids = tape(), [0] * places + [ASKS] * N_LETTERS
    for n, sign in enumerate(signs):
        if sign in LETTERS:
            ids[n * places // len(signs)] = ENTRIES.index(sign)
    return tuple(ids)


def read(kind: str, places: int) -> AnyTrace:
    return engine.run(trace_copier, load_copier(kind), row(places))


def deltas(kind: str, places: int) -> Array:
    """The step Δ of each place of the row (places), the mean of all channels of the second layer."""
    if kind == SELECTIVE:
        return read(kind, places).tensors[f"{SPACE}.delta"][:places].mean(1)
    return np.full(places, load_copier(kind).model.blocks[1].space.delta().mean().item(), dtype=np.float32)


def lettered(places: int) -> list[tuple[int, str]]:
    """Where the letters stand in the row."""
    signs = [token.text for token in read(SELECTIVE, places).src]
    return [(n, sign) for n, sign in enumerate(signs) if sign in LETTERS]


def scene(trace: Trace) -> Scene:
    """Both networks on the visitor's row, as noise pours in."""
    return Scene(
        "Two networks without attention read your row into one small state, then repeat its letters. "
        "The line is Δ, how far a place moves the state (layer 2, mean of its channels). Struck through: wrong.",
        "Places in the row",
        [scene_frame(places) for places in LENGTHS],
        by="slider",
        start=len(LENGTHS) - 1,
        wide=(2, 1),
        plays=True,
        also=tape,
    )


def scene_frame(places: int) -> Frame:
    test, top = copying_metrics()["test"], 1.25 * max(float(deltas(kind, n).max()) for kind in KINDS for n in LENGTHS)
    panels, hits = [], []
    for kind, title in zip(KINDS, ("each place chooses its step Δ", "one Δ for all"), strict=True):
        letters, said = lettered(places), [token.text for token in read(kind, places).labels]
        steps = Curve(
            [Line("Δ", [(n + 1, float(step)) for n, step in enumerate(deltas(kind, places))])],
            Axis("place", -3, LENGTHS[-1], [(n, str(n)) for n in (1, *LENGTHS)]),
            Axis("", 0, top),
            f"{kind.capitalize()}: {title}",
            words=[(n + 1, 0.9 * top, letter) for n, letter in letters],
            height=152,
        )
        right = [a == b for a, (_, b) in zip(said, letters, strict=True)]
        answer = [
            Card(a, "written" if ok else "unseen", "" if ok else f"not {b}")
            for a, (_, b), ok in zip(said, letters, right, strict=True)
        ]
        panels.append([steps, Cards([Row(answer, "", "output")], title="It repeats")])
        hits.append(sum(right))
    one, other = (percent(test[kind][str(places)][0]) for kind in KINDS)
    long = ", as in training" if places == PLACES else ""
    return Frame(
        str(places),
        f"**{places}** places{long}: the selective network repeats **{hits[0]}** of your {N_LETTERS} letters, the "
        f"time-invariant one **{hits[1]}**. In {test['rows']:,} new rows: **{one}** and **{other}** of all letters.",
        panels,
    )


def idea(trace: Trace) -> None:
    st.markdown(
        "Attention keeps every key and value. A **state-space layer** keeps a *state* h alone. A place has a few "
        "numbers x, its *channels*; for each, the state has a few numbers of its own. Each place lets them decay a "
        "little, and then joins. In a **time-invariant** layer all places do so alike. In **Mamba**'s *selective* "
        "layer each place chooses its step Δ, and B and C with it. With Δ near 0 the state stays as it was. With a "
        "large Δ old things fade, and the place itself comes in."
    )
    st.latex(r"h_t=e^{\Delta_t A}\,h_{t-1}+\Delta_t B_t\,x_t,\qquad y_t=C_t\cdot h_t+D\,x_t")
    st.caption(
        "A is negative. (In the time-invariant layer it is complex, so that what is kept swings as it fades.) B says "
        "how a place joins the state, C what it reads of it, D what passes by it."
    )


def see(trace: Trace) -> Shown:
    reading, letters = read(SELECTIVE, PLACES), [n for n, _ in lettered(PLACES)]
    delta = reading.tensors[f"{SPACE}.delta"][:PLACES]
    noise = [n for n in range(PLACES) if n not in letters]
    at_letters, in_noise = delta[letters].mean(0), delta[noise].mean(0)
    channel = int((at_letters - in_noise).argmax())
    by_letter = delta[letters].mean(1)
    largest, smallest = int(by_letter.argmax()) + 1, int(by_letter.argmin()) + 1
    means = [
        number(float(of), 3) for of in (at_letters.mean(), in_noise.mean(), at_letters[channel], in_noise[channel])
    ]
    st.markdown(
        f"**One state, place after place.** The second selective layer sets Δ to **{means[0]}** at your letters and to "
        f"**{means[1]}** in noise, on average. In channel {channel + 1}, drawn here, they differ most: **{means[2]}** "
        f"and **{means[3]}**. Not all letters move it alike: the mean Δ is largest at letter {largest} of your "
        f"{N_LETTERS}, smallest at letter {smallest}."
    )
    rows = sorted({at for n in letters for at in (n - 1, n, n + 1) if 0 <= at < PLACES})
    return checked_matrix(
        reading,
        f"{SPACE}.states",
        Caption("The state at letters and beside them", "A row is a place, a column a number of the state after it."),
        head=channel,
        labels=Labels([f"{n + 1}: {reading.src[n].text}" for n in rows]),
        part=Part(rows=rows),
        start=(rows.index(letters[3] - 1), 0),
    )


@torch.inference_mode()
def both_ways(loaded: LoadedCopier, ids: tuple[int, ...]) -> tuple[float, Array]:
    """What the first time-invariant layer makes of a row, step by step and as a convolution.

    Returns: the largest difference; the kernel of each channel (D,places)
    """
    layer = loaded.model.blocks[0].space
    x = torch.tensor(trace_copier(loaded, ids).tensors["blocks.0.near"], device=loaded.device.torch)[None]
    return float((layer(x) - layer.step_by_step(x)).abs().max()), layer.kernel(PLACES).cpu().numpy()


def do(trace: Trace) -> None:
    apart, kernels = engine.run(both_ways, load_copier(INVARIANT), row(PLACES))
    loudest = np.argsort(-np.abs(kernels).max(1), kind="stable")[:3]
    st.markdown(
        "**A time-invariant layer, in two ways.** It can go place after place, or do all at once. What x leaves in y "
        "after 1, 2, 3 … places is always the same: a *kernel*. So y is a *convolution* of x with it. On your row the "
        f"two results differ by at most **{magnitude(apart)}**."
    )
    low, high = (float(f(kernels[loudest])) for f in (np.min, np.max))
    curves(
        [
            Stroke(f"channel {k + 1}", list(enumerate(kernels[k].tolist())), colour)
            for k, colour in zip(loudest, COLOURS, strict=True)
        ],
        Along("places ago", 0, PLACES - 1),
        Along("share of x", low, high),
        alt="Three kernels of the first time-invariant layer",
    )
    st.caption("The three largest of the first layer. A selective layer has no kernel: its steps depend on the row.")
    shares()
    st.markdown(
        f"**How long does each take, and how much memory, on this machine?** One head, and {D} channels with states "
        "of 8 numbers."
    )
    kept: price.Prices = st.session_state.setdefault("without/prices", {})
    draw = partial(prices_chart, kept)
    if background("without", "Measure", D, lambda: engine.by_turns(price.measure(kept, WAYS)), draw):
        draw()
        measured(kept)
        st.caption("A convolution takes N·log N steps, so at 100,000 pieces a little more than the last column says.")


@cache
def layers() -> tuple[TimeInvariant, Selective]:
    """To be timed: what their weights are makes no difference."""
    with torch.random.fork_rng(devices=[]):
        return TimeInvariant(D, 8), Selective(D, 8, 4)


# The recurrence in strips, each from an empty state, which costs as much as going on.
WAYS: dict[str, price.Way] = {
    "every pair": price.every_pair,
    "convolution": lambda q, k, v: [partial(layers()[0], v[0])],
    "recurrence": lambda q, k, v: [partial(layers()[1], part) for part in v[0].split(price.ROWS, dim=1)],
}


def percent(share: float) -> str:
    return f"{number(100 * share, 1)}%"


def shares() -> None:
    """What was measured after the training, and how both were tuned."""
    metrics = copying_metrics()
    test, trained, recipe = metrics["test"], metrics["training"], metrics["recipe"]
    st.markdown(f"**Letters repeated right**, in {test['rows']:,} new rows of each length: percent and standard error.")
    lines = [
        (kind, *(f"{number(100 * share, 2)} ± {number(100 * error, 2)}" for share, error in test[kind].values()))
        for kind in KINDS
    ]
    table(("", *(f"{n} places" for n in LENGTHS)), lines)
    tried = "; ".join(
        f"{kind}: " + ", ".join(f"{percent(of)} at {rate}" for rate, of in trained[kind]["tried"].items())
        for kind in KINDS
    )
    st.caption(
        f"Both learned from rows of {PLACES} places, {recipe['steps']:,} steps, one training for each learning rate; "
        f"the best at {PLACES} places was kept ({tried}). Each has {trained[SELECTIVE]['parameters']:,} weights. A "
        f"blind guess is right once in {recipe['of']}."
    )


def predict(trace: Trace) -> Sequence[Question]:
    config = load_copier(SELECTIVE).config
    state, keys = config.d_inner * config.n_states, 2 * config.d_inner
    return (
        Question(
            "noise",
            "At a place with noise a selective layer sets Δ to 0. What becomes of the state there?",
            ("it stays as it was", "it is wiped out", "the noise takes its place"),
            frozenset({0}),
            "Then e to ΔA is e⁰ = 1, so all of it stays, and ΔBx is 0, so nothing joins.",
            wrong={1: "That is what a very large Δ does: e to ΔA is then near 0.", 2: "What joins is ΔBx, here 0."},
        ),
        Question(
            "memory",
            f"One of its layers has read {LENGTHS[-1]} places. How many numbers of its state must it keep to go on?",
            (f"{state:,}", f"{state * LENGTHS[-1]:,}", f"{keys * LENGTHS[-1]:,}"),
            frozenset({0}),
            f"{config.d_inner} channels with {config.n_states} numbers each, however many places went before.",
            wrong={
                1: "It keeps the newest state alone.",
                2: f"So many would attention keep: a key and a value of {config.d_inner} numbers for each place.",
            },
        ),
    )


LESSON = Lesson(
    "without-attention",
    "Without attention",
    asks="Six letters in noise. What does one state keep?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check_cell, do=do),
    code=(Selective, TimeInvariant, recurrence, convolution, MambaBlock),
    on_map=OnMap(
        readers=(),
        pictured=("two networks", lambda: [load_copier(kind) for kind in KINDS]),
        instead=own_row,
        scene=scene,
    ),
)
