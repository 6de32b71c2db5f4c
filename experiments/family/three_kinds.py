"""One text in the hands of three kinds of model: what each may see, and what each says of one place in it."""

from collections.abc import Sequence

import numpy as np
import torch

from model.files.loaded_model import Array, LoadedModel
from model.text.tokenizer import SOS_ID
from model.trace import Trace

Ids = tuple[int, ...]


@torch.inference_mode()
def scores_from_the_left(loaded: LoadedModel, ids: Ids, gap: int) -> Array:
    """What a decoder alone that reads all tokens scores each entry (V) with, at one place."""
    tgt_ids = torch.tensor([[SOS_ID, *ids]], device=loaded.device.torch)
    return np.asarray(loaded.model(tgt_ids)[0, gap].cpu().numpy())


def may_see(reading: Trace, kinds: Sequence[str], most: int) -> np.ndarray:
    """Which rows see which columns in the first layer, as the scores of attention have it: boolean.

    Args: kinds: of attention: one, or "encoder", "decoder" and "cross", whose rows and columns then follow each other:
          first those of the source, then those of the target; most: rows of each
    """
    seen = {kind: ~np.isneginf(reading.attention(kind, 0, "scores")[0])[:most, :most] for kind in kinds}
    if len(kinds) == 1:
        return seen[kinds[0]]
    source, target, cross = (seen[kind] for kind in ("encoder", "decoder", "cross"))
    return np.block([[source, np.zeros((len(source), target.shape[1]), bool)], [cross, target]])
