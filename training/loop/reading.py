"""What BERT and its siblings learn: masked tokens, whether two texts are neighbours, what a teacher would say."""

import dataclasses
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from model.build import build_network
from model.config import PRESETS
from model.files import checkpoint
from model.parts.positions import sinusoidal_encoding
from model.text.tokenizer import PAD_ID
from training.loop.corpus import Document
from training.loop.data import length_batches, loader_of
from training.loop.objectives import VALIDATION_SEED, Material, Text, mean_loss, n_labels, save_network
from training.loop.text_rows import (
    NO_PAIR,
    Masking,
    Pairing,
    ReadRow,
    collate_read,
    masked,
    read_rows,
    text_rows,
)
from training.loop.updates import Batch, Machinery

PRESET = "bert-mini"
TEMPERATURE, OF_TEACHER, OF_TEXT = 2.0, 5.0, 2.0  # Sanh et al. 2019, §3, and the weights in their published code


@dataclass(frozen=True)
class Way:
    """In what a sibling of bert-mini learns otherwise than it does.

    parts:      fields of ModelConfig
    in_pairs:   a row is a pair of texts, and whether they are neighbours is learned, too; else it is one text
    single:     share of the pairs that are two single sentences
    new_rows, new_blanks: drawn anew in each pass over the data; else those of the first pass come again
    one_of:     it learns from one of so many documents
    teacher:    the folder of a model as deep or deeper. It begins as every so-manyth layer of that
    is_taught:  and learns to give the teacher's probabilities as well
    """

    parts: Mapping[str, Any] = field(default_factory=dict)
    in_pairs: bool = True
    single: float = 0.75
    new_rows: bool = True
    new_blanks: bool = True
    one_of: int = 1
    teacher: Path | None = None
    is_taught: bool = False


BERT = Way()


class Reading(Text):
    """Masked tokens, and whether two texts are neighbours (Devlin et al. 2018, §3.1).

    Differs: 40% of the tokens of a long row are masked instead of 15%, so that a short training learns from more of
             them (Wettig et al. 2023, §3); many pairs are two single sentences;
             the table of positions begins as the sinusoids of Vaswani et al. 2017, §3.5
    """

    masking = Masking(share=0.4)

    def __init__(self, material: Material, way: Way = BERT) -> None:
        super().__init__(material)
        self.way = way
        self.documents = self.documents[:: way.one_of]
        self.config = dataclasses.replace(PRESETS[PRESET], vocab_size=self.tokenizer.vocab_size, **way.parts)
        self.teacher = checkpoint.load(way.teacher, vocabulary=material.root)[0] if way.teacher else None

    def new_model(self) -> nn.Module:
        model = build_network(self.config)
        self.begin_positions(model)
        if self.teacher:
            model.load_state_dict(layers_of(self.teacher, self.config.n_layers))
        return model

    def begin_positions(self, model: nn.Module) -> None:
        """Where a token is masked a head has its position alone to go by. Sinusoids, as long as the random rows they
        replace, show from the first step which positions are neighbours."""
        rows: Tensor = model.embedding.positions.table.weight.data  # type: ignore[assignment, union-attr]
        rows.copy_(sinusoidal_encoding(*rows.shape) * rows.std() * 2**0.5)

    def rows_loader(self, documents: list[Document], seed: str, processes: int = 1, way: Way = BERT) -> DataLoader[Any]:
        """way: whether rows and blanks come from the seed, or are those of every pass"""
        rng = random.Random(seed)
        drawn = rng if way.new_rows else random.Random(f"{self.material.seed}/rows")
        rows = self.rows(documents, drawn)
        blanks = rng if way.new_blanks else random.Random(f"{self.material.seed}/blanks")
        generator = np.random.default_rng(blanks.getrandbits(64))
        asked = masked(rows, self.config.vocab_size, generator, self.masking)
        lengths = [(len(row[0]), len(row[0])) for row in asked]
        batches = length_batches(lengths, self.material.recipe.batch_tokens, rng)
        return loader_of(asked, batches, collate_read, processes)

    def rows(self, documents: list[Document], rng: random.Random) -> list[ReadRow]:
        if self.way.in_pairs:
            return read_rows(documents, self.config.max_len, rng, Pairing(single=self.way.single))
        return text_rows(documents, self.config.max_len, rng)

    def loader(self, epoch: int, processes: int) -> DataLoader[Any]:
        return self.rows_loader(self.documents, f"{self.material.seed}/{epoch}", processes, self.way)

    def losses(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Of the masked tokens, and of the pairs; 0 where a batch has none."""
        of_tokens, of_pairs, _ = self.guesses(model, batch)
        return of_tokens, of_pairs

    def guesses(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Both losses, and the logits (n,V) of the n masked tokens."""
        rows = batch["labels"] != PAD_ID
        logits, next_sentence = model(batch["src_ids"], batch["segment_ids"], rows)
        is_pair = batch["pair_labels"] != NO_PAIR
        guesses, right = next_sentence[:, 0][is_pair].float(), batch["pair_labels"][is_pair] - 1
        of_tokens = nn.functional.cross_entropy(logits.float(), batch["labels"][rows], reduction="sum")
        of_pairs = nn.functional.cross_entropy(guesses, right, reduction="sum")
        return of_tokens / max(1, int(rows.sum())), of_pairs / max(1, int(is_pair.sum())), logits

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        of_tokens, of_pairs, logits = self.guesses(model, batch)
        if not self.way.is_taught:
            return of_tokens + of_pairs
        assert self.teacher is not None
        with torch.no_grad():
            theirs = self.teacher.to(logits.device)(batch["src_ids"], batch["segment_ids"], batch["labels"] != PAD_ID)[
                0
            ]
        return OF_TEACHER * divergence(logits.float(), theirs.float()) + OF_TEXT * of_tokens + of_pairs

    def validation_loss(self, model: nn.Module, machinery: Machinery) -> float:
        """Of the masked tokens alone."""
        batches = self.rows_loader(self.valid_documents, VALIDATION_SEED)
        return mean_loss(model, batches, lambda model, batch: self.losses(model, batch)[0], machinery, n_labels)

    def save(self, weights: dict[str, Tensor]) -> None:
        save_network(self.material.out, self.config, weights)


def divergence(logits: Tensor, theirs: Tensor) -> Tensor:
    """How far a student's distribution lies from its teacher's, softened: T²·KL(teacher‖student), in nats a token.

    Args:   logits, theirs (n,V)
    Source: Hinton et al. 2015, §2, for T; Sanh et al. 2019 (DistilBERT), §2. Differs: none
    """
    student, teacher = ((one / TEMPERATURE).log_softmax(-1) for one in (logits, theirs))
    return TEMPERATURE**2 * nn.functional.kl_div(student, teacher, reduction="batchmean", log_target=True)


def layers_of(teacher: nn.Module, n_layers: int) -> dict[str, Tensor]:
    """A teacher's weights with only so many of its layers, evenly spread: of four, two are the first and the third.

    Source: Sanh et al. 2019, §3, "Student initialization"
    """
    weights, path = teacher.state_dict(), "encoder.layers."
    n_all = 1 + max(int(name.split(".")[2]) for name in weights if name.startswith(path))
    kept = {n * n_all // n_layers: n for n in range(n_layers)}
    found = {}
    for name, weight in weights.items():
        if not name.startswith(path):
            found[name] = weight
        elif (at := int(name.split(".")[2])) in kept:
            found[name.replace(f"{path}{at}.", f"{path}{kept[at]}.", 1)] = weight
    return found
