"""Filling in blanks: what an encoder guesses from both sides, and a decoder from the left alone."""

import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from model.files.loaded_model import LoadedModel
from model.text.tokenizer import CLS_ID, MASK_ID, SEP_ID, SOS_ID

SHARES = (5, 10, 15, 20, 30, 40, 50, 60)  # percent of the pieces that are hidden
DRAWS = 24  # of which pieces, for each share
PASSES = 40  # of which the fastest counts: others may use the machine, too

Ids = tuple[int, ...]


@torch.inference_mode()
def left_alone(loaded: LoadedModel, ids: Ids) -> np.ndarray:
    """The probability of every entry (V) behind these tokens, by a decoder alone."""
    tgt_ids = torch.tensor([[SOS_ID, *ids]], device=loaded.device.torch)
    return loaded.model(tgt_ids)[0, -1].cpu().double().softmax(-1).numpy()


@torch.inference_mode()
def without_each(
    loaded: LoadedModel, ids: Ids, hidden: Ids, at: int, groups: tuple[Ids, ...]
) -> tuple[tuple[float, ...], float]:
    """How likely an encoder alone finds the right token at a blank, each of some other groups hidden as well.

    Args:    ids: of the text, without its marks; hidden: the places of all blanks; at: of the one looked at; groups: of
             places
    Returns: its probability for each group; and with no group hidden
    """
    rows = np.array([[CLS_ID, *ids, SEP_ID]] * (len(groups) + 1))
    for row, group in zip(rows, (*groups, ()), strict=True):
        row[[place + 1 for place in (*hidden, *group)]] = MASK_ID
    *each, none = (float(chances[ids[at]]) for chances in _guesses(loaded, rows, np.full(len(rows), at + 1)))
    return tuple(each), none


@torch.inference_mode()
def each_hidden(loaded: LoadedModel, ids: Ids, groups: tuple[Ids, ...]) -> np.ndarray:
    """What an encoder alone says of each of some groups of places, that group alone hidden.

    Args:    ids: of the text, without its marks; groups: of places
    Returns: the logits (N,V) at the first place of each of the N groups
    """
    rows = np.array([[CLS_ID, *ids, SEP_ID]] * len(groups))
    for row, group in zip(rows, groups, strict=True):
        row[[place + 1 for place in group]] = MASK_ID
    return _logits(loaded, rows, np.array([group[0] + 1 for group in groups])).cpu().numpy()


def _guesses(loaded: LoadedModel, rows: np.ndarray, at: np.ndarray) -> Tensor:
    """The probability of every entry (N,V) at one place of each row (N,S)."""
    return _logits(loaded, rows, at).cpu().double().softmax(-1)


def _logits(loaded: LoadedModel, rows: np.ndarray, at: np.ndarray) -> Tensor:
    """Of every entry (N,V) at one place of each row (N,S)."""
    src_ids, asked = torch.from_numpy(rows), torch.zeros(rows.shape, dtype=torch.bool)
    asked[torch.arange(len(rows)), torch.from_numpy(at)] = True
    device = loaded.device.torch
    return loaded.model(src_ids.to(device), None, asked.to(device))[0]


@dataclass(frozen=True)
class Hiding:
    """What guessing costs when some share of a text is hidden. loss: mean of −ln P; pieces: mean count in a draw"""

    loss: float
    pieces: float


def loss_by_share(loaded: LoadedModel, ids: Ids) -> Generator[float, None, Mapping[int, Hiding]]:
    """The loss of an encoder alone on a text (its ids without marks) of which each of SHARES is hidden.

    Every token is drawn by itself, in DRAWS draws; where a draw hides nothing, one token is hidden.

    Yields:  how far it has come, from 0 to 1
    Returns: by share in percent
    """
    found, random = {}, np.random.default_rng(0)
    for done, share in enumerate(SHARES):
        yield done / len(SHARES)
        found[share] = _hiding(loaded, ids, random.random((DRAWS, len(ids))), share / 100)
    return found


@torch.inference_mode()
def _hiding(loaded: LoadedModel, ids: Sequence[int], drawn: np.ndarray, share: float) -> Hiding:
    hidden = drawn < np.maximum(share, drawn.min(1, keepdims=True) + 1e-12)
    src_ids = np.tile([CLS_ID, *ids, SEP_ID], (len(drawn), 1))
    asked = np.pad(hidden, ((0, 0), (1, 1)))
    right = torch.from_numpy(src_ids[asked])
    src_ids[asked] = MASK_ID
    device = loaded.device.torch
    logits, _ = loaded.model(torch.from_numpy(src_ids).to(device), None, torch.from_numpy(asked).to(device))
    loss = torch.nn.functional.cross_entropy(logits.cpu().double(), right)
    return Hiding(float(loss), float(hidden.sum(1).mean()))


@torch.inference_mode()
def reading_times(models: Sequence[LoadedModel], ids: Ids, rows: int = 1) -> Generator[float, None, tuple[float, ...]]:
    """Seconds that each of some encoders takes to read a text, its marks among the ids, and to guess its first token;
    they take turns.

    Args:    rows: how many times it stands in one batch
    Yields:  how far it has come, from 0 to 1
    Returns: the fastest of PASSES, of each
    """
    times: list[list[float]] = [[] for _ in models]
    asked = torch.zeros((rows, len(ids)), dtype=torch.bool)
    asked[:, 1] = True
    for done in range(PASSES):
        yield done / PASSES
        for loaded, taken in zip(models, times, strict=True):
            src_ids, places = (one.to(loaded.device.torch) for one in (torch.tensor([ids] * rows), asked))
            start = time.perf_counter()
            loaded.model(src_ids, None, places)[0][0, 0].item()  # a pass ends when its numbers are there
            taken.append(time.perf_counter() - start)
    return tuple(map(min, times))
