"""Attention that never makes the square of all pairs: within a window, or through a state that all keys share."""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import elu, pad

from model.anatomy.describe import Scribe, describe
from model.parts.attention import MultiHeadAttention, describe_joined, describe_projections
from model.parts.positions import Positions
from model.tap import Tap, no_tap

Map = Callable[[Tensor], Tensor]


def windowed_attention(
    q: Tensor, k: Tensor, v: Tensor, reach: int, mask: Tensor | None = None, tap: Tap = no_tap
) -> Tensor:
    """Softmax attention to the keys at most `reach` positions away: W = 2·reach + 1 scores a query, in any text.

    Args:    q (B,H,T,d_k), the newest T of S positions; k, v (B,H,S,d_k); reach (positions to either side);
             mask broadcastable to (B,H,T,S), True = may attend
    Returns: heads (B,H,T,d_k); a query that may see nothing, such as padding among padding, gets zeros
             (in column c of what passes the tap: the key at c − reach from the query)
    Taps:    products, scaled, scores, weights (B,H,T,W); heads (B,H,T,d_k)
    Source:  Beltagy et al. 2020 (Longformer), §3.1, and as "local" in Child et al. 2019, §4. Differs: one width in all
             layers, no position sees all
    """
    n_queries, n_keys, width = q.size(-2), k.size(-2), 2 * reach + 1
    # Views (B,H,T,d_k,W) of one padded copy: neighbours share their keys.
    keys, values = (pad(x, (0, 0, reach, reach)).unfold(-2, width, 1)[..., -n_queries:, :, :] for x in (k, v))
    query = torch.arange(n_keys - n_queries, n_keys, device=q.device)[:, None]
    place = query + torch.arange(-reach, reach + 1, device=q.device)  # (T,W), of each key
    seen = (place >= 0) & (place < n_keys)
    if mask is not None:
        rows = mask.expand(*mask.shape[:-2], n_queries, n_keys)
        seen = seen & rows.gather(-1, place.clamp(0, n_keys - 1).expand(*rows.shape[:-1], width))
    products = tap("products", (q[..., None, :] @ keys).squeeze(-2))  # (B,H,T,W)
    scaled = tap("scaled", products / math.sqrt(q.size(-1)))
    is_empty = ~seen.any(-1, keepdim=True)  # a softmax of −∞ alone is no number
    scores = tap("scores", torch.where(seen | is_empty, scaled, -math.inf))
    weights = tap("weights", scores.softmax(-1).masked_fill(is_empty, 0))
    return tap("heads", (weights[..., None, :] @ values.transpose(-2, -1)).squeeze(-2))  # (B,H,T,d_k)


def features(x: Tensor) -> Tensor:
    """φ(x) = elu(x) + 1: positive, so that products of two of them can be shares (Katharopoulos et al. 2020, Eq. 7)."""
    return elu(x) + 1


def exponential(x: Tensor) -> Tensor:
    """φ(x) = eˣ: positive too, and as steep as softmax for large x (Zhang et al. 2024, Hedgehog, §4.2, without −x)."""
    return x.exp()


def linear_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, tap: Tap = no_tap, phi: Map = features
) -> Tensor:
    """Attention with φ(q)·φ(k) in place of e^(q·k): all keys and values are summed once, and every query reads the sum.

    Args:    q (B,H,T,d_k); k, v (B,H,S,d_k); mask (B,1,1,S), True = may be attended to; phi: φ
    Returns: heads (B,H,T,d_k)
    Taps:    features_q (B,H,T,d_k); features_k (B,H,S,d_k); state (B,H,d_k,d_k); total (B,H,1,d_k); heads (B,H,T,d_k)
    Source:  Katharopoulos et al. 2020, §3.2, Eq. 5 and 6. Differs: none
    """
    queries, keys = _mapped(q, k, mask, tap, phi)
    state = tap("state", keys.transpose(-2, -1) @ v)  # (B,H,d_k,d_k)
    total = tap("total", keys.sum(-2, keepdim=True))  # (B,H,1,d_k)
    return tap("heads", (queries @ state) / (queries * total).sum(-1, keepdim=True))


def causal_linear_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, tap: Tap = no_tap, phi: Map = features
) -> Tensor:
    """Linear attention as a recurrent network: the state gains one key and value a position, and its query reads it.

    Args:    q (B,H,T,d_k), the newest T of S positions; k, v (B,H,S,d_k);
             mask broadcastable to (B,1,T,S): what the last query may see, all before it may see up to themselves;
             phi: φ
    Returns: heads (B,H,T,d_k)
    Taps:    features_q (B,H,T,d_k); features_k (B,H,S,d_k); state (B,H,T,d_k,d_k); total (B,H,T,d_k);
             heads (B,H,T,d_k)
    Source:  Katharopoulos et al. 2020, §3.3 and 3.4, Eq. 16 to 20. Differs: all states are kept, for a learner to see
    """
    queries, keys = _mapped(q, k, mask, tap, phi)
    newest = slice(k.size(-2) - q.size(-2), None)
    gained = keys[..., :, None] * v[..., None, :]  # (B,H,S,d_k,d_k)
    state = tap("state", gained.cumsum(-3)[..., newest, :, :])  # each is the one before and what its position gained
    total = tap("total", keys.cumsum(-2)[..., newest, :])
    read = (queries[..., None, :] @ state).squeeze(-2)
    return tap("heads", read / (queries * total).sum(-1, keepdim=True))


