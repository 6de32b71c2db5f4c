"""Four small tasks, one of each kind, as examples for a model.

Their folder has files like sentiment.train.tsv, sentiment.val.tsv and sentiment.test.tsv: sentiment (a sentence),
paraphrase (a pair), qa_babi (a span) and pos (a tag for each word).
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from model.files.checkpoint import PROJECT
from model.text.tokenizer import Tokenizer
from training.loop.finetune_loop import SPAN, Example, span_example, tags_example, text_example

# The figures of `training.compare_pretraining`, for two lessons
KEPT, KEPT_OF_ROWS = (PROJECT / "assets" / "labelled" / f"{name}.json" for name in ("four_tasks", "one_row"))
MAX_LEN = 64  # pieces of a text, marks included

Rows = Iterator[Sequence[str]]
T = TypeVar("T")


def rows_of(path: Path) -> Rows:
    """The rows of a TSV file, without its head."""
    _, *lines = path.read_text(encoding="utf-8").splitlines()
    return (line.split("\t") for line in lines)


def sentiment(folder: Path, part: str, tokenizer: Tokenizer) -> Iterator[Example]:
    for label, text in rows_of(folder / f"sentiment.{part}.tsv"):
        yield text_example(tokenizer, text, int(label == "pos"), MAX_LEN)


def paraphrase(folder: Path, part: str, tokenizer: Tokenizer) -> Iterator[Example]:
    for label, first, second in rows_of(folder / f"paraphrase.{part}.tsv"):
        yield text_example(tokenizer, first, int(label), MAX_LEN, second)


ENTAILS = ("entailment", "neutral", "contradiction")


def entailment(folder: Path, part: str, tokenizer: Tokenizer) -> Iterator[Example]:
    for label, premise, hypothesis in rows_of(folder / f"entailment.{part}.tsv"):
        yield text_example(tokenizer, premise, ENTAILS.index(label), MAX_LEN, hypothesis)


@dataclass(frozen=True)
class Asked:
    """A question on a story. start: where in the story the answer stands, in characters"""

    question: str
    story: str
    answer: str
    start: int


def stories(folder: Path, part: str) -> Iterator[list[Asked]]:
    """The questions on each story, each on as much of it as is told before."""
    for line in (folder / f"qa_babi.{part}.jsonl").read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        yield [
            Asked(question, " ".join(told["story"][:n]), answer, start) for n, question, answer, start, _ in told["qa"]
        ]


def babi(folder: Path, part: str, tokenizer: Tokenizer) -> Iterator[Example]:
    """The first question on each short story; what is longer than MAX_LEN is left out."""
    for first, *_ in stories(folder, part):
        one = span_example(tokenizer, first.question, first.story, first.answer, first.start, MAX_LEN)
        if one is not None:
            yield one


TAGS = (
    "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X"  # of Universal Dependencies
).split()


def tagged(folder: Path, part: str) -> Iterator[tuple[list[str], list[str]]]:
    """The words of each sentence, and their tags."""
    for words, tags in rows_of(folder / f"pos.{part}.tsv"):
        yield words.split(), tags.split()


def pos(folder: Path, part: str, tokenizer: Tokenizer) -> Iterator[Example]:
    for words, tags in tagged(folder, part):
        yield tags_example(tokenizer, words, [TAGS.index(tag) for tag in tags], MAX_LEN)


@dataclass(frozen=True)
class Task:
    """kind: of `training.loop.finetune_loop.KINDS`; read: its examples, of a part of its data: train, val or test"""

    kind: str
    n_classes: int
    read: Callable[[Path, str, Tokenizer], Iterator[Example]]

    @property
    def head(self) -> str:
        """Of `model.adapting.fine_tuned.HEADS`."""
        return "tokens" if self.kind in ("span", "tags") else "text"


TASKS = {
    "sentiment": Task("sentence", 2, sentiment),
    "paraphrase": Task("pair", 2, paraphrase),
    "qa_babi": Task("span", SPAN, babi),
    "pos": Task("tags", len(TAGS), pos),
}
# Those that a GPT does, each text as one row
ROW_TASKS = {
    "sentiment": TASKS["sentiment"],
    "entailment": Task("pair", len(ENTAILS), entailment),
    "paraphrase": TASKS["paraphrase"],
}


def spread(examples: Iterable[T], most: int) -> list[T]:
    """So many of the examples, from all parts of the file; all of them if there are fewer."""
    every = list(examples)
    n = min(most, len(every))
    return [every[i * len(every) // n] for i in range(n)]
