"""The same text cut in five ways: words, characters, byte-pair encoding, WordPiece, Unigram.

Sources: Schuster and Nakajima 2012 (WordPiece); Kudo 2018 (Unigram); Sennrich et al. 2016 (byte-pair encoding). All
were trained on the same text by the `tokenizers` library (see training/vocabularies.py).
"""

import functools
import json
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer as Backend

from model.text.tokenizer import Tokenizer

VOCABULARIES = Path(__file__).parents[2] / "assets" / "vocabularies"
UNKNOWN = "<unk>"


@dataclass(frozen=True)
class Cut:
    """A text in pieces.

    method:     the way of cutting; vocab_size: how many different pieces it knows, control tokens included
    pieces:     as they are written in its vocabulary, but a space is a space; `<unk>` where it knows none
    text:       what was cut; back: what one gets when the pieces are put together again
    n_unknown:  how many of them are `<unk>`
    rebuilt:    whether nothing is unknown and the text comes back unchanged
    """

    method: str
    vocab_size: int
    pieces: tuple[str, ...]
    text: str
    back: str

    @property
    def rebuilt(self) -> bool:
        return self.back == self.text and not self.n_unknown

    @property
    def only_spaces_differ(self) -> bool:
        """Whether what comes back is another text, but only by its spaces."""
        return self.back != self.text and self.back.replace(" ", "") == self.text.replace(" ", "")

    @property
    def n_unknown(self) -> int:
        return self.pieces.count(UNKNOWN)


@functools.cache
def _backend(name: str) -> Backend:
    return Backend.from_file(str(VOCABULARIES / f"{name}.json"))


@functools.cache
def characters() -> frozenset[str]:
    """Every character of the training text: the single signs that WordPiece started from, and the space."""
    vocabulary = json.loads(_backend("wordpiece").to_str())["model"]["vocab"]
    signs = {entry.removeprefix("##") for entry in vocabulary}
    return frozenset({" ", *(sign for sign in signs if len(sign) == 1)})


def cuts(text: str, tokenizer: Tokenizer) -> tuple[Cut, ...]:
    """The text cut in five ways, byte-pair encoding by the model's own tokenizer."""
    ids = tokenizer.encode(text)
    known = characters()
    signs = tuple(sign if sign in known else UNKNOWN for sign in text)
    return (
        _cut("Words", "words", text),
        Cut("Characters", len(known) + 1, signs, text, "".join(signs)),
        Cut(
            "Byte-pair encoding",
            tokenizer.vocab_size,
            tuple(tokenizer.piece_text(i) for i in ids),
            text,
            tokenizer.decode(ids),
        ),
        _cut("WordPiece", "wordpiece", text),
        _cut("Unigram", "unigram", text),
    )


def _cut(method: str, name: str, text: str) -> Cut:
    backend = _backend(name)
    ids = backend.encode(text).ids
    pieces = tuple(str(backend.id_to_token(i)).replace("▁", " ") for i in ids)
    # Without skipping, a lost piece comes back as <unk> and not as nothing.
    return Cut(method, backend.get_vocab_size(), pieces, text, backend.decode(ids, skip_special_tokens=False))
