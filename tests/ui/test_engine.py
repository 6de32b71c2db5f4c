"""Models by name, and the results that all visitors share."""

import itertools
import re
import threading
import time
import weakref
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from model.decoding.strategies import Beam
from model.files.loaded_model import LoadedModel, UnknownModelError, load_model
from model.interventions import Head, Interventions
from model.kept import Kept, kept
from ui import engine


@pytest.fixture
def empty_cache(monkeypatch: pytest.MonkeyPatch) -> Kept[object]:
    cache: Kept[object] = Kept(engine.CACHE_BYTES, engine._model_lock)
    monkeypatch.setattr(engine, "_results", cache)
    return cache


def test_a_trace_is_remembered_by_its_arguments(empty_cache: Kept[object]) -> None:
    first = engine.trace("We saw a dog.")
    assert engine.trace("We saw a dog.") is first
    others = [
        engine.trace("We saw a cat."),
        engine.trace("We saw a dog.", "Wir sahen einen Hund."),
        engine.trace("We saw a dog.", decoding=Beam(2)),
        engine.trace("We saw a dog.", interventions=Interventions(heads_off=frozenset({Head("encoder", 0, 0)}))),
        engine.trace("We saw a dog.", name="untrained"),
    ]
    assert len(empty_cache) == 1 + len(others)
    assert all(other is not first for other in others)


