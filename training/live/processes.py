"""A training in a process of its own, with limits, which the app watches: whatever it does, pages stay quick.

App and process talk through a pipe:

    app        process
    Task       report      again and again
               str         how it ended, in one sentence

Who closes the pipe ends the training.
"""

import contextlib
import os
import resource
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any, Generic, Protocol, TypeVar

import torch

from processes.fork_server import ForkServer, limit_memory
from training.loop.updates import DivergedError, Step

CPU_SECONDS = 60
WALL_SECONDS = 300  # on a server so busy that it hardly gets a turn
MEMORY_BYTES = 300 * 2**20  # beyond what the libraries take
MEMORY_OF_TWO_BYTES = 600 * 2**20  # where two models learn side by side: two small GPTs and long sentences take 520
REPORT_SECONDS = 0.2
NICENESS = 10  # pages go first, by nine to one; at 19 a busy server would hardly train at all

DONE = "The training is over."
STOPPED = "The training was stopped. What you saw last is kept."
OUT_OF_TIME = f"The training has used its {CPU_SECONDS} seconds of processor time, so it ends with what it has."
STARVED = (
    f"The server is so busy that the training has taken {WALL_SECONDS // 60} minutes, so it ends with what it has."
)
NO_PROCESS = "The server cannot start a process for a training; try again later."
DIED = "The training's process ended too early, perhaps for lack of memory. What you saw last is kept."

_fork_server = ForkServer("training.live.processes")


class Report(Protocol):
    """How a training stands after some steps. light(): what is kept of it when a newer one has come"""

    @property
    def step(self) -> int: ...
    def light(self) -> Any: ...


class Task(Protocol):
    """What can be trained live, like `training.live.toy.Choice`. It travels to the process.

    reports: train; report at the start, when `is_due` says so, and at the end. May raise DivergedError
    """

    @property
    def n_steps(self) -> int: ...
    def reports(self, is_due: Callable[[Step], bool]) -> Iterator[Report]: ...


def warm_up() -> None:
    """Import what is slow to import, once for all trainings."""
    import training.live.adapting
    import training.live.labelling
    import training.live.teaching
    import training.live.toy  # noqa: F401

    torch.set_num_threads(1)


def serve(app: Connection) -> None:
    """Train as the app asks, until the end or until the app has gone or wants no more."""
    from training.live.labelling import Labelling

    os.setpriority(os.PRIO_PROCESS, 0, NICENESS)
    # The system ends the process if it does not notice by itself that its time is up.
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS + 10, CPU_SECONDS + 10))
    with contextlib.suppress(EOFError, OSError):
        task = app.recv()
        limit_memory(MEMORY_OF_TWO_BYTES if isinstance(task, Labelling) else MEMORY_BYTES)
        app.send(train(task, app.send))


def train(
    task: Task, send: Callable[[Report], None], seconds: float = CPU_SECONDS, at_most: float = WALL_SECONDS
) -> str:
    """Train, and send a report about REPORT_SECONDS after the other. Returns how it ended, in one sentence.

    Args: seconds: of processor time, and at_most: of the clock, after which it ends
    """
    began = sent = time.monotonic()

    def time_is_up() -> str:
        if time.process_time() > seconds:
            return OUT_OF_TIME
        return STARVED if time.monotonic() - began > at_most else ""

    def is_due(step: Step) -> bool:
        return bool(time.monotonic() - sent > REPORT_SECONDS or time_is_up())

    try:
        for report in task.reports(is_due):
            send(report)
            sent = time.monotonic()
            if how := time_is_up():
                return how
    except DivergedError as error:
        return f"The training diverged and was stopped at {error}. What you saw last is kept."
    return DONE


Told = TypeVar("Told", bound=Report)


@dataclass(eq=False)
class LiveTraining(Generic[Told]):
    """A training as the app sees it: one visitor's own.

    reports: so far, all but the last one light; ended: how it ended, in one sentence, or ''
    """

    task: Task
    reports: list[Told] = field(default_factory=list)
    ended: str = ""

    def run(self) -> Generator[float, None, None]:
        """Have it done in a process of its own; close the generator to stop it.

        Yields: how far it has come, from 0 to 1, a few times a second
        """
        try:
            process = _fork_server.split_off()
        except OSError:
            self.ended = NO_PROCESS
            return
        self.ended = ""
        try:
            process.send(self.task)
            while not self.ended:
                if process.poll(REPORT_SECONDS):
                    self._take(process.recv())
                yield self.reports[-1].step / self.task.n_steps if self.reports else 0.0
        except (EOFError, OSError):
            self.ended = DIED
        finally:
            process.close()
            self.ended = self.ended or STOPPED

    def _take(self, message: Told | str) -> None:
        if isinstance(message, str):
            self.ended = message
            return
        self.reports.append(message)
        if len(self.reports) > 1:  # last: whoever looks meanwhile finds the newest one whole
            self.reports[-2] = self.reports[-2].light()
