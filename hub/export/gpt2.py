"""A decoder alone as transformers' GPT-2, and back.

The parts are the same. GPT-2 keeps each matrix as it is multiplied, (in, out), and those of queries, keys and values
side by side in one. Its attention has biases, which are 0 here.
"""

import re
from collections.abc import Mapping
from typing import Any

import torch
from tokenizers import processors
from torch import Tensor

from hub.export.formats import Format, Weights, check_parts, config_from, replaced
from model.build import NORM_EPSILON, build_network
from model.config import ModelConfig
from model.text.tokenizer import EOS, EOS_ID, PAD, PAD_ID, SOS, SOS_ID

PARTS = {"positions": "learned", "norm": "layer", "norm_place": "pre", "activation": "gelu_tanh"}
OURS_TO_THEIRS = {
    "embedding.matrix": "wte",
    "embedding.positions.table": "wpe",
    "decoder.norm": "ln_f",
    "decoder.layers": "h",
    "add_norm_1.norm": "ln_1",
    "add_norm_2.norm": "ln_2",
    "self_attn.w_o": "attn.c_proj",
    "feed_forward.w_1": "mlp.c_fc",
    "feed_forward.w_2": "mlp.c_proj",
}
JOINED = ("w_q", "w_k", "w_v")  # in this order
SIZES = {
    "vocab_size": "vocab_size",
    "d_model": "n_embd",
    "n_heads": "n_head",
    "n_layers": "n_layer",
    "d_ff": "n_inner",
    "max_len": "n_positions",
    "dropout": "resid_pdrop",
}


def their_name(name: str) -> str:
    """GPT-2's name of one of our weights; that of the joined matrix for queries, keys and values."""
    return f"transformer.{re.sub(r'self_attn.w_[qkv]', 'attn.c_attn', replaced(name, OURS_TO_THEIRS))}"


def is_matrix(name: str) -> bool:
    """Whether it is a matrix that rows are multiplied with, which GPT-2 keeps the other way round."""
    return re.search(r"w_[qkvo12]\.weight$", name) is not None


def their_config(config: ModelConfig) -> dict[str, Any]:
    """Raises: ValueError, naming the part, if GPT-2 has another"""
    check_parts(config, PARTS, "GPT-2")
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        **{theirs: getattr(config, ours) for ours, theirs in SIZES.items()},
        "embd_pdrop": config.dropout,
        "attn_pdrop": 0.0,
        "activation_function": "gelu_new",
        "layer_norm_epsilon": NORM_EPSILON,
        "tie_word_embeddings": True,
        "pad_token_id": PAD_ID,
        "bos_token_id": SOS_ID,
        "eos_token_id": EOS_ID,
        "dtype": "float32",
    }


def our_config(theirs: Mapping[str, Any]) -> ModelConfig:
    return config_from(theirs, SIZES, PARTS, "decoder_only")


def their_weights(weights: Weights, config: ModelConfig) -> dict[str, Tensor]:
    """Ours under GPT-2's names."""
    theirs: dict[str, Tensor] = {}
    for name, weight in weights.items():
        new = their_name(name)
        if name.endswith("w_q.weight"):
            weight = torch.cat([weights[name.replace("w_q", one)] for one in JOINED])
        elif name.endswith(("w_k.weight", "w_v.weight")):
            continue  # with its queries
        if re.search(r"w_[qo]\.weight$", name):
            theirs[new.replace("weight", "bias")] = torch.zeros(len(weight))
        theirs[new] = (weight.T if is_matrix(name) else weight).contiguous()
    return theirs


def our_weights(theirs: Weights, config: ModelConfig) -> dict[str, Tensor]:
    ours: dict[str, Tensor] = {}
    for name in build_network(config).state_dict():
        weight = theirs[their_name(name)]
        weight = weight.T if is_matrix(name) else weight
        if (matrix := name.split(".")[-2]) in JOINED:
            weight = weight.chunk(3)[JOINED.index(matrix)]
        ours[name] = weight
    return ours


GPT2 = Format(
    "gpt2",
    "decoder_only",
    processors.TemplateProcessing(single=f"{SOS} $A", special_tokens=[(SOS, SOS_ID)]),
    tokenizer={
        "pad_token": PAD,
        "bos_token": SOS,
        "eos_token": EOS,
        "model_input_names": ["input_ids", "attention_mask"],
    },
    generation={
        "pad_token_id": PAD_ID,
        "bos_token_id": SOS_ID,
        "eos_token_id": EOS_ID,
        "suppress_tokens": [PAD_ID, SOS_ID],  # our decoding never writes them either
    },
    auto="AutoModelForCausalLM",
    example='ids = model.generate(**tokenizer("The bear went", return_tensors="pt"), max_new_tokens=20)\n'
    "print(tokenizer.batch_decode(ids, skip_special_tokens=True))",
    note="This is greedy decoding: it writes what Transformer Walkthrough writes.",
    config=their_config,
    our_config=our_config,
    weights=their_weights,
    our_weights=our_weights,
)
