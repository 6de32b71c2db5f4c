"""The lesson's parts."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from experiments.pictures.meeting import shared_out
from model.families.two_towers import MOST_WORDS, TextTower, TwoTowers, contrastive_loss, words_of
from model.files.load_clip import clip_metrics, load_text_tower, trace_text
from model.trace import Trace
from pages.beyond_text.pictures_meet_words.doing import do
from pages.beyond_text.pictures_meet_words.scene import batch, batch_cosines, scene, words, words_box
from pages.patches import chosen_head, weights_of
from ui import engine
from ui.components.matrix import Caption
from ui.course.check import Shown, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question
from ui.text import number

PARTS = 3 / 4, 1 / 3  # of what it finds of known pictures: from here on "nearly as many", "half as many"


def idea(trace: Trace) -> None:
    st.markdown(
        "*CLIP* (Radford et al. 2021) has two **towers**. One reads a picture, the other a text, and each gives one "
        "vector. A batch holds N pictures, each with its text. The **cosine** of two vectors says how well they point "
        "the same way, from −1 to 1. The cosine of each picture with each text makes a matrix; what belongs together "
        "lies on its diagonal. Training makes the diagonal win, against all others in its row and in its column. "
        "No class is named anywhere: any words will do."
    )
    st.latex(r"s_{ij}=\frac{\cos(u_i,v_j)}{\tau}")
    st.latex(r"P_i=\frac{e^{s_{ii}}}{\sum_j e^{s_{ij}}}\qquad Q_i=\frac{e^{s_{ii}}}{\sum_j e^{s_{ji}}}")
    st.latex(r"L=-\frac{1}{2N}\sum_{i=1}^{N}(\ln P_i+\ln Q_i)")
    st.caption(
        "u: vectors of texts; v: vectors of pictures; τ: the **temperature**, learned too. A small one makes small "
        "differences decide. Ours reads pictures of 32 × 32 pixels, in patches of 8 × 8, and up to "
        f"{MOST_WORDS} words. Small words such as “a” and “with” are skipped: they say nothing of a picture. Before "
        "training, words got vectors from books and other texts: those that stand near the same words lie together. "
        "The vector of a picture was computed once: the mean of its own and of those of 16 copies, a little turned, "
        "moved and shaded. Pictures: Twemoji, Copyright Twitter, Inc and other contributors, CC BY 4.0."
    )


def see(trace: Trace) -> Shown:
    read = engine.run(trace_text, load_text_tower(), words())
    layer, head = chosen_head(weights_of(read), "Where the text tower looks among your words", (0, 0))
    return checked_matrix(
        read,
        f"{read.model.anatomy.attention('encoder', layer).path}.weights",
        Caption(
            f"Weights of layer {layer + 1}, head {head + 1}",
            "A row says where one of your words looks. The mean of all rows, times a matrix, is the text’s vector.",
        ),
        head=head,
    )


def predict(trace: Trace) -> Sequence[Question]:
    n = len(batch()[0])
    warm = float(np.diag(shared_out(batch_cosines(), 1.0)).mean())
    test = clip_metrics()["test"]
    known, unseen = (100 * test[name]["found"][0] for name in ("known", "unseen"))
    bounds = [number(part * known, 1) for part in PARTS]
    right = sum(unseen < part * known for part in PARTS)
    return (
        Question(
            "pairs",
            f"A batch has {n} pictures and {n} texts. How many of all pairs belong together, and how many do not?",
            (f"{n} and {n}", f"{n} and {n * n - n}", f"{n * n} and 0"),
            frozenset({1}),
            f"{n} × {n} = {n * n} pairs. {n} stand in the diagonal; the other {n * n - n} are what they must beat.",
            wrong={
                0: f"Each text is compared with all {n} pictures.",
                2: "Each text belongs to one picture of the batch.",
            },
        ),
        Question(
            "order",
            "Does the CLIP here tell “dog bites man” from “man bites dog”?",
            ("yes", "no"),
            frozenset({1}),
            "This text tower adds no positions, and takes the mean of all words: their order does not count. (The "
            "paper’s has positions.)",
            wrong={0: "Nothing in it tells where a word stands."},
        ),
        Question(
            "warm",
            "Pull the temperature up to 1. What probability do the texts of the matrix above then give to their own "
            "pictures, on average?",
            ("less than 0.5", "more than 0.5"),
            frozenset({int(warm > 0.5)}),
            f"{number(warm, 2)}. At temperature 1 no share can be more than e² ≈ 7.4 times another one of its row.",
            wrong={int(warm <= 0.5): "Pull the slider of the first picture to 1, and add up the framed numbers."},
        ),
        Question(
            "unseen",
            "By their names it finds most of the pictures that it learned from. And of those that it never saw?",
            ("nearly as many", "about half as many", "less than a third as many"),
            frozenset({right}),
            f"{number(known, 1)}% of those it learned from, {number(unseen, 1)}% of those it never saw.",
            wrong={
                k: said
                for k, said in enumerate(
                    (
                        f"That would be more than {bounds[0]}%: it finds {number(unseen, 1)}%.",
                        f"That would be from {bounds[1]}% to {bounds[0]}%: it finds {number(unseen, 1)}%.",
                        f"That would be less than {bounds[1]}%: it finds {number(unseen, 1)}%.",
                    )
                )
                if k != right
            },
        ),
    )


LESSON = Lesson(
    "pictures-meet-words",
    "CLIP: pictures meet words",
    asks="Your words, any words: which picture is nearest?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check_cell, do=do),
    code=(words_of, TextTower, TwoTowers, contrastive_loss),
    on_map=OnMap(
        readers=(),
        pictured=("text tower", lambda: [load_text_tower()]),
        instead=words_box,
        scene=scene,
    ),
)
