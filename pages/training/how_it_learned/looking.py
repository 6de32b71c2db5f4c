"""What a snapshot shows of the learner's sentence: its translation, a map, probabilities, a word's neighbours."""

import numpy as np
import streamlit as st

from model.trace import Trace
from pages.training.how_it_learned.snapshots import at_step, measured, steps, target_read, written
from ui.components.matrix import Caption, Labels, matrix
from ui.controls.control import Choice
from ui.controls.piece_control import choose_part
from ui.controls.vocabulary_entry import entries, neighbours_of
from ui.text import bold, number
from ui.views.attention_kinds import KINDS, READABLE, readable_part
from ui.views.charts.column_chart import Series, column_chart
from ui.views.charts.tables import table

NEIGHBOURS = 6


def head_control() -> Choice[str]:
    """The heads of encoder-decoder attention; the one that ends up most aligned opens first."""
    last = measured().snapshots[-1].aligned
    best = max(last, key=lambda head: last[head])
    return Choice(
        "Head", "snapshot_head", tuple(last), default=best,
        help=f"The layer, a dot, the head in it. {best} opens first: at the end no other head puts so much of its "
        "weight on the English word that is being translated.",
    )  # fmt: skip


def look(trace: Trace, step: int) -> None:
    """The translation of one snapshot, and one of its pictures."""
    own = written(trace, step)
    cut = "" if own.finished else f" (cut after {len(own.labels)} pieces)"
    st.markdown(f"After **{step:,}** of {steps()[-1]:,} steps: {bold(own.translation or '(nothing)')}{cut}")
    LOOKS[LOOK.draw()](trace, step)


def where_it_looks(trace: Trace, step: int) -> None:
    """One head's map, over pieces that stay, so that one sees it change."""
    chosen = head_control().draw()
    layer, head = (int(part) - 1 for part in chosen.split("."))
    read = target_read(trace, step)
    weights = read.attention("cross", layer)[head]
    rows, columns = ([token.text for token in tokens[:READABLE]] for tokens in (read.labels, read.src))
    matrix(
        weights[:READABLE, :READABLE],
        Labels(rows, columns, describe=KINDS["cross"].describe),
        Caption(
            f"Where head {chosen} looks at step {step:,}",
            "A row is a piece about to be written; its weights over your sentence add up to 1.",
            csv_name=f"head {chosen} at step {step}",
        ),
        key="snapshot_map",
    )
    if max(weights.shape) > READABLE:
        st.caption(readable_part((len(rows), len(columns)), weights.shape))
    st.caption("The rows are what the last snapshot writes. Every snapshot is given just these pieces to read.")


def probabilities(trace: Trace, step: int) -> None:
    """How likely a snapshot finds each piece of the last one's translation."""
    read = target_read(trace, step)
    texts = [token.text for token in read.labels[:READABLE]]
    column_chart(
        texts,
        [Series("probability", np.array(read.probabilities[:READABLE]))],
        axis=f"probability at step {step:,}",
        limit=1.0,
        alt=f"A bar for each of {len(texts)} pieces of the last translation: its probability at step {step:,}.",
    )
    if len(read.labels) > READABLE:
        st.caption(f"Shown: the first {READABLE} of {len(read.labels)} pieces.")
    st.caption(
        "These are the pieces that the last snapshot writes, each given the ones before it. The mean of their "
        f"probabilities is **{number(float(np.mean(read.probabilities)))}**."
    )


def neighbours(trace: Trace, step: int) -> None:
    """The rows of the embedding nearest to that of one piece, at this step and at the last."""
    texts = [token.text for token in trace.src[:READABLE]]
    longest = max(range(len(texts)), key=lambda n: (trace.src[n].word >= 0, len(texts[n])))
    token = trace.src[choose_part("A piece of your sentence", texts, longest, trace.text, "near")]
    columns = []
    for one in (step, steps()[-1]):
        ids, cosines = neighbours_of(token.id, at_step(one).name, NEIGHBOURS)
        columns.append([f"{entries()[id]}  {number(cosine, 2)}" for id, cosine in zip(ids, cosines, strict=True)])
    table((f"nearest at step {step:,}", f"nearest at step {steps()[-1]:,}"), list(zip(*columns, strict=True)))
    st.caption(
        "Each piece has a row of learned numbers, its embedding. These are the rows that point most nearly the same "
        "way, each with its cosine; the mean of all rows is taken away first. ␣ is a space."
    )


LOOKS = {"Where it looks": where_it_looks, "Probabilities": probabilities, "Neighbours of a piece": neighbours}
LOOK = Choice("Look at", "look", tuple(LOOKS))
