"""What each model of the family learns from: batches drawn by seed and epoch alone, and losses beside a plain sum."""

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from model.config import PRESETS
from model.text.tokenizer import EOS_ID, MASK_ID, MORE_SPECIALS, PAD_ID, SOS_ID, SPECIALS, Tokenizer
from tests.training.family_text import LEARNED, SIZES, family_task, shrink, write_texts
from training.family import LEARNERS
from training.loop import objectives, text_rows
from training.loop.objectives import FromExamples, Text, Writing, mean_loss
from training.loop.reading import Reading
from training.loop.text_rows import IS_NEXT, N_SPECIALS, NO_PAIR, NOT_NEXT
from training.loop.updates import ONE_DEVICE, Batch


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """All four subjects, small."""
    shrink(monkeypatch)
    files = write_texts(tmp_path)
    return {name: LEARNERS[name](family_task(name, files, tmp_path)) for name in LEARNED}


def drawn(subject: Any, epoch: int) -> list[dict[str, Any]]:
    """An epoch's batches, as plain numbers."""
    return [{name: values.tolist() for name, values in batch.items()} for batch in subject.loader(epoch, 1)]


@pytest.mark.parametrize("name", LEARNED)
def test_the_seed_and_the_epoch_alone_draw_the_batches(made: dict[str, Any], name: str) -> None:
    subject = made[name]
    other_seed = LEARNERS[name](dataclasses.replace(subject.material, seed=2))
    first = drawn(subject, 0)
    assert first == drawn(subject, 0)
    assert first != drawn(subject, 1)
    assert first != drawn(other_seed, 0)


@pytest.mark.parametrize("name", ["gpt-mini", "lstm", "bert-mini"])
def test_a_batch_holds_as_many_tokens_as_the_recipe_allows(made: dict[str, Any], name: str) -> None:
    subject = made[name]
    ids = "src_ids" if name == "bert-mini" else "tgt_ids"
    sizes = [batch[ids].numel() for batch in subject.loader(0, 1)]
    allowed = subject.material.recipe.batch_tokens
    assert max(sizes) <= allowed
    assert max(sizes) > allowed / 2
    assert max(batch[ids].size(1) for batch in subject.loader(0, 1)) <= SIZES["max_len"]


def test_an_epoch_of_writing_is_the_whole_text(made: dict[str, Any]) -> None:
    subject: Writing = made["gpt-mini"]
    labels = [label for batch in subject.loader(0, 1) for label in batch["labels"].flatten().tolist()]
    expected = [int(id) for document in subject.documents for id in (*document.ids, EOS_ID)]
    assert sorted(label for label in labels if label != PAD_ID) == sorted(expected)
    assert [len(one.ids) for one in subject.documents] != [len(one.ids) for one in subject.valid_documents]


class Guess(nn.Module):
    """Gives logits that were drawn before."""

    def __init__(self, *answers: Tensor) -> None:
        super().__init__()
        self.answers = answers
        self.weight = nn.Parameter(torch.zeros(()))

    def forward(self, *inputs: Any) -> Any:
        return self.answers if len(self.answers) > 1 else self.answers[0]


def nats(logits: Tensor, label: int) -> float:
    return float(logits.double().logsumexp(-1) - logits.double()[label])


def test_the_loss_of_writing_is_the_mean_over_labels_that_are_no_padding(made: dict[str, Any]) -> None:
    logits = torch.randn(2, 3, 11)
    labels = torch.tensor([[7, 8, EOS_ID], [9, PAD_ID, PAD_ID]])
    batch = {"tgt_ids": torch.tensor([[SOS_ID, 7, 8], [SOS_ID, PAD_ID, PAD_ID]]), "labels": labels}
    expected = sum(nats(logits[b, t], int(labels[b, t])) for b, t in ((0, 0), (0, 1), (0, 2), (1, 0))) / 4
    for name in ("gpt-mini", "lstm"):
        assert made[name].loss(Guess(logits), batch).item() == pytest.approx(expected, rel=1e-5)


