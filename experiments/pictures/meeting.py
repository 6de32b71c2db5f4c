"""Pictures and words that meet: vectors of texts, what lies nearest, and how a temperature shares it out."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from model.families.two_towers import parts_of_texts
from model.files.load_clip import LoadedTexts, picture_vectors
from model.files.loaded_model import Array


@dataclass(frozen=True)
class Nearest:
    """Pictures, or words, by their numbers, and their cosines, the nearest first."""

    which: tuple[int, ...]
    cosines: Array


@torch.inference_mode()
def text_vectors(loaded: LoadedTexts, texts: tuple[str, ...]) -> Array:
    """A vector of length 1 for each text (N,d_shared)."""
    parts = parts_of_texts(texts, loaded.config.n_parts).to(loaded.device.torch)
    vectors = torch.nn.functional.normalize(loaded.model(parts), dim=-1)
    return np.asarray(vectors.cpu().numpy())


def nearest(vector: Array, others: Array, n: int) -> Nearest:
    """Which n of the others (N,d) are nearest to a vector (d)."""
    cosines = others @ vector
    which = np.argsort(-cosines, kind="stable")[:n]
    return Nearest(tuple(which.tolist()), cosines[which])


def of_batch(loaded: LoadedTexts, texts: tuple[str, ...], pictures: Sequence[int]) -> Array:
    """The cosine of each text with each picture (texts, pictures)."""
    return np.asarray(text_vectors(loaded, texts) @ picture_vectors()[list(pictures)].T)


def shared_out(cosines: Array, temperature: float, axis: int = -1) -> Array:
    """Softmax of cosines over a temperature, along an axis."""
    scores = cosines.astype(np.float64) / temperature
    shares = np.exp(scores - scores.max(axis, keepdims=True))
    return np.asarray(shares / shares.sum(axis, keepdims=True))
