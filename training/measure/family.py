"""Measure the family: `python -m training.measure.family FOLDER --train FILE… --test FILE… [--only NAME…]`.

FOLDER is that of `training.family`. For each model it prints JSON: bits per byte of gpt-mini and of the LSTM, beside
those of a 5-gram model that counted the training text; how often bert-mini guesses a masked token, beside the most
frequent token behind its left neighbour, and how well it tells whether a text or a sentence follows another; the
squared error of in-context regression beside that of ridge, least squares, neighbours and zero.
"""

import argparse
import json
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from model.files import checkpoint
from model.files.load_special_models import IN_CONTEXT, LSTM, load_in_context, load_lstm
from model.text.tokenizer import EOS_ID, PAD_ID, Tokenizer
from training.family import RECIPES
from training.loop.corpus import Document, Ids, read_corpus
from training.loop.in_context import Regression, least_squares, nearest_neighbours, zero
from training.loop.replacing import GENERATOR, TEMPERATURE, drawn
from training.loop.text_rows import (
    IS_NEXT,
    N_SPECIALS,
    NO_PAIR,
    Masking,
    Pairing,
    ReadRow,
    collate_read,
    collate_written,
    masked,
    read_rows,
    text_rows,
)
from training.measure.kneser_ney import KneserNey, behind, stream_of

ORDER, BATCH = 5, 16
N_PROMPTS = 4000
EXAMPLES = range(1, 41)


def load_network(folder: Path) -> nn.Module:
    """A trained model of the family, by the name of its folder. Raises: checkpoint.CheckpointError, naming the file"""
    if folder.name == LSTM:
        return load_lstm(folder)
    if folder.name == IN_CONTEXT:
        return load_in_context(folder)[0]
    return checkpoint.load(folder, vocabulary=folder.parent)[0]


class Texts:
    """What the language models are measured on, and what counting makes of the training text.

    Raises: ValueError, naming the file, if it holds no text
    """

    def __init__(self, tokenizer: Tokenizer, train: Sequence[Path], test: Sequence[Path]) -> None:
        self.vocab_size = tokenizer.vocab_size
        self.names = ", ".join(path.name for path in test)
        self.test = read_corpus(test, tokenizer)
        self._tokenizer, self._train_files = tokenizer, train

    @cached_property
    def train(self) -> list[Document]:
        return read_corpus(self._train_files, self._tokenizer)

    @cached_property
    def five_gram(self) -> float:
        """Bits per byte of the 5-gram model."""
        counted = KneserNey(stream_of(self.train, ORDER), self.vocab_size, ORDER)
        return bits_per_byte(float(-np.log2(counted.probabilities(stream_of(self.test, ORDER))).sum()), self.test)

    @cached_property
    def after(self) -> Ids:
        """The token that most often stands behind each token."""
        return most_frequent_next(self.train, self.vocab_size)


def measure(folder: Path, texts: Texts | None) -> dict[str, Any]:
    """The figures of one model of the family, by the name of its folder. texts: in-context needs none

    Raises: checkpoint.CheckpointError, naming the file
    """
    if folder.name == IN_CONTEXT:
        model, config = load_in_context(folder)
        return regression_errors(model, Regression(config.d_in, config.n_pairs))
    assert texts is not None
    network, sizes = load_network(folder), json.loads((folder / checkpoint.CONFIG).read_text())
    if sizes.get("family") == "discriminator":
        generator = checkpoint.load(GENERATOR, vocabulary=folder.parent)[0]
        given = network, generator, texts.test, sizes["max_len"], texts.vocab_size
        return {"data": texts.names, **detection(*given), "at_temperature_1": detection(*given, temperature=1.0)}
    if sizes.get("family") == "encoder_only":
        accuracy = masked_accuracy(network, texts.test, sizes["max_len"], texts.after, texts.vocab_size)
        told = next_sentence_accuracy(network, texts.test, sizes["max_len"])
        told |= single_sentences_told(network, texts.test, sizes["max_len"])
        return {"data": texts.names, **accuracy, **told}
    own = bits_per_byte(bits(network, texts.test, sizes["max_len"]), texts.test)
    return {"data": texts.names, "bits_per_byte": own, "five_gram": texts.five_gram}


def windows(document: Document, width: int) -> Iterator[tuple[Ids, int]]:
    """Stretches of a text, each half a width further, and where in them the tokens begin that no other has scored."""
    ids, half = np.append(document.ids, np.uint16(EOS_ID)), width // 2
    yield ids[:width], 0
    for start in range(half, len(ids) - half, half):
        yield ids[start : start + width], half


