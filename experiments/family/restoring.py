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
    tokens, text, written = map(tokenizer.tokens, (src, tgt, labels)), tokenizer.decode(ids), tokenizer.decode(labels)
    return Trace(loaded, text, 0, *tokens, forward(loaded, src, tgt), (), written, labels[-1] == EOS_ID)


def restored_together(loaded: LoadedModel, texts: tuple[Ids, ...]) -> list[list[int]]:
    """What is written greedily for each of many torn texts: ids."""
    return write_together(loaded.model, [[*ids, EOS_ID] for ids in texts])


def in_order(one: Sequence[int], other: Sequence[int]) -> dict[int, int]:
    """Where pieces of the other text stand in one: the longest run that both share, then on either side of it again."""
    blocks = SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    return {j + n: i + n for i, j, size in blocks for n in range(size)}
