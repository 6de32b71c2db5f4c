"""Results kept in memory: no more bytes than they may take, each computed once, and none can be changed."""

import dataclasses
import functools
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np
from torch import Tensor, nn

from model.files.loaded_model import LoadedModel

SHARED_BYTES = 64 * 2**20  # for what functions under `kept` return, all together

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


def parts_of(value: object) -> list[Any]:
    """What a container holds: a mapping, a sequence, the fields of a dataclass; [] for anything else."""
    if isinstance(value, (str, int, float)):  # nearly all values: what follows takes longer
        return []
    if isinstance(value, Mapping):
        return [*value.keys(), *value.values()]
    if isinstance(value, (tuple, list, set, frozenset)):
        return list(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name) for field in dataclasses.fields(value)]
    return []


def size_of(value: Any) -> int:
    """Memory that a result takes, in bytes: its arrays, weights and texts, and a little for everything else.

    A model that a result came from is not part of it.
    """
    if isinstance(value, LoadedModel):
        return 64
    if isinstance(value, (np.ndarray, Tensor)):
        return value.nbytes
    if isinstance(value, nn.Module):
        return sum(weight.nbytes for weight in value.parameters())
    if isinstance(value, (str, bytes)):
        return 64 + len(value)
    return 64 + sum(map(size_of, parts_of(value)))


def freeze(value: Any) -> None:
    """Make every array in a result read-only, however deep it lies. A model's own are so already."""
    if isinstance(value, np.ndarray):
        value.setflags(write=False)
    elif not isinstance(value, LoadedModel):
        for part in parts_of(value):
            freeze(part)


class Kept(Generic[Result]):
    """Results by key. The one used least recently goes first when the bytes run out.

    lock: held while any result is computed; it may be held already by whoever asks. Without one, results of other keys
          are computed side by side
    """

    def __init__(self, most_bytes: int, lock: Any = None, size: Callable[[Any], int] = size_of) -> None:
        self.most_bytes, self.nbytes = most_bytes, 0
        self._lock = lock
        self._computing: dict[Hashable, Any] = {}
        self._size = size
        self._looking = threading.Lock()
        self._results: OrderedDict[Hashable, tuple[Result, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._results)

    def get(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """The result kept under this key, or computed now. Whoever asks meanwhile waits for it and gets the same."""
        found = self._look(key)
        if found:
            return found[0]
        with self._lock or self._lock_of(key):
            found = self._look(key)  # it may have come while this thread waited
            if found:
                return found[0]
            try:
                result = compute()
                freeze(result)
                self._keep(key, result)
            finally:  # a key may come from an address, so that of one that fails nothing may stay
                with self._looking:
                    self._computing.pop(key, None)
        return result

    def _lock_of(self, key: Hashable) -> Any:
        with self._looking:
            return self._computing.setdefault(key, threading.RLock())

    def clear(self) -> None:
        with self._looking:
            self._results.clear()
            self.nbytes = 0

    def _look(self, key: Hashable) -> tuple[Result, int] | None:
        with self._looking:
            if key in self._results:
                self._results.move_to_end(key)
            return self._results.get(key)

    def _keep(self, key: Hashable, result: Result) -> None:
        size = self._size(result) + size_of(key)
        with self._looking:
            if size > self.most_bytes:
                return
            self._results[key] = result, size
            self.nbytes += size
            while self.nbytes > self.most_bytes:
                self.nbytes -= self._results.popitem(last=False)[1][1]


shared: Kept[Any] = Kept(SHARED_BYTES)


def kept(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """A function whose results are kept among the shared ones, by its arguments, which can be hashed."""

    @functools.wraps(function)
    def kept_or_computed(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        key = function.__module__, function.__qualname__, args, tuple(sorted(kwargs.items()))
        return shared.get(key, lambda: function(*args, **kwargs))

    return kept_or_computed
