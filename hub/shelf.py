"""The models in memory, and their latest readings."""

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable

import cachetools

from hub.folders import Settings, free_memory
from hub.hugging_face import OpenModel, check_memory, load
from hub.reading import Reading, read

READINGS_BYTES = 64 * 2**20  # of readings that are kept, so that a click is answered quickly
READING_BYTES = 2**14  # of a reading without its weights: the texts of its tokens


class Shelf:
    """A limited number of models in memory, and their latest readings; the least recently used leaves first.

    All threads share it. One model at a time is loaded and one at a time reads, so that two never compete for memory
    or cores. A model in memory need not wait until another is loaded. A model that cannot be opened does not push out
    another, except if its weights turn out not to fit at the very end.
    """

    def __init__(self, size: int, load: Callable[[str, Callable[[int], None]], OpenModel]) -> None:
        self._models: OrderedDict[str, OpenModel] = OrderedDict()  # least recently used first
        self._size = size
        self._readings: cachetools.LRUCache[object, Reading] = cachetools.LRUCache(READINGS_BYTES, getsizeof=_size)
        self._lock = threading.Lock()  # of models and readings; held only for a look
        self._loading, self._reading = threading.Lock(), threading.Lock()
        self._load = load

    def get(self, name: str) -> OpenModel:
        """The model of this name, loaded if it is not in memory.

        Raises: ModelError
        """
        if (opened := self._in_memory(name)) is not None:
            return opened
        with self._loading:
            if (opened := self._in_memory(name)) is None:
                opened = self._load(name, self._make_room)
                with self._lock:
                    self._models[name] = opened
            return opened

    def _in_memory(self, name: str) -> OpenModel | None:
        with self._lock:
            if name in self._models:
                self._models.move_to_end(name)
            return self._models.get(name)

    def _make_room(self, needed: int) -> None:
        """Drop models before the next one is loaded, so that there are never more in memory than allowed.

        Raises: ModelError, and drops none, if even without them there is not enough memory
        """
        with self._lock:
            check_memory(needed, sum(4 * opened.n_parameters for opened in self._models.values()))
            while self._models and (len(self._models) >= self._size or needed > free_memory()):
                self._models.popitem(last=False)

    def read(self, name: str, sentence: str, hidden: int | None = None) -> Reading:
        """`hub.reading.read` with the model of this name; the result is remembered.

        Raises: ModelError
        """
        key = name, sentence, hidden
        with self._lock:
            if key in self._readings:
                return self._readings[key]
        opened = self.get(name)
        with self._reading:
            reading = read(opened, sentence, hidden)
        if _size(reading) <= READINGS_BYTES:
            with self._lock:
                self._readings[key] = reading
        return reading

    def names(self) -> list[str]:
        """Names of the models in memory."""
        with self._lock:
            return list(self._models)


def _size(reading: Reading) -> int:
    """About how many bytes a reading takes."""
    return READING_BYTES + sum(maps.weights.nbytes for maps in reading.maps)


@functools.cache
def shelf(settings: Settings) -> Shelf:
    """The shelf that all visitors share."""
    return Shelf(settings.kept, lambda name, make_room: load(name, settings, make_room))
