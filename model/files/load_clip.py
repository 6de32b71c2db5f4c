"""The two towers, the pictures that belong to them, what people say of each, and a text sent through its tower."""

import csv
import functools
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from model.anatomy.describe import anatomy_of
from model.build_beyond_text import build_towers
from model.families.pictures import PictureConfig
from model.families.two_towers import TextTower, TowersConfig, TwoTowers, parts_of_texts, words_of
from model.files import checkpoint
from model.files.device import pick_device
from model.files.loaded_model import MODELS, Array, LoadedModel
from model.files.model_card import About
from model.tap import Recorder
from model.text.tokenizer import Token
from model.trace import Trace, frozen

NAME = "clip"
FOLDER = MODELS / NAME
VECTORS, PICTURES, EMOJI, METRICS = "vectors.safetensors", "pictures.safetensors", "emoji.tsv", "metrics.json"
TRAIN = "train"  # the part that the towers learned from
LoadedTexts = LoadedModel[TextTower, TowersConfig]
TextTrace = Trace[TextTower, TowersConfig]


@dataclass(frozen=True)
class Emoji:
    """name; learned: whether the towers were trained with its picture; words: all that people say of it"""

    name: str
    learned: bool
    words: frozenset[str]


def sizes_of(told: dict[str, Any]) -> TowersConfig:
    """The sizes that config.json tells."""
    return TowersConfig(**told | {"pictures": PictureConfig(**told["pictures"])})


@functools.cache
def load_towers(folder: Path = FOLDER) -> tuple[TwoTowers, TowersConfig]:
    """Both towers, ready to run, and their sizes. Raises: CheckpointError, naming the file and the repair"""
    sizes, weights = folder / checkpoint.CONFIG, folder / checkpoint.WEIGHTS
    try:
        config = sizes_of(json.loads(sizes.read_text()))
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise checkpoint.broken(sizes, error) from error
    network = build_towers(config)
    try:
        network.load_state_dict(checkpoint.load_weights(weights))
    except RuntimeError as error:
        raise checkpoint.broken(weights, error) from error
    return network.eval().requires_grad_(False).to(pick_device().torch), config


@functools.cache
def load_text_tower(folder: Path = FOLDER) -> LoadedTexts:
    """The tower that reads texts, alone. Its tokenizer is the translator's, and never asked.

    Raises: CheckpointError, naming the file and the repair
    """
    network, config = load_towers(folder)
    return LoadedModel(
        NAME, config, network.texts, checkpoint.load_tokenizer(), pick_device(), About(NAME),
        anatomy_of(network.texts),
    )  # fmt: skip


def temperature(folder: Path = FOLDER) -> float:
    """What the towers learned to divide cosines by. Raises: CheckpointError, naming the file and the repair"""
    return load_towers(folder)[0].temperature.item()


@functools.cache
def emoji(folder: Path = FOLDER) -> tuple[Emoji, ...]:
    """All of them, in the order of their vectors and pictures.

    Raises: CheckpointError, naming the file and the repair
    """
    try:
        with (folder / EMOJI).open(encoding="utf-8", newline="") as file:
            rows = [*csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
        return tuple(Emoji(name, split == TRAIN, frozenset(words.split())) for name, split, words in rows[1:])
    except (OSError, ValueError) as error:
        raise checkpoint.broken(folder / EMOJI, error) from error


@functools.cache
def known_words(often: int = 1, folder: Path = FOLDER) -> tuple[str, ...]:
    """Every word that was learned with at least so many pictures, from a to z.

    Raises: CheckpointError, naming the file and the repair
    """
    counts = Counter(word for one in emoji(folder) if one.learned for word in one.words)
    return tuple(sorted(word for word, n in counts.items() if n >= often))


@functools.cache
def picture_vectors(folder: Path = FOLDER) -> Array:
    """The vector of each picture, of length 1 (N,d_shared). Raises: CheckpointError, naming the file and the repair"""
    vectors: Array = _held(folder / VECTORS)["vectors"].float().numpy()
    return vectors


def picture_file(n: int, folder: Path = FOLDER) -> bytes:
    """A picture as the tower read it, as a PNG. Raises: CheckpointError, naming the file and the repair"""
    held = _held(folder / PICTURES)
    start, end = held["ends"][n : n + 2].tolist()
    return held["files"][start:end].numpy().tobytes()


@functools.cache
def _held(file: Path) -> dict[str, Tensor]:
    try:
        return load_file(file)
    except (OSError, SafetensorError) as error:
        raise checkpoint.broken(file, error) from error


@functools.cache
def clip_metrics(folder: Path = FOLDER) -> dict[str, Any]:
    """What was measured. Raises: CheckpointError, naming the file and the repair"""
    return checkpoint.read_figures(folder / METRICS)


@torch.inference_mode()
def trace_text(loaded: LoadedTexts, text: str) -> TextTrace:
    """Everything that the tower computes for a text; its rows are the words that it reads, by themselves."""
    recorder = Recorder()
    loaded.model(parts_of_texts([text], loaded.config.n_parts).to(loaded.device.torch), recorder)
    words = tuple(Token(n, word, n) for n, word in enumerate(words_of(text)))
    tensors = {name: frozen(value) for name, value in recorder.tensors.items()}
    return Trace(loaded, text, 0, words, (), (), MappingProxyType(tensors), (), "", finished=True)
