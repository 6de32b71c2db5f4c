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


def rotation(offset: float, d_model: int) -> Tensor:
    """The matrix M_c that moves every position by the same offset c: P(t + c) = M_c P(t), whatever t is.

    Each pair of dimensions turns by c / 10000^(2i/d_model), so M_c is a rotation: it changes no length.

    Args:    offset (positions, may be negative); d_model
    Returns: (d_model, d_model) float32
    Raises:  ValueError if d_model is odd: its last sine has no cosine to turn with
    Source:  Vaswani et al. 2017, §3.5 ("PE(pos+k) can be represented as a linear function of PE(pos)")
    """
    if d_model % 2:
        raise ValueError(f"d_model={d_model} is odd; sines and cosines come in pairs")
    even = torch.arange(0, d_model, 2)  # 2i, the sine of each pair; 2i+1 is its cosine
    angle = offset / 10000 ** (even.double() / d_model)
    matrix = torch.zeros(d_model, d_model, dtype=torch.float64)
    matrix[even, even] = matrix[even + 1, even + 1] = angle.cos()
    matrix[even, even + 1] = angle.sin()
    matrix[even + 1, even] = -angle.sin()
    return matrix.float()


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
