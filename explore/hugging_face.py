"""A Hugging Face model from a folder, and what it does with a sentence: tokens, attention, predictions.

Only safetensors are read and no code of a model is run. Nothing here reaches the network (see explore/downloads.py).
"""

import functools
import itertools
import string
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import cachetools
import numpy as np
import torch
from safetensors.torch import load_file
from transformers import (
    CONFIG_MAPPING,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    GenerationConfig,
    PreTrainedModel,
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
from explore.folders import (
    ModelError,
    Settings,
    check_files,
    check_tokenizer,
    config_of,
    folder_of,
    free_memory,
    n_numbers,
    weight_files,
    writing_of,
)

# What is wrong is said to the visitor, and progress is shown on the page.
logging.set_verbosity_error()
logging.disable_progress_bar()

Kind = Literal["encoder", "decoder", "encoder-decoder"]

MAX_TOKENS = 128  # of a sentence, special tokens among them: what one can still look at
MAX_WRITTEN = 48  # tokens that a model writes at most
N_PREDICTIONS = 10
READINGS_BYTES = 64 * 2**20  # of what models read lately, kept so that a click is quick
READING_BYTES = 2**14  # of a reading besides its weights: the texts of its tokens
MAX_TEXT = 60  # characters of a token that are shown

_SPACES = "Ġ▁"  # what byte-level vocabularies and SentencePiece write for a space
_BYTES = {sign: byte for byte, sign in bytes_to_unicode().items()}

MAX_LAYERS = 200  # of a model; the largest in use have 126, and thousands would take minutes to lay out
SLACK = 2**24  # numbers that a model may have beyond twice those in its files: fixed tables of places, a missing head

# Of config.json: what has nothing to do with reading a sentence and would load, patch or build something else.
UNREAD = {
    "attn_implementation", "attribute_map", "auto_map", "distributed_config", "experts_implementation", "fusion_config",
    "id2label", "label2id", "num_labels", "per_layer_config", "problem_type", "sub_configs", "transformers_weights",
}  # fmt: skip
# Of generation_config.json: where a text starts and ends, and what must not stand in it. How to go on is set here.
WRITING = {
    "bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id", "forced_bos_token_id",
    "forced_eos_token_id", "bad_words_ids", "suppress_tokens", "begin_suppress_tokens", "no_repeat_ngram_size",
    "repetition_penalty",
}  # fmt: skip

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
    architectures = config.get("architectures")
    architecture = str(architectures[0]) if isinstance(architectures, list) and architectures else ""
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


def load(name: str, settings: Settings, make_room: Callable[[int], None] | None = None) -> OpenModel:
    """Load a model from its folder under the root.

    What can be checked is checked before any weight is read.

    Args:   make_room: called with the bytes that the weights will take, once all else is known to be sound; it may
            raise ModelError. By default what is free is all that there is
    Raises: ModelError, one sentence, for whatever is wrong with it
    """
    folder = folder_of(name, settings.root)
    if folder is None:
        raise ModelError(f"There is no model {name!r} among those that the app may open.")
    try:
        return _load(name, folder, settings.root, make_room or check_memory)
    except ModelError:
        raise
    except Exception as error:  # the library raises all kinds of errors for files that do not fit together
        told = _first_line(error).replace(str(folder), name)  # where the models lie is nobody's business
        raise ModelError(f"The model's files do not fit together: {told}") from error


def _load(name: str, folder: Path, root: Path, make_room: Callable[[int], None]) -> OpenModel:
    check_files(folder, root)
    described = config_of(folder)
    kind = kind_of(described)
    files = weight_files(folder)
    held = n_numbers(files)
    check_tokenizer(folder, root)
    tokenizer, plan = _prepare(folder, kind, described, held)
    writing = {key: value for key, value in (described | writing_of(folder)).items() if key in WRITING}
    make_room(4 * held)
    model_class: Any = type(plan)
    model, loading = model_class.from_pretrained(
        None,  # no folder: nothing but these files is opened
        config=plan.config,
        state_dict={key: tensor for file in files for key, tensor in load_file(file).items()},
        attn_implementation="eager",  # the others do not hand out their weights
        dtype=torch.float32,
        generation_config=GenerationConfig(**writing),
        output_loading_info=True,
    )
    missing = [key for key in loading["missing_keys"] if key.startswith(f"{model.base_model_prefix}.")]
    if missing:
        raise ModelError(f"The weights of {len(missing)} parts of the model are missing, {missing[0]} among them.")
    opened = OpenModel(name, kind, model.eval().requires_grad_(False), tokenizer, not loading["missing_keys"])
    if opened.longest < 1:
        raise ModelError("The model's files say that it takes no tokens at all.")
    return opened


def _prepare(
    folder: Path, kind: Kind, described: dict[str, Any], held: int
) -> tuple[PreTrainedTokenizerBase, PreTrainedModel]:
    """Tokenizer, and the model without any weights.

    Args:   held: numbers that the weight files hold
    Raises: ModelError for what the app does not read; anything for files that do not fit together
    """
    if "quantization_config" in described:
        raise ModelError("The model's weights are quantised, which this app does not read.")
    config = CONFIG_MAPPING[described["model_type"]].from_dict(
        {key: value for key, value in described.items() if key not in UNREAD and not key.startswith("_")}
    )
    layers = [value for key, value in vars(config).items() if "layer" in key and isinstance(value, int)]
    if max(layers, default=0) > MAX_LAYERS or getattr(config, "num_hidden_layers", 1) < 1:
        raise ModelError(f"The model's config.json asks for a number of layers that is not between 1 and {MAX_LAYERS}.")
    with torch.device("meta"):  # shapes without numbers
        plan = LOADERS[kind].from_config(config)
    n_planned = sum(p.numel() for p in plan.parameters())
    if n_planned > 2 * held + SLACK:
        raise ModelError(
            f"The model's config.json asks for {n_planned:,} numbers and its weights hold {held:,}, so they do not "
            "belong together."
        )
    tokenizer = AutoTokenizer.from_pretrained(folder, config=config, local_files_only=True, trust_remote_code=False)
    if not isinstance(tokenizer, PreTrainedTokenizerBase) or not len(tokenizer):
        raise ModelError("The folder holds no tokenizer.")
    return tokenizer, plan


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)[:160]


