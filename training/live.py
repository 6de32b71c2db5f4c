"""A toy training in a process of its own, with limits, which the app watches: whatever it does, pages stay quick.

App and process talk through a pipe:

    app        process
    Choice     Report      again and again
               str         how it ended, in one sentence

Who closes the pipe ends the training.
"""

import contextlib
import os
import resource
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection

import torch

from processes.nursery import Nursery, limit_memory
from training.loop import DivergedError, Step
from training.toy import Choice, Report, reports

CPU_SECONDS = 60
MEMORY_BYTES = 300 * 2**20  # beyond what the libraries take
REPORT_SECONDS = 0.2
NICENESS = 19  # the lowest priority there is: pages go first

DONE = "The training is over."
STOPPED = "The training was stopped. The model stays as it is now."
OUT_OF_TIME = f"The training has used its {CPU_SECONDS} seconds of processor time, so it ends with what it has."
NO_PROCESS = "The server cannot start a process for a training; try again later."
DIED = "The training's process ended too early, perhaps for lack of memory. The last model that you saw is kept."

_nursery = Nursery("training.live")


def warm_up() -> None:
    """All that is slow to import is imported above."""
    torch.set_num_threads(1)


def serve(app: Connection) -> None:
    """Train as the app asks, until the end or until the app has gone or wants no more."""
    os.nice(NICENESS)
    limit_memory(MEMORY_BYTES)
    # The system ends the process if it does not notice by itself that its time is up.
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS + 10, CPU_SECONDS + 10))
    with contextlib.suppress(EOFError, OSError):
        app.send(train(app.recv(), app.send))


def train(choice: Choice, send: Callable[[Report], None], seconds: float = CPU_SECONDS) -> str:
    """Train, and send a report about REPORT_SECONDS after the other. Returns how it ended, in one sentence."""
    sent = time.monotonic()

    def time_is_up() -> bool:
        return time.process_time() > seconds

    def is_due(step: Step) -> bool:
        return time.monotonic() - sent > REPORT_SECONDS or time_is_up()

    try:
        for report in reports(choice, is_due):
            send(report)
            sent = time.monotonic()
            if time_is_up():
                return OUT_OF_TIME
    except DivergedError as error:
        return f"The training diverged and was stopped at {error}. The last model that you saw is kept."
    return DONE


@dataclass(eq=False)
class LiveTraining:
    """A training as the app sees it: one visitor's own.

    reports: so far; only the last one has weights and maps; ended: how it ended, in one sentence, or ''
    """

    choice: Choice
    reports: list[Report] = field(default_factory=list)
    ended: str = ""

    def run(self) -> Generator[float, None, None]:
        """Have it done in a process of its own; close the generator to stop it.

        Yields: how far it has come, from 0 to 1, a few times a second
        """
        try:
            process = _nursery.split_off()
        except OSError:
            self.ended = NO_PROCESS
            return
        self.ended = ""
        try:
            process.send(self.choice)
            while not self.ended:
                if process.poll(REPORT_SECONDS):
                    self._take(process.recv())
                yield self.reports[-1].step / self.choice.recipe.steps if self.reports else 0.0
        except (EOFError, OSError):
            self.ended = DIED
        finally:
            process.close()
            self.ended = self.ended or STOPPED

    def _take(self, message: Report | str) -> None:
        if isinstance(message, str):
            self.ended = message
            return
        if self.reports:
            self.reports[-1] = replace(self.reports[-1], weights={}, maps={})
        self.reports.append(message)
