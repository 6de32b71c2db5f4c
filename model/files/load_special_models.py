"""Two trained networks of the family that read no trace: an LSTM that writes texts, a decoder that reads numbers."""

import functools
import json
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from model.anatomy.describe import anatomy_of
from model.build import build_in_context
from model.families.in_context import InContext, InContextConfig
from model.families.recurrent_language_model import RecurrentConfig, RecurrentLanguageModel
from model.files.checkpoint import CONFIG, WEIGHTS, broken, load_tokenizer, read_figures
from model.files.device import pick_device
from model.files.loaded_model import MODELS, LoadedModel
from model.files.model_card import About
from model.tap import Recorder
from model.trace import Trace

METRICS = "metrics.json"
LSTM, IN_CONTEXT = "lstm", "in-context"  # folders of MODELS, without an about.json
AnyConfig = TypeVar("AnyConfig")
AnyNetwork = TypeVar("AnyNetwork", bound=nn.Module)
LoadedInContext = LoadedModel[InContext, InContextConfig]


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


@functools.cache
def loaded_in_context(folder: Path = MODELS / IN_CONTEXT) -> LoadedInContext:
    """The model of in-context regression with its anatomy, ready to run. It reads no text: its tokenizer is the
    translator's and never asked.

    Raises: CheckpointError, naming the file and the repair
    """
    network, config = load_in_context(folder)
    device = pick_device()
    network = network.to(device.torch)
    return LoadedModel(IN_CONTEXT, config, network, load_tokenizer(), device, About(IN_CONTEXT), anatomy_of(network))


@torch.inference_mode()
def trace_prompt(loaded: LoadedInContext, x: Tensor, y: Tensor, name: str) -> Trace[InContext, InContextConfig]:
    """Everything that the model of in-context regression computes for one prompt.

    Args:    loaded: by `loaded_in_context`; x (N,d_in); y (N), the last of which is not read; name: of the prompt
    Returns: a trace without tokens: its rows stand for x₁, y₁, x₂, y₂ …
    """
    recorder = Recorder()
    loaded.model(x[None].to(loaded.device.torch), y[None].to(loaded.device.torch), recorder)
    tensors = {
        tap: (value[0] if value.dim() > 2 or tap == "guesses" else value).cpu().numpy()
        for tap, value in recorder.tensors.items()
    }
    return Trace(loaded, name, 0, (), (), (), MappingProxyType(tensors), (), "", True)


@functools.cache
def in_context_metrics(folder: Path = MODELS / IN_CONTEXT) -> dict[str, Any]:
    """What was measured of it after its training, and how it was trained: "test" and "training".

    Raises: CheckpointError, naming the file and the repair
    """
    return read_figures(folder / METRICS)


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
