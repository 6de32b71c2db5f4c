"""Lesson: a sentence asks itself. Every encoder head's map, what it shows, and what it does not prove."""

import itertools
import re
from collections.abc import Sequence

import numpy as np
import streamlit as st

from experiments.contextual_vectors import MONEY, RIVER, alike, vectors
from figures.grouping import Group, grouped
from model.attention import MultiHeadAttention
from model.interventions import Head, Interventions
from model.layers import EncoderLayer
from model.trace import Array, Trace
from ui import engine
from ui.components.head_grid import head_grid
from ui.components.matrix import Caption, Labels, Scale, matrix
from ui.controls.address import write_pair
from ui.controls.head_control import HeadControl
from ui.controls.piece_control import choose_part
from ui.controls.segmented import one_of
from ui.course.check import check_cell, checked_matrix
from ui.course.lesson import Lesson
from ui.course.quiz import Question, which_piece
from ui.course.sentence import KEY as SENTENCE
from ui.text import in_markdown, number
from ui.views.attention_kinds import KINDS, READABLE, all_weights, groups_of
from ui.views.before_after import before_after, heads_before_after
from ui.views.tables import numbers_of_figure, table

KIND = "encoder"
WIDE = "The animal didn't cross the street because it was too wide."
TIRED = "The animal didn't cross the street because it was too tired."
MONEYS = (MONEY, "The bank is closed today.")
RIVERS = (RIVER, "The bank of the river was steep.")


def chosen_head(trace: Trace) -> Head:
    return HeadControl((KIND,), KIND).value(trace.model)


def idea(trace: Trace) -> None:
    st.markdown(
        "In *self*-attention a sentence asks itself: :blue[**queries**], :orange[**keys**] and :green[**values**] are "
        "all made from the same vectors X. So every piece may look at every piece, itself too, in one step and at any "
        "distance, and its new vector carries something of what it looked at. X times a matrix is all it takes:"
    )
    st.latex(
        r"\operatorname{SelfAttention}(X)=\operatorname{softmax}\!\left("
        r"\frac{XW^Q\,(XW^K)^{\mathsf T}}{\sqrt{d_k}}\right)XW^V"
    )


def _choose(chosen: tuple[int, int]) -> None:
    """A click in the overview sets the same controls as a click on them."""
    st.session_state["layer"], st.session_state["head"] = chosen[0] + 1, chosen[1] + 1


def row_of(trace: Trace, text: str, head: Head) -> tuple[int, int] | None:
    """The row of a word in a head's map and the column with its largest weight; None if there is no such word."""
    row = next((i for i, token in enumerate(trace.src[:READABLE]) if token.text == text), None)
    if row is None:
        return None
    return row, int(trace.attention(KIND, head.layer)[head.head, row, :READABLE].argmax())


def largest(trace: Trace, maps: Array, layer: int, head: int) -> tuple[str, ...]:
    """The largest weight in one of the maps (L,H,S,S): layer, head, weight, and the pieces that it is from and to."""
    cell = divmod(int(maps[layer, head].argmax()), maps.shape[-1])
    pieces = [f"{at + 1} {trace.src[at].text}" for at in cell]
    return str(layer + 1), str(head + 1), number(float(maps[layer, head][cell]), 2), *pieces


def choose(trace: Trace) -> None:
    left, right = st.columns([1.15, 1], gap="large")
    with right:
        head = HeadControl((KIND,), KIND).draw(trace.model)
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


def see(trace: Trace) -> None:
    head = chosen_head(trace)
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


def do(trace: Trace) -> None:
    trials = {"Hide a piece": block, "What “it” means": what_it_looks_at, "Two meanings of “bank”": two_banks}
    trials[one_of("Try", list(trials), key="self_trial", wrap=True)](trace)


def block(trace: Trace) -> None:
    """Hide one piece from every row, before and after."""
    st.markdown(
        "Hide a piece: nobody may look at it any more, in no layer, neither encoder nor decoder. Its share goes to the "
        "others, and the translation has to do without it."
    )
    texts = [token.text for token in trace.src]
    piece = choose_part("Piece to hide", texts, min(1, len(texts) - 2), trace.text)
    head = chosen_head(trace)
    after = engine.trace(trace.text, interventions=Interventions(blocked=(piece,)))
    heads_before_after(
        (trace, after),
        ("Before: every piece may be seen", f"After: piece {piece + 1} is hidden"),
        KIND,
        head.layer,
        head.head,
    )
    share = float(trace.attention(KIND, head.layer)[head.head][:, piece].mean())
    st.markdown(
        f"Translation before: **{in_markdown(trace.translation) or '(nothing)'}** "
        f"Without {in_markdown(trace.src[piece].text)}: **{in_markdown(after.translation) or '(nothing)'}**"
    )
    st.caption(
        f"Before, **{in_markdown(trace.src[piece].text)}** got {number(share)} of a row on average in this head; now "
        "0. It still asks (its row is there), but nobody hears what it would answer."
    )


