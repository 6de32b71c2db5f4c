"""Train a decoder that draws digits: `python -m training.drawing DIGITS.npz --out FOLDER`.

DIGITS.npz is that of `training.pictures`. Pictures are written with a code book of 64 patches, which is made first; a
row is a word, "zero" to "nine", and 49 patches. Start the same command again after a kill: it goes on from the last
saved state. In the end the folder holds weights, the code book, the sizes, metrics.json and a card; it prints how many
drawings a Vision Transformer reads as the word that they were drawn from, with standard errors.
"""

import argparse
import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from model.build import build_network
from model.families.drawing import CONFIG, N_CODES, PATCH, WORDS, draw, picture_of, written
from model.families.pictures import cut_into_patches
from model.files import checkpoint
from model.files.load_pictures import load_vision
from training.loop.data import NO_VARIATION
from training.loop.recipe import Recipe, in_steps
from training.loop.resumable_run import hardware
from training.loop.small_run import train_several, train_small
from training.loop.updates import Batch
from training.pictures import moved, read_digits, right, share

NAME, CODES, METRICS = "drawing", "codes.safetensors", "metrics.json"
CARD = Path(__file__).parent / "cards" / "drawing.md"
BATCH_SIZE, SEED = 64, 1
MOVED = 2  # pixels, at most, to any side
ROUNDS, LEARNED_FROM = 25, 100_000  # of the code book: how often it is made better, and patches that it is made from
N_DRAWN = 100  # of each word, to be read back
RECIPE = Recipe(
    steps=12_000,
    peak_learning_rate=1e-3,
    warmup_steps=500,
    decay_fraction=0.5,
    label_smoothing=0.0,
    variation=NO_VARIATION,
)


def code_book(pictures: Tensor) -> Tensor:
    """Paper, and 63 patches that those of the pictures (N,28,28) lie around: k-means (Lloyd 1982). (N_CODES,16)

    A patch that no other is nearest to begins anew, as the one that fits worst.
    """
    generator = torch.Generator().manual_seed(SEED)
    patches = cut_into_patches(pictures, PATCH, PATCH).flatten(0, 1)
    inked = patches[patches.amax(1) > 0]
    some = inked[torch.randperm(len(inked), generator=generator)[:LEARNED_FROM]]
    codes = some[: N_CODES - 1].clone()
    for _ in range(ROUNDS):
        apart = torch.cdist(some, codes)
        near = apart.min(1)
        sums = torch.zeros_like(codes).index_add_(0, near.indices, some)
        counts = near.indices.bincount(minlength=len(codes))
        codes = sums / counts.clamp(min=1)[:, None]
        lonely = (counts == 0).nonzero().flatten()
        codes[lonely] = some[near.values.argsort(descending=True)[: len(lonely)]]
    return torch.cat([torch.zeros(1, patches.size(1)), codes[codes.sum(1).argsort()]])


def batches(pictures: Tensor, labels: Tensor, codes: Tensor) -> Iterator[Batch]:
    """Rows of ids (64,50), each a word and its picture, moved by up to two pixels; drawn with replacement, without end,
    and the same whenever they are asked for.
    """
    generator = torch.Generator().manual_seed(SEED + 1)
    while True:
        at = torch.randint(len(pictures), (BATCH_SIZE,), generator=generator)
        steps = torch.randint(-MOVED, MOVED + 1, (BATCH_SIZE, 2), generator=generator)
        ids = torch.cat([labels[at, None], written(moved(pictures[at], steps), codes)], 1)
        yield {"ids": ids, "labels": ids[:, 1:]}


def loss(network: nn.Module, batch: Batch) -> Tensor:
    """Mean of −ln P over the patches."""
    return nn.functional.cross_entropy(network(batch["ids"][:, :-1]).flatten(0, 1), batch["labels"].flatten())