def causal_linear_as_matrix(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, phi: Map = features) -> Tensor:
    """The same from the square of all pairs: more work in a long text, but no step waits for the one before.

    Args:    as causal_linear_attention
    Returns: heads (B,H,T,d_k)
    Source:  Katharopoulos et al. 2020, §3.2, Eq. 4, and 3.3. Differs: none
    """
    queries, keys = _mapped(q, k, mask, no_tap, phi)
    shares = (queries @ keys.transpose(-2, -1)).tril(k.size(-2) - q.size(-2))  # (B,H,T,S)
    return (shares @ v) / shares.sum(-1, keepdim=True)


def _mapped(q: Tensor, k: Tensor, mask: Tensor | None, tap: Tap, phi: Map) -> tuple[Tensor, Tensor]:
    """The features of queries and keys; those of keys that nobody may attend to are 0."""
    queries, keys = tap("features_q", phi(q)), phi(k)
    if mask is not None:
        keys = keys * mask[..., -1, :, None]
    return queries, tap("features_k", keys)


class WindowedAttention(MultiHeadAttention):
    """Multi-head attention within a window. A position scheme that adds to the scores of all pairs has no place here.

    Taps:    q (B,H,T,d_k); k, v (B,H,S,d_k); those of positions; those of windowed_attention;
             concat, output (B,T,d_model)
    Source:  see windowed_attention
    """

    def __init__(self, d_model: int, n_heads: int, reach: int, positions: Positions | None = None) -> None:
        super().__init__(d_model, n_heads, positions)
        self.reach = reach

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, tap: Tap) -> Tensor:
        return windowed_attention(q, k, v, self.reach, mask, tap)


class LinearAttention(MultiHeadAttention):
    """Multi-head attention through one state that all queries read.

    Taps:    q (B,H,T,d_k); k, v (B,H,S,d_k); those of positions; those of linear_attention;
             concat, output (B,T,d_model)
    Source:  see linear_attention
    """

    def __init__(self, d_model: int, n_heads: int, positions: Positions | None = None, phi: Map = features) -> None:
        super().__init__(d_model, n_heads, positions)
        self.phi = phi

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, tap: Tap) -> Tensor:
        return linear_attention(q, k, v, mask, tap, self.phi)


class CausalLinearAttention(LinearAttention):
    """Multi-head attention through a state that grows from position to position. It is trained as a matrix, which is
    faster in short texts.

    Taps:    q (B,H,T,d_k); k, v (B,H,S,d_k); those of positions; those of causal_linear_attention;
             concat, output (B,T,d_model)
    Source:  see causal_linear_attention
    """

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, tap: Tap) -> Tensor:
        if self.training:
            return causal_linear_as_matrix(q, k, v, mask, self.phi)
        return causal_linear_attention(q, k, v, mask, tap, self.phi)


@describe.register
def _(module: WindowedAttention, scribe: Scribe, x: str, memory: str, mask: str = "") -> str:
    q, k, v = describe_projections(module, scribe, x, memory)
    band, reach = ("head", scribe.tokens, "window"), (float(module.reach),)
    products = scribe.made("products", "dot_in_window", q, k, axes=band, constants=reach)
    scaled = scribe.made("scaled", "divide_by_sqrt_d_k", products, q, axes=band, part="scale")
    scores = scribe.made("scores", "mask", scaled, axes=band)
    weights = scribe.made("weights", "softmax", scores, axes=band)
    heads = scribe.made("heads", "sum_in_window", weights, v, axes=scribe.axes(q), constants=reach)
    return describe_joined(scribe, heads)


@describe.register
def _(module: LinearAttention, scribe: Scribe, x: str, memory: str, mask: str = "") -> str:
    return describe_state(module, scribe, x, memory, ())


@describe.register
def _(module: CausalLinearAttention, scribe: Scribe, x: str, memory: str, mask: str = "") -> str:
    return describe_state(module, scribe, x, memory, (scribe.tokens,))


def describe_state(module: LinearAttention, scribe: Scribe, x: str, memory: str, rows: tuple[str, ...]) -> str:
    """Linear attention; rows: the axis of its states, if there is one for each query."""
    q, k, v = describe_projections(module, scribe, x, memory)
    phi = "elu_plus_one" if module.phi is features else "exponential"
    queries = scribe.made("features_q", phi, q, axes=scribe.axes(q))
    keys = scribe.made("features_k", phi, k, axes=scribe.axes(k))
    state = scribe.made("state", "sum_of_products", keys, v, axes=("head", *rows, "d_k", "d_k"))
    total = scribe.made("total", "sum_of_keys", keys, axes=("head", *(rows or ("one",)), "d_k"))
    return describe_joined(scribe, scribe.made("heads", "read_state", queries, state, total, axes=scribe.axes(q)))
