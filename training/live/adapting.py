"""Adapt a trained translator to a style: with few new numbers, by LoRA or by BitFit, or with all of its own."""

import copy
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch

from model.adapting.lora import ALPHA, learning, with_low_rank, with_own_biases
from model.files.device import CPU
from model.files.loaded_model import Array, LoadedModel, load_model
from training.live.styles import OTHERS, STYLES
from training.live.teaching import translations
from training.loop.data import NO_VARIATION, collate
from training.loop.loss import batch_loss, validation_loss
from training.loop.recipe import Recipe
from training.loop.updates import Batch, Step, new_learner, training_steps

STEPS, BATCH_SIZE = 40, 16
EVERY = 5  # steps from a possible report to the next: each translates all held-out sentences
ADAPTED = ("w_q", "w_v")  # of every attention, as in the paper's experiments (Hu et al. 2021, §7.1)
SEED = 0  # of dropout: the same choice learns the same again
LORA, BITFIT, EVERYTHING = "LoRA", "BitFit", "all weights"
RATES = {LORA: 1e-2, BITFIT: 1e-2, EVERYTHING: 1e-3}  # the last is that of the translator's own training


@dataclass(frozen=True)
class Adapted:
    """How the adapting stands.

    step:         updates made so far
    loss:         cross-entropy of the held-out pairs, in nats a token, without dropout
    translations: of their English
    others:       of OTHERS
    learned:      what has been learned so far, by name; nothing where that is the whole model
    """

    step: int
    loss: float
    translations: tuple[str, ...]
    others: tuple[str, ...]
    learned: Mapping[str, Array]

    def light(self) -> "Adapted":
        """The report as it is kept when a newer one has come."""
        return replace(self, learned={})


@dataclass(frozen=True)
class Adapting:
    """What is adapted: a translator's name, a style of STYLES, a method of RATES, and LoRA's rank."""

    model: str
    style: str
    method: str = LORA
    rank: int = 4
    n_steps: int = STEPS

    def network(self, loaded: LoadedModel, learned: Mapping[str, Array] | None = None) -> LoadedModel:
        """The model with what is to learn in it; it shares all other weights. Raises: model.adapting.lora.RankError

        Args: learned: what a report brought, in place of what learning starts from
        """
        if self.method == LORA:
            network = with_low_rank(loaded.model, adapted_layers(loaded), self.rank, ALPHA)
        elif self.method == BITFIT:
            network = with_own_biases(loaded.model)
        else:
            network = copy.deepcopy(loaded.model).requires_grad_(True)
        with torch.no_grad():
            for name, value in (learned or {}).items():
                network.get_parameter(name).copy_(torch.tensor(value))
        network = network.eval().to(loaded.device.torch)
        return replace(loaded, name=f"{loaded.name}, adapted", model=network)

    def reports(self, is_due: Callable[[Step], bool]) -> Iterator[Adapted]:
        """Adapt: report the model as it is, then when a report is due, at every EVERYth step, and after the last.

        Raises: DivergedError; model.files.checkpoint.CheckpointError
        """
        torch.manual_seed(SEED)
        adapted, style = self.network(load_model(self.model, device=CPU)), STYLES[self.style]()
        encode, network = adapted.tokenizer.encode, adapted.model
        held_out = collate([(encode(source), encode(target)) for source, target in style.held_out])

        def report(step: int) -> Adapted:
            loss = validation_loss(network, [held_out])
            written = translations(adapted, [*(source for source, _ in style.held_out), *OTHERS])
            own = {} if self.method == EVERYTHING else learning(network)
            learned = {name: value.detach().numpy().copy() for name, value in own.items()}
            n = len(style.held_out)
            return Adapted(step, loss, written[:n], written[n:], learned)

        yield report(0)
        recipe = Recipe(
            self.n_steps, peak_learning_rate=RATES[self.method], warmup_steps=5, label_smoothing=0.0, average_decay=0.9,
            variation=NO_VARIATION,
        )  # fmt: skip
        pairs = [(encode(source), encode(target)) for source, target in style.pairs]
        loss = partial(batch_loss, label_smoothing=recipe.label_smoothing)
        for step in training_steps(new_learner(network, recipe), batches(pairs), recipe, loss):
            if step.step == self.n_steps or (step.step % EVERY == 0 and is_due(step)):
                yield report(step.step)


def adapted_layers(loaded: LoadedModel) -> list[str]:
    """Paths of the matrices beside which LoRA learns."""
    attentions = (one for layers in loaded.anatomy.attentions.values() for one in layers)
    return [f"{one.path}.{matrix}" for one in attentions for matrix in ADAPTED]


def batches(pairs: Sequence[tuple[list[int], list[int]]], seed: int = 0) -> Iterator[Batch]:
    """Batches without end: all pairs in random order, again and again."""
    rng = random.Random(seed)
    order: list[int] = []
    while True:
        if len(order) < BATCH_SIZE:
            order = rng.sample(range(len(pairs)), len(pairs))
        yield collate([pairs[order.pop()] for _ in range(BATCH_SIZE)])
