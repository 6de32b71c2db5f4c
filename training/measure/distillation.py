"""Measure the students of bert-mini beside their teacher: `python -m training.measure.distillation [FOLDER] --test
FILE…`.

FOLDER holds the published models, by default assets/models: bert-mini, distilled and untaught, and gpt-mini, whose
vocabulary they share. The figures are printed as JSON, and kept in each student's against_teacher.json: on the masked
tokens of `training.measure.family` its accuracy and the teacher's, how far it lies from the teacher, how much further
than the other student; and how many times as fast it reads, on one thread, one row of 30 tokens and 16. Errors are
standard errors of a mean. The tokens of one row may be guessed alike, so a row counts as a whole.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from experiments.family.distillation import FILE, STUDENTS
from experiments.family.fill_in import reading_times
from model.files.checkpoint import CheckpointError
from model.files.device import CPU
from model.files.loaded_model import MODELS, LoadedModel, UnknownModelError, load_model
from training.loop.corpus import Document, read_corpus
from training.loop.reading import PRESET as TEACHER
from training.loop.text_rows import N_SPECIALS
from training.measure.family import BATCH, masked_batches, said_of_masked
from training.publish.siblings import write

ROWS, LENGTH = (1, 16), 30  # of the batches that are timed

Array = np.ndarray
Mean = dict[str, float]  # "mean" and its "standard_error"


def mean_of(values: Array, texts: Array) -> Mean:
    """The mean of the values (n) of tokens, with its error. texts (n): the row of each, from 0"""
    off = np.bincount(texts, values - values.mean())
    return {
        "mean": round(float(values.mean()), 4),
        "standard_error": round(float((off**2).sum() ** 0.5) / len(values), 4),
    }


@torch.inference_mode()
def told_apart(
    models: Mapping[str, nn.Module], documents: Sequence[Document], width: int, vocab_size: int
) -> dict[str, dict[str, Any]]:
    """For each student what its accuracy and its teacher's is, its KL(teacher‖student) in nats a masked token, and how
    much larger both are than the other student's. models: TEACHER and STUDENTS
    """
    right: dict[str, list[Array]] = {name: [] for name in models}
    apart: dict[str, list[Array]] = {name: [] for name in STUDENTS}
    texts = []
    for n, batch in enumerate(masked_batches(documents, width, vocab_size)):
        rows, places = batch["labels"].nonzero(as_tuple=True)
        texts.append(rows.numpy() + n * BATCH)
        said = {name: said_of_masked(model, batch).double().log_softmax(-1) for name, model in models.items()}
        for name, logs in said.items():
            right[name].append((logs.argmax(-1) == batch["labels"][rows, places]).double().numpy())
        for name, kls in apart.items():
            kls.append(
                nn.functional.kl_div(said[name], said[TEACHER], reduction="none", log_target=True).sum(-1).numpy()
            )
    of = np.concatenate(texts)
    hits, nats = ({name: np.concatenate(parts) for name, parts in by.items()} for by in (right, apart))
    return {
        name: {
            "masked_tokens": len(of),
            "accuracy": mean_of(hits[name], of),
            "teacher_accuracy": mean_of(hits[TEACHER], of),
            "share_of_teacher": round(float(hits[name].sum() / max(1.0, hits[TEACHER].sum())), 4),
            "kl": mean_of(nats[name], of),
            "more_right_than_the_other": mean_of(hits[name] - hits[other], of),
            "more_kl_than_the_other": mean_of(nats[name] - nats[other], of),
        }
        for name, other in zip(STUDENTS, reversed(STUDENTS), strict=True)
    }


def times_as_fast(loaded: Sequence[LoadedModel]) -> dict[str, tuple[float, ...]]:
    """How many times as fast as the first of some models each of them reads, by the rows of a batch."""
    found = {}
    for n in ROWS:
        timing = reading_times(loaded, tuple(range(N_SPECIALS, N_SPECIALS + LENGTH)), n)
        try:
            while True:
                next(timing)
        except StopIteration as end:
            found[str(n)] = tuple(round(end.value[0] / seconds, 2) for seconds in end.value)
    return found


def measure(folder: Path, files: Sequence[Path]) -> dict[str, dict[str, Any]]:
    """The figures of each student. Raises: UnknownModelError, CheckpointError, ValueError, OSError"""
    loaded = {name: load_model(name, folder, CPU) for name in (TEACHER, *STUDENTS)}
    teacher = loaded[TEACHER]
    assert teacher.config.max_len
    documents, names = read_corpus(files, teacher.tokenizer), ", ".join(path.name for path in files)
    models, width = {name: one.model for name, one in loaded.items()}, teacher.config.max_len
    found = told_apart(models, documents, width, teacher.config.vocab_size)
    speeds = times_as_fast([*loaded.values()])
    return {
        name: {
            "data": names,
            **found[name],
            "pieces": LENGTH,
            "times_as_fast": {rows: ratios[n] for rows, ratios in speeds.items()},
        }
        for n, name in enumerate(STUDENTS, 1)
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m training.measure.distillation", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=MODELS, help="of the published models")
    parser.add_argument("--test", nargs="+", type=Path, required=True, help="files kept apart")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    try:
        for name, figures in measure(arguments.folder, arguments.test).items():
            write(arguments.folder / name / FILE, figures)
            print(json.dumps({name: figures}, indent=2), flush=True)
    except (UnknownModelError, CheckpointError, ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
