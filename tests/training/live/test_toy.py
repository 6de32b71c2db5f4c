"""The toy task: what is trained on, what is measured on, how right is counted, and what is told."""

import itertools
import random
import time
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
import torch

from model.build import build_model
from model.config import CHOICES
from model.trace import trace
from tests.oracle.passes.forward import EOS
from tests.oracle.shown.siblings import Sibling
from training.live import toy
from training.live.toy import BATCH_SIZE, MAX_LETTERS, TASKS, Choice, batch_of, batches, held_out, loaded, reports
from training.loop.loss import batch_loss
from training.loop.updates import DivergedError

pytestmark = pytest.mark.slow  # trains

WORKED_OUT = {"reverse": ("hello", "olleh"), "copy": ("hello", "hello"), "sort": ("hello", "ehllo")}


@pytest.mark.parametrize("task", TASKS)
def test_the_tasks_are_what_they_are_called(task: str) -> None:
    text, answer = WORKED_OUT[task]
    assert TASKS[task](text) == answer


@pytest.mark.parametrize("seed", [0, 1])
def test_what_is_held_out_is_never_trained_on(seed: int) -> None:
    """Three letters can be drawn again by chance, so a hundred batches would surely hold some of them."""
    trained = {
        "".join(chr(ord("a") + id - 3) for id in row if id > 2)
        for batch in itertools.islice(batches("copy", seed), 400)
        for row in batch["src_ids"].tolist()
    }
    by_chance = random.Random(seed)
    assert {toy.draw_text(by_chance) for _ in range(400 * BATCH_SIZE)} & set(held_out())
    assert trained.isdisjoint(held_out())
    assert {len(text) for text in trained} == set(range(1, MAX_LETTERS + 1))
    assert len(trained) > 15_000


def test_batches_depend_on_the_seed_alone() -> None:
    one, same, other = (next(batches("sort", seed))["src_ids"] for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert one.shape != other.shape or not torch.equal(one, other)


def test_a_batch_by_hand() -> None:
    batch = batch_of(["cab", "a"], "sort")
    pad, sos, eos, a, b, c = range(6)
    assert batch["src_ids"].tolist() == [[c, a, b, eos], [a, eos, pad, pad]]
    assert batch["tgt_ids"].tolist() == [[sos, a, b, c], [sos, a, pad, pad]]
    assert batch["labels"].tolist() == [[a, b, c, eos], [a, eos, pad, pad]]


QUICK = Choice("copy", learning_rate=5e-3)


@pytest.fixture(scope="module")
def quick() -> list[toy.Report]:
    """A training so short that its model answers some of the texts rightly and some not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(toy, "STEPS", 120)
        return list(reports(QUICK, lambda step: step.step % 50 == 0))


def ids_of(letters: str) -> list[int]:
    """As the toy model writes letters: after the three special ids, in the order of the alphabet; the end mark last."""
    return [*(3 + "abcdefghijklmnopqrstuvwxyz".index(letter) for letter in letters), EOS]


def trained(positions: str) -> tuple[dict[str, Any], toy.Report]:
    """Config and last report of a training of 30 steps."""
    choice = Choice("reverse", n_layers=2, n_heads=4, positions=positions, learning_rate=5e-3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(toy, "STEPS", 30)
        return asdict(choice.config), list(reports(choice, lambda step: False))[-1]


@pytest.mark.parametrize("positions", CHOICES["positions"])
def test_maps_of_trained_weights_are_those_of_a_pass_by_hand(positions: str) -> None:
    config, report = trained(positions)
    oracle = Sibling(config, dict(report.weights), ids_of("pictures"), ids_of("serutcip"))
    for kind, path in {"encoder": "self_attn", "decoder": "self_attn", "cross": "cross_attn"}.items():
        stack = "encoder" if kind == "encoder" else "decoder"
        by_hand = [oracle[f"{stack}.layers.{n}.{path}.weights"] for n in range(2)]
        assert np.allclose(report.maps[kind], by_hand, atol=1e-5), kind


def test_the_loss_of_trained_weights_is_that_of_passes_by_hand() -> None:
    config, report = trained("relative")
    costs = []
    for text in held_out():
        labels = ids_of(text[::-1])
        logits = Sibling(config, dict(report.weights), ids_of(text), labels).logits
        costs += list(np.log(np.exp(logits).sum(1)) - logits[range(len(labels)), labels])
    assert report.loss == pytest.approx(np.mean(costs), rel=1e-4)


def test_the_share_that_is_right_is_that_of_answers_written_letter_by_letter(quick: list[toy.Report]) -> None:
    model = loaded(QUICK, quick[-1].weights)
    right = [trace(model, text).translation == text for text in held_out()[:100]]
    share = toy.measured(model.model, batch_of(held_out()[:100], "copy"))[1]
    assert share == pytest.approx(np.mean(right))
    assert 0.02 < share < 0.98


def test_reports_tell_the_random_weights_first_and_the_last_step_last(quick: list[toy.Report]) -> None:
    assert [one.step for one in quick] == [0, 50, 100, 120]
    assert quick[0].right == 0
    assert quick[0].gradient_norms == {}
    assert quick[0].loss > 3 > quick[-1].loss
    torch.manual_seed(QUICK.seed)
    random_model = build_model(QUICK.config)
    for name, value in random_model.state_dict().items():
        assert np.array_equal(quick[0].weights[name], value.numpy())
    assert not np.array_equal(quick[1].weights["embedding.matrix.weight"], quick[2].weights["embedding.matrix.weight"])


def test_gradient_norms_by_part_make_up_the_norm_of_all() -> None:
    model = build_model(replace(Choice(), n_layers=2).config)
    batch_loss(model, batch_of(held_out()[:7], "sort"), 0.0).backward()
    norms = toy.gradient_norms(model)
    assert list(norms) == [
        "embedding", "encoder 1", "encoder 2", "decoder 1", "decoder 2",
    ]  # fmt: skip
    whole = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None]).norm().item()
    assert np.sqrt(sum(norm**2 for norm in norms.values())) == pytest.approx(whole, rel=1e-5)


def test_a_learning_rate_of_ten_is_said_and_what_was_reported_before_holds() -> None:
    seen, training = [], reports(Choice(learning_rate=10.0), lambda step: step.step % 4 == 0)
    says = r"^step \d+: the loss is \d+ nats a letter, and a blind guess costs only 3\.4; a lower"
    with pytest.raises(DivergedError, match=says):
        seen.extend(training)
    assert len(seen) > 1
    assert all(np.isfinite(value).all() for value in seen[-1].weights.values())


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"task": "shuffle"}, "there is no task 'shuffle'; choose one of reverse, copy, sort"),
        ({"n_layers": 0}, "a toy model has 1 to 6 layers, not 0"),
        ({"learning_rate": float("nan")}, "a learning rate is above 0, not nan"),
    ],
)
def test_what_cannot_be_chosen_is_said(wrong: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Choice(**wrong)  # type: ignore[arg-type]


def test_a_training_gets_above_95_percent_within_a_minute() -> None:
    begun = time.process_time()
    assert any(report.right > 0.95 for report in reports(Choice("copy"), lambda step: step.step % 50 == 0))
    assert time.process_time() - begun < 60
