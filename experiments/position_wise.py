"""One row at a time: does a sub-layer need the other rows?"""

import torch

from model.interventions import Block
from model.trace import Array, Machine


@torch.inference_mode()
def each_row_alone(machine: Machine, block: Block, x: Array) -> Array:
    """What a sub-layer writes for each row of x if that row is all there is: T sequences of length 1.

    Args:    block: a feed-forward network or a self-attention; x (T,d_model), what it reads
    Returns: (T,d_model)
    """
    layer = getattr(machine.model, block.stack).layers[block.layer]
    rows = torch.tensor(x, device=machine.device.torch)[:, None]  # (T,1,d_model): T is the batch now
    written = layer.feed_forward(rows) if block.name == "feed_forward" else layer.self_attn(rows, rows)
    return written[:, 0].cpu().numpy()
