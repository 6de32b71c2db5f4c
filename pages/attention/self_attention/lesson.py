"""The parts of the lesson on self-attention."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from model.files.loaded_model import Array
from model.interventions import Head, Interventions
from model.parts.attention import MultiHeadAttention
from model.parts.layers import EncoderLayer
from model.text.tokenizer import EOS_ID
from model.trace import Trace
from pages.attention.self_attention.banks import two_banks
from pages.attention.self_attention.coreference import WIDE, what_it_looks_at
from pages.attention.self_attention.others import HEAD, KIND, of_same_model, row_of, shares_of_it
from pages.attention.self_attention.three_attentions import three_attentions
from ui import engine
from ui.components.head_grid import head_grid
from ui.components.matrix import Caption
from ui.controls.control import Choice
from ui.controls.piece_control import choose_part
from ui.course.check import Shown, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question, which_piece
from ui.text import in_markdown, number
from ui.views.attention_kinds import KINDS, READABLE, all_weights
from ui.views.before_after import heads_before_after
from ui.views.charts.tables import numbers_of_figure, table


def idea(trace: Trace) -> None:
    st.markdown(
        "In *self*-attention a sentence asks itself. Each piece has a :blue[**query**], which says what it looks for, "
        "a :orange[**key**], by which it is found, and a :green[**value**], which it hands over. All are made from the "
        "same X, the vectors of the sentence's own pieces. Every piece may look at every piece, itself too, in one "
        "step and at any distance. Put together:"
    )
    st.latex(r"\operatorname{softmax}\!\left(\frac{XW^Q\,(XW^K)^{\mathsf T}}{\sqrt{d_k}}\right)XW^V")
    with st.expander("The attentions of this model, side by side"):
        three_attentions(trace)
        st.caption("A recurrent network has none of these: it hands on what it has read from piece to piece.")


def _choose(chosen: tuple[int, int]) -> None:
    """A click in the overview sets the same controls as a click on them."""
    st.session_state["layer"], st.session_state["head"] = chosen[0] + 1, chosen[1] + 1


def largest(trace: Trace, maps: Array, layer: int, head: int) -> tuple[str, ...]:
    """The largest weight in one of the maps (L,H,S,S): layer, head, weight, and the pieces that it is from and to."""
    cell = divmod(int(maps[layer, head].argmax()), maps.shape[-1])
    pieces = [f"{at + 1} {trace.src[at].text}" for at in cell]
    return str(layer + 1), str(head + 1), number(float(maps[layer, head][cell]), 2), *pieces


def choose(trace: Trace) -> None:
    left, right = st.columns([1.15, 1], gap="large")
    with right:
        head = HEAD.draw(trace.model)
    maps = all_weights(trace, KIND)[:, :, :READABLE, :READABLE]
    with left:
        head_grid(
            maps,
            key="encoder_heads",
            selected=(head.layer, head.head),
            title="Every layer and head at a glance: click one to see it large",
            mean=False,
            on_select=_choose,
        )
    with right:
        numbers_of_figure(
            ("layer", "head", "largest weight", "from", "to"),
            [largest(trace, maps, layer, n) for layer, n in np.ndindex(*maps.shape[:2])],
        )


def see(trace: Trace) -> Shown:
    head = HEAD.value(trace.model)
    shown = checked_matrix(
        trace,
        f"{trace.path(head)}.weights",
        Caption(f"{KINDS[KIND].title} (layer {head.layer + 1}, head {head.head + 1})", KINDS[KIND].how_to_read),
        head=head.head,
        start=row_of(trace, "it", head),
    )
    row = shown.cell[0]
    weights = trace.attention(KIND, head.layer)[head.head][row]
    best = np.argsort(-weights, kind="stable")[:3]
    looked = ", ".join(
        f"**{in_markdown(trace.src[j].text)}** (piece {j + 1}) {number(float(weights[j]), 2)}" for j in best
    )
    st.markdown(
        f"The chosen row is piece {row + 1}, **{in_markdown(trace.src[row].text)}**. It looks most at: {looked}. "
        "What is left goes to the others."
        if len(weights) > len(best)
        else f"The chosen row is piece {row + 1}, **{in_markdown(trace.src[row].text)}**. It looks at: {looked}."
    )
    averages = all_weights(trace, KIND).mean(2)  # (L,H,S)
    n_eos = int((averages.argmax(-1) == len(trace.src) - 1).sum())
    if trace.src[-1].id == EOS_ID and n_eos:
        st.caption(
            in_markdown(
                f"Averaged over all rows, <eos>, the end sign, gets most from {n_eos} of {averages[..., 0].size} "
                "heads. Does the model need it? Hide it under Do, and see what becomes of your translation."
            )
        )
    return shown


def do(trace: Trace) -> None:
    TRIALS[TRIAL.draw()](trace)


def block(trace: Trace) -> None:
    """Hide one piece from every row, before and after."""
    st.markdown(
        "Hide a piece: none may look at it any more, in any layer of the encoder or the decoder. Its share goes to the "
        "others, and the translation has to do without it."
    )
    texts = [token.text for token in trace.src]
    piece = choose_part("Piece to hide", texts, min(1, len(texts) - 2), trace.text)
    head = HEAD.value(trace.model)
    after = engine.retrace(trace, interventions=Interventions(blocked=(piece,)))
    table(
        ("", "translation"),
        [
            ("every piece may be seen", trace.translation or "(nothing)"),
            (f"without piece {piece + 1}, {texts[piece]}", after.translation or "(nothing)"),
        ],
    )
    heads_before_after(
        (trace, after),
        ("Before: every piece may be seen", f"After: piece {piece + 1} is hidden"),
        KIND,
        head.layer,
        head.head,
    )
    share = float(trace.attention(KIND, head.layer)[head.head][:, piece].mean())
    st.caption(
        f"Before, **{in_markdown(texts[piece])}** got {number(share)} of a row on average in this head; now 0. It "
        "still has a row of its own, and looks at the others."
    )


TRIALS = {"Hide a piece": block, "What “it” means": what_it_looks_at, "Two meanings of “bank”": two_banks}
TRIAL = Choice("Try", "self_trial", tuple(TRIALS))


def predict(trace: Trace) -> Sequence[Question]:
    head = HEAD.value(trace.model)
    return first_piece(trace, head), at_itself(trace, head), coreference(trace)


def first_piece(trace: Trace, head: Head) -> Question:
    """What the first piece looks at most."""
    first = trace.attention(KIND, head.layer)[head.head, 0]
    return which_piece(
        "first",
        f"In layer {head.layer + 1}, head {head.head + 1}: what does the first piece, "
        f"**{in_markdown(trace.src[0].text)}**, look at most?",
        first,
        trace.src,
        f"It gives it {number(float(first.max()))} of its attention. Choose the cell in *See* to work it out.",
    )


def at_itself(trace: Trace, head: Head) -> Question:
    """In which head the pieces look most at themselves."""
    own = trace.attention(KIND, head.layer).diagonal(axis1=1, axis2=2).mean(-1)
    most = int(own.argmax())
    return Question(
        "itself",
        f"In which head of layer {head.layer + 1} do the pieces look most at themselves, on average?",
        tuple(f"head {h + 1}" for h in range(len(own))),
        frozenset({most}),
        f"That is the diagonal of a map. On average it is {number(float(own[most]))} in head {most + 1}.",
        wrong={h: f"In head {h + 1} it is {number(float(w))}." for h, w in enumerate(own) if h != most},
    )


def coreference(trace: Trace) -> Question:
    """In how many heads “it” prefers the animal to the street."""
    animal, street = shares_of_it(of_same_model(trace, WIDE), "animal", "street")
    more, n_heads = int((animal > street).sum()), animal.size
    right = 0 if more == 0 else 1 if 2 * more < n_heads else 2
    wrong = ("Some do.", f"It is {more}.", "They are fewer.")
    return Question(
        "coreference",
        f"*{WIDE}* In how many of the {n_heads} heads does *it* give the animal more than the street?",
        ("in none", "in some, but fewer than half", "in half of them or more"),
        frozenset({right}),
        f"In {more} of {n_heads}. Before you call that understanding, write *tired* in place of *wide* and see "
        "whether the weights follow: it is one of the trials under *Do*.",
        wrong={n: text for n, text in enumerate(wrong) if n != right},
    )


LESSON = Lesson(
    "self-attention",
    "Self-attention",
    asks="What happens when a sentence looks at itself?",
    idea=idea,
    predict=predict,
    bench=Bench(controls=choose, see=see, check=check_cell, do=do),
    code=(EncoderLayer.forward, MultiHeadAttention.forward),
    on_map=OnMap(opens=("encoder.self_attn",), near="mix"),
)
