"""The one loaded model and the traces of recent sentences, shared by all visitors."""

import functools
import gc
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

import cachetools
import torch

from explain import Numbers
from model.decoding import Decoding, Greedy
from model.interventions import NOTHING, Interventions
from model.trace import Array, Machine, Trace, load_machine
from model.trace import trace as trace_anew

CACHE_BYTES = 64 * 2**20  # about a hundred short sentences

_cache: cachetools.LRUCache[object, Trace] = cachetools.LRUCache(CACHE_BYTES, getsizeof=lambda trace: trace.nbytes)
_lock = threading.Lock()
# One sentence at a time goes through the model. Threads that compute side by side wait for Python's own lock at every
# small operation, up to 5 ms each time; in a queue all are served sooner.
turn = threading.Lock()
_CORES = torch.get_num_threads()


@functools.cache
def machine() -> Machine:
    """The shipped model.

    Raises: CheckpointError, naming the file and the repair
    """
    # Many visitors at once are served better by one thread each than by all cores for one.
    torch.set_num_threads(1)
    return load_machine()


@functools.cache
def weights(twin: bool = False) -> Mapping[str, Array]:
    """The learned matrices by name, as read-only arrays; with `twin` the random ones."""
    model = machine().twin if twin else machine().model
    found = {name: w.cpu().numpy() for name, w in model.state_dict().items()}
    for array in found.values():
        array.setflags(write=False)
    return MappingProxyType(found)


def numbers(trace: Trace, twin: bool = False) -> Numbers:
    """What `explain` works out a trace's cells from."""
    return Numbers(trace.tensors, weights(twin))


@contextmanager
def whole_turn() -> Iterator[None]:
    """A turn with every core: for dozens of runs at once, the only ones long enough to be worth dividing."""
    with turn:
        torch.set_num_threads(_CORES)
        try:
            yield
        finally:
            torch.set_num_threads(1)


def warm_up() -> None:
    """Load the model and run it once, so that the first visitor need not wait for it."""
    machine()
    trace("I ate an apple")
    settle("")


@functools.cache
def settle(page: str) -> None:
    """Once for each page, after its first run: set aside what lives on, such as the libraries the page has loaded.

    Streamlit searches all objects for garbage after every run of every visitor. What is frozen is not searched again,
    which takes about as long as the page's own work.
    """
    gc.collect()
    gc.freeze()


def trace(
    source: str,
    target: str | None = None,
    decoding: Decoding = Greedy(),
    interventions: Interventions = NOTHING,
    twin: bool = False,
) -> Trace:
    """`model.trace.trace` on the shipped model, remembered by its arguments."""
    key = (source, target, decoding, interventions, twin)
    with _lock:
        if key in _cache:
            return _cache[key]
    with turn:
        result = trace_anew(machine(), source, target, decoding, interventions, twin)
    with _lock:
        if result.nbytes <= CACHE_BYTES:
            _cache[key] = result
    return result
