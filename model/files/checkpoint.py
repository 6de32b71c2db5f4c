"""A model on disk: config.json, tokenizer.json and fp16 weights in safetensors. No pickle anywhere."""

import dataclasses
import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch.nn import init
from torch.overrides import TorchFunctionMode

from model.build import build_network
from model.config import ModelConfig
from model.families.network import Network
from model.text.tokenizer import SENTINELS, Tokenizer

WEIGHTS, CONFIG, TOKENIZER = "model.safetensors", "config.json", "tokenizer.json"
SNAPSHOTS = "snapshots"  # the folder of the weights as they were at some steps of the training
PROJECT = Path(__file__).parents[2]
SHIPPED = PROJECT / "assets" / "models" / "translator"


class CheckpointError(Exception):
    """A file of the model is missing or damaged; the message names it and says what repairs it."""


_DRAWS = (torch.Tensor.normal_, torch.Tensor.uniform_, init.normal_, init.uniform_, init.kaiming_uniform_)


class _NoDraws(TorchFunctionMode):
    """Leave out the drawing of random weights, half of the time that loading takes: they are overwritten anyway."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in _DRAWS:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


def save(folder: Path, config: ModelConfig, tokenizer: Tokenizer, weights: dict[str, torch.Tensor]) -> None:
    """Write the three files; weights are rounded to fp16."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CONFIG).write_text(json.dumps(dataclasses.asdict(config), indent=2) + "\n")
    tokenizer.save(folder / TOKENIZER)
    save_weights(folder / WEIGHTS, weights)


def save_weights(path: Path, weights: Mapping[str, torch.Tensor]) -> None:
    """Write weights alone, rounded to fp16."""
    save_file({name: w.detach().cpu().half().contiguous() for name, w in weights.items()}, path)


def load_weights(path: Path) -> dict[str, torch.Tensor]:
    """Weights alone, in fp32. Raises: CheckpointError, naming the file and the repair"""
    try:
        return {name: w.float() for name, w in load_file(path).items()}
    except (OSError, SafetensorError) as error:
        raise broken(path, error) from error


def completed(weights: Mapping[str, torch.Tensor], rest: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Weights, and those of another model where they have none. Of a matrix with fewer rows than the other's they are
    the rows behind it.
    """
    behind = {name: torch.cat([rest[name], w]) for name, w in weights.items() if len(w) < len(rest.get(name, ()))}
    return {**rest, **weights, **behind}


def snapshot(step: int) -> str:
    """Where the weights of a step lie in a model's folder."""
    return f"{SNAPSHOTS}/{step:05}.safetensors"


def snapshot_steps(folder: Path) -> tuple[int, ...]:
    """The steps whose weights lie in a model's folder, in order."""
    stems = (path.stem for path in (folder / SNAPSHOTS).glob("*.safetensors"))
    return tuple(sorted(int(stem) for stem in stems if stem.isdecimal()))


def load(
    folder: Path = SHIPPED, weights_file: str = WEIGHTS, vocabulary: Path | None = None
) -> tuple[Network, Tokenizer]:
    """The model in evaluation mode with fp32 weights, and its tokenizer.

    Args:   folder; weights_file: in it; vocabulary: the folder of the tokenizer, if that is another one
    Raises: CheckpointError, naming the file and the repair
    """
    config, tokenizer = load_config(folder), load_tokenizer(vocabulary or folder)
    if config.vocab_size == tokenizer.vocab_size + len(SENTINELS):
        tokenizer = tokenizer.with_sentinels()
    path = folder / weights_file
    weights = load_weights(path)
    if config.rest_of:
        weights = completed(weights, load_weights(folder.parent / config.rest_of / WEIGHTS))
    try:
        with _NoDraws():
            model = build_network(config)
        model.load_state_dict(weights)
    except RuntimeError as error:
        raise broken(path, error) from error
    return model.eval().requires_grad_(False), tokenizer


def load_untrained(folder: Path = SHIPPED, seed: int = 0) -> Network:
    """A model of the same shape with random weights: what it does was never learned."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = build_network(load_config(folder))
    return model.eval().requires_grad_(False)


def load_config(folder: Path = SHIPPED) -> ModelConfig:
    path = folder / CONFIG
    try:
        return ModelConfig(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError, ZeroDivisionError) as error:
        raise broken(path, error) from error


def load_tokenizer(folder: Path = SHIPPED) -> Tokenizer:
    """The tokenizer in a folder: one object for all models that share it, as long as the file stays the same."""
    path = folder / TOKENIZER
    try:
        return _tokenizer(path, path.stat().st_mtime_ns)
    except Exception as error:  # the library raises a bare Exception for a damaged file
        raise broken(path, error) from error


@lru_cache(maxsize=8)
def _tokenizer(path: Path, modified: int) -> Tokenizer:
    return Tokenizer.load(path)


def broken(path: Path, error: Exception) -> CheckpointError:
    """What to say of a file that could not be read: its path, the fault and the repair."""
    shown = in_project(path)
    reason = " ".join(" ".join(str(error).splitlines()[:2]).split())  # the first fault of what may be a long list
    what = f"cannot be read ({reason.replace(str(path), shown.name)})" if path.exists() else "is missing"
    return CheckpointError(
        f"The model file {shown} {what}. To restore it, run in the project's folder: git checkout -- {shown.parent}"
    )


def read_figures(path: Path) -> dict[str, Any]:
    """What a JSON file says of a model, by name. Raises: CheckpointError, naming the file and the repair"""
    try:
        figures = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(figures, dict):
            raise ValueError(f"expected names with values, got {str(figures)[:40]}")
    except (OSError, ValueError) as error:
        raise broken(path, error) from error
    return figures


def in_project(path: Path) -> Path:
    """A path as messages show it: from the project's folder on, or as it is if it lies elsewhere."""
    return path.relative_to(PROJECT) if path.is_relative_to(PROJECT) else path
