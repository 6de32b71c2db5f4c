"""The blanks of a text that is read again and again: drawn as in training, once or anew at each pass."""

import functools
from typing import Any, NamedTuple

import numpy as np

from model.files.checkpoint import PROJECT, read_figures
from model.files.loaded_model import Array
from model.text.tokenizer import PAD_ID
from training.loop.text_rows import Masking, framed, masked

KEPT = PROJECT / "assets" / "labelled" / "again.json"  # the figures of `training.measure.again`
PASSES = 20
AS_PUBLISHED = Masking()

Ids = tuple[int, ...]


class Blanks(NamedTuple):
    """asked: which pieces are to be guessed, pass by pass (PASSES,N); read: the ids that stand there then (PASSES,N)"""

    asked: Array
    read: Array


def drawn_anew(ids: Ids, vocab_size: int, seed: int) -> Blanks:
    """The blanks of PASSES passes over a text (its N ids without marks).

    Source: Devlin et al. 2018, §3.1, for one draw; Liu et al. 2019 (RoBERTa), §4.1, for new ones. Differs: each piece
            is drawn by itself
    """
    row, rng = framed(np.array(ids, dtype=np.uint16)), np.random.default_rng(seed)
    passes = [masked([row], vocab_size, rng, AS_PUBLISHED)[0] for _ in range(PASSES)]
    return Blanks(
        np.array([labels[1:-1] != PAD_ID for _, _, labels, _ in passes]), np.array([read[1:-1] for read, *_ in passes])
    )


def drawn_once(anew: Blanks) -> Blanks:
    """Those of the first pass, every time."""
    return Blanks(*(np.repeat(part[:1], PASSES, axis=0) for part in anew))


def first_to_ask(ids: Ids, vocab_size: int) -> int:
    """A seed whose first pass asks for a piece: the first from one on that the text itself gives."""
    own = 1 + sum(ids) % 997
    return next(seed for seed in range(own, own + 1000) if drawn_anew(ids, vocab_size, seed).asked[0].any())


@functools.cache
def figures_of_four() -> dict[str, Any]:
    """What was measured of four small BERTs that read a text about PASSES times. Raises: CheckpointError"""
    return read_figures(KEPT)
