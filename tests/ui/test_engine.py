"""The traces that all visitors share."""

import threading

import cachetools
import numpy as np
import pytest

from model.decoding import Beam
from model.interventions import Head, Interventions
from ui import engine


@pytest.fixture
def empty_cache(monkeypatch: pytest.MonkeyPatch) -> cachetools.LRUCache[object, object]:
    cache: cachetools.LRUCache[object, object] = cachetools.LRUCache(
        engine.CACHE_BYTES, getsizeof=lambda trace: trace.nbytes
    )
    monkeypatch.setattr(engine, "_cache", cache)
    return cache


def test_a_trace_is_remembered_by_its_arguments(empty_cache: cachetools.LRUCache[object, object]) -> None:
    first = engine.trace("We saw a dog.")
    assert engine.trace("We saw a dog.") is first
    others = [
        engine.trace("We saw a cat."),
        engine.trace("We saw a dog.", "Wir sahen einen Hund."),
        engine.trace("We saw a dog.", decoding=Beam(2)),
        engine.trace("We saw a dog.", interventions=Interventions(heads_off=frozenset({Head("encoder", 0, 0)}))),
        engine.trace("We saw a dog.", twin=True),
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
    monkeypatch.setattr(engine, "_cache", cachetools.LRUCache(10, getsizeof=lambda trace: trace.nbytes))
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


@pytest.mark.parametrize("twin", [False, True])
def test_the_weights_cannot_be_changed(twin: bool) -> None:
    weights = engine.weights(twin)
    name = "encoder.layers.0.self_attn.w_q.weight"
    with pytest.raises(ValueError, match="read-only"):
        weights[name][0, 0] = 1
    with pytest.raises(TypeError):
        weights[name] = weights[name]


def test_the_twin_has_other_weights_of_the_same_shapes() -> None:
    real, twin = engine.weights(), engine.weights(twin=True)
    assert {n: w.shape for n, w in real.items()} == {n: w.shape for n, w in twin.items()}
    assert not np.array_equal(real["embedding.matrix.weight"], twin["embedding.matrix.weight"])
