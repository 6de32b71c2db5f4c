"""Lesson: BERT learns by filling in blanks, from both sides."""

from collections.abc import Sequence

import streamlit as st

from experiments.family.fill_in import left_alone, without_each
from model.families.encoder_only import EncoderOnly, MaskedTokenHead
from model.trace import Trace
from pages.family.fill_in_the_blank.blanks import chosen, current_blank, measured, opened
from pages.family.fill_in_the_blank.both_sides import Guess, name_of, see
from pages.family.fill_in_the_blank.corruption import corruption
from pages.family.fill_in_the_blank.scene import scene
from pages.family.fill_in_the_blank.shares import shares
from pages.family_models import BERT, GPT, family_model
from training.loop.text_rows import masked
from ui.components.matrix import Caption, Labels, Scale
from ui.controls.control import Choice
from ui.course.check import Part, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question
from ui.text import bold, chance
from ui.views.attention_kinds import READABLE

INSIDE = {"Probability": "probabilities", "Logit": "logits"}
TENSOR = Choice("What to work out", "blank_inside", tuple(INSIDE))
TRIALS = {"How training hides": corruption, "How much to hide": shares}
TRIAL = Choice("Try", "blank_trial", tuple(TRIALS))


def idea(trace: Trace) -> None:
    st.markdown(
        "**BERT** is an encoder alone: every piece reads all others, to its left and to its right. It writes nothing. "
        "It learns from plain text by **filling in blanks**: some pieces are hidden, and it must name them. A **GPT** "
        "guesses each piece from those to its left alone."
    )
    st.latex(r"L=-\frac{1}{|M|}\sum_{i\in M}\ln P(x_i\mid \tilde{x})")
    st.caption(
        "M are the hidden places, x the text, x̃ the text with its blanks. The loss L is small when BERT guesses well."
    )
    with st.expander("How large BERT was, and how large it is here"):
        loaded, test = family_model(BERT), measured()
        st.markdown(
            "Devlin et al. (2018) trained two. *Base*: 12 layers of width 768 with 12 heads, 110 million parameters. "
            "*Large*: 24 layers of width 1024 with 16 heads, 340 million. They read 800 million words of books and "
            "2,500 million of Wikipedia, in four days: a million steps of 256 rows, 90% of the steps with rows of 128 "
            "pieces and the last 10% with rows of 512. The one here has "
            f"{loaded.config.n_layers} layers of width {loaded.config.d_model} with {loaded.config.n_heads} heads, "
            f"{loaded.n_parameters / 1e6:.1f} million parameters, and read far less. On texts that it never saw, with "
            f"15% hidden, it names {test['accuracy']:.1%} of the hidden pieces. Always to name what most often "
            f"follows the left neighbour is right for {test['left_neighbour']:.1%}."
        )


def check(trace: Trace) -> None:
    inside, blanks = TENSOR.draw(), chosen(opened(trace))
    if not blanks.hidden:
        st.caption("Once a word is hidden, you can work out here how likely BERT finds each guess.")
        return
    place = current_blank(blanks)
    guess = Guess(blanks.from_both_sides(place), blanks.ids[place])
    rows = [place, *(other for other in blanks.places if other != place)][:READABLE]
    names = [name_of(blanks.read.model, id) for id in guess.shown()]
    labels = Labels([f"{blanks.tokens[row].text} (row {row + 2})" for row in rows], names)
    shown = checked_matrix(
        blanks.read,
        INSIDE[inside],
        Caption(f"{inside} of BERT’s guesses", "A row for each blank, that looked at first; a column for each guess."),
        labels=labels,
        part=Part([row + 1 for row in rows], guess.shown()),
        scale=Scale("positive", limit=1) if inside == "Probability" else Scale("signed"),
    )
    check_cell(shown)


def do(trace: Trace) -> None:
    TRIALS[TRIAL.draw()](trace)


def predict(trace: Trace) -> Sequence[Question]:
    blanks = opened(trace)
    place = blanks.places[0]
    chances = [float(one[blanks.ids[place]]) for one in (blanks.from_both_sides(place), blanks.from_the_left(place))]
    wins = int(chances[1] > chances[0])
    return (
        Question(
            "why-blanks",
            "In an encoder every piece reads every other piece. Suppose nothing were hidden, and BERT had to name the "
            "piece at each place. What would go wrong?",
            ("It could copy the answer.", "It could see only the left side.", "There would be too few answers."),
            frozenset({0}),
            "Each row would see its own piece. So training hides the pieces that it asks for.",
            wrong={1: "An encoder sees both sides.", 2: "Every piece would be an answer: more than with blanks."},
        ),
        Question(
            "who-knows",
            f"Hide {bold(blanks.tokens[place].text)} in your sentence (piece {place + 1}). Who gives it the larger "
            "probability?",
            ("BERT, from both sides", "GPT, from the left"),
            frozenset({wins}),
            f"BERT gives it {chance(chances[0])}, GPT {chance(chances[1])}.",
            wrong={1 - wins: "We asked both: the other one gives it more."},
        ),
        Question(
            "how-many",
            "Training draws 15% of 1,000 pieces. How many of the 1,000 become [MASK], on average?",
            ("150", "120", "15"),
            frozenset({1}),
            "150 are drawn. 80% of them, 120, become [MASK]; 15 become any piece, and 15 stay as they are.",
            wrong={0: "So many are drawn, but not all of them become [MASK].", 2: "So many stay as they are."},
        ),
    )


LESSON = Lesson(
    "fill-in-the-blank",
    "BERT: fill in the blank",
    asks="Which word told it?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check, do=do),
    code=(MaskedTokenHead, EncoderOnly, masked, left_alone, without_each),
    on_map=OnMap(readers=(GPT, BERT), scene=scene),
)
