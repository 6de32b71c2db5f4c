"""ELECTRA in training: what the generator draws, what the discriminator is told, and what is kept."""

import dataclasses
import json
import math
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from model.build import build_network
from model.config import PRESETS
from model.files import checkpoint
from model.text.tokenizer import CLS_ID, MASK_ID, PAD_ID, SEP_ID
from tests.training.family_text import RECIPE, SIZES, shrink, write_texts
from training.descendants import Descent
from training.loop import replacing, resumable_run
from training.loop.reading import Way
from training.loop.replacing import Replacing, drawn
from training.loop.resumable_run import Run
from training.loop.text_rows import Masking
from training.loop.updates import ONE_DEVICE

pytestmark = pytest.mark.slow  # trains


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Descent:
    shrink(monkeypatch)
    monkeypatch.setattr(resumable_run, "pick_precision", lambda: "no")
    train, valid = write_texts(tmp_path)
    vocabulary = checkpoint.load_tokenizer(tmp_path)
    for name, n_layers in (("teacher", SIZES["n_layers"]), ("generator", 1)):
        sizes = {**SIZES, "n_layers": n_layers, "vocab_size": vocabulary.vocab_size}
        config = dataclasses.replace(PRESETS["bert-mini"], **sizes)
        checkpoint.save(tmp_path / name, config, vocabulary, build_network(config).state_dict())
    monkeypatch.setattr(replacing, "GENERATOR", tmp_path / "generator")
    way = Way({"family": "discriminator"}, in_pairs=False, teacher=tmp_path / "teacher")
    return Descent("electra-mini", (train,), (valid,), tmp_path, dataclasses.replace(RECIPE, steps=6), way=way)


@pytest.fixture
def subject(task: Descent) -> Replacing:
    subject = task.subject(None)  # type: ignore[arg-type]
    assert isinstance(subject, Replacing)
    return subject


def test_it_begins_as_its_teacher_with_a_head_of_its_own(subject: Replacing) -> None:
    assert subject.teacher is not None
    model, theirs = subject.new_model().state_dict(), subject.teacher.state_dict()
    assert {name for name in model if name not in theirs or not torch.equal(model[name], theirs[name])} == {
        f"replaced.{part}.{one}" for part in ("transform", "score") for one in ("weight", "bias")
    }


def test_tokens_are_drawn_by_their_probability() -> None:
    torch.manual_seed(0)
    logits = torch.tensor([[math.log(0.7), math.log(0.3), -1e9]]).expand(4000, -1)
    counts = torch.bincount(drawn(logits), minlength=3) / 4000
    assert counts.tolist() == pytest.approx([0.7, 0.3, 0], abs=0.03)


class Nine(nn.Module):
    """Fills every blank with 9."""

    def forward(self, src_ids: Tensor, segment_ids: Tensor, rows: Tensor) -> tuple[Tensor, None]:
        assert (src_ids[rows] == MASK_ID).all()
        return nn.functional.one_hot(torch.full((int(rows.sum()),), 9), 20) * 1e6, None


def test_the_generator_draws_at_its_temperature(subject: Replacing, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Tensor] = []
    monkeypatch.setattr(replacing, "drawn", lambda logits: seen.append(logits) or drawn(logits))
    subject.generator = Nine()  # type: ignore[assignment]
    subject.loss(subject.new_model(), next(iter(subject.loader(0, 1))))
    assert seen[0].max() == 1e6 / 2


def test_the_discriminator_is_told_what_was_replaced_and_a_lucky_guess_is_none(subject: Replacing) -> None:
    """The generator writes 9 into both blanks, and in the second a 9 had stood. Padding is not asked about."""
    read = []

    class Says(nn.Module):
        def forward(self, src_ids: Tensor, segment_ids: Tensor) -> Tensor:
            read.append(src_ids)
            return torch.tensor([[0.0, 2.0, 0.0, 0.0, 0.0, 55.0]])[..., None]

    subject.generator = Nine()  # type: ignore[assignment]
    labels = torch.tensor([[PAD_ID, 8, 9, PAD_ID, PAD_ID, PAD_ID]])
    src = torch.tensor([[CLS_ID, MASK_ID, MASK_ID, 8, SEP_ID, PAD_ID]])
    loss = subject.loss(Says(), {"src_ids": src, "segment_ids": torch.zeros_like(src), "labels": labels})
    assert read[0].tolist() == [[CLS_ID, 9, 9, 8, SEP_ID, PAD_ID]]
    assert loss.item() == pytest.approx((4 * math.log(2) + math.log(1 + math.exp(-2))) / 5)


def test_every_blank_is_hidden_and_the_discriminator_alone_learns(subject: Replacing) -> None:
    batch = next(iter(subject.loader(0, 1)))
    asked = batch["labels"] != PAD_ID
    assert (batch["src_ids"][asked] == MASK_ID).all()
    assert subject.masking == Masking(0.15, 0.15, masked=1.0, random=0.0)
    assert 0.05 < asked.sum() / (batch["src_ids"] != PAD_ID).sum() < 0.25
    model = subject.new_model()
    subject.loss(model, batch).backward()
    assert all(one.grad is not None for one in model.parameters())
    assert all(one.grad is None for one in subject.generator.parameters())


def test_a_training_goes_on_after_a_kill(task: Descent) -> None:
    whole = dataclasses.replace(task, name="whole")
    for _ in Run(whole).records(3):
        pass
    for record in Run(task).records(3):
        if getattr(record, "step", 0) == 4:
            break
    for _ in Run(task).records(3):
        pass
    one, other = (checkpoint.load(run.out, vocabulary=run.root)[0].state_dict() for run in (whole, task))
    assert one.keys() == other.keys()
    assert json.loads((task.out / "config.json").read_text())["family"] == "discriminator"


def test_it_is_validated_on_the_same_draws_each_time(subject: Replacing) -> None:
    model, found = subject.new_model(), []
    for seed in (1, 2):
        torch.manual_seed(seed)
        found.append(subject.validation_loss(model, ONE_DEVICE))
    assert found[0] == found[1]
    subject.of_tokens = lambda *_: torch.tensor(3.0)  # type: ignore[method-assign]
    assert subject.validation_loss(model, ONE_DEVICE) == pytest.approx(3)
