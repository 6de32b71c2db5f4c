"""The slider over the snapshots, and Play, which moves it."""

import time
from collections.abc import Callable

import streamlit as st

from pages.training.how_it_learned.snapshots import chosen, snapshot_control, steps

SECONDS = 1.0  # for each snapshot
FORGOTTEN_SECONDS = 10 * SECONDS  # without a move: the page was left while it played
_MOVED = "snapshot_moved"  # in the session: when the slider moved last, as long as it plays


def plays() -> bool:
    moved = st.session_state.get(_MOVED)
    return moved is not None and time.monotonic() - moved < FORGOTTEN_SECONDS


def _start() -> None:
    if chosen() == steps()[-1]:
        st.session_state[snapshot_control().key] = steps()[0]
    st.session_state[_MOVED] = time.monotonic()


def _stop() -> None:
    st.session_state.pop(_MOVED, None)


def player(draw: Callable[[int], None]) -> None:
    """Slider, button, and what `draw` shows of the snapshot chosen; while it plays, nothing else is drawn anew."""
    if plays():
        _play(draw)
    else:
        _stop()
        draw(_slider("Play", _start))


def _slider(label: str, on_click: Callable[[], None]) -> int:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="player"):
        step = snapshot_control().draw()
        st.button(label, key="snapshot_play", type="primary", on_click=on_click, width=90)
    return step


@st.fragment(run_every=SECONDS)
def _play(draw: Callable[[int], None]) -> None:
    """Each run a second after the last move shows the next snapshot; after the last one it stops."""
    if plays() and time.monotonic() - st.session_state[_MOVED] > 0.8 * SECONDS:
        if chosen() == steps()[-1]:
            _stop()
        else:
            st.session_state[snapshot_control().key] = steps()[steps().index(chosen()) + 1]
            st.session_state[_MOVED] = time.monotonic()
    if not plays():
        st.rerun()  # the whole page: what waited for the end is drawn, too
    draw(_slider("Stop", _stop))
