"""Lesson: the whole stack, in which a word's vector becomes that of a word in its sentence."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from experiments.contextual_vectors import (
    MONEY,
    RIVER,
    SPORT,
    THEATRE,
    Shared,
    alike,
    different_words,
    everyday_words,
    partner,
    shared_words,
    stages,
    travelled,
    vectors,
)
from experiments.passes import Ids
from figures.embedding_space import cosines
from model.layers import EncoderLayer
from model.stacks import Encoder
from model.trace import EmptySentenceError, Trace
from ui import engine
from ui.components.matrix import Caption, Labels, Scale, matrix
from ui.controls.address import read_pair, write_pair
from ui.controls.segmented import one_of
from ui.course.check import check_cell, checked_matrix
from ui.course.lesson import Lesson
from ui.course.notices import MAX_CHARS, cut_notice
from ui.course.quiz import Question
from ui.course.sentence import KEY as SENTENCE
from ui.text import in_markdown, number, visible
from ui.views.attention_kinds import READABLE
from ui.views.before_after import before_after
from ui.views.column_chart import Series, column_chart

SECOND = "second"  # of the second sentence's box, and of its parameter in the address
MANY = 12  # shared words that are shown
NEARLY_THE_SAME = 0.8  # a cosine above which two vectors are called so
MOVED = 1e-3  # the share of its length by which a row must move to count as moved


def idea(trace: Trace) -> None:
    n = len(trace.model.anatomy.stacks[-1].layers)
    st.markdown(
        f"The encoder is one layer after another, {n} here: self-attention, Add & Norm, feed-forward, Add & Norm, and "
        "again with weights of their own. A word starts with a vector from the look-up, which is the same in every "
        "sentence. In each layer every position sees **all** positions, before and after, and takes something of them "
        "in. What leaves the top, the *memory* that the decoder reads, stands for the word **in this sentence**: a "
        "*contextual representation*."
    )
    st.latex(
        r"\begin{gathered}X^{(0)}=\text{embedding}+\text{positions}\\"
        rf"X^{{(n)}}=\operatorname{{EncoderLayer}}_n\!\left(X^{{(n-1)}}\right),\quad n=1\dots {n}\end{{gathered}}"
    )


def see(trace: Trace) -> None:
    names = dict(list(stages(trace.model).items())[1:])
    labels = {"into the stack" if label == "with position" else label: name for label, name in names.items()}
    stage = one_of("Stage", list(labels), key="encoder_stage", default=list(labels)[-1], wrap=True)
    d_model = engine.model().config.d_model
    checked_matrix(
        trace,
        labels[stage],
        Caption(
            f"The rows {stage}", f"One row a piece, {d_model} dimensions: the layers change the numbers, not the shape."
        ),
        labels=Labels(describe="“{row}”, dimension {column}: {value}"),
    )
    first, *above = (trace.tensors[name][:READABLE] for name in labels.values())
    left = np.stack([cosines(first, rows).diagonal() for rows in above], axis=1)
    matrix(
        left,
        Labels([token.text for token in trace.src[:READABLE]], list(labels)[1:], describe="“{row}” {column}: {value}"),
        Caption(
            "How much of its start is left in each piece",
            "Cosine of a row with the row that went into the stack: 1 the same direction, 0 nothing in common.",
            csv_name="cosine with the start",
        ),
        key="see_start",
        scale=Scale("signed", limit=1.0),
    )
    st.caption(
        f"Shapes: ({len(trace.src)}, {d_model}) at every stage. After the last layer the mean cosine with the start is "
        f"**{number(float(left[:, -1].mean()), 2)}**."
    )


def do(trace: Trace) -> None:
    two_sentences(trace)
    st.subheader("How far does a change travel?", anchor=False)
    change_a_piece(trace)


def second_trace(trace: Trace) -> Trace:
    """The trace of the sentence in the second box, or of one chosen for the learner's."""
    typed = st.session_state.get(SECOND) or st.query_params.get(SECOND, "")
    try:
        return engine.trace(typed[:MAX_CHARS])
    except EmptySentenceError:
        return engine.trace(partner(trace))


