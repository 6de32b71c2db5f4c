"""Long work in the background: a queue with progress, a place in line, and a way to stop.

Work is a generator that yields how far it has come, from 0 to 1, and returns its result. It can be stopped wherever it
yields. It ends by itself when nobody has looked at it for a while: the visitor has left. Of one visitor's jobs one runs
at a time, so that nobody waits for long behind somebody else's.
"""

import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal

WORKERS = 2  # jobs at a time; the others wait
PATIENCE_SECONDS = 20.0  # without a look at the job, after which it stops
MOST = 3  # jobs of one visitor, under way or waiting
TOO_MANY = f"You have {MOST} long tasks under way. Stop one, or wait until one is done."

State = Literal["waiting", "running", "done", "stopped", "failed"]
Work = Generator[float, None, Any]


@dataclass(eq=False)
class Job:
    """One piece of long work, of a visitor if it says so.

    progress: from 0 to 1; result: once done; error: what went wrong, if it failed
    """

    work: Callable[[], Work]
    visitor: str | None = None
    state: State = "waiting"
    progress: float = 0.0
    result: Any = None
    error: Exception | None = None
    seen: float = field(default_factory=time.monotonic)
    _stop: threading.Event = field(default_factory=threading.Event)

    def look(self) -> State:
        """How it stands; whoever looks keeps it alive."""
        self.seen = time.monotonic()
        return self.state

    def cancel(self) -> None:
        """Stop it where it yields next."""
        self._stop.set()

    @property
    def ahead(self) -> int:
        """How many jobs wait in front of this one."""
        with _lock:
            return _waiting.index(self) if self in _waiting else 0

    @property
    def abandoned(self) -> bool:
        return self._stop.is_set() or time.monotonic() - self.seen > PATIENCE_SECONDS


_lock = threading.Lock()
_waiting: list[Job] = []
_running: list[Job] = []
_pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="long-work")


class TooMuchWorkError(Exception):
    """A visitor has as many jobs as one may have; says so in a sentence for them."""


def submit(work: Callable[[], Work], visitor: str | None = None) -> Job:
    """Put work in line; it begins when a worker is free and no other job of this visitor is running.

    A visitor who has too many jobs gets one that has failed, with `TooMuchWorkError`.
    """
    job = Job(work, visitor)
    with _lock:
        if visitor and sum(one.visitor == visitor and not one.abandoned for one in _waiting + _running) >= MOST:
            job.error, job.state = TooMuchWorkError(TOO_MANY), "failed"
            return job
        _waiting.append(job)
    _pool.submit(_work_off)
    return job


def _take() -> Job | None:
    """The first job in line whose visitor has none running, if there is one."""
    with _lock:
        busy = {one.visitor for one in _running} - {None}
        job = next((one for one in _waiting if one.visitor not in busy), None)
        if job:
            _waiting.remove(job)
            _running.append(job)
        return job


def _work_off() -> None:
    """Do what is in line. A job that is passed over is taken by whoever does the other job of its visitor."""
    while job := _take():
        try:
            _do(job)
        finally:
            with _lock:
                _running.remove(job)


def _do(job: Job) -> None:
    if job.abandoned:
        job.state = "stopped"
        return
    job.state = "running"
    try:
        _work_through(job)
    except Exception as error:  # whatever it is, the visitor is told in one sentence, and others notice nothing
        job.error, job.state = error, "failed"


def _work_through(job: Job) -> None:
    """Step by step, until it is done or nobody wants it any more."""
    work = job.work()
    while not job.abandoned:
        try:
            job.progress = min(max(next(work), 0.0), 1.0)
        except StopIteration as end:
            job.result, job.progress, job.state = end.value, 1.0, "done"
            return
    work.close()
    job.state = "stopped"
