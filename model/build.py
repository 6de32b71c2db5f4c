"""From a config to a model: the only place where the numbers of a config are read."""

from torch import nn

from model.attention import MultiHeadAttention
from model.config import ModelConfig
from model.embedding import TokenEmbedding
from model.families.encoder_decoder import EncoderDecoder
from model.feed_forward import FeedForward
from model.layers import DecoderLayer, EncoderLayer
from model.positions import Sinusoidal
from model.residual import PostNorm
from model.stacks import Decoder, Encoder
from model.tokenizer import PAD_ID


def build_model(config: ModelConfig) -> EncoderDecoder:
    """A model with random weights (Glorot and Bengio 2010, uniform), drawn from torch's global generator."""

    def attention() -> MultiHeadAttention:
        return MultiHeadAttention(config.d_model, config.n_heads)

    def feed_forward() -> FeedForward:
        return FeedForward(config.d_model, config.d_ff)

    def add_norm() -> PostNorm:
        return PostNorm(nn.LayerNorm(config.d_model), config.dropout)

    def encoder_layer() -> EncoderLayer:
        return EncoderLayer(attention(), add_norm(), feed_forward(), add_norm())

    def decoder_layer() -> DecoderLayer:
        return DecoderLayer(attention(), add_norm(), attention(), add_norm(), feed_forward(), add_norm())

    model = EncoderDecoder(
        TokenEmbedding(
            nn.Embedding(config.vocab_size, config.d_model),
            Sinusoidal(config.max_len, config.d_model),
            config.dropout,
        ),
        Encoder([encoder_layer() for _ in range(config.n_layers)]),
        Decoder([decoder_layer() for _ in range(config.n_layers)]),
        PAD_ID,
    )
    for parameter in model.parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
    # Rows of the embedding matrix have length about 1, so that × √d_model brings them to the size of the encodings
    # and, as the tied output matrix, they give first logits of about unit size.
    nn.init.normal_(model.embedding.matrix.weight, std=config.d_model**-0.5)
    return model
