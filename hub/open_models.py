"""The models in memory, and their latest readings."""

import functools
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import cachetools
from safetensors import SafetensorError

from hub.export.folder import export
from hub.local_models import ModelError, Settings, check_memory, free_memory
from hub.reading_types import ModelFacts, Reading
from hub.worker import ClosedError, TooSlowError, Worker
from model.files.checkpoint import CONFIG, TOKENIZER, WEIGHTS, CheckpointError
from model.files.loaded_model import MODELS, TRANSLATOR, model_names
from processes import barriers

READINGS_BYTES = 64 * 2**20  # of readings that are kept, so that a click is answered quickly
READING_BYTES = 2**14  # of a reading without its weights: the texts of its tokens
OPENING = 2  # models at a time, but never more than there is room for; others wait
TRIES = 3  # to read with a model that others push out again
FORGIVEN_SECONDS = 300  # after which is tried again what had taken too long
OURS = "this translator"  # this project's first model; a folder cannot have this name
NO_EXPORT = (
    "The app cannot write its own model in the format of Hugging Face: the server's folder for temporary files is full "
    "or closed. Tell whoever runs it."
)
FAMILY = ("gpt-mini", "bert-mini")  # its others that have a form in transformers, where they come with the app


def own_models() -> dict[str, str]:
    """This project's own models that the library can open: their folders, by the names that are shown.

    A visitor's folder of such a name stays hidden behind them.
    """
    known = model_names()
    return {OURS: TRANSLATOR, **{name: name for name in FAMILY if name in known}}


class Opened(Protocol):
    """An open model: a Worker, or in tests a model in this process."""

    facts: ModelFacts
    closed: bool

    @property
    def busy(self) -> bool: ...
    def read(self, sentence: str, hidden: int | None = None) -> Reading: ...
    def close(self) -> None: ...


class Shelf:
    """A limited number of models in memory, and their latest readings; the least recently used leaves first.

    All threads share it. A visitor never waits for the model of another, unless two are being opened already. A model
    that cannot be opened does not push out another, except if its weights turn out not to fit at the very end. What
    many want at once is opened or read once, and what took too long is refused at once for a while.
    """

    def __init__(self, size: int, open_model: Callable[[str, Callable[[int], None]], Opened]) -> None:
        self._models: OrderedDict[str, Opened] = OrderedDict()  # least recently used first
        self._size = size
        self._readings: cachetools.LRUCache[object, Reading] = cachetools.LRUCache(READINGS_BYTES, getsizeof=_size)
        self._reading: dict[object, Future[Reading]] = {}
        self._opening: dict[str, Future[Opened]] = {}
        self._too_slow: cachetools.TTLCache[object, str] = cachetools.TTLCache(1000, FORGIVEN_SECONDS)
        self._reserved: dict[str, int] = {}  # bytes for models that are being opened
        self._lock = threading.Lock()  # of all of these; held only for a look
        self._slots = threading.BoundedSemaphore(min(OPENING, size))
        self._open_model = open_model

    def facts(self, name: str) -> ModelFacts:
        """What is known of the model of this name, which is opened if it is not in memory.

        Raises: ModelError
        """
        return self._get(name).facts

    def read(self, name: str, sentence: str, hidden: int | None = None) -> Reading:
        """`hub.reading.read` with the model of this name; the result is remembered.

        Raises: ModelError
        """
        key = name, sentence, hidden
        with self._lock:
            if key in self._readings:
                return self._readings[key]
            self._refuse(key)
            coming = self._reading.get(key)
            first = coming is None
            if coming is None:
                coming = self._reading[key] = Future()
        if first:
            self._read(key, coming)
        return coming.result()

    def names(self) -> list[str]:
        """Names of the models in memory."""
        with self._lock:
            return list(self._models)

    def freeable(self) -> int:
        """Bytes that the weights of the models in memory take."""
        with self._lock:
            return self._freeable()

    def _freeable(self) -> int:
        return sum(4 * opened.facts.n_parameters for opened in self._models.values())

    def _refuse(self, key: object) -> None:
        """Raises: ModelError if this took too long a moment ago"""
        if (told := self._too_slow.get(key)) is not None:
            raise ModelError(told)

    def _read(self, key: tuple[str, str, int | None], coming: Future[Reading]) -> None:
        """Read a sentence for all who wait for it."""
        try:
            reading = self._try(*key)
            with self._lock:
                if _size(reading) <= READINGS_BYTES:
                    self._readings[key] = reading
        except BaseException as error:
            self._fail(key, coming, error)
        else:
            coming.set_result(reading)
        finally:
            with self._lock:
                del self._reading[key]

    def _fail(self, key: object, coming: Future[Any], error: BaseException) -> None:
        if isinstance(error, TooSlowError):
            with self._lock:
                self._too_slow[key] = str(error)
        coming.set_exception(error)

    def _try(self, name: str, sentence: str, hidden: int | None) -> Reading:
        for _ in range(TRIES):
            try:
                return self._get(name).read(sentence, hidden)
            except ClosedError:  # it had to make room for another a moment ago, or has ended
                continue
        raise ModelError("Too many visitors look at different models right now; try again in a moment.")

    def _get(self, name: str) -> Opened:
        with self._lock:
            if name in self._models and not self._models[name].closed:
                self._models.move_to_end(name)
                return self._models[name]
            self._models.pop(name, None)
            self._refuse(name)
            opening = self._opening.get(name)
            first = opening is None
            if opening is None:
                opening = self._opening[name] = Future()
        if first:
            self._open(name, opening)
        return opening.result()

    def _open(self, name: str, opening: Future[Opened]) -> None:
        """Open a model for all who wait for it."""
        try:
            with self._slots:
                opened = self._open_model(name, lambda needed: self._make_room(name, needed))
                with self._lock:  # before the next one is opened, which may have to push this one out
                    self._models[name] = opened
        except BaseException as error:
            self._fail(name, opening, error)
        else:
            opening.set_result(opened)
        finally:
            with self._lock:
                del self._opening[name]
                self._reserved.pop(name, None)

    def _make_room(self, name: str, needed: int) -> None:
        """Close models before the next one is loaded, so that there are never more in memory than allowed.

        Raises: ModelError, and closes none, if even without them there is not enough memory
        """
        while True:
            with self._lock:
                others = sum(self._reserved.values())
                check_memory(needed + others, self._freeable())
                full = len(self._models) + len(self._reserved) >= self._size
                if not self._models or not (full or needed + others > free_memory()):
                    self._reserved[name] = needed
                    return
                oldest = next(
                    (one for one, opened in self._models.items() if not opened.busy), next(iter(self._models))
                )
                leaving = self._models.pop(oldest)
            leaving.close()  # without the lock: it may be reading


