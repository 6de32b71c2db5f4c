"""Lesson: GPT, a decoder that stands alone. What surprises it in the learner's text, and how it goes on writing."""

import math
from collections.abc import Callable

import numpy as np
import streamlit as st

from experiments.family.language_models import read_text
from experiments.training.losses import LOSSES
from model.decoding.strategies import filter_logits
from model.families.decoder_only import DecoderOnly
from model.trace import Trace
from pages.family.gpt.beside import beside
from pages.family.gpt.questions import predict
from pages.family.gpt.reading import gpt, has_lstm, losses, read, say_what_is_cut, text_pieces, unsure
from pages.family.gpt.scene import scene
from pages.family.gpt.sizes import sizes
from pages.family.gpt.temperatures import three_temperatures
from pages.family.gpt.writing import write_on
from pages.family_models import GPT
from training.loop.loss import batch_loss
from ui.components.matrix import Caption, Labels, Scale
from ui.controls.control import Choice
from ui.course.check import Part, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.text import bold, chance, number, piece
from ui.views.attention_kinds import READABLE
from ui.views.charts.column_chart import Series, column_chart
from ui.views.charts.tables import numbers_of_figure, table
from ui.views.charts.triangle import triangle

Trial = Callable[[Trace], None]
DRAWN = 8  # rows of the triangle
WRITTEN = 5  # losses written out of a long sum


def idea(trace: Trace) -> None:
    loaded = gpt()
    st.markdown(
        "**GPT** is a decoder that stands alone. There is no encoder, so it reads nothing but the text itself. After "
        "every piece it gives each piece of its vocabulary a probability to come next. Training asks for nothing "
        "else: the text holds the right answers. Learning this from much text is called **pre-training**."
    )
    st.latex(r"L_1(U)=\sum_i \ln P(u_i\mid u_{i-k},\dots,u_{i-1};\Theta)")
    st.caption(
        "U is the text, u₁, u₂ … are its pieces; k is how many pieces back the model can read; Θ are all its learned "
        "numbers. Training makes L₁ large."
    )
    with st.expander("How large it was, and how large it is here"):
        config = loaded.config
        st.markdown(
            "The first GPT (2018) had 12 layers, rows of 768 numbers, feed-forward networks of 3,072 units and a "
            "vocabulary of 40,000 merges. It learned from books alone (BooksCorpus, over 7,000 of them). It is often "
            "said that Wikipedia was among its texts; that came with BERT."
        )
        st.markdown(
            f"The GPT here has {config.n_layers} layers, rows of {config.d_model} numbers, {config.d_ff:,} units and "
            f"{loaded.n_parameters / 1e6:.1f} million parameters."
        )


def see(trace: Trace) -> None:
    reading = read(trace)
    costs, tokens = losses(reading), text_pieces(reading)
    say_what_is_cut(reading)
    st.markdown(
        "**How much does each piece surprise it?** The **loss** of a piece is −ln P. P is the probability that GPT "
        "gave it. The loss is 0 if GPT was sure, and the larger, the less it expected that piece. Its unit is called "
        "*nat*."
    )
    shown = [token.text for token in tokens[:READABLE]]
    column_chart(
        shown,
        [Series("loss", costs[:READABLE])],
        axis="loss of each piece, in nats",
        alt=f"A bar for each of {len(shown)} pieces of your text: its loss.",
    )
    if len(tokens) > READABLE:
        st.caption(f"Shown: the first {READABLE} of {len(tokens)} pieces.")
    mean, size = float(costs.mean()), reading.model.config.vocab_size
    at = int(costs.argmax())
    st.markdown(
        f"Every piece has a loss: a row each, **{len(tokens)}** in one pass. Their mean is "
        f"**{number(mean, 2)}** nats. A blind guess among {size:,} pieces costs ln {size:,} = "
        f"{number(math.log(size), 2)}. {bold(piece(tokens[at].text))} (piece {at + 1}) surprises it most: "
        f"{number(float(costs[at]), 2)}."
    )
    if mean >= math.log(size):
        st.info("This text surprises it more than a blind guess would. It learned from whole English texts.")
    numbers_of_figure(("piece", "loss"), [(name, number(float(costs[n]))) for n, name in enumerate(shown)])
    with st.expander("What it expected instead"):
        expected(reading)
    with st.expander("What each row sees, and what it must guess"):
        inputs, labels = ([token.text for token in some] for some in (reading.tgt[:-1], tokens))
        triangle(inputs, labels, range(min(DRAWN, len(tokens))), "A row sees what stands before it, and no more")
        if len(tokens) > DRAWN:
            st.caption(f"Shown: the first {DRAWN} of {len(tokens)} rows.")
        st.caption(
            "The causal mask hides what comes later, so all rows can learn at once. A BERT, which sees both sides, "
            "learns only from the pieces that are masked: about 15%."
        )


