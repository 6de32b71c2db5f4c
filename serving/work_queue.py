"""Long work in the background: a queue with progress, a place in line, and a way to stop.

Work is a generator that yields how far it has come, from 0 to 1, and returns its result. It can be stopped wherever it
yields. It ends by itself when its page is closed, or when nobody has looked at it for a while: the visitor has left. Of
one visitor's jobs one runs at a time, so that nobody waits for long behind somebody else's. Work that keeps what it has
when it is closed, such as a training, has a turn: behind it, it ends if others wait.
"""

import heapq
import math
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal

WORKERS = 2  # jobs at a time; the others wait
PATIENCE_SECONDS = 20.0  # without a look at the job, after which it stops
CLOSED_SECONDS = 2.0  # without its page, after which it stops: a connection may break for a moment
CLASS, LONGEST_WAIT_SECONDS = 24, 180  # so many who start at once, and how long the last of them may wait
TURN_SECONDS = LONGEST_WAIT_SECONDS / (math.ceil(CLASS / WORKERS) - 1)
MOST = 3  # jobs of one visitor, under way or waiting
TOO_MANY = f"You have {MOST} long tasks under way. Stop one, or wait until one is done."
TOO_MANY_UNNAMED = (
    f"Browsers in your network that keep no cookies, as yours, have {MOST} long tasks under way. Wait until one is "
    "done, or allow cookies for this page and load it again."
)

State = Literal["waiting", "running", "done", "stopped", "failed"]
Work = Generator[float, None, Any]


@dataclass(eq=False)
class Job:
    """One piece of long work, of a visitor if it says so.

    is_open:  whether the page that wants it is still open; asked from another thread
    has_turn: whether it may be ended behind its turn; was_cut: whether it was
    progress: from 0 to 1; result: once done; error: what went wrong, if it failed; began: when, by the clock of `time`
    """

    work: Callable[[], Work]
    visitor: str | None = None
    is_open: Callable[[], bool] = lambda: True
    has_turn: bool = False
    was_cut: bool = False
    began: float = 0.0
    state: State = "waiting"
    progress: float = 0.0
    result: Any = None
    error: Exception | None = None
    seen: float = field(default_factory=time.monotonic)
    _open: float = field(default_factory=time.monotonic)
    _stop: threading.Event = field(default_factory=threading.Event)

    def look(self) -> State:
        """How it stands; whoever looks keeps it alive."""
        self.seen = self._open = time.monotonic()
        return self.state

    def cancel(self) -> None:
        """Stop it where it yields next; if it still waits, it leaves the line at once."""
        self._stop.set()
        with _lock:
            if self in _waiting:
                _waiting.remove(self)
                self.state = "stopped"

    @property
    def abandoned(self) -> bool:
        now = time.monotonic()
        if self.is_open():
            self._open = now
        return self._stop.is_set() or now - self._open > CLOSED_SECONDS or now - self.seen > PATIENCE_SECONDS


_lock = threading.Lock()
_waiting: list[Job] = []
_running: list[Job] = []
_pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="long-work")


class TooMuchWorkError(Exception):
    """A visitor has as many jobs as one may have; says so in a sentence for them."""


def submit(
    work: Callable[[], Work],
    visitor: str | None = None,
    is_open: Callable[[], bool] = lambda: True,
    has_turn: bool = False,
) -> Job:
    """Put work in line; it begins when a worker is free and no other job of this visitor is running. Args: see `Job`

    A visitor who has too many jobs gets one that has failed, with `TooMuchWorkError`.
    """
    job = Job(work, visitor, is_open, has_turn)
    with _lock:
        if visitor and sum(one.visitor == visitor and not one.abandoned for one in _waiting + _running) >= MOST:
            job.error, job.state = TooMuchWorkError(TOO_MANY_UNNAMED if is_unnamed(visitor) else TOO_MANY), "failed"
            return job
        _waiting.append(job)
    _pool.submit(_work_off)
    return job


def is_unnamed(visitor: str) -> bool:
    """Whether it stands for all at an address who keep no cookie: see `ui.visitor`."""
    return visitor.startswith("at ")


def says_when(job: Job) -> str:
    """For one whose job waits: how many are before it, and when it begins if each of them takes its whole turn."""
    with _lock:
        running, waiting = list(_running), list(_waiting)
    if job.visitor and any(one.visitor == job.visitor for one in running):
        whose = "of a browser in your network without cookies" if is_unnamed(job.visitor) else "of yours"
        return f"Waiting: another task {whose} runs. This one begins after it."
    ahead = [one for one in waiting[: waiting.index(job)] if not one.abandoned] if job in waiting else []
    now = time.monotonic()
    free = [max(0.0, TURN_SECONDS - (now - one.began)) for one in running]
    free += [0.0] * (WORKERS - len(free))
    heapq.heapify(free)
    for _ in ahead:
        heapq.heapreplace(free, free[0] + TURN_SECONDS)
    tens = 10 * max(1, math.ceil(round(free[0]) / 10))
    when = f"{tens} seconds" if tens < 100 else f"{math.ceil(tens / 60)} minutes"
    return f"Waiting: {len(running)} under way, {len(ahead)} in line before you. Your turn comes in about {when}."


def _take() -> Job | None:
    """The first job in line whose visitor has none running, if there is one."""
    with _lock:
        busy = {one.visitor for one in _running} - {None}
        job = next((one for one in _waiting if one.visitor not in busy), None)
        if job:
            _waiting.remove(job)
            _running.append(job)
            job.began = time.monotonic()
        return job


def _work_off() -> None:
    """Run queued jobs. A job that is passed over is taken by whoever does the other job of its visitor."""
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


def _must_give_way(job: Job) -> bool:
    """Whether its turn is over, and somebody waits who has nothing running."""
    if job.has_turn and time.monotonic() - job.began > TURN_SECONDS:
        with _lock:
            busy = {one.visitor for one in _running} - {None}
            others = [one for one in _waiting if one.visitor not in busy]
        job.was_cut = any(not one.abandoned for one in others)
    return job.was_cut


def _work_through(job: Job) -> None:
    """Step by step, until it is done or nobody wants it any more."""
    work = job.work()
    while not (job.abandoned or _must_give_way(job)):
        try:
            job.progress = min(max(next(work), 0.0), 1.0)
        except StopIteration as end:
            job.result, job.progress, job.state = end.value, 1.0, "done"
            return
    work.close()
    job.state = "stopped"
