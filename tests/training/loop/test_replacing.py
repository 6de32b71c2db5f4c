"""ELECTRA in training: what the generator draws, what the discriminator is told, and what is kept."""

import dataclasses
import json
import math
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from model.config import PRESETS
from model.files import checkpoint
from model.text.tokenizer import CLS_ID, MASK_ID, PAD_ID, SEP_ID
from tests.training.family_text import RECIPE, SIZES, shrink, write_texts
from training.descendants import Descent
from training.loop import replacing, resumable_run
from training.loop.reading import Way
from training.loop.replacing import Electra, Replacing, drawn, generator_of
from training.loop.resumable_run import Run
from training.loop.text_rows import Masking
from training.loop.updates import ONE_DEVICE

pytestmark = pytest.mark.slow  # trains
WAY = Way({"family": "discriminator"}, in_pairs=False)


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Descent:
    shrink(monkeypatch)
    monkeypatch.setattr(resumable_run, "pick_precision", lambda: "no")
    train, valid = write_texts(tmp_path)
    return Descent("electra-mini", (train,), (valid,), tmp_path, dataclasses.replace(RECIPE, steps=6), way=WAY)


def test_generator_and_discriminator_share_their_embeddings_alone() -> None:
    config = dataclasses.replace(PRESETS["bert-mini"], vocab_size=50, **SIZES, family="discriminator")
    model = Electra(config)
    shared = {id(one) for one in model.generator.parameters()} & {id(one) for one in model.discriminator.parameters()}
    assert shared == {id(one) for one in model.discriminator.embedding.parameters()}
    narrow = generator_of(dataclasses.replace(PRESETS["bert-mini"], family="discriminator"))
    assert (narrow.d_model, narrow.n_heads, narrow.d_ff, narrow.d_embedding) == (64, 1, 256, 256)
    assert narrow.family == "encoder_only"
    assert narrow.n_layers == PRESETS["bert-mini"].n_layers


def test_tokens_are_drawn_by_their_probability() -> None:
    torch.manual_seed(0)
    logits = torch.tensor([[math.log(0.7), math.log(0.3), -1e9]]).expand(4000, -1)
    counts = torch.bincount(drawn(logits), minlength=3) / 4000
    assert counts.tolist() == pytest.approx([0.7, 0.3, 0], abs=0.03)


def test_the_discriminator_is_told_what_was_replaced_and_a_lucky_guess_is_none(task: Descent) -> None:
    """The generator writes 9 into both blanks, and in the second a 9 had stood. Padding is not asked about."""

    class Says(nn.Module):
        def forward(self, src_ids: Tensor, segment_ids: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            filled = torch.where(src_ids == MASK_ID, 9, src_ids)
            return torch.zeros(2, 20), torch.tensor([[0.0, 2.0, 0.0, 0.0, 0.0, 55.0]]), filled

    labels = torch.tensor([[PAD_ID, 8, 9, PAD_ID, PAD_ID, PAD_ID]])
    src = torch.tensor([[CLS_ID, MASK_ID, MASK_ID, 8, SEP_ID, PAD_ID]])
    batch = {"src_ids": src, "segment_ids": torch.zeros_like(src), "labels": labels}
    subject = task.subject(None)  # type: ignore[arg-type]
    assert isinstance(subject, Replacing)
    of_blanks, of_tokens = subject.losses(Says(), batch)
    assert of_blanks.item() == pytest.approx(math.log(20))
    assert of_tokens.item() == pytest.approx((4 * math.log(2) + math.log(1 + math.exp(-2))) / 5)
    assert subject.loss(Says(), batch).item() == pytest.approx(of_blanks.item() + 50 * of_tokens.item())


def test_every_blank_is_hidden_and_both_networks_learn_from_it(task: Descent) -> None:
    subject = task.subject(None)  # type: ignore[arg-type]
    assert isinstance(subject, Replacing)
    batch = next(iter(subject.loader(0, 1)))
    asked = batch["labels"] != PAD_ID
    assert (batch["src_ids"][asked] == MASK_ID).all()
    assert subject.masking == Masking(0.15, 0.15, masked=1.0, random=0.0)
    assert 0.05 < asked.sum() / (batch["src_ids"] != PAD_ID).sum() < 0.25
    model = subject.new_model()
    subject.loss(model, batch).backward()
    silent = {name for name, one in model.named_parameters() if one.grad is None}
    assert silent == {f"generator.next_sentence.{part}.{one}" for part in ("pooler", "classifier")
                      for one in ("weight", "bias")}  # fmt: skip
    _, scores, filled = model(batch["src_ids"], batch["segment_ids"], batch["labels"])
    assert scores.shape == filled.shape
    assert ((filled == batch["src_ids"]) | asked).all()
    assert (filled == MASK_ID).sum() < asked.sum()


def test_a_training_goes_on_after_a_kill_and_keeps_two_models(task: Descent) -> None:
    whole = dataclasses.replace(task, name="whole")
    for _ in Run(whole).records(3):
        pass
    for record in Run(task).records(3):
        if getattr(record, "step", 0) == 4:
            break
    for _ in Run(task).records(3):
        pass
    for folder in ("", replacing.GENERATOR):
        one, other = (checkpoint.load(run.out / folder, vocabulary=run.root)[0].state_dict() for run in (whole, task))
        assert one.keys() == other.keys()
    assert json.loads((task.out / "config.json").read_text())["family"] == "discriminator"
    discriminator, generator = (
        checkpoint.load(task.out / folder, vocabulary=task.root)[0] for folder in ("", replacing.GENERATOR)
    )
    assert torch.equal(discriminator.embedding.matrix.weight, generator.embedding.matrix.weight)


def test_it_is_validated_by_the_discriminator_and_on_the_same_draws_each_time(
    task: Descent, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = task.subject(None)  # type: ignore[arg-type]
    assert isinstance(subject, Replacing)
    model, found = subject.new_model(), []
    for seed in (1, 2):
        torch.manual_seed(seed)
        found.append(subject.validation_loss(model, ONE_DEVICE))
    assert found[0] == found[1]
    monkeypatch.setattr(Replacing, "losses", lambda *_: (torch.tensor(7.0), torch.tensor(3.0)))
    assert subject.validation_loss(model, ONE_DEVICE) == pytest.approx(3)
