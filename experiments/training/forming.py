"""How a model comes to translate, seen in snapshots of its training: when attention finds the aligned word.

The share of a head is how much of its weight falls on the aligned source word (see
`experiments.attention.head_roles`), averaged over the target tokens that have one.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.attention.head_roles import places
from experiments.passes import Ids, changed_pass
from model.files.checkpoint import broken
from model.files.loaded_model import MODELS, Array, LoadedModel
from model.interventions import NOTHING
from model.text.tokenizer import Token

MEASURED = "forming.json"
FORMED = 0.5  # of a head's weight


def cross_weights(loaded: LoadedModel, src: Ids, tgt: Ids) -> Array:
    """Weights (L,H,T,S) of every encoder-decoder attention while the decoder reads tgt (T) and the encoder src (S)."""
    paths = [attention.path for attention in loaded.anatomy.attentions["cross"]]
    tensors = changed_pass(loaded, src, tgt, NOTHING, tuple(f"{path}.weights" for path in paths))
    return np.stack([tensors[f"{path}.weights"] for path in paths])


def aligned_shares(weights: Array, labels: Sequence[Token], src: Sequence[Token], aligned: Sequence[int]) -> Array:
    """The share of each head (L,H); 0 where no label has an aligned word.

    Args: weights (L,H,T,S); labels T, src S; aligned: the source word of each label, −1 for none
    """
    rows = np.array(aligned) >= 0
    if not rows.any():
        return np.zeros(weights.shape[:2], np.float32)
    counted = places("cross", labels, src, aligned)["aligned"]
    return np.asarray((weights * counted).sum(-1)[:, :, rows].mean(-1))


def first_above(steps: Sequence[int], shares: Sequence[float], level: float = FORMED) -> int | None:
    """The first of the steps whose share lies above a level; None if none does."""
    return next((step for step, share in zip(steps, shares, strict=True) if share > level), None)


@dataclass(frozen=True)
class Snapshot:
    """What a model could do after some steps, over a file of sentence pairs.

    loss, loss_elsewhere: nats a token of the German, given its own English and given another sentence's
    right:     share of the tokens for which the likeliest was right, given the right ones before it: of "end" marks,
               of the "common" tokens and of the "other" ones
    end_elsewhere: share of all other places where an end mark was the likeliest
    different: how many different translations it wrote
    repeated:  the translation it wrote most often; times: how often
    aligned:   the share of each head, as it is written ("2.3"), while it reads the last snapshot's translations
    """

    step: int
    loss: float
    loss_elsewhere: float
    right: Mapping[str, float]
    end_elsewhere: float
    different: int
    repeated: str
    times: int
    aligned: Mapping[str, float]


@dataclass(frozen=True)
class Measured:
    """All snapshots over a file, as `training.measure.forming` wrote them.

    file: its name; source: where its sentences come from; n_sentences: how many were read
    n_common: so many of the most frequent tokens are called common; equal: the share of equal weights
    """

    file: str
    source: str
    n_sentences: int
    n_common: int
    equal: float
    snapshots: tuple[Snapshot, ...]

    @property
    def steps(self) -> tuple[int, ...]:
        return tuple(one.step for one in self.snapshots)

    @property
    def aligned(self) -> dict[str, list[float]]:
        """The shares of each head, snapshot by snapshot."""
        return {head: [one.aligned[head] for one in self.snapshots] for head in self.snapshots[-1].aligned}


def load_measured(name: str, root: Path = MODELS) -> Measured:
    """What was measured of the snapshots of a model.

    Raises: CheckpointError, naming the file and the repair, if it is missing or damaged
    """
    path = root / name / MEASURED
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        snapshots = tuple(Snapshot(**one) for one in data["snapshots"])
        measured = Measured(
            str(data["data"]["file"]), str(data["data"]["source"]), int(data["sentences"]), int(data["common"]),
            float(data["equal"]), snapshots,
        )  # fmt: skip
        if len({tuple(one.aligned) for one in snapshots}) != 1:
            raise ValueError("it does not hold the same heads for every snapshot")
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise broken(path, error) from error
    return measured
