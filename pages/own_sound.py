"""The visitor's own sound: spoken, a file, digits that a voice says, or a tone. The session holds it, never the
address.
"""

import re
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlsplit

import numpy as np
import streamlit as st

from experiments.sounds.listening import said
from experiments.sounds.recording import LONGEST, RecordingError, read_wav
from experiments.sounds.tones import glide
from model.files.load_sounds import sound_metrics
from model.files.loaded_model import Array
from model.sound.spectrogram import RATE
from ui.controls.control import Choice, Stops
from ui.text import number

SPOKEN = "what you said"  # which no address holds
VOICE_SAYS, YOURS, FILE, TONE = KINDS = ("digits", "your voice", "a file", "a tone")
KIND = Choice("Sound", "sound", KINDS)
DIGITS, FIRST, MOST = "digits", "133", 5  # in the address: what the voice says; so many digits at most
_OWN = "own_sound"  # in the session
NEAR = ("localhost", "127.0.0.1", "::1")  # where browsers record without https


@dataclass(frozen=True)
class Own:
    """A wave (n) at 8 kHz, from −1 to 1; said: the digits in it, if they are known; kind: one of KINDS; seconds: how
    long it was before it was cut; first: the first of those digits alone, as a wave; why: it cannot be heard, if so
    """

    wave: Array
    said: tuple[int, ...] | None = None
    kind: str = VOICE_SAYS
    seconds: float = 0.0
    first: Array | None = None
    why: str = ""

    @property
    def one(self) -> Array:
        """What a reader of one digit gets."""
        return self.wave if self.first is None else self.first

    def key(self) -> bytes:
        return self.wave.tobytes()


def voice() -> Stops[str]:
    return Stops("Voice", "voice", tuple(name.capitalize() for name in sound_metrics()["voices"]))


def typed() -> str:
    return str(st.session_state.get(DIGITS, st.query_params.get(DIGITS, FIRST)))


def digits() -> tuple[int, ...]:
    """What the voice says: the digits that were typed, or the first ones where that is none."""
    found = re.sub(r"[^0-9]", "", typed()[:2000])[:MOST]
    return tuple(map(int, found or FIRST))


def _given() -> Own | None:
    """What the visitor has spoken or chosen last."""
    given: Own | None = st.session_state.get(_OWN)
    return given


def recorded() -> Own | None:
    """The same, if it can be heard."""
    given = _given()
    return None if given is None or given.why else given


def own() -> Own:
    """The sound that all is shown of: what a voice says, as long as nothing of the visitor's own can be heard."""
    kind, given = KIND.value(), recorded()
    if kind == TONE:
        return Own(glide(RATE).astype(np.float32), kind=TONE)
    if given is not None and given.kind == kind:
        return given
    n = voice().options.index(voice().value())
    return Own(said(digits(), n), digits(), first=said(digits()[:1], n))


def _take(kind: str, widget: str) -> None:
    if (given := st.session_state[widget]) is None:
        st.session_state.pop(_OWN, None)
        return
    try:
        wave, seconds = read_wav(given.getvalue())
        st.session_state[_OWN] = Own(wave, kind=kind, seconds=seconds)
    except RecordingError as error:
        st.session_state[_OWN] = Own(np.zeros(0, np.float32), kind=kind, why=str(error))


def draw_own() -> None:
    """What is heard, in place of the sentence."""
    kind = KIND.draw()
    if kind in (YOURS, FILE):
        _takes(kind)
        return
    if kind == TONE:
        st.audio(own().wave, sample_rate=RATE)
        return
    words, whose, plays = st.columns((0.7, 0.9, 1.4), vertical_alignment="bottom")
    with words:
        st.text_input(f"Digits, up to {MOST}", FIRST, key=DIGITS, bind="query-params", live="300ms")
    with whose:
        voice().draw()
    with plays:
        st.audio(own().wave, sample_rate=RATE)
    if typed().strip() != "".join(map(str, digits())):
        st.caption(f"A voice says up to {MOST} digits, 0 to 9. Here it says {' '.join(map(str, digits()))}.")


def _takes(kind: str) -> None:
    """The microphone, or a file."""
    if kind == YOURS and not _may_record():
        st.info("Browsers record over https only, or on the machine itself. Choose a file, or let a voice say digits.")
        return
    if kind == YOURS:
        widget = partial(st.audio_input, "Say digits in English, one after another", sample_rate=RATE)
    else:
        widget = partial(
            st.file_uploader, f"A recording, as a WAV file of {st.get_option('server.maxUploadSize')} MB at most", "wav"
        )
    widget(key=f"given_{kind}", on_change=_take, args=(kind, f"given_{kind}"))
    given = _given()
    if given is None or given.kind != kind:
        if kind == YOURS:
            st.markdown("If it does not record: allow this page the microphone, or choose a file.")
        st.caption(
            f"The first {LONGEST:.0f} seconds are heard. Your sound stays in the server’s memory until you leave. "
            "Until there is one, what a voice says is shown."
        )
    elif given.why:
        st.info(f"{given.why} Shown is what a voice says.")
    elif given.seconds > LONGEST:
        st.caption(f"Your sound is {number(given.seconds, 1)} seconds long. Its first {LONGEST:.0f} are heard.")


def _may_record() -> bool:
    at = urlsplit(st.context.url or "")
    return at.scheme != "http" or at.hostname in NEAR
