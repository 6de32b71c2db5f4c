"""One row at a time: does a sub-layer need the other rows?"""

import torch

from model.files.loaded_model import Array, LoadedModel
from model.interventions import Block


@torch.inference_mode()
def each_row_alone(loaded: LoadedModel, block: Block, x: Array) -> Array:
    """What a sub-layer writes for each row of x if that row is all there is: T sequences of length 1.

    Args:    block: a feed-forward network or a self-attention; x (T,d_model), what it reads
    Returns: (T,d_model)
    """
    sublayer = loaded.anatomy.sublayer(block.stack, block.layer, block.name)
    module = loaded.model.get_submodule(sublayer.path)
    rows = torch.tensor(x, device=loaded.device.torch)[:, None]  # (T,1,d_model): T is the batch now
    written = module(rows) if sublayer.kind == "feed_forward" else module(rows, rows)
    return written[:, 0].cpu().numpy()
