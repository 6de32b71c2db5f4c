"""What a worker may tell the app: a few plain values, and arrays of numbers.

The app does not trust a worker that has read a stranger's files. So an answer is JSON, followed by the weights of each
map as they lie in memory: nothing in it can make the app run code (as a pickle could) or take more memory than it has
room for.
"""

import json
import math
from dataclasses import asdict
from multiprocessing.connection import Connection
from typing import Any, TypeVar, cast, get_args

import numpy as np

from hub.attention import AttentionMaps
from hub.local_models import ModelError
from hub.reading_types import Covered, Kind, ModelFacts, Prediction, Reading

MAX_TEXT_BYTES = 2**22  # of an answer without its weights
MAX_WEIGHT_BYTES = 2**28  # of all heads on one sentence; 80 layers of 64 heads on 100 tokens take 205 MB
MAX_ERROR = 500  # characters of a sentence about what is wrong

Answer = int | ModelFacts | Reading | ModelError
Expected = TypeVar("Expected", int, ModelFacts, Reading)


class BrokenAnswerError(Exception):
    """The worker has said something that is no answer."""


def tell(app: Connection, answer: Answer) -> None:
    """Send an answer from a worker, or, if it is too large to be shown, a ModelError that says so."""
    maps = answer.maps if isinstance(answer, Reading) else ()
    text = json.dumps(_plain(answer)).encode()
    if len(text) > MAX_TEXT_BYTES or sum(one.weights.nbytes for one in maps) > MAX_WEIGHT_BYTES:
        tell(app, ModelError("The model makes more of this sentence than can be shown; choose a shorter one."))
        return
    app.send_bytes(text)
    for one in maps:
        app.send_bytes(np.ascontiguousarray(one.weights, np.float32).data.cast("B"))


def heard(worker: Connection, expected: type[Expected]) -> Expected:
    """The answer of a worker, of the kind that is expected.

    Raises: ModelError, if that is the answer; BrokenAnswerError; EOFError or OSError if the worker has ended
    """
    text = worker.recv_bytes(MAX_TEXT_BYTES)
    try:
        plain = json.loads(text)
        if "error" in plain:
            raise ModelError(str(plain["error"])[:MAX_ERROR])
        answer = _answer(plain, worker)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise BrokenAnswerError from error
    if not isinstance(answer, expected):
        raise BrokenAnswerError
    return answer


def _answer(plain: dict[str, Any], worker: Connection) -> int | ModelFacts | Reading:
    if "bytes" in plain:
        return int(plain["bytes"])
    return _reading(plain, worker) if "maps" in plain else _facts(plain)


def _plain(answer: Answer) -> dict[str, Any]:
    if isinstance(answer, ModelError):
        return {"error": str(answer)[:MAX_ERROR]}
    if isinstance(answer, int):
        return {"bytes": answer}
    if isinstance(answer, ModelFacts):
        return asdict(answer)
    maps = [{**vars(one), "weights": one.weights.shape} for one in answer.maps]
    predictions = [asdict(one) for one in answer.predictions]
    covered = None if answer.covered is None else asdict(answer.covered)
    return {**vars(answer), "maps": maps, "predictions": predictions, "covered": covered}


def _facts(plain: dict[str, Any]) -> ModelFacts:
    mask = plain["mask_token"]
    return ModelFacts(
        _kind(plain["kind"]),
        str(plain["model_type"]),
        int(plain["n_parameters"]),
        int(plain["longest"]),
        None if mask is None else str(mask),
        bool(plain["predicts"]),
    )


def _reading(plain: dict[str, Any], worker: Connection) -> Reading:
    shapes = [tuple(int(n) for n in one["weights"]) for one in plain["maps"]]
    if any(n < 1 for shape in shapes for n in shape) or 4 * sum(map(math.prod, shapes)) > MAX_WEIGHT_BYTES:
        raise ValueError("sizes that no weights can have")
    covered = plain["covered"]
    return Reading(
        _texts(plain["tokens"]),
        int(plain["n_cut"]),
        tuple(_maps(one, shape, worker) for one, shape in zip(plain["maps"], shapes, strict=True)),
        str(plain["predicted"]),
        tuple(Prediction(str(one["text"]), float(one["probability"])) for one in plain["predictions"]),
        str(plain["written"]),
        None if covered is None else _covered(covered),
    )


def _covered(plain: dict[str, Any]) -> Covered:
    return Covered(str(plain["text"]), float(plain["probability"]), int(plain["rank"]), int(plain["among"]))


def _maps(plain: dict[str, Any], shape: tuple[int, ...], worker: Connection) -> AttentionMaps:
    kind = str(plain["kind"])
    if kind not in ("encoder", "decoder", "cross") or len(shape) != 4:
        raise ValueError("no map of weights")
    weights = np.frombuffer(worker.recv_bytes(4 * math.prod(shape)), np.float32).reshape(shape)
    return AttentionMaps(
        kind,
        weights,
        _texts(plain["rows"]),
        _texts(plain["columns"]),
        tuple(int(n) for n in plain["row_words"]),
        tuple(int(n) for n in plain["column_words"]),
        _texts(plain["row_wholes"]),
        _texts(plain["column_wholes"]),
    )


def _kind(text: object) -> Kind:
    if text not in get_args(Kind):
        raise ValueError("no kind of model")
    return cast(Kind, text)


def _texts(values: list[object]) -> tuple[str, ...]:
    return tuple(str(value) for value in values)