def test_the_cache_holds_so_many_bytes_and_no_more(empty_cache: Kept[object]) -> None:
    one = engine.trace("We saw 0 dogs.").nbytes
    for n in range(1, engine.CACHE_BYTES // one + 10):
        engine.trace(f"We saw {n} dogs.", "Wir sahen sie.")
        assert empty_cache.nbytes <= engine.CACHE_BYTES
    assert empty_cache.nbytes > engine.CACHE_BYTES / 2


def test_a_trace_too_large_for_the_cache_is_returned_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_results", Kept(10))
    assert engine.trace("We saw a dog.").translation


def test_visitors_at_once_get_what_each_gets_alone(empty_cache: Kept[object]) -> None:
    sentences = [f"We saw {n} dogs in the garden." for n in range(8)]
    alone = [engine.trace(s) for s in sentences]
    empty_cache.clear()
    together: dict[int, object] = {}
    threads = [threading.Thread(target=lambda i=i: together.update({i: engine.trace(sentences[i])})) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, one in enumerate(alone):
        other = together[i]
        assert other.labels == one.labels
        assert all(np.array_equal(other.tensors[name], one.tensors[name]) for name in one.tensors)


def count_rows(loaded: LoadedModel, src: tuple[int, ...], calls: list[int] | None = None) -> np.ndarray:
    """An experiment that says how often it ran."""
    RUNS.append(src)
    return np.zeros(len(src))


RUNS: list[tuple[int, ...]] = []


def test_an_experiment_is_remembered_by_model_and_arguments(empty_cache: Kept[object]) -> None:
    RUNS.clear()
    loaded, untrained = engine.model(), engine.model("untrained")
    first = engine.run(count_rows, loaded, (1, 2))
    assert engine.run(count_rows, loaded, (1, 2)) is first
    engine.run(count_rows, loaded, (3,))
    engine.run(count_rows, untrained, (1, 2))
    assert RUNS == [(1, 2), (3,), (1, 2)]


def free() -> bool:
    """Whether another thread could run something on a model now."""
    with ThreadPoolExecutor(1) as other:
        return bool(
            other.submit(
                lambda: engine._model_lock.acquire(blocking=False) and not engine._model_lock.release()
            ).result()
        )


def test_whatever_runs_on_a_model_runs_alone(empty_cache: Kept[object]) -> None:
    seen = [engine.run(lambda loaded: free(), engine.model()), engine.alone(free)]

    def work() -> Generator[float, None, bool]:
        seen.append(free())
        yield 0.5
        seen.append(free())
        return True

    steps = engine.by_turns(work())
    assert (next(steps), free()) == (0.5, True)
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert (end.value.value, free(), seen) == (True, True, [False] * 4)


def test_only_the_engine_holds_its_lock() -> None:
    """All else goes through `run`, `alone` and `by_turns`; and what keeps results counts bytes, not entries."""
    for path in (
        path
        for folder in ("pages", "ui", "experiments", "hub")
        for path in (Path(__file__).parents[2] / folder).rglob("*.py")
    ):
        code = path.read_text(encoding="utf-8")
        assert path.name == "engine.py" or "_model_lock" not in code, path
        if path.name in ("looks.py", "source.py", "any_model.py"):  # of short texts
            continue
        assert not re.search(r"lru_cache|max_entries=", code), path
        given = re.findall(r"@(?:\w+\.)?cache(?:_data|_resource)?\b.*\n\s*def \w+\((\w*)", code)
        assert {*given} <= {"", "name", "settings"}, path  # of which there are few


def test_thirty_who_ask_for_one_thing_at_once_wait_for_one_computation(empty_cache: Kept[object]) -> None:
    started, calls = threading.Barrier(30), []

    def slow(loaded: LoadedModel) -> np.ndarray:
        calls.append(1)
        time.sleep(0.05)
        return np.zeros(3)

    def ask(_: int) -> object:
        started.wait()
        return engine.run(slow, loaded)

    loaded = engine.model()
    with ThreadPoolExecutor(30) as pool:
        assert len({id(one) for one in pool.map(ask, range(30))}) == len(calls) == 1


def test_no_array_that_is_kept_can_be_changed(empty_cache: Kept[object]) -> None:
    @dataclass
    class Result:
        rows: list[np.ndarray]

    arrays = [np.zeros(2) for _ in range(4)]
    first, second, third, fourth = arrays
    engine.run(lambda loaded: {"a": first, "b": (second, [third], Result([fourth]))}, engine.model())
    assert not any(one.flags.writeable for one in arrays)


def test_functions_share_one_place_for_what_they_return(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("model.kept.shared", Kept(4000))

    @kept
    def zeros(n: int) -> np.ndarray:
        return np.zeros(n)

    first = zeros(200)
    assert zeros(200) is first
    assert not first.flags.writeable
    zeros(250)  # now both do not fit
    assert zeros(200) is not first


def test_a_model_counts_its_copies_in_16_bits() -> None:
    loaded = engine.model()
    engine.trace("We saw a dog.")
    weights = list(loaded.model.parameters())
    copied = [w for w in weights if getattr(w, "in_16_bits", (0, None))[1] is not None]
    assert loaded.nbytes >= sum(w.nbytes for w in weights) + sum(w.nbytes // 2 for w in copied)
    assert loaded.nbytes <= 2 * sum(w.nbytes for w in weights)


def test_an_experiment_that_fails_lets_the_lock_go_and_is_not_remembered() -> None:
    def fails(loaded: LoadedModel) -> None:
        raise RuntimeError("on purpose")

    for _ in range(2):
        with pytest.raises(RuntimeError, match="on purpose"):
            engine.run(fails, engine.model())
    assert free()


def test_two_visitors_who_ask_for_one_model_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """And two who ask for two models get both."""
    monkeypatch.setattr(engine, "_models", Kept(engine.MODEL_BYTES, size=lambda one: one.nbytes))
    loads: list[str] = []

    def slow(name: str) -> LoadedModel:
        loads.append(name)
        time.sleep(0.1)
        return load_model(name)

    monkeypatch.setattr(engine, "load_model", slow)
    names = ["translator", "translator", "untrained", "translator"]
    with ThreadPoolExecutor(4) as pool:
        models = list(pool.map(engine.model, names))
    assert [one.name for one in models] == names
    assert models[0] is models[1] is models[3]
    assert sorted(loads) == ["translator", "untrained"]


def test_the_model_used_least_recently_leaves_when_bytes_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    size = engine.model().nbytes
    monkeypatch.setattr(engine, "_models", Kept(int(1.5 * size), size=lambda one: one.nbytes))
    first = engine.model()
    assert engine.model() is first
    engine.model("untrained")
    assert engine.model() is not first


class _Cycle:
    """Garbage that only a search finds."""

    def __init__(self) -> None:
        self.me = self


def test_garbage_goes_after_a_first_run_and_after_every_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "RUNS_PER_SEARCH", 20)
    monkeypatch.setattr(engine, "_pages_run", set())
    monkeypatch.setattr(engine, "_runs", itertools.count(1))
    early, frozen = _Cycle(), _Cycle()
    seen_early, seen_frozen = weakref.ref(early), weakref.ref(frozen)
    del early
    engine.tidy_up("page")
    assert seen_early() is None
    del frozen
    for _ in range(2, engine.RUNS_PER_SEARCH):
        engine.tidy_up("page")
    engine.tidy_up("another page")
    assert seen_frozen() is None


def test_memory_goes_back_to_the_system_once_after_a_model_was_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    engine.tidy_up("a page")
    monkeypatch.setattr(engine, "_models", Kept(engine.MODEL_BYTES, size=lambda one: one.nbytes))
    given_back: list[None] = []
    monkeypatch.setattr(engine, "give_back_memory", lambda: given_back.append(None))
    engine.tidy_up("a page")
    assert not given_back
    engine.model()
    engine.tidy_up("a page")
    engine.tidy_up("a page")
    assert len(given_back) == 1


def test_nothing_is_kept_of_names_that_fail(empty_cache: Kept[object]) -> None:
    """They come from addresses, so there may be any number of them."""

    def fail() -> None:
        raise UnknownModelError

    for cache in (Kept[object](1000), empty_cache):
        for n in range(3):
            with pytest.raises(UnknownModelError):
                cache.get(f"x{n}", fail)
        assert not cache._computing