def two_sentences(trace: Trace) -> None:
    """The words that two sentences share, on their way up."""
    st.subheader("One word in two sentences", anchor=False)
    st.text_input(
        "A second sentence that shares a word with yours",
        key=SECOND,
        bind="query-params",
        placeholder="empty: one is chosen for yours",
        live="300ms",
    )
    with st.container(horizontal=True, gap="small", key="pairs"):
        for word, pair in (("bank", (MONEY, RIVER)), ("plays", (SPORT, THEATRE))):
            if st.button(f"Two sentences with “{word}”", key=f"pair_{word}", on_click=_put, args=pair):
                st.rerun()  # the whole page: the sentence bar too
    other = second_trace(trace)
    cut = cut_notice(st.session_state.get(SECOND) or "", other)
    if cut:
        st.info(cut)
    st.markdown(
        f"1\\. **{in_markdown(trace.text)}** → {in_markdown(trace.translation) or '(nothing)'}\n\n"
        f"2\\. **{in_markdown(other.text)}** → {in_markdown(other.translation) or '(nothing)'}"
    )
    shared = shared_words(trace.src, other.src)[:MANY]
    if not shared:
        st.info(
            "These two sentences share no word, written alike, capitals included. Type a second one that takes up a "
            "word of yours, or try one of the pairs."
        )
        return
    drift(trace, other, shared)


def _put(one: str, two: str) -> None:
    st.session_state[SENTENCE], st.session_state[SECOND] = one, two


def chosen_word(shared: Sequence[Shared]) -> int:
    """The shared word that the address names, else the longest."""
    words = [one.word for one in shared]
    asked = st.query_params.get("word", "")
    return words.index(asked) if asked in words else max(range(len(words)), key=lambda i: len(words[i]))


def drift(trace: Trace, other: Trace, shared: Sequence[Shared]) -> None:
    """How alike the two vectors of each shared word are, stage by stage."""
    names = list(stages(trace.model))
    rows = np.stack([alike(vectors(trace, one.one), vectors(other, one.two)) for one in shared])
    different = different_words(trace, other)
    at = chosen_word(shared)

    def choose(cell: tuple[int, int]) -> None:
        if cell[0] < len(shared):
            st.query_params["word"] = shared[cell[0]].word

    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(f"**{in_markdown(shared[at].word)}: how alike its two vectors are on their way up**")
        compared = [Series(shared[at].word, rows[at])]
        if np.isfinite(different).all():  # two sentences of the same words have no different ones
            compared.append(Series("two different words", different))
        column_chart(
            names,
            compared,
            axis="cosine",
            limit=1.0,
            alt=f"Cosines of the two vectors of {visible(shared[at].word)}: "
            + ", ".join(f"{number(float(value), 2)} {name}" for name, value in zip(names, rows[at], strict=True))
            + ". All numbers are in the matrix beside.",
        )
    with right:
        matrix(
            np.vstack([rows, different]),
            Labels([*(one.word for one in shared), "different"], names, describe="“{row}”, {column}: {value}"),
            Caption(
                "All words that they share: choose one",
                "Cosine of the angle: 1 is the same direction, 0 a right angle. Last row: different words.",
                csv_name="cosines of shared words",
            ),
            key="shared_words",
            scale=Scale("signed", limit=1.0),
            selected=(at, len(names) - 1),
            on_select=choose,
        )
    in_words(shared[at], rows[at], float(different[-1]))


def in_words(shared: Shared, row: np.ndarray, different: float) -> None:
    """What became of the chosen word."""
    top = float(row[-1])
    same_place = "it stands in the same place in both" if row[1] > 1 - 1e-6 else "it stands in different places"
    st.markdown(
        f"At the look-up both are the same row of the embedding matrix: {number(float(row[0]), 2)}. Then the positions "
        f"are added ({same_place}): {number(float(row[1]), 2)}. Each layer mixes in the neighbours, and after the last "
        f"it is **{number(top, 2)}**"
        + (f"; for two different words it is {number(different, 2)} on average. " if np.isfinite(different) else ". ")
        + (
            "That is still nearly the same vector: either the word means much the same in both, or this small model "
            "does not tell."
            if top > NEARLY_THE_SAME
            else "They have moved apart, but the word itself still outweighs its sentence."
            if top > 0.5
            else "They have moved far apart: here the sentence outweighs the word."
        )
    )
    if shared.word == "bank":
        st.caption(
            "In German a bank that keeps money is *die Bank*, the bank of a river *das Ufer*: the translations above "
            "show whether the model told them apart. The vectors differ because the sentences do; whether they differ "
            "because the meanings do is tried out in the lesson on self-attention."
        )


