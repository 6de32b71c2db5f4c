"""Two models that are made for comparison: an LSTM that writes texts, and a decoder that reads numbers."""

import dataclasses
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from explain import Numbers, worked
from model.build import build_in_context, build_network
from model.config import PRESETS
from model.families.in_context import InContext, InContextConfig
from model.families.recurrent_language_model import RecurrentConfig, RecurrentLanguageModel
from model.files import load_special_models
from model.tap import Recorder

LSTM = RecurrentConfig(vocab_size=101, d_model=13, d_hidden=17, n_layers=2)
NUMBERS = InContextConfig(d_in=3, n_pairs=7, d_model=42, n_heads=3, n_layers=2, d_ff=53)


@pytest.fixture
def lstm() -> RecurrentLanguageModel:
    return RecurrentLanguageModel(LSTM).eval()


@pytest.fixture
def numbers() -> InContext:
    torch.manual_seed(3)
    model = build_in_context(NUMBERS).eval()
    for parameter in model.parameters():  # at their small start every guess is about 0
        torch.nn.init.normal_(parameter, std=0.3)
    return model


def test_the_lstms_fast_path_computes_what_the_readable_one_does(lstm: RecurrentLanguageModel) -> None:
    """Without a tap torch's own loop runs; with one, ours does, step by step. Gradients too are the same."""
    ids, goal = torch.randint(6, 101, (3, 11)), torch.randn(3, 11, 101)
    fast, recorder = lstm(ids), Recorder()
    readable = lstm(ids, recorder)
    assert "layers.1.steps.10.forget_gate" in recorder.tensors
    assert_close(fast, readable, atol=1e-5, rtol=1e-5)
    weights = list(lstm.parameters())
    fast_gradients = torch.autograd.grad((fast * goal).sum(), weights)

    def tap(name: str, value: torch.Tensor) -> torch.Tensor:
        return value

    for one, other in zip(fast_gradients, torch.autograd.grad((lstm(ids, tap) * goal).sum(), weights), strict=True):
        assert_close(one, other, atol=1e-4, rtol=1e-4)


def test_the_lstm_is_as_large_as_gpt() -> None:
    ours, gpts = (
        sum(p.numel() for p in model.parameters())
        for model in (RecurrentLanguageModel(RecurrentConfig()), build_network(PRESETS["gpt-mini"]))
    )
    assert ours / gpts == pytest.approx(1, abs=0.01)


def test_a_guess_is_made_from_the_pairs_before_it_alone(numbers: InContext) -> None:
    x, y = torch.randn(1, 7, 3), torch.randn(1, 7)
    guesses = numbers(x, y)
    assert guesses.shape == (1, 7)
    for at in range(7):
        later_x, later_y = x.clone(), y.clone()
        later_x[:, at + 1 :], later_y[:, at:] = 9.0, 9.0  # its own y, and all that comes behind
        assert_close(numbers(later_x, later_y)[:, : at + 1], guesses[:, : at + 1], atol=1e-5, rtol=1e-5)
        if at:
            other_y, other_x = y.clone(), x.clone()
            other_y[:, at - 1], other_x[:, at] = 9.0, 9.0
            assert not torch.allclose(numbers(x, other_y)[:, at], guesses[:, at], atol=1e-3)
            assert not torch.allclose(numbers(other_x, y)[:, at], guesses[:, at], atol=1e-3)


def test_numbers_are_read_in_the_order_x_y_x_y(numbers: InContext) -> None:
    """By hand: y stands in the first place of a row, with zeros behind it."""
    recorder, x, y = Recorder(), torch.randn(1, 2, 3), torch.randn(1, 2)
    numbers(x, y, recorder)
    rows = torch.stack([x[0, 0], torch.tensor([y[0, 0], 0, 0]), x[0, 1], torch.tensor([y[0, 1], 0, 0])])
    expected = rows @ numbers.read_in.weight.T + numbers.read_in.bias
    assert_close(recorder.tensors["read_in"][0], expected, atol=1e-5, rtol=1e-5)


def test_its_anatomy_tells_of_every_number_and_of_no_other(numbers: InContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a weight of its last row is worked out from what the anatomy names."""
    monkeypatch.setattr(load_special_models, "load_in_context", lambda folder: (numbers, NUMBERS))
    loaded = load_special_models.loaded_in_context(Path("small"))
    trace = load_special_models.trace_prompt(loaded, torch.randn(7, 3), torch.randn(7), "a prompt")
    assert set(trace.tensors) - {"guesses"} == set(loaded.anatomy.tensors)
    cells = Numbers(trace.tensors, loaded.weights, loaded.anatomy)
    for name in ("read_in", "embedded", "decoder.layers.1.self_attn.weights"):
        index = (2, 12, 5)[3 - trace.tensors[name].ndim :]
        assert worked(cells, name, index).value == pytest.approx(float(trace.tensors[name][index]), abs=1e-5)
    total = trace.tensors["read_in"] + trace.tensors["positions"]
    assert trace.tensors["embedded"] == pytest.approx(total, abs=1e-6)


def test_the_numbers_of_a_prompt_have_learned_positions(numbers: InContext) -> None:
    x, y = torch.randn(1, 1, 3).expand(1, 7, 3), torch.randn(1, 1).expand(1, 7)
    assert numbers(x, y)[0].unique().numel() == 7
    longer = dataclasses.replace(NUMBERS, n_pairs=9)
    assert build_in_context(longer).positions.table.weight.shape == (18, 42)
