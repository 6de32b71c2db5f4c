"""A model of this project in the Hugging Face format, and back: `python -m hub.export [NAME] DIR`.

What becomes what, and why the numbers stay the same, stands in `hub.export.marian`, `hub.export.gpt2`,
`hub.export.bert` and, for readers of digits, written and spoken, `hub.export.vit` and `hub.export.ast`.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from tokenizers import AddedToken, Regex, normalizers
from tokenizers import Tokenizer as Backend

from hub.export.bert import BERT
from hub.export.formats import Format
from hub.export.gpt2 import GPT2
from hub.export.marian import MARIAN
from hub.export.readers import READERS, export_reader
from model.config import ModelConfig
from model.files import checkpoint
from model.files.checkpoint import CONFIG, SHIPPED, TOKENIZER, WEIGHTS, CheckpointError
from model.files.device import Device
from model.files.loaded_model import MODELS, UnknownModelError, load_folder, model_names
from model.text.tokenizer import MASK, STRAIGHT_QUOTES, Tokenizer

CARD, GENERATION = "README.md", "generation_config.json"
TOKENIZER_CONFIG = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "split_special_tokens": True,  # <sos> typed by a visitor is plain text
    "clean_up_tokenization_spaces": False,
}
FORMATS = (MARIAN, GPT2, BERT)


def their_tokenizer(tokenizer: Tokenizer, form: Format) -> Backend:
    """Our tokenizer, which also does what `model.tokenizer.normalise` does, and puts the marks around a text."""
    backend = Backend.from_str(tokenizer.backend.to_str())
    backend.normalizer = normalizers.Sequence(
        [
            normalizers.Replace(Regex(r"[\s\x1c-\x1f\x85]"), " "),
            normalizers.Replace(Regex(r"\p{Cc}"), ""),
            normalizers.NFC(),
            *(normalizers.Replace(chr(curly), straight) for curly, straight in STRAIGHT_QUOTES.items()),
            normalizers.Replace(Regex(" +"), " "),
            normalizers.Strip(),
            normalizers.Prepend(" "),
        ]
    )
    if backend.token_to_id(MASK) is not None:
        # Looked for behind these steps, as " [MASK]": like any piece it takes the space in front of it along.
        backend.add_special_tokens([AddedToken(MASK, normalized=True)])
    backend.post_processor = form.frame
    return backend


def our_tokenizer(path: Path) -> Tokenizer:
    backend = Backend.from_file(str(path))
    backend.normalizer = normalizers.Prepend(" ")
    plain = json.loads(backend.to_str()) | {"post_processor": None}
    plain["added_tokens"] = [one | {"normalized": False} for one in plain["added_tokens"]]
    return Tokenizer(Backend.from_str(json.dumps(plain)))


def card(folder: Path, form: Format) -> str:
    """The model card, which begins with the header that the Hub reads, and a note on how to use the folder."""
    use = (
        "\n## How to use this folder\n"
        "```python\n"
        f"from transformers import {form.auto}, AutoTokenizer\n\n"
        'tokenizer = AutoTokenizer.from_pretrained("FOLDER")\n'
        f'model = {form.auto}.from_pretrained("FOLDER")\n'
        f"{form.example}\n"
        "```\n"
        f"{form.note}\n"
    )
    return (folder / CARD).read_text(encoding="utf-8") + use


def format_of(config: ModelConfig) -> Format:
    """The format of a model. Raises: ValueError if its family has none"""
    form = next((one for one in FORMATS if one.family == config.family), None)
    if form is None:
        raise ValueError(f"there is no form in transformers here for family={config.family!r}")
    return form


def export(target: Path, source: Path = SHIPPED) -> None:
    """Write a trained model of this project as a folder for transformers.

    Raises: CheckpointError if a file of the source is missing or damaged; ValueError for a model with other parts
    """
    loaded = load_folder(source, Device(torch.device("cpu"), "CPU"))
    form = format_of(loaded.config)
    tokens = {"model_max_length": loaded.config.max_len, **form.tokenizer}
    described: dict[str, Any] = {
        CONFIG: form.config(loaded.config),
        GENERATION: form.generation,
        "tokenizer_config.json": TOKENIZER_CONFIG | tokens,
    }
    target.mkdir(parents=True, exist_ok=True)
    for file, content in described.items():
        if content:
            (target / file).write_text(json.dumps(content, indent=2) + "\n")
    their_tokenizer(loaded.tokenizer, form).save(str(target / TOKENIZER))
    weights = form.weights(loaded.model.state_dict(), loaded.config)
    save_file(weights, target / WEIGHTS, metadata={"format": "pt"})
    if (source / CARD).exists():
        (target / CARD).write_text(card(source, form), encoding="utf-8")


def restore(target: Path, source: Path) -> None:
    """Turn a folder written by `export` into a model of this project again.

    Raises: CheckpointError, naming the folder, if a file is missing or damaged, or it holds another architecture, or
            numbers that ours has no place for
    """
    try:
        described, theirs = json.loads((source / CONFIG).read_text()), load_file(source / WEIGHTS)
        known = {form.name: form for form in FORMATS}
        form = known[described["model_type"]]
        config = form.our_config(described)
        weights = form.our_weights(theirs, config)
        for name, tensor in form.weights(weights, config).items():
            if not torch.equal(tensor, theirs[name]):
                raise ValueError(f"{name} has no place in a model of this project")
        tokenizer = our_tokenizer(source / TOKENIZER)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, SafetensorError) as error:
        raise CheckpointError(f"{source} holds no model that was exported from here ({error!r})") from error
    checkpoint.save(target, config, tokenizer, weights)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m hub.export", description=__doc__)
    parser.add_argument(
        "where", nargs="+", metavar="[NAME] FOLDER", help="where to write; before it, which of the shipped models"
    )
    parser.add_argument("--model", type=Path, default=SHIPPED, help="a model in another folder")
    parser.add_argument(
        "--back", type=Path, metavar="EXPORTED", help="turn this exported folder into a model of this project again"
    )
    arguments = parser.parse_args()
    *names, where = arguments.where
    if len(names) > 1:
        parser.error("one model and one folder at a time")
    folder = Path(where)
    try:
        if arguments.back:
            restore(folder, arguments.back)
        elif names and names[0] in READERS:
            export_reader(folder, names[0])
        elif names and names[0] not in (known := model_names()):
            there = ", ".join((*known, *READERS))
            raise UnknownModelError(f"There is no model named {names[0][:40]!r}; there are {there}.")
        else:
            export(folder, MODELS / names[0] if names else arguments.model)
    except (CheckpointError, ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"Written to {folder}")
    return 0
