"""What is heard in a wave: laws, on the readers that come with the app."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.pictures.looking import chances
from experiments.sounds.listening import (
    heard,
    in_patches,
    in_strips,
    named,
    said,
    says,
    silenced,
    without,
    without_blanks,
)
from model.files.load_sounds import VOICES, load_sound, load_strips, samples
from model.sound.ctc import collapsed
from model.sound.spectrogram import RATE


def test_a_voice_says_its_own_recordings_with_pauses() -> None:
    wave, (three, five) = said((3, 5), 4), (samples()[4][digit] for digit in (3, 5))
    pause = round(0.12 * RATE)
    assert len(wave) == len(three) + len(five) + 3 * pause
    assert np.array_equal(wave[pause : pause + len(three)], three)
    assert np.array_equal(wave[len(wave) - pause - len(five) : -pause], five)
    assert not wave[:pause].any()
    assert not wave[-pause:].any()


@settings(max_examples=8, deadline=None)
@given(st.integers(1, 60_000))
def test_a_sound_of_any_length_is_heard(samples: int) -> None:
    wave = np.sin(np.arange(samples, dtype=np.float32))
    strips, patches = in_strips(load_strips(), wave), in_patches(load_sound().config, wave)
    assert patches.shape == (40, 64)
    assert strips.shape[1] % 4 == 0
    assert strips.shape[1] <= 320
    read = heard(load_strips(), wave)
    assert says(read).sum(1) == pytest.approx(1, abs=1e-5)
    assert len(says(read)) == strips.shape[1] // 4


def test_a_silent_patch_is_silent_and_no_other() -> None:
    loaded, wave = load_sound(), said((7,), 0)
    sound = in_patches(loaded.config, wave)
    left = without(loaded, sound, {11})  # the second row of patches, the third from the left
    assert not left[8:16, 16:24].any()
    left[8:16, 16:24] = sound[8:16, 16:24]
    assert np.array_equal(left, sound)
    now = silenced(loaded, wave, {20}, 7)
    for patch in (1, 11, 20, 40):
        expected = chances(named(loaded, wave, {20, patch}))[7]
        assert now[patch - 1] == pytest.approx(expected, abs=1e-5)


def test_readers_hear_the_recordings_that_come_along() -> None:
    """Not all of them: the model card says how many."""
    hits = [int(chances(named(load_sound(VOICES), samples()[voice][digit])).argmax()) == digit
            for voice in range(6) for digit in range(10)]  # fmt: skip
    assert sum(hits) > 50
    path = says(heard(load_strips(), said((7, 3, 3), 0))).argmax(-1).tolist()
    assert collapsed(path) == [7, 3, 3]


def test_without_blanks_each_strip_says_its_likeliest_digit() -> None:
    spoken = np.array([[0.9, 0.03, 0.07], [0.2, 0.5, 0.3]])
    assert without_blanks(spoken) == [2, 1]
