"""What the scores of query and key become when a whole text begins at another position."""

import math
from collections.abc import Sequence
from typing import Any

import torch

from model.files.loaded_model import Array, LoadedModel


@torch.inference_mode()
def moved_scores(loaded: LoadedModel, ids: Sequence[int], starts: Sequence[int]) -> Array:
    """The scores of the encoder's first self-attention, with what the position scheme adds to them.

    Args:    loaded: an encoder-decoder whose layers normalise after the sum; ids (T); starts: positions of the first
             token, counted from 0
    Returns: (starts,H,T,T)
    """
    network: Any = loaded.model
    tokens = torch.tensor([list(ids)], device=loaded.device.torch)
    attention = network.encoder.layers[0].self_attn
    scheme, scores = attention.positions, []
    for start in starts:
        x = network.embedding(tokens, start=start)
        q, k = (
            scheme.rotate(name, attention.split(project(x)), start)
            for name, project in (("q", attention.w_q), ("k", attention.w_k))
        )
        products, bias = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)), scheme.bias(len(ids), len(ids))
        scores.append(products[0] if bias is None else (products + bias)[0])
    moved: Array = torch.stack(scores).cpu().numpy()
    return moved