def test_the_loss_of_reading_is_that_of_masked_tokens_and_that_of_pairs(made: dict[str, Any]) -> None:
    """Three rows: one is no pair, one a pair of neighbours, one not. Two tokens are asked for."""
    labels = torch.tensor([[0, 7, 0], [0, 0, 9], [0, 0, 0]])
    logits, scores = torch.randn(2, 11), torch.randn(3, 1, 2)
    pair_labels = torch.tensor([NO_PAIR, IS_NEXT, NOT_NEXT])
    batch = {
        "src_ids": torch.ones(3, 3),
        "segment_ids": torch.zeros(3, 3),
        "labels": labels,
        "pair_labels": pair_labels,
    }
    of_tokens = (nats(logits[0], 7) + nats(logits[1], 9)) / 2
    of_pairs = (nats(scores[1, 0], 0) + nats(scores[2, 0], 1)) / 2
    subject: Reading = made["bert-mini"]
    assert [one.item() for one in subject.losses(Guess(logits, scores), batch)] == pytest.approx([of_tokens, of_pairs])
    assert subject.loss(Guess(logits, scores), batch).item() == pytest.approx(of_tokens + of_pairs)
    nothing = batch | {"labels": torch.zeros(3, 3, dtype=torch.int64), "pair_labels": torch.zeros(3, dtype=torch.int64)}
    assert subject.loss(Guess(logits[:0], scores), nothing).item() == 0


def test_reading_asks_its_model_for_the_masked_rows_alone_and_tells_it_the_segments(made: dict[str, Any]) -> None:
    subject: Reading = made["bert-mini"]
    batch = next(iter(subject.loader(0, 1)))
    seen = []

    class Watch(nn.Module):
        def forward(self, *inputs: Tensor) -> tuple[Tensor, Tensor]:
            seen.extend(inputs)
            return torch.zeros(int(inputs[2].sum()), 400), torch.zeros(len(inputs[0]), 1, 2)

    subject.loss(Watch(), batch)
    assert torch.equal(seen[0], batch["src_ids"])
    assert torch.equal(seen[1], batch["segment_ids"])
    assert torch.equal(seen[2], batch["labels"] != PAD_ID)
    assert (batch["src_ids"] == MASK_ID).any()
    assert batch["segment_ids"].any()


