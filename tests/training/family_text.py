"""A little English to learn from, and the models of the family made small."""

import dataclasses
import random
from functools import partial
from pathlib import Path

import pytest

from model.config import PRESETS
from model.families.in_context import InContextConfig
from model.families.recurrent_language_model import RecurrentConfig
from training.family import FamilyTask, recipe, train_tokenizer
from training.loop import objectives

LEARNED = ("gpt-mini", "gpt-linear", "lstm", "bert-mini", "in-context")
SIZES = {"d_model": 24, "n_heads": 2, "n_layers": 1, "d_ff": 40, "max_len": 32}
NUMBERS = {"d_in": 3, "n_pairs": 7, "d_model": 24, "n_heads": 2, "n_layers": 2, "d_ff": 40}
WHO, DOES, WHAT = ("Tom", "Mary", "The cat", "A dog"), ("sees", "likes", "paints"), ("the moon", "a fish", "bread")
RECIPE = recipe(steps=23, batch_tokens=150, peak_learning_rate=5e-3, warmup_steps=4)


def texts(n: int, seed: int) -> str:
    choose = random.Random(seed)
    documents = [
        " ".join(
            f"{choose.choice(WHO)} {choose.choice(DOES)} {choose.choice(WHAT)}." for _ in range(choose.randint(1, 12))
        )
        for _ in range(n)
    ]
    return "\n\n".join(documents)


def write_texts(folder: Path) -> tuple[Path, Path]:
    """Two files, to learn from and to choose by; and the vocabulary of the first."""
    train, valid = folder / "train.txt", folder / "valid.txt"
    train.write_text(texts(20, 1))
    valid.write_text(texts(6, 2))
    train_tokenizer((train,), folder, vocab_size=300)
    return train, valid


def family_task(name: str, files: tuple[Path, Path], root: Path) -> FamilyTask:
    return FamilyTask(name, files[:1], files[1:], root, RECIPE)


def shrink(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the models that the recipes build small."""
    for name in ("gpt-mini", "gpt-linear", "bert-mini"):
        monkeypatch.setitem(PRESETS, name, dataclasses.replace(PRESETS[name], **SIZES))
    lstm = partial(RecurrentConfig, d_model=24, d_hidden=30, n_layers=1, max_len=32)
    monkeypatch.setattr(objectives, "RecurrentConfig", lstm)
    monkeypatch.setattr(objectives, "InContextConfig", partial(InContextConfig, **NUMBERS))
    monkeypatch.setattr(objectives.FromExamples, "epoch_batches", 11)
    monkeypatch.setattr(objectives.FromExamples, "n_valid", 200)
