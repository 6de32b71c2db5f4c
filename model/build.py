"""From a config to a model: the only place where the numbers and names of a config are read."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from torch import nn

from model.config import ModelConfig
from model.families.decoder_only import DecoderOnly
from model.families.encoder_decoder import EncoderDecoder
from model.families.encoder_only import (
    Discriminator,
    EncoderOnly,
    MaskedTokenHead,
    NextSentenceHead,
    Reader,
    ReplacedTokenHead,
)
from model.families.in_context import InContext, InContextConfig
from model.families.network import Network
from model.families.pictures import PictureConfig
from model.families.sounds import SoundConfig
from model.families.two_towers import TowersConfig
from model.parts.attention import MultiHeadAttention
from model.parts.efficient_attention import (
    CausalLinearAttention,
    LinearAttention,
    WindowedAttention,
    exponential,
    features,
)
from model.parts.embedding import SegmentEmbedding, TokenEmbedding, UnscaledEmbedding
from model.parts.experts import MixtureOfExperts
from model.parts.feed_forward import FeedForward, GatedFeedForward
from model.parts.layers import DecoderLayer, EncoderLayer
from model.parts.norms import LayerNorm, RMSNorm
from model.parts.positions import Alibi, Learned, Positions, RelativeBias, Rotary, Sinusoidal
from model.parts.residual import DeepNorm, PostNorm, PreNorm, SandwichNorm, deep_norm_constants, single_stack_constants
from model.parts.small_cache_attention import GroupedQueryAttention, LatentAttention
from model.parts.squeezed_attention import CausalSqueezedAttention, SqueezedAttention
from model.parts.stacks import Decoder, Encoder
from model.text.tokenizer import PAD_ID

NORM_EPSILON = 1e-5  # torch's for layer norm
OwnSizes = InContextConfig | PictureConfig | SoundConfig | TowersConfig
N_SEGMENTS = 2  # of an encoder alone: it reads one text, or two


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
    "layer": lambda d_model: LayerNorm(d_model, NORM_EPSILON),
    "rms": lambda d_model: RMSNorm(d_model, NORM_EPSILON),
}
PLACES = {
    "post": Place(lambda norm, alpha, dropout: PostNorm(norm(), dropout)),
    "pre": Place(lambda norm, alpha, dropout: PreNorm(norm(), dropout), ends_in_norm=False),
    "sandwich": Place(lambda norm, alpha, dropout: SandwichNorm(norm(), norm(), dropout), ends_in_norm=False),
    "deep": Place(lambda norm, alpha, dropout: DeepNorm(norm(), alpha, dropout), is_deep=True),
}


def multi_head(config: ModelConfig, positions: Positions, causal: bool = False) -> MultiHeadAttention:
    return MultiHeadAttention(config.d_model, config.n_heads, positions)


def windowed(config: ModelConfig, positions: Positions, causal: bool) -> WindowedAttention:
    return WindowedAttention(config.d_model, config.n_heads, config.reach, positions)


def linear(config: ModelConfig, positions: Positions, causal: bool) -> LinearAttention:
    kind = CausalLinearAttention if causal else LinearAttention
    phi = exponential if config.attention == "linear_exponential" else features
    return kind(config.d_model, config.n_heads, positions, phi)


def squeezed(config: ModelConfig, positions: Positions, causal: bool) -> SqueezedAttention:
    kind = CausalSqueezedAttention if causal else SqueezedAttention
    return kind(config.d_model, config.n_heads, config.block, config.n_squeezed, positions)


def grouped_query(config: ModelConfig, positions: Positions, causal: bool) -> GroupedQueryAttention:
    """Two heads share keys and values; of an odd number of heads, all do."""
    n_groups = 1 if config.n_heads % 2 else config.n_heads // 2
    return GroupedQueryAttention(config.d_model, config.n_heads, n_groups, positions)


def multi_query(config: ModelConfig, positions: Positions, causal: bool) -> GroupedQueryAttention:
    return GroupedQueryAttention(config.d_model, config.n_heads, 1, positions)


def latent(config: ModelConfig, positions: Positions, causal: bool) -> LatentAttention:
    return LatentAttention(config.d_model, config.n_heads, config.d_latent, positions)


@dataclass(frozen=True)
class Kind:
    """A kind of attention: of a text to itself, made for a config, a position scheme, and whether it sees the past
    alone; and of one text to another, by default the paper's.
    """

    to_itself: Callable[[ModelConfig, Positions, bool], nn.Module]
    to_another: Callable[[ModelConfig, Positions], nn.Module] = multi_head


def experts(config: ModelConfig, asked: int) -> MixtureOfExperts:
    """Each row passes as many hidden units as one plain network has, whether one expert is asked or two."""
    each = [FeedForward(config.d_model, config.d_ff // asked) for _ in range(config.n_experts)]
    return MixtureOfExperts(config.d_model, each, asked)


ATTENTIONS = {
    "multi_head": Kind(multi_head),
    "windowed": Kind(windowed),
    "linear": Kind(linear),
    "linear_exponential": Kind(linear),
    "squeezed": Kind(squeezed),
    "grouped_query": Kind(grouped_query),
    "multi_query": Kind(multi_query),
    "latent": Kind(latent),
}
FEED_FORWARDS: dict[str, Callable[[ModelConfig], nn.Module]] = {
    "position_wise": lambda config: NETWORKS[config.activation](config.d_model, config.d_ff),
    "experts": lambda config: experts(config, 1),
    "experts_top_2": lambda config: experts(config, 2),
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


@dataclass(frozen=True)
class Parts:
    """Makes the parts that a config names. alpha: of DeepNorm, which depends on the stack."""

    config: ModelConfig

    @property
    def scheme(self) -> Scheme:
        return POSITIONS[self.config.positions]

    @property
    def place(self) -> Place:
        return PLACES[self.config.norm_place]

    def table(self) -> nn.Embedding:
        return nn.Embedding(self.config.vocab_size, self.config.d_model)

    def self_attention(self, causal: bool) -> nn.Module:
        positions = self.scheme.in_attention(self.config, causal)
        return ATTENTIONS[self.config.attention].to_itself(self.config, positions, causal)

    def cross_attention(self) -> nn.Module:
        return ATTENTIONS[self.config.attention].to_another(self.config, Positions())  # none

    def feed_forward(self) -> nn.Module:
        return FEED_FORWARDS[self.config.feed_forward](self.config)

    def norm(self) -> nn.Module:
        return NORMS[self.config.norm](self.config.d_model)

    def last_norm(self) -> nn.Module | None:
        return None if self.place.ends_in_norm else self.norm()

    def add_norm(self, alpha: float) -> nn.Module:
        return self.place.residual(self.norm, alpha, self.config.dropout)

    def encoder(self, alpha: float, causal: bool = False) -> Encoder:
        times = self.config.n_layers if self.config.shares_layers else 1
        n_layers = self.config.n_layers // times
        layers = [self.encoder_layer(alpha, self.self_attention(causal)) for _ in range(n_layers)]
        return Encoder(layers, self.last_norm(), times)

    def encoder_layer(self, alpha: float, attention: nn.Module) -> EncoderLayer:
        return EncoderLayer(attention, self.add_norm(alpha), self.feed_forward(), self.add_norm(alpha))

    def decoder(self, alpha: float) -> Decoder:
        return Decoder([self.decoder_layer(alpha) for _ in range(self.config.n_layers)], self.last_norm())

    def decoder_layer(self, alpha: float) -> DecoderLayer:
        return DecoderLayer(
            self.self_attention(causal=True),
            self.add_norm(alpha),
            self.cross_attention(),
            self.add_norm(alpha),
            self.feed_forward(),
            self.add_norm(alpha),
        )


def build_network(config: ModelConfig) -> Network:
    """A model of any family with random weights, drawn from torch's global generator."""
    return BUILDERS[config.family](config)


