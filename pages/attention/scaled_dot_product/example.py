"""A first example with round numbers: one query, two keys, two values."""

import numpy as np
import streamlit as st
import torch

from model.files.loaded_model import Array
from model.parts.attention import scaled_dot_product_attention
from model.tap import Recorder
from ui.text import number
from ui.views.charts.bars import bars
from ui.views.charts.flow import Box, flow

WORDS = ("Thinking", "Machines")
PRODUCTS = (112.0, 96.0)  # of the query of Thinking and the two keys, as in the Illustrated Transformer
D_K = 64


def computed() -> dict[str, Array]:
    """The steps (2,) that the model's own function makes of these products."""
    # One query against two keys, so built that the products are those wanted.
    q, k = torch.zeros(1, 1, 1, D_K), torch.zeros(1, 1, 2, D_K)
    q[..., 0], k[0, 0, :, 0] = 1.0, torch.tensor(PRODUCTS)
    recorder = Recorder()
    scaled_dot_product_attention(q, k, torch.zeros(1, 1, 2, D_K), tap=recorder)
    return {name: recorder.tensors[name][0, 0, 0].numpy() for name in ("products", "scaled", "weights")}


def thinking_machines() -> None:
    """The decks' example, drawn as vectors and bars."""
    steps = computed()
    rows = zip("₁₂", steps["products"], steps["scaled"], steps["weights"], strict=True)
    st.markdown(
        "*Thinking* asks. Its query meets the keys of both words, and the words' values are mixed by the shares that "
        "come out. The function under *Code* has just computed these numbers."
    )
    flow(
        [
            (
                Box("q₁", WORDS[0], "query", size=(4, 1.6)),
                "·",
                Box(f"k{n}", WORDS[i], "key", size=(4, 1.6)),
                f"= {product:.0f} → {product:.0f} / √{D_K} = {scaled:.0f} → share {weight:.2f} of",
                Box(f"v{n}", WORDS[i], "value", size=(4, 1.6)),
            )
            for i, (n, product, scaled, weight) in enumerate(rows)
        ]
        + [
            (
                "Added up:",
                Box("z₁", f"{steps['weights'][0]:.2f} v₁ + {steps['weights'][1]:.2f} v₂", "output", size=(4, 1.6)),
            )
        ],
        "The query of Thinking meets two keys; the shares that come out mix two values.",
    )
    bars(WORDS, steps["weights"].tolist(), "The share of each word")
    ratio = float(np.exp(steps["scaled"][0] - steps["scaled"][1]))
    st.caption(
        f"The scores differ by {steps['scaled'][0] - steps['scaled'][1]:.0f}, so the first share is e² = "
        f"{number(ratio, 2)} times the second: the softmax turns differences into ratios."
    )
