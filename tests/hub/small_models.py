"""Small models of every family with random weights, made from their configurations and saved to folders."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers as hf
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from hub.export.folder import export
from hub.hugging_face import load
from hub.local_models import Settings
from hub.open_models import FAMILY
from hub.reading import read
from hub.reading_types import Reading
from model.files.loaded_model import MODELS

LINES = (
    "The black cat fights the white cat.",
    "I ate an apple and you ate a pear.",
    "We sat on the bank of the river and read the newspaper.",
    "He plays basketball every Saturday with his friends.",
) * 3

SIZES = {"vocab_size": 0, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 48}


def wordpiece() -> hf.PreTrainedTokenizerFast:
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    backend = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.train_from_iterator(LINES, trainers.WordPieceTrainer(vocab_size=120, special_tokens=special))
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    backend.decoder = decoders.WordPiece()
    return hf.PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]", model_max_length=64,
    )  # fmt: skip


def byte_level(ends: bool) -> hf.PreTrainedTokenizerFast:
    """GPT-2's way of cutting; with `ends` also RoBERTa's and BART's special tokens around a sentence."""
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.train_from_iterator(
        LINES,
        trainers.BpeTrainer(
            vocab_size=330, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
        ),
    )
    if ends:
        backend.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
        )
    return hf.PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<s>", pad_token="<pad>", eos_token="</s>", unk_token="<unk>",
        mask_token="<mask>",
    )  # fmt: skip


def unigram() -> hf.PreTrainedTokenizerFast:
    special = ["<pad>", "</s>", "<unk>"]
    backend = Tokenizer(models.Unigram())
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace()
    backend.train_from_iterator(
        LINES, trainers.UnigramTrainer(vocab_size=90, special_tokens=special, unk_token="<unk>")
    )
    backend.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return hf.PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<pad>", eos_token="</s>", unk_token="<unk>", model_max_length=64
    )


def byte_fallback() -> hf.PreTrainedTokenizerFast:
    """Llama's way of cutting: signs that it does not know become bytes, and a whole sentence is one word to it."""
    special, bytes_ = ["<unk>", "<s>", "</s>"], [f"<0x{n:02X}>" for n in range(256)]
    backend = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")  # to learn alone
    backend.train_from_iterator(LINES, trainers.BpeTrainer(vocab_size=340, special_tokens=[*special, *bytes_]))
    learned = json.loads(backend.to_str()) | {"pre_tokenizer": None}
    learned["added_tokens"] = [one for one in learned["added_tokens"] if one["content"] in special]
    backend = Tokenizer.from_str(json.dumps(learned))
    backend.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    backend.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return hf.PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<s>", eos_token="</s>", unk_token="<unk>", model_max_length=64
    )


def _seq2seq(**more: Any) -> dict[str, Any]:
    both = {f"{stack}_{what}": n for stack in ("encoder", "decoder") for what, n in LAYERS.items()}
    return {"d_model": 24, "max_position_embeddings": 64, **both, **more}


LAYERS = {"layers": 2, "attention_heads": 3, "ffn_dim": 48}

# By family: the model's class, its configuration's, its settings, its tokenizer.
FAMILIES: dict[str, tuple[Any, Any, dict[str, Any], Any]] = {
    "bert": (hf.BertForMaskedLM, hf.BertConfig, SIZES, wordpiece),
    "distilbert": (
        hf.DistilBertForMaskedLM, hf.DistilBertConfig,
        {"dim": 24, "n_layers": 2, "n_heads": 3, "hidden_dim": 48}, wordpiece,
    ),
    "albert": (hf.AlbertForMaskedLM, hf.AlbertConfig, SIZES | {"embedding_size": 12}, wordpiece),
    "electra": (hf.ElectraForMaskedLM, hf.ElectraConfig, SIZES | {"embedding_size": 12}, wordpiece),
    "roberta": (
        hf.RobertaForMaskedLM, hf.RobertaConfig,
        SIZES | {"max_position_embeddings": 66, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2},
        lambda: byte_level(ends=True),
    ),
    "gpt2": (
        hf.GPT2LMHeadModel, hf.GPT2Config,
        {"n_embd": 24, "n_layer": 2, "n_head": 3, "n_positions": 64, "bos_token_id": 0, "eos_token_id": 2},
        lambda: byte_level(ends=False),
    ),
    "llama": (
        hf.LlamaForCausalLM, hf.LlamaConfig,
        SIZES | {"max_position_embeddings": 64, "bos_token_id": 1, "eos_token_id": 2}, byte_fallback,
    ),
    "t5": (
        hf.T5ForConditionalGeneration, hf.T5Config,
        {"d_model": 24, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 3, "decoder_start_token_id": 0},
        unigram,
    ),
    "bart": (
        hf.BartForConditionalGeneration, hf.BartConfig,
        _seq2seq(pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2, forced_eos_token_id=2),
        lambda: byte_level(ends=True),
    ),
    "marian": (
        hf.MarianMTModel, hf.MarianConfig,
        _seq2seq(pad_token_id=0, eos_token_id=1, decoder_start_token_id=0, forced_eos_token_id=1),
        unigram,
    ),
}  # fmt: skip


class InThisProcess:
    """An open model for a shelf, without a worker. In one process, the library cannot load two at once."""

    _lock = threading.Lock()
    busy = False

    def __init__(self, name: str, settings: Settings, make_room: Callable[[int], None]) -> None:
        with self._lock:
            self.opened = load(name, settings, make_room)
        self.facts, self.closed = self.opened.facts, False

    def read(self, sentence: str, hidden: int | None = None) -> Reading:
        with self._lock:
            return read(self.opened, sentence, hidden)

    def close(self) -> None:
        self.closed = True


def make(family: str, folder: Path) -> Path:
    """Save a small model of a family with its tokenizer, the same each time."""
    model_class, config_class, settings, tokenizer = FAMILIES[family]
    made = tokenizer()
    torch.manual_seed(sum(map(ord, family)))
    model = model_class(config_class(**(settings | {"vocab_size": len(made)})))
    model.save_pretrained(folder)
    made.save_pretrained(folder)
    return folder


def stand_in_models(folder: Path) -> None:
    """Small models with random weights of three families, ours exported, and one too large for a single view.

    Ours are read from here by the oracle alone: the app exports its own.
    """
    for family in ("bert", "gpt2", "t5"):
        make(family, folder / family)
    export(folder / "ours")
    for name in FAMILY:
        export(folder / name, MODELS / name)
    model, configuration, settings, tokenizer = FAMILIES["gpt2"]
    large = model(configuration(**settings | {"vocab_size": len(tokenizer()), "n_layer": 7, "n_head": 12}))
    large.save_pretrained(folder / "large")
    tokenizer().save_pretrained(folder / "large")
