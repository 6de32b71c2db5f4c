"""Lesson: several heads side by side, what each of them does, and what becomes of the translation without some."""

from collections.abc import Mapping, Sequence

import numpy as np
import streamlit as st

from experiments.head_roles import (
    ABOVE_UNIFORM,
    MOSTLY,
    NOTICEABLE,
    PARTLY,
    aligned_words,
    log_probabilities_without,
    places,
    role,
    shares,
)
from model.attention import MultiHeadAttention
from model.interventions import Head
from model.tokenizer import EOS, SOS
from model.trace import Trace
from pages.attention.multi_head.cost import cost, learned, multiplications
from pages.attention.multi_head.measures import change_without, layer_of, measured, roles_here, shares_here
from pages.attention.multi_head.ranking import ranking
from pages.attention.multi_head.switching import switch_off
from ui import engine
from ui.components.head_grid import head_grid
from ui.components.matrix import Caption, Labels, matrix
from ui.controls.head_control import HEAD
from ui.controls.segmented import one_of
from ui.course.check import Part, check_cell, checked_matrix
from ui.course.lesson import Lesson
from ui.course.quiz import Question
from ui.text import in_markdown, number
from ui.views.attention_kinds import KINDS, READABLE
from ui.views.head_names import name_of, where
from ui.views.tables import table

STAGES = EACH, SIDE_BY_SIDE, MIXED = "1 each head", "2 side by side", "3 after W^O"
WINDOW = 16  # dimensions of each head that are shown at once, side by side
MIXED_COLUMNS = 64  # of the d_model after W^O, as many as are shown

MEANING = {
    "encoder": "*previous*, *itself* and *next* are the pieces before, at and after the row's own place.",
    "decoder": "A row has just read its piece and is about to write the next one: *itself* is the piece just read, "
    "*previous* the one before it. There is no *next*, because the causal mask hides it.",
    "cross": "A row is a German piece about to be written, and *aligned* is the English word behind it: the word "
    "without which its probability falls most (each word is hidden in turn, from everybody, and the probability is "
    "computed again). *before* and *after* are the English words next to that one; *read* is the word behind the "
    f"piece in the row above, which was written and read last. A piece that loses less than {NOTICEABLE:.0%} of its "
    "probability whatever word is hidden is aligned to none, and counts as 0.",
}


def idea(trace: Trace) -> None:
    config = engine.model().config
    n_heads, d_k, d_model = config.n_heads, config.d_k, config.d_model
    st.markdown(
        "One softmax gives one mix, but a piece may need several things at once: the word before it, the verb it "
        f"belongs to, the end of the sentence. So a layer has h = {n_heads} **heads**. Each has its own "
        ":blue[$W^Q$], :orange[$W^K$] and :green[$W^V$], which make vectors of only $d_k = d_{model} / h$ = "
        f"{d_model} / {n_heads} = {d_k} numbers; each looks in its own way and takes away its own result. Side by side "
        f"the results are {d_model} numbers wide again, and one more learned matrix, $W^O$, mixes them."
    )
    st.latex(r"\mathrm{head}_i=\operatorname{Attention}(XW_i^Q,\,XW_i^K,\,XW_i^V)")
    st.latex(r"\operatorname{MultiHead}(X)=\operatorname{Concat}(\mathrm{head}_1,\dots,\mathrm{head}_h)\,W^O")
    st.caption(
        "X holds the vectors that come in, one row for each piece. In encoder-decoder attention the decoder's X makes "
        "the queries alone; keys and values are made from what the encoder gave out."
    )


# --- See -----------------------------------------------------------------------------------------------------------


def choose(trace: Trace) -> None:
    HEAD.draw(trace.model)
    one_of("Step", STAGES, key="heads_stage", wrap=True, width="content")


def see(trace: Trace) -> None:
    head, stage = HEAD.value(trace.model), st.session_state["heads_stage"]
    {EACH: each_head, SIDE_BY_SIDE: side_by_side, MIXED: mixed}[stage](trace, head)
    n_heads, t, d_k = trace.attention(head.attention, head.layer, "q").shape
    d_model = n_heads * d_k
    st.caption(
        f"Shapes: {n_heads} heads of ({t}, {d_k}); side by side ({t}, {d_model}); times $W^O$ ({d_model}, {d_model}) "
        f"again ({t}, {d_model})."
    )


