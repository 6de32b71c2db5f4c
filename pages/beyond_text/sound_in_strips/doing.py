"""Do: rewrite a strip, silence patches, compare known and new voices."""

from collections.abc import Callable

import numpy as np
import streamlit as st

from experiments.pictures.looking import chances
from experiments.sounds.listening import named, says, silenced, without_blanks
from model.files.load_sounds import JOINED, NEW_VOICE, VOICES, SoundTrace, load_sound, sound_metrics
from model.sound.ctc import chance_of, collapsed
from model.trace import Trace
from pages.beyond_text.sound_in_strips.scene import BLANK_SIGN, in_a_row, read_strips, sign
from pages.own_sound import own
from pages.patches import gone, share, taken_out
from ui import engine
from ui.components.matrix import Caption, Labels, Scale, matrix
from ui.controls.address import read_pair, write_pair
from ui.controls.control import Choice
from ui.text import chance
from ui.views.charts.tables import table

TRIAL = Choice("Try", "try", ("Rewrite a strip", "Silence patches", "Known and new voices"))
REWRITTEN = "rewrite"  # in the address: what is said instead, and by which strip
SILENT = "silent"  # in the address: patches from 1, like 6.7


def do(trace: Trace) -> None:
    tried: dict[str, Callable[[], None]] = {
        "Rewrite a strip": rewrite,
        "Silence patches": silence,
        "Known and new voices": voices,
    }
    tried[TRIAL.draw()]()


def rewrite() -> None:
    spoken = says(read_strips())
    path = spoken.argmax(-1).tolist()
    entry, strip = read_pair(REWRITTEN, (spoken.shape[1], len(spoken)), (0, -1))
    st.markdown(
        "**Click a cell: that strip says this instead.** A column is a strip. Each number says how likely the strip "
        f"says this digit, or {BLANK_SIGN}."
    )
    matrix(
        spoken.T,
        Labels(
            [sign(one) for one in range(spoken.shape[1])],
            [str(n) for n in range(1, 1 + len(spoken))],
            "Strip {column} says {row}: {value}",
        ),
        Caption("What each strip says", "Columns: strips, from left to right.", csv_name="strips"),
        key="do_matrix",
        scale=Scale("weight"),
        selected=None if strip < 0 else (entry, strip),
        on_select=lambda cell: write_pair(REWRITTEN, cell),
    )
    now = list(path)
    if strip >= 0 and entry == path[strip]:
        st.markdown(f"Strip {strip + 1} says {sign(entry)} already. It comes to **{in_a_row(path)}**.")
    elif strip >= 0:
        now[strip] = entry
        st.markdown(
            f"Strip {strip + 1} says {sign(entry)}, not {sign(path[strip])}. It comes to **{in_a_row(now)}**; before, "
            f"**{in_a_row(path)}**."
        )
    heard = collapsed(path)
    alone = float(np.prod(spoken.max(-1), dtype=np.float64))
    st.markdown(
        f"The likeliest path has {chance(alone)}. All paths that come to {in_a_row(path)} have "
        f"**{chance(chance_of(heard, spoken.astype(np.float64)))}** together. In training, this sum is made large."
    )
    st.markdown(
        f"**What if there were no {BLANK_SIGN}?** If each strip had to say a digit, the likeliest one, it would come "
        f"to **{in_a_row(without_blanks(spoken))}**."
    )


def read_patches(name: str, silent: frozenset[int]) -> SoundTrace:
    """The visitor's sound through a reader of one digit, while some patches are silent. It is not remembered."""
    return engine.alone(lambda: named(load_sound(name), own().one, silent))


def heard_by_one() -> str:
    """What of the sound a reader of one digit hears."""
    return "the loudest second" if own().said is None else f"the first digit, {own().said[0]}"


def silence() -> None:
    loaded, wave = load_sound(), own().one
    config = loaded.config
    silent = gone(SILENT, config.n_patches)
    before, after = (chances(read_patches(VOICES, some)) for some in (frozenset[int](), silent))
    was, now = int(before.argmax()), int(after.argmax())
    left = engine.alone(lambda: silenced(loaded, wave, silent, was))

    # As in the spectrogram above, low pitches stand below.
    numbers = np.arange(1, 1 + config.n_patches).reshape(-1, config.across)[::-1]

    st.markdown(
        f"**Which patches does the answer come from?** One reader names one digit. It hears {heard_by_one()}, "
        f"cut into {config.n_patches} patches of {config.high} pitches × {config.wide} moments. Click a patch to "
        f"silence it, and again to hear it. Each number says how likely {was} is once that patch is silent as well."
    )
    matrix(
        left[numbers - 1],
        Labels(
            [f"pitches {config.high * n + 1}–{config.high * (n + 1)}" for n in reversed(range(len(numbers)))],
            [f"moments {config.wide * n + 1}–{config.wide * (n + 1)}" for n in range(config.across)],
            "Patch {name} silent: {value}",
            [list(map(str, row)) for row in numbers.tolist()],
        ),
        Caption(
            f"How likely {was} is without this patch",
            f"With all that is heard now: {chance(float(after[was]))}. Low pitches below.",
            csv_name="silenced",
            hatched="silent",
        ),
        key="do_matrix",
        scale=Scale("weight"),
        hidden=np.isin(numbers, [*silent]),
        on_select=taken_out(SILENT, numbers),
    )
    if silent:
        st.markdown(
            f"Silent: {', '.join(map(str, sorted(silent)))}. It names **{now}**, {chance(float(after[now]))}. With "
            f"all patches it named **{was}**, {chance(float(before[was]))}."
        )
    else:
        st.markdown(f"Nothing is silent. It names **{was}**, {chance(float(before[was]))}.")


def voices() -> None:
    kept = sound_metrics()
    test, unheard = kept["test"], " and ".join(name.capitalize() for name in kept["never_heard"])
    st.markdown(
        "**Does it understand a voice that it has never heard?** Two readers of one digit, of equal size. One learned "
        f"from all six voices, the other one from four: not from {unheard}. Both hear {heard_by_one()}."
    )
    reads = {name: chances(read_patches(name, frozenset())) for name in (VOICES, NEW_VOICE)}

    def row(name: str, who: str, of: str) -> tuple[str, ...]:
        found = reads[name]
        return who, of, share(test[name]), f"{int(found.argmax())}, {chance(float(found.max()))}"

    table(
        ("reader", "tested on", "right, %", "it names"),
        [
            row(VOICES, "learned from all six voices", f"{test[VOICES][2]} other recordings of them"),
            row(
                NEW_VOICE,
                "learned from four voices",
                f"{test[NEW_VOICE][2]} recordings of {kept['never_heard'][0].capitalize()}",
            ),
        ],
    )
    rows = kept["in_a_row"]
    st.markdown(
        f"The reader of strips was tested on {rows['rows']} rows of {rows['digits']} digits, each row of one voice "
        f"that it knows: **{share(test[JOINED])}%** of the digits were wrong, missing or too many."
    )
    st.caption(
        "After ± the standard error. All were measured on recordings that they did not learn from. Six men spoke: how "
        "the readers do on women, children and other accents was not measured. One training each, with one seed."
    )
