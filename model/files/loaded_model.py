"""A model that is ready to run, by its name: network, tokenizer, device, anatomy, and what it is for."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Generic

import numpy as np
from numpy.typing import NDArray
from torch import nn
from typing_extensions import TypeVar

from model.anatomy.describe import anatomy_of
from model.anatomy.structure import Anatomy
from model.config import CHOICES, PRESETS, ModelConfig
from model.families.network import Network
from model.files import checkpoint
from model.files.device import Device, pick_device
from model.files.model_card import FILE, About, load_about
from model.text.tokenizer import Tokenizer

Array = NDArray[np.float32]

MODELS = checkpoint.PROJECT / "assets" / "models"
TRANSLATOR, UNTRAINED = "translator", "untrained"
AT = "@"  # between a model's name and a step of its training, as in "plain-1@400"; or UNTRAINED: random weights


AnyNetwork = TypeVar("AnyNetwork", bound=nn.Module, default=Network, covariant=True)
AnyConfig = TypeVar("AnyConfig", default=ModelConfig, covariant=True)


class UnknownModelError(ValueError):
    """A name that no model has; the message quotes it and lists those there are."""


@dataclass(frozen=True, eq=False)
class LoadedModel(Generic[AnyNetwork, AnyConfig]):
    """A model with all that belongs to it. Shared by all threads; two are equal only if they are the same object.

    `LoadedModel` alone is one of any family; `LoadedModel[Readers, ReadersConfig]` one of another kind.
    """

    name: str
    config: AnyConfig
    model: AnyNetwork
    tokenizer: Tokenizer
    device: Device
    about: About
    anatomy: Anatomy

    @cached_property
    def n_parameters(self) -> int:
        return sum(p.numel() for p in self.model.parameters())

    @property
    def nbytes(self) -> int:
        """Memory that the weights take, in bytes."""
        return sum(p.nbytes for p in self.model.parameters())

    @property
    def vocabulary_name(self) -> str:
        """The model whose folder holds the vocabulary: this one, or another that it shares it with."""
        return self.about.vocabulary_of or self.about.untrained_like or self.name.partition(AT)[0]

    @property
    def untrained_name(self) -> str:
        """The model that has this one's shape and random weights."""
        of = self.name.partition(AT)[0]
        return UNTRAINED if of in (TRANSLATOR, UNTRAINED) else f"{of}{AT}{UNTRAINED}"

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


def snapshot_steps(name: str, root: Path = MODELS) -> tuple[int, ...]:
    """The steps of a model's training whose weights come with it; a step is one more name, like "plain-1@400"."""
    return checkpoint.snapshot_steps(root / name) if name in model_names(root) else ()


def load_folder(
    folder: Path = checkpoint.SHIPPED, device: Device | None = None, step: int | None = None
) -> LoadedModel:
    """The trained model in a folder, ready to run; without an about.json its title is the folder's name.

    Args:   folder; device; step: of its training, to have the weights as they were then
    Raises: checkpoint.CheckpointError, naming the file and the repair
    """
    device, vocabulary = device or pick_device(), folder
    about = _about(folder) if (folder / FILE).exists() else About(folder.name)
    if about.vocabulary_of:
        vocabulary = folder.parent / about.vocabulary_of
        about = _with_words_of(vocabulary, about)
    name, weights_file = folder.name, checkpoint.WEIGHTS
    if step is not None:
        name, weights_file = f"{name}{AT}{step}", checkpoint.snapshot(step)
        about = replace(about, title=f"{about.title}, after {step:,} steps")
    model, tokenizer = checkpoint.load(folder, weights_file, vocabulary)
    config, network = checkpoint.load_config(folder), model.to(device.torch)
    return LoadedModel(name, config, network, tokenizer, device, about, anatomy_of(model))


def load_model(name: str = TRANSLATOR, root: Path = MODELS, device: Device | None = None) -> LoadedModel:
    """A model that comes with the app, by name, ready to run.

    Raises: UnknownModelError; checkpoint.CheckpointError, naming the file and the repair
    """
    of, at, step = name.partition(AT)
    if of not in (names := model_names(root)):
        raise UnknownModelError(f"There is no model named {of[:40]!r}; there are {', '.join(names)}.")
    about = _about(root / of)
    if step == UNTRAINED and not about.untrained_like:
        return _load_untrained(name, root / of, replace(about, title=f"{about.title}, untrained"), device)
    if at and step not in (steps := [str(n) for n in snapshot_steps(of, root)]):
        known = f"there are {', '.join(steps)}" if steps else "none of its steps are kept"
        raise UnknownModelError(f"There are no weights of {of} at step {step[:40]!r}; {known}.")
    if about.untrained_like:
        return _load_untrained(name, root / about.untrained_like, about, device)
    return load_folder(root / of, device, int(step) if at else None)


def _load_untrained(name: str, folder: Path, about: About, device: Device | None) -> LoadedModel:
    """A model like the one in a folder, with random weights."""
    like = load_folder(folder, device)
    network = checkpoint.load_untrained(folder, about.seed).to(like.device.torch)
    about = replace(like.about, title=about.title, untrained_like=folder.name, telling=None)
    return replace(like, name=name, model=network, about=about, anatomy=anatomy_of(network))


def _with_words_of(folder: Path, about: About) -> About:
    """The languages and sentences of the model in another folder, without what was found out about that one alone."""
    own = {name: getattr(about, name) for name in ("title", "vocabulary_of", "called", "unlike")}
    return replace(_about(folder), telling=None, **own)


def _about(folder: Path) -> About:
    try:
        about = load_about(folder)
        for other in filter(None, (about.untrained_like, about.vocabulary_of)):
            if other not in model_names(folder.parent):
                raise ValueError(f"there is no model named {str(other)[:40]!r}")
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise checkpoint.broken(folder / FILE, error) from error
    return about
