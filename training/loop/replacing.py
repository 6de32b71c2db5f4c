"""What ELECTRA learns: to say of every token whether a generator, which fills in blanks, has put another one there."""

import torch
from torch import Tensor, nn

from model.build import build_network
from model.files import checkpoint
from model.files.loaded_model import MODELS
from model.text.tokenizer import PAD_ID
from training.loop.objectives import VALIDATION_SEED, Material, mean_loss
from training.loop.reading import Reading, Way
from training.loop.text_rows import Masking
from training.loop.updates import Batch, Machinery

GENERATOR = MODELS / "distilled"  # a BERT of half the layers
TEMPERATURE = 2.0  # of its draws: at 1 they are so good that a short training learned little from them


class Replacing(Reading):
    """Of every token: did it stand there, or did the generator draw it for a blank?

    Source:  Clark et al. 2020 (ELECTRA), §2
    Differs: the generator is trained before and stays as it is, so that the discriminator's loss is all there is; it
             draws at a temperature; the discriminator begins as a trained BERT, for one that began with random
             weights, beside a generator that did, too, told no token from another after 1,700 steps
    """

    masking = Masking(masked=1.0, random=0.0)

    def __init__(self, material: Material, way: Way) -> None:
        super().__init__(material, way)
        self.generator = checkpoint.load(GENERATOR, vocabulary=material.root)[0]

    def new_model(self) -> nn.Module:
        model = build_network(self.config)
        assert self.teacher is not None
        own, theirs = model.state_dict(), self.teacher.state_dict()
        model.load_state_dict({name: theirs.get(name, weight) for name, weight in own.items()})
        return model

    def of_tokens(self, model: nn.Module, batch: Batch) -> Tensor:
        """The loss of every token of the texts."""
        labels, filled = batch["labels"], batch["src_ids"].clone()
        asked = labels != PAD_ID
        with torch.no_grad():
            guesses, _ = self.generator.to(filled.device)(filled, batch["segment_ids"], asked)
        filled[asked] = drawn(guesses / TEMPERATURE)
        replaced, told = asked & (filled != labels), filled != PAD_ID
        scores = model(filled, batch["segment_ids"])[..., 0]
        return nn.functional.binary_cross_entropy_with_logits(scores[told].float(), replaced[told].float())

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        return self.of_tokens(model, batch)

    def validation_loss(self, model: nn.Module, machinery: Machinery) -> float:
        """What the generator draws is the same each time."""
        batches = self.rows_loader(self.valid_documents, VALIDATION_SEED)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            return mean_loss(model, batches, self.of_tokens, machinery, n_tokens)


def drawn(logits: Tensor) -> Tensor:
    """A token for each row (n,V), by its probability: the largest logit with Gumbel noise, as in their code."""
    uniform = torch.rand_like(logits, dtype=torch.float32).clamp_min(1e-9)
    return (logits.float() - (-uniform.log()).log()).argmax(-1)


def n_tokens(batch: Batch) -> int:
    return int((batch["src_ids"] != PAD_ID).sum())
