"""A live training: what it reports, how it ends, and that it leaves nothing running."""

import itertools
import os
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.training import hungry
from training.live import processes, toy
from training.live.processes import LiveTraining
from training.live.toy import Choice, Report

# Slow on a busy machine: a training gives way to everything else.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("own_fork_server")]


def fork_server() -> int:
    assert processes._fork_server._process is not None
    return processes._fork_server._process.pid


def children() -> list[int]:
    pid = fork_server()
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 300
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert condition()


def begun() -> tuple[LiveTraining[Report], Iterator[float]]:
    """A training that has reported the random weights and something learned."""
    training = LiveTraining[Report](Choice("copy", n_layers=3))
    work = training.run()
    while len(training.reports) < 2:
        next(work)
    return training, work


def test_a_training_tells_how_it_goes_and_is_the_one_that_the_loop_makes() -> None:
    training, work = begun()
    assert training.ended == ""
    first, second = training.reports
    assert (first.step, first.weights, first.maps) == (0, {}, {})
    assert second.step > 0
    assert {kind: maps.shape for kind, maps in second.maps.items()} == dict.fromkeys(
        ("encoder", "decoder", "cross"), (3, 2, 9, 9)
    )
    same = training.task.reports(lambda step: step.step == second.step)
    _, here = next(same), next(same)
    assert here.loss == pytest.approx(second.loss, rel=1e-3)
    for kind, maps in here.maps.items():
        assert np.allclose(maps, second.maps[kind], atol=1e-3)
    work.close()  # type: ignore[attr-defined]


def test_a_stopped_training_says_so_keeps_its_model_and_leaves_nothing_running() -> None:
    training, work = begun()
    eventually(lambda: len(children()) == 1)
    (process,) = children()
    assert os.getpriority(os.PRIO_PROCESS, process) == processes.NICENESS
    assert Path(f"/proc/{process}/oom_score_adj").read_text().strip() == "1000"
    work.close()  # type: ignore[attr-defined]
    assert training.ended == "The training was stopped. What you saw last is kept."
    assert training.reports[-1].weights
    eventually(lambda: children() == [])


def test_a_learning_rate_of_ten_is_told_in_one_sentence_and_good_weights_are_kept() -> None:
    training = LiveTraining[Report](Choice(learning_rate=10.0))
    for _ in training.run():
        pass
    assert training.ended.startswith("The training diverged and was stopped at step ")
    assert training.ended.endswith("a lower learning rate may help. What you saw last is kept.")
    assert all(np.isfinite(value).all() for value in training.reports[-1].weights.values())
    eventually(lambda: children() == [])


def test_a_process_that_is_killed_is_told_and_the_next_training_runs() -> None:
    training, work = begun()
    eventually(lambda: len(children()) == 1)
    os.kill(children()[0], signal.SIGKILL)
    for _ in work:
        pass
    assert training.ended.startswith("The training's process ended too early")
    os.kill(fork_server(), signal.SIGKILL)
    processes._fork_server._process.wait()  # type: ignore[union-attr]
    again, work = begun()
    assert again.ended == ""
    work.close()  # type: ignore[attr-defined]


def test_without_a_process_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OSError("no more processes")

    monkeypatch.setattr(processes._fork_server, "split_off", refuse)
    training = LiveTraining[Report](Choice())
    assert list(training.run()) == []
    assert training.ended == "The server cannot start a process for a training; try again later."


@pytest.fixture
def own_clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clocks that go on whenever they are read, however slow the machine is; the processor's half as fast."""
    clock, processor = (itertools.count(0, pace) for pace in (0.01, 0.005))
    clocks = SimpleNamespace(monotonic=partial(next, clock), process_time=partial(next, processor))
    monkeypatch.setattr(processes, "time", clocks)


@pytest.mark.usefixtures("own_clocks")
@pytest.mark.parametrize(
    ("limits", "says"),
    [
        ({"seconds": 0.3}, "The training has used its 60 seconds of processor time, so it ends with what it has."),
        (
            {"seconds": 0.3, "at_most": 0.3},
            "The server is so busy that the training has taken 5 minutes, so it ends with what it has.",
        ),
    ],
)
def test_when_its_time_is_up_it_ends_with_what_it_has(limits: dict[str, float], says: str) -> None:
    sent: list[Report] = []
    assert processes.train(Choice(), sent.append, **limits) == says
    assert 0 < sent[-1].step < toy.STEPS
    assert sent[-1].weights


@pytest.mark.parametrize(("megabytes", "steps", "how"), [(250, [0, 1], processes.DONE), (350, [0], processes.DIED)])
def test_a_training_gets_three_hundred_megabytes(megabytes: int, steps: list[int], how: str) -> None:
    training = LiveTraining[hungry.Report](hungry.Hungry(megabytes * 10**6))
    for _ in training.run():
        pass
    assert [report.step for report in training.reports] == steps
    assert training.ended == how


def test_a_training_without_an_app_ends() -> None:
    """As when the server is restarted: the pipe closes."""
    process = processes._fork_server.split_off()
    process.send(Choice())
    eventually(lambda: len(children()) == 1)
    process.close()
    eventually(lambda: children() == [])