def test_the_loss_of_regression_is_the_mean_square(made: dict[str, Any]) -> None:
    subject: FromExamples = made["in-context"]
    batch = next(iter(subject.loader(0, 1)))
    assert batch["x"].shape == (subject.material.recipe.batch_tokens // (2 * 7), 7, 3)
    guesses = torch.randn(batch["labels"].shape)
    expected = float(((guesses - batch["labels"]).double() ** 2).mean())
    assert subject.loss(Guess(guesses), batch).item() == pytest.approx(expected, rel=1e-5)
    prompts = [tuple(one["x"].flatten()[:3].tolist()) for one in subject.loader(0, 1)]
    assert len(set(prompts)) == len(prompts) == subject.epoch_batches, "every batch is drawn anew"


def test_batches_count_by_the_guesses_in_them_and_dropout_is_off() -> None:
    model = nn.Sequential(nn.Linear(1, 1), nn.Dropout(0.9)).train()
    losses = iter([1.0, 4.0])
    batches = [{"labels": torch.tensor([7, 7, PAD_ID])}, {"labels": torch.tensor([7])}]

    def loss(model: nn.Module, batch: Batch) -> Tensor:
        assert not model.training
        return torch.tensor(next(losses))

    assert mean_loss(model, batches, loss, ONE_DEVICE, objectives.n_labels) == pytest.approx((1.0 * 2 + 4.0) / 3)


@pytest.mark.parametrize("name", LEARNED)
def test_validation_is_the_same_each_time_and_on_the_texts_kept_apart(made: dict[str, Any], name: str) -> None:
    subject = made[name]
    torch.manual_seed(1)
    model = subject.new_model()
    loss = subject.validation_loss(model, ONE_DEVICE)
    assert loss == subject.validation_loss(model, ONE_DEVICE)
    if name == "in-context":
        assert 0.9 < loss < 1.7, "a model that has learned nothing guesses about 0: 1 + σ²"
    else:
        assert loss == pytest.approx(math.log(subject.tokenizer.vocab_size), rel=0.1)
        assert subject.valid_documents[0].ids.tolist() != subject.documents[0].ids.tolist()
        subject.documents = subject.valid_documents[:1]
        assert loss == subject.validation_loss(model, ONE_DEVICE), "training texts play no part"


def test_validation_of_reading_leaves_the_pairs_out(made: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Reading, "losses", lambda *_: (torch.tensor(3.0), torch.tensor(50.0)))
    assert made["bert-mini"].validation_loss(nn.Linear(1, 1), ONE_DEVICE) == pytest.approx(3.0)


def test_the_models_are_the_presets_with_the_vocabularys_size(made: dict[str, Any]) -> None:
    for name in ("gpt-mini", "bert-mini"):
        size = made[name].tokenizer.vocab_size
        assert made[name].config == dataclasses.replace(PRESETS[name], vocab_size=size)
        assert made[name].new_model().embedding.matrix.num_embeddings == size
    assert made["lstm"].new_model().matrix.num_embeddings == made["lstm"].tokenizer.vocab_size


def test_positions_of_reading_begin_as_sinusoids_as_long_as_random_rows(made: dict[str, Any]) -> None:
    rows = made["bert-mini"].new_model().embedding.positions.table.weight.detach()
    d_model = rows.size(1)
    assert rows.pow(2).mean().sqrt() == pytest.approx(0.02, rel=0.1)
    wave = [
        [f(m / 10_000 ** (2 * i / d_model)) for i in range(d_model // 2) for f in (math.sin, math.cos)] for m in (1, 5)
    ]
    for row, expected in zip(rows[[1, 5]], torch.tensor(wave), strict=True):
        assert torch.nn.functional.cosine_similarity(row, expected, dim=0) == pytest.approx(1.0)


@pytest.mark.parametrize(("short", "share"), [(0, 0.4), (40, 0.15)])
def test_two_in_five_tokens_are_to_be_guessed_in_short_rows_fewer(
    made: dict[str, Any], short: int, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All rows here have fewer than 40 tokens."""
    monkeypatch.setattr(text_rows, "SHORT", short)
    batches = [batch for epoch in range(12) for batch in made["bert-mini"].loader(epoch, 1)]
    asked = sum(int((batch["labels"] != PAD_ID).sum()) for batch in batches)
    words = sum(int(((batch["src_ids"] >= N_SPECIALS) | (batch["labels"] != PAD_ID)).sum()) for batch in batches)
    assert asked / words == pytest.approx(share, abs=0.04)


def test_what_is_noted_of_the_data(made: dict[str, Any]) -> None:
    subject: Text = made["gpt-mini"]
    assert subject.figures() == {
        "name": "gpt-mini",
        "data": "train.txt",
        "documents": len(subject.documents),
        "tokens": sum(len(one.ids) for one in subject.documents),
    }
    drawn_from = {"d": 3, "n_pairs": 7, "sigma": 0.5, "x_size": 1.0, "beta_size": 1.0}
    assert made["in-context"].figures() == {"name": "in-context", "regression": drawn_from}


def test_the_vocabulary_is_that_of_the_folder_above(made: dict[str, Any]) -> None:
    tokenizer: Tokenizer = made["bert-mini"].tokenizer
    assert [tokenizer.piece_text(id) for id in range(6)] == [*SPECIALS, *MORE_SPECIALS]
