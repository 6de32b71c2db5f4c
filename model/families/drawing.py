"""A small decoder that draws, and answers: patches of a picture and words stand in one row, as words of a text do.

It reads a word and writes a picture, patch by patch; or it reads patches and a question, and writes the answer.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from model.config import ModelConfig
from model.families.pictures import cut_into_patches

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")  # the first ids
SIZE, PATCH, N_CODES = 28, 4, 64  # pixels to a side, of a picture and of a patch; patches in the code book
N_PATCHES = (SIZE // PATCH) ** 2
FIRST_CODE = len(WORDS)  # the id of the first patch of the code book
LOOK = FIRST_CODE + N_CODES  # stands before patches that a question is asked about
QUESTIONS = ("even?", "above five?", "a multiple of three?")
FIRST_QUESTION = LOOK + 1
ANSWERS = ("no", "yes")
FIRST_ANSWER = FIRST_QUESTION + len(QUESTIONS)
YES = ({0, 2, 4, 6, 8}, {6, 7, 8, 9}, {0, 3, 6, 9})  # for each question: the digits for which it is answered so

CONFIG = ModelConfig(
    vocab_size=FIRST_ANSWER + len(ANSWERS),
    d_model=96,
    n_heads=4,
    n_layers=3,
    d_ff=384,
    max_len=1 + N_PATCHES + 1,  # what stands before the patches, and a question behind them
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
    network: Callable[[Tensor], Tensor],
    words: Tensor,
    generator: torch.Generator,
    temperature: float = 1.0,
    forced: Mapping[int, int] | None = None,
) -> tuple[Tensor, Tensor]:
    """Draw what words ask for: each patch by lot, by its probability, and read again before the next.

    Args:    network: ids (B,T) in, logits (B,T,V) out; words (B), ids; temperature: below 1, what is probable is drawn
             more often; forced: by place, from 0, the id of a patch that is taken whatever was drawn
    Returns: ids (B,49); the probabilities that each was drawn from (B,49,N_CODES)
    """
    ids, chances = words[:, None], []
    for at in range(N_PATCHES):
        of_codes = (network(ids)[:, -1, FIRST_CODE:LOOK] / temperature).softmax(-1)
        drawn = FIRST_CODE + torch.multinomial(of_codes, 1, generator=generator)
        if forced and at in forced:
            drawn = torch.full_like(drawn, forced[at])
        chances.append(of_codes)
        ids = torch.cat([ids, drawn], 1)
    return ids[:, 1:], torch.stack(chances, 1)


@torch.inference_mode()
def says_yes(network: Callable[[Tensor], Tensor], patches: Tensor) -> Tensor:
    """How likely the answer to each question is yes, rather than no, for pictures of which so much is seen.

    Args:    patches (B,n), ids; n from 0 to 49
    Returns: (B,3)
    Source:  Liu et al. 2023 (LLaVA), §4.1: patches and words in one row. Differs: patches are ids here, not vectors
    """
    before = torch.full((len(patches), 1), LOOK)
    found = []
    for question in range(FIRST_QUESTION, FIRST_ANSWER):
        ids = torch.cat([before, patches, torch.full_like(before, question)], 1)
        found.append(network(ids)[:, -1, FIRST_ANSWER:].softmax(-1)[:, 1])
    return torch.stack(found, 1)
