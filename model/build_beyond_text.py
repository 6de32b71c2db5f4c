"""Readers of pictures and of sound with random weights, drawn as BERT's."""

from model.build import draw_narrow_weights, parts_like
from model.families.pictures import PatchEmbedding, PictureConfig, Swin, SwinConfig, VisionTransformer
from model.families.sounds import (
    SoundConfig,
    SoundEmbedding,
    SpectrogramTransformer,
    StripEmbedding,
    StripReader,
)
from model.families.two_towers import MOST_WORDS, TextTower, TowersConfig, TwoTowers, WordEmbedding
from model.parts.stacks import Encoder
from model.parts.window_attention import ShiftedWindowAttention


def build_vision(config: PictureConfig) -> VisionTransformer:
    """A Vision Transformer."""
    parts = parts_like(config, 1 + config.n_patches, "gelu")
    embedding = PatchEmbedding(
        config.channels * config.patch**2, config.d_model, parts.scheme.in_embedding(parts.config)
    )
    model = VisionTransformer(config.patch, embedding, parts.encoder(1.0), config.n_classes, config.d_model)
    draw_narrow_weights(model)
    return model


def build_swin(config: SwinConfig) -> Swin:
    """A Swin Transformer. The windows of every second block are shifted."""
    parts, sizes = parts_like(config, config.n_patches, "gelu"), (config.d_model, config.n_heads, config.side)
    shifts = [config.shift * (n % 2) for n in range(config.n_layers)]
    attentions = (ShiftedWindowAttention(*sizes, config.window, shift) for shift in shifts)
    layers = [parts.encoder_layer(1.0, attention) for attention in attentions]
    model = Swin(config.patch, config.d_model, Encoder(layers, parts.last_norm()), config.n_classes)
    draw_narrow_weights(model)
    return model


def build_sound(config: SoundConfig) -> SpectrogramTransformer:
    """An Audio Spectrogram Transformer."""
    parts = parts_like(config, len(SoundEmbedding.first) + config.n_patches, "gelu")
    embedding = SoundEmbedding(config.high * config.wide, config.d_model, parts.scheme.in_embedding(parts.config))
    model = SpectrogramTransformer(
        (config.high, config.wide), embedding, parts.encoder(1.0), parts.norm(), config.n_classes, config.d_model
    )
    draw_narrow_weights(model)
    return model


def build_strips(config: SoundConfig) -> StripReader:
    """A reader of strips of time."""
    parts, strip = parts_like(config, config.across, "gelu"), (config.pitches, config.wide)
    embedding = StripEmbedding(config.pitches * config.wide, config.d_model, parts.scheme.in_embedding(parts.config))
    model = StripReader(strip, embedding, parts.encoder(1.0), config.n_classes, config.d_model)
    draw_narrow_weights(model)
    return model


def build_towers(config: TowersConfig) -> TwoTowers:
    """A tower for pictures, a Vision Transformer whose classes are the numbers of its vector, and one for texts."""
    parts = parts_like(config, MOST_WORDS, "gelu")
    embedding = WordEmbedding(config.n_parts, config.d_model)
    texts = TextTower(embedding, parts.encoder(1.0), config.d_model, config.d_shared)
    draw_narrow_weights(texts)
    return TwoTowers(build_vision(config.pictures), texts)
