"""A model that is ready to run, by its name: network, tokenizer, device, anatomy, and what it is for."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from model import checkpoint
from model.about import FILE, About, load_about
from model.anatomy import Anatomy
from model.config import CHOICES, PRESETS, ModelConfig
from model.describe import anatomy_of
from model.device import Device, pick_device
from model.families.encoder_decoder import EncoderDecoder
from model.tokenizer import Tokenizer

Array = NDArray[np.float32]

MODELS = checkpoint.PROJECT / "assets" / "models"
TRANSLATOR, UNTRAINED = "translator", "untrained"


class UnknownModelError(ValueError):
    """A name that no model has; the message quotes it and lists those there are."""


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model with all that belongs to it. Shared by all threads; two are equal only if they are the same object."""

    name: str
    config: ModelConfig
    model: EncoderDecoder
    tokenizer: Tokenizer
    device: Device
    about: About
    anatomy: Anatomy

    @property
    def n_parameters(self) -> int:
        return sum(p.numel() for p in self.model.parameters())

    @property
    def nbytes(self) -> int:
        """Memory that the weights take, in bytes."""
        return sum(p.nbytes for p in self.model.parameters())

    @cached_property
    def weights(self) -> Mapping[str, Array]:
        """The learned parameters by name, as read-only arrays; torch keeps a linear layer's W transposed, (out, in)."""
        arrays = {name: w.cpu().numpy() for name, w in self.model.state_dict().items()}
        for array in arrays.values():
            array.setflags(write=False)
        return MappingProxyType(arrays)


def model_names(root: Path = MODELS) -> tuple[str, ...]:
    """Names of the models that come with the app: its folders with an about.json."""
    return tuple(sorted(path.parent.name for path in root.glob(f"*/{FILE}")))


def sibling_names(root: Path = MODELS) -> tuple[str, ...]:
    """Names of the small models that were trained alike and differ in their parts alone (`training.siblings`).

    Raises: checkpoint.CheckpointError, naming the file and the repair
    """
    plain = {part: kinds[0] for part, kinds in CHOICES.items()}
    return tuple(
        name
        for name in model_names(root)
        if (root / name / checkpoint.CONFIG).exists()
        and replace(checkpoint.load_config(root / name), **plain) == PRESETS["sibling"]  # type: ignore[arg-type]
    )


def load_folder(folder: Path = checkpoint.SHIPPED, device: Device | None = None) -> LoadedModel:
    """The trained model in a folder, ready to run; without an about.json its title is the folder's name.

    Raises: checkpoint.CheckpointError, naming the file and the repair
    """
    device = device or pick_device()
    model, tokenizer = checkpoint.load(folder)
    about = _about(folder) if (folder / FILE).exists() else About(folder.name)
    config, network = checkpoint.load_config(folder), model.to(device.torch)
    return LoadedModel(folder.name, config, network, tokenizer, device, about, anatomy_of(model))


def load_model(name: str = TRANSLATOR, root: Path = MODELS, device: Device | None = None) -> LoadedModel:
    """A model that comes with the app, by name, ready to run.

    Raises: UnknownModelError; checkpoint.CheckpointError, naming the file and the repair
    """
    if name not in (names := model_names(root)):
        raise UnknownModelError(f"There is no model named {name[:40]!r}; there are {', '.join(names)}.")
    about = _about(root / name)
    if not about.untrained_like:
        return load_folder(root / name, device)
    folder = root / about.untrained_like
    model, tokenizer = checkpoint.load_untrained(folder, about.seed), checkpoint.load_tokenizer(folder)
    about = replace(_about(folder), title=about.title, untrained_like=about.untrained_like, telling=None)
    device = device or pick_device()
    config, network = checkpoint.load_config(folder), model.to(device.torch)
    return LoadedModel(name, config, network, tokenizer, device, about, anatomy_of(model))


def _about(folder: Path) -> About:
    try:
        return load_about(folder)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise checkpoint.broken(folder / FILE, error) from error