def build_model(config: ModelConfig) -> EncoderDecoder:
    """An encoder-decoder with random weights (Glorot and Bengio 2010, uniform), drawn from torch's global generator."""
    parts = Parts(config)
    in_encoder, in_decoder = deep_norm_constants(config.n_layers, config.n_layers)
    model = EncoderDecoder(
        TokenEmbedding(parts.table(), parts.scheme.in_embedding(config), config.dropout),
        parts.encoder(in_encoder.alpha),
        parts.decoder(in_decoder.alpha),
        PAD_ID,
    )
    draw_weights(model)
    if parts.place.is_deep:
        scale_weights(model.encoder, in_encoder.beta)
        scale_weights(model.decoder, in_decoder.beta)
    return model


def build_decoder_only(config: ModelConfig) -> DecoderOnly:
    """A decoder alone with random weights, drawn as GPT-2's."""
    parts, constants = Parts(config), single_stack_constants(config.n_layers)
    model = DecoderOnly(
        UnscaledEmbedding(parts.table(), parts.scheme.in_embedding(config), config.dropout),
        parts.encoder(constants.alpha, causal=True),
    )
    draw_narrow_weights(model)
    for name, parameter in model.decoder.named_parameters():
        if name.endswith(("w_o.weight", "w_2.weight")):  # 2N of them add to the stream (Radford et al. 2019, §2.3)
            parameter.data /= (2 * config.n_layers) ** 0.5
    if parts.place.is_deep:
        scale_weights(model.decoder, constants.beta)
    return model


