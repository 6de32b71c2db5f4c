"""One piece replaced: which rows of the encoder move, and how far."""

import streamlit as st

from experiments.inputs.contextual_vectors import everyday_words, stages, travelled
from experiments.passes import Ids
from model.files.loaded_model import Array
from model.trace import Trace
from ui import engine
from ui.components.matrix import Labels
from ui.controls.address import read_pair, write_pair
from ui.text import in_markdown, number, piece
from ui.views.attention_kinds import READABLE
from ui.views.before_after import before_after

MOVED = 1e-3  # the share of its length by which a row must move to count as moved


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
            "Replace the piece", range(n), index=row, format_func=lambda i: f"{i + 1} {piece(own[i].text)}",
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
    how_far(trace, row, both[0])
    translations(trace, changed)
    st.caption(
        "One layer is enough: in self-attention every position sees all positions, so news of a change needs a single "
        "step to reach the far end of the sentence. Without it nothing travels: positions, Add & Norm and feed-forward "
        "work on each row by itself."
    )


def how_far(trace: Trace, row: int, moved: Array) -> None:
    """In words: how many of the other rows moved at which stage. moved (S, stages)."""
    others = [i for i in range(len(moved)) if i != row]
    rest = moved[others]
    most = others[int(rest[:, -1].argmax())]
    reached = [int((rest[:, stage] > MOVED).sum()) for stage in range(rest.shape[1])]
    st.markdown(
        f"Other rows that have moved by more than a thousandth of their length: {reached[1]} of {len(rest)} before the "
        f"first layer, {reached[2]} after it, {reached[-1]} after layer {rest.shape[1] - 2}. There they move by "
        f"**{number(float(rest[:, -1].mean()), 2)}** of their length on average; most of all **"
        f"{in_markdown(trace.src[most].text)}** (piece {most + 1}) by **{number(float(moved[most, -1]), 2)}**."
        + (
            " It is an article; in German its form depends on the noun."
            if trace.src[most].text.lower() in ("the", "a", "an")
            else ""
        )
    )


def translations(trace: Trace, changed: Ids) -> None:
    """Both sentences with what the model writes, if the changed ids are those of a sentence."""
    tokenizer = trace.model.tokenizer
    text = tokenizer.decode(changed[:-1])
    if [*tokenizer.encode(text)] == list(changed[:-1]):
        other = engine.trace(text, name=trace.model.name)
        st.markdown(
            f"**{in_markdown(trace.text)}** → {in_markdown(trace.translation) or '(nothing)'}\n\n"
            f"**{in_markdown(text)}** → {in_markdown(other.translation) or '(nothing)'}"
        )
