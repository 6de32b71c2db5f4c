"""What ELECTRA learns: a small generator fills in blanks, and a discriminator says of every token whether it did."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from model.build import build_network
from model.config import ModelConfig
from model.text.tokenizer import PAD_ID
from training.loop.objectives import VALIDATION_SEED, mean_loss, save_network
from training.loop.reading import Reading
from training.loop.text_rows import Masking
from training.loop.updates import Batch, Machinery

GENERATOR = "generator"  # the folder in the discriminator's own
OF_DISCRIMINATOR = 50.0  # weight of its loss (Clark et al. 2020, §2; its value: Appendix A)
D_MODEL, D_FF = 64, 256  # of the generator: a quarter, as the paper finds best (§3.2)


class Electra(nn.Module):
    """Generator and discriminator, which share the embeddings of tokens, positions and segments.

    Args:    src_ids, labels (B,S): a text with blanks, and the right token where there is one; segment_ids (B,S)
    Returns: the generator's logits (n,V) at the n blanks; the discriminator's scores (B,S) of the text that the
             generator filled in; that text (B,S)
    Source:  Clark et al. 2020, §2. Differs: none
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.discriminator, self.generator = build_network(config), build_network(generator_of(config))
        self.generator.embedding = self.discriminator.embedding

    def forward(self, src_ids: Tensor, segment_ids: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        asked = labels != PAD_ID
        guesses, _ = self.generator(src_ids, segment_ids, asked)
        filled = src_ids.clone()
        filled[asked] = drawn(guesses.detach())
        return guesses, self.discriminator(filled, segment_ids)[..., 0], filled


def generator_of(config: ModelConfig) -> ModelConfig:
    return dataclasses.replace(
        config, d_model=D_MODEL, n_heads=1, d_ff=D_FF, family="encoder_only", d_embedding=config.d_model
    )


def drawn(logits: Tensor) -> Tensor:
    """A token for each row (n,V), by its probability: the largest logit with Gumbel noise, as in their code."""
    uniform = torch.rand_like(logits, dtype=torch.float32).clamp_min(1e-9)
    return (logits.float() - (-uniform.log()).log()).argmax(-1)


class Replacing(Reading):
    """Blanks for the generator, and for the discriminator every token: is it the one that stood there?

    Differs: a batch is as large as bert-mini's
    """

    masking = Masking(masked=1.0, random=0.0)

    def new_model(self) -> nn.Module:
        model = Electra(self.config)
        self.begin_positions(model.discriminator)
        return model

    def losses(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Of the generator's blanks, and of the discriminator on every token of the texts."""
        labels = batch["labels"]
        guesses, scores, filled = model(batch["src_ids"], batch["segment_ids"], labels)
        right = labels[labels != PAD_ID]
        of_blanks = nn.functional.cross_entropy(guesses.float(), right, reduction="sum") / max(1, len(right))
        replaced, told = (labels != PAD_ID) & (filled != labels), filled != PAD_ID
        of_tokens = nn.functional.binary_cross_entropy_with_logits(scores[told].float(), replaced[told].float())
        return of_blanks, of_tokens

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        of_blanks, of_tokens = self.losses(model, batch)
        return of_blanks + OF_DISCRIMINATOR * of_tokens

    def validation_loss(self, model: nn.Module, machinery: Machinery) -> float:
        """Of the discriminator; what the generator draws is the same each time."""
        batches = self.rows_loader(self.valid_documents, VALIDATION_SEED)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            return mean_loss(model, batches, lambda model, batch: self.losses(model, batch)[1], machinery, n_tokens)

    def save(self, weights: dict[str, Tensor]) -> None:
        out: Path = self.material.out
        (out / GENERATOR).mkdir(exist_ok=True)
        save_network(out, self.config, of_network(weights, "discriminator."))
        save_network(out / GENERATOR, generator_of(self.config), of_network(weights, "generator."))


def of_network(weights: Mapping[str, Tensor], path: str) -> dict[str, Tensor]:
    return {name.removeprefix(path): weight for name, weight in weights.items() if name.startswith(path)}


def n_tokens(batch: Batch) -> int:
    return int((batch["src_ids"] != PAD_ID).sum())
