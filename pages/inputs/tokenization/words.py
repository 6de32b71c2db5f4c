"""What the parts of the tokenization lesson share: counts in words, cards, the hardest word of the sentence."""

from collections.abc import Sequence

from model.text.bpe_replay import Merges, merges_of
from model.text.tokenizer import SPECIALS, Token
from model.trace import Trace
from ui.components.pieces import Card
from ui.controls.vocabulary_entry import entries, hexadecimal

MAX_WORD = 40  # characters of a word whose merges are replayed
FIRST_MERGED = len(SPECIALS) + 256  # the id of what the first merge rule made


def n_characters(count: int) -> str:
    return f"{count} character" if count == 1 else f"{count} characters"


def n_bytes(count: int) -> str:
    return f"{count} byte" if count == 1 else f"{count} bytes"


def n_pieces(count: int) -> str:
    return f"{count} piece" if count == 1 else f"{count} pieces"


def merges(trace: Trace) -> Merges:
    """The merge rules of the model that the sentence went through."""
    return merges_of(trace.model.tokenizer)


def names(trace: Trace) -> Sequence[str]:
    """Every vocabulary entry as text, by id."""
    return entries(trace.model.name)


def card(trace: Trace, token: Token) -> Card:
    """A piece of the sentence with its bytes and its id."""
    if token.id < len(SPECIALS):
        return Card(token.text, ("added", f"id {token.id}"), -1, marked=True)
    raw = trace.model.tokenizer.piece_bytes(token.id)
    return Card(names(trace)[token.id], (hexadecimal(raw), f"id {token.id}"), token.word)


def symbol_cards(trace: Trace, symbols: Sequence[int], marked: Sequence[int] = ()) -> list[Card]:
    """The parts of a word while it is merged."""
    return [Card(names(trace)[i], (f"id {i}",), 0, marked=n in marked) for n, i in enumerate(symbols)]


def longest_word(trace: Trace) -> str:
    """The word of the sentence with the most pieces; of several such the longest."""
    words: dict[int, list[int]] = {}
    for token in trace.src:
        if token.word >= 0:
            words.setdefault(token.word, []).append(token.id)
    tokenizer = trace.model.tokenizer
    best = max(words.values(), key=lambda ids: (len(ids), sum(len(tokenizer.piece_bytes(i)) for i in ids)))
    return tokenizer.decode(best)
