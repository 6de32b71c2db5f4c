"""Measure the small BART and the small T5: `python -m training.measure.denoising FOLDER --test FILE… --tasks FOLDER`.

The first FOLDER is that of `training.denoising`. Printed is JSON. Of BART, for each kind of noise at 30%: BLEU of the
noisy text and of the text restored from it. Of T5: outputs that have the sentinels asked for, in order, and nothing
else; spans that are right; pieces of its targets beside those of the texts, which BART writes; words whose kind is
right; questions answered right. All is written greedily, from texts apart from training, and has its standard error:
that of spans and words is over texts, since what stands in one text is right or wrong together.
"""

import argparse
import json
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sacrebleu.metrics.bleu import BLEU

from experiments.writing.batched_translation import write_together
from model.families.network import Network
from model.files import checkpoint
from model.text.tokenizer import EOS_ID, Tokenizer
from training.denoising import BART, LEARNERS, T5
from training.loop.finetune_loop import Accuracy
from training.loop.noise import KINDS, Noisy, pieces_of, word_beginnings
from training.loop.restoring import FILL, PAIR, Row, answer_pairs, plain_rows, tag_pairs
from training.loop.spans import hide_spans, read_spans
from training.loop.tasks import spread
from training.measure.distillation import mean_of
from training.measure.family import Texts

SHARE, SEED = 0.3, 0
N_TEXTS, N_RESAMPLES = 500, 1000
PART = "test"


def measure(folder: Path, texts: Texts | None, tasks: Path | None = None) -> dict[str, Any]:
    """The figures of one of the two, by the name of its folder; tasks: BART needs none.

    Raises: checkpoint.CheckpointError or OSError, naming the file; ValueError without the tasks
    """
    assert texts is not None
    network, tokenizer = checkpoint.load(folder, vocabulary=folder.parent)
    rows, data = spread(plain_rows(texts.test, random.Random(SEED)), N_TEXTS), {"data": texts.names}
    if folder.name == BART:
        return {**data, **restored(network, tokenizer, rows)}
    if tasks is None:
        raise ValueError(f"{folder.name} needs the folder of the tasks")
    return {
        **data,
        **filled(network, tokenizer, rows),
        "tags": share_of_texts(words_right(outputs(network, tokenizer, tag_pairs(tasks, PART)))),
        "answers": share([one == right for one, right in outputs(network, tokenizer, answer_pairs(tasks, PART))]),
    }


def restored(network: Network, tokenizer: Tokenizer, rows: Sequence[Row]) -> dict[str, Any]:
    """BLEU before and after, by kind of noise. A [MASK] is no text: it counts as nothing there."""
    begins_word = word_beginnings(tokenizer)
    texts = [pieces_of(row.text, begins_word) for row in rows]
    right = [tokenizer.decode(text.ids) for text in texts]
    kinds = {}
    for kind, spoil in KINDS.items():
        noisy = [spoil(text, SHARE, row.seed) for text, row in zip(texts, rows, strict=True)]
        written = write_together(network, [[*one.ids, EOS_ID] for one in noisy])
        kinds[kind] = {
            "noisy": bleu([tokenizer.decode(one.ids) for one in noisy], right),
            "restored": bleu([tokenizer.decode(ids) for ids in written], right),
        }
    return {"texts": len(rows), "share": SHARE, "kinds": kinds}


def bleu(written: Sequence[str], right: Sequence[str]) -> dict[str, float]:
    """BLEU (0–100) of texts, and how far it strays when the texts are drawn anew from these, with replacement.

    Source: sacreBLEU's own counts; Koehn 2004 for the resampling. Differs: none
    """
    metric = BLEU(effective_order=True)  # which sentences need, and leaves the counts as they are
    each = [metric.sentence_score(one, [other]) for one, other in zip(written, right, strict=True)]
    counts = np.array([[*one.counts, *one.totals, one.sys_len, one.ref_len] for one in each])
    n, order = len(each), len(each[0].counts)
    drawn = (np.random.default_rng(SEED).multinomial(n, np.full(n, 1 / n), N_RESAMPLES) @ counts).tolist()
    scores = [
        BLEU.compute_bleu(row[:order], row[order:-2], row[-2], row[-1], smooth_method="exp").score for row in drawn
    ]
    score = BLEU().corpus_score(written, [right]).score
    return {"bleu": round(score, 2), "standard_error": round(float(np.std(scores, ddof=1)), 2)}


