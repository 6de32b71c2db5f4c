"""Other people's models, read by transformers itself from their folders: pieces, attention, what they predict."""

import functools
import math
import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import transformers as hf
from safetensors import safe_open

from tests.oracle.language.words import Piece
from tests.oracle.passes.forward import Array, bytes_of

MAX_WRITTEN = 48
PUNCTUATION = {*".,;:!?"}  # a piece of it begins a word
OURS, GPT, BERT = "this translator", "gpt-mini", "bert-mini"
SHIPPED = Path(__file__).parents[3] / "assets" / "models"


@dataclass(frozen=True)
class Maps:
    """One kind of attention: weights (L,H,T,S), pieces of the rows and of the columns (−1: special)."""

    kind: str
    weights: Array
    rows: tuple[Piece, ...]
    columns: tuple[Piece, ...]

    @property
    def masked(self) -> Array:
        """(T,S): what follows is hidden from a decoder's rows."""
        shape = self.weights.shape[2:]
        return np.triu(np.ones(shape, bool), 1) if self.kind == "decoder" else np.zeros(shape, bool)


@dataclass(frozen=True)
class Model:
    """A model of a folder, its tokenizer, and what it is: "encoder", "decoder" or "encoder-decoder"."""

    name: str
    kind: str
    model: hf.PreTrainedModel
    tokenizer: hf.PreTrainedTokenizerBase

    @property
    def n_parameters(self) -> int:
        return sum(p.numel() for p in self.model.parameters())


def root() -> Path:
    return Path(os.environ["WALKTHROUGH_MODELS"])


def names() -> list[str]:
    """Strangers' models in the folder."""
    found = {folder.name for folder in root().iterdir() if (folder / "config.json").is_file()}
    return sorted(found - {*family()})


def family() -> list[str]:
    """The app's own GPT and BERT, as far as they come with it."""
    return [name for name in (GPT, BERT) if (SHIPPED / name / "about.json").exists()]


def opened(name: str) -> Model:
    """The app's own are in the folder, too, exported; the translator as "ours"."""
    return _opened(root() / ("ours" if name == OURS else name))


@functools.cache
def _opened(folder: Path) -> Model:
    settings = hf.AutoConfig.from_pretrained(folder)
    (architecture,) = settings.architectures
    reads_all = architecture.endswith(("ForMaskedLM", "ForPreTraining"))
    kind = "encoder-decoder" if settings.is_encoder_decoder else "encoder" if reads_all else "decoder"
    auto = {"encoder": hf.AutoModelForMaskedLM, "decoder": hf.AutoModelForCausalLM}.get(kind, hf.AutoModelForSeq2SeqLM)
    model = auto.from_pretrained(folder, attn_implementation="eager").eval()
    return Model(folder.name, kind, model, hf.AutoTokenizer.from_pretrained(folder))


def not_learned(model: Model) -> tuple[int, int, int]:
    """How many numbers of a model of the app, opened by the library, nobody learned, by the names of their tensors.

    Returns: in tables of positions; in biases of zeros; and learned ones in the folder that the library does not open
    """
    opened = dict(model.model.named_parameters())
    tables = sum(one.numel() for name, one in opened.items() if "embed_positions" in name)
    zeros = sum(one.numel() for name, one in opened.items() if name.endswith("bias") and not one.any())
    with safe_open(root() / model.name / "model.safetensors", "np") as file:
        left_out = sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys() if name not in opened)  # noqa: SIM118
    return tables, zeros, left_out


def texts(tokenizer: hf.PreTrainedTokenizerBase, ids: list[int]) -> list[str]:
    """What each piece stands for: spaces around it left out, its bytes in hexadecimal if they are no character."""
    found = []
    for id in ids:
        raw, text = tokenizer.convert_ids_to_tokens(id), tokenizer.decode([id]).strip()
        if id in tokenizer.all_special_ids:
            text = raw
        elif raw.strip("Ġ▁ ") == "":
            text = " "
        elif not text or "�" in text:
            text = in_bytes(raw)
        found.append(text)
    return found


def in_bytes(raw: str) -> str:
    """A vocabulary entry by its bytes, if it spells bytes."""
    if named := re.fullmatch("<0x(..)>", raw):
        return f"‹{named[1]}›"
    try:
        return f"‹{bytes_of(raw).hex(' ').upper()}›"
    except KeyError:
        return raw


