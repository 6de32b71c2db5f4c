"""Long work: progress, a place in line, a way to stop, and an end when nobody looks."""

import math
import re
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from serving import work_queue as queue
from serving.work_queue import MOST, TOO_MANY, TOO_MANY_UNNAMED, WORKERS, Job, TooMuchWorkError, Work, says_when, submit
from training.live.processes import REPORT_SECONDS


def until(condition: Callable[[], bool], job: Job, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        job.look()
        assert time.monotonic() < end, job.state
        time.sleep(0.005)


def steps(gate: threading.Event, n: int = 4) -> Work:
    for i in range(n):
        yield i / n
        gate.wait(60)
    return "result"


def test_work_is_done_and_its_result_kept() -> None:
    gate = threading.Event()
    job = submit(lambda: steps(gate))
    until(lambda: job.state == "running", job)
    assert job.result is None
    gate.set()
    until(lambda: job.state == "done", job)
    assert (job.result, job.progress, job.error) == ("result", 1.0, None)


def test_progress_is_what_the_work_says() -> None:
    gates = [threading.Event() for _ in range(3)]

    def work() -> Work:
        for share, gate in zip((0.25, 0.5, 7.0), gates, strict=True):
            yield share
            gate.wait(60)

    job = submit(work)
    for share, gate in zip((0.25, 0.5, 1.0), gates, strict=True):
        until(lambda share=share: job.progress == share, job)
        gate.set()
    until(lambda: job.state == "done", job)


def test_cancelled_work_stops_where_it_yields_next_and_cleans_up() -> None:
    gate, closed = threading.Event(), threading.Event()

    def work() -> Work:
        try:
            yield from steps(gate)
        finally:
            closed.set()

    job = submit(work)
    until(lambda: job.state == "running", job)
    job.cancel()
    gate.set()
    until(lambda: job.state == "stopped", job)
    assert closed.is_set()
    assert job.result is None


def test_no_more_than_so_many_run_and_the_others_know_their_place() -> None:
    gate = threading.Event()
    jobs = [submit(lambda: steps(gate)) for _ in range(WORKERS + 2)]
    until(lambda: sum(job.look() == "running" for job in jobs) == WORKERS, jobs[0])
    assert [job.state for job in jobs[WORKERS:]] == ["waiting", "waiting"]
    # Each takes its turn: WORKERS of them end together, then the first one in line has a place, and the second one too.
    assert [says_when(job) for job in jobs[WORKERS:]] == [
        f"Waiting: {WORKERS} under way, {n} in line before you. Your turn comes in about 20 seconds." for n in (0, 1)
    ]
    jobs[-1].cancel()
    assert jobs[-1].look() == "stopped"  # it need not wait for its turn to end
    gate.set()
    until(lambda: all(job.look() == "done" for job in jobs[:-1]), jobs[0])
    assert jobs[-1].state == "stopped"


def test_work_that_fails_says_why_and_the_next_one_runs() -> None:
    def fails() -> Work:
        yield 0.5
        raise ValueError("on purpose")

    job = submit(fails)
    until(lambda: job.state == "failed", job)
    assert str(job.error) == "on purpose"
    gate = threading.Event()
    gate.set()
    other = submit(lambda: steps(gate))
    until(lambda: other.state == "done", other)


def test_work_that_nobody_looks_at_stops_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "PATIENCE_SECONDS", 0.05)

    def forever() -> Work:
        while True:
            yield 0.0
            time.sleep(0.01)

    job = submit(forever)
    end = time.monotonic() + 60
    while job.state != "stopped":
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.slow
def test_work_whose_page_was_closed_frees_its_place_within_three_seconds() -> None:
    gate = threading.Event()

    def forever() -> Work:
        while not gate.wait(0.05):
            yield 0.0

    closed = threading.Event()
    job = submit(forever, is_open=lambda: not closed.is_set())
    until(lambda: job.state == "running", job)
    closed.set()
    since = time.monotonic()
    while job.state != "stopped":
        assert time.monotonic() - since < 60  # a busy machine is no defect
        time.sleep(0.01)
    assert queue.CLOSED_SECONDS + REPORT_SECONDS < 3
    gate.set()


