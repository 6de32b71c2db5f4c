"""The questions of the lesson on GPT."""

import math
from collections.abc import Sequence
from functools import partial

from model.trace import Trace
from pages.family.gpt.reading import has_lstm, losses, losses_of_lstm, read, text_pieces
from ui.course.quiz import Ask, Question, which_piece
from ui.text import chance, number

MOST_ASKED = 40  # pieces among which the question looks for the largest loss: those that See shows


def predict(trace: Trace) -> Sequence[Ask]:
    reading = read(trace)
    asked: list[Ask] = [rows(reading)]
    if len(text_pieces(reading)) > 1:
        asked.append(partial(surprise, reading))
    if has_lstm():
        asked.append(partial(lstm, reading))
    return asked


def rows(reading: Trace) -> Question:
    n = len(text_pieces(reading))
    return Question(
        "rows",
        f"A GPT learns from your text, which has {n} piece{'s' * (n != 1)}. From how many of them does it get a loss "
        "in one pass?",
        ("from the last one alone", "from about 15% of them", "from every one"),
        frozenset({2}),
        f"Each row guesses the piece that follows it, and the mask hides that piece: {n} row{'s' * (n != 1)}, "
        f"{n} loss{'es' * (n != 1)}.",
        wrong={
            0: "When it writes, it uses the last row alone. When it learns, all rows are used.",
            1: "That is BERT, which sees both sides and so can learn only from pieces that are masked.",
        },
    )


def surprise(reading: Trace) -> Question:
    tokens, costs = text_pieces(reading)[:MOST_ASKED], losses(reading)[:MOST_ASKED]
    most = float(costs.max())
    return which_piece(
        "surprise",
        "It reads your text from left to right. Which of these pieces surprises it most: which has the largest loss?",
        costs,
        tokens,
        f"Its loss is {number(most, 2)} nats: it got a probability of {chance(math.exp(-most))}.",
    )


def lstm(reading: Trace) -> Question:
    ours, theirs = (float(costs.mean()) for costs in (losses(reading), losses_of_lstm(reading)))
    compared = f"The mean loss is {number(ours, 3)} nats by the GPT and {number(theirs, 3)} by the LSTM."
    right = 0 if ours < theirs else 1
    return Question(
        "lstm",
        "An LSTM learned from the same texts. It reads piece by piece and keeps what it knows in a state. Which of the "
        "two does your text surprise less, by the mean of the losses?",
        ("the GPT", "the LSTM"),
        frozenset({right}),
        compared + " One text proves little: Do shows what both reach on texts kept apart.",
        wrong={1 - right: f"Not on this text: {number(max(ours, theirs), 3)} is the larger mean."},
    )
