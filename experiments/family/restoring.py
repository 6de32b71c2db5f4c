"""Restoring a torn text: what an encoder-decoder writes for pieces of which some are masked, gone or moved."""

from collections.abc import Sequence
from difflib import SequenceMatcher

from experiments.passes import forward
from experiments.writing.batched_translation import write_together
from model.files.loaded_model import LoadedModel
from model.text.tokenizer import EOS_ID, SOS_ID
from model.trace import Trace

Ids = tuple[int, ...]


def restored(loaded: LoadedModel, texts: tuple[Ids, ...], most: int) -> list[Trace]:
    """What is written greedily, up to `most` pieces, for each of some torn texts (ids, no mark), with its pass."""
    tokens, decode, traces = loaded.tokenizer.tokens, loaded.tokenizer.decode, []
    for ids, labels in zip(texts, restored_together(loaded, texts, most), strict=True):
        src, tgt = (*ids, EOS_ID), (SOS_ID, *labels[:-1])
        sides, tensors = (tokens(src), tokens(tgt), tokens(labels)), forward(loaded, src, tgt)
        traces.append(Trace(loaded, decode(ids), 0, *sides, tensors, (), decode(labels), labels[-1] == EOS_ID))
    return traces


def restored_together(loaded: LoadedModel, texts: tuple[Ids, ...], most: int) -> list[list[int]]:
    """The ids alone."""
    return [written[:most] for written in write_together(loaded.model, [[*ids, EOS_ID] for ids in texts])]


def in_order(one: Sequence[int], other: Sequence[int]) -> dict[int, int]:
    """Where pieces of the other text stand in one: the longest run that both share, then on either side of it again."""
    blocks = SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    return {j + n: i + n for i, j, size in blocks for n in range(size)}
