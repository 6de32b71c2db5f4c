"""Models in processes of their own: what they crash, hang or fill up is their own, and one sentence says so."""

import base64
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from hub import open_models as shelves
from hub import worker
from hub.hugging_face import load
from hub.local_models import HERE, NO_MEMORY, ModelError, Settings
from hub.open_models import OURS, Shelf, shelf
from hub.reading import read
from hub.reading_types import Reading
from hub.worker import ClosedError, Worker
from model.files import checkpoint
from model.trace import trace
from processes.fork_server import ForkServer
from tests.family import FAMILY, small
from tests.hub.small_models import make

pytestmark = pytest.mark.slow  # opens processes, shut in by the kernel

SENTENCE = "The black cat fights the white cat."
ENDLESS = "a" * 21 + "!"  # for the model "stares": two to the power of 21 ways to share out the letters, 35 times


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    root = tmp_path_factory.mktemp("models")
    for family in ("bert", "gpt2", "t5"):
        make(family, root / family)
    return Settings(root, downloads=False, kept=2)


@pytest.fixture(scope="module", autouse=True)
def _fork_server_of_these_tests() -> Iterator[None]:
    """A fork server without the workers of other tests."""
    before, worker._fork_server = worker._fork_server, ForkServer("hub.worker", **worker.ENVIRONMENT)
    yield
    worker._fork_server.stop()
    worker._fork_server = before


@pytest.fixture(scope="module")
def _hostile_fork_server() -> Iterator[ForkServer]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("A_SECRET_KEY", "WALKTHROUGH_CLASSES", "HF_TOKEN"):
            patch.setenv(name, "abc")
        fork_server = ForkServer("tests.hub.hostile_worker", **worker.ENVIRONMENT)
        yield fork_server
        fork_server.stop()


@pytest.fixture
def obedient(_hostile_fork_server: ForkServer, monkeypatch: pytest.MonkeyPatch) -> ForkServer:
    """Workers do what the sentence says, as if a model could make a library run code."""
    monkeypatch.setattr(worker, "_fork_server", _hostile_fork_server)
    return _hostile_fork_server


def opened(name: str, settings: Settings) -> Worker:
    return Worker(name, settings, lambda needed: None)


def change(folder: Path, file: str, **entries: object) -> None:
    path = folder / file
    path.write_text(json.dumps((json.loads(path.read_text()) if path.exists() else {}) | entries))


