"""The small translators of one recipe: two of them on the visitor's sentence, and all as measured."""

import functools
from collections.abc import Sequence

import numpy as np
import streamlit as st

from experiments.training.siblings import Noise, Sibling, load_siblings, noise, of_part
from model.files.checkpoint import CheckpointError
from model.files.loaded_model import sibling_names
from model.trace import Trace
from ui import engine
from ui.components.matrix import Caption, Labels, matrix
from ui.controls.control import Choice
from ui.text import bold, chance, in_markdown, number
from ui.views.attention_kinds import KINDS, READABLE, tokens_of
from ui.views.charts.column_chart import Series, column_chart
from ui.views.charts.tables import table

MAP = Choice("Map", "sibling_map", tuple(kind.label for kind in KINDS.values()))


@functools.cache
def names() -> tuple[str, ...]:
    """Those that come with the app; none come while it runs."""
    return sibling_names()


@functools.cache
def measured() -> tuple[Sibling, ...]:
    """What was measured of those that come with the app. Raises: CheckpointError"""
    return load_siblings()


def two_siblings(trace: Trace, part: str) -> None:
    """The sentence through any two siblings: translation, probabilities, maps. Nothing where there are not two.

    Args: part: what the second one differs in until another is chosen, as its name begins, like "positions"
    """
    if len(names()) < 2:
        return
    st.subheader("Two trained siblings side by side", anchor=False)
    st.markdown(
        "Small translators, trained by one recipe on the same sentences. Each is named after the one part in which it "
        "differs; those named *plain* differ in the random numbers that training began with."
    )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        chosen = [choose(label, part, n) for n, label in enumerate(("One sibling", "Another"))]
        label = MAP.draw()
    kind = next(kind for kind, words in KINDS.items() if words.label == label)
    runs = [engine.trace(trace.text, name=name) for name in chosen]
    table(
        ("sibling", "mean probability of its pieces", "parameters"),
        [
            (name, "" if run.n_cut else number(float(np.mean(run.probabilities))), f"{run.model.n_parameters:,}")
            for name, run in zip(chosen, runs, strict=True)
        ],
    )
    for column, side, name, run in zip(st.columns(2, gap="medium"), "12", chosen, runs, strict=True):
        with column:
            if run.n_cut:
                st.info(_too_long(run, name))
            else:
                _one(run, name, kind, f"sibling_{side}")
    with st.expander("What was measured of these siblings"):
        sibling_table(part)


def _too_long(run: Trace, name: str) -> str:
    """Why a sibling does not read the sentence, in one sentence."""
    return (
        f"{in_markdown(name)} has vectors for {len(run.src)} positions and your sentence needs "
        f"{len(run.src) + run.n_cut}, so it cannot read it: shorten it, or choose another sibling."
    )


def choose(label: str, part: str, n: int) -> str:
    """Control for the n-th of the two: at first the plain one, and one that differs in the part."""
    key = f"{part}_sibling_{n + 1}"
    return str(st.selectbox(label, names(), index=_first(names(), part)[n], key=key, bind="query-params", width=240))


def _first(known: Sequence[str], part: str) -> tuple[int, int]:
    """The first plain one, and the first that differs in the part; else the first two."""
    plain = next((n for n, name in enumerate(known) if name.startswith("plain")), 0)
    other = next((n for n, name in enumerate(known) if name.startswith(part)), int(plain == 0))
    return plain, other


