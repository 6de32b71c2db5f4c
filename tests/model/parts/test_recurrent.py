"""Recurrent networks against torch's own, against numbers worked out by hand, and their laws."""

import functools

import pytest
import torch
from torch import Tensor, nn
from torch.autograd.graph import Node
from torch.testing import assert_close

from model.families.readers import AttentionReader
from model.parts.recurrent import LSTMCell, Recurrent, RNNCell, compiled
from model.tap import Recorder, Tap, no_tap
from tests.model.test_tap import documented_taps

B, T, D_IN, D_HIDDEN = 2, 7, 5, 11
CELLS = (RNNCell, LSTMCell)


def layer(cell: type[RNNCell] | type[LSTMCell]) -> Recurrent:
    """Random weights, and random biases too: at 0 and 1 one could stand for the other unseen."""
    made = Recurrent(cell(D_IN, D_HIDDEN))
    nn.init.normal_(made.cell.w.bias)
    return made


@pytest.mark.parametrize("cell", CELLS)
def test_equals_torch(cell: type[RNNCell] | type[LSTMCell]) -> None:
    ours, x = layer(cell), torch.randn(B, T, D_IN)
    expected, last = compiled(ours)(x)
    recorder = Recorder()
    assert_close(ours(x, recorder), expected, atol=1e-6, rtol=1e-5)
    if cell is LSTMCell:
        assert_close(recorder.tensors[f"steps.{T - 1}.cell"], last[1][0], atol=1e-6, rtol=1e-5)


def test_an_untrained_lstm_keeps_most_of_its_cell() -> None:
    """Its forget gate starts with a bias of 1 in every unit, the other biases within ±1/√d_in."""
    i, f, g, o = LSTMCell(D_IN, D_HIDDEN).w.bias.chunk(4)
    assert (f == 1).all()
    for others in (i, g, o):
        assert others.abs().max() <= D_IN**-0.5
        assert others.std() > 0


@pytest.mark.parametrize("cell", CELLS)
def test_taps_pass_at_every_step_as_documented(cell: type[RNNCell] | type[LSTMCell]) -> None:
    recorder = Recorder()
    layer(cell)(torch.randn(B, T, D_IN), recorder)
    shapes = {"B,d_hidden": (B, D_HIDDEN), "B,4·d_hidden": (B, 4 * D_HIDDEN)}
    documented = {name: shapes[symbols] for name, symbols in documented_taps(cell).items()}
    expected = {f"steps.{t}.{name}": shape for t in range(T) for name, shape in documented.items()}
    assert {name: tuple(value.shape) for name, value in recorder.tensors.items()} == expected


@pytest.mark.parametrize("cell", CELLS)
def test_a_value_changed_at_any_tap_changes_the_last_state(cell: type[RNNCell] | type[LSTMCell]) -> None:
    ours, x, recorder = layer(cell), torch.randn(B, T, D_IN), Recorder()
    states = ours(x, recorder)

    def changing(changed: str) -> Tap:
        return lambda name, value: value + 0.1 if name == changed else value

    nothing_to_forget = "steps.0.forget_gate"  # the first step starts from a cell of zeros
    for changed in recorder.tensors.keys() - {nothing_to_forget}:
        assert not torch.equal(ours(x, changing(changed))[:, -1], states[:, -1]), changed
    assert torch.equal(ours(x, no_tap), states)


def test_nothing_stays_on_the_layer() -> None:
    ours = layer(LSTMCell)
    before = {name: set(vars(module)) for name, module in ours.named_modules()}
    first: Tensor = ours(x := torch.randn(B, T, D_IN))
    ours(torch.randn(B, T, D_IN))
    assert torch.equal(ours(x), first)
    assert {name: set(vars(module)) for name, module in ours.named_modules()} == before


def longest_chain(node: Node) -> int:
    """The most operations that had to wait for each other, by torch's record of what came from what."""

    @functools.cache
    def below(node: Node) -> int:
        return 1 + max((below(earlier) for earlier, _ in node.next_functions if earlier is not None), default=0)

    return below(node)


def test_every_step_of_a_recurrent_layer_waits_for_the_one_before_and_no_row_of_attention_does() -> None:
    for read, waits in ((layer(RNNCell), True), (layer(LSTMCell), True), (AttentionReader(D_IN + 1, 29), False)):
        width = D_IN if waits else D_IN + 1
        states = (read(torch.randn(1, length, width, requires_grad=True)) for length in (3, 4, 5, 13))
        chains = [longest_chain(state.grad_fn) for state in states]
        one_more = chains[1] - chains[0]
        assert chains == [chains[0] + n * one_more for n in (0, 1, 2, 10)]
        assert (one_more > 0) == waits