@pytest.fixture(scope="module")
def hostile(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Models whose files make the library panic, which is no Exception in Python, hang or take all memory."""
    root = tmp_path_factory.mktemp("hostile")
    shutil.copytree(settings.root, root, dirs_exist_ok=True)
    shutil.copytree(root / "bert", root / "panics")
    rubbish = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(bytes(64)).decode()}
    change(root / "panics", "tokenizer.json", normalizer=rubbish)
    shutil.copytree(root / "bert", root / "swells")
    mark = {"id": "[CLS]", "ids": [2] * 300_000, "tokens": ["[CLS]"] * 300_000}
    one, two = ({"Sequence": {"id": id, "type_id": 0}} for id in "AB")
    marks = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}] * 20
    template = {"single": [*marks, one], "pair": [one, two], "special_tokens": {"[CLS]": mark}}
    template["type"] = "TemplateProcessing"
    change(root / "swells", "tokenizer.json", post_processor=template)
    shutil.copytree(root / "bert", root / "stares")
    slow = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
    endless = {"type": "Sequence", "pretokenizers": [slow] * 35}
    change(root / "stares", "tokenizer.json", pre_tokenizer=endless)
    return Settings(root, downloads=False, kept=2)


def in_worker(settings: Settings, name: str, make_room: Callable[[int], None]) -> Worker:
    return Worker(name, settings, make_room)


def close(books: Shelf) -> None:
    for one in books._models.values():
        one.close()


def memory_of_this_process() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def processes_below(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def fork_server() -> int:
    assert worker._fork_server._process is not None
    return worker._fork_server._process.pid


def the_only_worker() -> int:
    """Its process. Those of other tests may still be about to end."""
    eventually(lambda: len(processes_below(fork_server())) == 1)
    return processes_below(fork_server())[0]


def eventually(condition: object) -> None:
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:  # type: ignore[operator]
        time.sleep(0.02)
    assert condition()  # type: ignore[operator]


def assert_equal(theirs: Reading, ours: Reading) -> None:
    """Bit for bit."""
    assert replace(theirs, maps=()) == replace(ours, maps=())
    for left, right in zip(theirs.maps, ours.maps, strict=True):
        assert left.weights.dtype == right.weights.dtype
        assert np.array_equal(left.weights, right.weights)
        assert vars(left) | {"weights": 0} == vars(right) | {"weights": 0}


@pytest.mark.parametrize("family", ["bert", "gpt2", "t5"])
def test_a_worker_reads_what_this_process_reads(family: str, settings: Settings) -> None:
    one, here = opened(family, settings), load(family, settings)
    assert one.facts == here.facts
    for sentence in (SENTENCE, "<b> ฉัน 🐶 \u202e\x00", "cat " * 200):
        for hidden in (None, 2):
            assert_equal(one.read(sentence, hidden), read(here, sentence, hidden))
    one.close()


def test_what_is_wrong_with_a_model_or_a_sentence_comes_as_it_is(settings: Settings) -> None:
    with pytest.raises(ModelError, match=r"^There is no model 'three'"):
        opened("three", settings)
    one = opened("gpt2", settings)
    with pytest.raises(ModelError, match="type a sentence"):
        one.read("")
    assert one.read("cat").tokens == ("cat",)
    one.close()


def test_a_closed_worker_ends_and_frees_its_memory(settings: Settings) -> None:
    one = opened("bert", settings)
    process = the_only_worker()
    one.close()
    one.close()
    eventually(lambda: processes_below(fork_server()) == [])
    assert not Path(f"/proc/{process}").exists()
    with pytest.raises(ClosedError):
        one.read(SENTENCE)


@pytest.mark.usefixtures("obedient")
def test_a_model_that_cannot_be_opened_in_time_is_stopped_and_refused_at_once_then(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "CHECK_SECONDS", 2)
    monkeypatch.setattr(worker, "GRACE_SECONDS", 1)
    books = Shelf(2, partial(in_worker, settings))
    for wait in (100, 2):  # the second time it is not tried again
        begun = time.monotonic()
        with pytest.raises(ModelError, match=r"^The model took longer than 2 seconds, so it was stopped\.$"):
            books.facts("endless")
        assert time.monotonic() - begun < wait
    assert books.names() == []


def test_without_room_nothing_is_loaded(settings: Settings) -> None:
    asked: list[int] = []

    def refuse(needed: int) -> None:
        asked.append(needed)
        raise ModelError("no room")

    with pytest.raises(ModelError, match="no room"):
        Worker("bert", settings, refuse)
    n_parameters = load("bert", settings).facts.n_parameters
    assert 4 * n_parameters <= asked[0] < 8 * n_parameters
    eventually(lambda: processes_below(fork_server()) == [])


def test_a_panic_of_the_library_is_said_and_hurts_nobody(hostile: Settings) -> None:
    books = Shelf(2, partial(in_worker, hostile))
    books.facts("bert")
    bystander = the_only_worker()
    for _ in range(2):  # in a fresh worker each time: who knows what a panic leaves behind
        with pytest.raises(ModelError, match=r"^The library that reads the model fails on its files") as told:
            books.read("panics", SENTENCE)
        assert told.value.detail.startswith("PanicException: index out of bounds")
    eventually(lambda: processes_below(fork_server()) == [bystander])
    assert len(books.read("bert", SENTENCE).tokens) > 3
    close(books)


def test_a_tokenizer_that_swells_takes_only_its_own_process_along(
    hostile: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "WORKING_BYTES", 2**28)
    books = Shelf(2, partial(in_worker, hostile))
    books.facts("bert")
    bystander, before = the_only_worker(), memory_of_this_process()
    for _ in range(2):
        with pytest.raises(ModelError) as told:
            books.read("swells", SENTENCE)
        assert str(told.value) in (NO_MEMORY, "The model's files make the library that reads them crash.")
    assert memory_of_this_process() < before + 2**26
    eventually(lambda: bystander in processes_below(fork_server()))
    assert len(books.read("bert", SENTENCE).tokens) > 3
    close(books)


def test_a_tokenizer_that_never_ends_is_stopped(hostile: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "READ_SECONDS", 1)
    books = Shelf(2, partial(in_worker, hostile))
    with pytest.raises(ModelError, match=r"^The model took longer than 1 seconds, so it was stopped\.$"):
        books.read("stares", ENDLESS)
    monkeypatch.setattr(worker, "READ_SECONDS", 60)
    assert books.read("stares", "cat").tokens
    close(books)


ASKS = {
    "write": r"^OSError: .*Read-only file system",
    "remove": r"^OSError: .*not implemented",
    "socket": r"^OSError: .*not implemented",
    "fork": r"^PermissionError: .*not permitted|^OSError: .*not implemented",
    "program": r"^(PermissionError|OSError): ",
    "kill": r"^(PermissionError|OSError): ",
    "keys": r"^HF_DEACTIVATE_ASYNC_LOAD HF_HUB_DISABLE_TELEMETRY HF_HUB_OFFLINE$",
    "thread": r"^RuntimeError: can't start new thread",
    "share": r"^OSError: .*Cannot allocate memory",
}


@pytest.mark.usefixtures("obedient")
def test_code_that_a_model_would_run_could_do_nothing(settings: Settings) -> None:
    one = opened("gpt2", settings)
    target = settings.root / "target"
    target.write_text("hello")
    for wish, answer in ASKS.items():
        with pytest.raises(ModelError) as told:
            one.read(f"{wish} {target}")
        assert re.search(answer, str(told.value)), (wish, str(told.value))
    assert target.read_text() == "hello"
    assert one.read("cat").tokens == ("cat",)
    target.unlink()
    one.close()


def test_where_a_barrier_is_missing_no_strangers_model_opens_unless_the_operator_wants_it(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaky = ForkServer("hub.worker", **worker.ENVIRONMENT, WALKTHROUGH_CLASSES="postgresql://u:p@h/n")
    monkeypatch.setattr(worker, "_fork_server", leaky)
    with pytest.raises(
        ModelError, match=r"^Only the app's own models open here.* lacks an environment without the app"
    ):
        opened("gpt2", settings)
    assert shelf(replace(settings, kept=1)).facts(OURS).predicts
    trusting = opened("gpt2", replace(settings, unconfined=True))
    assert trusting.read("cat").tokens == ("cat",)
    trusting.close()
    close(shelf(replace(settings, kept=1)))
    leaky.stop()


def test_on_a_system_without_the_means_of_linux_own_models_open_and_strangers_do_not(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    mac = ForkServer("tests.hub.hostile_worker", **worker.ENVIRONMENT, PYTHON_IS_DARWIN="1")
    monkeypatch.setattr(worker, "_fork_server", mac)
    with pytest.raises(ModelError, match=r"^Only the app's own models open here.* has no means to shut it in"):
        opened("gpt2", settings)
    one = opened("gpt2", replace(settings, unconfined=True))
    process = one._child._process
    assert isinstance(process, subprocess.Popen)  # of its own: nothing was split off
    assert one.read("cat").tokens == ("cat",)
    one._child.kill()
    process.wait(60)
    with pytest.raises(ClosedError):
        one.read("cat")


@pytest.mark.parametrize("wish", ["abort", "stay", "stop", "babble", "flood"])
def test_whatever_a_worker_does_the_app_goes_on(
    wish: str, settings: Settings, obedient: ForkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    crashes = wish in ("abort", "babble", "flood")
    says = "make the library that reads them crash" if crashes else "took longer than 1 seconds"
    monkeypatch.setattr(worker, "READ_SECONDS", 60 if crashes else 1)
    monkeypatch.setattr(worker, "GRACE_SECONDS", 0.5)
    books = Shelf(2, partial(in_worker, settings))
    before = memory_of_this_process()
    with pytest.raises(ModelError, match=says):
        books.read("gpt2", f"{wish} x")
    assert memory_of_this_process() < before + 2**26
    monkeypatch.setattr(worker, "READ_SECONDS", 60)
    assert books.read("gpt2", "cat").tokens == ("cat",)
    close(books)
    eventually(lambda: processes_below(obedient._process.pid) == [])  # type: ignore[union-attr]


def test_what_takes_too_long_is_stopped_and_hurts_nobody(hostile: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "READ_SECONDS", 2)
    bystander, one = opened("bert", hostile), opened("stares", hostile)
    with ThreadPoolExecutor(1) as pool:
        hanging = pool.submit(one.read, ENDLESS)
        begun = time.monotonic()
        assert len(bystander.read(SENTENCE).tokens) > 3
        assert not hanging.done() or time.monotonic() - begun > 2
        with pytest.raises(ModelError, match=r"^The model took longer than 2 seconds, so it was stopped\.$"):
            hanging.result(60)
    with pytest.raises(ClosedError):
        one.read(SENTENCE)
    bystander.close()


def test_a_worker_may_take_five_times_its_weights_and_what_reading_needs(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One copy of the file, and two of twice its size when 16-bit weights become 32-bit ones."""
    size = sum(file.stat().st_size for file in (settings.root / "bert").glob("*.safetensors"))
    monkeypatch.setattr(worker, "free_memory", lambda: 2**40)
    assert worker.memory_for("bert", settings) == 5 * size + 3 * 2**29
    monkeypatch.setattr(worker, "free_memory", lambda: 2**30)
    assert worker.memory_for("bert", settings) == 2**30 - 2**28
    assert worker.memory_for("bert", settings, 2**20) == 2**30 + 2**20 - 2**28


def test_more_memory_than_is_free_is_not_taken(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "free_memory", lambda: worker.SPARE_BYTES)
    with pytest.raises(ModelError, match=f"^{NO_MEMORY}$"):
        opened("bert", settings)
    monkeypatch.undo()
    monkeypatch.setattr(worker, "WORKING_BYTES", 2**20)
    monkeypatch.setattr(worker, "COPIES", 0)
    with pytest.raises(ModelError, match=f"^{NO_MEMORY}$|crash"):
        opened("bert", settings)
    monkeypatch.undo()
    opened("bert", settings).close()


def test_a_worker_that_is_killed_is_opened_again(settings: Settings) -> None:
    books = Shelf(2, partial(in_worker, settings))
    books.facts("bert")
    process = the_only_worker()
    os.kill(process, signal.SIGKILL)
    assert len(books.read("bert", SENTENCE).tokens) > 3  # nobody was waiting for it, so nobody is told
    os.kill(fork_server(), signal.SIGKILL)
    worker._fork_server._process.wait()  # type: ignore[union-attr]
    assert books.read("gpt2", "cat").tokens == ("cat",)
    close(books)


def test_when_it_is_killed_in_the_middle_of_a_sentence_only_this_is_lost(hostile: Settings) -> None:
    books = Shelf(2, partial(in_worker, hostile))
    books.facts("stares")
    process = the_only_worker()
    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(books.read, "stares", ENDLESS) for _ in range(3)]
        eventually(lambda: books._models["stares"].busy)
        time.sleep(0.3)
        os.kill(process, signal.SIGKILL)
        for one in waiting:
            with pytest.raises(ModelError, match=r"^The model's files make the library that reads them crash\.$"):
                one.result(60)
    close(books)


