"""The readers of digits, the digits that come with them, and one picture sent through one of them."""

import functools
import json
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn

from model.anatomy.describe import anatomy_of
from model.build import build_vision
from model.families.pictures import ConvolutionalNetwork, PictureConfig, VisionTransformer
from model.files import checkpoint
from model.files.device import pick_device
from model.files.loaded_model import MODELS, Array, LoadedModel
from model.files.model_card import About
from model.interventions import NOTHING, Interventions
from model.tap import Recorder
from model.text.tokenizer import Token
from model.trace import Trace

FOLDER = MODELS / "pictures"
VIT, CNN = "vit", "cnn"
SIZES = (8000, 500)  # digits that each kind learned from
NAMES = tuple(f"{kind}-{n}" for n in SIZES for kind in (VIT, CNN))
METRICS, SAMPLES = "metrics.json", "samples.safetensors"
CLASS = "[class]"
LoadedVision = LoadedModel[VisionTransformer, PictureConfig]
VisionTrace = Trace[VisionTransformer, PictureConfig]


def new_reader(name: str, config: PictureConfig) -> nn.Module:
    """With random weights; a name begins with its kind, as in "vit-500"."""
    return build_vision(config) if name.startswith(VIT) else ConvolutionalNetwork(config.n_classes)


@functools.cache
def load_reader(name: str, folder: Path = FOLDER) -> nn.Module:
    """One of NAMES, ready to run. Raises: CheckpointError, naming the file and the repair"""
    file = folder / f"{name}.safetensors"
    network = new_reader(name, _config(folder))
    try:
        network.load_state_dict(checkpoint.load_weights(file))
    except RuntimeError as error:
        raise checkpoint.broken(file, error) from error
    return network.eval().requires_grad_(False).to(pick_device().torch)


@functools.cache
def load_vision(n: int = SIZES[0], folder: Path = FOLDER) -> LoadedVision:
    """The Vision Transformer that learned from n digits. Its tokenizer is the translator's, and never asked.

    Raises: CheckpointError, naming the file and the repair
    """
    name = f"{VIT}-{n}"
    network = load_reader(name, folder)
    assert isinstance(network, VisionTransformer)
    tokenizer, device = checkpoint.load_tokenizer(), pick_device()
    return LoadedModel(name, _config(folder), network, tokenizer, device, About(name), anatomy_of(network))


def _config(folder: Path) -> PictureConfig:
    try:
        return PictureConfig(**json.loads((folder / checkpoint.CONFIG).read_text()))
    except (OSError, ValueError, TypeError) as error:
        raise checkpoint.broken(folder / checkpoint.CONFIG, error) from error


@functools.cache
def picture_metrics(folder: Path = FOLDER) -> dict[str, Any]:
    """What was measured of the readers. Raises: CheckpointError, naming the file and the repair"""
    return checkpoint.read_figures(folder / METRICS)


@functools.cache
def samples(folder: Path = FOLDER) -> tuple[Array, Array]:
    """Digits that no reader learned from, (N,28,28) from 0 to 1, and what they are (N): one of each, then all of the
    test part that the larger Vision Transformer reads wrong.

    Raises: CheckpointError, naming the file and the repair
    """
    try:
        held = load_file(folder / SAMPLES)
        return held["pictures"].float().div(255).numpy(), held["labels"].numpy()
    except (OSError, KeyError, SafetensorError) as error:
        raise checkpoint.broken(folder / SAMPLES, error) from error


@torch.inference_mode()
def trace_picture(loaded: LoadedVision, picture: Array, interventions: Interventions = NOTHING) -> VisionTrace:
    """Everything that a Vision Transformer computes for a picture (size,size). Its rows are [class] and the patches,
    row by row; its one label is the class that it names. A patch, counted from 1, may be blocked: nobody looks at it.

    Raises: InterventionError where a change does not fit
    """
    interventions.check(loaded.anatomy, 1 + loaded.config.n_patches)
    recorder = Recorder(interventions.compile(loaded.anatomy))
    logits = loaded.model(torch.from_numpy(picture)[None].to(loaded.device.torch), recorder)
    named = int(logits[0].argmax())
    tensors = {}
    for name, value in recorder.tensors.items():
        tensors[name] = (value[0] if value.dim() > 2 else value).cpu().numpy()
        tensors[name].setflags(write=False)
    rows = (Token(0, CLASS, -1), *(Token(n, str(n), n) for n in range(1, 1 + loaded.config.n_patches)))
    label = (Token(named, str(named), 0),)
    return Trace(loaded, "a picture", 0, rows, (), label, MappingProxyType(tensors), (), str(named), True)
