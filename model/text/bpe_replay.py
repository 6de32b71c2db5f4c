"""Byte-pair encoding replayed merge by merge, to see how a piece came about.

Source: Sennrich et al. 2016, Algorithm 1, applied to bytes. The `tokenizers` library does the same, faster.
"""

import itertools
import json
from dataclasses import dataclass

from tokenizers import pre_tokenizers

from model.kept import Kept, kept
from model.text.tokenizer import Tokenizer

Symbols = tuple[int, ...]  # vocabulary ids, of single bytes at first, of pieces at last


@dataclass(frozen=True)
class Merge:
    """One merge: the learned rule number `rank` (from 1: the earlier learned, the lower) joins two neighbours into one.

    at: where the joined symbol stands in `after`
    """

    rank: int
    left: int
    right: int
    joined: int
    at: int
    before: Symbols
    after: Symbols


class Merges:
    """The merges that a tokenizer has learned, in the order in which it learned them."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        model = json.loads(tokenizer.backend.to_str())["model"]
        self.entry: dict[str, int] = model["vocab"]
        # For every pair of neighbours that may be joined: the rank of the rule, and what comes out.
        self.rules = {
            (self.entry[left], self.entry[right]): (rank, self.entry[left + right])
            for rank, (left, right) in enumerate(model["merges"], 1)
        }
        self._replays: Kept[tuple[Merge, ...]] = Kept(2**20)

    def __len__(self) -> int:
        return len(self.rules)

    def words(self, text: str) -> list[Symbols]:
        """The text's words, each as its bytes: merging never crosses the end of a word."""
        if not text:
            return []
        cut = pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str(f" {text}")
        return [tuple(self.entry[sign] for sign in word) for word, _ in cut]

    def replay(self, symbols: Symbols) -> tuple[Merge, ...]:
        """`_replay`, remembered."""
        return self._replays.get(symbols, lambda: self._replay(symbols))

    def _replay(self, symbols: Symbols) -> tuple[Merge, ...]:
        """All merges of one word: again and again the pair that was learned first, the leftmost if it occurs twice."""
        done = []
        while pairs := [
            (*self.rules[pair], at) for at, pair in enumerate(itertools.pairwise(symbols)) if pair in self.rules
        ]:
            rank, joined, at = min(pairs, key=lambda pair: (pair[0], pair[2]))
            after = (*symbols[:at], joined, *symbols[at + 2 :])
            done.append(Merge(rank, symbols[at], symbols[at + 1], joined, at, symbols, after))
            symbols = after
        return tuple(done)

    def pieces(self, text: str) -> list[int]:
        """Ids of the text's pieces by replaying: what `Tokenizer.encode` gives."""
        words = [(word, self.replay(word)) for word in self.words(text)]
        return [id for word, done in words for id in (done[-1].after if done else word)]

    def of_piece(self, id: int) -> tuple[Merge, ...]:
        """The merges that make one vocabulary entry from its bytes; none for a byte or a control token."""
        written = self.tokenizer.backend.id_to_token(id) or ""
        is_special = self.tokenizer.is_special(id)
        return () if is_special else self.replay(tuple(self.entry[sign] for sign in written))

    def lengths(self, text: str) -> list[tuple[int, int]]:
        """How many pieces the text has when only the first N merges are known: (N, pieces), where that changes.

        With fewer merges the same ones happen in the same order, as far as they are known: a merge is always learned
        after those that make its parts.
        """
        words = self.words(text)
        ranks = sorted(merge.rank for word in words for merge in self.replay(word))
        n_bytes = sum(map(len, words))
        lengths = {0: n_bytes} | {rank: n_bytes - n for n, rank in enumerate(ranks, 1)}
        return [*lengths.items(), *([(len(self), n_bytes - len(ranks))] if len(self) not in lengths else [])]


@kept
def merges_of(tokenizer: Tokenizer) -> Merges:
    """The merges of a tokenizer, read once."""
    return Merges(tokenizer)