def each_head(trace: Trace, head: Head) -> None:
    """The heads of the layer side by side, one of them large, and what each of them does."""
    with st.spinner("Hiding each English word in turn, to find the one behind each German piece"):
        roles = roles_here(trace, head.attention, head.layer)

    def enlarge(chosen: tuple[int, int]) -> None:
        st.session_state["head"] = chosen[1] + 1

    head_grid(
        trace.attention(head.attention, head.layer)[None, :, :READABLE, :READABLE],
        key="layer_heads",
        selected=(0, head.head),
        title=f"All heads of the {where(head)}: click one to see it large",
        row_label="",
        mean=False,
        captions=[roles],
        on_select=enlarge,
    )
    checked_matrix(
        trace,
        f"{trace.path(head)}.weights",
        Caption(f"{KINDS[head.attention].title} ({name_of(head)})", KINDS[head.attention].how_to_read),
        head=head.head,
    )
    what_they_do(trace, head, roles)


def what_they_do(trace: Trace, head: Head, roles: Sequence[str]) -> None:
    """The labels of the layer's heads on this sentence and over the test set, and the shares that they come from."""
    found, problem = measured(trace.model)
    of_layer = layer_of(trace, head)
    lines = [[str(n + 1), role_here] for n, role_here in enumerate(roles)]
    titles = ["head", "on this sentence"]
    if found:
        titles.append(f"over {found.n_sentences:,} test sentences")
        lines = [[*line, found.role(one)] for line, one in zip(lines, of_layer, strict=True)]
    st.markdown("**What each head does, measured**")
    table(titles, lines)
    if problem:
        st.caption(in_markdown(f"What the heads do over the test sentences cannot be shown. {problem}"))
    with st.expander("The shares that these labels come from"):
        here, equal = shares_here(trace, head.attention, head.layer)
        share_table("Shares on this sentence", [*here, equal], head, "here")
        if found:
            share_table(
                f"Shares over {found.n_sentences:,} test sentences",
                [*(found.shares[str(one)] for one in of_layer), found.baselines[head.attention]],
                head,
                "measured",
            )
        st.markdown(
            "A share is how much of its weight a head gives to certain pieces, averaged over the rows of its map; a "
            f"row that has no such piece counts as 0. {MEANING[head.attention]} Shares overlap, so they need not add "
            "up to 1."
        )
        st.markdown(
            f"A head is called *mostly* what its largest share says from {MOSTLY} on and *partly* from {PARTLY}, if "
            f"that is at least {ABOVE_UNIFORM} times what equal weights would give. All others are *spread out*."
        )
        if found:
            st.caption(
                f"Test sentences: the English of {in_markdown(found.file)}, each with the model's own translation. "
                f"{in_markdown(found.source)}."
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


def side_by_side(trace: Trace, head: Head) -> None:
    """The concatenation, some dimensions of every head at a time."""
    n_heads, _, d_k = trace.attention(head.attention, head.layer, "q").shape
    firsts = range(0, d_k, WINDOW)
    windows = [f"{first + 1}–{min(first + WINDOW, d_k)}" for first in firsts]
    first = firsts[windows.index(one_of("Dimensions of each head", windows, key="window", wrap=True))]
    inside = range(first, min(first + WINDOW, d_k))
    columns = [n * d_k + dimension for n in range(n_heads) for dimension in inside]
    concat = trace.tensors[f"{trace.path(head)}.concat"]
    # Until a cell is chosen: the largest of the chosen head.
    own = np.abs(concat[:READABLE, head.head * d_k + first :][:, : len(inside)])
    row, column = divmod(int(own.argmax()), len(inside))
    checked_matrix(
        trace,
        f"{trace.path(head)}.concat",
        Caption(
            f"The heads' results side by side ({where(head)})",
            "A row is one piece. Lines divide the heads: what one head took away stands between two of them.",
        ),
        labels=Labels(
            columns=[f"head {j // d_k + 1}: {j % d_k + 1}" for j in columns],
            describe="“{row}”, {column}: {value}",
            group=len(inside),
        ),
        part=Part(columns=columns),
        start=(row, head.head * len(inside) + column),
    )
    if len(concat) > READABLE:
        st.caption(f"The first {READABLE} of {len(concat)} pieces.")


def mixed(trace: Trace, head: Head) -> None:
    """What W^O makes of the concatenation."""
    checked_matrix(
        trace,
        f"{trace.path(head)}.output",
        Caption(
            f"After W^O ({where(head)})",
            "A row is one piece. Every number is mixed from all heads, so no column belongs to one of them.",
        ),
        labels=Labels(describe="“{row}”, dimension {column}: {value}"),
        part=Part(n_columns=MIXED_COLUMNS),
    )


# --- Do ------------------------------------------------------------------------------------------------------------


def do(trace: Trace) -> None:
    trials = {"Switch heads off": switch_off, "Which head matters most": ranking, "Count the cost": cost}
    trials[one_of("Try", list(trials), key="heads_trial", wrap=True)](trace)


# --- Predict -------------------------------------------------------------------------------------------------------


def predict(trace: Trace) -> Sequence[Question]:
    head = HEAD.value(trace.model)
    return previous(trace, head.layer), more(trace), matters(trace, head)


def previous(trace: Trace, layer: int) -> Question:
    """Which head of an encoder layer looks most at the piece before."""
    heads, _ = shares_here(trace, "encoder", layer)
    found = {f"head {n + 1}": share["previous"] for n, share in enumerate(heads)}
    return Question(
        "previous",
        f"In layer {layer + 1} of the encoder, on this sentence: which head gives most of its weight to the piece just "
        "before?",
        tuple(found),
        frozenset({int(np.argmax(list(found.values())))}),
        "Averaged over the rows it is "
        + ", ".join(f"{number(share)} in {name}" for name, share in found.items())
        + ". In a map that is the line just below the diagonal.",
    )


def more(trace: Trace) -> Question:
    """What twice as many heads would cost in the encoder."""
    config, t = engine.model().config, len(trace.src)
    n_heads, d_k, d_model = config.n_heads, config.d_k, config.d_model
    to_learn = [learned(d_model, h) for h in (n_heads, 2 * n_heads)]
    totals = [sum(multiplications(t, t, d_model, h).values()) for h in (n_heads, 2 * n_heads)]
    by = to_learn[1] / to_learn[0], totals[1] / totals[0]
    return Question(
        "more",
        f"We give a layer {2 * n_heads} heads of {d_k // 2} instead of {n_heads} of {d_k}. What becomes of the numbers "
        "it has to learn, and of its multiplications?",
        ("Both double.", "Both stay the same.", "Both halve.", "The learned numbers stay, the work doubles."),
        frozenset({{(2, 2): 0, (1, 1): 1, (0.5, 0.5): 2, (1, 2): 3}[by]}),
        f"It learns {to_learn[0]:,} numbers before and {to_learn[1]:,} after, and multiplies {totals[0]:,} times "
        f"before and {totals[1]:,} after (in the encoder, on your sentence). Twice as many heads are half as wide.",
    )


def matters(trace: Trace, head: Head) -> Question:
    """Which head of a layer the translation needs most."""
    changes = change_without(trace, layer_of(trace, head))
    names = tuple(f"head {n + 1}" for n in range(len(changes)))
    return Question(
        "matters",
        f"The {where(head)}: without which of its heads does the translation of this sentence become least likely?",
        names,
        frozenset({int(changes.argmin())}),
        "Its log-probability changes by "
        + ", ".join(f"{number(float(c), 3)} without {name}" for c, name in zip(changes, names, strict=True))
        + ". Large shares on one place are no sure sign of importance: compare with the labels above.",
    )


LESSON = Lesson(
    "multi-head",
    "Multi-head attention",
    asks="Why several heads, and what does each of them do?",
    idea=idea,
    controls=choose,
    see=see,
    do=do,
    check=check_cell,
    predict=predict,
    code=(MultiHeadAttention, shares, places, role, aligned_words, log_probabilities_without),
    lit=("encoder.self_attn", "decoder.self_attn", "decoder.cross_attn"),
)
