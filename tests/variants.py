"""The small model again and again, each time with another variant of a part. A new variant gets a line in VARIANTS.

What holds for every model is tried on each of them (`any_model`): taps, anatomy, future, padding, cache; so is every
rule of Check (`tests/explain/test_every_rule.py`).
"""

from collections.abc import Callable

from torch import nn

from model.attention import MultiHeadAttention
from model.families.encoder_decoder import EncoderDecoder
from model.feed_forward import FeedForward, GatedFeedForward
from model.positions import Positions, Rotary
from model.residual import PostNorm, PreNorm, SandwichNorm
from tests.small import CONFIG, random_model

Make = Callable[[], nn.Module]
D, D_FF = CONFIG.d_model, CONFIG.d_ff


def with_parts(
    residual: Make | None = None, feed_forward: Make | None = None, positions: Callable[[], Positions] | None = None
) -> EncoderDecoder:
    """The small model with other residuals and feed-forward networks.

    positions: a scheme that works within self-attention, in place of the sinusoids
    """
    model = random_model()
    if positions:
        model.embedding.positions = Positions()
    for layer in (*model.encoder.layers, *model.decoder.layers):
        for name, _ in list(layer.named_children()):
            if residual and name.startswith("add_norm"):
                setattr(layer, name, residual())
        if feed_forward:
            layer.feed_forward = feed_forward()
        if positions:
            layer.self_attn = MultiHeadAttention(D, CONFIG.n_heads, positions())
    for name, parameter in model.named_parameters():
        if parameter.dim() == 1:  # γ and β at 1 and 0 could stand for each other unseen
            nn.init.normal_(parameter, mean=1.0 if name.endswith("weight") else 0.0, std=0.3)
    return model.eval()


VARIANTS: dict[str, Callable[[], EncoderDecoder]] = {
    "as in the paper": random_model,
    "norm before, RMS norm": lambda: with_parts(residual=lambda: PreNorm(nn.RMSNorm(D))),
    "norm before and after": lambda: with_parts(residual=lambda: SandwichNorm(nn.LayerNorm(D), nn.RMSNorm(D))),
    "RMS norm after": lambda: with_parts(residual=lambda: PostNorm(nn.RMSNorm(D))),
    "GELU": lambda: with_parts(feed_forward=lambda: FeedForward(D, D_FF, nn.GELU())),
    "GELU with tanh": lambda: with_parts(feed_forward=lambda: FeedForward(D, D_FF, nn.GELU(approximate="tanh"))),
    "SwiGLU": lambda: with_parts(feed_forward=lambda: GatedFeedForward(D, D_FF)),
    "rotary positions": lambda: with_parts(positions=Rotary),
}
