"""However many visitors want models at once, there are never more in memory than the shelf has room for."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

from hub import shelf as shelves
from hub.results import ModelFacts, Reading
from hub.shelf import OURS, Shelf, own_models


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
    """In the place of a model, with nothing in it."""

    facts = ModelFacts.__new__(ModelFacts)

    def __init__(self, count: Count) -> None:
        object.__setattr__(self.facts, "n_parameters", 0)
        self.closed, self._count = False, count
        count.add(1)

    def read(self, sentence: str, hidden: int | None = None) -> Reading:
        raise NotImplementedError

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._count.add(-1)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_never_more_models_than_there_is_room_for(size: int) -> None:
    count = Count()

    def open_model(name: str, make_room: Callable[[int], None]) -> StandIn:
        make_room(0)
        time.sleep(0.002)
        opened = StandIn(count)
        time.sleep(0.002)
        return opened

    shelf = Shelf(size, open_model)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(shelf.facts, [f"model {n % 7}" for n in range(200)]))
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
