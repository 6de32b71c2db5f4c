"""The loss, worked out by hand and beside a second computation of the shipped model in NumPy."""

import contextlib
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from model.build import build_model
from model.files import checkpoint
from model.parts.experts import balance_loss
from model.tap import Recorder
from model.text.tokenizer import PAD_ID, Tokenizer
from tests.oracle.passes.forward import EOS, Forward, source_ids
from tests.small import CONFIG, random_ids
from training.loop.data import NO_VARIATION, epoch_loader
from training.loop.loss import batch_loss, validation_loss
from training.loop.updates import Batch, OneDevice

SENTENCES = [("Go.", "Geh."), ("I like dogs.", "Ich mag Hunde."), ("It is late, isn't it?", "Es ist spät, oder?")]


class FixedLogits(nn.Module):
    def __init__(self, logits: Tensor) -> None:
        super().__init__()
        self.logits = nn.Parameter(logits)

    def forward(self, src_ids: Tensor, tgt_ids: Tensor) -> Tensor:
        return self.logits


def fixed(labels: list[list[int]]) -> dict[str, Tensor]:
    return {"src_ids": torch.empty(0), "tgt_ids": torch.empty(0), "labels": torch.tensor(labels)}


def test_the_loss_by_hand() -> None:
    """Two tokens of probability 1/2 and 1/4, and padding that does not count: (ln 2 + ln 4) / 2."""
    probabilities = torch.tensor([[[0.1, 0.2, 0.2, 0.5], [0.25, 0.25, 0.25, 0.25], [0.97, 0.01, 0.01, 0.01]]])
    batch, model = fixed([[3, 2, PAD_ID]]), FixedLogits(probabilities.log())
    assert batch_loss(model, batch, 0.0).item() == pytest.approx(1.5 * math.log(2))
    assert batch_loss(model, batch, 0.0, "sum").item() == pytest.approx(3 * math.log(2))
    smoothed = -(0.9 * math.log(1 / 2) + 0.1 * sum(map(math.log, (0.1, 0.2, 0.2, 0.5))) / 4)
    smoothed += -(0.9 * math.log(1 / 4) + 0.1 * math.log(1 / 4))
    assert batch_loss(model, batch, 0.1, "sum").item() == pytest.approx(smoothed)
    assert batch_loss(model, batch, 0.1).item() == pytest.approx(smoothed / 2)


def test_padding_has_no_gradient() -> None:
    model = FixedLogits(torch.randn(2, 3, 7))
    batch_loss(model, fixed([[3, 2, PAD_ID], [4, PAD_ID, PAD_ID]]), 0.1).backward()
    lengths = model.logits.grad.norm(dim=-1)
    assert (lengths > 0).tolist() == [[True, True, False], [True, False, False]]


def test_half_precision_logits_are_read_in_full_precision() -> None:
    logits = torch.randn(1, 2, 7).bfloat16()
    loss = batch_loss(FixedLogits(logits), fixed([[3, 2]]), 0.1)
    assert loss.dtype == torch.float32
    assert loss.item() == batch_loss(FixedLogits(logits.float()), fixed([[3, 2]]), 0.1).item()


class ByHand:
    """What the shipped model's mean loss is, by a forward pass in NumPy without dropout, one sentence at a time."""

    def __init__(self, tokenizer: Tokenizer, pairs: list[tuple[str, str]]) -> None:
        self.tokens, total = 0, 0.0
        for english, german in pairs:
            labels = [*tokenizer.encode(german), EOS]
            logits = Forward(source_ids(english), labels).logits
            log_probabilities = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
            total -= log_probabilities[np.arange(len(labels)), labels].sum()
            self.tokens += len(labels)
        self.loss = total / self.tokens


def batches_of(tokenizer: Tokenizer, batch_tokens: int) -> list[Batch]:
    return list(epoch_loader(SENTENCES, tokenizer, batch_tokens, NO_VARIATION, 0, 0, 256))


@pytest.mark.parametrize("batch_tokens", [9, 1000])
def test_the_validation_loss_is_the_one_worked_out_in_numpy(batch_tokens: int) -> None:
    """A mean over tokens, not over batches or sentences; without dropout, though the model comes in training mode."""
    model, tokenizer = checkpoint.load()
    batches = batches_of(tokenizer, batch_tokens)
    assert (len(batches) > 1) == (batch_tokens == 9)
    assert any(module.p > 0 for module in model.modules() if isinstance(module, nn.Dropout))
    expected = ByHand(tokenizer, SENTENCES)
    for _ in range(2):
        model.train()
        assert validation_loss(model, batches) == pytest.approx(expected.loss, abs=1e-4)
        assert not model.training


def test_validation_keeps_no_graph_and_uses_the_machinerys_precision() -> None:
    entered: list[str] = []

    class Recorded(OneDevice):
        @contextlib.contextmanager
        def autocast(self) -> Iterator[None]:
            entered.append("autocast")
            yield

    class Watched(FixedLogits):
        def forward(self, src_ids: Tensor, tgt_ids: Tensor) -> Tensor:
            assert entered == ["autocast"]
            assert not torch.is_grad_enabled()
            return self.logits

    assert validation_loss(Watched(torch.zeros(1, 2, 8)), [fixed([[3, 2]])], Recorded()) == pytest.approx(math.log(8))


def test_imbalance_is_added_up_over_layers_and_rows_that_are_not_padding() -> None:
    config = replace(CONFIG, feed_forward="experts", n_experts=3, dropout=0.0)
    model, recorder = build_model(config).eval(), Recorder()
    src_ids, tgt_ids = random_ids(2, 5), random_ids(2, 4)
    src_ids[1, 3:] = tgt_ids[0, 2:] = PAD_ID
    batch = {"src_ids": src_ids, "tgt_ids": tgt_ids, "labels": tgt_ids}
    model(src_ids, tgt_ids, recorder)
    total = 0.0
    for stack, ids in (("encoder", src_ids), ("decoder", tgt_ids)):
        for n in range(config.n_layers):
            path = f"{stack}.layers.{n}.feed_forward"
            shares, gates = (recorder.tensors[f"{path}.{name}"][ids != PAD_ID] for name in ("shares", "gates"))
            total += balance_loss(shares, gates).item()
    plain, with_it = (batch_loss(model, batch, 0.1, balance=balance).item() for balance in (0.0, 0.5))
    assert total > 4 * 0.9
    assert with_it - plain == pytest.approx(0.5 * total, rel=1e-4)
