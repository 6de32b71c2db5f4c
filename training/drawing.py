"""Train a decoder that draws digits and answers about them: `python -m training.drawing DIGITS.npz --out FOLDER`.

DIGITS.npz is that of `training.pictures`. Pictures are written with a code book of 64 patches, which is made first; a
row is a word, "zero" to "nine", and 49 patches; or patches, a question about the digit, and its answer. Of every second
picture that is asked about only the beginning is shown. Start the same command again after a kill: it goes on from the
last saved state. In the end the folder holds weights, the code book, the sizes, metrics.json and a card; it prints how
many drawings a Vision Transformer reads as the word that they were drawn from, and how many questions are answered
right, with standard errors.
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
from model.families.drawing import (
    CONFIG,
    FIRST_ANSWER,
    FIRST_QUESTION,
    LOOK,
    N_CODES,
    N_PATCHES,
    PATCH,
    QUESTIONS,
    SIZE,
    WORDS,
    YES,
    draw,
    picture_of,
    says_yes,
    written,
)
from model.families.pictures import cut_into_patches
from model.files import checkpoint
from model.files.load_drawing import CODES, METRICS, NAME
from model.files.load_pictures import load_vision
from training.loop.data import NO_VARIATION
from training.loop.recipe import Recipe, in_steps
from training.loop.resumable_run import hardware
from training.loop.small_run import train_several, train_small
from training.loop.updates import Batch
from training.pictures import moved, read_digits, right, share

CARD = Path(__file__).parent / "cards" / "drawing.md"
BATCH_SIZE, ASKED, SEED = 64, 32, 1  # pictures of a batch that are drawn, and that are asked about
MOVED = 2  # pixels, at most, to any side
ROUNDS, LEARNED_FROM = 25, 100_000  # of the code book: how often it is made better, and patches that it is made from
N_DRAWN = 100  # of each word, to be read back
SEEN = range(0, 1 + N_PATCHES, SIZE // PATCH)  # patches after which is asked: none, a row, two rows, ...
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


def truth(questions: Tensor, digits: Tensor) -> Tensor:
    """The answers, 0 for no and 1 for yes, to questions, counted from 0, about digits. All three of one shape."""
    table = torch.tensor([[digit in yes for digit in range(10)] for yes in YES])
    return table[questions, digits].long()


def about(patches: Tensor, n_seen: Tensor, questions: Tensor) -> tuple[Tensor, Tensor]:
    """Rows that ask: LOOK, the first patches of a picture, a question. What follows it up to the width is never read.

    Args:    patches (B,49), ids; n_seen (B), of them; questions (B), from 0
    Returns: ids (B,51); where the question stands (B)
    """
    at = 1 + n_seen
    ids = torch.cat([torch.full((len(patches), 1), LOOK), patches, torch.full((len(patches), 1), LOOK)], 1)
    return ids.scatter(1, at[:, None], FIRST_QUESTION + questions[:, None]), at


def batches(pictures: Tensor, labels: Tensor, codes: Tensor) -> Iterator[Batch]:
    """Rows of ids (64,50), each a word and its picture, and rows that ask (32,51), with their answers; all pictures
    moved by up to two pixels, drawn with replacement, without end, and the same whenever they are asked for.
    """
    generator = torch.Generator().manual_seed(SEED + 1)

    def drawn(below: int, n: int = ASKED) -> Tensor:
        return torch.randint(below, (n,), generator=generator)

    while True:
        at = drawn(len(pictures), BATCH_SIZE + ASKED)
        steps = torch.randint(-MOVED, MOVED + 1, (len(at), 2), generator=generator)
        patches = written(moved(pictures[at], steps), codes)
        ids = torch.cat([labels[at, None], patches], 1)[:BATCH_SIZE]
        n_seen = torch.where(drawn(2) == 0, N_PATCHES, drawn(N_PATCHES))
        questions = drawn(len(QUESTIONS))
        rows, places = about(patches[BATCH_SIZE:], n_seen, questions)
        answers = truth(questions, labels[at[BATCH_SIZE:]])
        yield {"ids": ids, "labels": ids[:, 1:], "rows": rows, "places": places, "answers": answers}


def loss_of_patches(network: nn.Module, batch: Batch) -> Tensor:
    """Mean of −ln P over the patches that are drawn."""
    return nn.functional.cross_entropy(network(batch["ids"][:, :-1]).flatten(0, 1), batch["labels"].flatten())


def loss(network: nn.Module, batch: Batch) -> Tensor:
    """That, and the mean of −ln P over the answers."""
    answered = network(batch["rows"])[torch.arange(len(batch["rows"])), batch["places"]]
    return loss_of_patches(network, batch) + nn.functional.cross_entropy(answered, FIRST_ANSWER + batch["answers"])


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


def of_pictures(hits: Tensor) -> list[float]:
    """The share of answers that are right, hits (N,3), and its standard error over pictures: three are of one."""
    each = hits.double().mean(1)
    return [round(each.mean().item(), 4), round(each.std().item() / len(each) ** 0.5, 4)]


@torch.inference_mode()
def measured(network: nn.Module, reader: nn.Module, codes: Tensor, pictures: Tensor, labels: Tensor) -> dict[str, Any]:
    """How many drawings the reader reads as their word; how many pictures of the test part it reads right once they
    are written with the code book, and as they are; the loss of a patch there, in nats; how many questions about them
    are answered right: each, all, and all after so many patches.
    """
    words = torch.arange(len(WORDS)).repeat_interleave(N_DRAWN)
    drawn, _ = draw(network, words, torch.Generator().manual_seed(SEED + 2))
    ids = written(pictures, codes)
    rows = {"ids": torch.cat([labels[:, None], ids], 1), "labels": ids}
    truths = torch.stack([truth(torch.full_like(labels, n), labels) for n in range(len(QUESTIONS))], 1)
    hits = {n: (says_yes(network, ids[:, :n]) > 0.5) == truths for n in SEEN}
    return {
        "read_back": share(right(reader, picture_of(drawn, codes), words)),
        "written": share(right(reader, picture_of(ids, codes), labels)),
        "as_they_are": share(right(reader, pictures, labels)),
        "drawings": len(words),
        "pictures": len(labels),
        "loss": round(loss_of_patches(network, rows).item(), 4),
        "answers": {name: share(hit) for name, hit in zip(QUESTIONS, hits[N_PATCHES].T, strict=True)},
        "answered": of_pictures(hits[N_PATCHES]),
        "answered_after": {str(n): of_pictures(hit) for n, hit in hits.items()},
    }


def card(metrics: dict[str, Any]) -> str:
    """The model card: its words with the figures filled in."""
    test = metrics["test"]
    shares = {name: test[name] for name in ("read_back", "written", "as_they_are", "answered")}
    percent = {name: f"{100 * mean:.1f} ± {100 * error:.1f}" for name, (mean, error) in shares.items()}
    text = CARD.read_text(encoding="utf-8")
    counts = {"codes": N_CODES, "questions": len(QUESTIONS), "asked": ASKED}
    return text.format(percent=percent, of=test, **counts, **metrics["training"], **metrics["recipe"])


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
    for name in ("read_back", "answered"):
        mean, error = metrics["test"][name]
        print(f"{name.replace('_', ' ')}: {100 * mean:.1f}% ± {100 * error:.1f}")


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
