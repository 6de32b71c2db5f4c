"""The page that the browser tests of `pieces` drive.

Query parameters: `cards` short or hostile; `plain` 1 for cards that cannot be chosen; `runs` 1 for cards that one may
drag over.
"""

from dataclasses import replace

import streamlit as st

from ui.components.pieces import Card, pieces

st.set_page_config(page_title="Pieces", layout="wide")

HOSTILE = [
    Card("<img src=x onerror=window.pwned=1>", ("</script><script>window.pwned=1</script>",)),
    Card('"><b onmouseover=window.pwned=1>', ("id 1",)),
    Card("\u202eabc\u2066", ("id 2",), 1),
    Card("Donaudampfschifffahrtsgesellschaftskapitän" * 3, ("id 3",), 2),
]
SHORT = [
    Card("␣un", ("20 75 6E", "id 7"), 0),
    Card("ver", ("76 65 72", "id 8"), 0),
    Card("gessen", ("id 9",), 0, marked=True),
    Card("␣ist", ("id 10",), 1),
    Card("<eos>", ("added", "id 2"), -1, marked=True),
    Card("<pad>", ("added", "id 0"), -1, marked=True),
]

if st.button("One card more"):
    st.session_state.more = [*st.session_state.get("more", []), Card(".", ("id 4",), 9)]
cards = [*(HOSTILE if st.query_params.get("cards") == "hostile" else SHORT), *st.session_state.get("more", [])]


def keep(chosen: int) -> None:
    st.session_state.kept = chosen


def add(first: int, last: int) -> None:
    st.session_state.runs = [*st.session_state.get("runs", []), (first, last)]


kept = st.session_state.get("kept", 1)
runs = st.session_state.get("runs", [])
words = {cards[n].word for first, last in runs for n in range(first, last + 1)}
chosen = pieces(
    [replace(card, marked=card.word in words) for card in cards] if "runs" in st.query_params else cards,
    key="demo",
    title="A sentence in pieces",
    how_to_read="A wider gap ends a word.",
    selected=kept,
    on_select=None if {"plain", "runs"} & {*st.query_params} else keep,
    on_run=add if "runs" in st.query_params else None,
)
st.write("Chosen:", str(chosen))
st.write("Kept:", str(st.session_state.get("kept")))
st.write("Runs:", str(runs))
