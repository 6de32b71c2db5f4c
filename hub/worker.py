"""Models in processes of their own: whatever a stranger's files make a library do, the app and its visitors go on.

A library that reads such files may crash, hang or take all memory. So each model gets a worker: a process that is split
off from one that has imported the libraries (`processes.fork_server`), with limits on time and memory, and no way to
write a file, to reach a network or to start another process (`processes.sandbox`). Where one of these barriers does not
hold, it opens no stranger's model, unless the operator wants that. A worker that ends takes nothing with it, and the
model is opened again when somebody wants it.

App and worker talk through a pipe, in turns:

    app                worker
    name, settings,    the bytes that the weights will take
    limits
    True               ModelFacts
    sentence, hidden   Reading                                  again and again

The worker answers with a ModelError where something is wrong. `hub.messages` has the form of its answers.
"""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from multiprocessing.connection import Connection
from typing import NamedTuple, TypeVar

from hub.fair_lock import Line
from hub.local_models import NO_MEMORY, ModelError, Settings, folder_of, free_memory
from hub.messages import BrokenAnswerError, Expected, heard, tell
from hub.reading_types import ModelFacts, Reading
from processes.barriers import refusal
from processes.fork_server import ForkServer, limit_memory
from processes.sandbox import confine

CHECK_SECONDS, LOAD_SECONDS, READ_SECONDS = 60, 120, 60  # after which a worker is ended
WAIT_SECONDS = 60  # in line for a sentence
GRACE_SECONDS = 5  # after which the app ends a worker that should have ended by itself
LIFE_SECONDS = 3600  # of processor time, after which a worker makes room for a fresh one
SPARE_BYTES = 2**28  # of memory, left to the app
WORKING_BYTES = 3 * 2**29  # of memory beyond the weights: vocabulary, reading
COPIES = 5  # of the weights' files that may be in memory while they are turned into 32-bit numbers
NICENESS = 3  # pages go first, by two to one, and trainings last
CRASH = "The model's files make the library that reads them crash."
PANIC = "The library that reads the model fails on its files, so one of them is damaged."
# The library reaches for no network, and loads weights without threads, which a worker cannot have.
ENVIRONMENT = {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "HF_DEACTIVATE_ASYNC_LOAD": "1"}

Answer = TypeVar("Answer")


class Limits(NamedTuple):
    """Seconds to check a model's files, to load its weights and to read one sentence; bytes of memory."""

    checking: int
    loading: int
    reading: int
    memory: int


class ClosedError(Exception):
    """The worker was closed to make room for another model, or has ended; opening the model again helps."""


class TooSlowError(ModelError):
    """The worker was ended because it took too long."""


class Worker:
    """A model that is open in a process of its own. For all threads; it reads one sentence at a time.

    facts: what is known of the model; closed: whether the worker has ended or is about to
    """

    facts: ModelFacts

    def __init__(self, name: str, settings: Settings, make_room: Callable[[int], None], freeable: int = 0) -> None:
        """Args:   make_room: called with the bytes that the weights will take; it may raise ModelError
                freeable: bytes that it could free
        Raises: ModelError if the model cannot be opened
        """
        self._line, self._ending = Line(), threading.Lock()
        settings = replace(settings, root=settings.root.absolute())  # a worker works in another folder
        limits = Limits(CHECK_SECONDS, LOAD_SECONDS, READ_SECONDS, memory_for(name, settings, freeable))
        try:
            self._child = _fork_server.split_off()
        except OSError as error:
            raise ModelError("The server cannot start a process for another model; try again later.") from error
        self.closed = False
        try:
            make_room(self._ask((name, settings, limits), limits.checking, int))
            self.facts = self._ask(True, limits.loading, ModelFacts)
        except BaseException as error:
            self.close()
            if isinstance(error, ClosedError):
                raise ModelError(CRASH) from error
            raise

    @property
    def busy(self) -> bool:
        """Whether it is reading a sentence."""
        return self._line.taken

    def read(self, sentence: str, hidden: int | None = None) -> Reading:
        """`hub.reading.read` in the worker, in the order in which sentences come.

        Raises: ModelError; ClosedError
        """
        if not self._line.enter(WAIT_SECONDS):
            raise ModelError("Too many visitors use this model right now; try again in a moment.")
        try:
            if self.closed or self._has_ended():
                raise ClosedError
            return self._ask((sentence, hidden), READ_SECONDS, Reading)
        finally:
            self._line.leave()

    def close(self) -> None:
        """End the worker, once it has read what it is reading, and wait until its memory is free."""
        self.closed = True
        its_turn = self._line.enter(READ_SECONDS + 2 * GRACE_SECONDS)
        self._end()
        if its_turn:
            self._line.leave()

    def _has_ended(self) -> bool:
        """Whether it has ended while nobody asked anything."""
        with contextlib.suppress(OSError):
            if not self._child.poll():
                return False
        self._end()
        return True

    def _end(self) -> None:
        self.closed = True
        with self._ending:
            if self._child.closed:
                return
            self._child.kill()
            with contextlib.suppress(EOFError, OSError):
                while True:  # memory is freed before the pipe is
                    self._child.recv_bytes()
            self._child.close()

    def _ask(self, request: object, seconds: int, expected: type[Expected]) -> Expected:
        """The worker's answer.

        Raises: ModelError, if that is the answer or the worker died of the request; ClosedError if it died before
        """
        begun = time.monotonic()
        watchdog = threading.Timer(seconds + GRACE_SECONDS, self._child.kill)
        watchdog.daemon = True
        watchdog.start()
        try:
            self._child.send(request)
            return heard(self._child, expected)
        except (BrokenPipeError, ConnectionResetError) as error:  # it never took the request
            self._end()
            raise ClosedError from error
        except (EOFError, OSError, BrokenAnswerError) as error:
            self._end()
            if time.monotonic() - begun > seconds - 1:
                raise TooSlowError(f"The model took longer than {seconds} seconds, so it was stopped.") from error
            raise ModelError(CRASH) from error
        finally:
            watchdog.cancel()


