"""Saying so when a sentence is unlike those the model learned from."""

import functools
import re

from model.loaded import MODELS
from model.trace import Trace, most_tokens

WORDS = "known_words.txt"  # in a model's folder
LONG_WORDS = 16  # 99% of the training sentences are shorter
MAX_CHARS = 2000  # of the text that is read at all


@functools.cache
def known_words(name: str) -> frozenset[str]:
    """Lower-case words that occur at least three times among what a model read in training; none if not listed."""
    file = MODELS / name / WORDS
    return frozenset(file.read_text(encoding="utf-8").split()) if file.exists() else frozenset()


def cut_notice(typed: str, trace: Trace) -> str:
    """What was left out of what was typed, in one sentence, or ''."""
    if len(typed) > MAX_CHARS or trace.n_cut:
        n_words = len({token.word for token in trace.src if token.word >= 0})
        return (
            f"Your text is longer than the model can take, so it reads only the first {n_words} words and marks "
            f"({len(trace.src) - 1} pieces; it takes at most {most_tokens(trace.model)}); the rest stays in the box."
        )
    return ""


def unlike_training(trace: Trace) -> str:
    """Why this sentence may be translated badly, in one sentence, or ''."""
    typed = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", trace.text)
    pieces = [t for t in trace.src if t.word >= 0]
    single_bytes = sum(t.text.startswith("‹") and len(t.text) <= 4 for t in pieces)
    if single_bytes > len(pieces) / 2:
        return "Most of this text is in signs the model never learned: it reads them byte by byte and writes nonsense."
    about = trace.model.about
    listed = known_words(trace.model.vocabulary_name)
    if not listed:
        return ""
    known = sum(word.lower() in listed or word.lower().split("'")[0] in listed for word in typed)
    if not typed:
        return (
            f"There are no words in this text; the model learned from everyday {about.source} sentences, so expect "
            "little."
        )
    if known < len(typed) / 2:
        return (
            f"{len(typed) - known} of {len(typed)} words hardly occur in the {about.source} sentences the model "
            f"learned "
            f"from (another language, or rare words), so expect nonsense in {about.target}."
        )
    if len(typed) >= LONG_WORDS:
        return (
            f"This is long for this model: {len(typed)} words, while 99% of the sentences it learned from have fewer "
            f"than {LONG_WORDS}; beyond that expect nonsense."
        )
    return ""
