"""The loss of packed rows, beside the house's and beside autograd's; a run on them that was killed."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from model.build import build_model
from model.files import checkpoint
from model.text.tokenizer import PAD_ID
from tests.small import CONFIG
from tests.training.conftest import PAIRS, Killed, killed_after, same_weights, write_pairs
from tests.training.distilling.test_packed_rows import batch_of
from training.distilling import packed_run
from training.distilling.packed_rows import WIDTH
from training.distilling.packed_run import PackedTask, r_drop_loss
from training.loop.data import collate
from training.loop.loss import batch_loss
from training.loop.recipe import RECIPES
from training.loop.resumable_run import Run

ROW = [([5, 6, 7], [8, 9]), ([10], [11, 12, 13, 14]), ([15, 16], [17])]
RECIPE = replace(RECIPES["tiny"], steps=7, warmup_steps=2, batch_tokens=WIDTH)


def gradients(model: nn.Module, loss: Tensor) -> list[Tensor]:
    return list(torch.autograd.grad(loss, list(model.parameters())))


@pytest.mark.parametrize("norm_place", ["post", "pre"])
def test_without_r_drop_the_gradient_is_that_of_the_pairs_one_a_row(norm_place: str) -> None:
    torch.manual_seed(1)
    model = build_model(replace(CONFIG, dropout=0.0, norm_place=norm_place, max_len=WIDTH)).train()
    packed = r_drop_loss(model, batch_of([ROW, ROW[:1]]), 0.1, alpha=0.0)
    single = batch_loss(model, collate([*ROW, ROW[0]]), 0.1)
    assert packed.item() == pytest.approx(single.item(), rel=1e-5)
    for found, expected in zip(gradients(model, packed), gradients(model, single), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-6)


class FixedLogits(nn.Module):
    def __init__(self, logits: Tensor) -> None:
        super().__init__()
        self.logits = nn.Parameter(logits)

    def forward(self, src_ids: Tensor, tgt_ids: Tensor, tap: object) -> Tensor:
        assert len(src_ids) == len(tgt_ids) == len(self.logits)
        return self.logits


def test_r_drop_is_the_papers_halved() -> None:
    """Its value and its gradient, from probabilities, a label at a time."""
    torch.manual_seed(1)
    labels = torch.tensor([[3, 4, PAD_ID], [5, PAD_ID, PAD_ID]])
    model, twin = (FixedLogits(logits := torch.randn(4, 3, 7, dtype=torch.float64)), FixedLogits(logits.clone()))
    ids = torch.tensor([[3, 4, PAD_ID], [5, PAD_ID, PAD_ID]])
    loss = r_drop_loss(model, {"src_ids": ids, "tgt_ids": ids, "labels": labels}, 0.1, alpha=5.0)
    total = torch.zeros((), dtype=torch.float64)
    for row, place in ((0, 0), (0, 1), (1, 0)):
        wanted = torch.full((7,), 0.1 / 7, dtype=torch.float64)
        wanted[labels[row, place]] += 0.9
        p, q = (twin.logits[n, place].exp() / twin.logits[n, place].exp().sum() for n in (row, row + 2))
        nll = -(wanted * p.log()).sum() - (wanted * q.log()).sum()
        kl = ((p * (p / q).log()).sum() + (q * (q / p).log()).sum()) / 2
        total = total + (nll + 5 * kl) / 2 / 3
    assert loss.item() == pytest.approx(total.item(), rel=1e-5)
    found, expected = (gradients(model, loss), gradients(twin, total))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)


def task(data: Path, out: Path, **more: object) -> PackedTask:
    return PackedTask("tiny", [data], data, out, RECIPE, alpha=3.0, **more)  # type: ignore[arg-type]


def test_a_killed_run_goes_on_to_exactly_the_same_weights(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    list(Run(task(data, whole)).records(3))
    with monkeypatch.context() as patch:
        patch.setattr(packed_run, "r_drop_loss", killed_after(5, r_drop_loss))
        with pytest.raises(Killed):
            list(Run(task(data, killed)).records(3))
    assert [record.step for record in Run(task(data, killed)).records(3)] == [4, 5, 6, 6, 7, 7]
    assert same_weights(whole / "state" / "model.safetensors", killed / "state" / "model.safetensors")


def test_more_pairs_are_read_in_each_so_manieth_epoch(data: Path, tmp_path: Path) -> None:
    more = write_pairs(tmp_path / "more.tsv", [("A dog.", "Ein Hund.")] * 40)
    subject = Run(task(data, tmp_path / "out", also={more: 3})).subject
    n_rows = [len(subject.loader(epoch, 1)) for epoch in range(5)]
    assert n_rows[0] == n_rows[3] > n_rows[1] == n_rows[2] == n_rows[4]
    figures = subject.figures()
    assert (figures["pairs"], figures["also"]) == (len(PAIRS), {"more.tsv": {"pairs": 40, "every": 3}})


def test_a_run_goes_on_from_the_weights_of_another_and_counts_its_rows(data: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    list(Run(task(data, first)).records())
    (second).mkdir()
    (second / checkpoint.TOKENIZER).write_bytes((first / checkpoint.TOKENIZER).read_bytes())
    run = Run(task(data, second, start=first))
    kept = load_file(first / checkpoint.WEIGHTS)
    assert all(torch.equal(w.half(), kept[name]) for name, w in run.learner.model.state_dict().items())
    figures = run.subject.figures()
    assert figures["start"] == "first"
    assert figures["batches"]["source"] == 2 * 7 * WIDTH, "seven rows, each read twice"
    assert figures["batches"]["cross_pairs"] == 2 * 7 * WIDTH**2
