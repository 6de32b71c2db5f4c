"""A sound that nobody recorded: a voice-like tone that glides."""

import numpy as np
from numpy.typing import NDArray

from model.sound.spectrogram import RATE

LOW, HIGH = 160.0, 420.0  # hertz: where the glide begins, and where it ends
OVERTONES = 8


def glide(samples: int) -> NDArray[np.float64]:
    """A tone with overtones, each weaker than the one below, that rises evenly from 160 to 420 Hz; it swells and fades.

    Returns: (samples), from −1 to 1, at 8 kHz
    """
    seconds = np.arange(samples) / RATE
    hertz = np.linspace(LOW, HIGH, samples)
    turns = np.cumsum(hertz) / RATE
    wave = sum(np.sin(2 * np.pi * n * turns) / n for n in range(1, OVERTONES + 1))
    swell = np.sin(np.pi * seconds / seconds[-1]) ** 0.5
    shaped = swell * np.asarray(wave)
    return np.asarray(shaped / np.abs(shaped).max())
