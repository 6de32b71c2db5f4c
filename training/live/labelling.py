"""Fine-tune live on a few labelled sentences: a pre-trained model, and beside it one with random weights."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from model.adapting.fine_tuned import FineTuned, FineTunedReader, FineTunedWriter
from model.anatomy.structure import Made
from model.families.decoder_only import DecoderOnly
from model.families.encoder_only import EncoderOnly
from model.families.network import Network
from model.files.checkpoint import load_untrained
from model.files.device import CPU
from model.files.loaded_model import MODELS, LoadedModel, load_model
from model.tap import Recorder
from model.text.tokenizer import Tokenizer, normalise
from model.trace import Trace
from training.loop.finetune_loop import (
    Accuracy,
    Example,
    accuracy,
    collate,
    fine_tune,
    loss_of,
    moved,
    parts_of,
    recipe,
    text_example,
    train_only,
    weights_of,
    written_example,
)
from training.loop.updates import Step

PLUS, MINUS = "+", "-"
CLASSES = (MINUS, PLUS)  # by number
MOST, MAX_TOKENS = 20, 40  # sentences, and pieces of each
STEPS, LEARNING_RATE, EVERY = 20, 3e-4, 4  # steps in all, and between two measurements
AUXILIARY = 0.5  # λ (Radford et al. 2018, §4.1)
PRETRAINED, RANDOM = "pre-trained", "random"
EVERYTHING, HEAD = "all weights", "the head alone"
Labelled = tuple[str, str]  # a sentence, and its label


class LabelError(ValueError):
    """Sentences that nothing can be learned from; the message says why, in one sentence."""


def parsed(written: str, named: Callable[[str], str] = str) -> tuple[Labelled, ...]:
    """Sentences with their labels, from lines that begin with + or -; empty lines are left out, and repetitions.

    Args:   named: what a label means
    Raises: LabelError for a line without a label or without a sentence, for more than MOST, for labels all alike
    """
    kept: dict[Labelled, None] = {}
    for line in filter(None, map(normalise, written.splitlines())):
        label, text = line[0].replace("−", MINUS).replace("–", MINUS), line[1:].strip()
        if label not in CLASSES:
            raise LabelError(f"“{shortened(line)}” has no label: begin each line with {PLUS} or {MINUS}.")
        if not text:
            raise LabelError(f"A line has a {label} and no sentence: write one behind it.")
        kept[text, label] = None
    if len(kept) > MOST:
        raise LabelError(f"These are {len(kept)} sentences: write at most {MOST}.")
    if len({label for _, label in kept}) < 2:
        if not kept:
            raise LabelError(f"There is nothing to learn yet: write a line with {PLUS} and one with {MINUS}.")
        label = next(iter(kept))[1]
        other = named(MINUS if label == PLUS else PLUS)
        raise LabelError(f"All sentences are labelled “{named(label)}”: at least one must be “{other}”.")
    return tuple(kept)


def shortened(text: str, most: int = 30) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def contradictions(labelled: Sequence[Labelled]) -> tuple[str, ...]:
    """Sentences that have both labels."""
    labels: dict[str, set[str]] = {}
    for text, label in labelled:
        labels.setdefault(text, set()).add(label)
    return tuple(text for text, both in labels.items() if len(both) == 2)


def example(tokenizer: Tokenizer, network: nn.Module, text: str, label: str = MINUS) -> Example:
    """A sentence as this network reads it; what is too long loses its end."""
    make = text_example if isinstance(network, EncoderOnly) else written_example
    return make(tokenizer, text, CLASSES.index(label), MAX_TOKENS + 2)


def with_head(network: Network, seed: int = 0) -> FineTuned:
    """A network with a new head; the same one each time."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if isinstance(network, EncoderOnly):
            return FineTunedReader(network, len(CLASSES))
        assert isinstance(network, DecoderOnly)
        return FineTunedWriter(network, len(CLASSES))


@dataclass(frozen=True)
class Standing:
    """How one of the two models stands. loss: in nats a sentence, on those labelled; test: on the others"""

    loss: float
    test: Accuracy


@dataclass(frozen=True)
class Progress:
    """How the two trainings stand after some steps.

    runs: by PRETRAINED and RANDOM; moved: how far each pre-trained part is from where it was, as a share of its length;
    n_learning: how many numbers may change; weights: those of the pre-trained model that may have changed, by name
    """

    step: int
    runs: Mapping[str, Standing]
    moved: Mapping[str, float]
    n_learning: int
    weights: Mapping[str, NDArray[np.float16]] = field(default_factory=dict)

    def light(self) -> "Progress":
        """The report as it is kept when a newer one has come."""
        return replace(self, weights={})


