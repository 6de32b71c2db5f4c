"""What a Hugging Face model does with a sentence: tokens, attention, predictions."""

import itertools
import re
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedTokenizerBase
from transformers.convert_slow_tokenizer import bytes_to_unicode

from hub.attention import AttentionMaps
from hub.hugging_face import OpenModel, model_error
from hub.local_models import ModelError
from hub.reading_types import MAX_TEXT, MAX_WRITTEN, Covered, Prediction, Reading, shortened

N_PREDICTIONS = 10
NO_PIECE = "(no piece)"  # for an id that the model knows and its vocabulary does not
NO_MAPS = "A model of this kind keeps no weight for every pair of pieces, so there is no attention to look at."
SEES_ALL = "This model looks at what follows, too, so it is none of the decoders that are explained here."
FAILS = "The model fails on this sentence, so its files may not fit together. Another sentence may work."

_PUNCTUATION = {*string.punctuation}
_SPACES = "Ġ▁"  # signs for a space in byte-level and SentencePiece vocabularies
_BYTE = re.compile("<0x([0-9A-F]{2})>")  # of a vocabulary that falls back to bytes
_BYTES = {sign: byte for byte, sign in bytes_to_unicode().items()}


def read(opened: OpenModel, sentence: str, hidden: int | None = None) -> Reading:
    """Send a sentence through a model.

    Args:   hidden: for an encoder, the token to replace by the mask token and predict. With None the sentence stays as
            it is, and the first mask token in it, if there is one, is predicted
    Raises: ModelError if the sentence is empty or the model cannot read it
    """
    try:
        reading = _read(opened, sentence, hidden)
    except Exception as error:  # a model may load and still be broken: ids beyond its vocabulary, heads that do not fit
        raise model_error(error, FAILS) from error
    numbers = [*(maps.weights for maps in reading.maps), np.array([p.probability for p in reading.predictions])]
    if not all(np.isfinite(array).all() for array in numbers):
        raise ModelError("Some values that the model computes are not finite numbers, so there is nothing to show.")
    return reading


@torch.inference_mode()
def _read(opened: OpenModel, sentence: str, hidden: int | None) -> Reading:
    tokenizer = opened.tokenizer
    all_ids = tokenizer(sentence, verbose=False)["input_ids"]
    encoded = tokenizer(
        sentence, truncation=True, max_length=opened.longest, return_tensors="pt", return_special_tokens_mask=True
    )
    ids = encoded["input_ids"]
    n_cut = max(0, len(all_ids) - ids.size(1))
    if opened.kind == "decoder":  # it goes on with the sentence: without the marks with which its tokenizer ends a text
        n_ends = sum(1 for _ in itertools.takewhile(bool, reversed(encoded["special_tokens_mask"][0].tolist())))
        ids = ids[:, : ids.size(1) - n_ends]
    if not ids.size(1):
        raise ModelError("There is nothing to read yet: type a sentence.")
    if ids.size(1) > opened.longest:  # the special tokens alone are too many, and they are never cut
        raise ModelError(f"According to its files, the model can read {opened.longest} tokens, too few for a sentence.")
    words = _words(tokenizer, encoded["input_ids"][0].tolist(), encoded)[: ids.size(1)]
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
    maps, predicted, logits, written = run(opened, ids, encoded["attention_mask"][:, : ids.size(1)], tokens)
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


def _maps(kind: str, layers: Sequence[torch.Tensor] | None, rows: Tokens, columns: Tokens) -> AttentionMaps:
    """Args:   layers: what the library returns: a tensor (1,H,T,S) for each layer, if it is attention as we know it
    Raises: ModelError if it is not, or a decoder looks at what follows
    """
    size = len(rows.texts), len(columns.texts)
    if not layers or not all(torch.is_tensor(one) and one.dim() == 4 and one.shape[2:] == size for one in layers):
        raise ModelError(NO_MAPS)
    if kind == "decoder" and any(bool((one.triu(1) > 0).any()) for one in layers):
        raise ModelError(SEES_ALL)
    return AttentionMaps(
        kind, _stack(layers), rows.texts, columns.texts, rows.words, columns.words, rows.wholes, columns.wholes
    )


def _read_encoder(opened: OpenModel, ids: torch.Tensor, mask: torch.Tensor, tokens: Tokens) -> Read:
    """The logits are those of every token (T,vocab_size)."""
    out = opened.model(input_ids=ids, attention_mask=mask, output_attentions=True)
    return (_maps("encoder", out.get("attentions"), tokens, tokens),), "", out.logits[0], ""


