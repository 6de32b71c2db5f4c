"""A Hugging Face model from a folder, and what it does with a sentence: tokens, attention, predictions.

Only safetensors are read and no code of a model is run. Nothing here reaches the network (see explore/downloads.py).
"""

import functools
import itertools
import string
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import cachetools
import numpy as np
import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    PreTrainedTokenizerBase,
)
from transformers.convert_slow_tokenizer import bytes_to_unicode
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
)
from transformers.utils import logging

from explore.attention import AttentionMaps
from explore.folders import ModelError, Settings, config_of, folder_of, free_memory, weights_size

# What is wrong is said to the visitor, and progress is shown on the page.
logging.set_verbosity_error()
logging.disable_progress_bar()

Kind = Literal["encoder", "decoder", "encoder-decoder"]

MAX_TOKENS = 128  # of a sentence, special tokens among them: what one can still look at
MAX_WRITTEN = 48  # tokens that a model writes at most
N_PREDICTIONS = 10
READINGS_BYTES = 64 * 2**20  # of what models read lately, kept so that a click is quick

_SPACES = "Ġ▁"  # what byte-level vocabularies and SentencePiece write for a space
_BYTES = {sign: byte for byte, sign in bytes_to_unicode().items()}

LOADERS: dict[Kind, Any] = {
    "encoder": AutoModelForMaskedLM,
    "decoder": AutoModelForCausalLM,
    "encoder-decoder": AutoModelForSeq2SeqLM,
}


@dataclass(frozen=True)
class Prediction:
    """A token that the model thinks likely at some place, and its probability."""

    text: str
    probability: float


@dataclass(frozen=True)
class Covered:
    """A covered token that had to be guessed: its text, its probability, and its rank from 1 among so many."""

    text: str
    probability: float
    rank: int
    among: int


@dataclass(frozen=True)
class Reading:
    """What a model did with one sentence.

    tokens:    of the sentence, special tokens among them; n_cut: tokens beyond what the model or the page takes
    maps:      attention of every layer and head, one entry a kind
    predicted: what the predictions are for, in words; "" if the model predicts nothing
    predictions: the likeliest tokens there, likeliest first
    written:   what an encoder-decoder model makes of the sentence, or how a decoder goes on
    covered:   the token that the visitor covered, if any
    """

    tokens: tuple[str, ...]
    n_cut: int
    maps: tuple[AttentionMaps, ...]
    predicted: str
    predictions: tuple[Prediction, ...]
    written: str
    covered: Covered | None = None


@dataclass(frozen=True)
class OpenModel:
    """A loaded model. Shared by all threads and never changed.

    predicts: whether the file holds the weights of the head that turns vectors into words
    """

    name: str
    kind: Kind
    model: Any
    tokenizer: PreTrainedTokenizerBase
    predicts: bool

    @property
    def n_parameters(self) -> int:
        return sum(p.numel() for p in self.model.parameters())

    @functools.cached_property
    def longest(self) -> int:
        """Tokens that the model takes at most, as far as this app shows them."""
        config = self.model.config
        places = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
        # RoBERTa and its kin count places from 2.
        return int(min(MAX_TOKENS, self.tokenizer.model_max_length, places - 2 if places else MAX_TOKENS))


def kind_of(config: dict[str, Any]) -> Kind:
    """Which of the three families a configuration belongs to.

    Raises: ModelError if it is no language model that this app knows
    """
    model_type = str(config.get("model_type", ""))
    architecture = str((config.get("architectures") or [""])[0])
    if model_type in MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES and config.get("is_encoder_decoder", True):
        return "encoder-decoder"
    causal, masked = (
        model_type in names for names in (MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, MODEL_FOR_MASKED_LM_MAPPING_NAMES)
    )
    if causal and (not masked or architecture.endswith(("ForCausalLM", "LMHeadModel"))):
        return "decoder"
    if masked:
        return "encoder"
    raise ModelError(f"This is no language model that the app can show: its type is {model_type[:40]!r}.")


