"""What becomes of a visitor's recording, whatever it is."""

import io
import wave

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.sounds.recording import RecordingError, read_wav, resampled
from model.sound.spectrogram import RATE


def file_of(samples: np.ndarray, rate: int = RATE, width: int = 2) -> bytes:
    """A WAV file of samples (n, channels) from −1 to 1."""
    written = io.BytesIO()
    with wave.open(written, "wb") as file:
        file.setnchannels(samples.shape[1])
        file.setsampwidth(width)
        file.setframerate(rate)
        whole = np.round(samples * (2 ** (8 * width - 1) - 1)).astype(np.int64)
        if width == 1:
            whole += 128
        file.writeframes(b"".join(int(n).to_bytes(width, "little", signed=width > 1) for n in whole.flatten()))
    return written.getvalue()


def tone(hertz: float, seconds: float, rate: int) -> np.ndarray:
    return 0.5 * np.sin(2 * np.pi * hertz * np.arange(round(seconds * rate)) / rate)


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_samples_of_any_width_are_the_same_sound(width: int) -> None:
    sound = tone(440, 0.1, RATE)
    heard, seconds = read_wav(file_of(sound[:, None], width=width))
    assert np.allclose(heard, sound, atol=0.01 if width == 1 else 1e-3)
    assert seconds == pytest.approx(0.1, abs=1e-3)


@pytest.mark.parametrize(("kind", "heard"), [(1, True), (3, False)])  # whole numbers, floats
def test_the_long_form_of_the_header_is_read_too(kind: int, heard: bool) -> None:
    plain = file_of(tone(440, 0.1, RATE)[:, None], width=3)
    form = plain[20:36] + (22).to_bytes(2, "little") + (24).to_bytes(2, "little") + bytes(4)
    form = b"\xfe\xff" + form[2:] + kind.to_bytes(2, "little") + bytes(14)
    size = len(plain) - 8 + len(form) - 16
    long = plain[:4] + size.to_bytes(4, "little") + plain[8:16] + len(form).to_bytes(4, "little") + form + plain[36:]
    if heard:
        assert np.array_equal(read_wav(long)[0], read_wav(plain)[0])
    else:
        with pytest.raises(RecordingError, match="no WAV file of whole numbers"):
            read_wav(long)


@pytest.mark.parametrize(("rate", "hertz"), [(4_000, 500), (11_025, 500), (44_100, 500), (44_100, 3990), (96_000, 500)])
def test_a_sound_of_any_rate_keeps_its_pitch_and_length(rate: int, hertz: int) -> None:
    heard = resampled(tone(hertz, 0.8, rate), rate)
    assert len(heard) == 6400
    assert np.allclose(heard[200:-200], tone(hertz, 0.8, RATE)[200:-200], atol=0.02)


def test_what_is_too_high_is_left_out() -> None:
    both = tone(500, 0.5, 48_000) + tone(6000, 0.5, 48_000)
    assert np.allclose(resampled(both, 48_000)[200:-200], tone(500, 0.5, RATE)[200:-200], atol=0.02)


def test_channels_are_mixed() -> None:
    left, right = tone(300, 0.2, 96_000), tone(700, 0.2, 96_000)
    heard, seconds = read_wav(file_of(np.stack([left, right], 1), 96_000))
    assert seconds == pytest.approx(0.2)
    expected = (tone(300, 0.2, RATE) + tone(700, 0.2, RATE)) / 2
    assert np.allclose(heard[100:-100], expected[100:-100], atol=0.02)


def test_of_a_long_recording_the_beginning_is_heard() -> None:
    long = np.concatenate([tone(300, 6, RATE), np.zeros(54 * RATE)])
    heard, seconds = read_wav(file_of(long[:, None]))
    assert len(heard) == 5 * RATE
    assert seconds == 60


def test_a_header_that_tells_of_more_than_the_file_holds_is_not_believed() -> None:
    whole = bytearray(file_of(tone(300, 0.1, RATE)[:, None]))
    whole[40:44] = (2**31).to_bytes(4, "little")
    heard, seconds = read_wav(bytes(whole))
    assert len(heard) == 800
    assert seconds == pytest.approx(0.1, abs=0.01)


def header(channels: int = 1, rate: int = RATE, width: int = 16) -> bytes:
    whole = bytearray(file_of(tone(300, 0.1, RATE)[:, None]))
    whole[22:24], whole[24:28] = channels.to_bytes(2, "little"), rate.to_bytes(4, "little")
    whole[34:36] = width.to_bytes(2, "little")
    return bytes(whole)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "no WAV"),
        (b"<svg onload='alert(1)'/>", "no WAV"),
        (b"RIFF\xff\xff\xff\xffWAVEfmt ", "no WAV"),
        (header(channels=0), "no WAV"),
        (header(width=0), "no WAV"),
        (header(rate=0), "0 samples a second"),
        (header(rate=999), "999 samples a second"),
        (header(rate=200_001), "200,001 samples a second"),
        (header(rate=2**31), "2,147,483,648 samples a second"),
        (file_of(np.zeros((0, 1))), "holds no sound"),
        (file_of(np.zeros((4000, 2))), "holds only silence"),
        (file_of(np.full((4000, 1), 5e-4)), "holds only silence"),
    ],
)
def test_what_cannot_be_heard_is_said_in_one_sentence(data: bytes, says: str) -> None:
    with pytest.raises(RecordingError, match=says):
        read_wav(data)


@pytest.mark.parametrize("rate", [1_000, 200_000])
def test_faint_and_odd_is_heard_all_the_same(rate: int) -> None:
    heard, _ = read_wav(file_of(np.full((rate, 1), 2e-3), rate))
    assert np.allclose(heard[500:-500], 2e-3, atol=2e-4)


@given(st.binary(max_size=200), st.integers(0, 60))
def test_no_file_breaks_it(junk: bytes, at: int) -> None:
    whole = file_of(tone(300, 0.01, RATE)[:, None])
    for data in (junk, whole[:at] + junk, whole[:at] + junk + whole[at:], b"RIFF" + junk):
        try:
            heard, _ = read_wav(data)
        except RecordingError:
            continue
        assert heard.dtype == np.float32
        assert 0 < len(heard) <= 5 * RATE
        assert np.abs(heard).max() <= 1
