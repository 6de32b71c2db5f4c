"""The two that restore texts made small, with texts and tasks to learn from."""

import dataclasses
from pathlib import Path

import pytest

from model.build import build_network
from model.config import PRESETS
from model.files import checkpoint
from tests.training.family_text import RECIPE, SIZES, write_texts
from tests.training.task_files import write_tasks
from training.denoising import Denoising
from training.loop import resumable_run
from training.loop.objectives import save_network

NAMES = ("bart-mini", "t5-mini")


def write_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Small models; two files of texts, a vocabulary, and the tasks in the folder itself."""
    for name in NAMES:
        monkeypatch.setitem(PRESETS, name, dataclasses.replace(PRESETS[name], **SIZES | {"max_len": 128}))
    monkeypatch.setattr(resumable_run, "pick_precision", lambda: "no")
    write_tasks(folder)
    files = write_texts(folder)
    (folder / "bart-mini").mkdir()  # as which T5 begins
    config = dataclasses.replace(PRESETS["bart-mini"], vocab_size=checkpoint.load_tokenizer(folder).vocab_size)
    save_network(folder / "bart-mini", config, build_network(config).state_dict())
    return files


def restoring_task(name: str, files: tuple[Path, Path], root: Path) -> Denoising:
    return Denoising(name, files[:1], files[1:], root, RECIPE, tasks=root)
