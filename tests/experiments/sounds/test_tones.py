"""A tone that glides: as loud as may be, silent at both ends, and rising."""

import numpy as np
import pytest

from experiments.sounds.tones import HIGH, LOW, glide
from model.sound.spectrogram import RATE
from tests.oracle.passes import sound


@pytest.mark.parametrize("n", [8000, 8064])
def test_it_swells_fades_and_rises(n: int) -> None:
    wave = glide(n)
    assert np.abs(wave).max() == pytest.approx(1)
    assert abs(wave[0]) < 0.02 > abs(wave[-1])
    for part, hertz in ((wave[: n // 8], LOW), (wave[-n // 8 :], HIGH)):
        loudest = np.abs(np.fft.rfft(part, 8 * n)).argmax() / (8 * n) * RATE
        assert loudest == pytest.approx(hertz, rel=0.15)
    assert np.allclose(wave, sound.glide(n), atol=1e-6)
