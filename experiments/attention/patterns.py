"""A trained model that may ask fewer pairs: which scores are kept, and what it then makes of a text."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from experiments.family.language_models import published
from experiments.passes import Ids, recorded
from experiments.training.losses import with_losses
from model.anatomy.structure import Anatomy
from model.decoding.strategies import Greedy, NextToken, decoding_steps
from model.files.loaded_model import Array, LoadedModel
from model.interventions import Interventions
from model.tap import Recorder, Tap
from model.text.tokenizer import EOS_ID, SOS_ID
from model.trace import Trace, trace

ALL, TRAINED = "all pairs", "trained so"
FILE = "patterns.json"  # in the model's folder: perplexity of a test text by pattern and k
SIZES = (64, 32, 16, 8, 4, 2, 1)  # k, keys a query keeps
SCORES = re.compile(r".*\.self_attn\.(scores|weights)")
LONGER = 10  # pieces that a translation may have more than with all pairs
Pairs = frozenset[tuple[int, int]]  # a query and a key, by position
NOTHING: Pairs = frozenset()


def distance(scores: Tensor) -> Tensor:
    """(T,S): how many positions a key stands before its query, one of the newest T of S; below 0 behind it."""
    n_queries, n_keys = scores.shape[-2:]
    key = torch.arange(n_keys, device=scores.device)
    return key[n_keys - n_queries :, None] - key


def window(scores: Tensor, k: int) -> Tensor:
    """Keys fewer than k positions away, the query's own among them (Child et al. 2019, §4, "local")."""
    return distance(scores).abs() < k


def window_and_first(scores: Tensor, k: int) -> Tensor:
    """A window, and the first key of the text, which all may ask (Beltagy et al. 2020, §3.1, "global")."""
    return window(scores, k) | (torch.arange(scores.size(-1), device=scores.device) == 0)


def strided(scores: Tensor, k: int) -> Tensor:
    """A window, and every k-th key, counted from the query (Child et al. 2019, §4.3)."""
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


def keeping(pattern: str, k: int, hidden: Pairs = NOTHING) -> Tap:
    """The change of all self-attention that hides what the pattern does not keep, and some pairs in all heads.

    A query that may ask nobody gets zeros, as in `windowed_attention`: a softmax of −∞ alone is no number.
    """

    def change(name: str, value: Tensor) -> Tensor:
        found = SCORES.fullmatch(name)
        if found and found[1] == "weights":
            return value.nan_to_num(0.0) if hidden else value
        if found and pattern != ALL:
            value = value.masked_fill(~PATTERNS[pattern](value, k), -torch.inf)
        if found and hidden:
            rows, columns = zip(*hidden, strict=True)
            value = value.clone()
            value[..., rows, columns] = -torch.inf
        return value

    return change


@dataclass(frozen=True)
class FewerPairs(Interventions):
    """The change that `keeping` makes, as what a trace can be made under."""

    pattern: str = ALL
    k: int = 0
    hidden: Pairs = NOTHING

    def compile(self, anatomy: Anatomy) -> Tap:
        return keeping(self.pattern, self.k, self.hidden)


def read_sparsely(loaded: LoadedModel, text: str, pattern: str, k: int, hidden: Pairs = NOTHING) -> Trace:
    """A text as `read_text` reads it, with the scores that `keeping` leaves in all heads of all layers."""
    return with_losses(trace(loaded, text, text, interventions=FewerPairs(pattern=pattern, k=k, hidden=hidden)))


@dataclass(frozen=True)
class Cost:
    """What fewer pairs cost a text, as a decoder alone reads it.

    weights: (T,T) of the last layer, its heads averaged; left: pairs of its first head that are not hidden
    perplexity: of the text's pieces, without `<eos>`
    """

    weights: Array
    left: int
    perplexity: float


@torch.inference_mode()
def cost(loaded: LoadedModel, labels: Ids, pattern: str, k: int) -> Cost:
    """labels: ids of a text, and `<eos>`"""
    change, path, last = keeping(pattern, k), loaded.anatomy.attentions["decoder"][-1].path, {}

    def tap(name: str, value: Tensor) -> Tensor:
        value = change(name, value)
        if name.startswith(path):
            last[name] = value
        return value

    logits = loaded.model(torch.tensor([[SOS_ID, *labels[:-1]]], device=loaded.device.torch), tap)[0, :-1]
    losses = nn.functional.cross_entropy(logits.cpu().double(), torch.tensor(labels[:-1]))
    left = last[f"{path}.scores"][0, 0].isfinite().sum()
    return Cost(last[f"{path}.weights"][0].mean(0).cpu().numpy(), int(left), math.exp(float(losses)))


@torch.inference_mode()
def translate_sparsely(
    loaded: LoadedModel, src: Ids, labels: Ids, pattern: str, k: int, hidden: Pairs = NOTHING
) -> tuple[Mapping[str, Array], Ids]:
    """A sentence and its first translation, read with the pairs that a pattern keeps in all self-attentions.

    Args:    src, labels: ids, the first of all pairs; hidden: pairs that the encoder does without, too
    Returns: every value of that reading; the ids of what is written so
    """
    recorder, device = Recorder(keeping(pattern, k, hidden)), loaded.device.torch
    memory = loaded.model.encode(torch.tensor([src], device=device), recorder)
    recorder.change = keeping(pattern, k)
    logits = loaded.model.decode(torch.tensor([[SOS_ID, *labels[:-1]]], device=device), memory, tap=recorder)
    if labels[-1] == EOS_ID and tuple(logits[0].argmax(-1).tolist()) == labels:
        return recorded(recorder), labels  # what is still the likeliest everywhere is what is written
    # A row's pairs are the same at every step: what the cache keeps stays true.
    next_token = NextToken(loaded.model, memory, recorder.change, cached=True)
    *_, last = decoding_steps(next_token, Greedy(len(labels) + LONGER))
    return recorded(recorder), last.best.ids


def figures(name: str) -> dict[str, Any]:
    """Perplexities of a test text, by pattern and k. Raises: CheckpointError, naming the file"""
    return published(name, FILE)
