"""A small database, asked three things at once: hard look-up and soft look-up."""

import streamlit as st
import torch

from explain import tex
from model.files.loaded_model import Array
from model.parts.attention import scaled_dot_product_attention
from model.tap import Recorder
from ui.components.matrix import Caption, Labels, Scale, matrix
from ui.controls.control import Number

# A little shop: items and day of May. Each order has one direction of its own as its key.
ORDERS = {"order_104": (3, 4), "order_105": (1, 12), "order_106": (8, 6), "order_107": (2, 20)}
ASKED = {
    "order_104": (1.0, 0.0, 0.0, 0.0),
    "order_106": (0.0, 0.0, 1.0, 0.0),
    "104 or 105": (0.5, 0.5, 0.0, 0.0),
}
SURE = Number("How much a match counts", "sure", 0, 10, 2)


def asked(sure: int) -> tuple[Array, Array]:
    """Weights (3,4) and answers (3,2) of the model's own attention, with scores that are `sure` times the match."""
    # Keys of length 2 and √d_k = 2: the score of a full match is just the number on the slider.
    q = sure * torch.tensor([list(ASKED.values())])[None]  # (1,1,3,4)
    k = 2 * torch.eye(len(ORDERS))[None, None]  # (1,1,4,4)
    v = torch.tensor([list(ORDERS.values())], dtype=torch.float32)[None]  # (1,1,4,2)
    recorder = Recorder()
    answers = scaled_dot_product_attention(q, k, v, tap=recorder)[0, 0].numpy()
    return recorder.tensors["weights"][0, 0].numpy(), answers


@st.fragment
def look_up() -> None:
    """The decks' database, asked by the model's own function."""
    entries = ",\n ".join(
        f'"{name}": {{"items": {items}, "delivery_date": "May {day}"}}' for name, (items, day) in ORDERS.items()
    )
    st.code(f"{{{entries}}}", language="python", wrap_lines=True)
    st.markdown(
        'Hard look-up: the query `"order_104"` equals one key, and its value comes back, nothing else. Soft look-up: '
        "every key gets a weight between 0 and 1, the larger the better it matches. The weights add up to 1. Here "
        "three queries are asked at once; each is a row."
    )
    weights, answers = asked(SURE.draw())
    left, right = st.columns([1.6, 1], gap="medium")
    with left:
        matrix(
            weights,
            Labels(list(ASKED), list(ORDERS), describe="“{row}” matches “{column}”: {value}"),
            Caption(
                "How well each key matches", "A row is one query; its weights add up to 1.", csv_name="look-up weights"
            ),
            key="look_up_weights",
        )
    with right:
        matrix(
            answers,
            Labels(list(ASKED), ["items", "day of May"], describe="“{row}”, {column}: {value}"),
            Caption("What comes back", "The weighted sum of the four values.", csv_name="look-up answers"),
            key="look_up_answers",
            scale=Scale("positive", limit=20),
        )
    items = [items for items, _ in ORDERS.values()]
    total = " + ".join(rf"{tex(float(w))}\cdot {n}" for w, n in zip(weights[0], items, strict=True))
    st.markdown(
        rf"First row, items: $\displaystyle {total} = {tex(float(answers[0, 0]))}$. At 0 a match counts for nothing "
        "and every answer is the plain average. At 10 the best key takes nearly all: a hard look-up, unless two keys "
        "match equally well."
    )
