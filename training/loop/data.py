"""Sentence pairs: read, varied, cut into batches of similar length."""

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from model.text.tokenizer import EOS_ID, PAD_ID, SOS_ID, Tokenizer, normalise

Pair = tuple[str, str]


def read_pairs(paths: Iterable[Path]) -> list[Pair]:
    """English-German pairs, normalised.

    Args:   paths: files with one `en<TAB>de` a line; or a path without the endings of two files, `.en` and `.de`, whose
            lines belong together
    Raises: ValueError, naming file and line, where a line has no tab; naming both files, if one has more lines; or if
            there are no pairs at all
    """
    pairs = [pair for path in paths for pair in (_tabbed(path) if path.exists() else _side_by_side(path))]
    if not pairs:
        raise ValueError("the files hold no sentence pairs")
    return [(normalise(english), normalise(german)) for english, german in pairs]


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").rstrip("\n").split("\n")


def _tabbed(path: Path) -> Iterator[Pair]:
    for number, line in enumerate(_lines(path), 1):
        english, tab, german = line.partition("\t")
        if not tab:
            raise ValueError(f"{path}, line {number}: expected English, a tab, German; got {line!r}")
        yield english, german


def _side_by_side(path: Path) -> list[Pair]:
    english, german = (Path(f"{path}.{language}") for language in ("en", "de"))
    pair_of_files = _lines(english), _lines(german)
    if len(pair_of_files[0]) != len(pair_of_files[1]):
        raise ValueError(f"{english} has {len(pair_of_files[0])} lines, {german} has {len(pair_of_files[1])}")
    return list(zip(*pair_of_files, strict=True))


def swapped(pairs: Iterable[Pair]) -> list[Pair]:
    """The pairs with their sides exchanged, for a model that translates the other way."""
    return [(german, english) for english, german in pairs]


@dataclass(frozen=True)
class Variation:
    """How often a training pair is varied, because people type differently from the training data.

    Every figure is a probability. The German side stays well written.
    """

    lower_start: float = 0.15
    lower_all: float = 0.05
    drop_final_mark: float = 0.15
    drop_apostrophes: float = 0.02
    join: float = 0.06

    def source(self, english: str, rng: random.Random) -> str:
        """The English side as a hurried person might type it."""
        if rng.random() < self.lower_all:
            english = english.lower()
        elif rng.random() < self.lower_start:
            english = english[:1].lower() + english[1:]
        if rng.random() < self.drop_final_mark:
            english = english.rstrip(".!?") or english
        if rng.random() < self.drop_apostrophes:
            english = english.replace("'", "")
        return english

    def apply(self, pairs: Sequence[Pair], rng: random.Random) -> list[Pair]:
        """One varied copy of every pair; some are two pairs joined, on both sides."""
        varied = []
        for english, german in pairs:
            if rng.random() < self.join:
                more_english, more_german = pairs[rng.randrange(len(pairs))]
                english, german = f"{english} {more_english}", f"{german} {more_german}"
            varied.append((self.source(english, rng), german))
        return varied


NO_VARIATION = Variation(0, 0, 0, 0, 0)


def _pad(rows: Sequence[Sequence[int]]) -> Tensor:
    width = max(map(len, rows))
    return torch.tensor([[*row, *[PAD_ID] * (width - len(row))] for row in rows])


def collate(pairs: Sequence[tuple[list[int], list[int]]]) -> dict[str, Tensor]:
    """Encoded pairs as one padded batch (a dict, because accelerate moves dicts between devices).

    Returns: src_ids (B,S) ending in <eos>; tgt_ids (B,T) beginning with <sos>; labels (B,T): tgt_ids one step ahead
    """
    return {
        "src_ids": _pad([[*source, EOS_ID] for source, _ in pairs]),
        "tgt_ids": _pad([[SOS_ID, *target] for _, target in pairs]),
        "labels": _pad([[*target, EOS_ID] for _, target in pairs]),
    }


def length_batches(lengths: Sequence[tuple[int, int]], batch_tokens: int, rng: random.Random) -> list[list[int]]:
    """Indices in batches of similar length, in random order.

    Args: lengths (source, target) of each pair; batch_tokens: most padded target tokens, and most padded source
          tokens, a batch may hold (a single longer pair makes a batch of its own)
    """
    # By target and then by source, so that neither side is padded much; pairs of equal lengths in random order.
    order = sorted(range(len(lengths)), key=lambda i: (lengths[i][1], lengths[i][0], rng.random()))
    batches: list[list[int]] = []
    longest = 0
    for i in order:
        longest = max(longest, *lengths[i])
        if not batches or (len(batches[-1]) + 1) * longest > batch_tokens:
            batches.append([])
            longest = max(lengths[i])
        batches[-1].append(i)
    rng.shuffle(batches)
    return batches


def encode_pairs(pairs: Sequence[Pair], tokenizer: Tokenizer, max_len: int) -> list[tuple[list[int], list[int]]]:
    """ids of both sides; a pair with an empty side, or with one longer than max_len − 1, is left out.

    Raises: ValueError if no pair is left
    """
    sources = tokenizer.encode_batch([source for source, _ in pairs])
    targets = tokenizer.encode_batch([target for _, target in pairs])
    # Less than max_len: <sos> or <eos> comes on top.
    encoded = [(s, t) for s, t in zip(sources, targets, strict=True) if s and t and max(len(s), len(t)) < max_len]
    if not encoded:
        raise ValueError(f"no pair has two sides of 1 to {max_len - 1} tokens")
    return encoded


def epoch_loader(
    pairs: Sequence[Pair],
    tokenizer: Tokenizer,
    batch_tokens: int,
    variation: Variation,
    seed: int,
    epoch: int,
    max_len: int,
    processes: int = 1,
) -> DataLoader[Any]:
    """All pairs once, varied and shuffled by (seed, epoch) alone, so that a resumed run sees the same batches.

    A pair with an empty side, or with one longer than the model takes, is left out.

    Raises: ValueError if no pair is left
    """
    rng = random.Random(f"{seed}/{epoch}")
    encoded = encode_pairs(variation.apply(pairs, rng), tokenizer, max_len)
    batches = length_batches([(len(s) + 1, len(t) + 1) for s, t in encoded], batch_tokens, rng)
    return loader_of(encoded, batches, collate, processes)


def loader_of(
    rows: Sequence[Any],
    batches: list[list[int]],
    collate_rows: Callable[[Sequence[Any]], dict[str, Tensor]],
    processes: int = 1,
) -> DataLoader[Any]:
    """Rows in these batches. Some come again if several processes could not get equally many otherwise: one with fewer
    would keep the others waiting.
    """
    batches = [*batches, *itertools.islice(itertools.cycle(batches), -len(batches) % processes)]
    # A generator of its own: drawing from the global one would shift the dropout of a resumed run.
    return DataLoader(
        rows,  # type: ignore[arg-type]
        batch_sampler=batches,
        collate_fn=collate_rows,
        generator=torch.Generator(),
    )
