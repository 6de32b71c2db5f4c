"""Restoring a torn text: what an encoder-decoder writes for pieces of which some are masked, gone or moved."""

from collections.abc import Sequence
from difflib import SequenceMatcher

from experiments.passes import forward
from experiments.writing.batched_translation import write_together
from model.files.loaded_model import LoadedModel
from model.text.tokenizer import EOS_ID, SOS_ID
from model.trace import Trace

Ids = tuple[int, ...]


def restored(loaded: LoadedModel, ids: Ids, most: int) -> Trace:
    """What is written greedily, up to `most` pieces, for a torn text (its ids without a mark), every number kept."""
    src, labels = (*ids, EOS_ID), restored_together(loaded, (ids,), most)[0]
    tgt, tokenizer = (SOS_ID, *labels[:-1]), loaded.tokenizer
    tokens, text, written = map(tokenizer.tokens, (src, tgt, labels)), tokenizer.decode(ids), tokenizer.decode(labels)
    return Trace(loaded, text, 0, *tokens, forward(loaded, src, tgt), (), written, labels[-1] == EOS_ID)


def restored_together(loaded: LoadedModel, texts: tuple[Ids, ...], most: int) -> list[list[int]]:
    """The ids of what is written for each of many torn texts."""
    return [written[:most] for written in write_together(loaded.model, [[*ids, EOS_ID] for ids in texts])]


def in_order(one: Sequence[int], other: Sequence[int]) -> dict[int, int]:
    """Where pieces of the other text stand in one: the longest run that both share, then on either side of it again."""
    blocks = SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    return {j + n: i + n for i, j, size in blocks for n in range(size)}
