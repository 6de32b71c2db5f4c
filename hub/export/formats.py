"""What the export of a family needs: transformers' config, weights and marks for a model of ours, and back."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from tokenizers import processors
from torch import Tensor

from model.build import NORM_EPSILON
from model.config import CHOICES, ModelConfig
from model.families.pictures import PictureConfig
from model.families.sounds import SoundConfig

Weights = Mapping[str, Tensor]


@dataclass(frozen=True)
class Format:
    """A model of one family in the format of transformers, and back.

    name: transformers' word for the architecture, the model_type of a config; family: ours
    frame: puts the marks around a text that the model reads
    tokenizer, generation: what their two files say of it
    auto: the class that opens it; example: lines of Python, for the model card, that use `model` and `tokenizer`;
    note: what the card says behind them
    config, our_config: raise ValueError, naming the part, for a model with other parts, and KeyError for a missing size
    weights, our_weights: take the weights and our config; the second raises KeyError for a missing tensor
    left_out: how the names of our weights begin that the class which `hub.hugging_face` opens has no place for
    """

    name: str
    family: str
    frame: processors.TemplateProcessing
    tokenizer: Mapping[str, Any]
    generation: Mapping[str, Any]
    auto: str
    example: str
    note: str
    config: Callable[[ModelConfig], dict[str, Any]]
    our_config: Callable[[Mapping[str, Any]], ModelConfig]
    weights: Callable[[Weights, ModelConfig], dict[str, Tensor]]
    our_weights: Callable[[Weights, ModelConfig], dict[str, Tensor]]
    left_out: tuple[str, ...] = ()


def check_parts(config: ModelConfig, parts: Mapping[str, str], architecture: str) -> None:
    """Raises: ValueError, naming the part, if the architecture has another"""
    for name, choices in CHOICES.items():
        theirs = parts.get(name, choices[0])
        if (value := getattr(config, name)) != theirs:
            raise ValueError(f"{architecture} has no {name}={value!r}, only {theirs!r}")
    if config.d_embedding or config.shares_layers:
        raise ValueError(f"{architecture} has neither d_embedding nor shares_layers")


def config_from(
    theirs: Mapping[str, Any], sizes: Mapping[str, str], parts: Mapping[str, str], family: str
) -> ModelConfig:
    """Our config of theirs. sizes: their word for each number; raises KeyError for one that is missing"""
    numbers: dict[str, Any] = {ours: theirs[name] for ours, name in sizes.items()}
    return ModelConfig(**{**numbers, **parts, "family": family})


def replaced(name: str, words: Mapping[str, str]) -> str:
    """A name with some of its words exchanged."""
    for one, other in words.items():
        name = name.replace(one, other)
    return name


def zero_biases(weights: Weights, matrices: str) -> dict[str, Tensor]:
    """A bias of zeros for each weight whose name ends in what this pattern matches: transformers has one there."""
    return {
        re.sub("weight$", "bias", name): torch.zeros(len(weight))
        for name, weight in weights.items()
        if re.search(rf"{matrices}\.weight$", name)
    }


LAYER_WORDS = {
    "self_attn.w_q": "attention.q_proj",
    "self_attn.w_k": "attention.k_proj",
    "self_attn.w_v": "attention.v_proj",
    "self_attn.w_o": "attention.o_proj",
    "add_norm_1.norm": "layernorm_before",
    "add_norm_2.norm": "layernorm_after",
    "feed_forward.w_1": "mlp.fc1",
    "feed_forward.w_2": "mlp.fc2",
}  # ours and transformers', in a layer of an encoder of patches


def patch_encoder(config: PictureConfig | SoundConfig) -> dict[str, Any]:
    """What the configs of transformers' encoders of patches have in common."""
    return {
        "id2label": {str(n): str(n) for n in range(config.n_classes)},
        "label2id": {str(n): n for n in range(config.n_classes)},
        "hidden_size": config.d_model,
        "num_hidden_layers": config.n_layers,
        "num_attention_heads": config.n_heads,
        "intermediate_size": config.d_ff,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "layer_norm_eps": NORM_EPSILON,
        "qkv_bias": False,
        "dtype": "float32",
    }
