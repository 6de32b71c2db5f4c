"""Restoring a torn text: what an encoder-decoder writes for pieces of which some are masked, gone or moved."""

from collections.abc import Sequence
from difflib import SequenceMatcher

import torch

from experiments.passes import forward
from experiments.writing.batched_translation import write_together
from model.decoding.strategies import Greedy, NextToken, decoding_steps
from model.files.loaded_model import LoadedModel
from model.text.tokenizer import EOS_ID, SOS_ID
from model.trace import Trace

Ids = tuple[int, ...]


@torch.inference_mode()
def restored(loaded: LoadedModel, ids: Ids, most: int) -> Trace:
    """What is written greedily, up to `most` pieces, for a torn text (its ids without a mark), every number kept."""
    src, tokenizer = (*ids, EOS_ID), loaded.tokenizer
    memory = loaded.model.encode(torch.tensor([src], device=loaded.device.torch))
    *_, last = decoding_steps(NextToken(loaded.model, memory), Greedy(most))
    labels = last.best.ids
    tgt = (SOS_ID, *labels[:-1])
    return Trace(
        model=loaded,
        text=tokenizer.decode(ids),
        n_cut=0,
        src=tokenizer.tokens(src),
        tgt=tokenizer.tokens(tgt),
        labels=tokenizer.tokens(labels),
        tensors=forward(loaded, src, tgt),
        steps=(),
        translation=tokenizer.decode(labels),
        finished=labels[-1] == EOS_ID,
    )


def restored_together(loaded: LoadedModel, texts: tuple[Ids, ...]) -> list[list[int]]:
    """What is written greedily for each of many torn texts: ids without a mark."""
    written = write_together(loaded.model, [[*ids, EOS_ID] for ids in texts])
    return [ids[:-1] if ids[-1] == EOS_ID else ids for ids in written]


def in_order(one: Sequence[int], other: Sequence[int]) -> list[tuple[int, int]]:
    """Places of the pieces that two texts share in one order: the longest stretch, then on either side of it again."""
    blocks = SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    return [(i + n, j + n) for i, j, size in blocks for n in range(size)]
