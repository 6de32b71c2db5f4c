"""Swapped tokens: what ELECTRA's small generator puts into a text, and whether the discriminator notices."""

import numpy as np
import torch

from figures.statistics import softmax
from model.files.loaded_model import LoadedModel
from model.text.tokenizer import CLS_ID, MASK_ID, SEP_ID

FORTH_AND_BACK = 3  # a training step costs so many times what going forwards costs

Ids = tuple[int, ...]


@torch.inference_mode()
def suspected(loaded: LoadedModel, texts: tuple[Ids, ...]) -> np.ndarray:
    """How likely a discriminator finds it that each token was swapped.

    Args:    texts: without their marks, all of one length
    Returns: (texts,length), from 0 to 1
    """
    src_ids = torch.tensor([[CLS_ID, *ids, SEP_ID] for ids in texts], device=loaded.device.torch)
    return np.asarray(loaded.model(src_ids)[:, 1:-1, 0].cpu().double().sigmoid().numpy())


@torch.inference_mode()
def filled_in(loaded: LoadedModel, ids: Ids, places: Ids, temperature: float, seed: int) -> Ids:
    """A text in which a generator fills in some places, all hidden at once, each drawn by its probabilities.

    Args: ids: without marks; places: of the hidden tokens; temperature and seed: of the draws
    """
    src_ids = torch.tensor([[CLS_ID, *ids, SEP_ID]], device=loaded.device.torch)
    asked = torch.zeros(src_ids.shape, dtype=torch.bool, device=loaded.device.torch)
    asked[0, [place + 1 for place in places]] = True
    src_ids[asked] = MASK_ID
    logits = loaded.model(src_ids, None, asked)[0].cpu().double().numpy()
    chances, filled = softmax(logits / temperature), list(ids)
    for place, row, at in zip(sorted(places), chances, np.random.default_rng(seed).random(len(places)), strict=True):
        filled[place] = int(min((row.cumsum() < at).sum(), len(row) - 1))
    return tuple(filled)


def forwards(loaded: LoadedModel, hidden: float) -> float:
    """FLOPs of the products with weights that a piece costs an encoder alone on the way forwards.

    The head that guesses pieces works for the share of `hidden` ones alone. Products of queries with keys, and of
    weights with values, are left out.
    """
    each = {name: weight.size for name, weight in loaded.weights.items() if weight.ndim == 2}
    for_all = sum(size for name, size in each.items() if name.startswith(("encoder.", "replaced.")))
    of_a_guess = each["embedding.matrix.weight"] + each.get("masked_token.transform.weight", 0)
    return 2 * (for_all + hidden * of_a_guess)  # a product and a sum for each weight
