"""A trained language model that may ask fewer pairs: which scores are kept, and what its text then costs."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from experiments.family.language_models import published, read_text
from experiments.passes import recorded
from experiments.training.losses import with_losses
from model.files.loaded_model import LoadedModel
from model.tap import Recorder, Tap
from model.trace import Trace

ALL, TRAINED = "all pairs", "trained so"
FILE = "patterns.json"  # in the model's folder: perplexity of a test text by pattern and k
SIZES = (64, 32, 16, 8, 4, 2, 1)  # k, keys a query keeps
SCORES = re.compile(r".*\.self_attn\.scores")


def distance(scores: Tensor) -> Tensor:
    """(T,S): how many positions a key stands before its query; below 0 behind it."""
    return torch.arange(scores.size(-2))[:, None] - torch.arange(scores.size(-1))


def window(scores: Tensor, k: int) -> Tensor:
    """The k newest keys, the query's own among them (Child et al. 2019, §4, "local")."""
    return distance(scores) < k


def window_and_first(scores: Tensor, k: int) -> Tensor:
    """A window, and the first key of the text, which all may ask (Beltagy et al. 2020, §3.1, "global")."""
    return window(scores, k) | (torch.arange(scores.size(-1)) == 0)


def strided(scores: Tensor, k: int) -> Tensor:
    """A window, and every k-th key before the query (Child et al. 2019, §4.3)."""
    return window(scores, k) | (distance(scores) % k == 0)


def top(scores: Tensor, k: int) -> Tensor:
    """The k largest scores of each row: they have to be computed to be known, so this saves no product of keys."""
    return scores >= scores.topk(min(k, scores.size(-1))).values[..., -1:]


PATTERNS: Mapping[str, Callable[[Tensor, int], Tensor]] = {
    "window": window,
    "window and first": window_and_first,
    "strided": strided,
    "top k": top,
}


def keeping(pattern: str, k: int) -> Tap:
    """The change of all scores of self-attention that hides what the pattern does not keep."""

    def change(name: str, value: Tensor) -> Tensor:
        if pattern == ALL or not SCORES.fullmatch(name):
            return value
        return value.masked_fill(~PATTERNS[pattern](value, k), -torch.inf)

    return change


@torch.inference_mode()
def read_sparsely(loaded: LoadedModel, text: str, pattern: str, k: int) -> Trace:
    """A text as `read_text` reads it, with the scores that a pattern keeps in all heads of all layers."""
    whole, recorder = read_text(loaded, text), Recorder(keeping(pattern, k))
    loaded.model(torch.tensor([whole.tgt_ids], device=loaded.device.torch), recorder)
    return with_losses(replace(whole, tensors=recorded(recorder)))


def figures(name: str) -> dict[str, Any]:
    """Perplexities of a test text, by pattern and k. Raises: CheckpointError, naming the file"""
    return published(name, FILE)
