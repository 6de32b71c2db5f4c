"""Positional encodings: without them self-attention cannot tell one word order from another."""

import torch
from torch import Tensor, nn


def sinusoidal_encoding(length: int, d_model: int) -> Tensor:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos of the same angle.

    Args:    length (positions); d_model (an odd one ends in a sine without its cosine)
    Returns: (length, d_model) float32; row = position, counted from 0
    Source:  Vaswani et al. 2017, §3.5. Differs: none
    """
    position = torch.arange(length, dtype=torch.float64)[:, None]
    even = torch.arange(0, d_model, 2, dtype=torch.float64)  # 2i
    angle = position / 10000 ** (even / d_model)  # (length, ⌈d_model/2⌉)
    encoding = torch.empty(length, d_model, dtype=torch.float64)
    encoding[:, 0::2] = angle.sin()
    encoding[:, 1::2] = angle.cos()[:, : d_model // 2]
    return encoding.float()


class Sinusoidal(nn.Module):
    """Adds the sinusoidal encoding to the embeddings.

    A position scheme overrides one of three methods, each of which does nothing by default in other schemes:
    `embed` (absolute: added to embeddings), `rotate` (rotary: applied to q and k), `bias` (relative: added to scores).
    """

    encoding: Tensor

    def __init__(self, max_len: int, d_model: int) -> None:
        super().__init__()
        # Computed, never learned, so it is not saved with the weights.
        self.register_buffer("encoding", sinusoidal_encoding(max_len, d_model), persistent=False)

    def embed(self, length: int, start: int = 0) -> Tensor:
        """Encodings (T,d_model) of positions start…start+length−1.

        Raises: ValueError, naming both numbers, beyond the prepared length
        """
        if start + length > len(self.encoding):
            raise ValueError(f"{start + length} tokens, but positions are prepared for {len(self.encoding)}")
        return self.encoding[start : start + length]
