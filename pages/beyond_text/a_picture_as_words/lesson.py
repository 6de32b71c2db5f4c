"""The lesson's parts."""

from collections.abc import Sequence

import streamlit as st

from experiments.pictures.looking import hidden, lens, rollout
from model.families.pictures import PatchEmbedding, VisionTransformer, cut_into_patches
from model.files.load_pictures import CLASS, SIZES, load_vision, picture_metrics
from model.trace import Trace
from pages.beyond_text.a_picture_as_words.doing import KINDS, do
from pages.beyond_text.a_picture_as_words.scene import scene
from pages.own_picture import DRAWN, draw_own, read_own
from pages.patches import chosen_head, weights_of
from ui.components.matrix import Caption, Labels, Scale
from ui.controls.control import Choice
from ui.course.check import Shown, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question
from ui.text import number

SHOWN = Choice("What to see", "see", ("attention", "pixels of the patches", "columns"))
SHARPER = 4  # pixels to a side of the patches that Predict asks about


def idea(trace: Trace) -> None:
    st.markdown(
        "A Transformer reads a row of vectors. It does not ask where they come from. So cut a picture into squares, "
        "**patches**, and make a vector of each: write its pixels in a row and multiply them by a matrix. Add a vector "
        "for its place, learned, as with words. Before them goes one more row, **[class]**, which belongs to no patch. "
        "What follows is the encoder that you know. At the end one row alone is read: that of [class]."
    )
    st.latex(
        r"z_0=[\,x_\text{class};\;x_1E+b;\;\dots;\;x_{16}E+b\,]+E_\text{pos}\qquad "
        r"\text{scores}=\mathrm{Norm}(z_L^0)\,W+c"
    )
    st.caption(
        "xᵢ: the 49 pixels of patch i; E: a matrix of 49 × 48; z with a 0 above: the row of [class], after L layers. "
        "This is the *Vision Transformer*, ViT. The paper has patches of 14 × 14 to 32 × 32 pixels, in colour, and 12 "
        "to 32 layers. This one has 3, and learned from 8,000 digits. Show it a letter, and it names a digit all "
        "the same."
    )


def controls(trace: Trace) -> None:
    SHOWN.draw()


def see(trace: Trace) -> Shown:
    read = read_own()
    match SHOWN.value():
        case "attention":
            return attention(read)
        case "columns":
            return checked_matrix(
                read,
                "encoder.embedding.output",
                Caption("Columns that the encoder reads", f"A row for {CLASS} and for each patch, its place added."),
                labels=Labels(tuple(row.text for row in read.src)),
            )
    return checked_matrix(
        read,
        "patches",
        Caption("Pixels of the patches", "A row for each patch: its 49 pixels, row by row. 0 is paper, 1 is ink."),
        scale=Scale("weight"),
    )


def attention(read: Trace) -> Shown:
    weights = weights_of(read)  # (L,H,17,17)
    side = round((weights.shape[-1] - 1) ** 0.5)
    of_class = weights[:, :, 0, 1:].reshape(*weights.shape[:2], side, side)
    layer, head = chosen_head(of_class / of_class.max(), f"Where {CLASS} looks", (len(weights) - 1, 0))
    path = read.model.anatomy.attention("encoder", layer).path
    return checked_matrix(
        read,
        f"{path}.weights",
        Caption(
            f"Weights of layer {layer + 1}, head {head + 1}",
            f"A row says where one row looks: {CLASS}, then the patches.",
        ),
        head=head,
        start=(0, int(weights[layer, head, 0].argmax())),
    )


def predict(trace: Trace) -> Sequence[Question]:
    config, kept = load_vision().config, picture_metrics()
    sharper = (config.size // SHARPER) ** 2

    def ahead(n: int, name: str, asks: str) -> Question:
        mean, error = kept["cnn_ahead"][str(n)]
        right = 2 if abs(mean) < 2 * error else 1 if mean > 0 else 0
        apart = f"{number(100 * abs(mean), 1)} ± {number(100 * error, 1)} points"
        told = f"The convolutional network is {apart} {'ahead' if mean > 0 else 'behind'}."
        if right == 2:
            told = f"They are {apart} apart. That is less than two standard errors."
        options = (f"the {KINDS['vit']}", f"the {KINDS['cnn']}", "too close to call")
        wrong = dict.fromkeys((0, 1), "It is not ahead.") | {2: "They are two standard errors apart, or more."}
        wrong[int(mean > 0)] = "It is ahead, but not by two standard errors."
        del wrong[right]
        return Question(name, asks, options, frozenset({right}), told, wrong=wrong)

    return (
        Question(
            "rows",
            f"A picture of {config.size} × {config.size} pixels is cut into patches of {SHARPER} × {SHARPER}, not of "
            f"{config.patch} × {config.patch}. How many rows does the encoder read?",
            (str(config.n_patches + 1), str(sharper), str(sharper + 1), str(config.size**2 + 1)),
            frozenset({2}),
            f"{config.size // SHARPER} × {config.size // SHARPER} = {sharper} patches, and {CLASS}.",
            wrong={
                0: f"That is with patches of {config.patch} × {config.patch}.",
                1: f"{CLASS} is a row, too.",
                3: "A pixel is no patch.",
            },
        ),
        ahead(
            SIZES[1],
            "few",
            f"A {KINDS['cnn']} of the same size looks at neighbouring pixels everywhere in the same way. Both learn "
            f"from {SIZES[1]} digits. Which reads more new ones right?",
        ),
        ahead(
            SIZES[0],
            "many",
            f"Now both learn from {SIZES[0]:,} digits. Which reads more new ones right? Close: less than two standard "
            "errors.",
        ),
    )


LESSON = Lesson(
    "a-picture-as-words",
    "ViT: a picture as words",
    asks="Which patches does it need?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check_cell, do=do, controls=controls),
    code=(cut_into_patches, PatchEmbedding, VisionTransformer, hidden, rollout, lens),
    on_map=OnMap(
        readers=(),
        pictured=("ViT", lambda: [load_vision()]),
        instead=draw_own,
        scene=scene,
        unkept=DRAWN,
    ),
)
