"""Long work in the background: a queue with progress, a place in line, and a way to stop.

Work is a generator that yields how far it has come, from 0 to 1, and returns its result. It can be stopped wherever it
yields. It ends by itself when nobody has looked at it for a while: the visitor has left.
"""

import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal

WORKERS = 2  # jobs at a time; the others wait
PATIENCE_SECONDS = 20.0  # without a look at the job, after which it stops

State = Literal["waiting", "running", "done", "stopped", "failed"]
Work = Generator[float, None, Any]


@dataclass(eq=False)
class Job:
    """One piece of long work. progress: from 0 to 1; result: once done; error: what went wrong, if it failed."""

    work: Callable[[], Work]
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
_pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="long-work")


def submit(work: Callable[[], Work]) -> Job:
    """Put work in line; it begins when a worker is free."""
    job = Job(work)
    with _lock:
        _waiting.append(job)
    _pool.submit(_do, job)
    return job


def _do(job: Job) -> None:
    with _lock:
        _waiting.remove(job)
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