def pieces(model: Model, ids: list[int], words: list[int | None] | None = None) -> tuple[Piece, ...]:
    """Pieces with their words, where the tokenizer knows these; else each is its own.

    A tokenizer that takes the whole sentence for one word marks where a word begins.
    """
    special = model.tokenizer.all_special_ids
    word_of = (
        [-1 if w is None else w for w in words] if words else [-1 if i in special else n for n, i in enumerate(ids)]
    )
    raw = model.tokenizer.convert_ids_to_tokens(ids)
    if words and {*word_of} <= {-1, 0} and sum(piece[0] == "▁" for piece in raw) > 1:
        begun = [piece[0] == "▁" or piece in PUNCTUATION for piece in raw]
        word_of = [-1 if w < 0 else sum(begun[: n + 1]) - 1 for n, w in enumerate(word_of)]
    return tuple(map(Piece, ids, texts(model.tokenizer, ids), word_of))


@dataclass(frozen=True)
class Reading:
    """What a model does with a sentence; n_cut: pieces left out; predicted: (V) probabilities, or None."""

    pieces: tuple[Piece, ...]
    n_cut: int
    maps: tuple[Maps, ...]
    written: str
    predicted: Array | None


def reading(name: str, sentence: str, cover: int | None = None) -> Reading:
    return _reading(root(), name, sentence, cover)


@functools.lru_cache(32)
@torch.inference_mode()
def _reading(folder: Path, name: str, sentence: str, cover: int | None) -> Reading:
    model = opened(name)
    tokenizer = model.tokenizer
    longest = longest_text(model)
    encoded = tokenizer(sentence, truncation=True, max_length=longest)
    n_cut = len(tokenizer(sentence, verbose=False).input_ids) - len(encoded.input_ids)
    ids = list(encoded.input_ids)
    if cover is not None:
        ids[cover] = tokenizer.mask_token_id
    shown = pieces(model, ids, encoded.word_ids(0))
    source = torch.tensor([ids])
    mask = torch.ones_like(source)
    if model.kind == "encoder":
        out = model.model(input_ids=source, attention_mask=mask, output_attentions=True)
        at = ids.index(tokenizer.mask_token_id) if tokenizer.mask_token_id in ids else None
        predicted = None if at is None else shares(out.logits[0, at])
        return Reading(shown, n_cut, (Maps("encoder", stacked(out.attentions), shown, shown),), "", predicted)
    if model.kind == "decoder":
        out = model.model(input_ids=source, attention_mask=mask, output_attentions=True)
        more = model.model.generate(
            source,
            attention_mask=mask,
            do_sample=False,
            num_beams=1,
            max_new_tokens=max(1, min(MAX_WRITTEN, longest - len(ids))),
            pad_token_id=tokenizer.pad_token_id,
        )[0, len(ids) :]
        maps = (Maps("decoder", stacked(out.attentions), shown, shown),)
        return Reading(shown, n_cut, maps, tokenizer.decode(more, skip_special_tokens=True), shares(out.logits[0, -1]))
    written = model.model.generate(
        source, attention_mask=mask, do_sample=False, num_beams=1, max_new_tokens=MAX_WRITTEN
    )[0].tolist()
    out = model.model(
        input_ids=source, attention_mask=mask, decoder_input_ids=torch.tensor([written[:-1]]), output_attentions=True
    )
    reads, writes = pieces(model, written[:-1]), pieces(model, written[1:])
    maps = (
        Maps("encoder", stacked(out.encoder_attentions), shown, shown),
        Maps("decoder", stacked(out.decoder_attentions), reads, reads),
        Maps("cross", stacked(out.cross_attentions), writes, shown),
    )
    text = tokenizer.decode(written, skip_special_tokens=True).strip()
    return Reading(shown, n_cut, maps, text, shares(out.logits[0, 0]))


def longest_text(model: Model) -> int:
    """Pieces that it can read, by its files."""
    settings = model.model.config
    limits = [getattr(settings, name, None) for name in ("max_position_embeddings", "n_positions")]
    # RoBERTa's positions begin behind that of padding; two are kept for a start and an end.
    return min(n for n in (*limits, model.tokenizer.model_max_length, 512) if n) - 2


def stacked(layers: tuple[torch.Tensor, ...]) -> Array:
    return np.concatenate([layer.float().numpy() for layer in layers]).astype(float)


def shares(logits: torch.Tensor) -> Array:
    powers = np.exp(logits.double().numpy() - float(logits.max()))
    return np.asarray(powers / powers.sum())
