"""Each head of the model switched off on its own: without which one does the translation become least likely?"""

from collections.abc import Mapping, Sequence

import numpy as np
import streamlit as st

from model.files.loaded_model import LoadedModel
from model.interventions import Head, InterventionError, Interventions
from model.trace import Trace
from pages.attention.multi_head.measures import change_without, layer_of, measured
from ui import engine
from ui.components.matrix import Caption, Labels, Scale, matrix
from ui.text import bold, magnitude, number
from ui.views.attention_kinds import KINDS
from ui.views.charts.tables import table
from ui.views.head_names import name_of

RANKED = 5  # heads listed as those that matter most
SHORT = {"encoder": "encoder", "decoder": "masked", "cross": "enc-dec"}  # kinds of attention, above narrow columns
WITHOUT = "without"  # the parameter in the address: the one head that the ranking looks at


def ranking(trace: Trace) -> None:
    change_of = change_without(trace)
    st.markdown(
        f"Each of the {len(change_of)} heads is switched off on its own, all others on, and the model reads "
        "its first translation again. How does the translation's **log-probability** change? That is the sum of the "
        "logarithms of its pieces' probabilities: 0.69 less means half as likely, 2.3 less a tenth as likely."
    )
    order = sorted(change_of, key=lambda head: change_of[head])
    chosen = chosen_head(trace.model, order[0])
    n_layers, n_heads = trace.model.config.n_layers, trace.model.config.n_heads

    # One row a layer; the heads of the three kinds of attention side by side.
    rows = [[head for kind in KINDS for head in layer_of(trace, Head(kind, n, 0))] for n in range(n_layers)]

    def look_at(cell: tuple[int, int]) -> None:
        st.query_params[WITHOUT] = str(rows[cell[0]][cell[1]])

    matrix(
        [[change_of[head] for head in row] for row in rows],
        Labels(
            [f"layer {n + 1}" for n in range(n_layers)],
            [f"{SHORT[head.attention]} {head.head + 1}" for head in rows[0]],
            describe="without {name}: {value}",
            names=[[name_of(head) for head in row] for row in rows],
            group=n_heads,
        ),
        Caption(
            "How the log-probability changes without each head",
            "Negative: less likely without it. Each column is a head: of the encoder, of the decoder's masked "
            "self-attention, of encoder-decoder attention. A row is a layer.",
            csv_name="change without each head",
        ),
        key="ranking",
        scale=Scale("signed"),
        selected=(chosen.layer, rows[chosen.layer].index(chosen)),
        on_select=look_at,
    )
    without_one(trace, chosen, change_of[chosen])
    those_that_matter(trace, order[:RANKED], change_of)
    better = sum(change > 0 for change in change_of.values())
    st.caption(
        f"Without {better} of the {len(change_of)} heads the translation even becomes more likely. Measured is this "
        "sentence, and one head at a time: what two heads do between them, while each alone can be spared, does not "
        "show here."
    )


def chosen_head(loaded: LoadedModel, otherwise: Head) -> Head:
    """The head that the ranking looks at, from the address."""
    try:
        head = Head.parse(st.query_params.get(WITHOUT, ""))
        Interventions(heads_off=(head,)).check(loaded.anatomy, src_len=1)
    except InterventionError:
        return otherwise
    return head


def without_one(trace: Trace, head: Head, change: float) -> None:
    """What the model writes without one head."""
    after = engine.retrace(trace, interventions=Interventions(heads_off=(head,)))
    old, new = (bold(one.translation or "(nothing)") for one in (trace, after))
    st.markdown(
        f"Without **{name_of(head)}** (click another cell for another head) the translation is "
        f"{magnitude(float(np.exp(change)))} times as likely. "
        + (
            f"The model still writes it: {new}"
            if after.translation == trace.translation
            else f"Instead of {old} the model writes {new}"
        )
    )


def those_that_matter(trace: Trace, heads: Sequence[Head], change_of: Mapping[Head, float]) -> None:
    """Some heads, with the change without each and what it does."""
    st.markdown("**The heads that matter most here**")
    # What they do on this sentence is in See. To work it out here too, for other layers, takes as long as the ranking.
    over_tests, _ = measured(trace.model)
    titles = ["head", "change", "times as likely"]
    lines = [
        [
            f"{KINDS[head.attention].label}, layer {head.layer + 1}, head {head.head + 1}",
            number(change_of[head], 3),
            magnitude(float(np.exp(change_of[head]))),
        ]
        for head in heads
    ]
    if over_tests:
        titles.append(f"looks at, over {over_tests.n_sentences:,} test sentences")
        lines = [[*line, over_tests.role(head)] for line, head in zip(lines, heads, strict=True)]
    table(titles, lines)
