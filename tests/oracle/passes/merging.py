"""Byte-pair encoding merge by merge, and the other ways to cut a text, from the shipped files alone."""

import functools
import itertools
import json
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer, pre_tokenizers

from tests.oracle.language.words import encoded, entry, text_of
from tests.oracle.passes.forward import merges, tokenizer

VOCABULARIES = Path(__file__).parents[3] / "assets" / "vocabularies"
UNKNOWN = "<unk>"


@dataclass(frozen=True)
class Merge:
    """A rule by its rank, from 1, and the symbols before and after it; `at` is where the joined one stands."""

    rank: int
    at: int
    before: tuple[str, ...]
    after: tuple[str, ...]

    @property
    def left(self) -> str:
        return self.before[self.at]

    @property
    def right(self) -> str:
        return self.before[self.at + 1]

    @property
    def joined(self) -> str:
        return self.after[self.at]


def id_of(symbol: str) -> int:
    id = tokenizer().token_to_id(symbol)
    assert id is not None
    return int(id)


def shown(symbol: str) -> str:
    """A vocabulary entry as people read it, spaces visible."""
    return entry(id_of(symbol)).replace(" ", "␣")


@functools.lru_cache(4096)
def replay(symbols: tuple[str, ...]) -> tuple[Merge, ...]:
    """Sennrich et al. 2016, Algorithm 1: join the pair with the earliest rule, the leftmost if it stands twice."""
    done: list[Merge] = []
    while ranks := [(merges()[pair], at) for at, pair in enumerate(itertools.pairwise(symbols)) if pair in merges()]:
        rank, at = min(ranks)
        after = (*symbols[:at], symbols[at] + symbols[at + 1], *symbols[at + 2 :])
        done.append(Merge(rank, at, symbols, after))
        symbols = after
    return tuple(done)


def of_entry(id: int) -> tuple[Merge, ...]:
    """The merges that make a vocabulary entry; none for a mark or a single byte."""
    return () if id < 3 else replay(tuple(tokenizer().id_to_token(id)))


def words_of(text: str) -> list[tuple[str, ...]]:
    """The words of a text, each as its bytes: the first begins with a space too."""
    split = pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str(" " + text) if text else []
    return [tuple(word) for word, _ in split]


def lengths(text: str) -> list[tuple[int, int]]:
    """(rules known, pieces of the text), where the second changes, with none and with all."""
    total = len(merges())
    ranks = sorted(merge.rank for word in words_of(text) for merge in replay(word))
    n_bytes = sum(map(len, words_of(text)))
    known = sorted({0, *ranks, total})
    return [(n, n_bytes - sum(rank <= n for rank in ranks)) for n in known]


@dataclass(frozen=True)
class Cut:
    """A text cut in one way, and what its pieces give together."""

    method: str
    vocab_size: int
    pieces: tuple[str, ...]
    text: str
    back: str

    @property
    def says(self) -> str:
        """What the pieces give when they are put together again."""
        if n_unknown := self.pieces.count(UNKNOWN):
            return f"not the text: {n_unknown} unknown"
        if self.back == self.text:
            return "the same text"
        spaces = str.maketrans("", "", " ")
        same = self.back.translate(spaces) == self.text.translate(spaces)
        return "the text with other spaces" if same else "another text"


@functools.cache
def _vocabulary(name: str) -> Tokenizer:
    return Tokenizer.from_file(str(VOCABULARIES / f"{name}.json"))


@functools.cache
def signs() -> frozenset[str]:
    """Every sign of the training text: WordPiece started from them; and the space."""
    vocabulary = json.loads((VOCABULARIES / "wordpiece.json").read_text())["model"]["vocab"]
    return frozenset({" "} | {e.removeprefix("##") for e in vocabulary if len(e.removeprefix("##")) == 1})


def _library(method: str, name: str, text: str) -> Cut:
    vocabulary = _vocabulary(name)
    ids = vocabulary.encode(text).ids
    # By their ids: the library itself writes an unknown piece as it stands in the text.
    pieces = tuple(vocabulary.id_to_token(id).replace("▁", " ") for id in ids)
    back = vocabulary.decode(ids, skip_special_tokens=False)
    return Cut(method, vocabulary.get_vocab_size(), pieces, text, back)


def five_ways(text: str) -> list[Cut]:
    single = tuple(sign if sign in signs() else UNKNOWN for sign in text)
    ids = encoded(text)
    return [
        _library("Words", "words", text),
        Cut("Characters", len(signs()) + 1, single, text, "".join(single)),
        Cut("Byte-pair encoding", tokenizer().get_vocab_size(), tuple(map(entry, ids)), text, text_of(ids)),
        _library("WordPiece", "wordpiece", text),
        _library("Unigram", "unigram", text),
    ]