def check_memory(needed: int, leaving: int = 0) -> None:
    """Args: leaving: bytes that could be freed

    Raises: ModelError if so many bytes are not to be had
    """
    free = free_memory() + leaving
    if needed > free:
        raise ModelError(
            f"The model needs {needed / 1e9:.1f} GB of memory and {free / 1e9:.1f} GB are free; choose a smaller one."
        )


class Shelf:
    """The models in memory, at most so many, and what they read lately. The one not used for longest leaves first.

    For all threads. One model loads and one reads at a time, so that no two fight for memory or cores; what is there
    already need not wait for a model that loads. A model that cannot be opened drives out no other, unless its weights
    turn out not to fit at the very end.
    """

    def __init__(self, size: int, load: Callable[[str, Callable[[int], None]], OpenModel]) -> None:
        self._models: OrderedDict[str, OpenModel] = OrderedDict()  # the one used last is last
        self._size = size
        self._readings: cachetools.LRUCache[object, Reading] = cachetools.LRUCache(READINGS_BYTES, getsizeof=_size)
        self._lock = threading.Lock()  # of both, and held for no longer than a look
        self._loading, self._reading = threading.Lock(), threading.Lock()
        self._load = load

    def get(self, name: str) -> OpenModel:
        """The model, loaded if it is not there.

        Raises: ModelError
        """
        if (opened := self._there(name)) is not None:
            return opened
        with self._loading:
            if (opened := self._there(name)) is None:
                opened = self._load(name, self._make_room)
                with self._lock:
                    self._models[name] = opened
            return opened

    def _there(self, name: str) -> OpenModel | None:
        with self._lock:
            if name in self._models:
                self._models.move_to_end(name)
            return self._models.get(name)

    def _make_room(self, needed: int) -> None:
        """Let models leave before the next one is loaded, so that no more than allowed ever lie in memory at once.

        Raises: ModelError, and none leaves, if even without them there is not memory enough
        """
        with self._lock:
            check_memory(needed, sum(4 * opened.n_parameters for opened in self._models.values()))
            while self._models and (len(self._models) >= self._size or needed > free_memory()):
                self._models.popitem(last=False)

    def read(self, name: str, sentence: str, hidden: int | None = None) -> Reading:
        """`read` with the model of this name, remembered.

        Raises: ModelError
        """
        key = name, sentence, hidden
        with self._lock:
            if key in self._readings:
                return self._readings[key]
        opened = self.get(name)
        with self._reading:
            reading = read(opened, sentence, hidden)
        if _size(reading) <= READINGS_BYTES:
            with self._lock:
                self._readings[key] = reading
        return reading

    def names(self) -> list[str]:
        """Names of the models in memory."""
        with self._lock:
            return list(self._models)


def _size(reading: Reading) -> int:
    """Bytes that a reading takes, about."""
    return READING_BYTES + sum(maps.weights.nbytes for maps in reading.maps)


@functools.cache
def shelf(settings: Settings) -> Shelf:
    """The one shelf of this process with these settings."""
    return Shelf(settings.kept, lambda name, make_room: load(name, settings, make_room))


def read(opened: OpenModel, sentence: str, hidden: int | None = None) -> Reading:
    """Send a sentence through a model.

    Args:   hidden: for an encoder, the token to be covered by the mask token and guessed; None leaves the sentence as
            it is, with the first mask token in it, if any, to be guessed
    Raises: ModelError if nothing is left of the sentence, or the model cannot read it
    """
    try:
        reading = _read(opened, sentence, hidden)
    except ModelError:
        raise
    except Exception as error:  # a model may load and yet be unsound: ids beyond its vocabulary, heads that do not fit
        raise ModelError(f"The model fails at this sentence: {_first_line(error)}") from error
    numbers = [*(maps.weights for maps in reading.maps), np.array([p.probability for p in reading.predictions])]
    if not all(np.isfinite(array).all() for array in numbers):
        raise ModelError("The model computes values that are no numbers, so there is nothing to show.")
    return reading


@torch.inference_mode()
def _read(opened: OpenModel, sentence: str, hidden: int | None) -> Reading:
    tokenizer = opened.tokenizer
    everything = tokenizer(sentence, verbose=False)["input_ids"]
    encoded = tokenizer(sentence, truncation=True, max_length=opened.longest, return_tensors="pt")
    ids = encoded["input_ids"]
    if not ids.size(1):
        raise ModelError("There is nothing to read yet: type a sentence.")
    if ids.size(1) > opened.longest:  # where special tokens alone are more, nothing is cut
        raise ModelError(f"The model's files say that it takes {opened.longest} tokens: too few for a sentence.")
    words = _words(tokenizer, ids[0].tolist(), encoded)
    masked: list[int] = []
    answer = None
    if opened.kind == "encoder" and tokenizer.mask_token_id is not None:
        masked = (ids[0] == tokenizer.mask_token_id).nonzero().flatten().tolist()
        if hidden is not None and hidden in range(ids.size(1)):
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
        text = text if text and "�" not in text else raw
        texts.append(text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…")
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
