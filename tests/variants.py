"""The small model again and again, each time with other parts. A new variant of a part gets into a line of VARIANTS.

What holds for every model is tried on each of them (`any_model`): taps, anatomy, future, padding, cache; so is every
rule of Check (`tests/explain/test_every_rule.py`). One line tries several new parts, since each line costs seconds.
"""

from collections.abc import Callable
from dataclasses import replace

from torch import nn

from model.build import build_model
from model.families.encoder_decoder import EncoderDecoder
from tests.small import CONFIG, random_model

REACH = 3  # two layers see 6 positions back, as many as the small model's longest text has
BLOCK, N_SQUEEZED = 4, 2  # the small model's texts have one whole block and a part of another
N_EXPERTS, D_LATENT, D_ROTARY = 2, 17, 6  # a third of d_k = 14 or so, and even
GATED_D_FF = 80  # two thirds of it are CONFIG.d_ff


def with_parts(**parts: str | int) -> EncoderDecoder:
    """The small model with other parts, by their names in ModelConfig."""
    model = build_model(replace(CONFIG, **parts))  # type: ignore[arg-type]
    for name, parameter in model.named_parameters():
        if parameter.dim() == 1:  # γ and β at 1 and 0 could stand for each other unseen
            nn.init.normal_(parameter, mean=1.0 if name.endswith("weight") else 0.0, std=0.3)
        elif ".positions." in name or ".router." in name:  # drawn wide, so that rows ask all experts
            nn.init.normal_(parameter)
    return model.eval()


VARIANTS: dict[str, Callable[[], EncoderDecoder]] = {
    "as in the paper": random_model,
    "rotary, RMS norm before, SwiGLU": lambda: with_parts(
        positions="rotary", norm="rms", norm_place="pre", activation="swiglu", d_ff=GATED_D_FF
    ),
    "relative positions, norm before and after, GELU": lambda: with_parts(
        positions="relative", norm_place="sandwich", activation="gelu"
    ),
    "ALiBi, RMS norm after, GELU with tanh": lambda: with_parts(positions="alibi", norm="rms", activation="gelu_tanh"),
    "learned positions, DeepNorm, Swish": lambda: with_parts(positions="learned", norm_place="deep", activation="silu"),
    "no positions, RMS norm before and after, GEGLU": lambda: with_parts(
        positions="none", norm="rms", norm_place="sandwich", activation="geglu", d_ff=GATED_D_FF
    ),
    "attention within a window, rotary": lambda: with_parts(attention="windowed", reach=REACH, positions="rotary"),
    "linear attention, one of two experts": lambda: with_parts(
        attention="linear", feed_forward="experts", n_experts=N_EXPERTS
    ),
    "grouped queries, two of two experts": lambda: with_parts(
        attention="grouped_query", feed_forward="experts_top_2", n_experts=N_EXPERTS
    ),
    "linear attention by exponentials": lambda: with_parts(attention="linear_exponential"),
    "squeezed attention": lambda: with_parts(attention="squeezed", block=BLOCK, n_squeezed=N_SQUEEZED),
    "latent attention, ALiBi": lambda: with_parts(attention="latent", d_latent=D_LATENT, positions="alibi"),
}
