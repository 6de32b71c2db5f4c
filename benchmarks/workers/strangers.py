"""A model in a process of its own: what a sentence takes there, beside the same model in this process.

The process is warm, the model open, each with one thread. "wide" is a model with random weights that computes little
and has many heads, so that what it costs to hand over its maps shows most.
"""

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median

import torch
from transformers import BertConfig, BertForMaskedLM

from benchmarks.kit.report import Figure, report
from benchmarks.kit.sentences import sentences
from hub.export.folder import export
from hub.hugging_face import load
from hub.local_models import Settings
from hub.open_models import own_models
from hub.reading import read
from hub.worker import Worker
from model.files.loaded_model import MODELS

SENTENCES, LONG = 60, 6  # of the wide model's, each is several in one: about 60 pieces
BAR_MS = 30.0
WIDE, ITS_TOKENIZER = "wide", "bert-mini"
WIDE_SIZES = {"num_hidden_layers": 12, "num_attention_heads": 12, "hidden_size": 96, "intermediate_size": 96}


def milliseconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - begun)


def make_wide(root: Path) -> None:
    """A BERT of other sizes with the tokenizer of one that is there."""
    export(root / WIDE, MODELS / ITS_TOKENIZER)
    config = json.loads((root / WIDE / "config.json").read_text())
    torch.manual_seed(0)
    BertForMaskedLM(BertConfig(**(config | WIDE_SIZES))).save_pretrained(root / WIDE)


def times(name: str, settings: Settings, n: int, texts: Iterator[str]) -> tuple[list[float], list[float]]:
    """Milliseconds for each sentence, in this process and in a worker; who is first takes turns."""
    here, worker = load(name, settings), Worker(name, settings, lambda needed: None)
    for _ in range(3):  # unmeasured
        text = next(texts)
        read(here, text)
        worker.read(text)
    found: tuple[list[float], list[float]] = [], []
    for turn in range(n):
        text = next(texts)
        works = (lambda text=text: read(here, text)), (lambda text=text: worker.read(text))
        for which in (0, 1) if turn % 2 else (1, 0):
            found[which].append(milliseconds(works[which]))
    worker.close()
    return found


def measure(n: int = SENTENCES) -> list[Figure]:
    torch.set_num_threads(1)
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        settings = Settings(root, downloads=False, kept=1)
        for name in own_models().values():
            export(root / name, MODELS / name)
        if ITS_TOKENIZER in own_models():
            make_wide(root)
        for name in sorted(path.name for path in root.iterdir()):
            texts = sentences(seed=11)
            if name == WIDE:
                texts = (" ".join(parts) for parts in zip(*[texts] * LONG, strict=False))
            figures += figures_of(name, *times(name, settings, n, texts))
        opening = [milliseconds(lambda: Worker(name, settings, lambda needed: None).close()) for _ in range(5)]
        figures.append(Figure(f"strangers: {name}, opened and closed", median(opening), "ms"))
    return figures


def figures_of(name: str, here: Sequence[float], there: Sequence[float]) -> list[Figure]:
    """Args: milliseconds of each sentence, in this process and in one of its own"""
    more = median(b - a for a, b in zip(here, there, strict=True))
    return [
        Figure(f"strangers: {name}, a sentence in this process", median(here), "ms"),
        Figure(f"strangers: {name}, a sentence in a process of its own", median(there), "ms"),
        Figure(f"strangers: {name}, what that adds", more, "ms", BAR_MS),
    ]


if __name__ == "__main__":
    report(measure())
