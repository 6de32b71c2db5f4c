"""However many visitors want models at once, there are never more in memory than the shelf has room for."""

import errno
import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import cachetools
import pytest
from safetensors import SafetensorError

from hub import open_models as shelves
from hub.local_models import ModelError, Settings
from hub.open_models import NO_EXPORT, OURS, Shelf, own_models
from hub.reading_types import ModelFacts, Reading
from hub.worker import TooSlowError


@dataclass
class Count:
    """How many stand-ins are open, and the most there ever were."""

    now: int = 0
    most: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, by: int) -> None:
        with self.lock:
            self.now += by
            self.most = max(self.most, self.now)


class StandIn:
    """In the place of a model, with nothing in it but its name."""

    facts = ModelFacts.__new__(ModelFacts)
    busy = False

    def __init__(self, count: Count, name: str = "") -> None:
        object.__setattr__(self.facts, "n_parameters", 0)
        self.closed, self._count, self._name = False, count, name
        count.add(1)

    def read(self, sentence: str, hidden: int | None = None) -> Reading:
        return Reading((self._name, sentence), 0, (), "", (), "")

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._count.add(-1)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_never_more_models_than_there_is_room_for_and_each_visitor_reads_with_the_one_asked_for(size: int) -> None:
    count = Count()

    def open_model(name: str, make_room: Callable[[int], None]) -> StandIn:
        make_room(0)
        time.sleep(0.002)
        opened = StandIn(count, name)
        time.sleep(0.002)
        return opened

    shelf = Shelf(size, open_model)
    with ThreadPoolExecutor(8) as pool:
        read = pool.map(lambda n: shelf.read(f"model {n % 7}", f"sentence {n // 7}").tokens, range(200))
        assert list(read) == [(f"model {n % 7}", f"sentence {n // 7}") for n in range(200)]
    assert 1 <= len(shelf.names()) == count.now <= size  # two that came at once may each have made room for both
    for n in range(size):
        shelf.facts(f"model {n}")
    assert len(shelf.names()) == count.now == size
    assert count.most <= size


def test_the_family_stands_on_the_shelf_as_far_as_it_comes_with_the_app(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelves, "model_names", lambda: ("plain-1", "translator"))
    assert own_models() == {OURS: "translator"}
    monkeypatch.setattr(shelves, "model_names", lambda: ("bert-mini", "gpt-mini", "plain-1", "translator"))
    assert own_models() == {OURS: "translator", "gpt-mini": "gpt-mini", "bert-mini": "bert-mini"}


class Reader(StandIn):
    """Counts who asks for what, and takes its time."""

    def __init__(self, asked: list[str], error: Exception | None = None) -> None:
        super().__init__(Count())
        self._asked, self._error = asked, error

    def read(self, sentence: str, hidden: int | None = None) -> Reading:
        self._asked.append(sentence)
        time.sleep(0.05)
        if self._error:
            raise self._error
        return Reading((sentence,), 0, (), "", (), "")


def test_what_many_want_at_once_is_read_once() -> None:
    asked: list[str] = []
    shelf = Shelf(1, lambda name, make_room: Reader(asked))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: shelf.read("one", f"sentence {n % 2}").tokens, range(8)))
    assert found == [(f"sentence {n % 2}",) for n in range(8)]
    assert sorted(asked) == ["sentence 0", "sentence 1"]
    shelf.read("one", "sentence 0", hidden=1)
    assert sorted(asked) == ["sentence 0", "sentence 0", "sentence 1"], "a covered token makes another reading"


def test_what_took_too_long_is_refused_at_once_for_a_while() -> None:
    asked: list[str] = []
    now = 0.0
    shelf = Shelf(1, lambda name, make_room: Reader(asked, TooSlowError("too slow")))
    shelf._too_slow = cachetools.TTLCache(1000, shelves.FORGIVEN_SECONDS, timer=lambda: now)
    for _ in range(3):
        with pytest.raises(ModelError, match=r"^too slow$"):
            shelf.read("one", "long")
    assert asked == ["long"]
    with pytest.raises(ModelError, match=r"^too slow$"):
        shelf.read("one", "another")
    now += shelves.FORGIVEN_SECONDS + 1
    with pytest.raises(ModelError, match=r"^too slow$"):
        shelf.read("one", "long")
    assert asked == ["long", "another", "long"]


def test_a_model_that_took_too_long_to_open_is_refused_at_once_for_a_while() -> None:
    opened: list[str] = []

    def open_model(name: str, make_room: Callable[[int], None]) -> StandIn:
        opened.append(name)
        raise TooSlowError("too slow")

    shelf = Shelf(1, open_model)
    for _ in range(3):
        with pytest.raises(ModelError, match=r"^too slow$"):
            shelf.facts("one")
    assert opened == ["one"]


def test_who_is_reading_leaves_last() -> None:
    def open_model(name: str, make_room: Callable[[int], None]) -> StandIn:
        make_room(0)
        return StandIn(Count())

    shelf = Shelf(2, open_model)
    shelf.facts("first")
    shelf.facts("second")
    shelf._models["first"].busy = True  # type: ignore[misc]
    shelf.facts("third")
    assert shelf.names() == ["first", "third"]
    shelf._models["third"].busy = True  # type: ignore[misc]
    shelf.facts("fourth")
    assert shelf.names() == ["third", "fourth"]


def test_a_worker_may_take_what_models_that_leave_for_it_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its limit is set before room is made for it."""
    told: list[int] = []

    def worker(name: str, settings: Settings, make_room: Callable[[int], None], freeable: int) -> StandIn:
        told.append(freeable)
        make_room(0)
        opened = StandIn(Count())
        opened.facts = SimpleNamespace(n_parameters=100)  # type: ignore[assignment]
        return opened

    monkeypatch.setattr(shelves, "Worker", worker)
    shelf = shelves.shelf(Settings(tmp_path, downloads=False, kept=2))
    for name in ("one", "two", "three"):
        shelf.facts(name)
    assert told == [0, 400, 800]
    assert shelf.freeable() == 800


def test_an_export_that_was_cleaned_away_is_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def export(target: Path, source: Path) -> None:
        if full:
            raise full.pop()
        target.mkdir()
        for file in ("config.json", "tokenizer.json", "model.safetensors"):
            (target / file).touch()

    full: list[Exception] = []
    monkeypatch.setattr(shelves, "_exports", {})
    monkeypatch.setattr(shelves, "export", export)
    root = shelves._exported("gpt-mini")
    assert shelves._exported("gpt-mini") == root
    shutil.rmtree(root)
    full += [OSError(errno.ENOSPC, "No space left on device"), SafetensorError("I/O error")]
    for _ in range(2):
        with pytest.raises(ModelError, match=f"^{NO_EXPORT}$"):
            shelves._exported("gpt-mini")
    again = shelves._exported("gpt-mini")
    assert (again / "gpt-mini" / "config.json").is_file()
    shelves._forget_export("gpt-mini")
    assert not again.exists()
