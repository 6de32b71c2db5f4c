"""A gliding tone and its spectrogram once more, from the definitions. Imports nothing of what it checks."""

import functools

import numpy as np
from transformers.audio_utils import mel_filter_bank

from tests.oracle.passes.network import Array


def glide(n: int) -> Array:
    """Eight partials over 160 to 420 Hz, the kth as loud as 1/k, under the root of half a sine; the largest is 1."""
    hertz = 160 + 260 * np.arange(n) / (n - 1)
    phase = 2 * np.pi * np.add.accumulate(hertz) / 8000
    partials = [np.sin(k * phase) / k for k in (1, 2, 3, 4, 5, 6, 7, 8)]
    wave = np.sqrt(np.sin(np.pi * np.arange(n) / (n - 1)).clip(0)) * np.sum(partials, 0)
    return np.asarray(wave / max(abs(wave)))


@functools.cache
def spectrogram() -> Array:
    """Of a glide as long as 64 frames: 40 pitches, highest first, from 0 (60 dB below the loudest) to 1."""
    padded = np.pad(glide(63 * 128), 128)
    window = 0.5 * (1 - np.cos(2 * np.pi * np.arange(256) / 256))
    spectra = np.stack([np.fft.rfft(window * padded[128 * at : 128 * at + 256]) for at in range(64)], axis=1)
    filters = mel_filter_bank(129, 40, 0.0, 4000.0, 8000, norm=None, mel_scale="htk").T.astype(np.float32)
    power = filters @ np.abs(spectra) ** 2
    return np.asarray(np.maximum(0, 1 + np.log10(power / power.max() + 1e-20) / 6)[::-1])
