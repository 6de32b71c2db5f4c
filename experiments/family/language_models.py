"""What language models make of a text: the loss of every token, by a GPT and by the LSTM that stands beside it."""

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from experiments.training.losses import costs_of_all, with_losses
from model.families.recurrent_language_model import RecurrentLanguageModel
from model.files.checkpoint import read_figures
from model.files.load_special_models import load_lstm
from model.files.loaded_model import MODELS, Array, LoadedModel
from model.text.tokenizer import SOS_ID
from model.trace import Trace, trace

METRICS = "metrics.json"


def read_text(loaded: LoadedModel, text: str) -> Trace:
    """A decoder alone reads a text, all rows in one pass, with the loss of each token in nats; `<eos>` comes last.

    Source: Radford et al. 2018, §3.1, Eq. 1, for one text. Differs: the sum is not taken yet
    """
    return with_losses(trace(loaded, text, text))


@functools.cache
def lstm() -> RecurrentLanguageModel:
    """The LSTM that comes with the app. Raises: CheckpointError, naming the file and the repair"""
    return load_lstm()


@torch.inference_mode()
def lstm_losses(loaded: LoadedModel, ids: Sequence[int]) -> Array:
    """−ln P of each token (T), in nats, by the LSTM, which shares the vocabulary of `loaded`.

    Raises: CheckpointError, naming the file and the repair
    """
    tgt_ids = torch.tensor([[SOS_ID, *ids[:-1]]])
    logits = lstm()(tgt_ids)[0].numpy()
    return np.asarray(costs_of_all(logits)[np.arange(len(ids)), list(ids)])


def bits_per_byte(losses: Array, text: str) -> float:
    """The losses (T) of a text, in nats, as bits for each of its bytes."""
    return float(losses.sum()) / math.log(2) / len(text.encode())


def published(name: str, measured: str = METRICS) -> dict[str, Any]:
    """What was measured of a model, in a file of its folder. Raises: CheckpointError, naming the file"""
    return read_figures(MODELS / name / measured)
