"""How large decoders became since the first GPT."""

import streamlit as st

from experiments.training.published_results import load_table
from model.trace import Trace
from pages.family.gpt.reading import gpt
from ui.text import magnitude
from ui.views.charts.tables import Link, table


def sizes(trace: Trace) -> None:
    own, known = gpt().n_parameters, load_table("sizes")
    date, kind, parameters = (known.column(name) for name in ("first published", "kind", "parameters"))
    decoders = [row for row in known.rows if row.values[kind] == "decoder"]
    st.markdown(
        f"The GPT here has **{own:,}** parameters. Since 2018 the plan has stayed: a decoder alone that guesses the "
        "next piece. What changed most is the size."
    )
    table(
        ("decoder alone", "first published", "parameters", "times the one here", "source"),
        [
            (
                row.name,
                str(row.values[date]),
                f"{row.values[parameters]:,}",
                times(float(row.values[parameters] or 0) / own),
                Link(row.source.label, row.source.url),
            )
            for row in decoders
        ],
    )
    st.caption(
        "Of DeepSeek-V3's parameters only a part works on any one piece. The page *Results*, below, has encoders and "
        "encoder-decoders too."
    )


def times(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 1 else magnitude(ratio)
