"""The vector of “bank” in four sentences, layer by layer."""

import itertools

import numpy as np
import streamlit as st

from experiments.inputs.contextual_vectors import MONEY, RIVER, alike, vectors
from model.files.loaded_model import Array
from model.trace import Trace
from pages.attention.self_attention.others import look, of_same_model, word
from ui.components.matrix import Caption, Labels, Scale, matrix
from ui.text import in_markdown, number

MONEYS = (MONEY, "The bank is closed today.")
RIVERS = (RIVER, "The bank of the river was steep.")
APART = 0.1  # cosines of the two meanings that differ by less are told as hardly different


def vectors_of_bank(trace: Trace) -> Array:
    """The vector of “bank” (stages, d_model) before the first layer and after each."""
    looked_up, _with_position, *after_layers = vectors(trace, word(trace, "bank").pieces)
    return np.stack([looked_up, *after_layers])


def two_banks(trace: Trace) -> None:
    """How alike the vectors are within a meaning, and across meanings."""
    st.markdown(
        f"The bank for money: *{MONEYS[0]}* *{MONEYS[1]}* The bank of a river: *{RIVERS[0]}* *{RIVERS[1]}* All four "
        "begin with the same row of the embedding matrix. Then self-attention mixes in the neighbours. Do the two "
        "meanings come apart?"
    )
    money, river = ([vectors_of_bank(of_same_model(trace, sentence)) for sentence in pair] for pair in (MONEYS, RIVERS))
    pairs = {
        "same meaning": [(money[0], money[1]), (river[0], river[1])],
        "other meaning": list(itertools.product(money, river)),
    }
    cosines = np.array([np.mean([alike(one, two) for one, two in of], axis=0) for of in pairs.values()])
    same, other = (float(row[-1]) for row in cosines)
    st.markdown(
        f"After the last layer the cosine is {number(same, 2)} where the meaning is the same and {number(other, 2)} "
        "where it is not. "
        + (
            "The vectors move apart as the sentences differ, hardly as the meanings do: this model **barely tells the "
            "two banks apart**."
            if same - other < APART
            else "The meanings **come apart**: the vector of a word depends on its sentence."
        )
    )
    matrix(
        cosines,
        Labels(
            list(pairs),
            ["embedding", *(f"after layer {n}" for n in range(1, cosines.shape[1]))],
            describe="{row}, {column}: {value}",
        ),
        Caption(
            "How alike the vectors of “bank” are",
            "Cosine of the angle between two of them, averaged over the pairs: 1 is the same direction, 0 is a "
            "right angle.",
            csv_name="cosines of bank",
        ),
        key="banks",
        scale=Scale("signed", limit=1.0),
    )
    german_of_banks([of_same_model(trace, sentence).translation for sentence in (MONEY, RIVER)])
    look(trace, RIVER, "bank")


def german_of_banks(texts: list[str]) -> None:
    """The two translations, and whether the model knows both words."""
    st.markdown(
        f"In German the money goes to *die Bank*, a river has *das Ufer*. The model writes: "
        f"**{in_markdown(texts[0])}** and **{in_markdown(texts[1])}** "
        + (
            "It knows both."
            if "Bank" in texts[0] and "Ufer" in texts[1]
            else "It takes the river for a bank too (*Bank* is also a bench)."
            if "Bank" in texts[0] and "Bank" in texts[1]
            else "That is not what a person would write."
        )
    )
