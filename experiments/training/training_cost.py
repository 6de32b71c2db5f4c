"""What a training cost: the multiplications and additions of its matrix products, counted from the shapes."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.training.siblings import METRICS, load_siblings
from model.build import ATTENTIONS, NETWORKS
from model.config import ModelConfig
from model.files import checkpoint
from model.files.loaded_model import MODELS, TRANSLATOR
from model.parts.positions import Positions
from model.parts.small_cache_attention import LatentAttention

# A product of matrices multiplies and adds; a training runs it forwards, and twice as much backwards, once for what the
# product read and once for its weights.
FLOPS_A_MULTIPLICATION = 2 * 3


@dataclass(frozen=True)
class BatchSizes:
    """How large the batches of a training were, padding included: sums over all its rows.

    source, target:  positions of the encoder, of the decoder
    source_pairs:    S² of each row with S source positions; target_pairs: T²; cross_pairs: S · T
    """

    source: int
    target: int
    source_pairs: int
    target_pairs: int
    cross_pairs: int


def training_flops(config: ModelConfig, sizes: BatchSizes) -> int:
    """FLOPs of the matrix products of an encoder-decoder's training, forwards and backwards.

    Looking up embeddings, norms, softmax and the update of the weights are left out; all together they are far less.
    """
    d, square = config.d_model, config.d_model**2
    network, (attention, pair) = feed_forward_weights(config), self_attention(config)
    encoder = sizes.source * (attention + network) + pair * sizes.source_pairs
    decoder = (
        sizes.target * (attention + network) + pair * sizes.target_pairs  # its own sub-layers
        + (2 * sizes.target + 2 * sizes.source) * square + 2 * d * sizes.cross_pairs  # W^Q and W^O; W^K and W^V
    )  # fmt: skip
    output = sizes.target * d * config.vocab_size
    return FLOPS_A_MULTIPLICATION * (config.n_layers * (encoder + decoder) + output)


def self_attention(config: ModelConfig) -> tuple[int, int]:
    """Weights that a row meets in one self-attention, and multiplications for each pair of rows."""
    part = ATTENTIONS[config.attention].to_itself(config, Positions(), False)
    weights = sum(weights.numel() for weights in part.parameters() if weights.ndim == 2)
    # A score and what it weighs; latent attention has keys with a few numbers more, which positions turn.
    more = part.n_heads * part.d_r if isinstance(part, LatentAttention) else 0
    return weights, 2 * config.d_model + more


def feed_forward_weights(config: ModelConfig) -> int:
    """Weights that a row meets in one feed-forward network: two matrices, or three if it has a gate.

    With experts it meets the router, and as many weights of experts as a plain network has.
    """
    network = NETWORKS[config.activation](config.d_model, config.d_ff)
    router = config.d_model * config.n_experts if config.feed_forward.startswith("experts") else 0
    return router + sum(weights.numel() for weights in network.parameters() if weights.ndim == 2)


def load_batch_sizes(name: str, root: Path = MODELS) -> BatchSizes | None:
    """Those of a model that comes with the app, as they were counted; None if they were not.

    Raises: CheckpointError, naming the file and the repair
    """
    path = root / name / METRICS
    try:
        counted = json.loads(path.read_text(encoding="utf-8"))["training"].get("batches")
        return None if counted is None else BatchSizes(**{key: int(value) for key, value in counted.items()})
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise checkpoint.broken(path, error) from error


def teachers_of(training: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What metrics.json says of the trainings of those who wrote a part of what a model learned from."""
    return [training["stages"][name] for name in training.get("teachers", ())]


def seconds_with_teachers(training: Mapping[str, Any]) -> float:
    """Without a student that was trained by another seed and not chosen.

    Args: training: what metrics.json says of a model's
    """
    return float(sum(one["seconds"] for one in (training, *teachers_of(training))))


@dataclass(frozen=True)
class Trained:
    """A translator that comes with the app: how good it is, by how it was scored, and what its training cost.

    teachers: the FLOPs of the trainings of those who wrote a part of what it learned from
    """

    name: str
    bleu: float
    flops: int
    teachers: tuple[int, ...] = ()


def trained_translators(root: Path = MODELS) -> tuple[Trained, ...]:
    """The translator (beam 4) and its siblings (greedy, without teachers), those whose batches were counted.

    Raises: CheckpointError, naming the file and the repair
    """
    path = root / TRANSLATOR / METRICS
    try:
        metrics = json.loads(path.read_text(encoding="utf-8"))
        bleu = float(metrics["test"]["beam 4"]["bleu"])
        teachers = tuple(
            training_flops(ModelConfig(**one["parts"]), BatchSizes(**one["batches"]))
            for one in teachers_of(metrics["training"])
        )
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise checkpoint.broken(path, error) from error
    scored = [(TRANSLATOR, bleu, teachers), *((one.name, one.bleu, ()) for one in load_siblings(root))]
    return tuple(
        Trained(name, bleu, training_flops(checkpoint.load_config(root / name), sizes), taught_by)
        for name, bleu, taught_by in scored
        if (sizes := load_batch_sizes(name, root))
    )
