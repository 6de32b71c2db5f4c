"""What readers of sound hear in a wave: digits in a row, or one digit; and what is left of it without some patches."""

from collections.abc import Collection, Sequence

import numpy as np
import torch

from model.families.sounds import SoundConfig
from model.files.load_sounds import (
    LoadedSound,
    LoadedStrips,
    SoundTrace,
    StripTrace,
    samples,
    trace_sound,
    trace_strips,
)
from model.files.loaded_model import Array
from model.sound.ctc import BLANK
from model.sound.spectrogram import RATE, spectrogram
from model.sound.waves import padded, placed, samples_of, with_pauses

PAUSE = 0.12  # seconds before, between and behind digits that a voice says


def said(digits: Sequence[int], voice: int) -> Array:
    """One voice's recordings of some digits, joined (n), from −1 to 1. voice: from 0"""
    waves = [torch.tensor(samples()[voice][digit]) for digit in digits]
    return with_pauses(waves, [round(PAUSE * RATE)] * (len(waves) + 1)).numpy()


def in_strips(loaded: LoadedStrips, wave: Array) -> Array:
    """The spectrogram of a wave (n), in whole strips, five seconds at most (pitches,frames)."""
    waves, _ = padded([torch.tensor(wave)], loaded.config.frames, loaded.config.wide)
    return spectrogram(waves)[0].numpy()


def in_patches(config: SoundConfig, wave: Array) -> Array:
    """The spectrogram of a wave (n), or of its loudest second, with as much silence on both sides (pitches,frames)."""
    return spectrogram(placed(torch.tensor(wave), samples_of(config.frames), 0.5)[None])[0].numpy()


def heard(loaded: LoadedStrips, wave: Array) -> StripTrace:
    return trace_strips(loaded, in_strips(loaded, wave))


def named(loaded: LoadedSound, wave: Array, silent: Collection[int] = ()) -> SoundTrace:
    """One digit, while some patches, counted from 1, are silent."""
    return trace_sound(loaded, without(loaded, in_patches(loaded.config, wave), silent))


def without(loaded: LoadedSound, sound: Array, silent: Collection[int]) -> Array:
    """A spectrogram with silence in place of some patches, counted from 1."""
    config, left = loaded.config, sound.copy()
    for patch in silent:
        row, column = divmod(patch - 1, config.across)
        left[row * config.high : (row + 1) * config.high, column * config.wide : (column + 1) * config.wide] = 0
    return left


@torch.inference_mode()
def silenced(loaded: LoadedSound, wave: Array, silent: Collection[int], of: int) -> Array:
    """How likely a digit is once each patch is silent as well (P)."""
    sound = in_patches(loaded.config, wave)
    every = [without(loaded, sound, {*silent, 1 + n}) for n in range(loaded.config.n_patches)]
    logits = loaded.model(torch.from_numpy(np.stack(every)).to(loaded.device.torch))
    return logits.softmax(-1)[:, of].cpu().numpy()


def says(read: StripTrace) -> Array:
    """How likely each strip says nothing new, or each digit (T,11)."""
    return torch.from_numpy(read.tensors["logits"].copy()).softmax(-1).numpy()


def without_blanks(spoken: Array) -> list[int]:
    """The path if no strip may say "nothing new": the likeliest digit of each, as its class + 1. spoken: of `says`"""
    return [1 + BLANK + int(one) for one in spoken[:, 1 + BLANK :].argmax(-1)]
