"""The readers of spoken digits, recordings that come with them, and one recording sent through one of them."""

import functools
import json
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from model.anatomy.describe import anatomy_of
from model.build_beyond_text import build_sound, build_strips
from model.families.sounds import SoundConfig, SpectrogramTransformer, StripReader
from model.files import checkpoint
from model.files.device import pick_device
from model.files.loaded_model import MODELS, Array, LoadedModel
from model.files.model_card import About
from model.interventions import NOTHING, Interventions
from model.sound.ctc import BLANK, collapsed
from model.sound.spectrogram import PITCHES
from model.tap import Recorder
from model.text.tokenizer import Token
from model.trace import Trace, frozen

FOLDER = MODELS / "sounds"
VOICES, NEW_VOICE, JOINED = NAMES = ("voices", "new-voice", "joined")
CONFIGS = {
    VOICES: SoundConfig(),  # a second of sound
    NEW_VOICE: SoundConfig(),
    JOINED: SoundConfig(frames=320, high=PITCHES, wide=4),  # strips of 64 ms, up to five seconds
}
METRICS, SAMPLES = "metrics.json", "samples.safetensors"
FIRST_ROWS = ("[class]", "[distilled]")
LoadedSound = LoadedModel[SpectrogramTransformer, SoundConfig]
LoadedStrips = LoadedModel[StripReader, SoundConfig]
SoundTrace = Trace[SpectrogramTransformer, SoundConfig]
StripTrace = Trace[StripReader, SoundConfig]
AnyReader = TypeVar("AnyReader", bound=SpectrogramTransformer | StripReader)


def new_reader(name: str, config: SoundConfig) -> SpectrogramTransformer | StripReader:
    """With random weights."""
    return build_strips(config) if name == JOINED else build_sound(config)


def config_file(name: str) -> str:
    """The file with its sizes; the first two share one."""
    return "joined.config.json" if name == JOINED else checkpoint.CONFIG


@functools.cache
def load_reader(name: str, folder: Path = FOLDER) -> SpectrogramTransformer | StripReader:
    """One of NAMES, ready to run. Raises: CheckpointError, naming the file and the repair"""
    file = folder / f"{name}.safetensors"
    network = new_reader(name, _config(name, folder))
    try:
        network.load_state_dict(checkpoint.load_weights(file))
    except RuntimeError as error:
        raise checkpoint.broken(file, error) from error
    return network.eval().requires_grad_(False).to(pick_device().torch)


@functools.cache
def load_sound(name: str = VOICES, folder: Path = FOLDER) -> LoadedSound:
    """A reader that names one digit. Its tokenizer is the translator's, and never asked.

    Raises: CheckpointError, naming the file and the repair
    """
    return _loaded(name, SpectrogramTransformer, folder)


@functools.cache
def load_strips(folder: Path = FOLDER) -> LoadedStrips:
    """The reader of digits in a row. Otherwise as `load_sound`."""
    return _loaded(JOINED, StripReader, folder)


def _loaded(name: str, network_of: type[AnyReader], folder: Path) -> LoadedModel[AnyReader, SoundConfig]:
    network = load_reader(name, folder)
    assert isinstance(network, network_of)
    tokenizer, device = checkpoint.load_tokenizer(), pick_device()
    return LoadedModel(name, _config(name, folder), network, tokenizer, device, About(name), anatomy_of(network))


def _config(name: str, folder: Path) -> SoundConfig:
    file = folder / config_file(name)
    try:
        return SoundConfig(**json.loads(file.read_text()))
    except (OSError, ValueError, TypeError) as error:
        raise checkpoint.broken(file, error) from error


@functools.cache
def sound_metrics(folder: Path = FOLDER) -> dict[str, Any]:
    """What was measured of the readers. Raises: CheckpointError, naming the file and the repair"""
    return checkpoint.read_figures(folder / METRICS)


@functools.cache
def samples(folder: Path = FOLDER) -> tuple[tuple[Array, ...], ...]:
    """Recordings that no reader learned from, (n) from −1 to 1: of each voice ten, that of digit d at place d.

    Raises: CheckpointError, naming the file and the repair
    """
    try:
        held = load_file(folder / SAMPLES)
        waves = [wave.numpy() for wave in held["waves"].float().div(32767).tensor_split(held["ends"][:-1])]
        return tuple(tuple(waves[at : at + 10]) for at in range(0, len(waves), 10))
    except (OSError, KeyError, SafetensorError) as error:
        raise checkpoint.broken(folder / SAMPLES, error) from error


@torch.inference_mode()
def trace_sound(loaded: LoadedSound, spectrogram: Array, interventions: Interventions = NOTHING) -> SoundTrace:
    """Everything that a reader computes for a spectrogram (pitches,frames). Its rows are two learned ones, then the
    patches, row by row; its one label is the class that it names.

    Raises: InterventionError where a change does not fit
    """
    n_patches = loaded.config.n_patches
    rows = (*(Token(0, name, -1) for name in FIRST_ROWS), *(Token(n, f"{n}", n) for n in range(1, 1 + n_patches)))
    tensors = _recorded(loaded, spectrogram, rows, interventions)
    named = int(tensors["logits"][0].argmax())
    label = (Token(named, f"{named}", 0),)
    return Trace(loaded, "a sound", 0, rows, (), label, tensors, (), f"{named}", True)


@torch.inference_mode()
def trace_strips(loaded: LoadedStrips, spectrogram: Array, interventions: Interventions = NOTHING) -> StripTrace:
    """As `trace_sound`, of a spectrogram of any number of strips (pitches,frames). Its rows are the strips; its labels
    what each says: "–" for nothing new, or a digit; its translation the digits that are heard.

    Raises: InterventionError where a change does not fit
    """
    n_strips = spectrogram.shape[1] // loaded.config.wide
    rows = tuple(Token(n, f"{n}", n) for n in range(1, 1 + n_strips))
    tensors = _recorded(loaded, spectrogram, rows, interventions)
    path = tensors["logits"].argmax(-1).tolist()
    labels = tuple(Token(one, "–" if one == BLANK else f"{one - 1}", n) for n, one in enumerate(path))
    heard = " ".join(map(str, collapsed(path)))
    return Trace(loaded, "a sound", 0, rows, (), labels, tensors, (), heard, True)


def _recorded(
    loaded: LoadedModel[AnyReader, SoundConfig], spectrogram: Array, rows: tuple[Token, ...], changes: Interventions
) -> MappingProxyType[str, Array]:
    """What is tapped, without its batch axis, read-only."""
    changes.check(loaded.anatomy, len(rows))
    recorder = Recorder(changes.compile(loaded.anatomy))
    loaded.model(torch.from_numpy(spectrogram)[None].to(loaded.device.torch), tap=recorder)
    return MappingProxyType({name: frozen(value) for name, value in recorder.tensors.items()})
