"""The visitor's own picture: drawn, photographed or a sample. The session holds it, never the address."""

from dataclasses import dataclass
from functools import partial

import streamlit as st

from experiments.pictures.looking import hidden
from experiments.pictures.sheet import drawn, in_box, ink_of_photo
from model.files.load_pictures import VisionTrace, load_vision, samples
from model.files.loaded_model import Array
from pages.first_screen import STOP
from ui import engine
from ui.components.drawing import SIDE, Drawn, Photo, Sample, drawing
from ui.controls.address import read_count, write_count

SAMPLE, FIRST = "digit", 4  # in the address: which sample, from 0
N_DIGITS = 10  # samples that stand for the digits; those behind them are read wrong
DRAWN = "what you drew"  # which no address holds
_OWN = "own_picture"  # in the session
_BESIDE = "own_picture.beside"  # in the session: which sample the address named when it was made


@dataclass(frozen=True)
class Own:
    """A picture as the model gets it (28,28), and what it is, if that is known. sample: which, if it is one"""

    picture: Array
    sample: int | None = None
    label: int | None = None

    @property
    def is_empty(self) -> bool:
        return not self.picture.any()

    def key(self) -> bytes:
        return self.picture.tobytes()


def own() -> Own:
    """What was made last; a sample if the address has come to name another since, as a teacher's does."""
    pictures, labels = samples()
    n = read_count(SAMPLE, len(labels), FIRST)
    if (made := st.session_state.get(_OWN)) is not None and st.session_state.get(_BESIDE, n) == n:
        return Own(made)
    return Own(pictures[n], n, int(labels[n]))


def _take(told: Drawn | Photo | Sample, rewinds: bool = True) -> None:
    if rewinds:
        write_count(STOP, 0)  # another picture is shown whole
    st.session_state[_BESIDE] = read_count(SAMPLE, len(samples()[1]), FIRST)
    match told:
        case Drawn(strokes):
            scaled = [[(x / SIDE, y / SIDE) for x, y in stroke] for stroke in strokes]
            st.session_state[_OWN] = drawn(scaled)
        case Photo(grey):
            st.session_state[_OWN] = in_box(ink_of_photo(grey))
        case Sample(n):
            st.session_state.pop(_OWN, None)
            # The last button goes on through those that are read wrong.
            now = read_count(SAMPLE, len(samples()[1]), FIRST)
            n_wrong = len(samples()[1]) - N_DIGITS
            further = N_DIGITS + (now + 1 - N_DIGITS) % n_wrong if now >= N_DIGITS else N_DIGITS
            write_count(SAMPLE, n if n < N_DIGITS else further, FIRST)


def draw_own(rewinds: bool = True) -> None:
    """The sheet, in place of the sentence; rewinds: whether the first screen shows the picture, from its beginning."""
    shown = own()
    chosen = None if shown.sample is None else min(shown.sample, N_DIGITS)
    drawing(
        shown.picture,
        key="drawing",
        title="Draw a digit with finger or mouse, or take one:",
        note="Your drawing is centred and scaled, like the digits the model learned from. What you draw stays in the "
        "server’s memory until you leave. Of a photo only its middle square is sent, small and grey.",
        samples=[*map(str, range(N_DIGITS)), "a hard one"],
        chosen=chosen,
        on_change=partial(_take, rewinds=rewinds),
    )


def read_own(gone: frozenset[int] = frozenset()) -> VisionTrace:
    """The picture through the Vision Transformer, while nobody looks at some patches. It is not remembered."""
    return engine.alone(lambda: hidden(load_vision(), own().picture, gone))
