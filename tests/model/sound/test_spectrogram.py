"""Spectrograms, against the library's filters and a plain Fourier transform, and by laws."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.audio_utils import mel_filter_bank

from model.sound.spectrogram import HOP, PITCHES, QUIETEST, RATE, WINDOW, pitch_filters, spectrogram


def tone(hertz: float, n: int, loud: float = 1.0) -> torch.Tensor:
    return loud * torch.sin(2 * torch.pi * hertz * torch.arange(n) / RATE)


@pytest.mark.parametrize(("n", "window", "rate"), [(40, 256, 8000), (13, 512, 16000)])
def test_filters_are_the_librarys(n: int, window: int, rate: int) -> None:
    theirs = mel_filter_bank(window // 2 + 1, n, 0.0, rate / 2, rate, norm=None, mel_scale="htk")
    assert np.allclose(pitch_filters(n, window, rate).numpy(), theirs.T, atol=1e-6)


def test_each_cell_is_the_loudness_of_its_pitch_at_its_moment() -> None:
    """By hand, from the definition: a Hann window around each moment, the power of each frequency, the filters."""
    wave = torch.randn(1, 700, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    padded = np.concatenate([np.zeros(WINDOW // 2), wave[0].numpy(), np.zeros(WINDOW // 2)])
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(WINDOW) / WINDOW)
    frequencies = np.exp(-2j * np.pi * np.outer(np.arange(WINDOW // 2 + 1), np.arange(WINDOW)) / WINDOW)
    moments = [frequencies @ (hann * padded[HOP * n : HOP * n + WINDOW]) for n in range(1 + 700 // HOP)]
    power = pitch_filters().numpy() @ np.abs(np.array(moments).T) ** 2
    expected = np.maximum(0, 1 + 10 * np.log10(power / power.max()) / QUIETEST)
    assert torch.allclose(spectrogram(wave)[0], torch.from_numpy(expected), atol=1e-6)
    assert torch.allclose(spectrogram(wave.float())[0], torch.from_numpy(expected).float(), atol=1e-4)


@given(st.floats(200, 3600), st.floats(1e-3, 1e3))
def test_a_tone_is_brightest_at_its_pitch_however_loud_it_is(hertz: float, loud: float) -> None:
    made = spectrogram(tone(hertz, 4000, loud)[None])[0]
    nearest = int(pitch_filters()[:, round(hertz * WINDOW / RATE)].argmax())
    assert abs(int(made[:, 15].argmax()) - nearest) <= 1
    assert made.max() == 1
    assert made.min() >= 0
    assert torch.allclose(made, spectrogram(tone(hertz, 4000)[None])[0], atol=1e-3)


@given(st.integers(0, 3000))
def test_there_is_a_frame_for_each_hop_and_one_more(n: int) -> None:
    assert spectrogram(torch.zeros(2, n)).shape == (2, PITCHES, 1 + n // HOP)


def test_silence_is_0_beside_sound_and_alone() -> None:
    quiet = spectrogram(torch.stack([torch.zeros(1000), tone(440, 1000)]))
    assert not quiet[0].any()
    assert quiet[1].max() == 1
    later = spectrogram(torch.cat([torch.zeros(2000), tone(440, 1000)])[None])[0]
    assert not later[:, : (2000 - WINDOW) // HOP].any()
