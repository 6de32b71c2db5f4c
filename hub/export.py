"""This project's model in the Hugging Face format, and back: `python -m hub.export DIR`.

The library's Marian architecture is the same as this model's: post-norm, ReLU, sinusoidal positions, embeddings ×
√d_model, one matrix for both embeddings and the output. Two things differ. Marian puts all sines of a position before
all cosines, while Vaswani et al. 2017, §3.5 alternate them; so every axis of width d_model is reordered in the same
way, which changes the order of the numbers, not the numbers. And Marian's attention has biases, which are 0 here.
"""

import argparse
import dataclasses
import json
import re
import sys
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from tokenizers import Regex, normalizers, processors
from tokenizers import Tokenizer as Backend
from torch import Tensor

from model import checkpoint
from model.build import build_model
from model.checkpoint import CONFIG, SHIPPED, TOKENIZER, WEIGHTS, CheckpointError
from model.config import CHOICES, ModelConfig
from model.device import Device
from model.loaded import load_folder
from model.tokenizer import EOS, EOS_ID, PAD, PAD_ID, SOS, SOS_ID, STRAIGHT_QUOTES, Tokenizer
from model.trace import MAX_TOKENS

CARD = "README.md"
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


def their_name(name: str) -> str:
    """Marian's name of one of our weights."""
    if name == "embedding.matrix.weight":
        return SHARED
    stack = name.partition(".")[0]
    name = re.sub(r"add_norm_(\d)\.norm", lambda match: NORMS[stack][int(match[1]) - 1], name)
    for ours, theirs in OURS_TO_THEIRS.items():
        name = name.replace(ours, theirs)
    return f"model.{name}"


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


def reorder(weights: dict[str, Tensor], order: Tensor) -> dict[str, Tensor]:
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


def their_config(config: ModelConfig) -> dict[str, object]:
    """Raises: ValueError, naming the part, if it has none of Marian's"""
    for name, (the_papers, *_) in CHOICES.items():
        if (value := getattr(config, name)) != the_papers:
            raise ValueError(f"Marian has no {name}={value!r}, only {the_papers!r}")
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


def our_config(theirs: dict[str, object]) -> ModelConfig:
    """Raises: KeyError if an entry is missing"""
    renamed = {
        "n_heads": "encoder_attention_heads",
        "n_layers": "encoder_layers",
        "d_ff": "encoder_ffn_dim",
        "max_len": "max_position_embeddings",
    }
    sizes = [field.name for field in dataclasses.fields(ModelConfig) if field.name not in CHOICES]
    ours = {name: theirs[renamed.get(name, name)] for name in sizes}  # the parts are those of the paper
    return ModelConfig(**ours)  # type: ignore[arg-type]


GENERATION = {
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
}
TOKENIZER_CONFIG = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "pad_token": PAD,
    "bos_token": SOS,
    "eos_token": EOS,
    "model_max_length": MAX_TOKENS + 1,
    "split_special_tokens": True,  # <sos> typed by a visitor is plain text
    "clean_up_tokenization_spaces": False,
    "model_input_names": ["input_ids", "attention_mask"],
}


def their_tokenizer(tokenizer: Tokenizer) -> Backend:
    """Our tokenizer, which also does what `model.tokenizer.normalise` does, and appends `<eos>`."""
    backend = Backend.from_str(tokenizer.backend.to_str())
    backend.normalizer = normalizers.Sequence(
        [
            normalizers.Replace(Regex(r"[\s\x1c-\x1f\x85]"), " "),
            normalizers.Replace(Regex(r"\p{Cc}"), ""),
            normalizers.NFC(),
            *(normalizers.Replace(chr(curly), straight) for curly, straight in STRAIGHT_QUOTES.items()),
            normalizers.Replace(Regex(" +"), " "),
            normalizers.Strip(),
            normalizers.Prepend(" "),
        ]
    )
    backend.post_processor = processors.TemplateProcessing(single=f"$A {EOS}", special_tokens=[(EOS, EOS_ID)])
    return backend


def our_tokenizer(path: Path) -> Tokenizer:
    backend = Backend.from_file(str(path))
    backend.normalizer = normalizers.Prepend(" ")
    plain = json.loads(backend.to_str()) | {"post_processor": None}
    return Tokenizer(Backend.from_str(json.dumps(plain)))


def card(folder: Path) -> str:
    """The model card, which begins with the header that the Hub reads, and a note on how to use the folder."""
    use = (
        "\n## How to use this folder\n"
        "```python\n"
        "from transformers import AutoModelForSeq2SeqLM, AutoTokenizer\n\n"
        'tokenizer = AutoTokenizer.from_pretrained("FOLDER")\n'
        'model = AutoModelForSeq2SeqLM.from_pretrained("FOLDER")\n'
        'ids = model.generate(**tokenizer("The black cat fights the white cat.", return_tensors="pt"))\n'
        "print(tokenizer.batch_decode(ids, skip_special_tokens=True))\n"
        "```\n"
        "Greedy decoding (`num_beams=1`) writes what Transformer Walkthrough writes. Its beam search divides scores by "
        "((5 + length)/6)^α, this library's by length^α; with `length_penalty=0` the two are one.\n"
    )
    return (folder / CARD).read_text(encoding="utf-8") + use


def export(target: Path, source: Path = SHIPPED) -> None:
    """Write a trained model of this project as a folder for transformers.

    Raises: CheckpointError if a file of the source is missing or damaged; ValueError for a model with other parts
    """
    loaded = load_folder(source, Device(torch.device("cpu"), "CPU"))
    config = loaded.config
    described = their_config(config)
    theirs = {their_name(n): w for n, w in reorder(loaded.model.state_dict(), sines_first(config.d_model)).items()}
    for name in [n for n in theirs if n.endswith("_proj.weight")]:
        theirs[name.replace("weight", "bias")] = torch.zeros(config.d_model)
    target.mkdir(parents=True, exist_ok=True)
    for file, content in (
        (CONFIG, described),
        ("generation_config.json", GENERATION),
        ("tokenizer_config.json", TOKENIZER_CONFIG),
    ):
        (target / file).write_text(json.dumps(content, indent=2) + "\n")
    their_tokenizer(loaded.tokenizer).save(str(target / TOKENIZER))
    save_file(theirs, target / WEIGHTS, metadata={"format": "pt"})
    (target / CARD).write_text(card(source), encoding="utf-8")


def restore(target: Path, source: Path) -> None:
    """Turn a folder written by `export` into a model of this project again.

    Raises: CheckpointError, naming the folder, if a file is missing or damaged, or it holds another architecture
    """
    try:
        config = our_config(json.loads((source / CONFIG).read_text()))
        theirs = load_file(source / WEIGHTS)
        back = torch.argsort(sines_first(config.d_model))
        names = build_model(config).state_dict()
        weights = reorder({name: theirs[their_name(name)] for name in names}, back)
        tokenizer = our_tokenizer(source / TOKENIZER)
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise CheckpointError(f"{source} holds no model that was exported from here ({error!r})") from error
    checkpoint.save(target, config, tokenizer, weights)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m hub.export", description=__doc__)
    parser.add_argument("folder", type=Path, help="where to write")
    parser.add_argument("--model", type=Path, default=SHIPPED, help="what to export (default: the shipped model)")
    parser.add_argument(
        "--back", type=Path, metavar="EXPORTED", help="turn this exported folder into a model of this project again"
    )
    arguments = parser.parse_args()
    try:
        if arguments.back:
            restore(arguments.folder, arguments.back)
        else:
            export(arguments.folder, arguments.model)
    except (CheckpointError, ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"Written to {arguments.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
