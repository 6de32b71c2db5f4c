"""The shares of a layer's heads, counted again cell by cell, and the roles that they give."""

import json
import random
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from experiments.attention.head_roles import aligned_words
from tests.oracle.forward import EOS, FOLDER, SOS, Forward, config, softmax, tidied, tokenizer
from ui import engine

PATHS = {
    "encoder": "encoder.layers.{}.self_attn",
    "decoder": "decoder.layers.{}.self_attn",
    "cross": "decoder.layers.{}.cross_attn",
}
NAMES = {
    "encoder": ["previous", "itself", "next", "<eos>", "punctuation"],
    "decoder": ["previous", "itself", "<sos>", "punctuation"],
    "cross": ["aligned", "read", "before", "after", "<eos>", "punctuation"],
}
SAID = {
    "encoder": ["the previous piece", "the piece itself", "the next piece", "<eos>", "punctuation"],
    "decoder": ["the piece before the last", "the last piece read", "<sos>", "punctuation"],
    "cross": [
        "the aligned word",
        "the word behind the last piece read",
        "the word before the aligned one",
        "the word after the aligned one",
        "<eos>",
        "punctuation",
    ],
}


def spelt(ids: Sequence[int]) -> str:
    return tokenizer().decode(list(ids), skip_special_tokens=True)


@cache
def measured() -> dict[str, Any]:
    return json.loads((FOLDER / "heads.json").read_text())


def words_of(ids: Sequence[int]) -> list[int]:
    """The word that each piece belongs to, −1 for a special token: the tokenizer's own groups before any merging."""
    groups = tokenizer().encode(tidied(spelt(ids)), add_special_tokens=False)
    found = [-1 if word is None else word for word in groups.word_ids]
    assert groups.ids == [id for id in ids if id > EOS]
    return [found.pop(0) if id > EOS else -1 for id in ids]


_ALIGNED: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = {}
MOST_HIDDEN = 12  # words; of a longer sentence, a sample is hidden


def aligned(oracle: Forward) -> list[int]:
    """The source word of each label, −1 for none: the one whose hiding takes most of the label's probability."""
    src, labels = oracle.ids["encoder"], oracle.labels
    known = tuple(src), tuple(labels)
    if known in _ALIGNED:
        return _ALIGNED[known]
    words, rows = words_of(src), range(len(labels))
    before = softmax(oracle.logits)[rows, labels]

    def left_without(word: int) -> np.ndarray:
        blocked = tuple(i for i, w in enumerate(words) if w == word)
        return softmax(Forward(src, labels, blocked=blocked).logits)[rows, labels] / before

    every = sorted({*words} - {-1})
    if len(every) <= MOST_HIDDEN:
        left = [left_without(word) for word in every]
        found = [int(np.argmin(column)) if min(column) <= 0.9 else -1 for column in np.transpose(left)]
    else:  # a pass for each word would take minutes: the app's answer, checked on some of them
        tokens = engine.model().tokenizer.tokens
        found = list(aligned_words(engine.model(), tokens(src), tokens(labels)))
        for word in random.Random(len(src)).sample(every, MOST_HIDDEN // 2):
            for to, left in zip(found, left_without(word), strict=True):
                assert left < 0.901 if to == word else left > 0.899 or to >= 0
    _ALIGNED[known] = found
    return found


def is_punctuation(id: int) -> bool:
    text = spelt([id]).strip(" ")
    return id > EOS and text != "" and all(unicodedata.category(sign)[0] == "P" for sign in text)


def counted(oracle: Forward, kind: str) -> dict[str, np.ndarray]:
    """Which cells each share counts, decided cell by cell."""
    columns = oracle.ids["decoder" if kind == "decoder" else "encoder"]
    marks = [is_punctuation(id) for id in columns]
    words, to = (words_of(columns), aligned(oracle)) if kind == "cross" else ([], [])
    n_rows = len(oracle.labels) if kind == "cross" else len(columns)
    found = {name: np.zeros((n_rows, len(columns)), bool) for name in NAMES[kind]}
    for i in range(n_rows):
        for j, id in enumerate(columns):
            counts = {
                "<eos>": id == EOS,
                "<sos>": id == SOS,
                "punctuation": marks[j],
                "previous": j == i - 1,
                "itself": j == i,
                "next": j == i + 1,
            }
            if kind == "cross" and i and to[i - 1] >= 0:
                counts["read"] = words[j] == to[i - 1]
            if kind == "cross" and to[i] >= 0 and words[j] >= 0:
                step = words[j] - to[i]
                counts |= {"aligned": step == 0, "before": step == -1, "after": step == 1}
            for name, cells in found.items():
                cells[i, j] = counts.get(name, False)
    return found


def shares_of_layer(oracle: Forward, kind: str, layer: int) -> np.ndarray:
    """A row for each head and one for equal weights."""
    heads = oracle[f"{PATHS[kind].format(layer)}.weights"]
    seen = np.tri(len(heads[0])) if kind == "decoder" else np.ones(heads[0].shape)
    equal = seen / seen.sum(-1, keepdims=True)
    cells = counted(oracle, kind)
    return np.array([[w[cells[name]].sum() / len(w) for name in NAMES[kind]] for w in (*heads, equal)])


def role(kind: str, found: Sequence[float], equal: Sequence[float]) -> str:
    best = ""
    largest = 0.0
    for said, share, base in zip(SAID[kind], found, equal, strict=True):
        if share >= 0.25 and share >= 1.5 * base and share > largest:
            best, largest = f"{'mostly' if share >= 0.5 else 'partly'} {said}", share
    return best or "none of these"


def roles(table: np.ndarray, kind: str) -> list[str]:
    return [role(kind, row, table[-1]) for row in table[:-1]]


def measured_table(kind: str, layer: int) -> np.ndarray:
    data, n_heads = measured(), config()["n_heads"]
    rows = [data["shares"][f"{kind}.{layer}.{head}"] for head in range(n_heads)]
    return np.array([list(row.values()) for row in (*rows, data["uniform"][kind])])
