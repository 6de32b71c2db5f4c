"""What the encoder-decoders of the family learn: BART to restore a text, T5 to do three tasks, each told in words."""

import dataclasses
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from model.build import build_network
from model.config import PRESETS
from model.files import checkpoint
from model.text.tokenizer import EOS_ID, SENTINELS
from training.loop.corpus import Document, Ids
from training.loop.data import collate, length_batches, loader_of
from training.loop.loss import batch_loss, validation_loss
from training.loop.noise import KINDS, Noisy, Pieces, pieces_of, word_beginnings
from training.loop.objectives import VALIDATION_SEED, Material, Text, save_network
from training.loop.spans import hide_spans, n_hidden_and_spans
from training.loop.tasks import stories, tagged
from training.loop.text_rows import sentence_rows
from training.loop.updates import Batch, Machinery

TRAIN, VALID = "train", "val"  # parts of the tasks' data
TABLE = "embedding.matrix.weight"
TEXT, PAIR = 64, 96  # pieces: the most of a text, and of a source or a target of the tasks, with its marks
# How often each kind of noise is drawn in training, and how much of it.
OFTEN = {"masking": 0.2, "deletion": 0.15, "infilling": 0.35, "permutation": 0.2, "rotation": 0.1}
LEAST, MOST = 0.2, 0.4
FILL, TAG, ANSWER = "fill:", "tag:", "answer:"
# A tag of Universal Dependencies as a word: T5 answers in text, and the vocabulary cuts capitals into letters.
TAG_WORDS = {
    "ADJ": "adjective",
    "ADP": "preposition",
    "ADV": "adverb",
    "AUX": "auxiliary",
    "CCONJ": "conjunction",
    "DET": "determiner",
    "INTJ": "interjection",
    "NOUN": "noun",
    "NUM": "number",
    "PART": "particle",
    "PRON": "pronoun",
    "PROPN": "name",
    "PUNCT": "mark",
    "SCONJ": "subjunction",
    "SYM": "symbol",
    "VERB": "verb",
    "X": "other",
}
Pair = tuple[list[int], list[int]]


class Row(NamedTuple):
    """What a pair of source and target is made from. text: sentences to be spoilt by `seed`, or else a task's source;
    target: the task's
    """

    text: Sequence[Ids]
    seed: int
    target: Ids | None = None


class WithTasks(Material, Protocol):
    """tasks: the folder of `training.loop.tasks`; BART needs none"""

    @property
    def tasks(self) -> Path | None: ...


def plain_rows(documents: Sequence[Document], rng: random.Random) -> list[Row]:
    """Whole sentences, up to TEXT pieces in a row, never of two documents; each with a seed for its noise."""
    rows = ([one[one != EOS_ID] for one in sentences] for sentences in sentence_rows(documents, TEXT, rng))
    return [Row(some, rng.getrandbits(32)) for row in rows if (some := [one for one in row if len(one)])]


