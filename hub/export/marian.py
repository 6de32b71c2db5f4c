"""An encoder-decoder as transformers' Marian, and back.

The architecture is the same: post-norm, ReLU, sinusoidal positions, embeddings × √d_model, one matrix for both
embeddings and the output. Two things differ. Marian puts all sines of a position before all cosines, while Vaswani et
al. 2017, §3.5 alternate them; so every axis of width d_model is reordered in the same way, which changes the order of
the numbers, not the numbers. And Marian's attention has biases, which are 0 here.
"""

import re
from collections.abc import Mapping
from typing import Any

import torch
from tokenizers import processors
from torch import Tensor

from hub.export.formats import Format, Weights, check_parts, config_from, replaced, zero_biases
from model.build import build_network
from model.config import CHOICES, ModelConfig
from model.text.tokenizer import EOS, EOS_ID, PAD, PAD_ID, SOS, SOS_ID
from model.trace import MAX_TOKENS

PARTS = {name: the_papers for name, (the_papers, *_) in CHOICES.items()}
SHARED = "model.shared.weight"
OURS_TO_THEIRS = {
    "self_attn": "self_attn",
    "cross_attn": "encoder_attn",
    "w_q": "q_proj",
    "w_k": "k_proj",
    "w_v": "v_proj",
    "w_o": "out_proj",
    "feed_forward.w_1": "fc1",
    "feed_forward.w_2": "fc2",
}
NORMS = {
    "encoder": ("self_attn_layer_norm", "final_layer_norm"),
    "decoder": ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"),
}
SIZES = {
    "vocab_size": "vocab_size",
    "d_model": "d_model",
    "n_heads": "encoder_attention_heads",
    "n_layers": "encoder_layers",
    "d_ff": "encoder_ffn_dim",
    "max_len": "max_position_embeddings",
    "dropout": "dropout",
}


def their_name(name: str) -> str:
    """Marian's name of one of our weights."""
    if name == "embedding.matrix.weight":
        return SHARED
    stack = name.partition(".")[0]
    name = re.sub(r"add_norm_(\d)\.norm", lambda match: NORMS[stack][int(match[1]) - 1], name)
    return f"model.{replaced(name, OURS_TO_THEIRS)}"


def stream_axes(name: str) -> tuple[int, ...]:
    """Which axes of one of our weights run along d_model, the width of the vectors between the blocks.

    The output axis of w_q, w_k and w_v and the input axis of w_o run along the heads, which are not reordered.
    """
    what = name.split(".")[-2]
    if what in ("w_q", "w_k", "w_v"):
        return (1,)
    if what == "w_1":
        return (1,) if name.endswith("weight") else ()
    return (1,) if what == "matrix" else (0,)


def reorder(weights: Weights, order: Tensor) -> dict[str, Tensor]:
    """Our weights with every d_model axis in this order."""
    result = {}
    for name, weight in weights.items():
        for axis in stream_axes(name):
            weight = weight.index_select(axis, order)
        result[name] = weight.contiguous()
    return result


def sines_first(d_model: int) -> Tensor:
    """The order (d_model) that puts all sines first, then all cosines, where they alternate."""
    return torch.cat([torch.arange(0, d_model, 2), torch.arange(1, d_model, 2)])


def their_config(config: ModelConfig) -> dict[str, Any]:
    """Raises: ValueError, naming the part, if it has none of Marian's"""
    check_parts(config, PARTS, "Marian")
    stacks = {
        f"{stack}_{what}": value
        for stack in ("encoder", "decoder")
        for what, value in (("layers", config.n_layers), ("attention_heads", config.n_heads), ("ffn_dim", config.d_ff))
    }
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "is_encoder_decoder": True,
        "vocab_size": config.vocab_size,
        "decoder_vocab_size": config.vocab_size,
        "d_model": config.d_model,
        **stacks,
        "max_position_embeddings": config.max_len,
        "dropout": config.dropout,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "activation_function": "relu",
        "scale_embedding": True,
        "static_position_embeddings": True,
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": True,
        "normalize_before": False,
        "pad_token_id": PAD_ID,
        "bos_token_id": SOS_ID,
        "eos_token_id": EOS_ID,
        "decoder_start_token_id": SOS_ID,
        "forced_eos_token_id": None,
        "dtype": "float32",
    }


def our_config(theirs: Mapping[str, Any]) -> ModelConfig:
    return config_from(theirs, SIZES, PARTS, "encoder_decoder")


def their_weights(weights: Weights, config: ModelConfig) -> dict[str, Tensor]:
    """Ours under Marian's names, in its order of the dimensions."""
    theirs = {their_name(name): weight for name, weight in reorder(weights, sines_first(config.d_model)).items()}
    return theirs | zero_biases(theirs, "_proj")


def our_weights(theirs: Weights, config: ModelConfig) -> dict[str, Tensor]:
    names = build_network(config).state_dict()
    return reorder({name: theirs[their_name(name)] for name in names}, torch.argsort(sines_first(config.d_model)))


MARIAN = Format(
    "marian",
    "encoder_decoder",
    processors.TemplateProcessing(single=f"$A {EOS}", special_tokens=[(EOS, EOS_ID)]),
    tokenizer={
        "pad_token": PAD,
        "bos_token": SOS,
        "eos_token": EOS,
        "model_max_length": MAX_TOKENS + 1,
        "model_input_names": ["input_ids", "attention_mask"],
    },
    generation={
        "decoder_start_token_id": SOS_ID,
        "pad_token_id": PAD_ID,
        "bos_token_id": SOS_ID,
        "eos_token_id": EOS_ID,
        "forced_eos_token_id": None,
        "suppress_tokens": [PAD_ID, SOS_ID],  # our decoding never writes them either
        "max_new_tokens": MAX_TOKENS,
        "num_beams": 4,
        "length_penalty": 1.0,
        "early_stopping": True,
    },
    auto="AutoModelForSeq2SeqLM",
    example='ids = model.generate(**tokenizer("The black cat fights the white cat.", return_tensors="pt"))\n'
    "print(tokenizer.batch_decode(ids, skip_special_tokens=True))",
    note="Greedy decoding (`num_beams=1`) writes what Transformer Walkthrough writes. Its beam search divides scores "
    "by ((5 + length)/6)^α, this library's by length^α; with `length_penalty=0` the two are one.",
    config=their_config,
    our_config=our_config,
    weights=their_weights,
    our_weights=our_weights,
)
