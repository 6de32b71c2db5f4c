"""Models in processes of their own: whatever a stranger's files make a library do, the app and its visitors go on.

A library that reads such files may crash, hang or take all memory. So each model gets a worker: a process that is split
off from one that has imported the libraries (`processes.nursery`), with limits on time and memory. A worker that ends
takes nothing with it.

App and worker talk through a pipe, in turns:

    app                worker
    name, settings,    the bytes that the weights will take
    limits
    True               ModelFacts
    sentence, hidden   Reading                                  again and again
    None               ends

The worker answers with a ModelError where something is wrong.
"""

import os
import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from hub.folders import ModelError, Settings, free_memory
from hub.results import ModelFacts, Reading
from processes.nursery import Nursery, limit_memory

OPEN_SECONDS, READ_SECONDS = 120, 60  # after which a worker is ended
SPARE_BYTES = 2**28  # of memory, left to the app


class Limits(NamedTuple):
    """Seconds to open a model and to read one sentence, and bytes of memory beyond the libraries'."""

    opening: int
    reading: int
    memory: int


class ClosedError(Exception):
    """The worker was closed to make room for another model; opening the model again helps."""


class Worker:
    """A model that is open in a process of its own. For all threads; it reads one sentence at a time.

    facts: what is known of the model; closed: whether the worker has ended
    """

    facts: ModelFacts

    def __init__(self, name: str, settings: Settings, make_room: Callable[[int], None]) -> None:
        """Args:   make_room: called with the bytes that the weights will take; it may raise ModelError
        Raises: ModelError if the model cannot be opened
        """
        self._lock = threading.Lock()
        try:
            self._connection = _nursery.split_off()
        except OSError as error:
            raise ModelError("The server cannot start a process for another model; try again later.") from error
        self.closed = False
        try:
            limits = Limits(OPEN_SECONDS, READ_SECONDS, max(0, free_memory() - SPARE_BYTES))
            make_room(self._ask((name, settings, limits), OPEN_SECONDS))
            self.facts = self._ask(True, OPEN_SECONDS)
        except ModelError:
            self.close()
            raise

    def read(self, sentence: str, hidden: int | None = None) -> Reading:
        """`hub.reading.read` in the worker.

        Raises: ModelError; ClosedError
        """
        with self._lock:
            if self.closed:
                raise ClosedError
            reading: Reading = self._ask((sentence, hidden), READ_SECONDS)
            return reading

    def close(self) -> None:
        """End the worker, once it has read what it is reading, and wait until its memory is free."""
        with self._lock:
            if not self.closed:
                self._end()

    def _end(self) -> None:
        self.closed = True
        try:
            self._connection.send(None)
            while True:  # memory is freed before the pipe is
                self._connection.recv()
        except (EOFError, OSError):
            self._connection.close()

    def _ask(self, request: object, seconds: int) -> Any:
        """The worker's answer.

        Raises: ModelError, if that is the answer or the worker died
        """
        begun = time.monotonic()
        try:
            self._connection.send(request)
            answer = self._connection.recv()
        except (EOFError, OSError) as error:
            self.closed = True
            self._connection.close()
            if time.monotonic() - begun > seconds - 1:
                raise ModelError(f"The model took longer than {seconds} seconds, so it was stopped.") from error
            raise ModelError("The model's files make the library that reads them crash.") from error
        if isinstance(answer, ModelError):
            raise answer
        return answer


_nursery = Nursery("hub.worker")


def warm_up() -> None:
    """Import the libraries, once for all workers."""
    import hub.reading  # noqa: F401


def serve(app: Connection) -> None:
    """Open one model, then read sentences with it, until the app says None or has gone."""
    import torch

    from hub.hugging_face import load
    from hub.reading import read

    torch.set_num_threads(1)

    def make_room(needed: int) -> None:
        signal.alarm(0)  # the app may have to wait for others
        app.send(needed)
        if app.recv() is None:
            os._exit(0)
        signal.alarm(limits.opening)

    try:
        name, settings, limits = app.recv()
        limit_memory(limits.memory)
        opened = attempt(partial(load, name, settings, make_room), limits.opening)
        app.send(opened if isinstance(opened, ModelError) else opened.facts)
        while (request := app.recv()) is not None:
            app.send(attempt(partial(read, opened, *request), limits.reading))
    except (EOFError, OSError):
        pass


def attempt(job: Callable[[], Any], seconds: int) -> Any:
    """The result of a job, or a ModelError; the system ends this process if it takes too long."""
    from hub.hugging_face import model_error

    signal.alarm(seconds)  # whatever the libraries are doing then
    try:
        return job()
    except BaseException as error:  # a panic of a library written in Rust is not an Exception
        return model_error(error, "The library that reads the model fails")
    finally:
        signal.alarm(0)
