"""Saying so when a sentence is unlike those the model learned from."""

import functools
import re
from collections.abc import Sequence

from experiments.writing.lexicon import READ, is_known
from model.files.loaded_model import MODELS
from model.files.model_card import About
from model.trace import Trace, most_tokens

LONG_WORDS = 16  # 99% of the training sentences are shorter
MAX_CHARS = 2000  # of the text that is read at all


@functools.cache
def known_words(name: str) -> frozenset[str]:
    """Lower-case words in two or more of the sentences that people wrote for a model; none if not listed."""
    file = MODELS / name / READ
    return frozenset(file.read_text(encoding="utf-8").split()) if file.exists() else frozenset()


def cut_notice(typed: str, trace: Trace) -> str:
    """What was left out of what was typed, in one sentence, or ''."""
    if len(typed) > MAX_CHARS or trace.n_cut:
        n_words = len({token.word for token in trace.src if token.word >= 0})
        return (
            f"Your text is longer than the model can take. It reads only the first {n_words} words and marks "
            f"({len(trace.src) - 1} pieces; it takes at most {most_tokens(trace.model)}). The rest stays in the box."
        )
    return ""


def words_of(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", text)


def n_known(words: Sequence[str], listed: frozenset[str]) -> int:
    return sum(is_known(word, listed) for word in words)


def is_in_bytes(trace: Trace) -> bool:
    """Whether most of its pieces are single bytes."""
    pieces = [t for t in trace.src if t.word >= 0]
    return sum(t.text.startswith("‹") and len(t.text) <= 4 for t in pieces) > len(pieces) / 2


def unlike_english(trace: Trace, readers: Sequence[About]) -> str:
    """What the models of a lesson make of a sentence that is no everyday English, in words, or ''.

    Args: trace: the translator's of the sentence; readers: the models that the lesson sends it through
    """
    who, expect = (listing([getattr(one, what) for one in readers]) for what in ("called", "unlike"))
    if not who:
        return ""
    words = words_of(trace.text)
    if is_in_bytes(trace):
        return f"Most of this text is in signs that {who} never learned. They are read byte by byte: expect {expect}."
    if not words:
        return f"There are no words in this text, and {who} learned from English texts: expect little."
    listed = known_words(trace.model.vocabulary_name)
    rare = len(words) - n_known(words, listed)
    if not listed or rare <= len(words) / 2:
        return ""
    are_rare = "This word is" if len(words) == 1 else f"{rare} of {len(words)} words are"
    return (
        f"{are_rare} rare in everyday English, or of another language. {who[0].upper()}{who[1:]} learned from English "
        f"texts alone: expect {expect}."
    )


def listing(names: Sequence[str]) -> str:
    """“BERT, GPT and the translator”."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def unlike_training(trace: Trace) -> str:
    """Why this sentence may be translated badly, in one sentence, or ''."""
    typed, written = words_of(trace.text), {word.lower() for word in words_of(trace.translation)}
    if is_in_bytes(trace):
        return "Most of this text is in signs the model never learned: it reads them byte by byte and writes nonsense."
    about = trace.model.about
    listed = known_words(trace.model.vocabulary_name)
    if not listed:
        return ""
    known = n_known(typed, listed)
    copied = [word for word in typed if word[0].isupper() and word.lower() in written]  # names: no need to know them
    if not typed:
        return (
            f"There are no words in this text; the model learned from everyday {about.source} sentences, so expect "
            "little."
        )
    if n_known(typed, listed.union(word.lower() for word in copied)) < len(typed) / 2:
        alone = len(typed) == 1
        occur = "This word hardly occurs" if alone else f"{len(typed) - known} of {len(typed)} words hardly occur"
        return (
            f"{occur} in the {about.source} sentences the model learned from (another language, or "
            f"{'a rare word' if alone else 'rare words'}), so expect nonsense in {about.target}."
        )
    if len(typed) >= LONG_WORDS:
        return (
            f"This is long for this model: {len(typed)} words, while 99% of the sentences it learned from have fewer "
            f"than {LONG_WORDS}; beyond that expect nonsense."
        )
    return ""
