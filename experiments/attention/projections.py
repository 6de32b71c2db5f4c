"""One attention head that reads what it always reads, through other matrices than it has learned."""

import numpy as np
import torch
from torch import nn

from experiments.passes import Ids, forward
from model.files.loaded_model import Array, LoadedModel
from model.interventions import Head
from model.parts.attention import MultiHeadAttention
from model.tap import Recorder


@torch.inference_mode()
def weights_with_matrices(loaded: LoadedModel, src: Ids, tgt: Ids, head: Head, other: LoadedModel | None) -> Array:
    """Weights (T,S) of one head with W^Q and W^K of another model of the same shape; None: with no matrices at all.

    Its inputs and its mask are those of the first model, which reads src (S) and tgt (T).
    """
    tensors, anatomy = forward(loaded, src, tgt), loaded.anatomy
    path = anatomy.attention(head.attention, head.layer).path
    device = loaded.device.torch
    attention = other.model.get_submodule(path) if other else without_matrices(loaded)
    x, memory = (torch.tensor(tensors[anatomy.tensors[f"{path}.{letter}"].reads[0]][None]) for letter in "qk")
    allowed = torch.tensor(~np.isneginf(tensors[f"{path}.scores"]))[None]
    recorder = Recorder()
    attention.to(device)(x.to(device), memory.to(device), allowed.to(device), tap=recorder)
    weights: Array = recorder.tensors["weights"][0, head.head].cpu().numpy()
    return weights


def without_matrices(loaded: LoadedModel) -> MultiHeadAttention:
    """An attention of the model's size whose heads get their columns of X as they are."""
    attention = MultiHeadAttention(loaded.config.d_model, loaded.config.n_heads)
    for linear in (attention.w_q, attention.w_k, attention.w_v, attention.w_o):
        nn.init.eye_(linear.weight)
    return attention
