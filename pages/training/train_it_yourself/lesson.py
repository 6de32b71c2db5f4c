"""Lesson: the learner trains a tiny model and watches it learn."""

from collections.abc import Sequence

import streamlit as st

from model.trace import Trace
from pages.training.train_it_yourself.choosing import MAPS, chosen, controls, examples
from pages.training.train_it_yourself.own_letters import own_letters
from pages.training.train_it_yourself.scene import scene
from pages.training.train_it_yourself.teach import teach
from pages.training.train_it_yourself.tiny import at_first, learned, no_model_yet, watch_it_learn
from training.live.toy import BATCH_SIZE, EXAMPLE, MAX_LETTERS, Watch, answered, held_out, measured, new_texts
from training.loop.loss import batch_loss
from training.loop.schedule import learning_rate_factor
from training.loop.updates import training_steps
from ui import engine
from ui.components.matrix import Caption, Labels, Scale
from ui.controls.control import Choice
from ui.course.check import check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question

LOSS, PROBABILITY = "Loss of each letter", "Probabilities"
TRIALS = {"Your own letters": own_letters, "Teach the translator": teach}
TRIAL = Choice("Try", "trial", tuple(TRIALS))
TENSOR = Choice("What to work out", "inside", (LOSS, PROBABILITY))


def idea(trace: Trace) -> None:
    st.markdown(
        "Here you train a model yourself. It is tiny, but built of the translator's parts. It has 29 *pieces*: the "
        f"letters a to z and three signs. It starts from random weights and is to reverse, copy or sort up to "
        f"{MAX_LETTERS} letters."
    )
    st.markdown(
        f"Training repeats one small **step**. The model reads {BATCH_SIZE} texts with their right answers. The "
        "**loss** says how unlikely it found each right letter. The **gradient** says how the loss would change with "
        "each weight. So each weight moves a little against its gradient. How far depends on the **learning rate**."
    )
    with st.expander("The loss as a formula"):
        st.latex(r"L=-\frac{1}{N}\sum_{n=1}^{N}\ln P(\text{right letter }n)")
        st.markdown(
            "The mean over all N letters, the end marks among them. The logarithm is the natural one, so the loss is "
            "counted in *nats*. It is 0 if every right letter gets probability 1."
        )


def see(trace: Trace) -> None:
    examples()
    MAPS.draw()
    watch_it_learn()
    with st.expander("What the pictures show"):
        st.markdown(
            f"**Held-out texts** are {len(held_out())} texts that the model is measured on and never trained on. "
            "A text counts as right if its whole answer is. The loss is theirs, too. The **attention maps** are those "
            f"of one text, *{EXAMPLE}*: a row for each layer, a column for each head, one for the mean of the heads. "
            "Within a map, each row is a letter and shows where it looks. The **length of the gradient** is that of "
            "each part of the model, at the last step. A gradient that is longer than 1 as a whole is cut to 1 before "
            "the weights move."
        )


def check(trace: Trace) -> None:
    inside, model = TENSOR.draw(), learned()
    if model is None:
        no_model_yet("After the training, you can work out here how the loss came about.")
        return
    read = engine.alone(lambda: answered(model[1], model[0].task, EXAMPLE))
    rows = tuple(token.text for token in read.labels)
    if inside == LOSS:
        caption = Caption("Loss of each letter", f"A row for each letter of the right answer to {EXAMPLE}.")
        shown = checked_matrix(
            read, "losses", caption, labels=Labels(rows, ("loss",)), scale=Scale("positive", digits=4)
        )
    else:
        columns = tuple(read.model.tokenizer.piece_text(id) for id in range(read.model.config.vocab_size))
        caption = Caption("Probabilities", "A row for each letter of the right answer, a column for each piece.")
        shown = checked_matrix(
            read, "probabilities", caption, labels=Labels(rows, columns), scale=Scale("positive", limit=1)
        )
    check_cell(shown)


def do(trace: Trace) -> None:
    TRIALS[TRIAL.draw()](trace)


def predict(trace: Trace) -> Sequence[Question]:
    return (
        Question(
            "guess",
            "Suppose a model gives each of its 29 pieces the same probability: a blind guess. What is the loss of each "
            "letter, in nats?",
            ("0", "3.37", "29"),
            frozenset({1}),
            "The probability is 1/29, and −ln(1/29) = ln 29 = 3.37.",
            wrong={0: "0 is the loss of a letter that gets probability 1.", 2: "29 is how many pieces there are."},
        ),
        Question(
            "positions",
            "With *Positions* on *none*, nothing tells the encoder where a letter stands. Which task can a model still "
            "learn?",
            ("reverse", "copy", "sort"),
            frozenset({2}),
            "The same letters in any order have one sorted answer. We tried each: after a training without "
            "positions, 97.0% of the held-out texts were sorted right, 7.0% copied right and 4.5% reversed right.",
            wrong={
                0: "Who reverses a text must know which letter is last.",
                1: "Who copies a text must know which letter is first.",
            },
        ),
        Question(
            "rate",
            "You set the learning rate to 10, over three thousand times the one it opens with. What happens?",
            ("It learns faster.", "The loss grows far above that of a blind guess.", "Nothing changes."),
            frozenset({1}),
            "We tried it: the first steps made the loss grow to 115 at step 9. A blind guess costs 3.4. So the "
            "training was stopped there.",
            wrong={
                0: "It did not when we tried it: the loss grew at once.",
                2: "Each step is longer now, so it ends elsewhere.",
            },
        ),
    )


LESSON = Lesson(
    "train-it-yourself",
    "Train it yourself",
    asks="Can you make it write your letters backwards?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check, do=do, controls=controls),
    code=(training_steps, batch_loss, learning_rate_factor, new_texts, measured, Watch),
    on_map=OnMap(readers=(), pictured=("tiny model", lambda: [at_first(chosen())]), scene=scene),
)