def train(data: Path, out: Path, recipe: Recipe = RECIPE) -> dict[str, Any]:
    """Train and write it, the code book first. Returns: seconds of its training, by the processor's clock; parameters;
    steps
    """
    pictures, labels = read_digits(data, "train")
    if not (out / CODES).exists():
        save_file({"codes": code_book(pictures)}, out / CODES)
    codes = load_file(out / CODES)["codes"]
    torch.manual_seed(SEED)
    network = build_network(CONFIG)
    seconds = train_small(network, batches(pictures, labels, codes), recipe, loss, out / f"{NAME}.pt")
    checkpoint.save_weights(out / checkpoint.WEIGHTS, network.state_dict())
    n_parameters = sum(p.numel() for p in network.parameters())
    figures = {"processor_seconds": round(seconds), "parameters": n_parameters, "steps": recipe.steps}
    (out / f"{NAME}.json").write_text(json.dumps(figures))
    return figures


@torch.inference_mode()
def measured(network: nn.Module, reader: nn.Module, codes: Tensor, pictures: Tensor, labels: Tensor) -> dict[str, Any]:
    """How many drawings the reader reads as their word; how many pictures of the test part it reads right once they
    are written with the code book, and as they are; the loss of a patch there, in nats.
    """
    words = torch.arange(len(WORDS)).repeat_interleave(N_DRAWN)
    drawn, _ = draw(network, words, torch.Generator().manual_seed(SEED + 2))
    ids = written(pictures, codes)
    rows = {"ids": torch.cat([labels[:, None], ids], 1), "labels": ids}
    return {
        "read_back": share(right(reader, picture_of(drawn, codes), words)),
        "written": share(right(reader, picture_of(ids, codes), labels)),
        "as_they_are": share(right(reader, pictures, labels)),
        "drawings": len(words),
        "pictures": len(labels),
        "loss": round(loss(network, rows).item(), 4),
    }


def card(metrics: dict[str, Any]) -> str:
    """The model card: its words with the figures filled in."""
    test = metrics["test"]
    shares = {name: test[name] for name in ("read_back", "written", "as_they_are")}
    percent = {name: f"{100 * mean:.1f} ± {100 * error:.1f}" for name, (mean, error) in shares.items()}
    text = CARD.read_text(encoding="utf-8")
    return text.format(percent=percent, of=test, codes=N_CODES, **metrics["training"], **metrics["recipe"])


def finish(data: Path, out: Path) -> None:
    """Write the sizes, what was measured and the card; print what was measured."""
    (out / checkpoint.CONFIG).write_text(json.dumps(dataclasses.asdict(CONFIG), indent=2) + "\n")
    network = build_network(CONFIG)
    network.load_state_dict(checkpoint.load_weights(out / checkpoint.WEIGHTS))
    recipe = {name: getattr(RECIPE, name) for name in ("warmup_steps", "decay_fraction", "peak_learning_rate")}
    codes, reader = load_file(out / CODES)["codes"], load_vision().model.cpu()
    metrics = {
        "recipe": recipe | {"batch_size": BATCH_SIZE, "seed": SEED, "moved": MOVED, "hardware": hardware()},
        "training": json.loads((out / f"{NAME}.json").read_text()),
        "test": measured(network.eval(), reader, codes, *read_digits(data, "test")),
    }
    (out / METRICS).write_text(json.dumps(metrics, indent=2) + "\n")
    (out / "README.md").write_text(card(metrics), encoding="utf-8")
    mean, error = metrics["test"]["read_back"]
    print(f"read back: {100 * mean:.1f}% ± {100 * error:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.drawing", description=__doc__)
    parser.add_argument("data", type=Path, help="a file of digits, see above")
    data = parser.parse_known_args()[0].data
    train_several(
        parser,
        [NAME],
        RECIPE.steps,
        lambda name, out, steps: train(data, out, in_steps(RECIPE, steps)),
        lambda out: finish(data, out),
    )


if __name__ == "__main__":
    main()
