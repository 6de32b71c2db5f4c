"""Rows that hold several sentence pairs, one behind the other, so that a batch of random pairs has hardly any padding.

On either side each text ends in `<eos>`, and in what the decoder reads each begins with `<sos>`: that tells them apart.
"""

import itertools
import random
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.data import DataLoader

from model.text.tokenizer import EOS_ID, SOS_ID, Tokenizer
from training.loop.data import Pair, collate, encode_pairs, loader_of
from training.loop.recipe import Recipe

WIDTH = 128  # pieces of a row, on either side
OPEN_ROWS = 24  # rows in which a pair looks for room, the newest: more would be a little fuller and take longer
Ids = list[int]


def share_rows(lengths: Sequence[tuple[int, int]], width: int = WIDTH) -> list[list[int]]:
    """Which pairs stand in each row: one after the other goes to the first row that has room on both sides.

    Args: lengths (source, target) of each pair with its sign, neither above `width`
    """
    rows: list[list[int]] = []
    room: list[tuple[int, int]] = []
    for pair, (source, target) in enumerate(lengths):
        newest = range(max(0, len(rows) - OPEN_ROWS), len(rows))
        row = next((row for row in newest if source <= room[row][0] and target <= room[row][1]), len(rows))
        if row == len(rows):
            rows.append([])
            room.append((width, width))
        rows[row].append(pair)
        room[row] = room[row][0] - source, room[row][1] - target
    return rows


def in_one(texts: Sequence[Ids]) -> Ids:
    """Texts one behind the other, `<eos>` between them."""
    return [id for text in texts for id in (EOS_ID, *text)][1:]


def collate_packed(rows: Sequence[tuple[Ids, Ids]]) -> dict[str, Tensor]:
    """Packed rows as one batch.

    Args:    rows: source and target ids of each, as `in_one` joins them
    Returns: src_ids, tgt_ids, labels (B,WIDTH), as `training.loop.data.collate` makes them of single pairs
    """
    batch = {name: functional.pad(ids, (0, WIDTH - ids.size(1))) for name, ids in collate(rows).items()}
    batch["tgt_ids"][batch["tgt_ids"] == EOS_ID] = SOS_ID  # what divides two texts begins the second one
    return batch


def packed_loader(
    parts: Sequence[Sequence[Pair]], tokenizer: Tokenizer, recipe: Recipe, seed: int, epoch: int, processes: int = 1
) -> DataLoader[Any]:
    """All pairs of all parts once, varied, shuffled and packed by (seed, epoch) alone; variation joins those of a part
    alone. Every batch is full: some rows come again in the last one.

    Raises: ValueError if no pair fits into a row
    """
    rng = random.Random(f"{seed}/{epoch}")
    varied = [pair for part in parts for pair in recipe.variation.apply(part, rng)]
    rng.shuffle(varied)
    encoded = encode_pairs(varied, tokenizer, WIDTH)
    shared = share_rows([(len(source) + 1, len(target) + 1) for source, target in encoded])
    rows = [(in_one([encoded[n][0] for n in row]), in_one([encoded[n][1] for n in row])) for row in shared]
    n_rows = recipe.batch_tokens // WIDTH
    order = rng.sample(range(len(rows)), len(rows))
    order.extend(itertools.islice(itertools.cycle(order[:]), -len(order) % n_rows))
    batches = [collate_packed([rows[n] for n in order[at : at + n_rows]]) for at in range(0, len(order), n_rows)]
    return loader_of(batches, [[n] for n in range(len(batches))], itemgetter(0), processes)


class Apart:
    """A tap that keeps the texts of packed rows apart: each counts its positions from 0 and sees itself alone.

    Padding behind the sources is a text of its own, which no target sees; that behind the targets is seen by no text,
    since it comes last.

    Args: src_ids (B,S), tgt_ids (B,T), which both begin with a text
    """

    def __init__(self, src_ids: Tensor, tgt_ids: Tensor) -> None:
        ends, begins = (src_ids == EOS_ID).long(), (tgt_ids == SOS_ID).long()
        src, tgt = ends.cumsum(1) - ends, begins.cumsum(1) - 1  # the number of the text that each piece is of
        self.positions = {"encoder": positions(src), "decoder": positions(tgt)}
        self.masks = {"encoder.mask": (src, src), "decoder.mask": (tgt, tgt), "decoder.memory_mask": (tgt, src)}

    def __call__(self, name: str, value: Tensor) -> Tensor:
        stack, _, rest = name.partition(".")
        if rest == "embedding.positions":  # (T,d_model)
            return value[self.positions[stack]]
        if name not in self.masks:
            return value
        ask, answer = self.masks[name]
        same = (ask[:, :, None] == answer[:, None, :])[:, None]  # (B,1,T,S)
        return value & same if name == "decoder.mask" else same


def positions(texts: Tensor) -> Tensor:
    """Where each piece stands in its text, counted from 0. texts (B,T): the numbers of the texts, 0, 1, 2, …"""
    place = torch.arange(texts.size(1), device=texts.device)
    is_first = functional.pad(texts[:, 1:] != texts[:, :-1], (1, 0), value=True)
    return place - (place * is_first).cummax(1).values