def load(name: str, settings: Settings) -> OpenModel:
    """Load a model from its folder under the root.

    Raises: ModelError, one sentence, for whatever is wrong with it
    """
    folder = folder_of(name, settings.root)
    if folder is None:
        raise ModelError(f"There is no model {name!r} among those that the app may open.")
    kind = kind_of(config_of(folder))
    needed, free = weights_size(folder, settings.root), free_memory()
    if needed > free:
        raise ModelError(
            f"The model needs {needed / 1e9:.1f} GB of memory and {free / 1e9:.1f} GB are free; choose a smaller one."
        )
    safe = {"local_files_only": True, "trust_remote_code": False}
    try:
        config = AutoConfig.from_pretrained(folder, **safe)
        tokenizer = AutoTokenizer.from_pretrained(folder, **safe)
        model, loading = LOADERS[kind].from_pretrained(
            folder,
            config=config,
            use_safetensors=True,
            attn_implementation="eager",  # the others do not hand out their weights
            dtype=torch.float32,
            output_loading_info=True,
            **safe,
        )
    except Exception as error:  # the library raises all kinds of errors for files that do not fit together
        raise ModelError(f"The model's files do not fit together: {_first_line(error)}") from error
    missing = [key for key in loading["missing_keys"] if key.startswith(f"{model.base_model_prefix}.")]
    if missing:
        raise ModelError(f"The weights of {len(missing)} parts of the model are missing, {missing[0]} among them.")
    if not len(tokenizer):
        raise ModelError("The folder holds no tokenizer.")
    return OpenModel(name, kind, model.eval().requires_grad_(False), tokenizer, not loading["missing_keys"])


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)[:160]


class Shelf:
    """The models in memory, at most so many, and what they read lately. The one not used for longest leaves first.

    For all threads; models load and read one at a time, so that two never fight for memory or cores.
    """

    def __init__(self, size: int, load: Callable[[str], OpenModel]) -> None:
        self._models: cachetools.LRUCache[str, OpenModel] = cachetools.LRUCache(size)
        self._readings: cachetools.LRUCache[object, Reading] = cachetools.LRUCache(
            READINGS_BYTES, getsizeof=lambda reading: sum(maps.weights.nbytes for maps in reading.maps)
        )
        self._lock = threading.RLock()
        self._load = load

    def get(self, name: str) -> OpenModel:
        """The model, loaded if it is not there.

        Raises: ModelError
        """
        with self._lock:
            if name not in self._models:
                if len(self._models) >= self._models.maxsize:
                    self._models.popitem()  # before the next one is loaded, so that both never lie in memory at once
                self._models[name] = self._load(name)
            return self._models[name]

    def read(self, name: str, sentence: str, hidden: int | None = None) -> Reading:
        """`read` with the model of this name, remembered.

        Raises: ModelError
        """
        key = name, sentence, hidden
        with self._lock:
            if key not in self._readings:
                reading = read(self.get(name), sentence, hidden)
                if sum(maps.weights.nbytes for maps in reading.maps) > READINGS_BYTES:
                    return reading
                self._readings[key] = reading
            return self._readings[key]

    def names(self) -> list[str]:
        """Names of the models in memory."""
        with self._lock:
            return list(self._models)


@functools.cache
def shelf(settings: Settings) -> Shelf:
    """The one shelf of this process with these settings."""
    return Shelf(settings.kept, lambda name: load(name, settings))


