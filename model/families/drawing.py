"""A small decoder that draws: it reads a word, then writes a picture patch by patch, as a text is written."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from model.config import ModelConfig
from model.families.pictures import cut_into_patches

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")  # the first ids
SIZE, PATCH, N_CODES = 28, 4, 64  # pixels to a side, of a picture and of a patch; patches in the code book
N_PATCHES = (SIZE // PATCH) ** 2
FIRST_CODE = len(WORDS)  # the id of the first patch of the code book

CONFIG = ModelConfig(
    vocab_size=len(WORDS) + N_CODES,
    d_model=96,
    n_heads=4,
    n_layers=3,
    d_ff=384,
    max_len=N_PATCHES,  # the last patch is written, and never read
    dropout=0.0,
    positions="learned",
    norm_place="pre",
    activation="gelu_tanh",
    family="decoder_only",
)


def written(pictures: Tensor, codes: Tensor) -> Tensor:
    """Pictures as ids: for each patch the most similar one of the code book, row by row.

    Args:    pictures (B,28,28); codes (N_CODES,16)
    Returns: ids (B,49)
    Source:  van den Oord et al. 2017 (VQ-VAE), Eq. 1, on pixels in place of an encoder's output
    """
    patches = cut_into_patches(pictures, PATCH, PATCH)
    return FIRST_CODE + torch.cdist(patches, codes.expand(len(patches), -1, -1)).argmin(-1)


def picture_of(ids: Tensor, codes: Tensor) -> Tensor:
    """The pictures (B,28,28) that ids (B,49) stand for."""
    side = SIZE // PATCH
    patches = codes[ids - FIRST_CODE].unflatten(2, (PATCH, PATCH)).unflatten(1, (side, side))
    return patches.transpose(2, 3).flatten(3, 4).flatten(1, 2)


@torch.inference_mode()
def draw(
    network: nn.Module,
    words: Tensor,
    generator: torch.Generator,
    temperature: float = 1.0,
    forced: Mapping[int, int] | None = None,
) -> tuple[Tensor, Tensor]:
    """Draw what words ask for: each patch by lot, by its probability, and read again before the next.

    Args:    words (B), ids; temperature: below 1, what is probable is drawn more often; forced: by place, from 0, the
             id of a patch that is taken whatever was drawn
    Returns: ids (B,49); the probabilities that each was drawn from (B,49,N_CODES)
    """
    ids, chances = words[:, None], []
    for at in range(N_PATCHES):
        of_codes = (network(ids)[:, -1, FIRST_CODE:] / temperature).softmax(-1)
        drawn = FIRST_CODE + torch.multinomial(of_codes, 1, generator=generator)
        if forced and at in forced:
            drawn = torch.full_like(drawn, forced[at])
        chances.append(of_codes)
        ids = torch.cat([ids, drawn], 1)
    return ids[:, 1:], torch.stack(chances, 1)