def word(trace: Trace, text: str) -> Group:
    """The first piece or pieces that make up this word of the source."""
    return next(group for group in groups_of(trace.src, by_word=True) if group.label == text)


def shares_of_it(sentence: str, *others: str) -> list[Array]:
    """Weights (L,H) from “it” to each of these words of a sentence."""
    trace = engine.trace(sentence)
    found = grouped(all_weights(trace, KIND), [word(trace, "it")], [word(trace, other) for other in others])
    return [found[..., 0, j] for j in range(len(others))]


def look(sentence: str, at: str) -> None:
    """A button that puts a sentence into the bar and chooses the row of a word."""

    def put() -> None:
        st.session_state[SENTENCE] = sentence
        one = engine.trace(sentence)
        write_pair("cell", row_of(one, at, chosen_head(one)))

    if st.button(f"Look at “{at}” under See", key=f"look_{at}", on_click=put):
        st.rerun()  # the whole page: the sentence bar too


def what_it_looks_at(trace: Trace) -> None:
    """Where “it” looks when it is the street, and when it is the animal."""
    st.markdown(
        f"*{WIDE}* Streets are wide, so *it* is the street. Write *tired* in place of *wide*, and *it* is the animal. "
        "Books like to show a head that has understood this: its weight moves from one word to the other. Does it "
        "here? This model is small and learned from short everyday sentences."
    )
    noun = one_of("From “it” to", ["street", "animal"], key="noun")
    shares = {sentence: shares_of_it(sentence, "street", "animal", "it") for sentence in (WIDE, TIRED)}
    of_noun = [found[("street", "animal").index(noun)] for found in shares.values()]
    layers, heads = of_noun[0].shape
    before_after(
        (of_noun[0], of_noun[1]),
        ("… because it was too wide", "… because it was too tired"),
        Labels(
            [f"layer {n + 1}" for n in range(layers)],
            [f"head {n + 1}" for n in range(heads)],
            describe=f"{{row}}, {{column}}: “it” gives “{noun}” {{value}}",
        ),
        how_to_read=f"The weight that “it” gives to “{noun}” in every head, 0 to 1 on both sides.",
        csv_name=f"it to {noun}",
    )
    table(
        (f"“it” gives, on average over {layers * heads} heads", "to “street”", "to “animal”", "to itself"),
        [(f"too {end}", *(number(float(share.mean()), 3) for share in found))
         for end, found in zip(("wide", "tired"), shares.values(), strict=True)],
    )  # fmt: skip
    st.markdown(verdict([(float(street.mean()), float(animal.mean())) for street, animal, _ in shares.values()]))
    st.markdown(german_of_it())
    st.markdown(
        "**Attention is not an explanation.** A weight says how much of a value flows in here, in this head of this "
        "layer. It does not say why, nor what becomes of it: by the second layer each vector already holds something "
        "of the others. To learn what matters, change something and look at the result, as you did here with one word."
    )
    look(WIDE, "it")


def verdict(averages: Sequence[tuple[float, float]]) -> str:
    """What the averages for street and animal, with wide and with tired, say about the meaning of “it”."""
    winners = ["street" if street > animal else "animal" for street, animal in averages]
    match winners:
        case ["street", "animal"]:
            return (
                "The larger share **changes over with the meaning**, from the street to the animal. Whether that is "
                "understanding, the weights do not say."
            )
        case [one, other] if one == other:
            return (
                f"The {one} gets more **both times**, though the meaning has changed: **the weights do not follow "
                "it**. A single picture of the first sentence might have looked like understanding."
            )
        case _:
            return "The larger share changes over **the wrong way round**: the weights do not follow the meaning."


def german_of_it() -> str:
    """Which pronoun the two translations use, and whether it is the right one."""
    texts = [engine.trace(sentence).translation for sentence in (WIDE, TIRED)]
    right = [bool(re.search(rf"\b{pronoun}\b", text)) for pronoun, text in zip(("sie", "es"), texts, strict=True)]
    return (
        "The German tells on it: *sie* is the street (die Straße), *es* is the animal (das Tier). "
        f"With *wide* the model writes: **{in_markdown(texts[0])}** With *tired*: **{in_markdown(texts[1])}** "
        + {
            (True, True): "Right both times.",
            (False, True): "Right with *tired*, wrong with *wide*.",
            (True, False): "Right with *wide*, wrong with *tired*.",
            (False, False): "Wrong both times.",
        }[right[0], right[1]]
    )


