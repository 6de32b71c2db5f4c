"""Saying so when a sentence is unlike those the model learned from."""

import functools
import re
from pathlib import Path

from model.trace import MAX_TOKENS, Trace

ENGLISH_WORDS = Path(__file__).parents[2] / "assets" / "vocabularies" / "english_words.txt"
LONG_WORDS = 16  # 99% of the training sentences are shorter
MAX_CHARS = 2000  # of the text that is read at all


@functools.cache
def english_words() -> frozenset[str]:
    """Lower-case words that occur at least three times on the English side of the training data."""
    return frozenset(ENGLISH_WORDS.read_text(encoding="utf-8").split())


def cut_notice(typed: str, trace: Trace) -> str:
    """What was left out of what was typed, in one sentence, or ''."""
    if len(typed) > MAX_CHARS or trace.n_cut:
        n_words = len({token.word for token in trace.src if token.word >= 0})
        return (
            f"Your text is longer than the model can take, so it reads only the first {n_words} words and marks "
            f"({len(trace.src) - 1} pieces; it takes at most {MAX_TOKENS}); the rest stays in the box."
        )
    return ""


def unlike_training(trace: Trace) -> str:
    """Why this sentence may be translated badly, in one sentence, or ''."""
    found = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", trace.text)
    pieces = [t for t in trace.src if t.word >= 0]
    single_bytes = sum(t.text.startswith("‹") and len(t.text) <= 4 for t in pieces)
    if single_bytes > len(pieces) / 2:
        return "Most of this text is in signs the model never learned: it reads them byte by byte and writes nonsense."
    known = sum(word.lower() in english_words() or word.lower().split("'")[0] in english_words() for word in found)
    if not found:
        return "There are no words in this text; the model learned from everyday English sentences, so expect little."
    if known < len(found) / 2:
        return (
            f"{len(found) - known} of {len(found)} words hardly occur in the English sentences the model learned from "
            "(another language, or rare words), so expect nonsense in German."
        )
    if len(found) >= LONG_WORDS:
        return (
            f"This is long for this model: {len(found)} words, while 99% of the sentences it learned from have fewer "
            f"than {LONG_WORDS}."
        )
    return ""
