"""One layer of each stack (Vaswani et al. 2017, §3.1, Figure 1)."""

from torch import Tensor, nn

from model.attention import MultiHeadAttention
from model.cache import NoCache
from model.feed_forward import FeedForward
from model.tap import Tap, no_tap, under


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each followed by Add & Norm.

    Args:    x (B,S,d_model); mask broadcastable to (B,H,S,S), True = may attend
    Returns: (B,S,d_model)
    Taps:    self_attn.*, add_norm_1.*, feed_forward.*, add_norm_2.*
    Source:  Vaswani et al. 2017, §3.1, left half of Figure 1
    """

    def __init__(
        self, self_attn: MultiHeadAttention, add_norm_1: nn.Module, feed_forward: FeedForward, add_norm_2: nn.Module
    ) -> None:
        super().__init__()
        self.self_attn = self_attn
        self.add_norm_1 = add_norm_1
        self.feed_forward = feed_forward
        self.add_norm_2 = add_norm_2

    def forward(self, x: Tensor, mask: Tensor, tap: Tap = no_tap) -> Tensor:
        attended = self.self_attn(x, x, mask, under("self_attn", tap))
        x = self.add_norm_1(x, attended, under("add_norm_1", tap))
        transformed = self.feed_forward(x, under("feed_forward", tap))
        return self.add_norm_2(x, transformed, under("add_norm_2", tap))


class DecoderLayer(nn.Module):
    """Masked self-attention, attention to the encoder's output, feed-forward, each followed by Add & Norm.

    Args:    x (B,T,d_model); memory (B,S,d_model), the encoder's final output; mask broadcastable to (B,H,T,T) and
             memory_mask to (B,H,T,S), True = may attend; cache and this layer's path in it
    Returns: (B,T,d_model)
    Taps:    self_attn.*, add_norm_1.*, cross_attn.*, add_norm_2.*, feed_forward.*, add_norm_3.*
    Source:  Vaswani et al. 2017, §3.1, right half of Figure 1
    """

    def __init__(
        self,
        self_attn: MultiHeadAttention,
        add_norm_1: nn.Module,
        cross_attn: MultiHeadAttention,
        add_norm_2: nn.Module,
        feed_forward: FeedForward,
        add_norm_3: nn.Module,
    ) -> None:
        super().__init__()
        self.self_attn = self_attn
        self.add_norm_1 = add_norm_1
        self.cross_attn = cross_attn
        self.add_norm_2 = add_norm_2
        self.feed_forward = feed_forward
        self.add_norm_3 = add_norm_3

    def forward(
        self, x: Tensor, memory: Tensor, mask: Tensor, memory_mask: Tensor, tap: Tap, cache: NoCache, path: str
    ) -> Tensor:
        k, v = cache.extend(f"{path}.self_attn", *self.self_attn.keys_values(x))
        attended = self.self_attn.attend(x, k, v, mask, under("self_attn", tap))
        x = self.add_norm_1(x, attended, under("add_norm_1", tap))

        k, v = cache.once(f"{path}.cross_attn", lambda: self.cross_attn.keys_values(memory))
        read = self.cross_attn.attend(x, k, v, memory_mask, under("cross_attn", tap))
        x = self.add_norm_2(x, read, under("add_norm_2", tap))

        transformed = self.feed_forward(x, under("feed_forward", tap))
        return self.add_norm_3(x, transformed, under("add_norm_3", tap))