def vectors_of_bank(sentence: str) -> Array:
    """The vector of “bank” (stages, d_model) before the first layer and after each."""
    trace = engine.trace(sentence)
    looked_up, _with_position, *after_layers = vectors(trace, word(trace, "bank").pieces)
    return np.stack([looked_up, *after_layers])


def two_banks(trace: Trace) -> None:
    """The vector of “bank” in four sentences, layer by layer: how alike within a meaning, and across meanings."""
    st.markdown(
        f"The bank for money: *{MONEYS[0]}* *{MONEYS[1]}* The bank of a river: *{RIVERS[0]}* *{RIVERS[1]}* All four "
        "begin with the same row of the embedding matrix. Then self-attention mixes in the neighbours. Do the two "
        "meanings come apart?"
    )
    money, river = ([vectors_of_bank(sentence) for sentence in pair] for pair in (MONEYS, RIVERS))
    pairs = {
        "same meaning": [(money[0], money[1]), (river[0], river[1])],
        "other meaning": list(itertools.product(money, river)),
    }
    cosines = np.array([np.mean([alike(one, two) for one, two in of], axis=0) for of in pairs.values()])
    matrix(
        cosines,
        Labels(
            list(pairs),
            ["embedding", *(f"after layer {n}" for n in range(1, cosines.shape[1]))],
            describe="{row}, {column}: {value}",
        ),
        Caption(
            "How alike the vectors of “bank” are",
            "Cosine of the angle between two of them, averaged over the pairs: 1 is the same direction, 0 is a "
            "right angle.",
            csv_name="cosines of bank",
        ),
        key="banks",
        scale=Scale("signed", limit=1.0),
    )
    same, other = (float(row[-1]) for row in cosines)
    st.markdown(
        f"After the last layer the cosine is {number(same, 2)} where the meaning is the same and {number(other, 2)} "
        "where it is not. "
        + (
            "The vectors move apart because the sentences differ, hardly because the meanings do: this model **barely "
            "tells the two banks apart**."
            if same - other < 0.1
            else "The meanings **come apart**: the vector of a word depends on its sentence."
        )
    )
    texts = [engine.trace(sentence).translation for sentence in (MONEY, RIVER)]
    st.markdown(
        f"In German the money goes to *die Bank*, a river has *das Ufer*. The model writes: "
        f"**{in_markdown(texts[0])}** and **{in_markdown(texts[1])}** "
        + (
            "It knows both."
            if "Bank" in texts[0] and "Ufer" in texts[1]
            else "It takes the river for a bank too (*Bank* is also a bench): it has met too few river banks."
            if "Bank" in texts[0] and "Bank" in texts[1]
            else "That is not what a person would write."
        )
    )
    look(RIVER, "bank")


def predict(trace: Trace) -> Sequence[Question]:
    head = chosen_head(trace)
    weights = trace.attention(KIND, head.layer)  # (H,S,S)
    first = weights[head.head, 0]
    own = weights.diagonal(axis1=1, axis2=2).mean(-1)
    animal, street = shares_of_it(WIDE, "animal", "street")
    more, n_heads = int((animal > street).sum()), animal.size
    return (
        which_piece(
            "first",
            f"In layer {head.layer + 1}, head {head.head + 1}: what does the first piece, "
            f"**{in_markdown(trace.src[0].text)}**, look at most?",
            first,
            trace.src,
            f"It gives it {number(float(first.max()))} of its attention. Choose the cell in *See* to work it out.",
        ),
        Question(
            "itself",
            f"In which head of layer {head.layer + 1} do the pieces look most at themselves?",
            tuple(f"head {h + 1}" for h in range(len(own))),
            frozenset({int(own.argmax())}),
            "That is the diagonal of a map. Averaged over the rows it is "
            + ", ".join(f"{number(float(share))} in head {h + 1}" for h, share in enumerate(own))
            + ".",
        ),
        Question(
            "coreference",
            f"*{WIDE}* In how many of the {n_heads} heads does *it* give the animal more than the street?",
            ("in none", "in some, but fewer than half", "in half of them or more"),
            frozenset({0 if more == 0 else 1 if 2 * more < n_heads else 2}),
            f"In {more} of {n_heads}. Before you call that understanding, write *tired* in place of *wide* and see "
            "whether the weights follow: it is one of the trials under *Do*.",
        ),
    )


LESSON = Lesson(
    "self-attention",
    "Self-attention",
    asks="What happens when a sentence looks at itself?",
    idea=idea,
    controls=choose,
    see=see,
    do=do,
    check=check_cell,
    predict=predict,
    code=(EncoderLayer.forward, MultiHeadAttention.forward),
    blocks=("encoder.self_attn",),
)
