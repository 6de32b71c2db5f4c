"""The models in memory, and what they read lately."""

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable

import cachetools

from hub.folders import Settings, free_memory
from hub.hugging_face import OpenModel, check_memory, load
from hub.reading import Reading, read

READINGS_BYTES = 64 * 2**20  # of what models read lately, kept so that a click is quick
READING_BYTES = 2**14  # of a reading besides its weights: the texts of its tokens


class Shelf:
    """The models in memory, at most so many, and what they read lately. The one not used for longest leaves first.

    For all threads. One model loads and one reads at a time, so that no two fight for memory or cores; what is there
    already need not wait for a model that loads. A model that cannot be opened drives out no other, unless its weights
    turn out not to fit at the very end.
    """

    def __init__(self, size: int, load: Callable[[str, Callable[[int], None]], OpenModel]) -> None:
        self._models: OrderedDict[str, OpenModel] = OrderedDict()  # the one used last is last
        self._size = size
        self._readings: cachetools.LRUCache[object, Reading] = cachetools.LRUCache(READINGS_BYTES, getsizeof=_size)
        self._lock = threading.Lock()  # of both, and held for no longer than a look
        self._loading, self._reading = threading.Lock(), threading.Lock()
        self._load = load

    def get(self, name: str) -> OpenModel:
        """The model, loaded if it is not there.

        Raises: ModelError
        """
        if (opened := self._there(name)) is not None:
            return opened
        with self._loading:
            if (opened := self._there(name)) is None:
                opened = self._load(name, self._make_room)
                with self._lock:
                    self._models[name] = opened
            return opened

    def _there(self, name: str) -> OpenModel | None:
        with self._lock:
            if name in self._models:
                self._models.move_to_end(name)
            return self._models.get(name)

    def _make_room(self, needed: int) -> None:
        """Let models leave before the next one is loaded, so that no more than allowed ever lie in memory at once.

        Raises: ModelError, and none leaves, if even without them there is not memory enough
        """
        with self._lock:
            check_memory(needed, sum(4 * opened.n_parameters for opened in self._models.values()))
            while self._models and (len(self._models) >= self._size or needed > free_memory()):
                self._models.popitem(last=False)

    def read(self, name: str, sentence: str, hidden: int | None = None) -> Reading:
        """`read` with the model of this name, remembered.

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
    """Bytes that a reading takes, about."""
    return READING_BYTES + sum(maps.weights.nbytes for maps in reading.maps)


@functools.cache
def shelf(settings: Settings) -> Shelf:
    """The one shelf of this process with these settings."""
    return Shelf(settings.kept, lambda name, make_room: load(name, settings, make_room))
