"""Lesson: pre-train on much text, then fine-tune on twenty labelled sentences."""

import math
from collections.abc import Sequence

import streamlit as st

from experiments.family.four_tasks import answer
from model.adapting.fine_tuned import FineTunedReader, FineTunedWriter, new_head
from model.parts.task_heads import load_task
from model.trace import Trace
from pages.family.fine_tuning.ablation import ablation
from pages.family.fine_tuning.choosing import (
    SET,
    choose_training,
    faults,
    label_sentences,
    pretrained,
    test_sentences,
    topic,
)
from pages.family.fine_tuning.four_tasks import four_tasks
from pages.family.fine_tuning.learning import no_classifier_yet, read, verdict, watch_them_learn
from pages.family.fine_tuning.scene import scene
from pages.family.fine_tuning.with_and_without import with_and_without
from pages.family_models import BERT, GPT, family_model
from training.live import head_alone
from training.live.labelling import CLASSES, STEPS, Labelling
from training.loop.finetune_loop import fine_tune, loss_of, moved
from ui.components.matrix import Caption, Labels
from ui.controls.control import Choice
from ui.course.check import check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question
from ui.text import chance, in_markdown, number
from ui.views.charts.tables import table


def your_sentence(trace: Trace) -> None:
    st.markdown("**Your own sentence, through your own classifier**")
    found = read(trace)
    if found is None:
        no_classifier_yet("After the training, your model labels the sentence from the bar above.")
        return
    chances = [float(p) for p in found.tensors["probabilities"][0]]
    names = tuple(map(topic().named, CLASSES))
    st.markdown(f"“{in_markdown(found.text)}” is **{names[chances[1] > chances[0]]}**.")
    table(("label", "probability"), list(zip(names, map(chance, chances), strict=True)))


TRIALS = {
    "Your sentence": your_sentence,
    "Four tasks": four_tasks,
    "With and without": with_and_without,
    "What each step is worth": ablation,
}
TRIAL = Choice("Try", "trial", tuple(TRIALS))


def idea(trace: Trace) -> None:
    st.markdown(
        "**Pre-training**: a model reads many books and learns to guess pieces of them. Nobody has to label anything. "
        "**Fine-tuning**: the same model then learns a task from a few examples with labels. For that it gets a small "
        "new layer, its **head**, which gives each label a score."
    )
    with st.expander("The head as a formula"):
        st.latex(r"P(\text{label}\mid\text{sentence})=\mathrm{softmax}(hW+b)")
        st.markdown(
            "h is one row of the last layer. In a GPT it is that of the end mark, which has seen the whole sentence. "
            "In a BERT it is that of [CLS], the sign at the beginning, after one more small layer, the *pooler*. W "
            "and b are new. They start from small random numbers and zeros. In the picture the head alone is trained, "
            f"from zeros, by {head_alone.STEPS} steps of gradient descent with rate {head_alone.RATE:g}. From each row "
            "it first takes away the mean of the labelled ones, and divides by their mean deviation."
        )


def see(trace: Trace) -> None:
    SET.draw()
    faults()
    verdict(trace)
    label_sentences()
    st.markdown("**Now all weights learn.** One GPT or BERT starts from pre-trained weights, another from random ones.")
    watch_them_learn()
    choose_training()
    with st.expander("What is measured"):
        st.markdown(
            f"In each of {STEPS} steps both models read all your sentences. Then they label {len(test_sentences())} "
            "others on the same topic, which we labelled and which are never learned from. If your two sides mean "
            "something else, that share tells little. After ± stands the standard error, √(p(1−p)/n): about so far "
            "another set of n sentences would put the share p."
        )
        st.caption(
            "For example: " + " · ".join(f"*{text}* {topic().named(label)}" for text, label in test_sentences()[:4])
        )


def check(trace: Trace) -> None:
    found = read(trace)
    if found is None:
        no_classifier_yet("After the training, you can work out here how your sentence got its scores.")
        return
    caption = Caption("Scores of your sentence", "The head's two scores: the larger one decides.")
    shown = checked_matrix(
        found, "logits", caption, labels=Labels(("your sentence",), tuple(map(topic().named, CLASSES)))
    )
    check_cell(shown)


def do(trace: Trace) -> None:
    TRIALS[TRIAL.draw()](trace)


def predict(trace: Trace) -> Sequence[Question]:
    loaded = pretrained()
    d_model, n_classes = loaded.config.d_model, len(CLASSES)
    n = d_model * n_classes + n_classes
    return (
        Question(
            "new",
            f"The head reads a row of {d_model} numbers and gives two labels a score each. How many numbers of the "
            "model are new, that is, not pre-trained?",
            (str(n_classes), f"{n:,}", f"{loaded.n_parameters:,}"),
            frozenset({1}),
            f"W has {d_model} · {n_classes} numbers and b has {n_classes}. The model has {loaded.n_parameters:,} "
            "pre-trained ones.",
            wrong={0: "That is how many scores come out.", 2: "That is how many numbers were pre-trained."},
        ),
        Question(
            "loss",
            "The loss says how unlikely a model finds the right label: −ln P. Before the first step the head is random "
            "and its scores lie close together. About how large is the loss of a sentence?",
            ("0", number(math.log(n_classes), 2), number(math.log(loaded.config.vocab_size), 2)),
            frozenset({1}),
            f"Two labels with nearly equal scores get about 1/2 each, and −ln(1/2) = {number(math.log(2), 2)}.",
            wrong={
                0: "0 is the loss of a label that gets probability 1.",
                2: f"That is a blind guess among {loaded.config.vocab_size:,} pieces, as in pre-training. Here there "
                "are two labels.",
            },
        ),
    )


LESSON = Lesson(
    "fine-tuning",
    "Pre-train, then fine-tune",
    asks="What did reading bring, for twenty labels?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check, do=do),
    code=(fine_tune, loss_of, new_head, FineTunedWriter, FineTunedReader, Labelling, moved, load_task, answer),
    on_map=OnMap(readers=(BERT, GPT), pictured=("GPT", lambda: [family_model(GPT)]), scene=scene),
)
