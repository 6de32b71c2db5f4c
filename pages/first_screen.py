"""A lesson's first screen: its scene, which is made once for a sentence."""

from collections.abc import Callable

import streamlit as st

from model.trace import Trace
from ui.components.scene import Scene, scene
from ui.controls.address import read_count, write_count

STOP = "stop"  # in the address: where the scene's control stands, from 1
PLAY = "play"  # in the address: 1 if the scene plays from its first frame as soon as it is there
_MADE = "first_screen.made"  # in the session: what the scene was made of, and the scene


LIVE_SECONDS = 1.0


def first_screen(slug: str, make: Callable[[Trace], Scene], trace: Trace) -> None:
    """The scene of a lesson for this sentence, at the frame that the address names.

    One that changes by itself, as while a model learns, is made anew every second until it does so no more.
    """
    live = _scene(slug, make, trace).live
    st.fragment(_show, run_every=LIVE_SECONDS if live else None)(slug, make, trace, live)


def _scene(slug: str, make: Callable[[Trace], Scene], trace: Trace) -> Scene:
    about = slug, trace.model.name, trace.text
    kept: tuple[tuple[str, ...], Scene] | None = st.session_state.get(_MADE)
    if kept is None or kept[0] != about or kept[1].live:
        kept = about, make(trace)
        st.session_state[_MADE] = kept
    return kept[1]


def forget_scene() -> None:
    """The scene is made anew: what it shows has changed, and the sentence has not."""
    st.session_state.pop(_MADE, None)


def _show(slug: str, make: Callable[[Trace], Scene], trace: Trace, was_live: bool) -> None:
    shown = _scene(slug, make, trace)
    if shown.live != was_live:
        st.rerun()
    start = shown.start + 1

    begins = shown.plays and read_count(PLAY, 2) == 1

    def rest(frame: int) -> None:
        write_count(PLAY, 0)
        write_count(STOP, frame + 1, start)

    at = 0 if begins else max(0, read_count(STOP, len(shown.frames) + 1, start) - 1)
    scene(shown, key="scene", at=at, on_move=rest, begins=begins)
