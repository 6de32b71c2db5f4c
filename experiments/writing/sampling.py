"""What sampling draws from at one step of a decoding."""

import torch

from model.decoding.strategies import filter_logits, mask_special_tokens
from model.files.loaded_model import Array
from model.trace import Trace


def narrowed_at(writing: Trace, step: int, temperature: float, top_k: int, top_p: float) -> tuple[Array, Array]:
    """The model's probabilities (V) of a step, and what sampling draws from."""
    row = mask_special_tokens(torch.from_numpy(writing.tensors["logits"][step : step + 1].copy()))[0]
    return row.exp().numpy(), filter_logits(row, temperature, top_k, top_p).numpy()