def test_work_that_keeps_what_it_has_gives_way_behind_its_turn_but_only_to_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(queue, "TURN_SECONDS", 0.05)
    gate, closed = threading.Event(), []

    def forever() -> Work:
        try:
            while not gate.wait(0.01):
                yield 0.0
        finally:
            closed.append(1)

    trainings = [submit(forever, f"v{n}", has_turn=True) for n in range(WORKERS)]
    own = submit(lambda: steps(gate), "v0")
    time.sleep(0.3)
    assert [job.look() for job in (*trainings, own)] == ["running"] * WORKERS + ["waiting"]
    assert says_when(own) == "Waiting: another task of yours runs. This one begins after it."
    other = submit(lambda: steps(gate), "other")
    until(lambda: other.state == "running", other)
    assert "stopped" in [job.look() for job in trainings]
    assert sum(job.was_cut for job in trainings) == len([job for job in trainings if job.state == "stopped"]) > 0
    gate.set()
    until(lambda: own.look() == other.look() == "done", own)


def test_of_a_class_that_starts_at_once_the_last_one_waits_three_minutes_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(queue, "_pool", SimpleNamespace(submit=lambda *given: None))
    monkeypatch.setattr(queue, "_waiting", [])
    monkeypatch.setattr(queue, "_running", [])
    jobs = [submit(lambda: iter(()), f"v{n}", has_turn=True) for n in range(24)]
    turns = [re.findall(r"about (\d+) seconds", says_when(job)) for job in jobs[: 3 * WORKERS]]
    assert turns == [[when] for when in ("10", "20", "40") for _ in range(WORKERS)]  # so many begin together
    assert says_when(jobs[-1]).endswith("23 in line before you. Your turn comes in about 3 minutes.")
    assert queue.TURN_SECONDS * (math.ceil(24 / WORKERS) - 1) <= 180


def test_one_visitor_has_one_job_running_and_does_not_hold_up_others() -> None:
    gates = [threading.Event() for _ in range(4)]
    mine = [submit(lambda gate=gate: steps(gate), "me") for gate in gates[:3]]
    until(lambda: mine[0].look() == "running", mine[0])
    other = submit(lambda: steps(gates[3]), "you")
    until(lambda: other.state == "running", other)  # though two of mine came before it and no worker is idle
    assert [job.look() for job in mine] == ["running", "waiting", "waiting"]
    gates[3].set()
    until(lambda: other.state == "done", other)
    assert [job.look() for job in mine] == [
        "running",
        "waiting",
        "waiting",
    ]  # a worker is idle, but this visitor has one
    for job, gate in zip(mine, gates, strict=False):
        until(lambda job=job: job.state == "running", job)
        gate.set()
        until(lambda job=job: job.state == "done", job)


@pytest.mark.parametrize(
    ("me", "waits", "says"),
    [
        ("me", "Waiting: another task of yours runs.", TOO_MANY),
        ("at 192.0.2.1", "Waiting: another task of a browser in your network without cookies runs.", TOO_MANY_UNNAMED),
    ],
)
def test_a_job_too_many_is_refused_in_a_sentence_and_one_that_was_stopped_does_not_count(
    me: str, waits: str, says: str
) -> None:
    gate = threading.Event()
    jobs = [submit(lambda: steps(gate), me) for _ in range(MOST)]
    until(lambda: jobs[0].state == "running", jobs[0])
    assert says_when(jobs[1]).startswith(waits)
    refused = submit(lambda: steps(gate), me)
    assert refused.state == "failed"
    assert isinstance(refused.error, TooMuchWorkError)
    assert str(refused.error) == says
    jobs[-1].cancel()
    allowed = submit(lambda: steps(gate), me)
    assert allowed.state == "waiting"
    gate.set()
    until(lambda: all(job.look() in ("done", "stopped") for job in [*jobs, allowed]), allowed)
    assert allowed.state == "done"
