"""The first screen: a sound, what each strip of it says, and what falls together."""

from collections.abc import Sequence

import numpy as np

from experiments.sounds.listening import heard, says
from model.files.load_sounds import CONFIGS, JOINED, StripTrace, load_strips
from model.files.loaded_model import Array
from model.sound.ctc import Outcome, collapsed, likeliest
from model.sound.spectrogram import HOP, RATE
from model.trace import Trace
from pages.own_sound import own
from ui import engine
from ui.components.scene import Bar, Bars, Frame, Heard, Scene
from ui.text import chance, number

BLANK_SIGN = "–"
WIDE = CONFIGS[JOINED].wide  # frames in a strip
SECONDS = WIDE * HOP / RATE  # of a strip
STEPS = 8  # stops of the slider, beside the one where nothing is read out
OFFERED = 4  # outcomes that are shown


def read_strips() -> StripTrace:
    """The visitor's sound through the reader of strips. It is not remembered."""
    return engine.alone(lambda: heard(load_strips(), own().wave))


def sign(one: int) -> str:
    """Of an entry of a path: the blank, or a digit."""
    return BLANK_SIGN if one == 0 else str(one - 1)


def in_words(digits: Sequence[int]) -> str:
    return " ".join(map(str, digits)) or "nothing"


def in_a_row(path: Sequence[int]) -> str:
    """The digits that a path stands for, in words for a sentence."""
    return in_words(collapsed(path))


def scene(trace: Trace) -> Scene:
    """The sound as it is read out, strip by strip."""
    read = read_strips()
    spoken = says(read)
    n = len(spoken)
    stops = sorted({round(n * step / STEPS) for step in range(STEPS + 1)})
    return Scene(
        f"Sound: a wave, and its spectrogram: how loud each pitch is, low ones below. Each strip of "
        f"{number(SECONDS, 3)} seconds says a digit, or {BLANK_SIGN}: nothing new.",
        "Strips read out",
        [scene_frame(read, spoken, upto, lends=upto == stops[0]) for upto in stops],
        by="slider",
        start=len(stops) - 1,
        wide=(2.6, 1),
        plays=True,
        also=lambda: own().key(),
    )


def scene_frame(read: StripTrace, spoken: Array, upto: int, lends: bool) -> Frame:
    n, path = len(spoken), spoken.argmax(-1).tolist()
    found = in_a_row(path[:upto])
    strips = [(sign(one), float(spoken[at, one])) for at, one in enumerate(path)]
    outcomes = likeliest(spoken[:upto], OFFERED) if upto else [Outcome((), 1.0)]
    bars = [Bar(in_words(one.heard), one.chance, chance(one.chance), strong=one is outcomes[0]) for one in outcomes]
    if upto == 0:
        answer = f"The sound is {n} strips long. All are read at once; here they are read out one after another."
    elif upto < n:
        answer = f"{upto} of {n} strips. So far they come to **{found}**."
    else:
        truth = own().said
        answer = f"Equal neighbours fall together, then each {BLANK_SIGN} goes: **{found}**."
        if in_words(outcomes[0].heard) != found:
            answer += f" All paths together favour **{in_words(outcomes[0].heard)}**."
        if truth is not None:
            answer += " That is right." if found == in_words(truth) else f" The voice said {in_words(truth)}."
    spectrogram = read.tensors["spectrogram"]
    return Frame(
        f"{upto} of {n}",
        answer,
        [
            [
                Heard(
                    strips,
                    upto,
                    BLANK_SIGN,
                    WIDE,
                    spectrogram if lends else None,
                    loudness(own().wave, spectrogram.shape[1]) if lends else None,
                    "The wave, and how loud each pitch is",
                ),
                Bars(bars, "All paths that come to", "query", 1.0, "the likeliest, of the strips read out"),
            ]
        ],
    )


def loudness(wave: Array, frames: int) -> Array:
    """The largest size of the wave around each frame, as a share of its largest of all (frames)."""
    around = np.zeros(frames * HOP)
    around[: len(wave)] = np.abs(wave[: len(around)])
    loud = around.reshape(frames, HOP).max(1)
    return np.asarray(loud / max(loud.max(), 1e-9))
