"""Checks a tokenizer's files before a library reads them."""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hub.local_models import ModelError, inside, read_json

# A tokenizer.json is a small program. Beyond these limits it could turn a short sentence into gigabytes of text.
PROGRAM = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
MAX_STEPS = 100  # parts of the program; Llama 3 has about 30
MAX_GROWTH = 2**16  # how many times longer its replacements may make a text
MAX_COPIES = 8  # of the sentence, with special tokens around each
MAX_TOKEN = 1000  # characters of an added token
TOKENIZER_CLASS = re.compile(r"\w*(Tokenizer|TokenizerFast|Backend)", re.ASCII)


def check_tokenizer(folder: Path, root: Path) -> None:
    """Raises: ModelError if the files name a file outside the root or a class that is not a tokenizer, or could make a
    text far too long
    """
    for path in folder.rglob("*.json"):
        if path.name.startswith("tokenizer."):
            _check_program(read_json(path))
        elif path.name == "config.json" or "token" in path.name:
            _check_settings(path, folder, root)


def _check_settings(path: Path, folder: Path, root: Path) -> None:
    settings = read_json(path)
    # transformers takes file names from here: a "vocab" of /etc/passwd would be read as a vocabulary.
    for text in _texts_in(settings):
        if any(_leads_out(base / text, root) for base in (Path(), folder)):
            raise ModelError(f"The model's {path.name[:60]} names a file outside the models that the app may open.")
    class_name = settings.get("tokenizer_class")
    if class_name is not None and not (isinstance(class_name, str) and TOKENIZER_CLASS.fullmatch(class_name)):
        raise ModelError(f"The model's {path.name[:60]} names a class that is not a tokenizer.")


def _texts_in(value: object) -> Iterator[str]:
    """All texts in the content of a JSON file, except names of entries."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(inner)


def _leads_out(path: Path, root: Path) -> bool:
    try:
        return path.is_file() and (".." in path.parts or not inside(path, root))
    except OSError:  # too long to be a name
        return False


def _check_program(tokenizer: dict[str, Any]) -> None:
    steps = [step for part in PROGRAM for step in _steps_in(tokenizer.get(part))]
    growth = math.prod(1 + len(str(step.get("content", step.get("prepend", "")))) for step in steps)
    copies = sum("Sequence" in step for step in steps)
    if len(steps) > MAX_STEPS or growth > MAX_GROWTH or copies > MAX_COPIES:
        raise ModelError("The model's tokenizer.json could make a sentence far too long, so it is not read.")
    if any(len(token) > MAX_TOKEN for token in _texts_in(tokenizer.get("added_tokens"))):
        raise ModelError(f"The model's tokenizer.json holds a special token of over {MAX_TOKEN} characters.")


def _steps_in(value: object) -> Iterator[dict[str, Any]]:
    """All objects in the content of a JSON file, however deep."""
    if isinstance(value, dict):
        yield value
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _steps_in(inner)
