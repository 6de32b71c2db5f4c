"""A lesson's first screen: its scene, which is made once for a sentence."""

from collections.abc import Callable, Sequence

import streamlit as st

from model.trace import Trace
from ui.components.painted import wait_until_painted
from ui.components.scene import Axis, Curve, Line, Scene, scene
from ui.controls.address import read_count, write_count

STOP = "stop"  # in the address: where the scene's control stands, from 1
PLAY = "play"  # in the address: 1 if the scene plays from its first frame as soon as it is there
_MADE = "first_screen.made"  # in the session: the sentence that the scene was made of, it, and what else it was made of
_WAITED = "first_screen.waited"  # in the session: it was given time to
_DRAWN = "first_screen.drawn"  # in the session: its browser has drawn a first screen

LIVE_SECONDS = 1.0
HEAD_START = 10.0  # seconds, at most, that a browser has for drawing the first screen of a visit


def has_drawn() -> bool:
    """Whether this visitor's browser has drawn a first screen already, and so has the code for it."""
    return _DRAWN in st.session_state


def head_start(page: str) -> None:
    """Lets a browser that has just come draw what it was given. If it had the rest of the page to fetch code for and to
    draw, it would do so first: a slow one would show the picture after everything else.

    Args: page: the last part of its path, '' for home
    """
    if not has_drawn():
        if _WAITED not in st.session_state:
            st.session_state[_WAITED] = True
            wait_until_painted(page, HEAD_START)  # the script starts anew, comes here again, and goes on
        st.session_state[_DRAWN] = True


def first_screen(slug: str, make: Callable[[Trace], Scene], trace: Trace) -> None:
    """The scene of a lesson for this sentence, at the frame that the address names.

    One that changes by itself, as while a model learns, is made anew every second until it does so no more.
    """
    live = _scene(slug, make, trace).live
    st.fragment(_show, run_every=LIVE_SECONDS if live else None)(slug, make, trace, live)


def _scene(slug: str, make: Callable[[Trace], Scene], trace: Trace) -> Scene:
    about, kept = (slug, trace.model.name, trace.text), _kept()
    if kept is None or kept[0] != about or kept[1].live or kept[1].also() != kept[2]:
        made = make(trace)
        kept = about, made, made.also()
        st.session_state[_MADE] = kept
    return kept[1]


def _kept() -> tuple[tuple[str, ...], Scene, object] | None:
    kept: tuple[tuple[str, ...], Scene, object] | None = st.session_state.get(_MADE)
    return kept


def draw_all_if_changed(slug: str) -> None:
    """Draws the page anew if what this lesson's scene is made of, beside the sentence, was changed below it."""
    kept = _kept()
    if kept and kept[0][0] == slug and kept[1].also() != kept[2]:
        del st.session_state[_MADE]  # presenter mode may not show it
        st.rerun()


def loss_curve(
    points: Sequence[tuple[float, float]], at: int, blind: tuple[str, float], x: Axis, top: float, height: int = 216
) -> Curve:
    """A loss over the steps with a ring at one of the points, and a blind guess's, which has a name.

    Args: top: of the axis of losses, or further if need be
    """
    guess = Line(blind[0], [(end, blind[1]) for end in (x.low, x.high)], "plain", dashed=True)
    y = Axis("", 0, max(top, *(loss for _, loss in points)))
    return Curve([Line("loss", points), guess], x, y, knob=points[at], height=height)


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
