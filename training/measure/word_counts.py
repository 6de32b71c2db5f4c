"""What counting words reaches in tasks: `python -m training.measure.word_counts TASKS`.

TASKS is the folder of `training.loop.tasks`. Sentiment and paraphrase: logistic regression on counted words, of a pair
on those that both texts share and those that one has alone; of entailment it also counts which one. Tags: the most
frequent tag of each word in training; for a word that was not there, that of all words. It counts on the examples
that a head learned from, and answers the words that a head reads. The figures are kept beside those of the heads.
"""

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from model.adapting.row_tasks import ROWS
from model.files.loaded_model import load_model
from model.parts.task_heads import TASK_HEADS
from model.text.tokenizer import Tokenizer
from training.loop.finetune_loop import NO_LABEL
from training.loop.tasks import ENTAILS, TASKS, rows_of, spread, tagged
from training.publish.translator import METRICS

EPOCHS, BATCH, RATE, DECAY = 10, 64, 0.01, 3e-3
Example = tuple[list[str], int]  # what is counted, and its class
Tagged = tuple[list[str], list[str]]  # the words of a sentence, and their tags


def words(text: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", text.lower())


def of_sentence(row: Sequence[str]) -> Example:
    label, text = row
    return words(text), int(label == "pos")


def of_pair(row: Sequence[str]) -> Example:
    label, first, second = row
    one, other = set(words(first)), set(words(second))
    return [*(f"both {w}" for w in one & other), *(f"one {w}" for w in one ^ other), "any"], int(label)


def of_ordered_pair(row: Sequence[str]) -> Example:
    """A premise and what may follow from it: which of the two has a word counts."""
    label, *texts = row
    first, second = (set(words(text)) for text in texts)
    named = {"both": first & second, "first": first - second, "second": second - first}
    return [*(f"{which} {word}" for which, some in named.items() for word in some), "any"], ENTAILS.index(label)


HEADS = {"bert-mini": TASK_HEADS, "gpt-mini": ROWS}  # by the model that they belong to
FEATURES = {"sentiment": of_sentence, "paraphrase": of_pair, "entailment": of_ordered_pair}


def regression(train: Sequence[Example], test: Sequence[Example]) -> float:
    """The share of right answers on test of logistic regression, trained with AdamW from zeros; of more than two
    classes each has a score of its own.
    """
    known = {name: n for n, name in enumerate(dict.fromkeys(name for names, _ in train for name in names))}
    n_classes = 1 + max(label for _, label in train)
    n = n_classes if n_classes > 2 else 1  # one score tells two classes apart by its sign
    weights, bias = nn.EmbeddingBag(len(known) + 1, n, mode="sum", padding_idx=len(known)), nn.Parameter(torch.zeros(n))
    nn.init.zeros_(weights.weight)
    optimiser = torch.optim.AdamW([*weights.parameters(), bias], lr=RATE, weight_decay=DECAY / RATE)
    random = torch.Generator().manual_seed(0)

    def scores(examples: Sequence[Example]) -> Tensor:
        counted = [[known[name] for name in names if name in known] or [len(known)] for names, _ in examples]
        starts = torch.tensor([0, *map(len, counted[:-1])]).cumsum(0)
        summed: Tensor = weights(torch.tensor([id for ids in counted for id in ids]), starts) + bias
        return summed

    def classes(examples: Sequence[Example]) -> Tensor:
        return torch.tensor([label for _, label in examples])

    def loss(examples: Sequence[Example]) -> Tensor:
        if n > 1:
            return nn.functional.cross_entropy(scores(examples), classes(examples))
        return nn.functional.binary_cross_entropy_with_logits(scores(examples)[:, 0], classes(examples).float())

    for _ in range(EPOCHS):
        order = torch.randperm(len(train), generator=random).tolist()
        for start in range(0, len(order), BATCH):
            optimiser.zero_grad()
            loss([train[n] for n in order[start : start + BATCH]]).backward()
            optimiser.step()
    with torch.no_grad():
        found = scores(test)
        told = found.argmax(-1) if n > 1 else (found[:, 0] > 0).long()
        return float((told == classes(test)).float().mean())


def tagged_as_read(folder: Path, part: str, tokenizer: Tokenizer) -> Iterator[Tagged]:
    """Of each sentence the words that a head is asked for: the end of a long one is cut off."""
    for (words, tags), one in zip(tagged(folder, part), TASKS["pos"].read(folder, part, tokenizer), strict=True):
        assert isinstance(one.label, tuple)
        n = sum(label != NO_LABEL for label in one.label)
        yield words[:n], tags[:n]


def most_frequent_tags(train: Iterable[Tagged], test: Iterable[Tagged]) -> float:
    """The share of words in test whose tag is the most frequent one of that word in training."""
    seen: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for tokens, tags in train:
        for word, tag in zip(tokens, tags, strict=True):
            seen[word][tag] += 1
    usual = sum(seen.values(), Counter()).most_common(1)[0][0]
    guesses = {word: tags.most_common(1)[0][0] for word, tags in seen.items()}
    right = [guesses.get(word, usual) == tag for tokens, tags in test for word, tag in zip(tokens, tags, strict=True)]
    return sum(right) / len(right)


def counted(task: str, folder: Path, most: int, tokenizer: Tokenizer) -> float | None:
    """The share of right answers by counting, or None where there is nothing to count.

    Args: most: how many examples of the training part it counts, as a head learns from so many; tokenizer: of the head

    Raises: OSError, ValueError
    """
    if task == "pos":
        train, test = (tagged_as_read(folder, part, tokenizer) for part in ("train", "test"))
        return round(most_frequent_tags(spread(train, most), test), 4)
    if task not in FEATURES:
        return None
    learned, asked = (map(FEATURES[task], rows_of(folder / f"{task}.{part}.tsv")) for part in ("train", "test"))
    return round(regression(spread(learned, most), list(asked)), 4)


def main(folders: Mapping[str, Path] = HEADS) -> int:
    parser = argparse.ArgumentParser(prog="python -m training.measure.word_counts", description=__doc__)
    parser.add_argument("tasks", type=Path, help="folder of the tasks' files")
    given = parser.parse_args()
    torch.set_num_threads(1)
    try:
        for name, folder in folders.items():
            metrics, tokenizer = folder / METRICS, load_model(name).tokenizer
            figures = json.loads(metrics.read_text())
            for task, one in figures.items():
                if (share := counted(task, given.tasks, one["train"], tokenizer)) is not None:
                    one["counted"] = share
                    print(f"{task}: {share:.1%} by counting words in {one['train']:,} examples", flush=True)
            metrics.write_text(json.dumps(figures, indent=2) + "\n")
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
