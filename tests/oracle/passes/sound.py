"""Sounds, their spectrograms and their readers once more, in NumPy and float64. Imports nothing of what it checks."""

import functools
import itertools
import json
from collections.abc import Sequence

import numpy as np
from safetensors.numpy import load_file
from transformers.audio_utils import mel_filter_bank

from tests.oracle.passes import shipped
from tests.oracle.passes.network import Array, Network, softmax

FOLDER = shipped.MODELS / "sounds"
PARTS = {"family": "encoder_only", "positions": "learned", "norm_place": "pre", "activation": "gelu"}
VOICES = ("George", "Jackson", "Lucas", "Nicolas", "Theo", "Yweweler")
MOMENT = 128  # samples from one to the next


def glide(n: int) -> Array:
    """Eight partials over 160 to 420 Hz, the kth as loud as 1/k, under the root of half a sine; the largest is 1."""
    hertz = 160 + 260 * np.arange(n) / (n - 1)
    phase = 2 * np.pi * np.add.accumulate(hertz) / 8000
    partials = [np.sin(k * phase) / k for k in (1, 2, 3, 4, 5, 6, 7, 8)]
    wave = np.sqrt(np.sin(np.pi * np.arange(n) / (n - 1)).clip(0)) * np.sum(partials, 0)
    return np.asarray(wave / max(abs(wave)))


@functools.cache
def spectrogram(wave: tuple[float, ...] | None = None) -> Array:
    """Of a wave of whole frames, by default of a glide of 64: 40 pitches, lowest first, from 0 (60 dB below the
    loudest) to 1.
    """
    sound = np.array(wave) if wave else glide(63 * MOMENT)
    padded = np.pad(sound, MOMENT)
    window = 0.5 * (1 - np.cos(2 * np.pi * np.arange(256) / 256))
    moments = range(1 + len(sound) // MOMENT)
    spectra = np.stack([np.fft.rfft(window * padded[MOMENT * at : MOMENT * at + 256]) for at in moments], axis=1)
    filters = mel_filter_bank(129, 40, 0.0, 4000.0, 8000, norm=None, mel_scale="htk").T.astype(np.float32)
    power = filters @ np.abs(spectra) ** 2
    return np.asarray(np.maximum(0, 1 + np.log10(power / power.max() + 1e-20) / 6))


@functools.cache
def recordings() -> list[Array]:
    """Ten of each voice, the voices one after the other, from −1 to 1."""
    held = load_file(FOLDER / "samples.safetensors")
    return [part / 32767 for part in np.split(held["waves"].astype(np.float64), held["ends"][:-1])]


def said(digits: str, voice: int) -> Array:
    """By one voice, with pauses of 960 samples."""
    parts = [np.zeros(960)]
    for digit in digits:
        parts += [recordings()[10 * voice + int(digit)], np.zeros(960)]
    return np.concatenate(parts)


@functools.cache
def weights(name: str) -> dict[str, Array]:
    return {key: w.astype(np.float64) for key, w in load_file(FOLDER / f"{name}.safetensors").items()}


class Read(Network):
    """A spectrogram (40,frames) cut into parts of so many pitches and frames, row by row."""

    def __init__(self, config: str, name: str, sound: Array, part: tuple[int, int]) -> None:
        super().__init__(json.loads((FOLDER / config).read_text()) | PARTS, weights(name))
        (high, wide), (pitches, frames) = part, sound.shape
        self.keep("spectrogram", sound)
        self.parts = np.stack(
            [
                sound[top : top + high, left : left + wide].ravel()
                for top in range(0, pitches, high)
                for left in range(0, frames, wide)
            ]
        )

    @property
    def chances(self) -> Array:
        return softmax(self["logits"])


class Strips(Read):
    """Of 40 pitches × 4 frames each; what every one says."""

    def __init__(self, wave: Array) -> None:
        n = min(80, -(-(1 + len(wave) // MOMENT) // 4))
        whole = np.zeros((4 * n - 1) * MOMENT)
        whole[: len(wave)] = wave[: len(whole)]
        super().__init__("joined.config.json", "joined", spectrogram(tuple(whole)), (40, 4))
        projected = self.linear("embedding.project", self.keep("strips", self.parts))
        places = self.w["embedding.positions.table.weight"][:n]
        x = self.stack("encoder", self.keep("encoder.embedding.output", projected + places), np.array(True))
        self.keep("logits", self.linear("head", x))


class Patches(Read):
    """Of 8 × 8, of the loudest second, some of them silent, counted from 1; the digit that they come to."""

    def __init__(self, wave: Array, name: str = "voices", silent: frozenset[int] = frozenset()) -> None:
        super().__init__("config.json", name, hushed(wave, silent), (8, 8))
        projected = self.linear("embedding.project", self.keep("patches", self.parts))
        before = self.w["embedding.class_token"], self.w["embedding.distillation_token"]
        x = np.vstack([*before, projected]) + self.w["embedding.positions.table.weight"]
        x = self.stack("encoder", self.keep("encoder.embedding.output", x), np.array(True))
        mean = self.keep("mean", x[:2].mean(0, keepdims=True))
        self.keep("logits", self.linear("head", self.normalise("layer", "head_norm", mean)))


def hushed(wave: Array, silent: frozenset[int]) -> Array:
    n = 63 * MOMENT
    if len(wave) > n:
        sums = np.concatenate([[0], np.cumsum(wave**2)])
        start = int((sums[n:] - sums[:-n]).argmax())
        wave = wave[start : start + n]
    before = round((n - len(wave)) / 2)
    sound = spectrogram(tuple(np.pad(wave, (before, n - len(wave) - before)))).copy()
    for patch in silent:
        row, column = divmod(patch - 1, 8)
        sound[8 * row : 8 * row + 8, 8 * column : 8 * column + 8] = 0
    return sound


# --- what a path comes to ---------------------------------------------------------------------------------------------


def heard(path: Sequence[int]) -> list[int]:
    """Digits, of entries that are 0 for nothing new, else a digit + 1."""
    return [one - 1 for one, _ in itertools.groupby(path) if one]


def outcomes(chances: Array) -> list[tuple[tuple[int, ...], float]]:
    """What the paths through all strips come to, with the sum of their chances, the largest first. A path is followed
    by what it comes to so far and by its last entry; what can no longer be seen is let go.
    """
    states: dict[tuple[tuple[int, ...], int], float] = {((), 0): 1.0}
    for strip in chances:
        after: dict[tuple[tuple[int, ...], int], float] = {}
        for (digits, last), so_far in states.items():
            for entry, share in enumerate(strip):
                now = digits if entry in (0, last) else (*digits, entry - 1)
                after[now, entry] = after.get((now, entry), 0.0) + so_far * share
        least = 1e-7 * max(after.values())
        states = {state: chance for state, chance in after.items() if chance > least}
    total: dict[tuple[int, ...], float] = {}
    for (digits, _), chance in states.items():
        total[digits] = total.get(digits, 0.0) + chance
    return sorted(total.items(), key=lambda one: -one[1])
