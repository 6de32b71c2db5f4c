"""Which models may be opened, and where they lie: the operator's three settings, and what a typed name may mean.

WALKTHROUGH_MODELS     folder that holds the models, one a folder; "models" beside the app if unset
WALKTHROUGH_DOWNLOADS  "yes" lets a visitor fetch a model from the Hugging Face Hub into that folder, after asking
WALKTHROUGH_KEPT       models kept in memory at most; 2 if unset
"""

import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

HERE = Path(__file__).parent.parent
NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(/[A-Za-z0-9][\w.-]{0,95})?", re.ASCII)  # of a model on the Hub
UNSAFE = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.h5", "*.msgpack", "*.pkl")


class ModelError(Exception):
    """A model cannot be opened; the message is one sentence for the visitor."""


@dataclass(frozen=True)
class Settings:
    root: Path
    downloads: bool
    kept: int

    @classmethod
    def of(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        kept = environment.get("WALKTHROUGH_KEPT", "")
        return cls(
            root=Path(environment.get("WALKTHROUGH_MODELS") or HERE / "models"),
            downloads=environment.get("WALKTHROUGH_DOWNLOADS", "").lower() in ("1", "yes", "true"),
            kept=max(1, int(kept)) if kept.isdigit() else 2,
        )


def listed(root: Path) -> list[str]:
    """Names of the models under the root: folders with a config.json, one or two levels down."""
    found = [path.parent for pattern in ("*/config.json", "*/*/config.json") for path in root.glob(pattern)]
    names = {path.relative_to(root).as_posix() for path in found}
    return sorted(name for name in names if NAME.fullmatch(name) and _inside(root, name))


def folder_of(name: str, root: Path) -> Path | None:
    """The folder of a model under the root, or None if there is none of this name.

    Raises: ModelError if this is no name of a model: nothing outside the root is ever looked at
    """
    name = name.strip()
    if not NAME.fullmatch(name) or ".." in name:
        raise ModelError(
            "A model's name is one or two words of letters, digits, dots and hyphens, such as google/bert-small."
        )
    path = root / name
    if not _inside(root, name):
        raise ModelError("This folder lies outside the models that the app may open.")
    return path if (path / "config.json").is_file() else None


def _inside(root: Path, name: str) -> bool:
    """Whether a name, links followed, stays under the root."""
    return (root / name).resolve().is_relative_to(root.resolve())


def config_of(folder: Path) -> dict[str, Any]:
    """config.json of a model.

    Raises: ModelError if it cannot be read
    """
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError("The model's config.json cannot be read.") from error
    if not isinstance(config, dict):
        raise ModelError("The model's config.json does not describe a model.")
    return config


def weights_size(folder: Path, root: Path) -> int:
    """Bytes that a model's weights will take in memory, four for each number.

    Raises: ModelError if there are no safetensors, they are damaged, or any file of the folder leads out of the root
    """
    if not all(path.resolve().is_relative_to(root.resolve()) for path in folder.rglob("*")):
        raise ModelError("A file of this folder is a link out of the models that the app may open.")
    index = folder / "model.safetensors.index.json"
    if index.is_file() and any("/" in name or "\\" in name for name in _parts(index)):
        raise ModelError("The model's list of weight files leads out of its folder.")
    files = sorted(folder.glob("*.safetensors"))
    if not files and any(next(folder.glob(pattern), None) for pattern in UNSAFE):
        raise ModelError(
            "The model's weights are stored as a pickle or another format that can run code when opened; only "
            "safetensors are read."
        )
    if not files:
        raise ModelError("The folder holds no weights: model.safetensors is missing.")
    try:
        return sum(4 * _count(path) for path in files)
    except (OSError, SafetensorError) as error:
        raise ModelError("The model's safetensors file is damaged.") from error


def _parts(index: Path) -> set[str]:
    try:
        return {str(name) for name in json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError("The model's list of weight files cannot be read.") from error


def _count(path: Path) -> int:
    """How many numbers a safetensors file holds; only its head is read."""
    with safe_open(path, "pt") as file:
        return sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118


def free_memory() -> int:
    """Bytes of memory that are free or can be freed, as Linux counts them; the whole memory elsewhere."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
