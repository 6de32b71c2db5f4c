"""Train a tiny encoder-decoder on letters: `python -m training.live.toy reverse`.

It starts from random weights and learns to reverse, copy or sort up to eight letters. Every part is one of the
project's own, and so is the loop. What it is measured on is never in its training.
"""

import argparse
import math
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from string import ascii_lowercase

import torch
from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models
from torch import Tensor, nn

from experiments.training.losses import with_losses
from model.anatomy.describe import anatomy_of
from model.build import build_model
from model.config import CHOICES, ModelConfig
from model.families.encoder_decoder import EncoderDecoder
from model.files.device import Device
from model.files.loaded_model import Array, LoadedModel
from model.files.model_card import About
from model.tap import Recorder
from model.text.tokenizer import PAD_ID, SOS_ID, SPECIALS, Tokenizer
from model.trace import Trace, trace
from training.loop.data import NO_VARIATION, collate
from training.loop.loss import batch_loss
from training.loop.recipe import Recipe
from training.loop.updates import Batch, DivergedError, OneDevice, Step, new_learner, training_steps

TASKS: Mapping[str, Callable[[str], str]] = {
    "reverse": lambda letters: letters[::-1],
    "copy": lambda letters: letters,
    "sort": lambda letters: "".join(sorted(letters)),
}
MAX_LETTERS = 8
EXAMPLE = "pictures"  # no letter twice, so that a map shows which one is looked at
STEPS, BATCH_SIZE = 1200, 64
MAX_LAYERS = 6
BLIND_GUESS = math.log(len(SPECIALS) + len(ascii_lowercase))  # nats: every token as likely as any other
MAX_LOSS = 100.0  # nats a letter, beyond which a training has diverged, though its loss is still a number


@dataclass(frozen=True)
class Choice:
    """What a learner may choose: the task, the parts of the model, and the peak learning rate.

    Raises: ValueError, naming what can be, if one of them cannot
    """

    task: str = "reverse"
    n_layers: int = 1
    n_heads: int = 2
    positions: str = "sinusoidal"
    learning_rate: float = 3e-3
    seed: int = 0

    def __post_init__(self) -> None:
        if self.task not in TASKS:
            raise ValueError(f"there is no task {self.task!r}; choose one of {', '.join(TASKS)}")
        if not 1 <= self.n_layers <= MAX_LAYERS:
            raise ValueError(f"a toy model has 1 to {MAX_LAYERS} layers, not {self.n_layers}")
        if not 0 < self.learning_rate < math.inf:
            raise ValueError(f"a learning rate is above 0, not {self.learning_rate}")

    @property
    def config(self) -> ModelConfig:
        return ModelConfig(
            vocab_size=len(SPECIALS) + len(ascii_lowercase), d_model=64, n_heads=self.n_heads, n_layers=self.n_layers,
            d_ff=128, max_len=16, dropout=0.0, positions=self.positions,
        )  # fmt: skip

    @property
    def recipe(self) -> Recipe:
        return Recipe(
            STEPS, peak_learning_rate=self.learning_rate, warmup_steps=50, label_smoothing=0.0, average_decay=0.99,
            variation=NO_VARIATION,
        )  # fmt: skip

    @property
    def n_steps(self) -> int:
        return STEPS

    def reports(self, is_due: Callable[[Step], bool]) -> Iterator["Report"]:
        return reports(self, is_due)


# --- the texts --------------------------------------------------------------------------------------------------------


def draw_text(rng: random.Random, shortest: int = 1) -> str:
    """Letters drawn at random, each as likely as any other; so is each length up to MAX_LETTERS."""
    return "".join(rng.choices(ascii_lowercase, k=rng.randint(shortest, MAX_LETTERS)))


@cache
def held_out() -> tuple[str, ...]:
    """200 texts of at least three letters to measure a model on, the same for every training. None is trained on."""
    rng = random.Random("held out")
    return tuple(draw_text(rng, shortest=3) for _ in range(200))


