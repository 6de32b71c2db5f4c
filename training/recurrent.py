"""Train the three readers of "Before attention": `python -m training.recurrent DATA… --test FILE --out FOLDER`.

DATA and FILE have one `English<TAB>German` a line; only the English is read. Each reader must say from its last state
which tokens a text held. All three learn from the same texts, in the same steps, over one embedding matrix. Start the
same command again after a kill: it goes on from the last saved state. In the end the folder holds the weights, the
config, the random weights that training began with, metrics.json, measured on FILE, and a card.
"""

import argparse
import dataclasses
import itertools
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from model.families.readers import (
    READERS,
    SEED,
    UNTRAINED,
    Readers,
    ReadersConfig,
    load_readers,
    remembered,
    save_readers,
    untrained_readers,
)
from model.files.checkpoint import WEIGHTS, load_tokenizer
from model.text.tokenizer import EOS_ID
from training.loop.data import NO_VARIATION, read_pairs
from training.loop.recipe import Recipe
from training.loop.resumable_run import hardware
from training.loop.small_run import train_small
from training.loop.updates import Batch

CARD = Path(__file__).parent / "cards" / "readers.md"
TITLES = {"rnn": "simple recurrent network", "lstm": "LSTM", "attention": "self-attention"}
LENGTHS = (5, 10, 20, 40)  # tokens of the texts on which recall is measured
Ids = list[int]


@dataclass(frozen=True)
class Texts:
    """What a batch is made of.

    batch_size: texts, all of one length; max_tokens: of a text, `<eos>` not counted
    joined:     how many sentences make a text: one of these, drawn at random; seed: of all that is drawn
    """

    batch_size: int = 128
    max_tokens: int = 63
    joined: tuple[int, ...] = (1, 1, 1, 2, 3)
    seed: int = SEED


def readers_recipe(steps: int, warmup_steps: int) -> Recipe:
    """How readers are trained: as the translator, but faster, without smoothing, on the sentences as they are."""
    return Recipe(
        steps, peak_learning_rate=2e-3, warmup_steps=warmup_steps, label_smoothing=0.0, variation=NO_VARIATION
    )


RECIPE = readers_recipe(steps=9000, warmup_steps=300)


def recipe_figures(one: Recipe) -> dict[str, Any]:
    """The numbers of a recipe that say something about readers."""
    names = ("steps", "peak_learning_rate", "warmup_steps", "decay_fraction", "max_grad_norm")
    return {name: getattr(one, name) for name in names}


def english(paths: Sequence[Path]) -> list[Ids]:
    """The English sentences of files of pairs as ids, each once, in alphabetical order; empty ones left out."""
    sentences = sorted({sentence for sentence, _ in read_pairs(paths)})
    return [ids for ids in load_tokenizer().encode_batch(sentences) if ids]


def join(sentences: Sequence[Ids], texts: Texts, rng: random.Random) -> list[Ids]:
    """A text for each sentence: itself, often with others behind it, then `<eos>`; too long ones left out."""
    rows = []
    for sentence in sentences:
        others = rng.choices(sentences, k=rng.choice(texts.joined) - 1)
        rows.append([*itertools.chain(sentence, *others), EOS_ID])
    return [row for row in rows if len(row) - 1 <= texts.max_tokens]


def equal_length_batches(rows: Sequence[Ids], batch_size: int, rng: random.Random) -> list[Tensor]:
    """Texts in batches (B,T) of one length, in random order: nothing is padded, so no reader needs a mask."""
    by_length: dict[int, list[Ids]] = {}
    for row in rng.sample(rows, len(rows)):
        by_length.setdefault(len(row), []).append(row)
    batches = [
        torch.tensor(same[start : start + batch_size])
        for same in by_length.values()
        for start in range(0, len(same), batch_size)
    ]
    rng.shuffle(batches)
    return batches


def training_batches(sentences: Sequence[Ids], texts: Texts) -> Iterator[Batch]:
    """Batches without end; those of an epoch depend on the seed and the epoch alone."""
    for epoch in itertools.count():
        rng = random.Random(f"{texts.seed}/{epoch}")
        for ids in equal_length_batches(join(sentences, texts, rng), texts.batch_size, rng):
            yield {"labels": ids}


def recall_loss(logits: Tensor, ids: Tensor) -> Tensor:
    """Mean of −log P over the tokens of each text, `<eos>` left out, in nats.

    Args: logits (B,vocab_size), from one last state each; ids (B,T) of the texts
    """
    return -logits.log_softmax(-1).gather(1, ids[:, :-1]).mean()


def all_readers(readers: nn.Module, batch: Batch) -> Tensor:
    """The sum of the three readers' losses. They share the embeddings, so each of them shapes those."""
    ids = batch["labels"]
    return torch.stack([recall_loss(readers(ids, name), ids) for name in READERS]).sum()


