"""The visitor's own sound: what is kept of it, what one hears, what is said where there is none."""

import io
import wave
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import streamlit as st

from experiments.sounds.listening import said
from experiments.sounds.tones import glide
from pages import (
    course,  # noqa: F401 - fills the course
    own_sound,
)
from pages.own_sound import Own
from tests.pages.kit import opened
from ui import engine


def recording(seconds: float, loud: float = 0.5) -> bytes:
    written = io.BytesIO()
    with wave.open(written, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes((32767 * loud * np.sin(np.arange(round(8000 * seconds)) / 5)).astype("<i2").tobytes())
    return written.getvalue()


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """What the page lets one hear."""
    waves: list[np.ndarray] = []

    def note(wave: np.ndarray, sample_rate: int) -> None:
        assert sample_rate == 8000
        waves.append(wave)

    monkeypatch.setattr(st, "audio", note)
    return waves


def test_one_hears_what_is_shown(played: list[np.ndarray]) -> None:
    opened("sound-in-strips", digits="48", voice="Lucas")
    assert np.array_equal(played[-1], said((4, 8), 2))
    opened("sound-in-strips", sound="a tone")
    assert np.allclose(played[-1], glide(8000))


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A session without a page."""
    session: dict[str, Any] = {}
    monkeypatch.setattr(own_sound, "st", SimpleNamespace(session_state=session))
    return session


def test_a_recording_is_kept_for_the_visit_until_it_is_wiped(taken: dict[str, Any]) -> None:
    taken["widget"] = io.BytesIO(recording(60))
    own_sound._take("your voice", "widget")
    own = taken["own_sound"]
    assert (len(own.wave), own.kind, own.seconds, own.said) == (40_000, "your voice", 60, None)
    assert own_sound.recorded() is own
    taken["widget"] = io.BytesIO(b"RIFF")
    own_sound._take("a file", "widget")
    assert taken["own_sound"].why == "This is no WAV file of whole numbers (PCM), the usual kind."
    assert own_sound.recorded() is None
    taken["widget"] = None
    own_sound._take("a file", "widget")
    assert "own_sound" not in taken


def texts(app: Any) -> list[str]:
    return [one.value for kind in ("caption", "info") for one in app.get(kind)]


def test_what_is_said_of_a_recording(played: list[np.ndarray]) -> None:
    app = opened("sound-in-strips", sound="your voice")
    assert any(one.startswith("The first 5 seconds are heard.") for one in texts(app))
    app.session_state["own_sound"] = Own(glide(4000).astype(np.float32), kind="your voice", seconds=8.24)
    app.run()
    assert "Your sound is 8.2 seconds long. Its first 5 are heard." in texts(app)
    assert not any("what a voice says is shown" in one for one in texts(app))
    for kind in ("your voice", "a file"):
        app.session_state["own_sound"] = Own(np.zeros(0), kind=kind, why="The recording holds no sound.")
        app.run()
        # What went wrong with a file is not said of the microphone.
        assert ("The recording holds no sound. Shown is what a voice says." in texts(app)) == (kind == "your voice")
    assert not app.exception
    assert not played  # a recording has its own player


def test_sounds_of_equal_length_are_told_apart() -> None:
    assert Own(np.zeros(9)).key() != Own(np.ones(9)).key()


def test_what_was_recorded_is_what_is_heard() -> None:
    app = opened("sound-in-strips", sound="your voice", **{"try": "Silence patches"})
    for kind, why in (("your voice", ""), ("a file", ""), ("your voice", "The recording holds no sound.")):
        app.session_state["own_sound"] = Own(glide(4000).astype(np.float32), kind=kind, why=why)
        app.run()
        heard = "the loudest second" if kind == "your voice" and not why else "the first digit, 1,"
        assert any(f"It hears {heard}" in one.value for one in app.markdown)


@pytest.mark.parametrize(
    ("url", "may"),
    [
        ("http://school.example:8501/sound-in-strips", False),
        ("https://school.example/sound-in-strips", True),
        ("http://localhost:8501/sound-in-strips", True),
        ("http://127.0.0.1/sound-in-strips", True),
        ("http://[::1]:8501/sound-in-strips", True),
        (None, True),
    ],
)
def test_where_browsers_do_not_record_it_is_said(url: str | None, may: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_sound.st, "context", SimpleNamespace(url=url))
    assert own_sound._may_record() is may


@pytest.mark.parametrize("trial", ["Rewrite a strip", "Silence patches", "Known and new voices"])
@pytest.mark.parametrize("see", ["strips: their scores", "patches: where it looks"])
def test_no_result_that_is_kept_goes_by_a_sound(see: str, trial: str, monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[str] = []
    get = engine._results.get
    monkeypatch.setattr(engine._results, "get", lambda key, *more: keys.append(repr(key)) or get(key, *more))
    app = opened("sound-in-strips", sound="a file", see=see, **{"try": trial})
    app.session_state["own_sound"] = Own(np.random.default_rng(1).random(5000, np.float32), kind="a file")
    keys.clear()
    app.run()
    assert not app.exception
    assert not keys
