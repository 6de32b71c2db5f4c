"""Teach a copy of a translator a few sentence pairs, and see what it translates otherwise from then on."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch

from experiments.writing.batched_translation import translate_together
from model.families.encoder_decoder import EncoderDecoder
from model.files.device import CPU
from model.files.loaded_model import LoadedModel, load_model
from model.text.tokenizer import normalise
from training.live.toy import Watch
from training.loop.data import NO_VARIATION, Pair, collate
from training.loop.loss import batch_loss, validation_loss
from training.loop.recipe import Recipe
from training.loop.updates import Step, new_learner, training_steps

STEPS, LEARNING_RATE = 40, 5e-4  # so a small translator learns five pairs, and one sees what it forgets
SEED = 0  # of dropout: the same pairs are learned the same again
MAX_TOKENS = 40  # of either side of a pair


class PairError(ValueError):
    """A pair that cannot be learned from; the message says which, and why, in one sentence."""


@dataclass(frozen=True)
class Taught:
    """How the teaching stands.

    step:           updates made so far
    loss:           cross-entropy of the pairs, in nats a token, without dropout
    gradient_norms: by part of the model, at the last step, before the gradient was clipped
    translations:   of the pairs' English and then of the other sentences
    """

    step: int
    loss: float
    gradient_norms: Mapping[str, float]
    translations: tuple[str, ...]

    def light(self) -> "Taught":
        """The report as it is kept when a newer one has come."""
        return self


@dataclass(frozen=True)
class Teaching:
    """What is taught.

    model: a translator's name; pairs: to learn, as `checked` returns them; others: sentences to watch beside them
    """

    model: str
    pairs: tuple[Pair, ...]
    others: tuple[str, ...]

    @property
    def n_steps(self) -> int:
        return STEPS

    def reports(self, is_due: Callable[[Step], bool]) -> Iterator[Taught]:
        """Teach a copy of the model: report it as it is, then whenever a report is due, and after the last step.

        Raises: DivergedError; model.files.checkpoint.CheckpointError
        """
        torch.manual_seed(SEED)
        copy = load_model(self.model, device=CPU)
        network = copy.model.requires_grad_(True)
        encode = copy.tokenizer.encode
        batch = collate([(encode(source), encode(target)) for source, target in self.pairs])
        assert isinstance(network, EncoderDecoder)
        watch = Watch(network)
        sentences = (*(source for source, _ in self.pairs), *self.others)

        def report(step: int) -> Taught:
            loss = validation_loss(network, [batch])
            return Taught(step, loss, watch.gradient_norms, translations(copy, sentences))

        yield report(0)
        recipe = Recipe(
            STEPS, peak_learning_rate=LEARNING_RATE, warmup_steps=5, variation=NO_VARIATION, average_decay=0.9
        )
        loss = partial(batch_loss, label_smoothing=recipe.label_smoothing)
        for step in training_steps(new_learner(network, recipe), [batch] * STEPS, recipe, loss, machinery=watch):
            if is_due(step) or step.step == STEPS:
                yield report(step.step)


def translations(loaded: LoadedModel, sentences: Sequence[str]) -> tuple[str, ...]:
    """Greedy translations of several sentences."""
    return tuple(translate_together(loaded, sentences))


def checked(loaded: LoadedModel, pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """Pairs as the model reads them, each once; rows with two empty sides are left out.

    Raises: PairError for a pair with one empty side, or one that is too long; or if no pair is left
    """
    kept: dict[Pair, None] = {}
    for number, (source, target) in enumerate(pairs, 1):
        pair = normalise(source), normalise(target)
        if not any(pair):
            continue
        for side, text in zip((loaded.about.source, loaded.about.target), pair, strict=True):
            n = len(loaded.tokenizer.encode(text))
            if not n:
                raise PairError(f"Pair {number} has no {side}: write both sides.")
            if n > MAX_TOKENS:
                raise PairError(f"The {side} of pair {number} has {n} pieces: write at most {MAX_TOKENS}.")
        kept[pair] = None
    if not kept:
        raise PairError("There is nothing to learn yet: write at least one pair.")
    return tuple(kept)
