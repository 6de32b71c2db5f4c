"""Idea, one click deeper: other ways to tell a model about order, and the rotary one tried on real queries and keys."""

import streamlit as st
import torch

from model.parts.positions import Rotary
from model.trace import Trace
from ui.text import number
from ui.views.charts.tables import markdown_table, table

# What each kind is, as a formula, and who uses it.
KINDS = (
    ("absolute, fixed", "sines and cosines, added to the embedding", "$x_i + P(i)$",
     "the original Transformer; this model"),
    ("absolute, learned", "a trained vector for each position, added to the embedding", "$x_i + p_i$",
     "GPT, BERT, ViT"),
    ("relative", "a trained number for each distance, added to the score", r"$q_i\cdot k_j + r_{i-j}$", "T5"),
    ("rotary (RoPE)", "queries and keys are turned, the further on the more", r"$(R_i q_i)\cdot (R_j k_j)$",
     "RoFormer, GPT-NeoX"),
    ("ALiBi", "a penalty that grows with the distance, taken from the score", r"$q_i\cdot k_j - m\,(i-j)$", "BLOOM"),
)  # fmt: skip
PLACES = ((0, 0), (1, 4), (9, 12), (1, 7))  # positions of a query and of a key


def kinds(trace: Trace) -> None:
    markdown_table(("Kind", "What it is", "Formula", "Used by"), KINDS)
    st.caption(
        "*q* and *k*, query and key, are two vectors that the next lessons explain; the score is their product, and "
        "*i* and *j* are their positions. The models named: GPT, GPT-NeoX and BLOOM write text, BERT and RoFormer read "
        "it, T5 turns one text into another, ViT looks at pictures."
    )
    st.markdown("**Rotary, in one formula.** Each pair of numbers of a query or key at position m is turned by m·θ:")
    st.latex(
        r"R_m\begin{pmatrix}x_1\\x_2\end{pmatrix}=\begin{pmatrix}\cos m\theta&-\sin m\theta\\\sin m\theta&\cos m\theta"
        r"\end{pmatrix}\begin{pmatrix}x_1\\x_2\end{pmatrix},\qquad (R_m q)\cdot(R_n k)=q\cdot R_{n-m}k"
    )
    rotary(trace)


def rotary(trace: Trace) -> None:
    """A query and a key of the model, turned for several positions."""
    attentions = trace.model.anatomy.attentions
    path = next(iter(attentions.values()))[0].path
    q, k = (torch.tensor(trace.tensors[f"{path}.{name}"][0, :1]).double()[None, None] for name in "qk")
    scheme = Rotary()
    lines = []
    for m, n in PLACES:
        turned = scheme.rotate("q", q, m), scheme.rotate("k", k, n)
        lines.append((str(m), str(n), str(n - m), number(float((turned[0] * turned[1]).sum()))))
    table(("Position of q", "Position of k", "Distance", "Product"), lines)
    st.caption(
        "Tried on a query and a key of this model, those of your first piece in its first head, for several positions "
        "(counted from 0). The product changes with the distance, and with nothing else."
    )
