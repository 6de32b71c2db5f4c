"""The readers of digits, written and spoken, as folders for transformers."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from safetensors.torch import save_file

from hub.export import ast, vit
from model.files.checkpoint import CONFIG, WEIGHTS
from model.files.load_pictures import load_vision
from model.files.load_sounds import load_sound
from model.files.loaded_model import MODELS, LoadedModel

CARD = "README.md"
# By name: what loads it, where its card is, and how it becomes the library's.
READERS: dict[str, tuple[Callable[[], LoadedModel[Any, Any]], str, Any]] = {
    **{name: (partial(load_vision, n), "pictures", vit) for name, n in vit.NAMES.items()},
    **{name: (partial(load_sound, which), "sounds", ast) for name, which in ast.NAMES.items()},
}


def export_reader(target: Path, name: str) -> None:
    """Write one of READERS as a folder for transformers. Raises: CheckpointError if a file is missing or damaged"""
    load, folder, format = READERS[name]
    loaded = load()
    target.mkdir(parents=True, exist_ok=True)
    (target / CONFIG).write_text(json.dumps(format.their_config(loaded.config), indent=2) + "\n")
    weights = {key: weight.cpu() for key, weight in loaded.model.state_dict().items()}
    save_file(format.their_weights(weights, loaded.config), target / WEIGHTS, metadata={"format": "pt"})
    card = (MODELS / folder / CARD).read_text(encoding="utf-8")
    (target / CARD).write_text(card + format.USE, encoding="utf-8")
