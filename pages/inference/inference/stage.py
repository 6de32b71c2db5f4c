"""The theatre of a translation, and the numbers of one of its steps."""

import streamlit as st

from model.interventions import Head
from model.trace import Trace
from pages.inference.inference import state
from ui.components.matrix import Caption, Labels, Scale
from ui.components.theatre import Scene, Strip, theatre
from ui.controls.control import Choice
from ui.controls.head_control import HeadControl
from ui.course.check import Part, Shown, checked_matrix
from ui.engine import numbers
from ui.text import piece
from ui.views.attention_kinds import KINDS, READABLE

KIND = "cross"
# What of a step can be worked out, by label.
WHAT = PROBABILITIES, LOGITS, SENTENCE, OWN = (
    "Probabilities",
    "Scores (logits)",
    "Looks at your sentence",
    "Looks at what it read",
)
NUMBERS = Choice("Numbers of this step", "numbers", WHAT)
HEAD = HeadControl((KIND,), KIND)


def weights_name(writing: Trace, kind: str, head: Head, averaged: bool) -> tuple[str, int | None]:
    """Name of the weights that are shown, and the head of them, if they are not averaged."""
    path = writing.model.anatomy.attention(kind, head.layer).path
    return (f"{path}.average", None) if averaged else (f"{path}.weights", head.head)


def which_head(head: Head, averaged: bool) -> str:
    return f"layer {head.layer + 1}, " + ("average of its heads" if averaged else f"head {head.head + 1}")


def stage(writing: Trace, step: int, head: Head, averaged: bool) -> None:
    """The theatre: every step of the translation, played or stepped through."""
    known = numbers(writing)
    maps = {}
    for kind in (KIND, "decoder"):
        name, one = weights_name(writing, kind, head, averaged)
        maps[kind] = known[name] if one is None else known[name][one]
    theatre(
        [
            scene(writing, t, maps[KIND][t, :READABLE].tolist(), maps["decoder"][t, : t + 1].tolist())
            for t in range(len(writing.labels))
        ],
        Strip(
            [token.text for token in writing.src[:READABLE]],
            "Your sentence, read once by the encoder. Shade and number: how much this step looks at a piece "
            f"({which_head(head, averaged)}).",
        ),
        Strip(
            [token.text for token in (writing.tgt[0], *writing.labels)],
            "What the decoder has read, and the piece that it writes. Shade and number: how much it looks at what it "
            "has read.",
            yours=[False, *state.yours(writing)],
        ),
        key="theatre",
        step=step,
        on_step=state.write_step,
        on_candidate=lambda t, n: state.choose(writing, t, state.candidates(writing, t)[n][0]),
    )
    if len(writing.src) > READABLE:
        st.caption(f"Shown: the first {READABLE} of {len(writing.src)} pieces of your sentence.")


def scene(writing: Trace, step: int, cross: list[float], own: list[float]) -> Scene:
    offered = state.candidates(writing, step)
    config = writing.model.config
    n_read, n_source, n_bytes = state.cache_at(writing, step)
    pairs = config.n_layers * (n_read + n_source)
    new = pairs if step == 0 else config.n_layers
    return Scene(
        cross,
        own,
        [(state.text_of(writing, id), probability) for id, probability in offered],
        [id for id, _ in offered].index(writing.labels[step].id),
        [(n_read, n_source)] * config.n_layers,
        f"Key-value cache after this step: {pairs} pairs, {new} of them new (outlined), {n_bytes:,} bytes. A "
        f"square is one piece's key (orange) and value (green): {config.n_heads} heads × {config.d_k} numbers each.",
    )


def numbers_of_step(writing: Trace, step: int, head: Head, averaged: bool, shown: str) -> Shown:
    """One row of the step's numbers, each of which Check works out."""
    read = piece(writing.tgt[step].text)
    at = [id for id, _ in state.candidates(writing, step)]
    if shown in (PROBABILITIES, LOGITS):
        likely = shown == PROBABILITIES
        what, how_to_read = (
            "the probability of each of the likeliest pieces",
            "Softmax over the whole vocabulary; the row adds up to 1 with all the entries not shown.",
        ) if likely else (
            "the score of each of them",
            "What the decoder returned for this step times the embedding of each entry: the larger, the likelier.",
        )  # fmt: skip
        return checked_matrix(
            writing,
            "probabilities" if likely else "logits",
            Caption(f"Step {step + 1}: {what}", how_to_read),
            labels=Labels(rows=[f"after {read}"], columns=[state.text_of(writing, id) for id in at]),
            part=Part(rows=[step], columns=at),
            scale=Scale("weight" if likely else "signed"),
            start=(0, at.index(writing.labels[step].id)),
        )
    kind = KIND if shown == SENTENCE else "decoder"
    name, one = weights_name(writing, kind, head, averaged)
    columns = range(len(writing.src))[:READABLE] if shown == SENTENCE else range(step + 1)[-READABLE:]
    return checked_matrix(
        writing,
        name,
        Caption(
            f"Step {step + 1}: where it looks in "
            f"{'your sentence' if shown == SENTENCE else 'what it has read'} ({which_head(head, averaged)})",
            KINDS[kind].how_to_read,
        ),
        head=one,
        part=Part(rows=[step], columns=list(columns)),
    )