def build_reader(config: ModelConfig) -> Reader:
    """An encoder alone with random weights, drawn as BERT's: BERT, or ELECTRA's discriminator."""
    parts, constants, d_embedding = Parts(config), single_stack_constants(config.n_layers), config.d_embedding
    narrow = Parts(replace(config, d_model=d_embedding)) if d_embedding else parts
    embedding = SegmentEmbedding(
        narrow.table(),
        nn.Embedding(N_SEGMENTS, narrow.config.d_model),
        narrow.scheme.in_embedding(narrow.config),
        narrow.norm(),
        config.dropout,
    )
    encoder = parts.encoder(constants.alpha)
    widen = nn.Linear(d_embedding, config.d_model) if d_embedding else None
    model: Reader
    if config.family == "discriminator":
        model = Discriminator(embedding, encoder, ReplacedTokenHead(config.d_model), PAD_ID, widen)
    else:
        of_tokens = MaskedTokenHead(config.d_model, narrow.config.d_model, narrow.norm(), config.vocab_size)
        model = EncoderOnly(embedding, encoder, of_tokens, NextSentenceHead(config.d_model), PAD_ID, widen)
    draw_narrow_weights(model)
    if parts.place.is_deep:
        scale_weights(model.encoder, constants.beta)
    return model


def parts_like(config: OwnSizes, max_len: int, activation: str) -> Parts:
    """Parts of these sizes, put together as GPT-2's are."""
    sizes = {name: getattr(config, name) for name in ("d_model", "n_heads", "n_layers", "d_ff")}
    config_of = ModelConfig(**sizes, max_len=max_len, dropout=0.0, activation=activation)
    return Parts(replace(config_of, positions="learned", norm_place="pre"))


def build_in_context(config: InContextConfig) -> InContext:
    """A model of in-context regression with random weights, its parts those of GPT-2."""
    parts = parts_like(config, 2 * config.n_pairs, "gelu_tanh")
    positions = parts.scheme.in_embedding(parts.config)
    return InContext(config.d_in, positions, parts.encoder(1.0, causal=True), config.d_model)


BUILDERS: dict[str, Callable[[ModelConfig], Network]] = {
    "encoder_decoder": build_model,
    "decoder_only": build_decoder_only,
    "encoder_only": build_reader,
    "discriminator": build_reader,
}


def draw_weights(model: EncoderDecoder) -> None:
    """Draw the matrices. Position schemes have drawn their tables, as their sources say; squeezing begins as means."""
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1 and ".positions." not in name and ".squeeze_" not in name:
            nn.init.xavier_uniform_(parameter)
    # Rows of the embedding matrix have length about 1, so that × √d_model brings them to the size of the encodings
    # and, as the tied output matrix, they give first logits of about unit size.
    nn.init.normal_(model.embedding.matrix.weight, std=model.embedding.matrix.embedding_dim**-0.5)


def draw_narrow_weights(model: nn.Module) -> None:
    """Draw all matrices with a deviation of 0.02 and set all biases to 0, as GPT-2 and BERT do."""
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1 and ".squeeze_" not in name:
            nn.init.normal_(parameter, std=0.02)
        elif name.endswith("bias"):
            nn.init.zeros_(parameter)


def scale_weights(stack: Encoder | Decoder, beta: float) -> None:
    """Make all matrices but W^Q and W^K smaller, as DeepNorm asks (Wang et al. 2022, Figure 2)."""
    for name, parameter in stack.named_parameters():
        if parameter.dim() > 1 and name.split(".")[-2] in ("w_v", "w_o", "w_1", "w_2", "v"):
            parameter.data *= beta