def new_texts(rng: random.Random) -> Iterator[str]:
    """Texts to train on, without end; those held out are left out."""
    unseen = frozenset(held_out())
    while True:
        if (text := draw_text(rng)) not in unseen:
            yield text


@cache
def letters_tokenizer() -> Tokenizer:
    """A token for each letter; the special ones come first, as always."""
    vocabulary = {token: id for id, token in enumerate((*SPECIALS, *ascii_lowercase))}
    backend = Backend(models.BPE(vocab=vocabulary, merges=[]))
    backend.decoder = decoders.ByteLevel()
    return Tokenizer(backend)


def batch_of(texts: Sequence[str], task: str) -> Batch:
    """Texts and their right answers as a batch, see `training.loop.data.collate`."""
    encode = letters_tokenizer().encode_batch
    return collate(list(zip(encode(texts), encode([TASKS[task](text) for text in texts]), strict=True)))


def batches(task: str, seed: int) -> Iterator[Batch]:
    """Batches without end; they depend on the task and the seed alone."""
    texts = new_texts(random.Random(seed))
    while True:
        yield batch_of([next(texts) for _ in range(BATCH_SIZE)], task)


# --- training ---------------------------------------------------------------------------------------------------------


class Watch(OneDevice):
    """The machinery of one device, which also notes how long the gradient of each part of the model is."""

    def __init__(self, model: EncoderDecoder) -> None:
        self.model = model
        self.gradient_norms: Mapping[str, float] = {}

    def clip_grad_norm_(self, parameters: Iterable[nn.Parameter], max_norm: float) -> Tensor:
        self.gradient_norms = gradient_norms(self.model)
        return super().clip_grad_norm_(parameters, max_norm)


def parts_of(model: EncoderDecoder) -> dict[str, nn.Module]:
    """The embedding and every layer, by names that count from 1."""
    stacks = (("encoder", model.encoder), ("decoder", model.decoder))
    layers = {f"{name} {n}": layer for name, stack in stacks for n, layer in enumerate(stack.layers, 1)}
    return {"embedding": model.embedding, **layers}


def gradient_norms(model: EncoderDecoder) -> dict[str, float]:
    """Length of the gradient of each part's weights together: the root of the sum of all squares."""

    def norm(part: nn.Module) -> float:
        squares = [p.grad.square().sum() for p in part.parameters() if p.grad is not None]
        return torch.stack(squares).sum().sqrt().item() if squares else 0.0

    return {name: norm(part) for name, part in parts_of(model).items()}


@dataclass(frozen=True)
class Report:
    """How a training stands.

    step:           updates made so far
    loss:           cross-entropy of the held-out answers, in nats a letter (their end marks count as letters)
    right:          share of the held-out texts whose whole answer is right, up to its end
    gradient_norms: by part of the model, at the last step, before the gradient was clipped
    weights:        by name, as they are now
    maps:           attention weights (L,H,T,S) while EXAMPLE is read, by kind: "encoder", "decoder", "cross"
    """

    step: int
    loss: float
    right: float
    gradient_norms: Mapping[str, float]
    weights: Mapping[str, Array]
    maps: Mapping[str, Array]

    def light(self) -> "Report":
        """The report as it is kept when a newer one has come: without what is large."""
        return replace(self, weights={}, maps={})


@torch.no_grad()
def measured(model: EncoderDecoder, batch: Batch) -> tuple[float, float]:
    """Loss on a batch, and the share of its texts that the model answers rightly as a whole.

    One pass over the right answers tells what writing letter by letter would: an answer is right if every letter,
    given the right ones before it, is the likeliest.
    """
    model.eval()
    loss = batch_loss(model, batch, label_smoothing=0.0).item()
    logits, labels = model(batch["src_ids"], batch["tgt_ids"]), batch["labels"]
    logits[..., [PAD_ID, SOS_ID]] = float("-inf")  # never written
    hits = (logits.argmax(-1) == labels) | (labels == PAD_ID)
    return loss, hits.all(-1).float().mean().item()


