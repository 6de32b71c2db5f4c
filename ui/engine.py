"""The models that the app has loaded, and everything that runs on them: one lock, one cache, one queue.

`model(name)` loads a model when it is first needed. `trace` sends a sentence through one; `run` does any experiment on
one. Both remember their results in one cache that is bounded in bytes, and both hold one lock. `alone` does under that
lock what is not to be remembered. Work that takes longer than a moment goes to `serving.work_queue`, by `by_turns`.
"""

import ctypes
import dataclasses
import gc
import itertools
import platform
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Concatenate, ParamSpec, TypeVar

import torch

from experiments.exchange import Exchange, exchanged_pass, translate_anew
from explain import Numbers
from model.decoding.strategies import Decoding, Greedy
from model.files.loaded_model import TRANSLATOR, LoadedModel, load_model
from model.interventions import NOTHING, Interventions
from model.kept import Kept, shared
from model.trace import AnyTrace, Trace
from model.trace import trace as trace_anew
from serving.work_queue import Work

CACHE_BYTES = 128 * 2**20  # of results: a few hundred short sentences
MODEL_BYTES = 384 * 2**20  # of weights; the model used least recently leaves first
RUNS_PER_SEARCH = 1000  # of pages, between two searches for garbage in all that lives: each takes 0.1 to 0.3 s

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


# One sentence at a time goes through a model. Threads that compute side by side wait for Python's own lock at every
# small operation, up to 5 ms each time; in a queue all are served sooner.
_model_lock = threading.RLock()
_results: Kept[Any] = Kept(CACHE_BYTES, _model_lock)
_models: Kept[LoadedModel] = Kept(MODEL_BYTES, size=lambda loaded: loaded.nbytes)


def model(name: str = TRANSLATOR) -> LoadedModel:
    """A model by name, loaded when it is first needed.

    Raises: UnknownModelError; CheckpointError, naming the file and the repair
    """
    return _models.get(name, lambda: _load(name))


def _load(name: str) -> LoadedModel:
    # Many visitors at once are served better by one thread each than by all cores for one; long experiments divide
    # their own work.
    torch.set_num_threads(1)
    _just_loaded.set()
    return load_model(name)


def alone(work: Callable[[], Result]) -> Result:
    """What work on a model returns, done while no other does any; it is not remembered."""
    with _model_lock:
        return work()


def by_turns(work: Work) -> Work:
    """Long work on a model: each step of it is done alone, and between two others have their turn."""
    while True:
        try:
            progress = alone(lambda: next(work))
        except StopIteration as end:
            return end.value
        yield progress


def run(
    experiment: Callable[Concatenate[LoadedModel, Arguments], Result],
    loaded: LoadedModel,
    *args: Arguments.args,
    **kwargs: Arguments.kwargs,
) -> Result:
    """An experiment on a model, like `experiments.passes.forward`, remembered by its arguments, which can be hashed."""
    key = (experiment.__module__, experiment.__qualname__, loaded.name, args, tuple(sorted(kwargs.items())))
    return _results.get(key, lambda: experiment(loaded, *args, **kwargs))


def trace(
    source: str,
    target: str | None = None,
    decoding: Decoding = Greedy(),
    interventions: Interventions = NOTHING,
    name: str = TRANSLATOR,
) -> Trace:
    """`model.trace.trace` on a model given by name, remembered by its arguments."""
    loaded = model(name)
    key = ("trace", name, source, target, decoding, interventions)
    return _results.get(key, partial(trace_anew, loaded, source, target, decoding, interventions))


def retrace(
    of: Trace, target: str | None = None, decoding: Decoding = Greedy(), interventions: Interventions = NOTHING
) -> Trace:
    """The same sentence through the same model once more, under a change."""
    return trace(of.text, target, decoding, interventions, of.model.name)


def with_parts(of: Trace, *exchanges: Exchange) -> Trace:
    """The same sentence and translation, read by the model with some of its parts exchanged."""
    other, tensors = run(exchanged_pass, of.model, exchanges, of.src_ids, of.tgt_ids)
    return dataclasses.replace(of, model=other, tensors=tensors)


def write_anew(of: Trace, changed: Trace, most: int) -> Trace:
    """What the model of `changed` writes for the sentence by itself, up to `most` tokens.

    That is what stands in `of` already if each of its tokens is still the likeliest after those before it.
    """
    if of.finished and changed.tensors["logits"].argmax(-1).tolist() == list(of.label_ids):
        return of
    return run(translate_anew, changed.model, of.text, most)


def numbers(of: AnyTrace) -> Numbers:
    """What `explain` works out a trace's cells from."""
    return Numbers(of.tensors, of.model.weights, of.model.anatomy)


def forget() -> None:
    """Let go of every result and every model that is kept."""
    for one in (_results, _models, shared):
        one.clear()


def warm_up() -> None:
    """Load the translator and run it once, so that the first visitor need not wait for it."""
    trace("I ate an apple")


_just_loaded = threading.Event()
_pages_run: set[str] = set()
_runs = itertools.count(1)


def tidy_up(page: str) -> None:
    """Search for garbage: after the first run of a page, and after every thousandth run of the server.

    Streamlit would search after every run, for as long as the page's own work takes (`runner.postScriptGC`, which is
    off). What lives on, such as libraries, pages and results, is frozen: until the next thousandth run no search looks
    at it, nor do the small ones that Python makes all the time. Those find what later runs leave behind, so that only
    what was in use at the last search waits for the next one.
    """
    thousandth = next(_runs) % RUNS_PER_SEARCH == 0
    if thousandth or page not in _pages_run:
        _pages_run.add(page)
        if thousandth:
            gc.unfreeze()  # what has become garbage since it was frozen goes now
        gc.collect()
        gc.freeze()
    if thousandth or _just_loaded.is_set():
        _just_loaded.clear()
        give_back_memory()


def give_back_memory() -> None:
    """Return what was freed to the system, where the C library (glibc) keeps it for later: it takes 0.4 to 3 ms.

    A model that has left, and what loading one needed, would otherwise stay in the process's memory for good.
    """
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).malloc_trim(0)
