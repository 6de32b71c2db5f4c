"""The stopwatch of the three readers, with a clock that is wound by hand."""

import itertools

import pytest
import torch
from torch import Tensor, nn

from experiments.inputs import before_attention
from experiments.inputs.before_attention import reading_times
from model.families.readers import READERS


def test_the_fastest_of_four_runs_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading takes as many seconds as there are positions, and 4, 2, 1 or 3 more."""
    now, extra, read = 0.0, itertools.cycle((4, 2, 1, 3)), []

    def slowly(layer: nn.Module, args: tuple[Tensor, ...], _result: object) -> None:
        nonlocal now
        if layer in ways:
            read.append((layer, tuple(args[0].shape)))
            now += args[0].size(1) + next(extra)

    ways: list[nn.Module] = []
    readers, compiled = before_attention.Readers, before_attention.compiled

    def watched_readers(config: object) -> nn.Module:
        made = readers(config)  # type: ignore[arg-type]
        ways.extend(made.get_submodule(name) for name in READERS)
        return made

    def watched_compiled(layer: object) -> nn.Module:
        ways.append(compiled(layer))  # type: ignore[arg-type]
        return ways[-1]

    monkeypatch.setattr(before_attention, "LENGTHS", (3, 7))
    monkeypatch.setattr(before_attention, "Readers", watched_readers)
    monkeypatch.setattr(before_attention, "compiled", watched_compiled)
    monkeypatch.setattr(before_attention.time, "perf_counter", lambda: now)
    hook = torch.nn.modules.module.register_module_forward_hook(slowly)
    try:
        run, shares = reading_times(6), []
        while True:
            try:
                shares.append(next(run))
            except StopIteration as end:
                seconds = end.value
                break
    finally:
        hook.remove()
    assert seconds == dict.fromkeys((*READERS, "compiled"), (4, 8))
    assert shares == [n / 8 for n in range(8)]
    assert isinstance(ways[-1], nn.LSTM)
    assert torch.equal(ways[-1].weight_ih_l0, ways[READERS.index("lstm")].get_parameter("cell.w.weight"))
    assert read == [(way, (1, length, 6)) for length in (3, 7) for way in ways for _ in range(4)]
