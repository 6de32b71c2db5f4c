"""Do: words in another order, in the encoder and in the decoder, with positions and without."""

from dataclasses import dataclass

import numpy as np
import streamlit as st

from experiments.passes import Shuffle, shuffle
from model.decoding.strategies import Greedy
from model.files.loaded_model import Array
from model.interventions import Interventions
from model.trace import Trace
from ui import engine
from ui.components.matrix import Labels
from ui.controls.address import read_count, write_count
from ui.controls.control import Choice, Switch
from ui.text import in_markdown, magnitude
from ui.views.before_after import before_after

LOST = 30  # pieces after which a translation without positions is cut: it may never end
FEW = 10  # dimensions shown at once, so that their numbers can be read
SEEDS = 999
ANIMALS = "The white dog sees the black cat."

SENTENCE = Choice("Words of", "shuffle_of", ("your sentence", "Who sees whom?"))
STACK = Choice("Read by", "shuffle_in", ("the encoder", "the decoder"))
POSITIONS_OFF = Switch("Leave the positions out", "positions_off")
MASK_OFF = Switch("Lift the causal mask", "mask_off")


@dataclass(frozen=True)
class Rows:
    """A stack's output rows for a sentence and for its words in another order, the second put back in the order of
    the first; texts of the rows."""

    before: Array
    after: Array
    texts: tuple[str, ...]


def do(trace: Trace) -> None:
    st.markdown(
        "Put the words in another order, really run the model on them, and put its output rows back in the first "
        "order. Does each piece still get the same vector?"
    )
    seed = read_count("shuffle", SEEDS, 0)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        which, stack = SENTENCE.draw(), STACK.draw()
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        off = POSITIONS_OFF.draw()
        lifted = MASK_OFF.draw() if stack == "the decoder" else False
        st.button("Shuffle again", on_click=write_count, args=("shuffle", (seed + 1) % SEEDS))
    base = trace if which == SENTENCE.options[0] else engine.trace(ANIMALS, name=trace.model.name)
    text = base.text if stack == "the encoder" else base.translation
    order = shuffle(trace.model.tokenizer, text, seed)
    if order is None:
        st.info("There is only one word here, so no other order. Choose *Who sees whom?*, or type two words.")
        return
    if stack == "the encoder":
        in_the_encoder(base, order, off)
    else:
        in_the_decoder(base, order, off, lifted)
    if order.words != text:
        st.caption(f"Only the first {len(order.words.split())} words take part.")


def in_the_encoder(base: Trace, order: Shuffle, off: bool) -> None:
    change = Interventions(positions_off=off)
    decoding = Greedy(max_steps=LOST) if off else Greedy()
    name = base.model.name
    one, two = (engine.trace(text, None, decoding, change, name) for text in (order.words, order.shuffled))
    last = base.model.anatomy.stack("encoder").writes
    before, after = one.tensors[last], np.empty_like(one.tensors[last])
    after[list(order.rows)] = two.tensors[last]
    show(Rows(before, after, tuple(token.text for token in one.src)), "encoder")
    for column, text, run in zip(st.columns(2, gap="medium"), (order.words, order.shuffled), (one, two), strict=True):
        column.markdown(f"**{in_markdown(text)}** → {in_markdown(run.translation) or '(nothing)'}")
    if not off:
        st.caption(
            "With positions each piece gets another vector when it stands elsewhere: order has become part of the "
            "numbers. Now leave the positions out."
        )
        return
    st.caption(
        "Without positions the difference is rounding: shuffling in is shuffling out. Attention without a mask is "
        "*permutation-equivariant*: the rows move with their words. (Some call it position-invariant; that would mean "
        "that the output does not change at all.) The decoder then looks at the same set of rows, so both orders get "
        "the same translation."
    )
    if not one.finished:
        st.caption(
            f"The translation is cut after {LOST} pieces. The decoder has lost its positions too, and by then it has "
            "not come to an end."
        )


def in_the_decoder(base: Trace, order: Shuffle, off: bool, lifted: bool) -> None:
    """The decoder reads the translation in two orders (`<sos>` stays in front); the encoder's output is the same."""
    change = Interventions(positions_off=off, causal_mask_off=lifted)
    one, two = (engine.retrace(base, text, interventions=change) for text in (order.words, order.shuffled))
    last = base.model.anatomy.stack("decoder").writes
    # Input t + 1 is token t of the text; <eos>, the last of `rows`, is written but not read.
    back = [0, *(row + 1 for row in order.rows[:-1])]
    before, after = one.tensors[last], np.empty_like(one.tensors[last])
    after[back] = two.tensors[last]
    show(Rows(before, after, tuple(token.text for token in one.tgt)), "decoder")
    st.markdown(f"Read in one order: **{in_markdown(order.words)}** In the other: **{in_markdown(order.shuffled)}**")
    st.caption(
        {
            (False, False): "With positions each piece gets another vector when it stands elsewhere. Now leave the "
            "positions out.",
            (False, True): "The mask is lifted, but the positions still tell the order.",
            (True, False): "Even without positions the rows change. A decoder has a *causal mask* (the lesson "
            "*Masking*): a piece sees only what stands before it. In another order it sees other pieces. So a masked "
            "decoder is not permutation-equivariant. Lift the mask to see that it is the cause.",
            (
                True,
                True,
            ): "Without positions and without the mask the difference is rounding: it was the mask that told "
            "the order.",
        }[off, lifted]
    )


def show(rows: Rows, stack: str) -> None:
    """The rows of both orders side by side, and how far they differ at most."""
    width = rows.before.shape[1]
    before_after(
        (rows.before, rows.after),
        ("In the first order", "Shuffled, rows put back"),
        Labels(list(rows.texts), [str(d + 1) for d in range(width)], describe="“{row}”, dimension {column}: {value}"),
        how_to_read=f"The {stack}'s output, {width} dimensions, one scale for both.",
        csv_name=f"{stack} output",
        scale="signed",
        n_columns=FEW,
    )
    difference = float(np.abs(rows.before - rows.after).max())
    st.markdown(
        f"The largest difference between matching rows, over all {width} dimensions: **{magnitude(difference)}**."
    )