def _size(reading: Reading) -> int:
    """About how many bytes a reading takes."""
    return READING_BYTES + sum(maps.weights.nbytes for maps in reading.maps)


def confinement(settings: Settings) -> str:
    """What visitors must know of how strangers' models are shut in here; empty if every barrier holds."""
    return barriers.notice(barriers.missing(), settings.unconfined)


@functools.cache
def shelf(settings: Settings) -> Shelf:
    """The shelf that all visitors share."""
    return Shelf(settings.kept, functools.partial(_open_in_worker, settings))


def _open_in_worker(settings: Settings, name: str, make_room: Callable[[int], None]) -> Worker:
    freeable = shelf(settings).freeable()
    if (own := own_models().get(name)) is not None:  # no stranger's: it opens whatever holds
        settings = replace(settings, root=_exported(own), unconfined=True)
    return Worker(own or name, settings, make_room, freeable)


def _exported(name: str) -> Path:
    """A root with one of this project's models in the Hugging Face format; it is removed when the app ends.

    It is written again if it is gone, as a system may clean its folder for temporary files.

    Raises: ModelError if a file of the model is missing or damaged, or there is no room for the export
    """
    with _exporting:
        there = _exports.get(name)
        if there is not None and all(
            (Path(there.name) / name / file).is_file() for file in (CONFIG, TOKENIZER, WEIGHTS)
        ):
            return Path(there.name)
        _forget_export(name)
        try:
            folder = _exports[name] = tempfile.TemporaryDirectory(prefix="exported-", ignore_cleanup_errors=True)
            export(Path(folder.name) / name, MODELS / name)
        except (CheckpointError, OSError, SafetensorError) as error:
            _forget_export(name)
            raise ModelError(str(error) if isinstance(error, CheckpointError) else NO_EXPORT) from error
        return Path(folder.name)


def _forget_export(name: str) -> None:
    if (folder := _exports.pop(name, None)) is not None:
        folder.cleanup()


_exports: dict[str, tempfile.TemporaryDirectory[str]] = {}
_exporting = threading.Lock()
