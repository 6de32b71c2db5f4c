"""An English word hidden from the whole model: what is written without it, and which German pieces need it."""

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from experiments.attention.ablation import log_probabilities_hiding
from experiments.passes import write_without
from figures.grouping import Group, grouped, pieces
from model.trace import Array, Trace
from pages.attention.encoder_decoder_attention.view import View, is_word
from ui import engine
from ui.components.matrix import Caption, Labels, matrix
from ui.controls.control import Switch
from ui.controls.piece_control import choose_part
from ui.text import bold, in_markdown, magnitude
from ui.views.attention_kinds import READABLE, groups_of, readable_part

EACH = Switch("Hide every word in turn", "hide_each")
NEEDED = 0.05  # a piece needs a word without which its probability falls by so much


def hide(trace: Trace, view: View) -> None:
    """One English word hidden from everybody: what the model writes now, and which German pieces suffer."""
    st.markdown(
        "What a German piece *needs* can be found out. Hide an English word from both stacks, let the model read the "
        "same translation again, and see which of its pieces become unlikely."
    )
    words = source_words(trace)
    chosen = choose_part("Word to hide", [word.label for word in words], min(1, len(words) - 1), trace.text)
    before, after = probabilities(trace, (trace.src[words[chosen].pieces[0]].word,))
    name = in_markdown(words[chosen].label)
    ids = engine.run(write_without, trace.model, trace.src_ids, words[chosen].pieces)
    written = trace.model.tokenizer.decode(ids)
    st.markdown(
        f"Translation before: {bold(trace.translation or '(nothing)')} Written without {name}: "
        f"{bold(written or '(nothing)')}"
    )
    shown = [token.text for token in trace.labels[:READABLE]]
    matrix(
        np.stack([before, after])[:, :READABLE],
        Labels(("all words seen", "word hidden"), shown, describe="“{column}”, {row}: {value}"),
        Caption(
            "The probability of each piece of the first translation",
            f"Above: every word may be seen. Below: “{words[chosen].label}” is hidden.",
            csv_name="probabilities",
        ),
        key="do_hidden",
    )
    if len(shown) < len(trace.labels):
        st.caption(f"Shown: the first {READABLE} of {len(trace.labels)} pieces.")
    hurt = int((before - after).argmax())
    st.markdown(
        f"Without **{name}**, {bold(trace.labels[hurt].text)} (piece {hurt + 1}) loses most: from "
        f"{magnitude(float(before[hurt]))} to {magnitude(float(after[hurt]))}."
        if before[hurt] - after[hurt] >= NEEDED
        else f"No piece needs **{name}**: none of the probabilities falls by {NEEDED} or more."
    )
    if EACH.draw():
        with st.spinner("Hiding every word in turn …"):
            without = probabilities(trace)[1:]
        looking_and_needing(trace, view, words, before - without)


def probabilities(trace: Trace, words: tuple[int, ...] | None = None) -> Array:
    """Each piece's probability (N + 1, T): first with all words, then without each of N, by default of all."""
    _, nats = engine.run(log_probabilities_hiding, trace.model, trace.src, trace.labels, words)
    return np.exp(nats)


def source_words(trace: Trace) -> list[Group]:
    """The words and marks of the English sentence, without <eos>."""
    return [group for group in groups_of(trace.src, by_word=True) if trace.src[group.pieces[0]].word >= 0]


def looking_and_needing(trace: Trace, view: View, words: list[Group], falls: Array) -> None:
    """Where each German piece looks beside what it loses (N,T) when a word is hidden, for every word in turn."""
    looks, needs = view.by_pieces(trace), falls.T
    labels = [token.text for token in trace.labels]
    by_word, weights = grouped(looks, pieces(labels), words), f"{view.in_full}; weights from 0 to 1."
    loss = "How much less likely the row's piece gets without the column's word."
    maps = (("looks", "Where it looks", weights, by_word), ("needs", "What it needs", loss, needs))
    for column, (key, title, how_to_read, values) in zip(st.columns(2, gap="medium"), maps, strict=True):
        shown = values[:READABLE, :READABLE]
        with column:
            matrix(
                shown,
                Labels(
                    labels[:READABLE],
                    [word.label for word in words[:READABLE]],
                    describe=f"“{{row}}” {key} “{{column}}”: {{value}}",
                ),
                Caption(title, how_to_read, csv_name=title),
                key=f"do_{key}",
            )
    if shown.shape != needs.shape:
        st.caption(readable_part(shown.shape, needs.shape))
    agreement(trace, words, looks.argmax(-1), needs)


def agreement(trace: Trace, words: list[Group], looked: NDArray[np.integer], needs: Array) -> None:
    """How many German pieces look most (T) at the word of which they need most (T,N), and the first that does not."""
    needed = needs.argmax(-1)
    told = [i for i, label in enumerate(trace.labels) if is_word(label.text) and needs[i, needed[i]] >= NEEDED]
    other = [i for i in told if looked[i] not in words[needed[i]].pieces]
    says = f"Pieces of words that look most at the word they need most: **{len(told) - len(other)} of {len(told)}**."
    if not told:
        says = "No piece of a word needs any word here."
    if other:
        i = other[0]
        says += (
            f" The first that does not is {bold(trace.labels[i].text)}: it looks most at "
            f"{bold(trace.src[looked[i]].text)} and needs {bold(words[needed[i]].label)}. Looking and needing are not "
            "the same."
        )
    st.markdown(says)
    st.caption(f"Counted are pieces of words that need some word, with a fall of {NEEDED} or more.")
