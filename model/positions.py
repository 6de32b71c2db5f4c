"""Positional encodings: without them self-attention cannot tell one word order from another."""

import torch
from torch import Tensor, nn

from model.tap import Tap, no_tap


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


class Positions(nn.Module):
    """How order gets into the model. A scheme overrides one of three methods; as they stand here, none does anything.

    embed:  absolute schemes add something to the embeddings
    rotate: rotary schemes turn queries and keys
    bias:   relative schemes add something to the scores
    """

    def embed(self, x: Tensor, start: int = 0, tap: Tap = no_tap) -> Tensor:
        """x (B,T,d_model), whose first row stands at position `start`."""
        return x

    def rotate(self, name: str, x: Tensor, start: int = 0, tap: Tap = no_tap) -> Tensor:
        """x (B,H,T,d_k), queries (name "q") or keys (name "k"), the first of them at position `start`."""
        return x

    def bias(self, n_queries: int, n_keys: int) -> Tensor | None:
        """What is added to the scaled products (H,T,S) of the newest T of S positions; None for nothing."""
        return None


class Sinusoidal(Positions):
    """Adds the sinusoidal encoding to the embeddings.

    Taps:    positions (T,d_model)
    Source:  Vaswani et al. 2017, §3.5
    """

    encoding: Tensor

    def __init__(self, max_len: int, d_model: int) -> None:
        super().__init__()
        # Computed, never learned, so it is not saved with the weights.
        self.register_buffer("encoding", sinusoidal_encoding(max_len, d_model), persistent=False)

    def embed(self, x: Tensor, start: int = 0, tap: Tap = no_tap) -> Tensor:
        """x (B,T,d_model) plus the encodings of positions start…start+T−1.

        Raises: ValueError, naming both numbers, beyond the prepared length
        """
        end = start + x.size(1)
        if end > len(self.encoding):
            raise ValueError(f"{end} tokens, but positions are prepared for {len(self.encoding)}")
        return x + tap("positions", self.encoding[start:end])


class Rotary(Positions):
    """Turns each pair of dimensions of a query or key at position m by m · θ_i, with θ_i = 10000^(−2i/d_k).

    The product of a turned query and a turned key then depends on their distance alone.

    Taps:    rotated_q, rotated_k (B,H,T,d_k)
    Source:  Su et al. 2021 (RoFormer), §3.2.2, Eq. 15 and 34. Differs: none
    """

    def rotate(self, name: str, x: Tensor, start: int = 0, tap: Tap = no_tap) -> Tensor:
        even = torch.arange(0, x.size(-1), 2, dtype=torch.float64)  # 2i
        position = torch.arange(start, start + x.size(-2), dtype=torch.float64)[:, None]
        angle = position / 10000 ** (even / x.size(-1))  # (T, d_k/2)
        cos, sin = angle.cos().to(x), angle.sin().to(x)
        first, second = x[..., 0::2], x[..., 1::2]
        turned = torch.stack([first * cos - second * sin, first * sin + second * cos], dim=-1)
        return tap(f"rotated_{name}", turned.flatten(-2))