@torch.inference_mode()
def read(opened: OpenModel, sentence: str, hidden: int | None = None) -> Reading:
    """Send a sentence through a model.

    Args:   hidden: for an encoder, the token to be covered by the mask token and guessed; None leaves the sentence as
            it is, with the first mask token in it, if any, to be guessed
    Raises: ModelError if nothing is left of the sentence
    """
    tokenizer = opened.tokenizer
    everything = tokenizer(sentence, verbose=False)["input_ids"]
    encoded = tokenizer(sentence, truncation=True, max_length=opened.longest, return_tensors="pt")
    ids = encoded["input_ids"]
    if not ids.size(1):
        raise ModelError("There is nothing to read yet: type a sentence.")
    words = _words(tokenizer, ids[0].tolist(), encoded)
    masked = (ids[0] == tokenizer.mask_token_id).nonzero().flatten().tolist() if opened.kind == "encoder" else []
    answer = None
    if hidden in range(ids.size(1)) and opened.kind == "encoder" and tokenizer.mask_token_id is not None:
        answer, masked = int(ids[0, hidden]), [hidden]
        ids = ids.clone()
        ids[0, hidden] = tokenizer.mask_token_id
    tokens = _tokens(tokenizer, ids[0].tolist(), words)
    run = {"encoder": _read_encoder, "decoder": _read_decoder, "encoder-decoder": _read_both}[opened.kind]
    maps, predicted, logits, written = run(opened, ids, encoded["attention_mask"], tokens)
    n_cut = max(0, len(everything) - ids.size(1))
    if not opened.predicts or (opened.kind == "encoder" and not masked):
        return Reading(tokens.texts, n_cut, maps, "", (), "")
    if opened.kind == "encoder":
        predicted, logits = f"piece {masked[0] + 1}, {tokens.texts[masked[0]]}", logits[masked[0]]
    covered = None if answer is None else _covered(tokenizer, logits, answer)
    return Reading(tokens.texts, n_cut, maps, predicted, _likeliest(tokenizer, logits), written, covered)


@dataclass(frozen=True)
class Tokens:
    """Texts of tokens, which word each belongs to (−1: special), and the text of that word."""

    texts: tuple[str, ...]
    words: tuple[int, ...]
    wholes: tuple[str, ...]


Read = tuple[tuple[AttentionMaps, ...], str, torch.Tensor, str]


def _maps(kind: str, layers: Sequence[torch.Tensor], rows: Tokens, columns: Tokens) -> AttentionMaps:
    return AttentionMaps(
        kind, _stack(layers), rows.texts, columns.texts, rows.words, columns.words, rows.wholes, columns.wholes
    )


def _read_encoder(opened: OpenModel, ids: torch.Tensor, mask: torch.Tensor, tokens: Tokens) -> Read:
    """The predictions are those of every place."""
    out = opened.model(input_ids=ids, attention_mask=mask, output_attentions=True)
    return (_maps("encoder", out.attentions, tokens, tokens),), "", out.logits[0], ""


def _read_decoder(opened: OpenModel, ids: torch.Tensor, mask: torch.Tensor, tokens: Tokens) -> Read:
    out = opened.model(input_ids=ids, attention_mask=mask, output_attentions=True)
    maps = (_maps("decoder", out.attentions, tokens, tokens),)
    written = opened.model.generate(
        input_ids=ids,
        attention_mask=mask,
        do_sample=False,
        num_beams=1,
        max_new_tokens=min(MAX_WRITTEN, max(1, opened.longest - ids.size(1))),
        pad_token_id=_filler(opened),
    )
    more = _text(opened, written[0, ids.size(1) :])
    return maps, "the piece that comes next", out.logits[0, -1], more


def _read_both(opened: OpenModel, ids: torch.Tensor, mask: torch.Tensor, tokens: Tokens) -> Read:
    written = opened.model.generate(
        input_ids=ids, attention_mask=mask, do_sample=False, num_beams=1, max_new_tokens=MAX_WRITTEN
    )
    out = opened.model(
        input_ids=ids, attention_mask=mask, decoder_input_ids=written[:, :-1], output_attentions=True, use_cache=False
    )
    read, labels = (
        _tokens(opened.tokenizer, ids, _words(opened.tokenizer, ids))
        for ids in (written[0, :-1].tolist(), written[0, 1:].tolist())
    )
    maps = (
        _maps("encoder", out.encoder_attentions, tokens, tokens),
        _maps("decoder", out.decoder_attentions, read, read),
        # A row is the piece about to be written, as with this project's own model.
        _maps("cross", out.cross_attentions, labels, tokens),
    )
    return (
        maps,
        "the first piece to be written",
        out.logits[0, 0],
        _text(opened, written[0]).strip(),
    )


