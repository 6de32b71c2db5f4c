"""The readers of digits, the digits that come with them, and one picture sent through one of them."""

import functools
import json
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn

from model.anatomy.describe import anatomy_of
from model.build_beyond_text import build_swin, build_vision
from model.families.pictures import ConvolutionalNetwork, PictureConfig, Swin, SwinConfig, VisionTransformer
from model.files import checkpoint
from model.files.device import pick_device
from model.files.loaded_model import MODELS, Array, LoadedModel
from model.files.model_card import About
from model.interventions import NOTHING, Interventions
from model.tap import Recorder
from model.text.tokenizer import Token
from model.trace import Trace, frozen

FOLDER = MODELS / "pictures"
VIT, CNN, SWIN = "vit", "cnn", "swin"
SIZES = (8000, 500)  # digits that each of the first two kinds learns from; the third learns from the larger number
NAMES = tuple(f"{kind}-{n}" for n in SIZES for kind in (VIT, CNN))
IN_WINDOWS = f"{SWIN}-{SIZES[0]}"
CONFIGS = {VIT: PictureConfig(), CNN: PictureConfig(), SWIN: SwinConfig()}
METRICS, SAMPLES = "metrics.json", "samples.safetensors"
CLASS = "[class]"
LoadedVision = LoadedModel[VisionTransformer, PictureConfig]
VisionTrace = Trace[VisionTransformer, PictureConfig]
LoadedSwin = LoadedModel[Swin, SwinConfig]
SwinTrace = Trace[Swin, SwinConfig]
AnyReader = TypeVar("AnyReader", bound=VisionTransformer | Swin)
AnySizes = TypeVar("AnySizes", bound=PictureConfig)


def kind_of(name: str) -> str:
    """The kind that a name begins with, as in "vit-500"."""
    return name.partition("-")[0]


def new_reader(name: str, config: PictureConfig) -> nn.Module:
    """With random weights."""
    if isinstance(config, SwinConfig):
        return build_swin(config)
    return build_vision(config) if kind_of(name) == VIT else ConvolutionalNetwork(config.n_classes)


def config_file(kind: str) -> str:
    """The file with the sizes of a kind; the first two share one."""
    return f"{kind}.json" if isinstance(CONFIGS[kind], SwinConfig) else checkpoint.CONFIG


@functools.cache
def load_reader(name: str, folder: Path = FOLDER, config: PictureConfig | None = None) -> nn.Module:
    """One of NAMES or IN_WINDOWS, ready to run. Raises: CheckpointError, naming the file and the repair

    config: by default the one that it was trained with
    """
    file = folder / f"{name}.safetensors"
    network = new_reader(name, config or _config(folder, kind_of(name)))
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
    return _loaded(f"{VIT}-{n}", VisionTransformer, _config(folder, VIT), folder)


@functools.cache
def load_swin(shifts: bool = True, folder: Path = FOLDER) -> LoadedSwin:
    """The Swin Transformer; or the same weights in one whose windows stay. Otherwise as `load_vision`."""
    config = _config(folder, SWIN)
    assert isinstance(config, SwinConfig)
    return _loaded(IN_WINDOWS, Swin, config if shifts else replace(config, shift=0), folder)


def _loaded(name: str, network_of: type[AnyReader], config: AnySizes, folder: Path) -> LoadedModel[AnyReader, AnySizes]:
    network = load_reader(name, folder, config)
    assert isinstance(network, network_of)
    tokenizer, device = checkpoint.load_tokenizer(), pick_device()
    return LoadedModel(name, config, network, tokenizer, device, About(name), anatomy_of(network))


def _config(folder: Path, kind: str) -> PictureConfig:
    file = folder / config_file(kind)
    try:
        return type(CONFIGS[kind])(**json.loads(file.read_text()))
    except (OSError, ValueError, TypeError) as error:
        raise checkpoint.broken(file, error) from error


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
def trace_picture(
    loaded: LoadedModel[AnyReader, AnySizes], picture: Array, interventions: Interventions = NOTHING
) -> Trace[AnyReader, AnySizes]:
    """Everything that a reader computes for a picture (size,size). Its rows are the patches, row by row, of a Vision
    Transformer after [class]; its one label is the class that it names. A patch of a Vision Transformer, counted from
    1, may be blocked: nobody looks at it.

    Raises: InterventionError where a change does not fit
    """
    before = [Token(0, CLASS, -1)] * ("encoder.embedding.with_class" in loaded.anatomy.tensors)
    rows = (*before, *(Token(n, str(n), n) for n in range(1, 1 + loaded.config.n_patches)))
    interventions.check(loaded.anatomy, len(rows))
    recorder = Recorder(interventions.compile(loaded.anatomy))
    logits = loaded.model(torch.from_numpy(picture)[None].to(loaded.device.torch), recorder)
    named = int(logits[0].argmax())
    tensors = {name: frozen(value) for name, value in recorder.tensors.items()}
    label = (Token(named, str(named), 0),)
    return Trace(loaded, "a picture", 0, rows, (), label, MappingProxyType(tensors), (), str(named), True)