def filled(network: Network, tokenizer: Tokenizer, rows: Sequence[Row]) -> dict[str, Any]:
    """How well hidden spans are written. The spans of an output that is not well formed count as wrong."""
    first, prefix = tokenizer.first_sentinel, tokenizer.encode(FILL)
    texts = [np.concatenate(row.text).tolist() for row in rows]
    asked = [hide_spans(ids, first, row.seed) for ids, row in zip(texts, rows, strict=True)]
    written = write_together(network, [[*prefix, *source.ids, EOS_ID] for source, _ in asked])
    is_formed, is_right = [], list[list[bool]]()
    for (_, target), ids in zip(asked, written, strict=True):
        right = spans_of(target, first)
        found = read_spans(ids[:-1], first, len(right)) if ids[-1] == EOS_ID else None
        is_formed.append(found is not None)
        is_right.append([found is not None and found[n] == one for n, one in enumerate(right)])
    return {
        "well_formed": share(is_formed),
        "spans": share_of_texts(is_right),
        "target_pieces": mean([len(target.ids) for _, target in asked]),
        "text_pieces": mean([len(ids) for ids in texts]),
    }


def spans_of(target: Noisy, first: int) -> list[tuple[int, ...]]:
    n_spans = sum(id >= first for id in target.ids) - 1
    spans = read_spans(target.ids, first, n_spans)
    assert spans is not None
    return spans


def outputs(network: Network, tokenizer: Tokenizer, pairs: Iterator[tuple[str, str]]) -> list[tuple[str, str]]:
    """What the model writes for a task, and what is right; a pair that is too long for training is left out."""
    sides = zip(
        *(zip(side, tokenizer.encode_batch(side), strict=True) for side in zip(*pairs, strict=True)), strict=True
    )
    fitting = [(source, text) for (_, source), (text, target) in sides if max(len(source), len(target)) < PAIR]
    some = spread(fitting, N_TEXTS)
    written = write_together(network, [[*source, EOS_ID] for source, _ in some])
    return [(tokenizer.decode(ids), right) for ids, (_, right) in zip(written, some, strict=True)]


def words_right(outputs: Sequence[tuple[str, str]]) -> list[list[bool]]:
    """Of each word of each right output, whether it stands in its place in what was written, its kind behind it."""
    pairs = ((written.split(), right.split()) for written, right in outputs)
    return [[written[n : n + 2] == right[n : n + 2] for n in range(0, len(right), 2)] for written, right in pairs]


def share(is_right: Sequence[bool]) -> dict[str, float]:
    found = Accuracy(sum(is_right) / len(is_right), len(is_right))
    return {"right": round(found.right, 4), "n": found.n, "standard_error": round(found.standard_error, 4)}


def share_of_texts(is_right: Sequence[Sequence[bool]]) -> dict[str, float]:
    """The share of all that are right, and its standard error over texts. is_right: of each text, one by one"""
    texts = np.repeat(np.arange(len(is_right)), [len(one) for one in is_right])
    found = mean_of(np.concatenate([np.array(one, float) for one in is_right]), texts)
    return {"right": found["mean"], "n": len(texts), "standard_error": found["standard_error"]}


def mean(numbers: Sequence[int]) -> dict[str, float]:
    error = float(np.std(numbers, ddof=1)) / len(numbers) ** 0.5
    return {"mean": round(float(np.mean(numbers)), 2), "n": len(numbers), "standard_error": round(error, 2)}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m training.measure.denoising", description=__doc__)
    parser.add_argument("folder", type=Path, help="the folder given to training.denoising as --out")
    parser.add_argument("--test", nargs="+", type=Path, required=True, help="texts kept apart")
    parser.add_argument("--tasks", type=Path, help=f"folder of the tasks that {T5} learned")
    parser.add_argument("--only", nargs="+", choices=[*LEARNERS], default=[*LEARNERS], metavar="NAME")
    given = parser.parse_args()
    torch.set_num_threads(1)
    try:
        texts = Texts(checkpoint.load_tokenizer(given.folder), (), given.test)
        for name in given.only:
            print(json.dumps({name: measure(given.folder / name, texts, given.tasks)}, indent=2), flush=True)
    except (checkpoint.CheckpointError, ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
