"""Positional encodings: without them self-attention cannot tell one word order from another."""

import math

import torch
from torch import Tensor, nn

from model.anatomy.describe import Scribe, describe
from model.tap import Tap, no_tap

N_BUCKETS, MAX_DISTANCE = 32, 128  # T5's


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

    embed:   absolute schemes add something to the embeddings
    rotate:  rotary schemes turn queries and keys
    bias:    relative schemes add something to the scores
    max_len: the longest sequence, in tokens, that the scheme takes; None if it takes any
    """

    max_len: int | None = None

    def embed(self, x: Tensor, start: int = 0, tap: Tap = no_tap) -> Tensor:
        """x (B,T,d_model), whose first row stands at position `start`."""
        return x

    def rotate(self, name: str, x: Tensor, start: int = 0, tap: Tap = no_tap) -> Tensor:
        """x (B,H,T,d_k), queries (name "q") or keys (name "k"), the first of them at position `start`."""
        return x

    def bias(self, n_queries: int, n_keys: int, tap: Tap = no_tap) -> Tensor | None:
        """What is added to the scaled products, (1,H,T,S), of the newest T of S positions; None for nothing."""
        return None


class Sinusoidal(Positions):
    """Adds the sinusoidal encoding to the embeddings.

    Taps:    positions (T,d_model)
    Source:  Vaswani et al. 2017, §3.5. Differs: the first `max_len` rows are computed beforehand
    """

    encoding: Tensor

    def __init__(self, max_len: int, d_model: int) -> None:
        super().__init__()
        # Computed, never learned, so it is not saved with the weights.
        self.register_buffer("encoding", sinusoidal_encoding(max_len, d_model), persistent=False)

    def embed(self, x: Tensor, start: int = 0, tap: Tap = no_tap) -> Tensor:
        """x (B,T,d_model) plus the encodings of positions start…start+T−1."""
        end = start + x.size(1)
        encoding = self.encoding
        if end > len(encoding):  # the formula goes on without end
            encoding = sinusoidal_encoding(end, x.size(-1)).to(encoding)
        return x + tap("positions", encoding[start:end])


class Learned(Positions):
    """Adds a learned vector for each position to the embeddings: a row of a table that ends at `max_len`.

    Taps:    positions (T,d_model)
    Source:  Gehring et al. 2017 (ConvS2S), §3.1; Devlin et al. 2018 (BERT), §3, Figure 2; begun as BERT's, with a
             deviation of 0.02. Differs: encoder and decoder share one table, as they share the embedding matrix
    """

    def __init__(self, max_len: int, d_model: int) -> None:
        super().__init__()
        self.max_len = max_len
        self.table = nn.Embedding(max_len, d_model)
        nn.init.normal_(self.table.weight, std=0.02)

    def embed(self, x: Tensor, start: int = 0, tap: Tap = no_tap) -> Tensor:
        """x (B,T,d_model) plus rows start…start+T−1 of the table.

        Raises: ValueError, naming both numbers, where the table has no row
        """
        end, n_rows = start + x.size(1), self.table.num_embeddings
        if end > n_rows:
            raise ValueError(f"{end} tokens, but this model has learned a vector for {n_rows} positions only")
        return x + tap("positions", self.table(torch.arange(start, end, device=x.device)))


class Rotary(Positions):
    """Turns each pair of dimensions of a query or key at position m by m · θ_i, with θ_i = 10000^(−2i/d_k).

    The product of a turned query and a turned key then depends on their distance alone.

    Taps:    rotated_q, rotated_k (B,H,T,d_k)
    Source:  Su et al. 2021 (RoFormer), §3.2.2, Eq. 15 and 34. Differs: none
    """

    def rotate(self, name: str, x: Tensor, start: int = 0, tap: Tap = no_tap) -> Tensor:
        """Raises: ValueError if d_k is odd"""
        if x.size(-1) % 2:
            raise ValueError(f"d_k={x.size(-1)} is odd; rotary positions turn pairs of dimensions")
        even = torch.arange(0, x.size(-1), 2, dtype=torch.float64)  # 2i
        position = torch.arange(start, start + x.size(-2), dtype=torch.float64)[:, None]
        angle = position / 10000 ** (even / x.size(-1))  # (T, d_k/2)
        cos, sin = angle.cos().to(x), angle.sin().to(x)
        first, second = x[..., 0::2], x[..., 1::2]
        rotated = torch.stack([first * cos - second * sin, first * sin + second * cos], dim=-1)
        return tap(f"rotated_{name}", rotated.flatten(-2))


def relative_bucket(offset: Tensor, causal: bool) -> Tensor:
    """T5's bucket of each offset: near ones have a bucket of their own, farther ones share.

    Half of the buckets stand for one offset each. The other half grow, from that offset to MAX_DISTANCE, by the same
    factor each; the last takes all that is farther. Without a causal mask, one half of all buckets is for keys to the
    left, the other for keys to the right.

    Args:    offset (any shape): position of the key minus that of the query; causal: no key stands to the right
    Returns: bucket, from 0 to N_BUCKETS − 1
    Source:  Raffel et al. 2020 (T5), §2.1; the formula is that of its published code. Differs: none
    """
    n_buckets = N_BUCKETS if causal else N_BUCKETS // 2
    first = torch.zeros_like(offset) if causal else n_buckets * (offset > 0)
    distance = (-offset).clamp(min=0) if causal else offset.abs()
    n_exact = n_buckets // 2
    # Base 2: powers of two, which begin a bucket, then come out exact.
    # (On the CPU, since not every device knows such precise numbers.)
    grown = torch.log2(distance.clamp(min=1).cpu().double() / n_exact) / math.log2(MAX_DISTANCE / n_exact)
    shared = (n_exact + (grown * (n_buckets - n_exact)).long()).to(distance.device)
    return first + torch.where(distance < n_exact, distance, shared.clamp(max=n_buckets - 1))


def bucket_of(offset: int, causal: bool) -> int:
    """The bucket of one offset, as a number."""
    return int(relative_bucket(torch.tensor(offset), causal))


class RelativeBias(Positions):
    """Adds a learned number to each score, one for each head and bucket of distances.

    causal: for an attention in which no key stands to the right of its query, so that all buckets look to the left

    Taps:    bias (1,H,T,S); biased (B,H,T,S): the scores with it
    Source:  Raffel et al. 2020 (T5), §2.1. Differs: each layer learns its own table (T5 shares one among the layers of
             a stack); the scores that it is added to are divided by √d_k (T5 does not divide)
    """

    def __init__(self, n_heads: int, causal: bool) -> None:
        super().__init__()
        self.causal = causal
        self.table = nn.Embedding(N_BUCKETS, n_heads)
        nn.init.normal_(self.table.weight, std=0.02)

    def bias(self, n_queries: int, n_keys: int, tap: Tap = no_tap) -> Tensor:
        key = torch.arange(n_keys, device=self.table.weight.device)
        query = key[n_keys - n_queries :, None]
        numbers = self.table(relative_bucket(key - query, self.causal))  # (T,S,H)
        return tap("bias", numbers.permute(2, 0, 1)[None])


def offset_rows(window: int) -> Tensor:
    """For two places of a square window, the row of a table that stands for how far apart they lie, down and across.

    Args:    window (M): patches to its side
    Returns: (M²,M²), of a query and a key, from 0 to (2M−1)² − 1
    Source:  Liu et al. 2021 (Swin), §3.2, "Relative position bias"
    """
    row, column = torch.arange(window**2) // window, torch.arange(window**2) % window
    down, across = (at[:, None] - at + window - 1 for at in (row, column))
    return (2 * window - 1) * down + across


class GridBias(Positions):
    """Adds a learned number to each score, one for each head and each way, in rows and columns, from key to query.

    Taps:    bias (1,H,M²,M²); biased (B,H,T,M²): the scores with it
    Source:  Liu et al. 2021 (Swin), §3.2, Eq. 4. Differs: none
    """

    rows: Tensor

    def __init__(self, n_heads: int, window: int) -> None:
        super().__init__()
        self.window = window
        self.table = nn.Embedding((2 * window - 1) ** 2, n_heads)
        nn.init.normal_(self.table.weight, std=0.02)
        self.register_buffer("rows", offset_rows(window), persistent=False)

    def bias(self, n_queries: int, n_keys: int, tap: Tap = no_tap) -> Tensor:
        return tap("bias", self.table(self.rows).permute(2, 0, 1)[None])


def alibi_slopes(n_heads: int) -> tuple[float, ...]:
    """The slope of each head: from 2^(−8/n) on, each the same factor smaller, down to 2^−8.

    Args:    n_heads (n); where it is no power of two, the slopes of the power below come first, then every second one
             of the power above, as many as are missing
    Source:  Press et al. 2022 (ALiBi), §3; the rule for other numbers of heads is that of their published code
    """
    power = 2 ** int(math.log2(n_heads))
    slopes = [2 ** (-8 * n / power) for n in range(1, power + 1)]
    more = [2 ** (-4 * n / power) for n in range(1, 2 * (n_heads - power), 2)]
    return (*slopes, *more)


class Alibi(Positions):
    """Takes something off each score for the distance between query and key: a slope times it, each head its own.

    Taps:    bias (1,H,T,S); biased (B,H,T,S): the scores with it
    Source:  Press et al. 2022 (ALiBi), §3. Differs: the paper has causal attention alone; where a query sees both
             sides, as in an encoder, the distance counts the same to the left and to the right, so that a text and its
             mirror image are alike to it
    """

    slopes: Tensor

    def __init__(self, n_heads: int) -> None:
        super().__init__()
        self.register_buffer("slopes", torch.tensor(alibi_slopes(n_heads)), persistent=False)

    def bias(self, n_queries: int, n_keys: int, tap: Tap = no_tap) -> Tensor:
        key = torch.arange(n_keys, device=self.slopes.device)
        distance = (key - key[n_keys - n_queries :, None]).abs()
        return tap("bias", (-self.slopes[:, None, None] * distance)[None])


# A description is asked once for each place where a scheme may work, and told by `scribe.writes` which: "positions" in
# the embedding, "rotated_q" and "rotated_k", "biased" for the scores. Where the scheme does nothing it returns x.


@describe.register
def _(module: Positions, scribe: Scribe, x: str) -> str:
    return x


@describe.register
def _(module: Sinusoidal, scribe: Scribe, x: str) -> str:
    return scribe.made("positions", "sinusoid") if scribe.writes == "positions" else x


@describe.register
def _(module: Learned, scribe: Scribe, x: str) -> str:
    return (
        scribe.made("positions", "learned_position", weights=("table.weight",)) if scribe.writes == "positions" else x
    )


@describe.register
def _(module: Rotary, scribe: Scribe, x: str) -> str:
    is_rotated = scribe.writes in ("rotated_q", "rotated_k")
    return scribe.made(scribe.writes, "rotate", x, axes=scribe.axes(x)) if is_rotated else x


@describe.register
def _(module: RelativeBias, scribe: Scribe, x: str) -> str:
    if scribe.writes != "biased":
        return x
    axes, constants = scribe.axes(x), (float(module.causal),)
    bias = scribe.made("bias", "bias_of_bucket", weights=("table.weight",), axes=axes, constants=constants)
    return scribe.made("biased", "add_bias", x, bias, axes=axes)


@describe.register
def _(module: Alibi, scribe: Scribe, x: str) -> str:
    if scribe.writes != "biased":
        return x
    axes = scribe.axes(x)
    bias = scribe.made("bias", "bias_of_distance", axes=axes, constants=alibi_slopes(len(module.slopes)))
    return scribe.made("biased", "add_bias", x, bias, axes=axes)


@describe.register
def _(module: GridBias, scribe: Scribe, x: str) -> str:
    if scribe.writes != "biased":
        return x
    axes, constants = scribe.axes(x), (float(module.window),)
    of_places = (axes[0], axes[2], axes[2])
    bias = scribe.made("bias", "bias_of_way", weights=("table.weight",), axes=of_places, constants=constants)
    return scribe.made("biased", "add_bias_of_way", x, bias, axes=axes)
