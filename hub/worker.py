"""Models in processes of their own: whatever a stranger's files make a library do, the app and its visitors go on.

A library that reads such files may crash, hang or take all memory. So the first model starts one process, the nursery,
that imports the libraries; it splits off (forks) a worker for each model, with limits on time and memory. A worker that
ends takes nothing with it.

App and worker talk through a pipe, in turns:

    app                worker
    name, settings,    the bytes that the weights will take
    limits
    True               ModelFacts
    sentence, hidden   Reading                                  again and again
    None               ends

The worker answers with a ModelError where something is wrong.
"""

import atexit
import gc
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from hub.folders import HERE, ModelError, Settings, free_memory
from hub.results import ModelFacts, Reading

OPEN_SECONDS, READ_SECONDS = 120, 60  # after which a worker is ended
SPARE_BYTES = 2**28  # of memory, left to the app
# Only a process with one thread can be split safely.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}


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
        self._connection = _nursery.split_off()
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


class _Nursery:
    """The process that splits off workers; started when it is first needed, and again if it has died."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def split_off(self) -> Connection:
        """Raises: ModelError if no process can be started"""
        ours, theirs = Pipe()
        with self._lock, theirs:
            try:
                if self._process is None or self._control is None or self._process.poll() is not None:
                    self._start()
                assert self._control is not None
                socket.send_fds(self._control, [b"fork"], [theirs.fileno()])
            except OSError as error:
                ours.close()
                raise ModelError("The server cannot start a process for another model; try again later.") from error
        return ours

    def _start(self) -> None:
        if self._control is not None:
            self._control.close()
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "hub.worker", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                cwd=HERE,
                stdin=subprocess.DEVNULL,
                env=os.environ | ONE_THREAD,
            )
        atexit.register(self.stop)

    def stop(self) -> None:
        """End the nursery. Workers end by themselves, when the app closes their pipes."""
        if self._process is not None and self._control is not None:
            self._control.close()
            self._process.wait()
        self._process = self._control = None


_nursery = _Nursery()


def nurse(control: socket.socket) -> None:
    """Import the libraries, then split off a worker for each pipe that arrives, until the app has gone."""
    import hub.reading  # noqa: F401 - the slow import, once for all workers

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # leaves no zombies
    gc.freeze()  # pages of memory that nobody writes to are shared with all workers
    while True:
        message, pipes, _, _ = socket.recv_fds(control, 16, 1)
        if not message:
            return
        if os.fork() == 0:
            control.close()
            serve(Connection(pipes[0]))
            os._exit(0)
        os.close(pipes[0])


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


def limit_memory(more: int) -> None:
    """Let this process take so many bytes more; if memory runs out all the same, the system ends this process first."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    taken = int(status["VmData"].split()[0]) * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (taken + more, taken + more))
    Path("/proc/self/oom_score_adj").write_text("1000")


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


if __name__ == "__main__":
    nurse(socket.socket(fileno=int(sys.argv[1])))