def chosen_change(trace: Trace) -> tuple[int, str]:
    """Which piece is to be replaced and by what: as the address says, else the last word by some other."""
    words, n = list(engine.run(everyday_words, trace.model)), _n_pieces(trace)
    last = max((i for i in range(n) if trace.src[i].text.isalnum()), default=n - 1)
    row, word = read_pair("change", (n, len(words)), (last, words.index("window")))
    if engine.run(everyday_words, trace.model)[words[word]] == trace.src[row].id:
        word = (word + 1) % len(words)
    return row, words[word]


def _n_pieces(trace: Trace) -> int:
    """Pieces that may be replaced: not `<eos>`."""
    return max(1, min(len(trace.src) - 1, READABLE))


def with_change(trace: Trace, row: int, word: str) -> Ids:
    """The ids of the sentence with one piece replaced."""
    src = trace.src_ids
    return (*src[:row], engine.run(everyday_words, trace.model)[word], *src[row + 1 :])


def choose_change(trace: Trace) -> tuple[int, str]:
    """Controls for the piece to replace and the word that takes its place, kept in the address."""
    row, word = chosen_change(trace)
    n, own = _n_pieces(trace), trace.src
    # The keys belong to the sentence, and that of the word to the piece too: others have other options.
    keys = f"change/{trace.text}", f"becomes/{row}/{trace.text}"
    options = [one for one, id in engine.run(everyday_words, trace.model).items() if id != own[row].id]

    def write_row() -> None:
        write_pair("change", (st.session_state[keys[0]], list(engine.run(everyday_words, trace.model)).index(word)))

    def write_word() -> None:
        write_pair("change", (row, list(engine.run(everyday_words, trace.model)).index(st.session_state[keys[1]])))

    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.selectbox(
            "Replace the piece", range(n), index=row, format_func=lambda i: f"{i + 1} {visible(own[i].text)}",
            key=keys[0], on_change=write_row, width=220,
        )  # fmt: skip
        st.selectbox("by", options, index=options.index(word), key=keys[1], on_change=write_word, width=220)
    return row, word


def change_a_piece(trace: Trace) -> None:
    """Which rows move at which stage when one piece is replaced, with self-attention and without."""
    st.markdown(
        "Replace one piece of your sentence and run the encoder on both. Which rows change, and where? Beside it the "
        "same with the self-attention of all encoder layers switched off."
    )
    row, word = choose_change(trace)
    src, changed = trace.src_ids, with_change(trace, row, word)
    names = list(stages(trace.model))
    both = (
        engine.run(travelled, trace.model, src, changed),
        engine.run(travelled, trace.model, src, changed, attention_off=True),
    )
    before_after(
        both,
        ("With self-attention", "Self-attention off in the encoder"),
        Labels(
            [f"{token.text} → {word}" if i == row else token.text for i, token in enumerate(trace.src)],
            names,
            describe="“{row}”, {column}: {value}",
        ),
        how_to_read="How far a row moves: the length of its difference as a share of its length.",
        csv_name="change",
        scale="positive",
    )
    others = [i for i in range(len(src)) if i != row]
    rest = both[0][others]
    most = others[int(rest[:, -1].argmax())]
    reached = [int((rest[:, stage] > MOVED).sum()) for stage in range(len(names))]
    tokenizer = engine.model().tokenizer
    text = tokenizer.decode(changed[:-1])
    st.markdown(
        f"Of the {len(rest)} other rows, {reached[1]} have moved by more than a thousandth of their length before the "
        f"first layer, {reached[2]} after it and {reached[-1]} after layer {len(names) - 2}. There they move by "
        f"**{number(float(rest[:, -1].mean()), 2)}** of their length on average; most of all **"
        f"{in_markdown(trace.src[most].text)}** (piece {most + 1}) by **{number(float(both[0][most, -1]), 2)}**."
        + (
            " German writes *der*, *die* or *das* as the noun demands, so an article has reason to listen."
            if trace.src[most].text.lower() in ("the", "a", "an")
            else ""
        )
    )
    if [*tokenizer.encode(text)] == list(changed[:-1]):
        other = engine.trace(text)
        st.markdown(
            f"**{in_markdown(trace.text)}** → {in_markdown(trace.translation) or '(nothing)'}\n\n"
            f"**{in_markdown(text)}** → {in_markdown(other.translation) or '(nothing)'}"
        )
    st.caption(
        "One layer is enough: in self-attention every position sees all positions, so news of a change needs a single "
        "step to reach the far end of the sentence. Without it nothing travels: positions, Add & Norm and feed-forward "
        "work on each row by itself."
    )


