"""English sentences nobody has typed before, so that no cache can help."""

import itertools
import random
from collections.abc import Iterator

from model.files.checkpoint import load_tokenizer

_SUBJECTS = "my brother|the teacher|our neighbour|the old man|a young woman|the doctor|your sister|the boy".split("|")
_VERBS = "bought|found|saw|lost|sold|needs|wants|likes|forgot|has".split("|")
_ADJECTIVES = "red|small|old|new|big|cheap|black|heavy|beautiful|strange".split("|")
_NOUNS = "car|book|house|dog|table|bottle|letter|hat|bicycle|garden|picture|ticket".split("|")
_PLACES = "in the city|last week|at school|in the kitchen|yesterday|near the river|in the morning".split("|")


def sentences(seed: int) -> Iterator[str]:
    """Short sentences, each once."""
    every = list(itertools.product(_SUBJECTS, _VERBS, _ADJECTIVES, _NOUNS, _PLACES))  # 67,200
    random.Random(seed).shuffle(every)
    for subject, verb, adjective, noun, place in every:
        yield f"{subject.capitalize()} {verb} a {adjective} {noun} {place}."


def sentences_of(n_tokens: int, seed: int) -> Iterator[str]:
    """Sentences of exactly `n_tokens` tokens, `<eos>` counted."""
    tokenizer = load_tokenizer()
    parts = sentences(seed)
    while True:
        words = next(parts).rstrip(".").split()
        while len(tokenizer.encode(" ".join(words))) < n_tokens - 1:
            words += ["and", *next(parts).rstrip(".").lower().split()]
        while len(tokenizer.encode(" ".join(words))) > n_tokens - 1:
            words.pop()
        if len(tokenizer.encode(" ".join(words))) == n_tokens - 1:
            yield " ".join(words)
