"""An encoder alone as transformers' BERT with both of its heads, and back.

The parts are the same. BERT's attention has biases, which are 0 here.
"""

from collections.abc import Mapping
from typing import Any

from tokenizers import processors
from torch import Tensor

from hub.export.formats import Format, Weights, check_parts, config_from, replaced, zero_biases
from model.build import N_SEGMENTS, NORM_EPSILON, build_network
from model.config import ModelConfig
from model.text.tokenizer import CLS, CLS_ID, MASK, PAD, PAD_ID, SEP, SEP_ID

PARTS = {"positions": "learned", "norm": "layer", "norm_place": "post", "activation": "gelu"}
OURS_TO_THEIRS = {
    "embedding.matrix": "bert.embeddings.word_embeddings",
    "embedding.positions.table": "bert.embeddings.position_embeddings",
    "embedding.segments": "bert.embeddings.token_type_embeddings",
    "embedding.norm": "bert.embeddings.LayerNorm",
    "encoder.layers": "bert.encoder.layer",
    "self_attn.w_q": "attention.self.query",
    "self_attn.w_k": "attention.self.key",
    "self_attn.w_v": "attention.self.value",
    "self_attn.w_o": "attention.output.dense",
    "add_norm_1.norm": "attention.output.LayerNorm",
    "feed_forward.w_1": "intermediate.dense",
    "feed_forward.w_2": "output.dense",
    "add_norm_2.norm": "output.LayerNorm",
    "masked_token.transform": "cls.predictions.transform.dense",
    "masked_token.norm": "cls.predictions.transform.LayerNorm",
    "masked_token.bias": "cls.predictions.bias",
    "next_sentence.pooler": "bert.pooler.dense",
    "next_sentence.classifier": "cls.seq_relationship",
}
SIZES = {
    "vocab_size": "vocab_size",
    "d_model": "hidden_size",
    "n_heads": "num_attention_heads",
    "n_layers": "num_hidden_layers",
    "d_ff": "intermediate_size",
    "max_len": "max_position_embeddings",
    "dropout": "hidden_dropout_prob",
}


def their_config(config: ModelConfig) -> dict[str, Any]:
    """Raises: ValueError, naming the part, if BERT has another"""
    check_parts(config, PARTS, "BERT")
    return {
        "architectures": ["BertForPreTraining"],
        "model_type": "bert",
        **{theirs: getattr(config, ours) for ours, theirs in SIZES.items()},
        "attention_probs_dropout_prob": 0.0,
        "hidden_act": "gelu",
        "layer_norm_eps": NORM_EPSILON,
        "type_vocab_size": N_SEGMENTS,
        "tie_word_embeddings": True,
        "pad_token_id": PAD_ID,
        "dtype": "float32",
    }


def our_config(theirs: Mapping[str, Any]) -> ModelConfig:
    return config_from(theirs, SIZES, PARTS, "encoder_only")


def their_weights(weights: Weights, config: ModelConfig) -> dict[str, Tensor]:
    """Ours under BERT's names."""
    theirs = {replaced(name, OURS_TO_THEIRS): weight.contiguous() for name, weight in weights.items()}
    return theirs | zero_biases(theirs, r"attention\.(self\.\w+|output\.dense)")


def our_weights(theirs: Weights, config: ModelConfig) -> dict[str, Tensor]:
    return {name: theirs[replaced(name, OURS_TO_THEIRS)] for name in build_network(config).state_dict()}


BERT = Format(
    "bert",
    "encoder_only",
    processors.TemplateProcessing(
        single=f"{CLS} $A {SEP}",
        pair=f"{CLS} $A {SEP} $B:1 {SEP}:1",
        special_tokens=[(CLS, CLS_ID), (SEP, SEP_ID)],
    ),
    tokenizer={
        "pad_token": PAD,
        "cls_token": CLS,
        "sep_token": SEP,
        "mask_token": {"__type": "AddedToken", "content": MASK, "normalized": True, "special": True},
        "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
        "split_special_tokens": False,  # [MASK] typed into a text is the place to be guessed
    },
    generation={},
    auto="AutoModelForPreTraining",
    example='inputs = tokenizer("The cat drinks [MASK].", return_tensors="pt")\n'
    "at = inputs.input_ids[0].tolist().index(tokenizer.mask_token_id)\n"
    "best = model(**inputs).prediction_logits[0, at].topk(5).indices.tolist()\n"
    "print(tokenizer.convert_ids_to_tokens(best))",
    note="Like any piece, [MASK] takes the space in front of it along. Of two texts, give the tokenizer both.",
    config=their_config,
    our_config=our_config,
    weights=their_weights,
    our_weights=our_weights,
    left_out=("next_sentence.",),
)
