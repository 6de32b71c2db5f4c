"""When a process of the app is started again, and when that is given up: by a clock and processes made up."""

import runpy
import subprocess
import sys
import threading
import types
from pathlib import Path

import pytest

from serving import __main__ as serving
from serving import app_process
from serving.app_process import AppProcess, KeepsDyingError
from serving.proxy import Site


class Life:
    """A process that runs until it is told to end; says whether it was killed."""

    def __init__(self, command: list[str], **_: object) -> None:
        self.command, self.returncode, self.killed = command, None, False

    def poll(self) -> int | None:
        return self.returncode

    def kill(self) -> None:
        self.killed, self.returncode = True, -9

    def wait(self) -> None:
        assert self.returncode is not None


class World:
    """The time, the processes that were started, and whether the newest of them answers."""

    def __init__(self) -> None:
        self.now, self.lives, self.hears = 1000.0, [], True

    def start(self, *given: object, **named: object) -> Life:
        self.lives.append(Life(*given, **named))  # type: ignore[arg-type]
        return self.lives[-1]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    one = World()
    for name, stand_in in {
        "time": types.SimpleNamespace(monotonic=lambda: one.now),
        "subprocess": types.SimpleNamespace(Popen=one.start, DEVNULL=subprocess.DEVNULL),
        "answers": lambda url: one.hears,
    }.items():
        monkeypatch.setattr(app_process, name, stand_in)
    return one


@pytest.mark.parametrize(
    ("lives", "gives_up_after"),
    [
        ([1.0] * 5, 5),
        ([29.9] * 5, 5),
        ([30.0] * 9, None),
        ([1.0] * 4 + [31.0] + [1.0] * 4, None),
        ([1.0] * 4 + [31.0] + [1.0] * 5, 10),
    ],
)
def test_five_short_lives_in_a_row_are_too_many(
    lives: list[float], gives_up_after: int | None, world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app = AppProcess(tmp_path)
    for n, seconds in enumerate(lives, 1):
        world.now += seconds
        world.lives[-1].returncode = 7
        if n == gives_up_after:
            with pytest.raises(KeepsDyingError, match=r"ended 5 times, each time soon after its start\.$"):
                app.look_after()
        else:
            app.look_after()
            assert capsys.readouterr().out == "A process of the app has ended (7); it is started again.\n"
    assert len(world.lives) == len(lives) + (gives_up_after is None)
    assert len({" ".join(life.command) for life in world.lives}) == 1, "at its own port, each time"


def test_who_does_not_answer_for_a_minute_is_ended_and_started_again(world: World, tmp_path: Path) -> None:
    app = AppProcess(tmp_path)
    for seconds, hears in ((50.0, True), (59.9, False)):  # it was heard after 50 seconds
        world.now, world.hears = world.now + seconds, hears
        app.look_after()
        assert len(world.lives) == 1
    world.now += 0.2
    app.look_after()
    assert [life.killed for life in world.lives] == [True, False]
    world.now += 59.9  # counted anew
    app.look_after()
    assert len(world.lives) == 2


@pytest.mark.parametrize("hears", [True, False])
def test_a_container_is_healthy_if_its_address_answers(
    hears: bool, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.hears = hears
    monkeypatch.setattr(sys, "argv", ["health", "http://127.0.0.1:1/ready"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("serving.health", run_name="__main__")
    assert bool(ended.value.code) != hears


def test_all_that_is_asked_for_reaches_the_proxy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sites: list[object] = []

    class Instead:
        def __init__(self, site: object, folder: Path) -> None:
            sites.append(site)

        def end(self) -> None:
            stopped.set()

    stopped = threading.Event()
    stopped.set()
    monkeypatch.setattr(serving, "Proxy", Instead)
    monkeypatch.setattr(serving, "nginx_path", lambda: "nginx")
    asked = ("--address", "1.2.3.4", "--port", "81", "--apps", "a:1", "b:2", "--trust", "10.0.0.0/8")
    serving.serve(serving.arguments(asked), tmp_path, stopped)
    assert sites == [Site("1.2.3.4:81", ["a:1", "b:2"], ["10.0.0.0/8"])]


def test_one_that_ends_before_it_is_ready_is_told(world: World, tmp_path: Path) -> None:
    app = AppProcess(tmp_path)
    assert app.ready
    world.hears = False
    assert not app.ready
    world.lives[-1].returncode = 1
    with pytest.raises(KeepsDyingError, match=r"^A process of the app ended before it was ready\.$"):
        _ = app.ready