def test_a_worker_that_has_worked_long_makes_room_for_a_fresh_one(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    books = Shelf(1, partial(in_worker, settings))
    monkeypatch.setattr(worker, "READ_SECONDS", worker.LIFE_SECONDS)
    books.facts("gpt2")
    first = the_only_worker()
    monkeypatch.undo()
    assert books.read("gpt2", "cat").tokens == ("cat",)
    assert the_only_worker() != first
    close(books)


@pytest.fixture
def visited(settings: Settings) -> Iterator[Shelf]:
    books = Shelf(1, partial(in_worker, settings))
    yield books
    close(books)


def test_visitors_with_different_models_and_room_for_one(visited: Shelf, settings: Settings) -> None:
    models = {name: load(name, settings) for name in ("bert", "gpt2", "t5")}

    def visit(name: str, sentence: str) -> Reading | ModelError:
        try:
            return visited.read(name, sentence)
        except ModelError as error:
            return error

    visits = [(name, f"cat {n}") for n in range(3) for name in (*models, "no-such-model")]
    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(visit, *zip(*visits, strict=True)))
    for (name, sentence), result in zip(visits, results, strict=True):
        if name == "no-such-model":
            assert "There is no model" in str(result)
        elif isinstance(result, ModelError):
            assert str(result) == "Too many visitors look at different models right now; try again in a moment."
        else:
            assert np.array_equal(result.maps[0].weights, read(models[name], sentence).maps[0].weights)
    assert sum(isinstance(result, Reading) for result in results) >= 3
    assert len(visited.names()) == 1
    the_only_worker()


