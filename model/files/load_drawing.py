"""The decoder that draws, its code book, and one row sent through it."""

import functools
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from model.anatomy.describe import anatomy_of
from model.families.drawing import WORDS
from model.files import checkpoint
from model.files.device import pick_device
from model.files.loaded_model import MODELS, LoadedModel
from model.files.model_card import About
from model.tap import Recorder
from model.text.tokenizer import Token
from model.trace import Trace, frozen

NAME = "drawing"
FOLDER = MODELS / NAME
CODES, METRICS = "codes.safetensors", "metrics.json"


@functools.cache
def load_drawing(folder: Path = FOLDER) -> LoadedModel:
    """Ready to run. Its tokenizer is the translator's, and never asked.

    Raises: CheckpointError, naming the file and the repair
    """
    network, tokenizer = checkpoint.load(folder, vocabulary=checkpoint.SHIPPED)
    device = pick_device()
    network = network.to(device.torch)
    return LoadedModel(
        NAME, checkpoint.load_config(folder), network, tokenizer, device, About(NAME), anatomy_of(network)
    )


@functools.cache
def code_book(folder: Path = FOLDER) -> Tensor:
    """(N_CODES,16), from paper to most ink. Raises: CheckpointError, naming the file and the repair"""
    try:
        return load_file(folder / CODES)["codes"]
    except (OSError, KeyError, SafetensorError) as error:
        raise checkpoint.broken(folder / CODES, error) from error


@functools.cache
def drawing_metrics(folder: Path = FOLDER) -> dict[str, Any]:
    """What was measured of it. Raises: CheckpointError, naming the file and the repair"""
    return checkpoint.read_figures(folder / METRICS)


@torch.inference_mode()
def trace_drawing(loaded: LoadedModel, ids: tuple[int, ...]) -> Trace:
    """Everything that it computes for a word and its picture, ids (50); its rows are the word and the patches before
    the last, by their numbers from 1; its labels those that come next.
    """
    recorder = Recorder()
    loaded.model(torch.tensor([ids[:-1]], device=loaded.device.torch), recorder)
    tensors = {tap: frozen(value) for tap, value in recorder.tensors.items()}
    row = tuple(Token(id, str(n) if n else WORDS[id], -1) for n, id in enumerate(ids))
    return Trace(loaded, row[0].text, 0, (), row[:-1], row[1:], MappingProxyType(tensors), (), "", True)
