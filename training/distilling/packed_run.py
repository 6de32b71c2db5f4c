"""A translator in training on packed rows, which are read twice: what dropout makes different shall not matter.

Source: Liang et al. 2021, "R-Drop: Regularized Dropout for Neural Networks"
"""

import dataclasses
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor, nn
from torch.utils.data import DataLoader

from experiments.training.training_cost import BatchSizes
from model.files import checkpoint
from model.text.tokenizer import PAD_ID
from training.distilling.packed_rows import WIDTH, Apart, packed_loader
from training.loop.data import read_pairs
from training.loop.resumable_run import Task, Translation
from training.loop.updates import Batch


def r_drop_loss(model: nn.Module, batch: Batch, label_smoothing: float, alpha: float) -> Tensor:
    """Mean over the labels, in nats: their cross-entropy, and how far two readings of a row are apart.

    Args:   batch: src_ids, tgt_ids, labels (B,T), as `collate_packed` makes them
    Source: Liang et al. 2021 (R-Drop), Eq. 2 to 4. Differs: all is halved, so that with α = 0 it is `batch_loss`
    """
    src_ids, tgt_ids, labels = (torch.cat([batch[name]] * 2) for name in ("src_ids", "tgt_ids", "labels"))
    logits = model(src_ids, tgt_ids, Apart(src_ids, tgt_ids)).float()
    right = nn.functional.cross_entropy(
        logits.flatten(0, 1), labels.flatten(), ignore_index=PAD_ID, label_smoothing=label_smoothing
    )
    log_p, log_q = logits[labels != PAD_ID].log_softmax(-1).chunk(2)
    both_ways = ((log_p.exp() - log_q.exp()) * (log_p - log_q)).sum(-1).mean()  # KL(P‖Q) + KL(Q‖P)
    return right + alpha / 4 * both_ways


@dataclass(frozen=True)
class PackedTask(Task):
    """A task whose batches are packed rows: as many as `batch_tokens` of its recipe fills.

    also: more files of pairs, and in each how-manieth epoch their pairs are read too
    alpha: how much it counts that two readings agree; start: folder of the weights that it goes on from
    """

    also: Mapping[Path, int] = field(default_factory=dict)
    alpha: float = 0.0
    start: Path | None = None

    def subject(self, accelerator: Accelerator) -> "PackedTranslation":
        return PackedTranslation(self, accelerator)


class PackedTranslation(Translation):
    """A translator that learns from packed rows. Raises: ValueError if a file holds no pair"""

    task: PackedTask

    def __init__(self, task: PackedTask, accelerator: Accelerator) -> None:
        super().__init__(task, accelerator)
        self.also = {path: read_pairs([path]) for path in task.also}
        self.n_processes = accelerator.num_processes
        self._maker = ThreadPoolExecutor(1)
        self._made: dict[int, Future[DataLoader[Any]]] = {}

    def new_model(self) -> nn.Module:
        model = super().new_model()
        if self.task.start:
            model.load_state_dict(checkpoint.load_weights(self.task.start / checkpoint.WEIGHTS))
        return model

    def loader(self, epoch: int, processes: int) -> DataLoader[Any]:
        """The next epoch is made while this one is learned from, so that a GPU need not wait for it."""
        for number in (epoch, epoch + 1):
            if number not in self._made:
                self._made[number] = self._maker.submit(self._make, number, processes)
        return self._made.pop(epoch).result()

    def _make(self, epoch: int, processes: int) -> DataLoader[Any]:
        more = [self.also[path] for path, every in self.task.also.items() if epoch % every == 0]
        return packed_loader([self.pairs, *more], self.tokenizer, self.task.recipe, self.task.seed, epoch, processes)

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        return r_drop_loss(model, batch, self.task.recipe.label_smoothing, self.task.alpha)

    def figures(self) -> dict[str, Any]:
        task, recipe = self.task, self.task.recipe
        pieces = 2 * self.n_processes * recipe.steps * (recipe.batch_tokens // WIDTH) * WIDTH  # each row is read twice
        pairs = pieces * WIDTH
        return {
            **super().figures(),
            "also": {path.name: {"pairs": len(self.also[path]), "every": every} for path, every in task.also.items()},
            "alpha": task.alpha,
            "start": task.start.name if task.start else None,
            "packed": WIDTH,
            "batches": dataclasses.asdict(BatchSizes(pieces, pieces, pairs, pairs, pairs)),
        }
