"""What each head of a layer looks at: its label, and the shares that the label comes from."""

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from experiments.attention import head_roles
from experiments.attention.head_roles import ABOVE_UNIFORM, MOSTLY, NONE, NOTICEABLE, PARTLY, SHARES, Measured
from model.files.checkpoint import SHIPPED, WEIGHTS, broken
from model.interventions import Head
from model.text.tokenizer import EOS, SOS
from model.trace import Trace
from pages.attention.multi_head.measures import evenness_here, layer_of, measured, shares_here
from training.measure.parts_of_speech import FILE
from ui.components.matrix import Caption, Labels, matrix
from ui.text import in_markdown, number
from ui.views.charts.tables import table
from ui.views.head_names import name_of

MEANING = {
    "encoder": "*previous*, *itself* and *next* are the pieces before, at and after the row's own place.",
    "decoder": "A row has just read its piece and is about to write the next one: *itself* is the piece just read, "
    "*previous* the one before it. There is no *next*, because the causal mask hides it.",
    "cross": "A row is the German piece about to be written.\n"
    "- *aligned*: the English word behind it. To find it, each English word is hidden in turn. It is the word without "
    "which the German piece loses most of its probability.\n"
    "- *before*, *after*: the English words next to that one.\n"
    "- *read*: the English word behind the German piece written just before.\n\n"
    f"A piece that loses less than {NOTICEABLE:.0%} of its probability, whichever word is hidden, has no such word and "
    "counts as 0.",
}


def what_they_do(trace: Trace, head: Head, roles: Sequence[str]) -> None:
    """The labels of the layer's heads on this sentence and over the test set, and the shares that they come from."""
    over_tests, problem = measured(trace.model)
    of_layer = layer_of(trace, head)
    even = evenness_here(trace, head.attention, head.layer)
    titles = ["head", "looks here at", "evenness"]
    lines = [[str(n + 1), label, number(one, 2)] for n, (label, one) in enumerate(zip(roles, even, strict=True))]
    if over_tests:
        titles.append(f"over {over_tests.n_sentences:,} test sentences")
        lines = [[*line, over_tests.role(one)] for line, one in zip(lines, of_layer, strict=True)]
    st.markdown("**What each head looks at, measured**")
    table(titles, lines)
    st.caption(
        "*Evenness* is 0 where every row puts all its weight on one piece, and 1 where it gives the same to all. (It "
        "is the entropy of a row divided by that of equal weights, averaged over the rows.)"
    )
    if problem:
        st.caption(in_markdown(f"What the heads do over the test sentences cannot be shown. {problem}"))
    with st.expander("The shares that these labels come from"):
        _shares(trace, head, of_layer, over_tests)
    if over_tests:
        with st.expander("What heads are often said to find"):
            _often_said(over_tests)


def _shares(trace: Trace, head: Head, of_layer: Sequence[Head], over_tests: Measured | None) -> None:
    here, equal = shares_here(trace, head.attention, head.layer)
    share_table("Shares on this sentence", [*here, equal], head, "here")
    if over_tests:
        share_table(
            f"Shares over {over_tests.n_sentences:,} test sentences",
            [*(over_tests.shares[str(one)] for one in of_layer), over_tests.baselines[head.attention]],
            head,
            "measured",
        )
    st.markdown(
        "A share is how much of its weight a head gives to certain pieces, averaged over the rows of its map. A "
        "row that has no such piece counts as 0. Shares overlap, so they need not add up to 1."
    )
    st.markdown(MEANING[head.attention])
    st.markdown(
        f"The largest share gives the label: *mostly* if it is at least {MOSTLY}, *partly* if it is at least {PARTLY}. "
        f"It must also be at least {ABOVE_UNIFORM} times as large as with equal weights. If no share is, the label is "
        f"*{NONE}*: the head spreads its weight, or looks at something that is not counted here."
    )
    if over_tests:
        st.caption(
            f"Test sentences: the English of {in_markdown(over_tests.file)}, each with the model's own translation. "
            f"{in_markdown(over_tests.source)}."
        )


def share_table(title: str, rows: Sequence[Mapping[str, float]], head: Head, name: str) -> None:
    """A row for each head of a layer, and a last one for equal weights."""
    matrix(
        [list(row.values()) for row in rows],
        Labels(
            [*(f"head {n + 1}" for n in range(len(rows) - 1)), "equal weights"],
            [{"eos": EOS, "sos": SOS}.get(share, share) for share in rows[0]],
            describe="{row}, share of “{column}”: {value}",
        ),
        Caption(
            title,
            "The last row is what a head without preferences would give.",
            csv_name=f"shares {name} {head.attention} layer {head.layer + 1}",
        ),
        key=f"shares_{name}",
    )


def _often_said(over_tests: Measured) -> None:
    """What lectures say that heads find, beside what was measured on this model, and what was not."""

    def best(kind: str, share: str) -> str:
        of_kind = {name: row for name, row in over_tests.shares.items() if Head.parse(name).attention == kind}
        return _best(of_kind, share, over_tests.baselines[kind][share], SHARES[kind][share])

    tagged = parts_of_speech()
    parts = "; ".join(_best(tagged["shares"], part, equal, part) for part, equal in tagged["uniform"].items())
    table(
        ("said to be found by heads", f"in this model, over {over_tests.n_sentences:,} test sentences"),
        [
            ("where a sentence ends", best("encoder", "eos")),
            ("the word before", best("encoder", "previous")),
            ("the word after", best("encoder", "next")),
            ("the word to translate", best("cross", "aligned")),
            ("what a pronoun stands for", "Not counted here: the lesson Self-attention tries it."),
            ("parts of speech", f"{parts}. {tagged['sentences']:,} other sentences, with marks: {tagged['source']}."),
            ("meaning, comparisons, context", "Not measured: no sentences here have such marks."),
        ],
    )
    st.caption("In each row the head with the largest share. A share says where a head looks, not what it understands.")


def _best(shares: Mapping[str, Mapping[str, float]], share: str, equal: float, on: str) -> str:
    """Which head has the largest share, and what equal weights would give."""
    head = max(shares, key=lambda name: shares[name][share])
    value = number(shares[head][share], 2)
    return f"{name_of(Head.parse(head))}: {value} of its weight on {on} (equal weights: {number(equal, 2)})"


@functools.cache
def parts_of_speech() -> dict[str, Any]:
    """What `training.measure.parts_of_speech` measured. Raises: CheckpointError"""
    file = SHIPPED / FILE
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        if found["model"]["sha256"] != head_roles.fingerprint(SHIPPED / WEIGHTS):
            raise ValueError("it was measured with other weights: run python -m training.measure.parts_of_speech")
        return {name: found[name] for name in ("sentences", "uniform", "shares")} | {"source": found["data"]["source"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise broken(file, error) from error
