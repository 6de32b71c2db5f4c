"""Documents cut into the rows that language models learn from: a GPT's, and a BERT's pairs with masked tokens."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from model.text.tokenizer import CLS_ID, EOS_ID, MASK_ID, MORE_SPECIALS, PAD_ID, SEP_ID, SOS_ID, SPECIALS
from training.loop.corpus import Document, Ids

N_SPECIALS = len(SPECIALS) + len(MORE_SPECIALS)
NO_PAIR, IS_NEXT, NOT_NEXT = range(3)
SHORT = 40


def sentence_rows(documents: Sequence[Document], max_len: int, rng: random.Random) -> Iterator[list[Ids]]:
    """Rows of as many whole sentences as fit, and `<eos>` behind the last of a document.

    Each row begins with a sentence, as the text of a visitor does. The first row of a long document is cut short by
    chance, so that the borders fall elsewhere each time.
    """
    for document in documents:
        row: list[Ids] = []
        length = sum(map(len, document.sentences))
        room = max_len if length < max_len else rng.randint(max_len // 4, max_len)
        *most, last = document.sentences
        for sentence in (*most, np.append(last, np.uint16(EOS_ID))):
            if row and sum(map(len, row)) + len(sentence) > room:
                yield row
                row, room = [], max_len
            row.append(sentence[:max_len])
        yield row


def written_rows(documents: Sequence[Document], max_len: int, rng: random.Random) -> list[Ids]:
    """What a model learns to write: the sentences of each row as one text."""
    return [np.concatenate(row)[:max_len] for row in sentence_rows(documents, max_len, rng)]


def as_tensor(ids: NDArray[Any]) -> Tensor:
    return torch.from_numpy(ids.astype(np.int64))


def collate_written(rows: Sequence[Ids]) -> dict[str, Tensor]:
    """Returns: tgt_ids (B,T), beginning with <sos>; labels (B,T), the tgt_ids one step ahead; both padded."""
    labels = pad_sequence([as_tensor(row) for row in rows], True, PAD_ID)
    tgt_ids = [as_tensor(np.concatenate([[SOS_ID], row[:-1]])) for row in rows]
    return {"tgt_ids": pad_sequence(tgt_ids, True, PAD_ID), "labels": labels}


@dataclass(frozen=True)
class Masking:
    """Which tokens are to be guessed, and what stands in their place (Devlin et al. 2018, §3.1, task 1).

    share: of the tokens, those to be guessed; of these, `masked` become [MASK] and `random` any token; the others stay
    short: share in rows of fewer than SHORT tokens
    """

    share: float = 0.15
    short: float = 0.15
    masked: float = 0.8
    random: float = 0.1


@dataclass(frozen=True)
class Pairing:
    """How two texts are put into a row (§3.1, task 2, and the appendix A.2).

    not_next: share of the rows whose second text is from elsewhere
    single:   of those that are two single sentences, as a visitor types them
    short:    of the others, those that are shorter than they could be
    """

    not_next: float = 0.5
    single: float = 0.0
    short: float = 0.3


class ReadRow(NamedTuple):
    """[CLS] text [SEP] or [CLS] text [SEP] text [SEP]. label: IS_NEXT, NOT_NEXT or NO_PAIR"""

    ids: Ids
    segment_ids: NDArray[np.uint8]
    label: int


def framed(first: Ids, second: Ids | None = None, label: int = NO_PAIR) -> ReadRow:
    """Texts between their marks, with the segment of each token."""
    ids: list[Any] = [[CLS_ID], first, [SEP_ID]]
    segments = [0] * (len(first) + 2)
    if second is not None:
        ids += [second, [SEP_ID]]
        segments += [1] * (len(second) + 1)
    return ReadRow(np.concatenate(ids).astype(np.uint16), np.array(segments, dtype=np.uint8), label)


def read_rows(
    documents: Sequence[Document], max_len: int, rng: random.Random, pairing: Pairing = Pairing()
) -> list[ReadRow]:
    """Pairs of texts: neighbours in one document, or the second from another. A document of one sentence stands
    alone; so does a last sentence that is left.

    Source: Devlin et al. 2018, A.2 and their published code. Differs: more rows are short, as what visitors type is; a
            pair that is too long loses the beginning of the first text and the end of the second
    """
    rows: list[ReadRow] = []
    long = [document for document in documents if len(document.sentences) > 1]
    for document in documents:
        if len(document.sentences) == 1:
            rows.append(framed(document.ids[: max_len - 2]))
        elif len(long) > 1:
            rows += _pairs_of(document, long, max_len - 3, rng, pairing)
    return rows


def text_rows(documents: Sequence[Document], max_len: int, rng: random.Random) -> list[ReadRow]:
    """Texts alone, as many whole sentences to a row as fit, never of two documents (Liu et al. 2019, §4.2,
    "DOC-SENTENCES").
    """
    texts = (row[row != EOS_ID] for row in written_rows(documents, max_len - 2, rng))
    return [framed(text) for text in texts if len(text)]


def _pairs_of(
    document: Document, others: Sequence[Document], room: int, rng: random.Random, pairing: Pairing
) -> Iterator[ReadRow]:
    sentences, start = document.sentences, 0
    while start < len(sentences) - 1:
        if rng.random() < pairing.single:
            target, middle, end = 0, start + 1, start + 2
        else:
            target = rng.randint(min(8, room), room) if rng.random() < pairing.short else room
            end = max(start + 2, fill(sentences, start, target))
            middle = rng.randint(start + 1, end - 1)
        first = np.concatenate(sentences[start:middle])
        if rng.random() < pairing.not_next:
            other = rng.choice([one for one in rng.choices(others, k=5) if one is not document] or others)
            begin = rng.randrange(len(other.sentences))
            second = np.concatenate(other.sentences[begin : fill(other.sentences, begin, target - len(first))])
            label, start = NOT_NEXT, middle  # what was left out comes next
        else:
            second, label, start = np.concatenate(sentences[middle:end]), IS_NEXT, end
        too_many = max(0, len(first) + len(second) - room)
        from_first = min(too_many, max(0, len(first) - room // 2))
        yield framed(first[from_first:], second[: len(second) - (too_many - from_first)], label)
    if start < len(sentences):  # one is left, with no neighbour
        yield framed(sentences[start][:room])


def fill(sentences: Sequence[Ids], start: int, n_tokens: int) -> int:
    """Where to stop so that the sentences from `start` on hold at least so many tokens, if there are enough."""
    end, length = start + 1, len(sentences[start])
    while end < len(sentences) and length < n_tokens:
        length += len(sentences[end])
        end += 1
    return end


def masked(
    rows: Sequence[ReadRow], vocab_size: int, rng: np.random.Generator, masking: Masking = Masking()
) -> list[tuple[Ids, NDArray[np.uint8], Ids, int]]:
    """Rows with some tokens replaced: ids, segment_ids, labels (the token where one is to be guessed, else <pad>), and
    the label of the pair.

    Source: Devlin et al. 2018, §3.1. Differs: each token is drawn by itself, so that a row may have more than the share
    """
    ids = np.concatenate([row.ids for row in rows])
    lengths = [len(row.ids) for row in rows]
    share = np.repeat([masking.short if length < SHORT else masking.share for length in lengths], lengths)
    chosen = (ids >= N_SPECIALS) & (rng.random(len(ids)) < share)
    labels = np.where(chosen, ids, np.uint16(PAD_ID))
    draw, any_token = rng.random(len(ids)), rng.integers(N_SPECIALS, vocab_size, len(ids), dtype=np.uint16)
    ids = np.where(chosen & (draw < masking.masked), np.uint16(MASK_ID), ids)
    is_random = chosen & (draw >= masking.masked) & (draw < masking.masked + masking.random)
    ids = np.where(is_random, any_token, ids)
    borders = np.cumsum(lengths)[:-1]
    parts = zip(np.split(ids, borders), rows, np.split(labels, borders), strict=True)
    return [(some, row.segment_ids, guesses, row.label) for some, row, guesses in parts]


def collate_read(rows: Sequence[tuple[Ids, NDArray[np.uint8], Ids, int]]) -> dict[str, Tensor]:
    """Returns: src_ids, segment_ids, labels (B,S), padded; pair_labels (B)"""
    src_ids, segment_ids, labels = (
        pad_sequence([as_tensor(part) for part in parts], True, PAD_ID) for parts in list(zip(*rows, strict=True))[:3]
    )
    pair_labels = torch.tensor([row[3] for row in rows])
    return {"src_ids": src_ids, "segment_ids": segment_ids, "labels": labels, "pair_labels": pair_labels}
