"""Do: words in another order, in the encoder and in the decoder, with positions and without."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from experiments.passes import Shuffle, shuffle
from model.decoding.strategies import Greedy
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
READER = Choice("Read by", "shuffle_in", ("the encoder", "the decoder"))
POSITIONS_OFF = Switch("Leave the positions out", "positions_off")
MASK_OFF = Switch("Lift the causal mask", "mask_off")

# What is said of a stack's rows, by what is left out: of the encoder the positions, of the decoder also the mask.
ENCODER_SAYS = {
    False: "With positions each piece gets another vector when it stands elsewhere: order has become part of the "
    "numbers. Now leave the positions out.",
    True: "Without positions the difference is rounding: shuffling in is shuffling out. Attention without a mask is "
    "*permutation-equivariant*: the rows move with their words. (Some call it position-invariant; that would mean that "
    "the output does not change at all.) The decoder then looks at the same set of rows, so both orders get the same "
    "translation.",
}
DECODER_SAYS = {
    (False, False): "With positions each piece gets another vector when it stands elsewhere. Now leave the positions "
    "out.",
    (False, True): "The mask is lifted, but the positions still tell the order.",
    (True, False): "Even without positions the rows change. A decoder has a *causal mask* (the lesson *Masking*): a "
    "piece sees only what stands before it. In another order it sees other pieces. So a masked decoder is not "
    "permutation-equivariant. Lift the mask to see that it is the cause.",
    (True, True): "Without positions and without the mask the difference is rounding: it was the mask that told the "
    "order.",
}


def do(trace: Trace) -> None:
    st.markdown(
        "Put the words in another order, really run the model on them, and put its output rows back in the first "
        "order. Does each piece still get the same vector?"
    )
    seed = read_count("shuffle", SEEDS, 0)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        which, by_decoder = SENTENCE.draw(), READER.draw() == "the decoder"
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        off, lifted = POSITIONS_OFF.draw(), by_decoder and MASK_OFF.draw()
        st.button("Shuffle again", on_click=write_count, args=("shuffle", (seed + 1) % SEEDS))
    base = trace if which == SENTENCE.options[0] else engine.trace(ANIMALS, name=trace.model.name)
    text = base.translation if by_decoder else base.text
    order = shuffle(trace.model.tokenizer, text, seed)
    if order is None:
        st.info("There is only one word here, so no other order. Choose *Who sees whom?*, or type two words.")
        return
    if by_decoder:
        in_the_decoder(base, order, off, lifted)
    else:
        in_the_encoder(base, order, off)
    if order.words != text:
        st.caption(f"Only the first {len(order.words.split())} words take part.")


def in_the_encoder(base: Trace, order: Shuffle, off: bool) -> None:
    change, decoding = Interventions(positions_off=off), Greedy(max_steps=LOST) if off else Greedy()
    texts = order.words, order.shuffled
    one, two = runs = [engine.trace(text, None, decoding, change, base.model.name) for text in texts]
    side_by_side(one, two, "encoder", order.rows)
    for column, text, run in zip(st.columns(2, gap="medium"), texts, runs, strict=True):
        column.markdown(f"**{in_markdown(text)}** → {in_markdown(run.translation) or '(nothing)'}")
    st.caption(ENCODER_SAYS[off])
    if off and not one.finished:
        st.caption(
            f"The translation is cut after {LOST} pieces. The decoder has lost its positions too, and by then it has "
            "not come to an end."
        )


def in_the_decoder(base: Trace, order: Shuffle, off: bool, lifted: bool) -> None:
    """The decoder reads the translation in two orders (`<sos>` stays in front); the encoder's output is the same."""
    change = Interventions(positions_off=off, causal_mask_off=lifted)
    one, two = (engine.retrace(base, text, interventions=change) for text in (order.words, order.shuffled))
    # Input t + 1 is token t of the text; <eos>, the last of `rows`, is written but not read.
    side_by_side(one, two, "decoder", [0, *(row + 1 for row in order.rows[:-1])])
    st.markdown(f"Read in one order: **{in_markdown(order.words)}** In the other: **{in_markdown(order.shuffled)}**")
    st.caption(DECODER_SAYS[off, lifted])


def side_by_side(one: Trace, two: Trace, stack: str, back: Sequence[int]) -> None:
    """A stack's output for both orders, and how far they differ; back: for each row of `two` its row in `one`."""
    place = one.model.anatomy.stack(stack)
    before, after = one.tensors[place.writes], np.empty_like(one.tensors[place.writes])
    after[list(back)] = two.tensors[place.writes]
    width = before.shape[1]
    before_after(
        (before, after),
        ("In the first order", "Shuffled, rows put back"),
        Labels(
            [token.text for token in one.tokens(place.tokens)],
            [str(d + 1) for d in range(width)],
            describe="“{row}”, dimension {column}: {value}",
        ),
        how_to_read=f"The {stack}'s output, {width} dimensions, one scale for both.",
        csv_name=f"{stack} output",
        scale="signed",
        n_columns=FEW,
    )
    difference = float(np.abs(before - after).max())
    st.markdown(
        f"The largest difference between matching rows, over all {width} dimensions: **{magnitude(difference)}**."
    )