@torch.no_grad()
def attention_maps(model: EncoderDecoder, batch: Batch) -> dict[str, Array]:
    """Attention weights (L,H,T,S) of a batch of one, by kind."""
    recorder = Recorder()
    model.eval()(batch["src_ids"], batch["tgt_ids"], recorder)
    attentions = anatomy_of(model).attentions
    return {
        kind: torch.cat([recorder.tensors[f"{one.path}.weights"] for one in layers]).numpy()
        for kind, layers in attentions.items()
    }


def reports(choice: Choice, is_due: Callable[[Step], bool]) -> Iterator[Report]:
    """Train, and report the random weights, then whenever a report is due, and after the last step.

    Raises: DivergedError where the loss is no number or beyond MAX_LOSS. The weights of the last report still hold.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(choice.seed)
        model = build_model(choice.config)
    held_out_batch, watch = batch_of(held_out(), choice.task), Watch(model)

    def report(step: int) -> Report:
        weights = {name: value.numpy().copy() for name, value in model.state_dict().items()}
        maps = attention_maps(model, batch_of([EXAMPLE], choice.task))
        return Report(step, *measured(model, held_out_batch), watch.gradient_norms, weights, maps)

    yield report(0)
    loss, recipe = partial(batch_loss, label_smoothing=0.0), choice.recipe
    learner = new_learner(model, recipe)
    for step in training_steps(learner, batches(choice.task, choice.seed), recipe, loss, machinery=watch):
        if step.loss > MAX_LOSS:
            raise DivergedError(
                f"step {step.step}: the loss is {step.loss:.0f} nats a letter, and a blind guess costs only "
                f"{BLIND_GUESS:.1f}; a lower learning rate may help"
            )
        if is_due(step) or step.step == recipe.steps:
            yield report(step.step)


def loaded(choice: Choice, weights: Mapping[str, Array]) -> LoadedModel[EncoderDecoder]:
    """A toy model with these weights, ready to be traced and explained like any other."""
    model = build_model(choice.config)
    model.load_state_dict({name: torch.tensor(value) for name, value in weights.items()})
    about = About(f"toy model that learned to {choice.task}", "letters", "letters")
    network = model.eval().requires_grad_(False)
    cpu = Device(torch.device("cpu"), "CPU")
    return LoadedModel("toy", choice.config, network, letters_tokenizer(), cpu, about, anatomy_of(network))


def answered(model: LoadedModel, task: str, text: str) -> Trace:
    """A text and its right answer through a toy model, with every number, and "losses" (T,1) of the right letters."""
    return with_losses(trace(model, text, target=TASKS[task](text)))


# --- the command ------------------------------------------------------------------------------------------------------


def main() -> int:
    default = Choice()
    parser = argparse.ArgumentParser(prog="python -m training.live.toy", description=__doc__)
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("--layers", type=int, default=default.n_layers, help="in the encoder, and again in the decoder")
    parser.add_argument("--heads", type=int, default=default.n_heads)
    parser.add_argument("--positions", choices=CHOICES["positions"], default=default.positions)
    parser.add_argument("--learning-rate", type=float, default=default.learning_rate)
    parser.add_argument("--seed", type=int, default=default.seed)
    given = parser.parse_args()
    torch.set_num_threads(1)  # small products: more threads would only wait for one another
    try:
        choice = Choice(given.task, given.layers, given.heads, given.positions, given.learning_rate, given.seed)
        for report in reports(choice, lambda step: step.step % 100 == 0):
            says = f"step {report.step:4}: loss {report.loss:.4f} nats a letter, {report.right:.1%} of the held-out "
            print(f"{says}texts exactly right, {time.process_time():.0f} s of processor time", flush=True)
    except (ValueError, DivergedError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
