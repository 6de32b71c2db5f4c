"""What a worker tells the app arrives as it was; what it must not tell is no answer."""

import json
import threading
from dataclasses import replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import pytest

from hub import messages
from hub.attention import AttentionMaps
from hub.local_models import ModelError
from hub.messages import BrokenAnswerError, heard, tell
from hub.reading_types import Covered, ModelFacts, Prediction, Reading
from hub.worker import SPARE_BYTES

FACTS = ModelFacts("encoder", "bert", 1234, 128, "[MASK]", True)
WORDS = ("<b>", "ฉัน", "\ud83d", "\x00", "🐶")


def reading() -> Reading:
    weights = np.random.default_rng(3).dirichlet(np.ones(5), (2, 3, 5)).astype(np.float32)
    one = AttentionMaps("encoder", weights, WORDS, WORDS, (-1, 0, 0, 1, -1), (0, 1, 2, 3, 4), WORDS, WORDS)
    two = AttentionMaps("cross", weights[..., :2], WORDS, ("a", "b"), (0, 1, 2, 3, 4), (0, 1))
    guesses = (Prediction("cat", 0.1), Prediction("dog", 1 / 3))
    return Reading(WORDS, 2, (one, two), "piece 1", guesses, "cat", Covered("dog", 1e-300, 7, 120))


def passed(answer: Any, expected: Any) -> Any:
    """What arrives of an answer."""
    ours, theirs = Pipe()
    sender = threading.Thread(target=tell, args=(theirs, answer))
    sender.start()
    try:
        return heard(ours, expected)
    finally:
        sender.join()


def test_a_reading_arrives_bit_for_bit() -> None:
    sent = reading()
    came = passed(sent, Reading)
    assert [one.weights.tobytes() for one in came.maps] == [one.weights.tobytes() for one in sent.maps]
    for left, right in zip(came.maps, sent.maps, strict=True):
        assert vars(left) | {"weights": 0} == vars(right) | {"weights": 0}
    assert vars(came) | {"maps": 0} == vars(sent) | {"maps": 0}


def test_facts_bytes_and_errors_arrive() -> None:
    assert passed(FACTS, ModelFacts) == FACTS
    assert passed(2**40, int) == 2**40
    with pytest.raises(ModelError, match=r"^No <b>\.$") as told:
        passed(ModelError("No <b>.", "KeyError: x" * 100), Reading)
    assert told.value.detail == ("KeyError: x" * 100)[: messages.MAX_ERROR]


def test_texts_are_cut_to_what_is_shown() -> None:
    """A token of megabytes would keep the page's process busy for seconds."""
    long, sent = "x" * 10**5, reading()
    longs = (long,) * 5
    one = replace(sent.maps[0], rows=longs, columns=longs, row_wholes=longs, column_wholes=longs)
    guess, covered = Prediction(long, 0.1), Covered(long, 0.1, 7, 120)
    came = passed(Reading(longs, 2, (one,), long, (guess,), long, covered), Reading)
    texts = [*came.tokens, came.predictions[0].text, came.covered.text, *came.maps[0].rows, *came.maps[0].columns]
    texts += [*came.maps[0].row_wholes, *came.maps[0].column_wholes]
    assert set(texts) == {"x" * 59 + "…"}
    assert (len(came.predicted), len(came.written)) == (120, 48 * 60)
    facts = passed(replace(FACTS, model_type=long, mask_token=long), ModelFacts)
    assert facts.model_type == facts.mask_token == "x" * 59 + "…"


def test_what_is_too_large_to_be_shown_is_said_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match="more of this sentence than can be shown"):
        passed(Reading(("x" * 2**22,), 0, (), "", (), ""), Reading)
    assert messages.MAX_WEIGHT_BYTES <= SPARE_BYTES, "the app has room for it"
    monkeypatch.setattr(messages, "MAX_WEIGHT_BYTES", 800)
    with pytest.raises(ModelError, match="more of this sentence than can be shown"):
        passed(reading(), Reading)


def said(*parts: bytes) -> Connection:
    """The app's end of the pipe to a worker that has said this."""
    ours, theirs = Pipe()
    for part in parts:
        theirs.send_bytes(part)
    theirs.close()
    return ours


def with_changes(**changes: Any) -> bytes:
    plain = messages._plain(reading())
    plain["maps"] = [plain["maps"][0] | changes.pop("maps", {})]
    return json.dumps(plain | changes).encode()


WEIGHTS = bytes(2 * 3 * 5 * 5 * 4)


@pytest.mark.parametrize(
    "parts",
    [
        (b"",),
        (b"null",),
        (b"7",),
        (b"[" * 100_000,),
        (b'{"tokens": 9' + b"9" * 5000 + b"}",),
        (b"\x80\x05cos\nsystem\n(S'true'\ntR.",),
        (b'{"bytes": 7}',),
        (with_changes(tokens=None), WEIGHTS),
        (with_changes(n_cut="many"), WEIGHTS),
        (with_changes(predictions=[{}]), WEIGHTS),
        (with_changes(covered=[1]), WEIGHTS),
        (with_changes(maps={"kind": "<script>"}), WEIGHTS),
        (with_changes(maps={"rows": ["a"]}), WEIGHTS),
        (with_changes(maps={"weights": [2, 3, 5]}), WEIGHTS),
        (with_changes(maps={"weights": [-2, -3, 5, 5]}), WEIGHTS),
        (with_changes(maps={"weights": [10**6, 10**6, 5, 5]}), WEIGHTS),
        (with_changes(maps={"weights": [10**60] * 4}), WEIGHTS),
        (with_changes(), WEIGHTS[:-4]),
    ],
)
def test_what_is_no_answer(parts: tuple[bytes, ...]) -> None:
    with pytest.raises(BrokenAnswerError):
        heard(said(*parts), Reading)


def test_more_than_is_taken_and_an_early_end() -> None:
    with pytest.raises(OSError, match="bad message length"):
        heard(said(with_changes(), WEIGHTS + bytes(4)), Reading)
    with pytest.raises(EOFError):
        heard(said(with_changes()), Reading)
    with pytest.raises(EOFError):
        heard(said(), Reading)
