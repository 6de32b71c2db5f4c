"""Ids as the pieces and words that people read, from the shipped tokenizer alone."""

import functools
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tokenizers import pre_tokenizers

from tests.oracle.passes.forward import MAX_PIECES, bytes_of, tidied, tokenizer

# Joiners, without which some scripts and emoji fall apart; and the brackets around an exact number in a claim.
_LET_THROUGH = "\u200d\u200c\ue000\ue001"
NAMES = ("<pad>", "<sos>", "<eos>")


@dataclass(frozen=True)
class Piece:
    """An id, the text on its card, and the number of the word it belongs to (−1 for marks such as `<eos>`)."""

    id: int
    text: str
    word: int


@dataclass(frozen=True)
class Word:
    """Pieces that stand together, by their indices, and the text they make."""

    text: str
    pieces: tuple[int, ...]


def raw(id: int) -> bytes:
    """The bytes that an entry stands for: none for a mark."""
    return b"" if id < len(NAMES) else bytes_of(tokenizer().id_to_token(id))


@functools.cache
def entry(id: int) -> str:
    """A vocabulary entry as text, its spaces as they are; in hexadecimal if its bytes are no whole character."""
    if id < len(NAMES):
        return NAMES[id]
    try:
        return raw(id).decode()
    except UnicodeDecodeError:
        return f"‹{raw(id).hex(' ').upper()}›"


def pieces(
    ids: Sequence[int], raw: Callable[[int], bytes] = raw, entry: Callable[[int], str] = entry
) -> tuple[Piece, ...]:
    """Pieces with their words: runs of letters, of digits, of other signs, before any merging (Radford et al. 2019).

    raw, entry: of the vocabulary, if it is not the translator's
    """
    # A byte that belongs to no character counts as one sign.
    text = "".join(
        "?" if "\udc80" <= c <= "\udcff" else c for c in b"".join(map(raw, ids)).decode(errors="surrogateescape")
    )
    split = pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str(text) if text else []
    word_of = [n for n, (word, _) in enumerate(split) for _ in word]  # for every byte
    found, at = [], 0
    for id in ids:
        size = len(raw(id))
        found.append(Piece(id, entry(id).strip(" ") or " ", word_of[at] if size else -1))
        at += size
    return tuple(found)


def words(sequence: Sequence[Piece]) -> list[Word]:
    """Neighbouring pieces of one word together; a mark is a word of its own."""
    groups: list[list[int]] = []
    for n, piece in enumerate(sequence):
        if groups and piece.word >= 0 and piece.word == sequence[groups[-1][-1]].word:
            groups[-1].append(n)
        else:
            groups.append([n])
    return [Word("".join(sequence[n].text for n in group), tuple(group)) for group in groups]


def text_of(ids: Sequence[int]) -> str:
    """The text that ids stand for, without marks."""
    return str(tokenizer().decode([id for id in ids if id >= len(NAMES)]))


def encoded(text: str) -> list[int]:
    """Ids of a text as it is, no mark added."""
    return list(tokenizer().encode(text, add_special_tokens=False).ids)


def read_text(sentence: str) -> str:
    """A typed sentence as the model reads it: tidied, and cut where the model can take no more."""
    ids = encoded(tidied(sentence))
    return tidied(sentence) if len(ids) <= MAX_PIECES else text_of(ids[:MAX_PIECES])


def visible(text: str) -> str:
    """Controls and signs that turn the direction of writing are spelled out; spaces alone are ␣."""
    if text and not text.strip(" "):
        return "␣"
    return "".join(
        f"‹U+{ord(c):04X}›" if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co") and c not in _LET_THROUGH else c
        for c in text
    )


def inline(text: str) -> str:
    """The same within Markdown, where several spaces are one and none stands at an end."""
    return " ".join(visible(text).split())


def label(text: str) -> str:
    """A row's or column's label in a figure: spaces alone are ␣."""
    return "␣" if text and not text.strip(" ") else text