def expected(reading: Trace) -> None:
    """The likeliest piece at each place, beside the one that stands there."""
    tokens, logits = text_pieces(reading)[:READABLE], reading.tensors["logits"]
    best = logits.argmax(-1)
    likeliest = reading.model.tokenizer.tokens([int(id) for id in best[: len(tokens)]])
    highest = np.exp(logits.max(-1) - np.logaddexp.reduce(logits.astype(np.float64), axis=-1))
    table(
        ("piece of your text", "its probability", "the likeliest there", "its probability"),
        [
            (token.text, chance(reading.probabilities[n]), other.text, chance(float(highest[n])))
            for n, (token, other) in enumerate(zip(tokens, likeliest, strict=True))
        ],
    )
    right = sum(token.id == other.id for token, other in zip(tokens, likeliest, strict=True))
    st.caption(f"At {right} of {len(tokens)} places the likeliest piece is the one that stands there.")


def check(trace: Trace) -> None:
    reading = read(trace)
    tokens, costs = text_pieces(reading), losses(reading)
    rows = list(range(min(READABLE, len(tokens))))
    # One scale for most texts: a little over a blind guess. What costs even more stretches it.
    blind = math.ceil(math.log(reading.model.config.vocab_size)) + 1
    limit = float(max(blind, *(math.ceil(cost) for cost in costs[: len(rows)])))
    shown = checked_matrix(
        reading,
        LOSSES,
        Caption("Loss of each piece", "A row for each piece of your text; in nats."),
        labels=Labels([tokens[n].text for n in rows], ("loss",)),
        part=Part(rows=rows, columns=[0]),
        scale=Scale("positive", limit=limit, digits=4),
    )
    check_cell(shown)
    terms = " + ".join(number(float(cost), 2) for cost in costs[:WRITTEN])
    more = r" + \dots" if len(costs) > WRITTEN else ""
    st.markdown(
        f"**The loss of the text** is the mean over its {len(tokens)} pieces; e to that power is the *perplexity*:"
    )
    mean = float(costs.mean())
    st.latex(rf"\frac{{{terms}{more}}}{{{len(tokens)}}} = {number(mean)}")
    st.latex(rf"e^{{{number(mean)}}} = \text{{{unsure(math.exp(mean))}}}")
    st.caption("A perplexity of 10 means: as unsure, on average, as one who chooses blindly among 10 pieces.")


def trials() -> dict[str, Trial]:
    lstm: dict[str, Trial] = {"Beside an LSTM": beside} if has_lstm() else {}
    return {"Write on": write_on, "Three temperatures": three_temperatures, **lstm, "How large they became": sizes}


def do(trace: Trace) -> None:
    known = trials()
    known[Choice("Try", "gpt_trial", tuple(known)).draw()](trace)


LESSON = Lesson(
    "gpt",
    "GPT",
    asks="What surprises it, and how does it go on?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check, do=do),
    code=(DecoderOnly, read_text, batch_loss, filter_logits),
    on_map=OnMap(readers=(GPT,), scene=scene),
)
