"""Do, first trial: a word built from its bytes, merge by merge."""

import streamlit as st

from model.text.bpe_replay import Merge, Symbols
from model.text.tokenizer import normalise
from model.trace import Trace
from pages.inputs.tokenization.words import MAX_WORD, longest_word, merges, n_pieces, names, symbol_cards
from ui.components.pieces import pieces
from ui.text import visible
from ui.views.charts.tables import numbers_of_figure


def typed_words(trace: Trace) -> list[Symbols]:
    """The words in the box, each as its bytes; of an empty box the hardest word of the sentence."""
    typed = normalise(str(st.session_state.get("word") or ""))
    return merges(trace).words((typed or longest_word(trace))[:MAX_WORD])


def replay(trace: Trace) -> None:
    typed = st.text_input(
        "A word of yours",
        key="word",
        bind="query-params",
        placeholder=f"empty: “{visible(longest_word(trace)[:MAX_WORD])}” of your sentence",
        live="300ms",
    )
    words = typed_words(trace)
    word = words[0]
    done = merges(trace).replay(word)
    if len(normalise(typed or "") or longest_word(trace)) > MAX_WORD:
        st.caption(f"Shown: the first word, and of it no more than {MAX_WORD} characters.")
    elif len(words) > 1:
        st.caption("Merging never crosses the end of a word, so this shows the first word only.")
    elif done:
        st.caption("Move the slider to the left to take merges back, down to the bytes, and to the right to redo them.")
    if not done:
        pieces(symbol_cards(trace, word), key="do_bytes", title="No merge rule fits here: the bytes are the pieces")
        return
    if st.session_state.get("merges", 0) > len(done):  # set for a longer word
        st.session_state["merges"] = len(done)
    count = st.slider("Number of merges", 0, len(done), len(done), key="merges", bind="query-params")
    one_merge(trace, word, done, count)
    numbers_of_figure(
        ("Merge", "Rule", "Joins", "Pieces left", "Done"),
        [
            (
                str(n),
                f"{m.rank:,}",
                f"{names(trace)[m.left]} + {names(trace)[m.right]}",
                str(len(m.after)),
                "yes" if n <= count else "no",
            )
            for n, m in enumerate(done, 1)
        ],
    )


def one_merge(trace: Trace, word: Symbols, done: tuple[Merge, ...], count: int) -> None:
    """The word before and after a merge; before any merge if the count is 0."""
    now = done[count - 1] if count else None
    left, right = st.columns(2, gap="medium")
    with left:
        pieces(
            symbol_cards(trace, now.before if now else word, (now.at, now.at + 1) if now else ()),
            key="do_before",
            title=f"Before merge {count}: {n_pieces(len(now.before))}" if now else "Before any merge",
            how_to_read="The dashed two are joined next: of all neighbours, the pair with the earliest rule.",
        )
    with right:
        if now is None:
            st.info("Move the slider to 1 to see the first merge.")
            return
        pieces(
            symbol_cards(trace, now.after, (now.at,)),
            key="do_after",
            title=f"After merge {count} of {len(done)}: {n_pieces(len(now.after))}",
            how_to_read=f"Joined by rule {now.rank:,} of {len(merges(trace)):,}.",
        )