def _read_decoder(opened: OpenModel, ids: torch.Tensor, mask: torch.Tensor, tokens: Tokens) -> Read:
    out = opened.model(input_ids=ids, attention_mask=mask, output_attentions=True)
    maps = (_maps("decoder", out.get("attentions"), tokens, tokens),)
    written = opened.model.generate(
        input_ids=ids,
        attention_mask=mask,
        do_sample=False,
        num_beams=1,
        max_new_tokens=min(MAX_WRITTEN, max(1, opened.longest - ids.size(1))),
        pad_token_id=_pad_id(opened),
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
        _maps("encoder", out.get("encoder_attentions"), tokens, tokens),
        _maps("decoder", out.get("decoder_attentions"), read, read),
        # A row is the piece about to be written, as with this project's own model.
        _maps("cross", out.get("cross_attentions"), labels, tokens),
    )
    return (
        maps,
        "the first piece to be written",
        out.logits[0, 0],
        _text(opened, written[0]).strip(),
    )


def _text(opened: OpenModel, ids: torch.Tensor) -> str:
    return shortened(str(opened.tokenizer.decode(ids, skip_special_tokens=True)), MAX_WRITTEN * MAX_TEXT)


def _pad_id(opened: OpenModel) -> int:
    """An id for padding. A model without one gets any id, because a single sentence is never padded."""
    pad_id = opened.tokenizer.pad_token_id
    return int(pad_id if pad_id is not None else opened.tokenizer.eos_token_id or 0)


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
    """The text of each token, without the sign that some vocabularies write for a space.

    Bytes that are not a visible character are given in hexadecimal, like ‹E2 82›.
    """
    texts = []
    for id in ids:
        raw = tokenizer.convert_ids_to_tokens(id)
        if raw is None:
            texts.append(NO_PIECE)
            continue
        text = raw if id in tokenizer.all_special_ids else str(tokenizer.decode([id])).strip()
        if raw.strip(f"{_SPACES} ") == "":
            text = " "
        elif not text or "�" in text or _BYTE.fullmatch(text):
            text = _in_bytes(tokenizer, raw)
        texts.append(shortened(text))
    return tuple(texts)


def _in_bytes(tokenizer: PreTrainedTokenizerBase, raw: str) -> str:
    """A vocabulary's entry in hexadecimal, if it stands for bytes; else as it is."""
    if byte := _BYTE.fullmatch(raw):
        return f"‹{byte[1]}›"
    if all(sign in _BYTES for sign in raw) and tokenizer.convert_tokens_to_string(["Ġ"]) == " ":  # it is byte-level
        return f"‹{' '.join(f'{_BYTES[sign]:02X}' for sign in raw)}›"
    return raw


def _tokens(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int], words: tuple[int, ...]) -> Tokens:
    texts = _texts(tokenizer, ids)
    wholes = list(texts)
    for word, run in itertools.groupby(range(len(ids)), words.__getitem__):
        places = list(run)
        if word >= 0 and len(places) > 1:
            whole = str(tokenizer.decode([ids[i] for i in places])).strip()
            joined = "".join(texts[i] for i in places).strip()
            shown = shortened(whole if whole and "�" not in whole else joined)
            wholes[places[0] : places[-1] + 1] = [shown] * len(places)
    return Tokens(texts, words, tuple(wholes))


def _words(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int], encoded: Any = None) -> tuple[int, ...]:
    """For each token the word it belongs to, −1 for special tokens."""
    tokens = [str(tokenizer.convert_ids_to_tokens(id) or "") for id in ids]
    if encoded is not None and tokenizer.is_fast:
        words = tuple(-1 if word is None else word for word in encoded.word_ids(0))
        # To some tokenizers, Llama's among them, a whole sentence is one word: there the signs for spaces tell.
        if len({*words} - {-1}) > 1 or sum(token.startswith(tuple(_SPACES)) for token in tokens) < 2:
            return words
    return _words_by_signs(tokens, [id in tokenizer.all_special_ids for id in ids], _is_wordpiece(tokenizer))


def _is_wordpiece(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether it writes ## before a token that goes on with a word."""
    return str(tokenizer.convert_tokens_to_string(["x", "##x"])).strip() == "xx"


def _words_by_signs(tokens: Sequence[str], special: Sequence[bool], wordpiece: bool) -> tuple[int, ...]:
    """`_words`, told by what the tokens begin with: the sign for a space, or anything but WordPiece's ##."""
    words: list[int] = []
    word, ended_in_sign = -1, False
    for token, is_special in zip(tokens, special, strict=True):
        if is_special:
            words.append(-1)
            continue
        # Tokenizers cut a sentence at spaces, and between letters and punctuation; the bytes of a letter are letters.
        text = _BYTE.sub(lambda byte: chr(int(byte[1], 16)), token).lstrip(_SPACES)
        sign = text[:1] in _PUNCTUATION
        begins = not token.startswith("##") if wordpiece else token.startswith(tuple(_SPACES)) or sign != ended_in_sign
        if begins or word < 0 or words[-1] < 0:
            word += 1
        ended_in_sign = text[-1:] in _PUNCTUATION
        words.append(word)
    return tuple(words)