def _text(opened: OpenModel, ids: torch.Tensor) -> str:
    return str(opened.tokenizer.decode(ids, skip_special_tokens=True))


def _filler(opened: OpenModel) -> int:
    """An id for padding: where a model has none, whatever it has; one sentence alone is never padded."""
    found = opened.tokenizer.pad_token_id
    return int(found if found is not None else opened.tokenizer.eos_token_id or 0)


def _stack(layers: Sequence[torch.Tensor]) -> np.ndarray:
    """(L,H,T,S) of one tensor (1,H,T,S) a layer."""
    return torch.cat(list(layers)).float().numpy()


def _likeliest(tokenizer: PreTrainedTokenizerBase, logits: torch.Tensor) -> tuple[Prediction, ...]:
    top = logits.double().softmax(-1).topk(min(N_PREDICTIONS, len(logits)))
    texts = _texts(tokenizer, top.indices.tolist())
    return tuple(Prediction(text, p) for text, p in zip(texts, top.values.tolist(), strict=True))


def _covered(tokenizer: PreTrainedTokenizerBase, logits: torch.Tensor, answer: int) -> Covered:
    probabilities = logits.double().softmax(-1)
    (text,) = _texts(tokenizer, [answer])
    rank = 1 + int((probabilities > probabilities[answer]).sum())
    return Covered(text, float(probabilities[answer]), rank, len(probabilities))


def _texts(tokenizer: PreTrainedTokenizerBase, ids: Iterable[int]) -> tuple[str, ...]:
    """Each token as a reader knows it: without the sign that some vocabularies write for a space.

    Bytes that are no character one can see are in hexadecimal, like ‹E2 82›.
    """
    texts = []
    for id in ids:
        raw = str(tokenizer.convert_ids_to_tokens(id))
        text = raw if id in tokenizer.all_special_ids else str(tokenizer.decode([id])).strip()
        if raw.strip(f"{_SPACES} ") == "":
            text = " "
        elif (not text or "�" in text) and all(sign in _BYTES for sign in raw):
            text = f"‹{' '.join(f'{_BYTES[sign]:02X}' for sign in raw)}›"
        texts.append(text if text and "�" not in text else raw)
    return tuple(texts)


def _tokens(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int], words: tuple[int, ...]) -> Tokens:
    texts = _texts(tokenizer, ids)
    wholes = list(texts)
    for word, run in itertools.groupby(range(len(ids)), words.__getitem__):
        places = list(run)
        if word >= 0 and len(places) > 1:
            whole = str(tokenizer.decode([ids[i] for i in places])).strip()
            joined = "".join(texts[i] for i in places).strip()
            wholes[places[0] : places[-1] + 1] = [whole if whole and "�" not in whole else joined] * len(places)
    return Tokens(texts, words, tuple(wholes))


def _words(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int], encoded: Any = None) -> tuple[int, ...]:
    """For each token the word it belongs to, −1 for special tokens."""
    if encoded is not None and tokenizer.is_fast:
        return tuple(-1 if word is None else word for word in encoded.word_ids(0))
    words: list[int] = []
    word, ended_in_sign = -1, False
    for id in ids:
        token = str(tokenizer.convert_ids_to_tokens(id))
        if id in tokenizer.all_special_ids:
            words.append(-1)
            continue
        # As the tokenizer cuts a sentence: at spaces, and between letters and punctuation.
        sign = token.lstrip(_SPACES)[:1] in string.punctuation
        if token.startswith(tuple(_SPACES)) or word < 0 or words[-1] < 0 or sign != ended_in_sign:
            word += 1
        ended_in_sign = token[-1:] in string.punctuation
        words.append(word)
    return tuple(words)