def train(
    sentences: Sequence[Ids],
    config: ReadersConfig,
    out: Path,
    recipe: Recipe = RECIPE,
    texts: Texts = Texts(),
    save_every: int = 500,
) -> float:
    """Train all three readers side by side; write weights and config, and in a folder of their own the weights that
    training began with. `out`/state.pt serves a resumed run.

    Returns: seconds of processor time spent on steps, those before a kill included
    """
    readers = untrained_readers(config)
    save_readers(out / UNTRAINED, config, readers)
    batches = training_batches(sentences, texts)
    seconds = train_small(readers, batches, recipe, all_readers, out / "state.pt", save_every)
    save_readers(out, config, readers)
    return seconds


def window(sentences: Sequence[Ids], length: int, rng: random.Random) -> Ids:
    """`length` tokens from somewhere in a row of sentences drawn at random, then `<eos>`."""
    row = rng.choice(sentences)
    row = row[rng.randrange(len(row)) :]
    while len(row) < length:
        row = [*row, *rng.choice(sentences)]
    return [*row[:length], EOS_ID]


@torch.inference_mode()
def recall(readers: Readers, sentences: Sequence[Ids], n_texts: int = 1000) -> dict[str, Any]:
    """Which share of a text's tokens each reader remembers.

    Returns: by reader: sentences, the share over all these sentences; by length of text, over `n_texts` windows of
             them: all tokens, the first quarter and the last
    """
    rng = random.Random(0)
    whole = [torch.tensor([[*sentence, EOS_ID]]) for sentence in sentences]
    windows = {length: torch.tensor([window(sentences, length, rng) for _ in range(n_texts)]) for length in LENGTHS}
    figures: dict[str, Any] = {}
    for name in READERS:
        hits = torch.cat([remembered(readers(ids, name), ids)[0] for ids in whole])
        figures[name] = {"sentences": share(hits)}
        for length, ids in windows.items():
            quarter, hits = length // 4, remembered(readers(ids, name), ids)
            parts = {"all": hits, "first quarter": hits[:, :quarter], "last quarter": hits[:, -quarter:]}
            figures[name][str(length)] = {part: share(of_part) for part, of_part in parts.items()}
    return figures


def share(hits: Tensor) -> float:
    return round(hits.float().mean().item(), 3)


def card(folder: Path, metrics: dict[str, Any]) -> str:
    """The model card: its words with the figures filled in."""
    loaded = load_readers(folder)
    columns = {"sentences": "sentences", **{str(length): f"{length} pieces: first quarter, last" for length in LENGTHS}}

    def cell(name: str, column: str) -> str:
        figures = metrics["test"]["recall"][name][column]
        if isinstance(figures, float):
            return f"{figures:.2f}"
        return f"{figures['all']:.2f}: {figures['first quarter']:.2f}, {figures['last quarter']:.2f}"

    rows = [" | ".join((title, *(cell(name, column) for column in columns))) for name, title in TITLES.items()]
    return CARD.read_text(encoding="utf-8").format(
        parameters=loaded.n_parameters,
        d_model=loaded.config.d_model,
        megabytes=(folder / WEIGHTS).stat().st_size / 1e6,
        minutes=metrics["training"]["processor_seconds"] / 60,
        heads=" | ".join(columns.values()),
        rule="---|" * len(columns),
        rows="\n".join(f"| {row} |" for row in rows),
        **metrics,
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.recurrent", description=__doc__)
    parser.add_argument("data", nargs="+", type=Path, help="files with one `English<TAB>German` a line")
    parser.add_argument("--test", required=True, type=Path, help="a file of the same form, for the figures")
    parser.add_argument("--out", required=True, type=Path, help="folder for the readers")
    parser.add_argument("--steps", type=int, default=RECIPE.steps)
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # small products: more threads would only wait for one another
    out: Path = arguments.out
    recipe = dataclasses.replace(RECIPE, steps=arguments.steps)
    sentences, unseen = english(arguments.data), english([arguments.test])
    seconds = train(sentences, ReadersConfig(), out, recipe)
    readers: Any = load_readers(out).model.cpu()  # as the sentences are
    metrics = {
        "training": {
            "sentences": len(sentences),
            "processor_seconds": round(seconds),
            "hardware": hardware(),
            "recipe": recipe_figures(recipe),
            "texts": dataclasses.asdict(Texts()),
        },
        "test": {"sentences": len(unseen), "recall": recall(readers, unseen)},
    }
    (out / "metrics.json").write_text(json.dumps(metrics, indent=2) + "\n")
    (out / "README.md").write_text(card(out, metrics), encoding="utf-8")
    (out / "state.pt").unlink()
    print(json.dumps(metrics["test"]))


if __name__ == "__main__":
    main()
