"""From what a visitor records or chooses to a wave as the readers of sound know it: one channel, 8 kHz."""

import io
import wave

import numpy as np

from model.files.loaded_model import Array
from model.sound.spectrogram import RATE

LONGEST = 5.0  # seconds that are heard
RATES = (1_000, 200_000)  # samples a second that a recording may have
SILENCE = 1e-3  # of the loudest that a recording can hold: what stays below is none


class RecordingError(ValueError):
    """A recording that cannot be heard; the message says why, to the visitor."""


def read_wav(data: bytes) -> tuple[Array, float]:
    """The first five seconds of a WAV file's sound, its channels mixed.

    Returns: (n) float32 at 8 kHz, from −1 to 1; how many seconds the file holds
    Raises:  RecordingError
    """
    try:
        with wave.open(io.BytesIO(_plain(data))) as file:
            channels, width, rate = file.getnchannels(), file.getsampwidth(), file.getframerate()
            if not RATES[0] <= rate <= RATES[1]:
                raise RecordingError(f"A recording with {rate:,} samples a second cannot be heard.")
            raw, told = file.readframes(int(LONGEST * rate) + 1), file.getnframes()
    except (wave.Error, EOFError, ZeroDivisionError, OverflowError, RuntimeError) as error:
        raise RecordingError("This is no WAV file of whole numbers (PCM), the usual kind.") from error
    n = len(raw) // (channels * width)
    if not n:
        raise RecordingError("The recording holds no sound.")
    mixed = _numbers(raw[: n * channels * width], width).reshape(n, channels).mean(1)
    if np.abs(mixed).max() < SILENCE:
        raise RecordingError("The recording holds only silence.")
    held = min(told, len(data) // (channels * width))  # a header may tell of more than the file holds
    return resampled(mixed[: int(LONGEST * rate)], rate), held / rate


def _plain(data: bytes) -> bytes:
    """A WAV file whose header has the long form (WAVE_FORMAT_EXTENSIBLE), as recordings of 24 bits often have, with the
    plain one. Python 3.12 reads the long one by itself.
    """
    at = data.find(b"fmt ", 12, 4096)
    tag, of_numbers = data[at + 8 : at + 10], data[at + 32 : at + 34]
    if at < 0 or (tag, of_numbers) != (b"\xfe\xff", b"\x01\x00"):
        return data
    return data[: at + 8] + b"\x01\x00" + data[at + 10 :]


def _numbers(raw: bytes, width: int) -> np.ndarray:
    """Samples of so many bytes, from −1 to 1. One byte counts from 0 to 255, more are signed, the lowest byte first."""
    if width == 1:
        return (np.frombuffer(raw, np.uint8).astype(np.float64) - 128) / 128
    digits = np.frombuffer(raw, np.uint8).reshape(-1, width).astype(np.int64)
    whole = (digits << (8 * np.arange(width))).sum(1)
    half = 1 << (8 * width - 1)
    return np.asarray(((whole + half) % (2 * half) - half) / half)


def resampled(sound: np.ndarray, rate: int) -> Array:
    """A sound (n) of so many samples a second at 8 kHz: the same frequencies, but for those above 4 kHz."""
    n = max(1, round(len(sound) * RATE / rate))
    spectrum = np.fft.rfft(sound)[: n // 2 + 1]
    return np.asarray(np.clip(np.fft.irfft(spectrum, n) * n / len(sound), -1, 1), np.float32)
