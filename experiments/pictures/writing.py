"""Pictures that are written patch by patch: a drawing from a seed, and what is answered about patches."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from model.families.drawing import FIRST_CODE, N_PATCHES, draw, picture_of, says_yes, written
from model.files.load_drawing import code_book
from model.files.loaded_model import Array, LoadedModel


@dataclass(frozen=True)
class Drawing:
    """ids: of its patches (49); chances: the probabilities that each was drawn from (49,64)"""

    word: int
    ids: tuple[int, ...]
    chances: Array

    def picture(self, n: int = N_PATCHES) -> Array:
        """Its first n patches (28,28); what is not drawn yet is paper."""
        ids = torch.tensor([self.ids])
        ids[:, n:] = FIRST_CODE  # paper
        return np.asarray(picture_of(ids, code_book())[0].numpy())


def _network(loaded: LoadedModel) -> Callable[[Tensor], Tensor]:
    """Wherever it computes: seeds draw the same numbers on the processor alone."""
    return lambda ids: loaded.model(ids.to(loaded.device.torch)).cpu()


def drawing(
    loaded: LoadedModel, word: int, seed: int, temperature: float = 1.0, forced: tuple[int, int] | None = None
) -> Drawing:
    """A picture of a word; forced: a place, from 0, and the id that stands there whatever is drawn"""
    generator = torch.Generator().manual_seed(seed)
    fixed = dict([forced] if forced else [])
    ids, chances = draw(_network(loaded), torch.tensor([word]), generator, temperature, fixed)
    return Drawing(word, tuple(ids[0].tolist()), chances[0].numpy())


def answers(loaded: LoadedModel, patches: tuple[int, ...]) -> Array:
    """How likely the answer to each question is yes (3), when it is asked about these patches."""
    return np.asarray(says_yes(_network(loaded), torch.tensor([patches], dtype=torch.long))[0].numpy())


def in_patches(picture: Array) -> tuple[int, ...]:
    """A picture (28,28) in the words of the code book, ids (49)."""
    return tuple(written(torch.from_numpy(picture)[None].float(), code_book())[0].tolist())


def picture_in_codes(picture: Array) -> Array:
    """A picture (28,28) as the code book can write it."""
    return np.asarray(picture_of(torch.tensor([in_patches(picture)]), code_book())[0].numpy())
