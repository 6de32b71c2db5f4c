"""Two trained networks of the family that read no trace: an LSTM that writes texts, a decoder that reads numbers."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn

from model.build import build_in_context
from model.checkpoint import CONFIG, WEIGHTS, broken
from model.families.in_context import InContext, InContextConfig
from model.families.recurrent_language_model import RecurrentConfig, RecurrentLanguageModel
from model.loaded import MODELS

LSTM, IN_CONTEXT = "lstm", "in-context"  # folders of MODELS, without an about.json
AnyConfig = TypeVar("AnyConfig")
AnyNetwork = TypeVar("AnyNetwork", bound=nn.Module)


def load_lstm(folder: Path = MODELS / LSTM) -> RecurrentLanguageModel:
    """In evaluation mode, with fp32 weights; its vocabulary is gpt-mini's.

    Raises: CheckpointError, naming the file and the repair
    """
    return _filled(folder, RecurrentLanguageModel(_config(folder, RecurrentConfig)))


def load_in_context(folder: Path = MODELS / IN_CONTEXT) -> tuple[InContext, InContextConfig]:
    """In evaluation mode, with fp32 weights; and its sizes.

    Raises: CheckpointError, naming the file and the repair
    """
    config = _config(folder, InContextConfig)
    return _filled(folder, build_in_context(config)), config


def _config(folder: Path, kind: Callable[..., AnyConfig]) -> AnyConfig:
    try:
        return kind(**json.loads((folder / CONFIG).read_text()))
    except (OSError, ValueError, TypeError) as error:
        raise broken(folder / CONFIG, error) from error


def _filled(folder: Path, network: AnyNetwork) -> AnyNetwork:
    try:
        network.load_state_dict({name: w.float() for name, w in load_file(folder / WEIGHTS).items()})
    except (OSError, SafetensorError, RuntimeError) as error:
        raise broken(folder / WEIGHTS, error) from error
    return network.eval().requires_grad_(False)
