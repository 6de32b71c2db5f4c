"""Whether a tokenizer's files may be handed to the library that reads them."""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hub.folders import ModelError, inside, json_of

# A tokenizer.json is a small program. More than these, and a short sentence may become gigabytes of text.
PROGRAM = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
MAX_STEPS = 100  # parts of the program; Llama 3 has about 30
MAX_GROWTH = 2**16  # how many times longer its replacements can make a text
MAX_COPIES = 8  # of the sentence that special tokens are put around
MAX_TOKEN = 1000  # characters of an added token
TOKENIZER_CLASS = re.compile(r"\w*(Tokenizer|TokenizerFast|Backend)", re.ASCII)


def check_tokenizer(folder: Path, root: Path) -> None:
    """Look at a tokenizer's files before the library reads them.

    Raises: ModelError if they name a file outside the root, a class that is no tokenizer, or would swell a text
    """
    for path in folder.rglob("*.json"):
        if path.name.startswith("tokenizer."):
            _check_program(json_of(path))
        elif path.name == "config.json" or "token" in path.name:
            _check_settings(path, folder, root)


def _check_settings(path: Path, folder: Path, root: Path) -> None:
    found = json_of(path)
    # transformers takes file names from here: a "vocab" of /etc/passwd would be read as a vocabulary.
    for text in _texts_in(found):
        if any(_leads_out(base / text, root) for base in (Path(), folder)):
            raise ModelError(f"The model's {path.name[:60]} names a file outside the models that the app may open.")
    named = found.get("tokenizer_class")
    if named is not None and not (isinstance(named, str) and TOKENIZER_CLASS.fullmatch(named)):
        raise ModelError(f"The model's {path.name[:60]} names a tokenizer that is none.")


def _texts_in(value: object) -> Iterator[str]:
    """All texts in what a JSON file holds, names of entries aside."""
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
        raise ModelError("The model's tokenizer.json could swell a sentence beyond all measure, so it is not read.")
    if any(len(token) > MAX_TOKEN for token in _texts_in(tokenizer.get("added_tokens"))):
        raise ModelError(f"The model's tokenizer.json holds a special token of over {MAX_TOKEN} characters.")


def _steps_in(value: object) -> Iterator[dict[str, Any]]:
    """All objects, however deep, in what a JSON file holds."""
    if isinstance(value, dict):
        yield value
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _steps_in(inner)