def _one(run: Trace, name: str, kind: str, key: str) -> None:
    """What one sibling writes, how sure it is, and one of its maps."""
    st.markdown(f"{in_markdown(name)} writes {bold(run.translation or '(nothing)')}")
    texts = [token.text for token in run.labels[:READABLE]]
    column_chart(
        texts,
        [Series("probability", np.array(run.probabilities[:READABLE]))],
        axis=name,
        limit=1.0,
        alt=f"A bar for each of {len(texts)} pieces that {name} wrote: its probability.",
        labelled="piece",
        write=chance,
    )
    last = len(run.model.anatomy.attentions[kind]) - 1
    weights = run.attention(kind, last).mean(0)[:READABLE, :READABLE]
    rows, columns = ([token.text for token in tokens[:READABLE]] for tokens in tokens_of(run, kind))
    hidden = np.isneginf(run.attention(kind, last, "scores")[0])[:READABLE, :READABLE]
    matrix(
        weights,
        Labels(rows, columns, describe=KINDS[kind].describe),
        Caption(
            f"{KINDS[kind].name} of {name}",
            f"The average of the heads of layer {last + 1}; 0 to 1.",
            csv_name=f"{kind} attention of {name}",
        ),
        key=key,
        hidden=hidden,
    )


def sibling_table(part: str = "") -> None:
    """The plain siblings and those that differ in a part, or all: their scores, and which differences chance explains.

    Args: part: as their names begin, like "positions"
    """
    try:
        shown = of_part(measured(), part)
    except CheckpointError as error:
        st.caption(in_markdown(str(error)))
        return
    if len(shown) < 2:
        st.caption("Too few siblings come with the app to compare them.")
        return
    plain = [one for one in shown if one.is_plain]
    by_loss, by_bleu = noise([one.loss for one in plain]), noise([one.bleu for one in plain])
    _about_noise(shown, by_loss, by_bleu)
    has_speed = any(one.speed for one in shown)
    head = ("sibling", "loss", "against the plain", "BLEU", "against the plain", *["speed"] * has_speed, "parameters")
    lines = [
        (
            one.name,
            number(one.loss, 3),
            _against(one, one.loss, by_loss, 3),
            number(one.bleu, 1),
            _against(one, one.bleu, by_bleu, 1),
            *[f"{number(one.speed, 2)} ×" if one.speed else ""] * has_speed,
            f"{one.parameters:,}",
        )
        for one in shown
    ]
    table(head, lines)
    st.caption(
        "Loss: cross-entropy on the validation pairs, in nats a piece; less is better. BLEU: of the greedy "
        f"translations of {shown[0].sentences:,} sentences that none of them learned from; more is better. *Against "
        "the plain*: minus the mean of the plain ones."
        + (" Speed: pieces written a second, as a multiple of those of plain-1." if has_speed else "")
    )


def _about_noise(shown: Sequence[Sibling], by_loss: Noise | None, by_bleu: Noise | None) -> None:
    """How much chance does, and which siblings differ from the plain ones by more."""
    if not by_loss or not by_bleu:
        st.markdown("With fewer than two plain siblings nobody can say which differences are chance.")
        return
    others, n = [one for one in shown if not one.is_plain], sum(one.is_plain for one in shown)
    st.markdown(
        f"The {n} plain ones differ in their random numbers alone, and still by up to **{number(by_loss.spread, 3)}** "
        f"in loss and **{number(by_bleu.spread, 1)}** in BLEU. One more like them would lie within "
        f"**{number(by_loss.margin, 3)}** and **{number(by_bleu.margin, 1)}** of their mean, 95 times in 100: t = "
        f"{number(by_loss.t, 2)} times their standard deviation times √(1 + 1/{n}). A sibling no further from it is "
        "marked *noise*: chance may have made the difference. So few plain ones measure chance only roughly."
    )
    if others:
        loss = [bold(one.name) for one in others if not by_loss.explains(one.loss)]
        bleu = [bold(one.name) for one in others if not by_bleu.explains(one.bleu)]
        st.markdown(f"Beyond the noise in loss: {', '.join(loss) or 'none'}. In BLEU: {', '.join(bleu) or 'none'}.")


def _against(one: Sibling, value: float, seeds: Noise | None, digits: int) -> str:
    """How far a value is from the mean of the plain ones, and whether that is noise."""
    if one.is_plain or not seeds:
        return ""
    by = value - seeds.mean
    return f"{'+' if by > 0 else ''}{number(by, digits)}{', noise' if seeds.explains(value) else ''}"
