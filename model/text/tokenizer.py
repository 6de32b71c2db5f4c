"""Text to pieces to ids and back: byte-level byte-pair encoding, lossless for any Unicode text.

Source: Sennrich et al. 2016 (BPE); Radford et al. 2019, §2.2 (on bytes). The `tokenizers` library does the merging.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

PAD, SOS, EOS = SPECIALS = ("<pad>", "<sos>", "<eos>")
PAD_ID, SOS_ID, EOS_ID = range(3)
# BERT's come behind these in a vocabulary that an encoder alone uses too.
CLS, SEP, MASK = MORE_SPECIALS = ("[CLS]", "[SEP]", "[MASK]")
CLS_ID, SEP_ID, MASK_ID = range(3, 6)
# T5's come last, behind all pieces: each stands for a stretch that was cut out.
SENTINELS = tuple(f"<{letter}>" for letter in "XYZWVUTSRQPONMLK")

_CONTROL = ("Cc", "Cs")  # lone surrogates too: they are no characters
STRAIGHT_QUOTES = str.maketrans(
    {"‘": "'", "’": "'", "‚": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "`": "'", "´": "'"}
)


def normalise(text: str) -> str:
    """Bring text to the form of the training data: NFC, straight quotes, single spaces, no control characters."""
    text = "".join(" " if c.isspace() else c for c in text if c.isspace() or unicodedata.category(c) not in _CONTROL)
    return " ".join(unicodedata.normalize("NFC", text).translate(STRAIGHT_QUOTES).split())


def _byte_alphabet() -> dict[str, int]:
    """The character that stands for each byte in a vocabulary entry (GPT-2's table), by character."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [b for b in range(256) if b not in printable]
    return {chr(b): b for b in printable} | {chr(256 + n): b for n, b in enumerate(others)}


_BYTE_OF = _byte_alphabet()


@dataclass(frozen=True)
class Token:
    """One piece: its id, the text it stands for, and the index of the word it belongs to (−1: special)."""

    id: int
    text: str
    word: int


class Tokenizer:
    """Byte-level BPE. Every text gets one space in front, so that the first word is cut like any other."""

    def __init__(self, backend: Backend, n_sentinels: int = 0) -> None:
        self.backend = backend
        self.first_sentinel = backend.get_vocab_size() - n_sentinels
        # A typed "<sos>" is text, not a control token.
        self.backend.encode_special_tokens = True
        # They come first; not every vocabulary has BERT's.
        known = (*SPECIALS, *MORE_SPECIALS)
        self.n_specials = sum(backend.id_to_token(id) == name for id, name in enumerate(known))

    @classmethod
    def train(cls, lines: Iterable[str], vocab_size: int, specials: Sequence[str] = SPECIALS) -> "Tokenizer":
        backend = Backend(models.BPE())
        backend.normalizer = normalizers.Prepend(" ")
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        backend.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
        backend.train_from_iterator(
            lines,
            trainers.BpeTrainer(
                vocab_size=vocab_size,
                special_tokens=list(specials),
                initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                show_progress=False,
            ),
        )
        return cls(backend)

    @classmethod
    def load(cls, path: Path) -> "Tokenizer":
        return cls(Backend.from_file(str(path)))

    def with_sentinels(self) -> "Tokenizer":
        """The same vocabulary with T5's signs behind it."""
        backend = Backend.from_str(self.backend.to_str())
        backend.add_special_tokens([*SENTINELS])
        return Tokenizer(backend, len(SENTINELS))

    def save(self, path: Path) -> None:
        self.backend.save(str(path))

    @property
    def vocab_size(self) -> int:
        return self.backend.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        """Ids of the text's pieces; no `<sos>`, no `<eos>`."""
        return self.backend.encode(text, add_special_tokens=False).ids

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [e.ids for e in self.backend.encode_batch_fast(list(texts), add_special_tokens=False)]

    def decode(self, ids: Sequence[int]) -> str:
        """The text the ids stand for, without special tokens. Ids that cut a character in two give `�` there."""
        return self.backend.decode([i for i in ids if not self.is_special(i)])

    def whole_text(self, ids: Sequence[int]) -> str:
        """The same; ids that cut a character in two give the text of each piece."""
        text = self.decode(ids)
        return "".join(map(self.piece_text, ids)).removeprefix(" ") if "\ufffd" in text else text

    def is_special(self, id: int) -> bool:
        """Whether an entry stands for no text."""
        return not self.n_specials <= id < self.first_sentinel

    def piece_bytes(self, id: int) -> bytes:
        """The bytes a vocabulary entry stands for (of a special token: its name).

        Raises: ValueError, naming the id, if there is no such entry
        """
        piece = self.backend.id_to_token(id)
        if piece is None:
            raise ValueError(f"id {id} is not in the vocabulary of {self.vocab_size} entries")
        return piece.encode() if self.is_special(id) else bytes(_BYTE_OF[c] for c in piece)

    def piece_text(self, id: int) -> str:
        """A vocabulary entry as text; bytes that are no whole character in hexadecimal, like ‹E2 82›."""
        raw = self.piece_bytes(id)
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return f"‹{raw.hex(' ').upper()}›"

    def token_text(self, id: int) -> str:
        """A vocabulary entry as the text of a token: without the space before it, if it is more than that."""
        return self.piece_text(id).strip(" ") or " "

    def tokens(self, ids: Sequence[int]) -> tuple[Token, ...]:
        """Ids with the texts and words they stand for.

        Words are the pieces' groups before any merging: a run of letters, of digits or of other signs.
        """
        pieces = [(i, b"" if self.is_special(i) else self.piece_bytes(i)) for i in ids]
        # A byte that is no part of a character becomes one "?", so that the count of bytes stays the same.
        text = b"".join(raw for _, raw in pieces).decode(errors="surrogateescape")
        text = "".join("?" if "\udc80" <= c <= "\udcff" else c for c in text)
        # Where each word ends, in bytes. A pre-token's characters are one byte each.
        ends, end = [], 0
        for word, _ in pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str(text):
            end += len(word)
            ends.append(end)
        tokens, start, word_index = [], 0, 0
        for i, raw in pieces:
            while raw and word_index < len(ends) - 1 and start >= ends[word_index]:
                word_index += 1
            tokens.append(Token(i, self.token_text(i), word_index if raw else -1))
            start += len(raw)
        return tuple(tokens)