_fork_server = ForkServer("hub.worker", **ENVIRONMENT)


def memory_for(name: str, settings: Settings, freeable: int = 0) -> int:
    """Bytes that a worker may take for a model: what its files call for, as far as it is free or can be freed.

    Args:   freeable: bytes that the app itself could free
    Raises: ModelError if no model can have this name, or nothing is free
    """
    folder = folder_of(name, settings.root)
    try:
        files = [path.stat() for path in folder.glob("*.safetensors")] if folder else []
    except OSError as error:  # a link to nowhere
        raise ModelError("The model's safetensors file is damaged.") from error
    free = free_memory() + freeable - SPARE_BYTES  # a limit is set once, before room is made
    memory = min(free, COPIES * sum(file.st_size for file in files) + WORKING_BYTES)
    if memory <= 0:
        raise ModelError(NO_MEMORY)
    return memory


def warm_up() -> None:
    """Import the libraries, once for all workers."""
    import hub.reading  # noqa: F401


def serve(app: Connection) -> None:
    """Open one model, then read sentences with it, until the app has gone or the worker is worn out."""
    import torch

    from hub.hugging_face import load
    from hub.reading import read

    torch.set_num_threads(1)

    def make_room(needed: int) -> None:
        signal.alarm(0)  # the app may have to wait for others
        tell(app, needed)
        if app.recv() is not True:
            os._exit(0)
        signal.alarm(limits.loading)

    with contextlib.suppress(EOFError, OSError):
        name, settings, limits = app.recv()
        missing = shut_in(settings, limits)
        if missing and not settings.unconfined:
            tell(app, ModelError(refusal(missing)))
            return
        opened, sound = attempt(partial(load, name, settings, make_room), limits.checking)
        if isinstance(opened, ModelError):
            tell(app, opened)
            return
        tell(app, opened.facts)
        while sound and time.process_time() < LIFE_SECONDS - limits.reading:
            request = app.recv()
            answer, sound = attempt(partial(read, opened, *request), limits.reading)
            tell(app, answer)


def shut_in(settings: Settings, limits: Limits) -> tuple[str, ...]:
    """Leave the process nothing but to read the models' files and to answer. Returns: the barriers that do not hold"""
    os.setpriority(os.PRIO_PROCESS, 0, NICENESS)
    silence = os.open(os.devnull, os.O_RDWR)
    for output in (1, 2):  # a stranger's files must neither fill the server's log nor write to its terminal
        os.dup2(silence, output)
    limit_memory(limits.memory)
    return confine([settings.root.resolve()], LIFE_SECONDS, limits.memory)


def attempt(job: Callable[[], Answer], seconds: int) -> tuple[Answer | ModelError, bool]:
    """The result of a job, or a ModelError; and whether the libraries are fit to go on.

    The system ends this process if it takes too long.
    """
    from hub.hugging_face import model_error

    signal.alarm(seconds)  # whatever the libraries are doing then
    try:
        return job(), True
    except ModelError as error:
        return error, True
    except BaseException as error:  # a panic of a library written in Rust is not an Exception
        return model_error(error, PANIC), False
    finally:
        signal.alarm(0)