def predict(trace: Trace) -> Sequence[Question]:
    other = second_trace(trace)
    shared = shared_words(trace.src, other.src)[:MANY]
    one, two = (trace, other) if shared else (engine.trace(MONEY), engine.trace(RIVER))
    shared = shared or shared_words(one.src, two.src)
    word = shared[chosen_word(shared)]
    return where_apart(one, two, word), how_many_move(trace), how_alike(one, two, word)


def pair_in_words(one: Trace, two: Trace, word: Shared) -> str:
    return f"*{in_markdown(one.text)}* and *{in_markdown(two.text)}* share the word **{in_markdown(word.word)}**."


def where_apart(one: Trace, two: Trace, word: Shared) -> Question:
    apart = np.abs(vectors(one, word.one) - vectors(two, word.two)).max(1)
    first = int(np.argmax(apart > 1e-6)) if (apart > 1e-6).any() else 3
    return Question(
        "apart",
        f"{pair_in_words(one, two, word)} Where do its two vectors differ for the first time?",
        (
            "already at the look-up",
            "once the positions are added",
            "after the first layer",
            "only higher up, or nowhere",
        ),
        frozenset({min(first, 3)}),
        f"The largest difference of a number is {number(float(apart[0]), 4)} at the look-up, "
        f"{number(float(apart[1]), 4)} with positions and {number(float(apart[2]), 4)} after the first layer. The "
        "look-up knows nothing but the id; positions differ only where the places do; the neighbours come in with "
        "attention.",
    )


def how_many_move(trace: Trace) -> Question:
    row, word = chosen_change(trace)
    moved = (
        np.delete(engine.run(travelled, trace.model, trace.src_ids, with_change(trace, row, word))[:, 2], row) > MOVED
    )  # after layer 1
    return Question(
        "travel",
        f"Replace **{in_markdown(trace.src[row].text)}** (piece {row + 1}) by *{in_markdown(word)}*. How many of the "
        f"{len(moved)} other rows have changed after the first layer?",
        ("none", "some", "all"),
        frozenset({0 if not moved.any() else 2 if moved.all() else 1}),
        f"It is {int(moved.sum())} of {len(moved)}, if we count what moves by more than a thousandth of its length: "
        "every position sees all positions, in every layer.",
    )


def how_alike(one: Trace, two: Trace, word: Shared) -> Question:
    top, different = float(alike(vectors(one, word.one), vectors(two, word.two))[-1]), different_words(one, two)[-1]
    right = 3 if not np.isfinite(different) else 0 if top > NEARLY_THE_SAME else 1 if top > different + 0.1 else 2
    return Question(
        "alike",
        f"{pair_in_words(one, two, word)} After the last layer its two vectors are…",
        (
            f"nearly the same (cosine above {NEARLY_THE_SAME})",
            "clearly apart, but more alike than two different words",
            "no more alike than two different words",
            "not comparable: the sentences have no different words",
        ),
        frozenset({right}),
        f"Their cosine is {number(top, 2)}"
        + (
            f"; two different words of these sentences have {number(float(different), 2)} on average."
            if right < 3
            else "."
        )
        + " What a word is stays in its vector; what it is about is added.",
    )


LESSON = Lesson(
    "encoder",
    "Encoder",
    asks="What does a word become once it has read its sentence?",
    idea=idea,
    see=see,
    do=do,
    check=check_cell,
    predict=predict,
    code=(Encoder, EncoderLayer, alike, travelled),
    blocks=("encoder.stack",),
)
