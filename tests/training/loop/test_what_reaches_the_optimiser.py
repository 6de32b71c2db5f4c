"""What the weights learn from: which examples, in which order, by which loss and which recipe."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from model.text.tokenizer import PAD_ID
from tests.training.conftest import PAIRS
from training import recurrent
from training.live import adapting, toy
from training.loop import finetune_loop, resumable_run
from training.loop.finetune_loop import Example
from training.loop.recipe import RECIPES, Recipe

# --- the order of batches ---------------------------------------------------------------------------------------------

LENGTHS = [3 + (7 * n) % 11 for n in range(64)]


def of_fine_tuning(seed: int) -> Iterator[list[int]]:
    examples = [Example((9,) * length, (0,) * length, n) for n, length in enumerate(LENGTHS)]
    return (batch["labels"].tolist() for batch in finetune_loop.batches(examples, 16, seed))


def of_adapting(seed: int) -> Iterator[list[int]]:
    pairs = [([9] * length, [100 + n]) for n, length in enumerate(LENGTHS)]
    return ((batch["labels"][:, 0] - 100).tolist() for batch in adapting.batches(pairs, seed))


def of_readers(seed: int) -> Iterator[list[int]]:
    """Each batch is of one length, and here there are two batches of each."""
    sentences = [[100 + n] * (3 + n % 2) for n in range(64)]
    texts = recurrent.Texts(batch_size=16, joined=(1,), seed=seed)
    return ((batch["labels"][:, 0] - 100).tolist() for batch in recurrent.training_batches(sentences, texts))


@pytest.mark.parametrize("order", [of_fine_tuning, of_adapting, of_readers])
def test_a_round_has_every_example_once_in_an_order_by_chance(order: Callable[[int], Iterator[list[int]]]) -> None:
    """Four batches of sixteen are a round. Neither numbers nor lengths tell what comes next; no round is another's."""
    rounds = [[next(one) for _ in range(4)] for one in [order(1)] for _ in range(12)]
    for some in rounds:
        assert Counter(itertools.chain(*some)) == Counter(range(64))
        assert [len(batch) for batch in some] == [16] * 4
    orders = {tuple(tuple(sorted(batch)) for batch in some) for some in rounds}
    assert len(orders) > 6
    firsts = {tuple(LENGTHS[n] for n in some[0]) for some in rounds}
    assert len(firsts) > 2, "the shortest are not always first"
    assert not any(batch == sorted(batch) for some in rounds for batch in some)
    assert rounds[0] == list(itertools.islice(order(1), 4)), "the seed decides"
    assert rounds[0] != list(itertools.islice(order(2), 4))


def test_batches_of_one_length_do_not_always_come_one_after_the_other() -> None:
    lengths = [batch[0] % 2 for batch in itertools.islice(of_readers(1), 48)]
    assert any(lengths[n] != lengths[n + 1] == lengths[n + 3] for n in range(0, 48, 4)), lengths


def test_a_batch_of_fine_tuning_holds_texts_of_about_one_length() -> None:
    for batch in itertools.islice(of_fine_tuning(3), 8):
        lengths = [LENGTHS[n] for n in batch]
        assert max(lengths) - min(lengths) <= 3


# --- the loss and the recipe ------------------------------------------------------------------------------------------


def toy_training(folder: Path) -> None:
    list(toy.reports(toy.Choice("sort", learning_rate=3e-3), lambda step: False))


def adaptation(folder: Path) -> None:
    list(adapting.Adapting("plain-1", "formal: Sie").reports(lambda step: False))


def translator(folder: Path) -> None:
    both = folder / "pairs.tsv"
    both.write_text("".join(f"{english}\t{german}\n" for english, german in PAIRS), encoding="utf-8")
    list(resumable_run.Run(resumable_run.Task("tiny", [both], both, folder / "run", RECIPES["tiny"])).records())


@pytest.mark.parametrize(
    ("module", "train", "smoothing", "peak", "steps"),
    [
        (toy, toy_training, 0.0, 3e-3, 1200),
        (adapting, adaptation, 0.0, 1e-2, 40),
        (resumable_run, translator, 0.1, 1e-3, 40),
    ],
)
def test_the_loss_is_the_one_that_is_told(
    module: Any,
    train: Callable[[Path], None],
    smoothing: float,
    peak: float,
    steps: int,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Cross-entropy by hand on the first batch, smoothed (Szegedy et al. 2016, §7) only where the recipe says so."""
    reached: list[tuple[Any, Any, Recipe, Any]] = []

    def instead(learner: Any, batches: Any, recipe: Recipe, loss: Any, *_: object, **__: object) -> Iterator[Any]:
        reached.append((learner.model, next(iter(batches)), recipe, loss))
        return iter(())

    monkeypatch.setattr(module, "training_steps", instead)
    monkeypatch.setattr(adapting, "translations", lambda *_: ())
    train(tmp_path)
    ((model, batch, recipe, loss),) = reached
    assert (recipe.peak_learning_rate, recipe.steps) == (peak, steps)
    with torch.no_grad():
        logits = model.eval()(batch["src_ids"], batch["tgt_ids"]).float().log_softmax(-1)
    assert loss(model, batch).item() == pytest.approx(by_hand(logits, batch["labels"], smoothing), rel=1e-3)


def by_hand(logits: Tensor, labels: Tensor, smoothing: float) -> float:
    rows = logits[labels != PAD_ID]
    right = -rows[torch.arange(len(rows)), labels[labels != PAD_ID]].mean()
    return float((1 - smoothing) * right - smoothing * rows.mean())
