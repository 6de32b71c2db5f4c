"""The app's BERT with the weights that a task changed, in NumPy and float64: what each head answers."""

import functools
import re

import numpy as np
from safetensors.numpy import load_file

from tests.oracle.passes import shipped
from tests.oracle.passes.family import bert
from tests.oracle.passes.family.bert import CLS, SEP, Bert, Ids
from tests.oracle.passes.forward import Array, softmax, tidied

FOLDER = shipped.MODELS / "tasks"
MOST = 60  # pieces of each text that are read
CLITIC = re.compile(r"(?i)(?:s|m|d|ll|re|ve)\b")


metrics = functools.partial(shipped.metrics, "tasks")


@functools.cache
def changed(task: str) -> dict[str, Array]:
    found = load_file(FOLDER / f"{task}.safetensors")
    return {name.removeprefix("network."): w.astype(np.float64) for name, w in found.items()}


def all_ids(text: str) -> Ids:
    return tuple(bert.tokenizer().encode(tidied(text), add_special_tokens=False).ids)


def ids_of(text: str) -> Ids:
    return all_ids(text)[:MOST]


@functools.lru_cache(256)
def passed(task: str, first: Ids, second: Ids | None = None) -> Bert:
    behind = () if second is None else (*second, SEP)
    segments = [0] * (len(first) + 2) + [1] * len(behind)
    return Bert([CLS, *first, SEP, *behind], segments, changed(task))


def classes(task: str, first: Ids, second: Ids | None = None) -> Array:
    return np.asarray(passed(task, first, second)["next_sentence.probabilities"][0])


def of_tokens(task: str, first: Ids, second: Ids | None = None) -> Array:
    w = changed(task)
    last = bert.config()["n_layers"] - 1
    rows = passed(task, first, second)[f"encoder.layers.{last}.add_norm_2.output"]
    return np.asarray(rows @ w["of_tokens.weight"].T + w["of_tokens.bias"])


def span(question: Ids, text: Ids) -> tuple[int, int, float]:
    """The first and last token of the most probable span, and how probable it is."""
    scores = of_tokens("qa_babi", question, text)
    begins, ends = (softmax(scores[:, column])[len(question) + 2 : -1] for column in (0, 1))
    spans = [(begins[i] * ends[j], i, j) for i in range(len(text)) for j in range(i, len(text))]
    probability, first, last = max(spans)
    return first, last, float(probability)


def words(text: str) -> list[str]:
    """As the treebank cuts them: letters and digits, "n't", a short ending behind an apostrophe, other signs alone."""
    found: list[str] = []
    at = 0
    while at < len(text):
        rest = text[at:]
        if re.match(r"(?i)n't\b", rest):
            found.append(rest[:3])
        elif rest[0] == "'" and (ending := CLITIC.match(rest[1:])):
            found.append("'" + ending[0])
        elif run := re.match(r"\w+", rest):
            short = re.match(r"(?i)n't\b", rest[len(run[0]) - 1 :]) if len(run[0]) > 1 else None
            found.append(run[0][:-1] if short else run[0])
        elif not rest[0].isspace():
            found.append(rest[0])
        else:
            at += 1
            continue
        at += len(found[-1])
    return found


def tagged(text: str) -> list[tuple[str, Array]]:
    """Words, as many as are read, each with the probability of every tag."""
    read: list[tuple[str, Ids]] = []
    for word in words(text):
        ids = tuple(bert.tokenizer().encode(word, add_special_tokens=False).ids)
        if sum(len(other) for _, other in read) + len(ids) > MOST:
            break
        read.append((word, ids))
    if not read:
        return []
    scores = of_tokens("pos", tuple(id for _, ids in read for id in ids))
    starts = np.cumsum([1, *(len(ids) for _, ids in read)])
    return [(word, softmax(scores[start])) for (word, _), start in zip(read, starts, strict=False)]
