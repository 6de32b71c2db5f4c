"""What the models of the family learn: to write the next token, and to read a rule from examples."""

import dataclasses
import json
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from model.build import build_in_context, build_network
from model.config import PRESETS
from model.families.in_context import InContextConfig
from model.families.recurrent_language_model import RecurrentConfig, RecurrentLanguageModel
from model.files import checkpoint
from model.text.tokenizer import PAD_ID, Tokenizer
from training.loop.corpus import Document, read_corpus
from training.loop.data import length_batches, loader_of
from training.loop.in_context import Regression
from training.loop.recipe import Recipe
from training.loop.text_rows import collate_written, written_rows
from training.loop.updates import Batch, Machinery

VALIDATION_SEED = "validation"


class Material(Protocol):
    """What a subject is made from; see `training.family.FamilyTask`."""

    @property
    def name(self) -> str: ...
    @property
    def data(self) -> tuple[Path, ...]: ...
    @property
    def valid(self) -> tuple[Path, ...]: ...
    @property
    def root(self) -> Path: ...
    @property
    def out(self) -> Path: ...
    @property
    def recipe(self) -> Recipe: ...
    @property
    def seed(self) -> int: ...


def save_network(folder: Path, config: Any, weights: dict[str, Tensor]) -> None:
    """Write a config and fp16 weights; the tokenizer lies in the folder above."""
    (folder / checkpoint.CONFIG).write_text(json.dumps(dataclasses.asdict(config), indent=2) + "\n")
    checkpoint.save_weights(folder / checkpoint.WEIGHTS, weights)


@torch.no_grad()
def mean_loss(
    model: nn.Module,
    batches: Iterable[Batch],
    loss: Callable[[nn.Module, Batch], Tensor],
    machinery: Machinery,
    count: Callable[[Batch], int],
) -> float:
    """Mean of a loss over batches that count by how many guesses each holds; leaves the model in evaluation mode."""
    model.eval()
    device = next(model.parameters()).device
    total, n = 0.0, 0
    for batch in batches:
        batch = {name: values.to(device) for name, values in batch.items()}
        with machinery.autocast():
            total += loss(model, batch).item() * count(batch)
        n += count(batch)
    return total / n


def n_labels(batch: Batch) -> int:
    return int((batch["labels"] != PAD_ID).sum())


def token_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean cross-entropy in nats over the labels (…) that are not padding; logits (…,vocab_size)."""
    return nn.functional.cross_entropy(logits.float().flatten(0, -2), labels.flatten(), ignore_index=PAD_ID)


class Text:
    """What the language models share: documents and the tokenizer.

    Raises: ValueError, naming the file, if it holds no text, or if there is no tokenizer yet
    """

    def __init__(self, material: Material) -> None:
        self.material = material
        if not (vocabulary := material.root / checkpoint.TOKENIZER).exists():
            raise ValueError(f"{vocabulary} is missing: first run the same command for the tokenizer")
        self.tokenizer: Tokenizer = checkpoint.load_tokenizer(material.root)
        self.documents = read_corpus(material.data, self.tokenizer)
        self.valid_documents = read_corpus(material.valid, self.tokenizer)

    def figures(self) -> dict[str, Any]:
        return {
            "name": self.material.name,
            "data": ", ".join(path.name for path in self.material.data),
            "documents": len(self.documents),
            "tokens": sum(len(sentence) for document in self.documents for sentence in document.sentences),
        }


class Writing(Text):
    """The next token, at every place of a text (Radford et al. 2018, §3.1, Eq. 1)."""

    def __init__(self, material: Material) -> None:
        super().__init__(material)
        size = self.tokenizer.vocab_size
        self.is_lstm = material.name == "lstm"
        self.config: Any = (
            RecurrentConfig(size) if self.is_lstm else dataclasses.replace(PRESETS[material.name], vocab_size=size)
        )

    def new_model(self) -> nn.Module:
        return RecurrentLanguageModel(self.config) if self.is_lstm else build_network(self.config)

    def rows_loader(self, documents: list[Document], seed: str, processes: int = 1) -> DataLoader[Any]:
        rng = random.Random(seed)
        rows = written_rows(documents, self.config.max_len, rng)
        lengths = [(len(row), len(row)) for row in rows]
        return loader_of(
            rows, length_batches(lengths, self.material.recipe.batch_tokens, rng), collate_written, processes
        )

    def loader(self, epoch: int, processes: int) -> DataLoader[Any]:
        return self.rows_loader(self.documents, f"{self.material.seed}/{epoch}", processes)

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        return token_loss(model(batch["tgt_ids"]), batch["labels"])

    def validation_loss(self, model: nn.Module, machinery: Machinery) -> float:
        batches = self.rows_loader(self.valid_documents, VALIDATION_SEED)
        return mean_loss(model, batches, self.loss, machinery, n_labels)

    def save(self, weights: dict[str, Tensor]) -> None:
        save_network(self.material.out, self.config, weights)


class FromExamples:
    """The y of each x, from the pairs before it (Garg et al. 2022). The loss is the mean squared error."""

    epoch_batches, n_valid = 1000, 2000

    def __init__(self, material: Material) -> None:
        self.material = material
        self.config = InContextConfig()
        self.regression = Regression(self.config.d_in, self.config.n_pairs)

    def new_model(self) -> nn.Module:
        return build_in_context(self.config)

    def prompts(self, n: int, seed: str) -> dict[str, Tensor]:
        drawn = self.regression.prompts(n, torch.Generator().manual_seed(random.Random(seed).getrandbits(63)))
        return {"x": drawn["x"], "labels": drawn["y"]}

    def loader(self, epoch: int, processes: int) -> DataLoader[Any]:
        """New prompts in every batch; each is drawn by its number alone."""
        n = self.material.recipe.batch_tokens // (2 * self.config.n_pairs)
        numbers = range(epoch * self.epoch_batches, (epoch + 1) * self.epoch_batches)
        return loader_of(
            numbers,
            [[i] for i in range(len(numbers))],
            lambda batch: self.prompts(n, f"{self.material.seed}/{batch[0]}"),
            processes,
        )

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        return nn.functional.mse_loss(model(batch["x"], batch["labels"]).float(), batch["labels"])

    def validation_loss(self, model: nn.Module, machinery: Machinery) -> float:
        batch = self.prompts(self.n_valid, VALIDATION_SEED)
        return mean_loss(model, [batch], self.loss, machinery, n_labels)

    def save(self, weights: dict[str, Tensor]) -> None:
        save_network(self.material.out, self.config, weights)

    def figures(self) -> dict[str, Any]:
        return {"name": self.material.name, "regression": dataclasses.asdict(self.regression)}
