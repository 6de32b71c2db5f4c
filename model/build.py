"""From a config to a model: the only place where the numbers and names of a config are read."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from model.attention import MultiHeadAttention
from model.config import ModelConfig
from model.embedding import TokenEmbedding
from model.families.encoder_decoder import EncoderDecoder
from model.feed_forward import FeedForward, GatedFeedForward
from model.layers import DecoderLayer, EncoderLayer
from model.positions import Alibi, Learned, Positions, RelativeBias, Rotary, Sinusoidal
from model.residual import DeepNorm, PostNorm, PreNorm, SandwichNorm, deep_norm_constants
from model.stacks import Decoder, Encoder
from model.tokenizer import PAD_ID

NORM_EPSILON = 1e-5  # torch's for layer norm; its own for RMS norm would depend on the precision


@dataclass(frozen=True)
class Scheme:
    """Where a position scheme works: on the embeddings, or within self-attention. Cross-attention never has one: its
    rows and columns count in two different texts (T5 has none there either).
    """

    in_embedding: Callable[[ModelConfig], Positions] = lambda config: Positions()
    in_attention: Callable[[ModelConfig, bool], Positions] = lambda config, causal: Positions()


@dataclass(frozen=True)
class Place:
    """Where a norm stands. residual: made of norms, α and the dropout; ends_in_norm: else the stack gets a last one;
    is_deep: weigh the stream by α, and the drawn matrices by β
    """

    residual: Callable[[Callable[[], nn.Module], float, float], nn.Module]
    ends_in_norm: bool = True
    is_deep: bool = False


POSITIONS = {
    "sinusoidal": Scheme(in_embedding=lambda config: Sinusoidal(config.max_len, config.d_model)),
    "learned": Scheme(in_embedding=lambda config: Learned(config.max_len, config.d_model)),
    "relative": Scheme(in_attention=lambda config, causal: RelativeBias(config.n_heads, causal)),
    "rotary": Scheme(in_attention=lambda config, causal: Rotary()),
    "alibi": Scheme(in_attention=lambda config, causal: Alibi(config.n_heads)),
    "none": Scheme(),
}
NORMS: dict[str, Callable[[int], nn.Module]] = {
    "layer": lambda d_model: nn.LayerNorm(d_model, NORM_EPSILON),
    "rms": lambda d_model: nn.RMSNorm(d_model, NORM_EPSILON),
}
PLACES = {
    "post": Place(lambda norm, alpha, dropout: PostNorm(norm(), dropout)),
    "pre": Place(lambda norm, alpha, dropout: PreNorm(norm(), dropout), ends_in_norm=False),
    "sandwich": Place(lambda norm, alpha, dropout: SandwichNorm(norm(), norm(), dropout), ends_in_norm=False),
    "deep": Place(lambda norm, alpha, dropout: DeepNorm(norm(), alpha, dropout), is_deep=True),
}
NETWORKS: dict[str, Callable[[int, int], nn.Module]] = {
    "relu": lambda d_model, d_ff: FeedForward(d_model, d_ff, nn.ReLU()),
    "gelu": lambda d_model, d_ff: FeedForward(d_model, d_ff, nn.GELU()),
    "gelu_tanh": lambda d_model, d_ff: FeedForward(d_model, d_ff, nn.GELU(approximate="tanh")),
    "silu": lambda d_model, d_ff: FeedForward(d_model, d_ff, nn.SiLU()),
    # Shazeer 2020, §3.1: a third matrix, so two thirds of the units.
    "swiglu": lambda d_model, d_ff: GatedFeedForward(d_model, round(2 * d_ff / 3), nn.SiLU()),
    "geglu": lambda d_model, d_ff: GatedFeedForward(d_model, round(2 * d_ff / 3), nn.GELU()),
}


def build_model(config: ModelConfig) -> EncoderDecoder:
    """A model with random weights (Glorot and Bengio 2010, uniform), drawn from torch's global generator."""
    scheme, place = POSITIONS[config.positions], PLACES[config.norm_place]
    in_encoder, in_decoder = deep_norm_constants(config.n_layers, config.n_layers)

    def attention(positions: Positions | None = None) -> MultiHeadAttention:
        return MultiHeadAttention(config.d_model, config.n_heads, positions)

    def feed_forward() -> nn.Module:
        return NETWORKS[config.activation](config.d_model, config.d_ff)

    def norm() -> nn.Module:
        return NORMS[config.norm](config.d_model)

    def last_norm() -> nn.Module | None:
        return None if place.ends_in_norm else norm()

    def add_norm(alpha: float) -> nn.Module:
        return place.residual(norm, alpha, config.dropout)

    def encoder_layer() -> EncoderLayer:
        self_attn, alpha = attention(scheme.in_attention(config, False)), in_encoder.alpha
        return EncoderLayer(self_attn, add_norm(alpha), feed_forward(), add_norm(alpha))

    def decoder_layer() -> DecoderLayer:
        self_attn, alpha = attention(scheme.in_attention(config, True)), in_decoder.alpha
        return DecoderLayer(self_attn, add_norm(alpha), attention(), add_norm(alpha), feed_forward(), add_norm(alpha))

    model = EncoderDecoder(
        TokenEmbedding(nn.Embedding(config.vocab_size, config.d_model), scheme.in_embedding(config), config.dropout),
        Encoder([encoder_layer() for _ in range(config.n_layers)], last_norm()),
        Decoder([decoder_layer() for _ in range(config.n_layers)], last_norm()),
        PAD_ID,
    )
    draw_weights(model)
    if place.is_deep:
        scale_weights(model.encoder, in_encoder.beta)
        scale_weights(model.decoder, in_decoder.beta)
    return model


def draw_weights(model: EncoderDecoder) -> None:
    """Draw the matrices. Position schemes have drawn their tables as their sources say."""
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1 and ".positions." not in name:
            nn.init.xavier_uniform_(parameter)
    # Rows of the embedding matrix have length about 1, so that × √d_model brings them to the size of the encodings
    # and, as the tied output matrix, they give first logits of about unit size.
    nn.init.normal_(model.embedding.matrix.weight, std=model.embedding.matrix.embedding_dim**-0.5)


def scale_weights(stack: Encoder | Decoder, beta: float) -> None:
    """Make all matrices but W^Q and W^K smaller, as DeepNorm asks (Wang et al. 2022, Figure 2)."""
    for name, parameter in stack.named_parameters():
        if parameter.dim() > 1 and name.split(".")[-2] in ("w_v", "w_o", "w_1", "w_2", "v"):
            parameter.data *= beta
