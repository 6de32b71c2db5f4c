"""Two more GPTs, trained with fewer pairs from the start: linear attention, and squeezed keys and values."""

import streamlit as st

from experiments.attention.patterns import ALL, TRAINED, figures
from experiments.attention.two_ways import LINEAR, TwoWays, read_two_ways
from model.config import ModelConfig
from model.trace import Trace
from pages.family.gpt.reading import gpt, perplexity, read, unsure
from pages.family_models import GPT, family_model
from ui import engine
from ui.text import magnitude, number
from ui.views.charts.tables import table


def to_keep(config: ModelConfig, pieces: int) -> tuple[int, int]:
    """Numbers that all layers must keep of so many pieces: every key and value; or squeezed blocks and the last one."""
    rows = pieces // config.block * config.n_squeezed + pieces % config.block
    return tuple(2 * config.n_layers * config.d_model * n for n in (pieces, rows))  # type: ignore[return-value]


def trained(trace: Trace) -> None:
    measured, whole = figures(GPT), read(trace)
    state: TwoWays = engine.run(read_two_ways, family_model(LINEAR), trace.text)
    config, n = gpt().config, state.pieces
    st.markdown(
        "**What if it learns so from the start?** Two more GPTs learned from the same texts, in the same order and in "
        "as many steps. One has **linear attention**, with φ(x) = eˣ: all that it has read stands in one state. The "
        f"other is like *Linformer*: {config.block} pieces make a block, and learned weights squeeze each finished "
        f"block into {config.n_squeezed} keys and values. A piece asks those, and its own block so far."
    )
    base, every, squeezed = measured[ALL], *to_keep(config, n)
    rows = [
        ("all pairs", base, unsure(perplexity(whole)), every),
        ("squeezed", measured[TRAINED]["gpt-squeezed"], "", squeezed),
        ("linear", measured[TRAINED][LINEAR], unsure(state.perplexity), state.kept),
    ]
    table(
        ("", "perplexity of books", "more than with all", "of your text", f"numbers to keep of {n} pieces"),
        [
            (name, number(books, 1), f"{number(100 * (books / base - 1), 1)}%", own, f"{kept:,}")
            for name, books, own, kept in rows
        ],
    )
    even = -(-state.kept // to_keep(config, 1)[0])
    st.markdown(
        "Linear attention can be read in two ways. As a **recurrence** the state takes in one piece after the other. "
        "As a **matrix** all pairs are made at once, and no piece waits. On your text what the heads return differs by "
        f"at most **{magnitude(max(state.apart))}** between the two: that is rounding."
    )
    st.caption(
        f"The state is as large after one piece as after a million: it takes fewer numbers from {even} pieces on. One "
        "training of each: how much of the difference is chance was not measured. The squeezed one does not come with "
        "the app; `python -m training.family gpt-squeezed …` makes it."
    )
