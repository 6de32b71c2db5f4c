"""Models by name, and the results that all visitors share."""

import itertools
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import cachetools
import numpy as np
import pytest

from model.decoding.strategies import Beam
from model.files.loaded_model import LoadedModel, load_model
from model.interventions import Head, Interventions
from ui import engine


@pytest.fixture
def empty_cache(monkeypatch: pytest.MonkeyPatch) -> cachetools.LRUCache[object, object]:
    cache: cachetools.LRUCache[object, object] = cachetools.LRUCache(engine.CACHE_BYTES, getsizeof=engine.size_of)
    monkeypatch.setattr(engine, "_results", cache)
    return cache


def test_a_trace_is_remembered_by_its_arguments(empty_cache: cachetools.LRUCache[object, object]) -> None:
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


def test_the_cache_holds_so_many_bytes_and_no_more(empty_cache: cachetools.LRUCache[object, object]) -> None:
    one = engine.trace("We saw 0 dogs.").nbytes
    for n in range(1, engine.CACHE_BYTES // one + 10):
        engine.trace(f"We saw {n} dogs.", "Wir sahen sie.")
        assert empty_cache.currsize <= engine.CACHE_BYTES
    assert empty_cache.currsize > engine.CACHE_BYTES / 2


def test_a_trace_too_large_for_the_cache_is_returned_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_results", cachetools.LRUCache(10, getsizeof=engine.size_of))
    monkeypatch.setattr(engine, "CACHE_BYTES", 10)
    assert engine.trace("We saw a dog.").translation


def test_visitors_at_once_get_what_each_gets_alone(empty_cache: cachetools.LRUCache[object, object]) -> None:
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


@pytest.mark.parametrize("name", ["translator", "untrained"])
def test_the_weights_cannot_be_changed(name: str) -> None:
    weights = engine.model(name).weights
    matrix = "encoder.layers.0.self_attn.w_q.weight"
    with pytest.raises(ValueError, match="read-only"):
        weights[matrix][0, 0] = 1
    with pytest.raises(TypeError):
        weights[matrix] = weights[matrix]


def test_the_untrained_model_has_other_weights_of_the_same_shapes() -> None:
    real, random = engine.model().weights, engine.model("untrained").weights
    assert {n: w.shape for n, w in real.items()} == {n: w.shape for n, w in random.items()}
    assert not np.array_equal(real["embedding.matrix.weight"], random["embedding.matrix.weight"])


def count_rows(loaded: LoadedModel, src: tuple[int, ...], calls: list[int] | None = None) -> np.ndarray:
    """An experiment that says how often it ran."""
    RUNS.append(src)
    return np.zeros(len(src))


RUNS: list[tuple[int, ...]] = []


def test_an_experiment_is_remembered_by_model_and_arguments(empty_cache: cachetools.LRUCache[object, object]) -> None:
    RUNS.clear()
    loaded, untrained = engine.model(), engine.model("untrained")
    first = engine.run(count_rows, loaded, (1, 2))
    assert engine.run(count_rows, loaded, (1, 2)) is first
    engine.run(count_rows, loaded, (3,))
    engine.run(count_rows, untrained, (1, 2))
    assert RUNS == [(1, 2), (3,), (1, 2)]


def test_every_experiment_holds_the_lock(empty_cache: cachetools.LRUCache[object, object]) -> None:
    def locked(loaded: LoadedModel) -> bool:
        return engine.model_lock.locked()

    assert engine.run(locked, engine.model())
    assert not engine.model_lock.locked()


def test_an_experiment_that_fails_lets_the_lock_go_and_is_not_remembered() -> None:
    def fails(loaded: LoadedModel) -> None:
        raise RuntimeError("on purpose")

    for _ in range(2):
        with pytest.raises(RuntimeError, match="on purpose"):
            engine.run(fails, engine.model())
    assert not engine.model_lock.locked()


def test_two_visitors_who_ask_for_one_model_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """And two who ask for two models get both."""
    monkeypatch.setattr(engine, "_models", cachetools.LRUCache(engine.MODEL_BYTES, getsizeof=lambda one: one.nbytes))
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
    monkeypatch.setattr(engine, "_models", cachetools.LRUCache(int(1.5 * size), getsizeof=lambda one: one.nbytes))
    first = engine.model()
    assert engine.model() is first
    engine.model("untrained")
    assert engine.model() is not first


class _Cycle:
    """Garbage that only a search finds."""

    def __init__(self) -> None:
        self.me = self


def test_garbage_goes_after_a_first_run_and_after_every_thousandth(monkeypatch: pytest.MonkeyPatch) -> None:
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
