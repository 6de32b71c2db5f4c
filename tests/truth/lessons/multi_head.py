"""What the lesson on multi-head attention shows: the shares of its heads, counted again cell by cell."""

import json
import random
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from experiments.head_roles import aligned_words
from tests.oracle.forward import EOS, FOLDER, SOS, Forward, config, softmax, tidied, tokenizer
from tests.truth.lessons.common import sizes
from tests.truth.reading import Seen, Words, expect, fixed, only_place, place_of
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


def kind_and_layer(path: str) -> tuple[str, int]:
    stack, _, layer, attention = path.split(".")[:4]
    return ("cross" if attention == "cross_attn" else stack), int(layer)


def measured_table(kind: str, layer: int) -> np.ndarray:
    data, n_heads = measured(), config()["n_heads"]
    rows = [data["shares"][f"{kind}.{layer}.{head}"] for head in range(n_heads)]
    return np.array([list(row.values()) for row in (*rows, data["uniform"][kind])])


def shares_shown(oracle: Forward, data: dict[str, Any]) -> np.ndarray:
    """The matrix of shares, on the sentence or over the test set."""
    _, where, kind, _, layer = data["csv_name"].split()
    assert data["columns"] == NAMES[kind]
    assert data["rows"][-1] == "equal weights"
    if where == "here":
        return shares_of_layer(oracle, kind, int(layer) - 1)
    return measured_table(kind, int(layer) - 1)


def roles_shown(text: str, seen: Seen, oracle: Forward) -> None:
    """The labels of the layer's heads, of both kinds."""
    kind, layer = kind_and_layer(only_place(seen).name)
    head, _, *lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]
    assert head == ["head", "looks here at", "evenness", f"over {measured()['sentences']:,} test sentences"]
    here, tested = shares_of_layer(oracle, kind, layer), measured_table(kind, layer)
    even = evenness(kind, oracle[f"{PATHS[kind].format(layer)}.weights"])
    for n, (name, on_this, shown, over_all) in enumerate(lines):
        assert name == str(n + 1)
        expect(shown.replace("\\", ""), [even[n]])
        assert on_this.replace("\\", "") == roles(here, kind)[n]
        assert over_all.replace("\\", "") == roles(tested, kind)[n]


def evenness(kind: str, maps: np.ndarray) -> list[float]:
    """For each head the entropy of a row, to a base of as many places as it sees, averaged over rows that see two."""
    sizes_of_rows = [t + 1 if kind == "decoder" else maps.shape[2] for t in range(maps.shape[1])]
    rows = [t for t, size in enumerate(sizes_of_rows) if size > 1]
    return [
        sum(-sum(w * np.log(w) for w in one[t] if w > 0) / np.log(sizes_of_rows[t]) for t in rows) / max(1, len(rows))
        for one in maps
    ]


def often_said(text: str, seen: Seen, oracle: Forward) -> None:
    """The head of all layers with the largest share, and what equal weights give."""
    data, numbers = measured(), [float(measured()["sentences"])]
    for kind, share in (("encoder", "eos"), ("encoder", "previous"), ("encoder", "next"), ("cross", "aligned")):
        shares = {name: row[share] for name, row in data["shares"].items() if name.startswith(kind)}
        best = max(shares, key=lambda name: shares[name])
        layer, head = map(int, best.split(".")[1:])
        numbers += [layer + 1, head + 1, shares[best], data["uniform"][kind][share]]
    expect(text.replace("\\", ""), numbers)


def shapes(text: str, seen: Seen, oracle: Forward) -> None:
    path = only_place(seen).name.rpartition(".")[0]
    t, _, d_k = sizes(path, oracle)
    n_heads, d_model = len(oracle[f"{path}.heads"]), oracle[f"{path}.concat"].shape[1]
    expect(text, [n_heads, t, d_k, t, d_model, d_model, d_model, t, d_model])


def first_pieces(text: str, seen: Seen, oracle: Forward) -> None:
    (data,) = (d for d in seen.matrices if place_of(d))
    expect(text, [len(data["rows"]), len(only_place(seen).whole(oracle))])


def GRID(seen: Seen) -> str:
    return only_place(seen).name.rpartition(".")[0]


MATRICES = {r"shares (here|measured) \w+ layer \d+": shares_shown}

WORDS: dict[str, Words] = {
    r"\| head \| looks here at": roles_shown,
    r"\*Evenness\* is": fixed(0, 1),
    r"\| said to be found by heads": often_said,
    "A share is how much": fixed(0, 1),
    "A row is the German piece": fixed(10, 0),
    "The largest share gives the label": fixed(0.5, 0.25, 1.5),
    "Test sentences: ": lambda text, seen, oracle: expect(text.replace("\\", ""), [2.0]),
    r"Shapes: \d+ heads": shapes,
    r"The first \d+ of \d+ pieces": first_pieces,
}