@torch.inference_mode()
def bits(model: nn.Module, documents: Sequence[Document], width: int) -> float:
    """−log₂ P of all documents, each with its end. A token is guessed from at least half a width before it, if the
    document has so many.
    """
    pieces = sorted((piece for one in documents for piece in windows(one, width)), key=lambda piece: len(piece[0]))
    total = 0.0
    for start in range(0, len(pieces), BATCH):
        rows = pieces[start : start + BATCH]
        batch = collate_written([ids for ids, _ in rows])
        labels = batch["labels"]
        scored = (torch.arange(labels.size(1)) >= torch.tensor([[first] for _, first in rows])) & (labels != PAD_ID)
        log_probabilities = model(batch["tgt_ids"]).log_softmax(-1).gather(-1, labels[..., None])[..., 0]
        total -= float(log_probabilities[scored].double().sum())
    return total / float(np.log(2))


def bits_per_byte(total: float, documents: Sequence[Document]) -> float:
    return round(total / sum(document.n_bytes for document in documents), 4)


def most_frequent_next(documents: Sequence[Document], vocab_size: int) -> Ids:
    """The token that most often stands behind each token; behind one never seen, the most frequent of all."""
    stream = stream_of(documents, 2)
    pairs, counts = np.unique(behind(stream)[1:] * vocab_size + stream[1:], return_counts=True)
    best = np.full(vocab_size, np.bincount(stream[stream > EOS_ID]).argmax(), dtype=np.uint16)
    order = np.argsort(counts, kind="stable")  # the most frequent pair of a token comes last and stays
    best[pairs[order] // vocab_size] = pairs[order] % vocab_size
    return best


def masked_batches(documents: Sequence[Document], width: int, vocab_size: int) -> Iterator[dict[str, Tensor]]:
    """Batches (see `collate_read`) of texts of which 15% are masked, the same for every model."""
    texts, generator = text_rows(documents, width, random.Random(0)), np.random.default_rng(0)
    rows = masked(texts, vocab_size, generator, Masking(masked=1.0, random=0.0))
    for start in range(0, len(rows), BATCH):
        yield collate_read(rows[start : start + BATCH])


def said_of_masked(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    """The logits (n,V) of the n masked tokens of a batch."""
    logits: Tensor = model(batch["src_ids"], batch["segment_ids"], batch["labels"] != PAD_ID)[0]
    return logits


@torch.inference_mode()
def masked_accuracy(
    model: nn.Module, documents: Sequence[Document], width: int, after: Ids, vocab_size: int
) -> dict[str, float]:
    """How often a masked token is guessed, in texts of which 15% are masked, by the model and by its left neighbour."""
    right = by_neighbour = n = 0
    behind_each = torch.from_numpy(after.astype(np.int64))
    for batch in masked_batches(documents, width, vocab_size):
        asked = batch["labels"] != PAD_ID
        labels, text = batch["labels"][asked], torch.where(asked, batch["labels"], batch["src_ids"])
        right += int((said_of_masked(model, batch).argmax(-1) == labels).sum())
        by_neighbour += int((behind_each[text.roll(1, 1)[asked]] == labels).sum())
        n += len(labels)
    return {"accuracy": round(right / n, 4), "left_neighbour": round(by_neighbour / n, 4), "masked_tokens": n}


@torch.inference_mode()
def detection(
    discriminator: nn.Module,
    generator: nn.Module,
    documents: Sequence[Document],
    width: int,
    vocab_size: int,
    temperature: float = TEMPERATURE,
) -> dict[str, float]:
    """How well a discriminator tells the tokens that its generator has put in from all others, marks left out, in texts
    of which 15% were masked and filled in at a temperature: the area under the ROC curve and its error, and the share
    that it tells right. Beside it how often the generator's draw was the right token, which counts as not replaced.
    """
    of_replaced: list[NDArray[np.float64]] = []
    of_others: list[NDArray[np.float64]] = []
    lucky = asked = 0
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        for batch in masked_batches(documents, width, vocab_size):
            ids, labels = batch["src_ids"], batch["labels"]
            blanks = labels != PAD_ID
            filled = ids.masked_scatter(blanks, drawn(said_of_masked(generator, batch) / temperature))
            scores, replaced = discriminator(filled, batch["segment_ids"])[..., 0].double(), blanks & (filled != labels)
            of_replaced.append(scores[replaced].numpy())
            is_piece = filled >= N_SPECIALS  # a mark is never swapped
            of_others.append(scores[is_piece & ~replaced].numpy())
            lucky, asked = lucky + int((blanks & ~replaced).sum()), asked + int(blanks.sum())
    high, low = np.concatenate(of_replaced), np.concatenate(of_others)
    area, error = area_under_curve(high, low)
    told = (int((high > 0).sum()) + int((low <= 0).sum())) / (len(high) + len(low))
    return {
        "area": round(area, 4),
        "standard_error": round(error, 4),
        "told": round(told, 4),
        "always_original": round(len(low) / (len(high) + len(low)), 4),
        "replaced": len(high),
        "guessed_right": round(lucky / asked, 4),
    }


@torch.inference_mode()
def pair_scores(model: nn.Module, pairs: Sequence[ReadRow]) -> NDArray[np.float64]:
    """How much likelier the model finds it that each second text follows its first than that it does not, in nats."""
    found = np.empty(len(pairs))
    in_order = sorted(range(len(pairs)), key=lambda n: len(pairs[n].ids))
    for start in range(0, len(pairs), BATCH):
        some = in_order[start : start + BATCH]
        batch = collate_read([(row.ids, row.segment_ids, row.ids, row.label) for row in (pairs[n] for n in some)])
        none = torch.zeros_like(batch["src_ids"], dtype=torch.bool)  # no token is to be guessed
        follows, not_next = model(batch["src_ids"], batch["segment_ids"], none)[1][:, 0].double().unbind(-1)
        found[some] = follows - not_next
    return found


def next_sentence_accuracy(model: nn.Module, documents: Sequence[Document], width: int) -> dict[str, float]:
    """How often the model tells whether the second of two texts follows the first, nothing masked; and how often one
    would be right that always gives the more frequent answer.
    """
    pairs = [row for row in read_rows(documents, width, random.Random(0)) if row.label != NO_PAIR]
    follows = np.array([row.label == IS_NEXT for row in pairs])
    right = float(((pair_scores(model, pairs) > 0) == follows).mean())
    most_frequent = float(max(follows.mean(), 1 - follows.mean()))
    return {"next_sentence": round(right, 4), "always_the_same": round(most_frequent, 4), "pairs": len(pairs)}


def single_sentences_told(model: nn.Module, documents: Sequence[Document], width: int) -> dict[str, float]:
    """Of two pairs of single sentences, neighbours and strangers: how often the model finds the neighbours likelier
    (the area under the ROC curve), and its standard error.
    """
    rows = read_rows(documents, width, random.Random(0), Pairing(single=1.0))
    pairs = [row for row in rows if row.label != NO_PAIR]
    follows = np.array([row.label == IS_NEXT for row in pairs])
    scores = pair_scores(model, pairs)
    area, error = area_under_curve(scores[follows], scores[~follows])
    return {"single_sentences": round(area, 4), "standard_error": round(error, 4), "single_pairs": len(pairs)}


def area_under_curve(high: NDArray[np.float64], low: NDArray[np.float64]) -> tuple[float, float]:
    """The share of pairs, one score of each kind, in which `high` is above; ties count half. And its standard error.

    Source: DeLong et al. 1988, "Comparing the areas under two or more correlated ROC curves", for one curve
    """
    of_high, of_low = above(high, low), 1 - above(low, high)
    return float(of_high.mean()), float((of_high.var(ddof=1) / len(high) + of_low.var(ddof=1) / len(low)) ** 0.5)


def above(some: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """The share of others that each of some scores lies above; one that is equal counts half."""
    ordered = np.sort(others)
    return (ordered.searchsorted(some, "left") + ordered.searchsorted(some, "right")) / (2 * len(ordered))


@torch.inference_mode()
def regression_errors(model: nn.Module, regression: Regression) -> dict[str, dict[int, float]]:
    """Mean squared error of a guess by the number of examples before it, for each way to guess."""
    drawn = regression.prompts(N_PROMPTS, torch.Generator().manual_seed(7))
    x, y = (drawn[name].double().numpy() for name in "xy")
    guesses = torch.cat([model(*some) for some in zip(drawn["x"].split(500), drawn["y"].split(500), strict=True)])
    errors: dict[str, dict[int, float]] = {IN_CONTEXT: {}}
    others: dict[str, Callable[..., Any]] = {
        "ridge": regression.ridge,
        "least squares": least_squares,
        "3 nearest neighbours": nearest_neighbours,
        "zero": zero,
    }
    for n in EXAMPLES:
        errors[IN_CONTEXT][n] = mean_square(guesses[:, n].double() - drawn["y"][:, n].double())
        for name, guess in others.items():
            error = guess(x[:, :n], y[:, :n], x[:, n]) - y[:, n]
            errors.setdefault(name, {})[n] = mean_square(torch.from_numpy(error))
    return errors


def mean_square(error: Tensor) -> float:
    return round(float((error**2).mean()), 4)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m training.measure.family", description=__doc__)
    parser.add_argument("folder", type=Path, help="the folder given to training.family as --out")
    parser.add_argument("--train", nargs="+", type=Path, default=[], help="what was learned from, for counting")
    parser.add_argument("--test", nargs="+", type=Path, default=[], help="files kept apart")
    parser.add_argument("--only", nargs="+", choices=RECIPES, default=[*RECIPES], metavar="NAME")
    arguments = parser.parse_args()
    try:
        texts = None
        if {*arguments.only} != {IN_CONTEXT}:
            texts = Texts(checkpoint.load_tokenizer(arguments.folder), arguments.train, arguments.test)
        for name in arguments.only:
            print(json.dumps({name: measure(arguments.folder / name, texts)}, indent=2), flush=True)
    except (checkpoint.CheckpointError, ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
