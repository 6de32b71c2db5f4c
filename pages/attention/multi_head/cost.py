"""What several heads cost: the multiplications and the learned numbers of h narrow heads and of one wide one."""

import streamlit as st

from model.parts.attention import MultiHeadAttention
from model.trace import Trace
from ui.controls.control import Choice
from ui.controls.head_control import HEAD
from ui.views.attention_kinds import KINDS, tokens_of
from ui.views.charts.tables import markdown_table
from ui.views.head_names import heads_in_words


def cost(trace: Trace) -> None:
    """Multiplications of h narrow heads and of one wide one, on this sentence."""
    config, head = trace.model.config, HEAD.value(trace.model)
    d_model = config.d_model
    rows, columns = tokens_of(trace, head.attention)
    t, s = len(rows), len(columns)
    st.markdown(
        "Do several heads cost more than one? Choose how many heads share the same "
        f"{d_model} numbers. Counted on your sentence, for one layer of the {KINDS[head.attention].name.lower()}: "
        f"{t} rows look at {s} columns."
    )
    choices = [n for n in (1, 2, 4, 8, 16, 32) if d_model % n == 0]
    h = Choice("Heads", "n_heads", choices, config.n_heads).draw()
    counted = [multiplications(t, s, d_model, n) for n in (h, 1)]
    to_learn = [learned(d_model, n) for n in (h, 1)]
    width = d_model // h
    formulas = {
        "Q, K and V from X": f"({t} + 2 · {s}) · {d_model} · {d_model}",
        "queries times keys": f"{h} · {t} · {s} · {width}",
        "weights times values": f"{h} · {t} · {s} · {width}",
        "mixing by $W^O$": f"{t} · {d_model} · {d_model}",
    }
    markdown_table(
        ("multiplications", f"{heads_in_words(h)} of {width}", f"1 head of {d_model}"),
        [
            *(
                (step, f"{formula} = {counted[0][step]:,}", f"{counted[1][step]:,}")
                for step, formula in formulas.items()
            ),
            ("**all of them**", *(f"**{sum(steps.values()):,}**" for steps in counted)),
            ("learned numbers in $W^Q, W^K, W^V, W^O$", *(f"{n:,}" for n in to_learn)),
            ("softmax: e to the power of a score", f"{h} · {t} · {s} = {h * t * s:,}", f"{t * s:,}"),
        ],
    )
    st.caption(
        "The same products, divided differently: with twice as many heads, each is half as wide. Only the softmax has "
        "more to do, one row for each head, and that is little beside the rest. More heads give more patterns; the "
        "price is width: each head compares pieces by fewer numbers."
    )


def learned(d_model: int, h: int) -> int:
    """How many numbers h heads have to learn."""
    return sum(p.numel() for p in MultiHeadAttention(d_model, h).parameters())


def multiplications(t: int, s: int, d_model: int, h: int) -> dict[str, int]:
    """Of T rows that look at S columns with h heads, step by step."""
    d_k = d_model // h
    return {
        "Q, K and V from X": (t + 2 * s) * d_model * d_model,
        "queries times keys": h * t * s * d_k,
        "weights times values": h * t * s * d_k,
        "mixing by $W^O$": t * d_model * d_model,
    }