@dataclass(frozen=True)
class Labelling:
    """What is learned.

    model: its name; labelled: sentences to learn; test: others, to measure with; learns: EVERYTHING or HEAD;
    auxiliary: of a GPT λ, the weight of the language-model loss that goes along
    """

    model: str
    labelled: tuple[Labelled, ...]
    test: tuple[Labelled, ...]
    learns: str = EVERYTHING
    auxiliary: float = 0.0

    @property
    def n_steps(self) -> int:
        return STEPS

    def reports(self, is_due: Callable[[Step], bool]) -> Iterator[Progress]:
        """Train both, step by step in turn; report them as they are, then every few steps, and after the last.

        Raises: DivergedError; model.files.checkpoint.CheckpointError
        """
        loaded = load_model(self.model, device=CPU)
        networks = {PRETRAINED: loaded.model, RANDOM: load_untrained(MODELS / self.model)}
        models = {name: with_head(network.requires_grad_(True)) for name, network in networks.items()}
        own = models[PRETRAINED]
        before = {name: weights_of(part) for name, part in parts_of(own).items()}
        prefixes = [""] if self.learns == EVERYTHING else ["classifier", "network.next_sentence.classifier"]
        n_learning = max(train_only(model, prefixes) for model in models.values())
        learned, others = (
            [example(loaded.tokenizer, loaded.model, *one) for one in some] for some in (self.labelled, self.test)
        )
        loss, whole = loss_of("sentence"), collate(learned)

        def report(step: int) -> Progress:
            runs = {}
            for name, model in models.items():
                test = accuracy(model, "sentence", others)
                with torch.no_grad():
                    runs[name] = Standing(loss(model, whole).item(), test)
            return Progress(step, runs, moved(before, own), n_learning, changed(own))

        yield report(0)
        chosen = recipe(STEPS, LEARNING_RATE)
        auxiliary = self.auxiliary if isinstance(own, FineTunedWriter) else 0.0
        trainings = [
            fine_tune(model, learned, chosen, loss_of("sentence", auxiliary), MOST) for model in models.values()
        ]
        for step, _ in zip(*trainings, strict=True):
            if step.step % EVERY == 0 or step.step == STEPS:
                yield report(step.step)


def changed(model: FineTuned) -> dict[str, NDArray[np.float16]]:
    """The weights that may have changed, by name, rounded."""
    return {
        name: parameter.detach().half().numpy().copy()
        for name, parameter in model.named_parameters()
        if parameter.requires_grad
    }


def classifier(loaded: LoadedModel, weights: Mapping[str, NDArray[np.float16]]) -> FineTuned:
    """A model with a head and these weights, the others being those of the model as it is."""
    with torch.random.fork_rng(devices=[]):
        network = load_untrained(MODELS / loaded.name)
    network.load_state_dict(loaded.model.state_dict())
    model = with_head(network)
    own = model.state_dict() | {name: torch.from_numpy(value).float() for name, value in weights.items()}
    model.load_state_dict(own)
    return model.eval().requires_grad_(False)


@torch.inference_mode()
def classified(loaded: LoadedModel, model: FineTuned, text: str) -> Trace[FineTuned]:
    """A sentence through a classifier: what its head reads, and makes of it.

    Returns: a trace with "row" (1,d_model), "logits" and "probabilities" (1,2) alone
    """
    one = example(loaded.tokenizer, model.network, normalise(text))
    ids = torch.tensor([one.ids])
    if isinstance(model, FineTunedReader):
        taps = Recorder()
        model.network(ids, tap=taps)
        row, path = taps.tensors["next_sentence.pooled"][0], "network.next_sentence.classifier"
    else:
        row, path = model.network.rows(ids)[0, -1:], "classifier"
    scores = model.head(row)
    made = {
        "row": Made("given", (), (), ("one", "d_model")),
        "logits": Made("linear", ("row",), (f"{path}.weight", f"{path}.bias"), ("one", "classes")),
    }
    tensors = {"row": row.numpy(), "logits": scores.numpy(), "probabilities": scores.softmax(-1).numpy()}
    anatomy = replace(loaded.anatomy, tensors=made)
    own = LoadedModel(loaded.name, loaded.config, model, loaded.tokenizer, loaded.device, loaded.about, anatomy)
    return Trace(own, normalise(text), 0, (), (), (), tensors, (), "", True)