class Restoring(Text):
    """The whole text, from one with noise: its kind and its share are drawn for each row.

    Source:  Lewis et al. 2019 (BART), §2. Differs: one kind of noise a text, where they end with two (§5.1); positions
             are sinusoids, not learned; a text has at most 64 pieces
    """

    n_more = 0  # entries of the vocabulary behind the tokenizer's

    def __init__(self, material: WithTasks) -> None:
        super().__init__(material)
        size = self.tokenizer.vocab_size
        self.config = dataclasses.replace(PRESETS[material.name], vocab_size=size + self.n_more)
        self.begins_word = word_beginnings(self.tokenizer)

    def new_model(self) -> nn.Module:
        return build_network(self.config)

    def rows(self, documents: list[Document], rng: random.Random, part: str) -> list[Row]:
        return plain_rows(documents, rng)

    def pair(self, row: Row) -> Pair:
        """Source and target of a row, without marks."""
        text = pieces_of(row.text, self.begins_word)
        return list(spoilt(text, row.seed).ids), list(text.ids)

    def lengths(self, row: Row) -> tuple[int, int]:
        """Of source and target with a mark; noise leaves about as many pieces as there were."""
        n = sum(map(len, row.text)) + 1
        return n, n

    def rows_loader(self, documents: list[Document], part: str, seed: str, processes: int = 1) -> DataLoader[Any]:
        rng = random.Random(seed)
        rows = self.rows(documents, rng, part)
        # Sources and targets have room for half of a batch each.
        batches = length_batches([self.lengths(row) for row in rows], self.material.recipe.batch_tokens // 2, rng)
        # Noise is made when a batch is asked for: all of an epoch's at once would take minutes and much memory.
        return loader_of(rows, batches, lambda some: collate([self.pair(row) for row in some]), processes)

    def loader(self, epoch: int, processes: int) -> DataLoader[Any]:
        return self.rows_loader(self.documents, TRAIN, f"{self.material.seed}/{epoch}", processes)

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        return batch_loss(model, batch, self.material.recipe.label_smoothing)

    def validation_loss(self, model: nn.Module, machinery: Machinery) -> float:
        return validation_loss(model, self.rows_loader(self.valid_documents, VALID, VALIDATION_SEED), machinery)

    def save(self, weights: dict[str, Tensor]) -> None:
        save_network(self.material.out, self.config, weights)


def spoilt(text: Pieces, seed: int) -> Noisy:
    """A text with noise of a kind and a share that are drawn by the seed."""
    rng = random.Random(seed)
    (kind,) = rng.choices([*OFTEN], [*OFTEN.values()])
    return KINDS[kind](text, rng.uniform(LEAST, MOST), seed)


class TextToText(Restoring):
    """Begins as BART; its decoder and the sentinels learn three tasks, told apart by the words before the text: hidden
    spans, the kind of each word, the answer to a question. Half of the rows are texts with spans hidden, a quarter are
    of each other task.

    Raises: ValueError without a folder of tasks; OSError, naming the file, if one is missing; CheckpointError without
            a trained BART in the same folder
    Source: Raffel et al. 2019 (T5), §2.4 for the prefixes, §3.1.4 and §3.3.4 for the spans. Differs: theirs begins with
            random weights; the shares of the tasks are fixed, not by their sizes (§3.5.2)
    """

    n_more = len(SENTINELS)

    def __init__(self, material: WithTasks) -> None:
        super().__init__(material)
        if material.tasks is None:
            raise ValueError(f"{material.name} needs the folder of the tasks")
        self.fill = self.ids(FILL)
        self.rest = checkpoint.load_weights(material.root / self.config.rest_of / checkpoint.WEIGHTS)
        self.tasks = {part: self.of_tasks(material.tasks, part) for part in (TRAIN, VALID)}

    def new_model(self) -> nn.Module:
        model = super().new_model()
        n_known = len(self.rest[TABLE])
        signs = model.state_dict()[TABLE][n_known:]
        is_sign = (torch.arange(n_known + len(signs)) >= n_known)[:, None]
        model.load_state_dict(checkpoint.completed({TABLE: signs}, self.rest))
        for name, weight in model.named_parameters():
            weight.requires_grad_(self.learns(name))
            if name == TABLE:  # pieces stay, sentinels learn
                weight.register_hook(lambda gradient: gradient * is_sign.to(gradient.device))
        return model

    def learns(self, name: str) -> bool:
        return name.startswith("decoder.") or name == TABLE

    def save(self, weights: dict[str, Tensor]) -> None:
        own = {name: weight for name, weight in weights.items() if self.learns(name)}
        super().save(own | {TABLE: weights[TABLE][len(self.rest[TABLE]) :]})

    def of_tasks(self, folder: Path, part: str) -> tuple[list[Row], ...]:
        return tuple(self.task_rows(pairs) for pairs in (tag_pairs(folder, part), answer_pairs(folder, part)))

    def ids(self, text: str) -> Ids:
        return np.array(self.tokenizer.encode(text), dtype=np.uint16)

    def task_rows(self, pairs: Iterator[tuple[str, str]]) -> list[Row]:
        """A task's pairs; one with a side too long is left out."""
        sides = zip(*(map(self.ids, side) for side in zip(*pairs, strict=True)), strict=True)
        return [Row([source], 0, target) for source, target in sides if max(len(source), len(target)) < PAIR]

    def rows(self, documents: list[Document], rng: random.Random, part: str) -> list[Row]:
        """All texts once; as many rows of the tasks, drawn."""
        texts = plain_rows(documents, rng)
        drawn = [row for rows in self.tasks[part] for row in rng.choices(rows, k=max(1, len(texts) // 2))]
        return texts + drawn

    def pair(self, row: Row) -> Pair:
        ids = np.concatenate(row.text).tolist()
        if row.target is not None:
            return ids, row.target.tolist()
        source, target = hide_spans(ids, self.tokenizer.vocab_size, row.seed)
        return [*self.fill.tolist(), *source.ids], list(target.ids)

    def lengths(self, row: Row) -> tuple[int, int]:
        n = sum(map(len, row.text))
        if row.target is not None:
            return n + 1, len(row.target) + 1
        n_hidden, n_spans = n_hidden_and_spans(n)
        return len(self.fill) + n - n_hidden + n_spans + 1, n_hidden + n_spans + 2  # a last sentinel, and a mark

    def figures(self) -> dict[str, Any]:
        tags, answers = self.tasks[TRAIN]
        return {**super().figures(), "tagged": len(tags), "questions": len(answers)}


def tag_pairs(folder: Path, part: str) -> Iterator[tuple[str, str]]:
    """Sentences, and each word with one for its tag: so what is written tells which word is next."""
    for words, tags in tagged(folder, part):
        yield tag_source(words), " ".join(f"{word} {TAG_WORDS[tag]}" for word, tag in zip(words, tags, strict=True))


def tag_source(words: Sequence[str]) -> str:
    return f"{TAG} {' '.join(words)}"


def answer_pairs(folder: Path, part: str) -> Iterator[tuple[str, str]]:
    """Questions with their stories, and the answers."""
    for asked in stories(folder, part):
        for one in asked:
            yield answer_source(one.question, one.story), one.answer


def answer_source(question: str, story: str) -> str:
    return f"{ANSWER} {question} {story}"
