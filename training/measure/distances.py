"""How far back can a reader learn to look? `python -m training.measure.distances DATA… --test FILE --out FOLDER`.

Each reader starts from random weights and learns one thing: to tell, from its last state, the first piece of a text.
All texts of a run have one length, so nothing but that distance differs between runs. distances.json gets the share of
new texts for which the reader is right; for the longest texts also after twice the steps. A run that is in the file
already is not done again.
"""

import argparse
import dataclasses
import itertools
import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import track
from torch import Tensor, nn

from model.families.readers import READERS, ReadersConfig, untrained_readers
from training.loop.updates import Batch, new_learner, training_steps
from training.recurrent import Ids, english, readers_recipe, recipe_figures, window

DISTANCES = (2, 5, 10, 20, 40)  # tokens in a text: steps from reading the first to its end
SEEDS = (1, 2, 3)
N_TEST = 1000
BATCH_SIZE = 64
RECIPE = readers_recipe(steps=600, warmup_steps=100)
FILE = "distances.json"
LONGER = f"{DISTANCES[-1]}, twice the steps"


def learn_the_first(
    name: str, distance: int, seed: int, sentences: Sequence[Ids], unseen: Sequence[Ids], times: int = 1
) -> float:
    """Train one reader from random weights; the share of new texts whose first token it then tells.

    Args: times: so many times the steps of RECIPE
    """
    rng = random.Random(seed)
    recipe = dataclasses.replace(RECIPE, steps=times * RECIPE.steps)

    def texts(source: Sequence[Ids], count: int, rng: random.Random) -> Tensor:
        return torch.tensor([window(source, distance, rng) for _ in range(count)])

    def loss(readers: nn.Module, batch: Batch) -> Tensor:
        ids = batch["labels"]
        return nn.functional.cross_entropy(readers(ids, name), ids[:, 0])

    learner = new_learner(untrained_readers(ReadersConfig(), seed), recipe)
    batches = ({"labels": texts(sentences, BATCH_SIZE, rng)} for _ in range(recipe.steps))
    for _ in training_steps(learner, batches, recipe, loss):
        pass
    ids = texts(unseen, N_TEST, random.Random(0))  # the same new texts for all
    with torch.inference_mode():
        return (learner.model(ids, name).argmax(-1) == ids[:, 0]).float().mean().item()


def most_frequent(distance: int, unseen: Sequence[Ids]) -> float:
    """The share of the same new texts that begin with the token that is their most frequent first one."""
    rng = random.Random(0)
    firsts = Counter(window(unseen, distance, rng)[0] for _ in range(N_TEST))
    return max(firsts.values()) / N_TEST


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.measure.distances", description=__doc__)
    parser.add_argument("data", nargs="+", type=Path, help="files with one `English<TAB>German` a line")
    parser.add_argument("--test", required=True, type=Path, help="a file of the same form, for the figures")
    parser.add_argument("--out", required=True, type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    sentences, unseen = english(arguments.data), english([arguments.test])
    path: Path = arguments.out / FILE
    figures: dict[str, Any] = (
        json.loads(path.read_text())
        if path.exists()
        else {"recipe": {**recipe_figures(RECIPE), "batch_size": BATCH_SIZE}}
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    runs = [(n, 1, str(n), *one) for n in DISTANCES for one in itertools.product(SEEDS, READERS)]
    runs += [(DISTANCES[-1], 2, LONGER, *one) for one in itertools.product(SEEDS, READERS)]
    for distance, times, key, seed, name in track(runs, "learning", console=Console(stderr=True)):
        of_distance = figures.setdefault(key, {"most frequent": most_frequent(distance, unseen)})
        shares = of_distance.setdefault(name, [])
        if len(shares) < seed:
            shares.append(round(learn_the_first(name, distance, seed, sentences, unseen, times), 3))
            path.write_text(json.dumps(figures, indent=2) + "\n")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