def test_two_visitors_who_want_one_model_open_it_once(settings: Settings) -> None:
    calls: list[str] = []

    def open_model(name: str, make_room: object) -> Worker:
        calls.append(name)
        return Worker(name, settings, lambda needed: None)

    books = Shelf(2, open_model)
    with ThreadPoolExecutor(4) as pool:
        facts = list(pool.map(books.facts, ["bert"] * 4))
    assert calls == ["bert"]
    assert len(set(facts)) == 1
    books._models["bert"].close()


def test_our_own_model_is_on_the_shelf(settings: Settings) -> None:
    facts = shelf(settings).facts(OURS)
    assert (facts.kind, facts.model_type, facts.predicts) == ("encoder-decoder", "marian", True)
    assert shelf(settings).names() == [OURS]
    shelf(settings)._models[OURS].close()


def test_the_family_is_on_the_shelf_before_a_visitors_folder_of_that_name(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in FAMILY:
        loaded = small(name)
        checkpoint.save(tmp_path / name, loaded.config, loaded.tokenizer, loaded.model.state_dict())
    monkeypatch.setattr(shelves, "MODELS", tmp_path)
    monkeypatch.setattr(shelves, "model_names", lambda: FAMILY)
    monkeypatch.setattr(shelves, "_exports", {})
    books = shelf(settings)
    gpt, bert = (books.facts(name) for name in FAMILY)
    assert (gpt.kind, gpt.model_type, gpt.predicts) == ("decoder", "gpt2", True)
    assert (bert.kind, bert.model_type, bert.predicts, bert.mask_token) == ("encoder", "bert", True, "[MASK]")
    rounded = replace(small("bert-mini"), model=checkpoint.load(tmp_path / "bert-mini")[0])
    own = trace(rounded, SENTENCE)
    weights = np.stack([own.attention("encoder", layer) for layer in range(2)])
    assert np.allclose(books.read("bert-mini", SENTENCE).maps[0].weights, weights, atol=1e-5)
    assert books.read("bert-mini", SENTENCE, 2).covered is not None
    assert books.read("gpt-mini", SENTENCE).maps[0].kind == "decoder"
    for name in FAMILY:
        books._models[name].close()
        shelves._forget_export(name)


def test_a_damaged_model_of_our_own_is_named(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelves, "_exports", {})
    (tmp_path / "gpt-mini").mkdir()
    (tmp_path / "gpt-mini" / "config.json").write_text("{")
    monkeypatch.setattr(shelves, "MODELS", tmp_path)
    monkeypatch.setattr(shelves, "model_names", lambda: FAMILY)
    with pytest.raises(ModelError, match=r"config\.json cannot be read"):
        shelf(settings).facts("gpt-mini")


APP = """
import os, sys
from pathlib import Path
from hub.local_models import Settings
from hub import worker
one = worker.Worker("gpt2", Settings(Path(sys.argv[1]), False, 1), lambda needed: None)
print(worker._fork_server._process.pid, flush=True)
os._exit(0)
"""


def test_when_the_app_dies_nothing_is_left(settings: Settings) -> None:
    run = subprocess.run(
        [sys.executable, "-c", APP, str(settings.root)], cwd=HERE, capture_output=True, text=True, check=True
    )
    eventually(lambda: not Path(f"/proc/{int(run.stdout)}/status").exists())
