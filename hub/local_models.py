"""Which models may be opened, and where they are: the operator's settings, and what a typed name may mean.

WALKTHROUGH_MODELS     folder of the models, which are one folder each; "models" beside the app if unset
WALKTHROUGH_DOWNLOADS  "yes" lets a visitor fetch a model from the Hugging Face Hub into that folder
WALKTHROUGH_KEPT       how many models stay in memory at most; 2 if unset
WALKTHROUGH_UNCONFINED "yes" opens models though a barrier of their processes is missing
"""

import contextlib
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from processes.barriers import unconfined

HERE = Path(__file__).parent.parent
NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(/[A-Za-z0-9][\w.-]{0,95})?", re.ASCII)  # of a model on the Hub
UNSAFE = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.h5", "*.msgpack", "*.pkl")
TEXTS = (".json", ".txt", ".model", ".spm", ".jinja")  # files that are read besides the weights
MAX_TEXT_BYTES = 64 * 2**20  # of one such file; the largest vocabularies in use take half of it
WEIGHTS = "model.safetensors"
NO_MEMORY = "The model needs more memory than it may take here; choose a smaller one."


class ModelError(Exception):
    """A model cannot be opened; the message is a sentence for the visitor.

    detail: what a library said about it, in its own words, for whoever made the model; "" if none was asked
    """

    def __init__(self, sentence: str, detail: str = "") -> None:
        super().__init__(sentence)
        self.detail = detail


@dataclass(frozen=True)
class Settings:
    """The operator's settings.

    root:       folder of the models
    kept:       how many stay in memory at most
    unconfined: whether they are opened though a barrier is missing that shuts them in, see `processes.sandbox`
    """

    root: Path
    downloads: bool
    kept: int
    unconfined: bool = False

    @classmethod
    def of(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        kept = environment.get("WALKTHROUGH_KEPT", "")
        return cls(
            root=Path(environment.get("WALKTHROUGH_MODELS") or HERE / "models"),
            downloads=environment.get("WALKTHROUGH_DOWNLOADS", "").lower() in ("1", "yes", "true"),
            kept=max(1, int(kept)) if kept.isdigit() else 2,
            unconfined=unconfined(environment),
        )


def listed(root: Path) -> list[str]:
    """Names of the models under the root: folders with a config.json, one or two levels down."""
    configs = [path for pattern in ("*/config.json", "*/*/config.json") for path in root.glob(pattern)]
    names = {path.parent.relative_to(root).as_posix() for path in configs}
    return sorted(name for name in names if NAME.fullmatch(name) and inside(root / name, root))


def folder_of(name: str, root: Path) -> Path | None:
    """The folder of a model under the root; None if the root holds no model of this name.

    Raises: ModelError if a model cannot have this name; nothing outside the root is ever looked at
    """
    name = name.strip()
    if not NAME.fullmatch(name) or ".." in name:
        raise ModelError(
            "A model's name is one or two words of letters, digits, dots and hyphens, such as google/bert-small."
        )
    path = root / name
    if not inside(path, root):
        raise ModelError("This folder is outside the models that the app may open.")
    return path if (path / "config.json").is_file() else None


def inside(path: Path, root: Path) -> bool:
    """Whether a path stays under the root when its links are followed."""
    try:
        return path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError):  # a link to itself
        return False


def check_files(folder: Path, root: Path) -> None:
    """Check a model's folder before anything in it is read.

    Raises: ModelError if a file leads out of the root, is not an ordinary file, or is too large for its kind
    """
    for path in folder.rglob("*"):
        if not inside(path, root):
            raise ModelError("A file of this folder is a link to a place outside the models that the app may open.")
        if not (path.is_file() or path.is_dir()):
            raise ModelError("The folder holds something that is not an ordinary file.")
        if path.suffix in TEXTS and path.stat().st_size > MAX_TEXT_BYTES:
            raise ModelError(
                f"The model's {path.name[:60]} is larger than {MAX_TEXT_BYTES >> 20} MB, so it is not read."
            )


def read_config(folder: Path) -> dict[str, Any]:
    """config.json of a model.

    Raises: ModelError if it cannot be read
    """
    return read_json(folder / "config.json")


def read_generation_config(folder: Path) -> dict[str, Any]:
    """generation_config.json of a model, its settings for writing text; empty if it has no such file.

    Raises: ModelError if it cannot be read
    """
    path = folder / "generation_config.json"
    return read_json(path) if path.exists() else {}


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file of a model.

    Raises: ModelError if the file cannot be read or holds no object
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"The model's {path.name} cannot be read.") from error
    if not isinstance(content, dict):
        raise ModelError(f"The model's {path.name} does not describe a model.")
    return content


def weight_files(folder: Path) -> list[Path]:
    """The safetensors files of a model: one file, or those that its index names.

    Raises: ModelError if there are none, one is missing, or the index names something else
    """
    index = folder / f"{WEIGHTS}.index.json"
    if (folder / WEIGHTS).is_file():
        return [folder / WEIGHTS]
    if index.is_file():
        parts = read_json(index).get("weight_map")
        if not isinstance(parts, dict):
            raise ModelError("The model's list of weight files cannot be read.")
        names = sorted({str(name) for name in parts.values()})
        if not all(re.fullmatch(r"[\w.-]+\.safetensors", name, re.ASCII) for name in names):
            raise ModelError(
                "The model's list of weight files names something other than safetensors files in its folder."
            )
        if missing := [name for name in names if not (folder / name).is_file()]:
            raise ModelError(f"The folder lacks {len(missing)} of its weight files, {missing[0][:60]} among them.")
        return [folder / name for name in names]
    if any(next(folder.glob(pattern), None) for pattern in UNSAFE):
        raise ModelError(
            "The model's weights are stored as a pickle or in another format that can run code when it is opened; only "
            "safetensors files are read."
        )
    raise ModelError("The folder holds no weights: model.safetensors is missing.")


def n_numbers(files: Sequence[Path]) -> int:
    """How many numbers safetensors files hold. Only their headers are read.

    Raises: ModelError if one is damaged
    """
    try:
        return sum(_count(path) for path in files)
    except (OSError, SafetensorError) as error:
        raise ModelError("The model's safetensors file is damaged.") from error


def _count(path: Path) -> int:
    with safe_open(path, "pt") as file:
        return sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118


def free_memory(container: Path = Path("/sys/fs/cgroup")) -> int:
    """Bytes of memory that are free or can be freed, as Linux counts them, in a container as far as its own limit goes;
    on other systems, all memory.

    Args: container: where the system keeps the limit of the container that this process is in, if it is in one
    """
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with contextlib.suppress(OSError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), free)
    with contextlib.suppress(OSError, ValueError, KeyError):  # no container, or one without a limit: "max"
        most, used = (int((container / f"memory.{name}").read_text()) for name in ("max", "current"))
        kinds = dict(line.split() for line in (container / "memory.stat").read_text().splitlines())
        free = min(free, max(0, most - used + int(kinds["inactive_file"])))  # files that were read can leave
    return free


def check_memory(needed: int, freeable: int = 0) -> None:
    """Args:   freeable: bytes that the app itself could free
    Raises: ModelError if less memory than needed is free or could be freed
    """
    free = free_memory() + freeable
    if needed > free:
        raise ModelError(
            f"The model needs {needed / 1e9:.1f} GB of memory and {free / 1e9:.1f} GB are free; choose a smaller one."
        )
