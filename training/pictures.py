"""Train readers of digits, on 8,000 and on 500: `python -m training.pictures DIGITS.npz --out FOLDER`.

DIGITS.npz holds x_train, x_val, x_test (N,28,28), 0 for paper to 255 for ink, and y_train, y_val, y_test (N). A Vision
Transformer and a convolutional network learn from either, a Swin Transformer from the 8,000. All are about equally
large. The two that learn from as many digits take the same steps on the same batches, each picture moved by up to four
pixels: those of 8,000 take three times as many as the others. `--only NAME` trains one.
Start the same command again after a kill: it goes on from the last saved state. In the end the folder holds weights,
the sizes, metrics.json, some digits of the test part and a card; it prints how many digits of the test part each reads
right, with standard errors.
"""

import argparse
import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from experiments.pictures.looking import hidden, hidden_in_turn
from model.families.pictures import PictureConfig, cut_into_patches
from model.files import checkpoint
from model.files.device import pick_device
from model.files.load_pictures import (
    CNN,
    CONFIGS,
    IN_WINDOWS,
    METRICS,
    NAMES,
    SAMPLES,
    SIZES,
    VIT,
    LoadedVision,
    config_file,
    kind_of,
    load_reader,
    load_swin,
    load_vision,
    new_reader,
)
from training.loop.data import NO_VARIATION
from training.loop.recipe import Recipe, in_steps
from training.loop.resumable_run import hardware
from training.loop.small_run import train_several, train_small
from training.loop.updates import Batch

CARD = Path(__file__).parent / "cards" / "pictures.md"
BATCH_SIZE, SEED = 64, 1
MOVED = 4  # pixels, at most, to any side
HIDDEN = (1, 2, 3, 4)  # patches, to see how many digits are still read right
READERS = (*NAMES, IN_WINDOWS)
STEPS = {name: 30_000 if name in NAMES[:2] else 10_000 for name in READERS}
RECIPE = Recipe(
    steps=0,  # for each its own
    peak_learning_rate=2e-3,
    warmup_steps=500,
    decay_fraction=0.5,
    label_smoothing=0.0,
    variation=NO_VARIATION,
)
MEASURED = ("cnn_ahead", "swin_ahead", "windows_kept_still", "cosines_of_places")  # printed behind the shares
Digits = tuple[Tensor, Tensor]  # pictures (N,28,28) from 0 to 1, labels (N)


def read_digits(file: Path, part: str) -> Digits:
    """One part of the file: "train", "val" or "test". Raises: OSError or KeyError, naming the file or the part"""
    with np.load(file) as held:
        pictures, labels = held[f"x_{part}"], held[f"y_{part}"]
    return torch.from_numpy(pictures).float() / 255, torch.from_numpy(labels).long()


def moved(pictures: Tensor, steps: Tensor) -> Tensor:
    """Pictures (N,h,w), each moved by its own steps (N,2) down and to the right, each at most MOVED; paper comes in."""
    height, width = pictures.shape[1:]
    padded = nn.functional.pad(pictures, [MOVED] * 4)
    down, right = (MOVED - steps).T[..., None]  # (N,1) each: where to begin to cut
    rows = (down + torch.arange(height))[:, :, None]
    columns = (right + torch.arange(width))[:, None, :]
    return padded[torch.arange(len(pictures))[:, None, None], rows, columns]


def batches(pictures: Tensor, labels: Tensor) -> Iterator[Batch]:
    """Drawn with replacement and moved; without end, and the same whenever they are asked for."""
    generator = torch.Generator().manual_seed(SEED + 1)
    while True:
        at = torch.randint(len(pictures), (BATCH_SIZE,), generator=generator)
        steps = torch.randint(-MOVED, MOVED + 1, (BATCH_SIZE, 2), generator=generator)
        yield {"pictures": moved(pictures[at], steps), "labels": labels[at]}


def loss(network: nn.Module, batch: Batch) -> Tensor:
    return nn.functional.cross_entropy(network(batch["pictures"]), batch["labels"])


def new_network(name: str) -> nn.Module:
    """With random weights, the same for every number of digits."""
    torch.manual_seed(SEED)
    return new_reader(name, CONFIGS[kind_of(name)])


def train(name: str, data: Path, out: Path, recipe: Recipe) -> dict[str, Any]:
    """Train and write one of them. Returns: seconds of its training, by the processor's clock; parameters; steps"""
    pictures, labels = read_digits(data, "train")
    n = int(name.partition("-")[2])
    network = new_network(name)
    seconds = train_small(network, batches(pictures[:n], labels[:n]), recipe, loss, out / f"{name}.pt")
    checkpoint.save_weights(out / f"{name}.safetensors", network.state_dict())
    figures = {
        "processor_seconds": round(seconds),
        "parameters": sum(p.numel() for p in network.parameters()),
        "steps": recipe.steps,
    }
    (out / f"{name}.json").write_text(json.dumps(figures))
    return figures


@torch.inference_mode()
def right(network: nn.Module, pictures: Tensor, labels: Tensor) -> Tensor:
    """Whether each picture (N) is read right."""
    parts = zip(pictures.split(500), labels.split(500), strict=True)
    return torch.cat([network(some).argmax(-1) == told for some, told in parts])


def share(hits: Tensor) -> list[float]:
    """And its standard error."""
    mean = hits.double().mean().item()
    return [round(mean, 4), round((mean * (1 - mean) / len(hits)) ** 0.5, 4)]


def ahead(first: Tensor, second: Tensor) -> list[float]:
    """By how much the first reads more of the same pictures right, and the standard error of this difference."""
    apart = first.double() - second.double()
    return [round(apart.mean().item(), 4), round(apart.std().item() / len(apart) ** 0.5, 4)]


def nearness(table: Tensor, side: int) -> dict[str, float]:
    """Mean cosine of the vectors of places, table (side²,d_model), for neighbours and for places at least half the
    side apart.
    """
    unit = nn.functional.normalize(table, dim=-1)
    at = torch.cartesian_prod(torch.arange(side), torch.arange(side))
    distance = (at[:, None] - at).abs()
    steps, furthest = distance.sum(-1), distance.max(-1).values
    cosines = unit @ unit.T
    return {
        "neighbours": round(cosines[steps == 1].mean().item(), 3),
        "far": round(cosines[furthest >= side / 2].mean().item(), 3),
    }


def hiding(vision: LoadedVision, pictures: Tensor, labels: Tensor) -> dict[str, dict[str, list[float]]]:
    """How many digits a Vision Transformer still reads right without some patches: those that [class] looks at most, or
    as many at random out of those that hold ink. By the number of patches, with standard errors.
    """
    rng = np.random.default_rng(SEED)
    hits: dict[str, list[list[bool]]] = {"looked_at": [], "random": []}
    for picture, label in zip(pictures.numpy(), labels.tolist(), strict=True):
        ink = cut_into_patches(torch.from_numpy(picture)[None], *[vision.config.patch] * 2)[0].amax(-1) > 0
        orders = {
            "looked_at": hidden_in_turn(vision, picture, max(HIDDEN))[0],
            "random": (1 + rng.permutation(ink.nonzero().flatten().numpy())).tolist(),
        }
        for way, order in orders.items():
            reads = [hidden(vision, picture, frozenset(order[:n])).translation for n in HIDDEN]
            hits[way].append([read == str(label) for read in reads])
    shares = {way: torch.tensor(hit).T for way, hit in hits.items()}
    return {str(n): {way: share(hit[at]) for way, hit in shares.items()} for at, n in enumerate(HIDDEN)}


def examples(digits: Digits, wrong: Tensor) -> dict[str, Tensor]:
    """The first digit of each kind, then all that are read wrong (N), as they are kept: 0 for paper to 255 for ink."""
    pictures, labels = digits
    firsts = [int((labels == digit).nonzero()[0]) for digit in range(10)]
    at = torch.tensor([*firsts, *wrong.nonzero().flatten().tolist()])
    return {"pictures": (255 * pictures[at]).round().byte(), "labels": labels[at]}


def measured(data: Path, out: Path) -> dict[str, Any]:
    """What metrics.json says of all: their training, and what they read of the part kept for testing. Digits of it that
    the lessons show are written beside.
    """
    digits = read_digits(data, "test")
    on_device = [one.to(pick_device().torch) for one in digits]
    networks = {name: load_reader(name, out) for name in READERS}
    hits = {name: right(network, *on_device).cpu() for name, network in networks.items()}
    save_file(examples(digits, ~hits[NAMES[0]]), out / SAMPLES)
    table = networks[NAMES[0]].get_parameter("embedding.positions.table.weight")[1:].cpu()  # without that of [class]
    config = PictureConfig()
    recipe = {name: getattr(RECIPE, name) for name in ("warmup_steps", "decay_fraction", "peak_learning_rate")}
    return {
        "recipe": recipe | {"batch_size": BATCH_SIZE, "seed": SEED, "moved": MOVED, "hardware": hardware()},
        "training": {name: json.loads((out / f"{name}.json").read_text()) for name in READERS},
        "test": {name: share(hit) for name, hit in hits.items()},
        "pictures": len(digits[1]),
        "cnn_ahead": {str(n): ahead(hits[f"{CNN}-{n}"], hits[f"{VIT}-{n}"]) for n in SIZES},
        "swin_ahead": ahead(hits[IN_WINDOWS], hits[f"{VIT}-{SIZES[0]}"]),
        "windows_kept_still": share(right(load_swin(shifts=False, folder=out).model, *on_device).cpu()),
        "hiding": hiding(load_vision(SIZES[0], out), *digits),
        "cosines_of_places": nearness(table, config.size // config.patch),
    }


def card(metrics: dict[str, Any]) -> str:
    """The model card: its words with the figures filled in."""
    shares = metrics["test"] | {"still": metrics["windows_kept_still"]}
    told = {name: f"{100 * mean:.1f} ± {100 * error:.1f}" for name, (mean, error) in shares.items()}
    seconds = [of["processor_seconds"] for of in metrics["training"].values()]
    return CARD.read_text(encoding="utf-8").format(
        vit=metrics["training"][NAMES[0]]["parameters"],
        cnn=metrics["training"][NAMES[1]]["parameters"],
        swin=metrics["training"][IN_WINDOWS]["parameters"],
        in_windows=told[IN_WINDOWS],
        still=told["still"],
        seconds=f"{min(seconds)} to {max(seconds)}",
        pictures=metrics["pictures"],
        rows="\n".join(
            f"| {n:,} | {metrics['training'][f'{VIT}-{n}']['steps']:,} | {told[f'{VIT}-{n}']} | {told[f'{CNN}-{n}']} |"
            for n in SIZES
        ),
        swin_steps=metrics["training"][IN_WINDOWS]["steps"],
        cosines=metrics["cosines_of_places"],
        **metrics["recipe"],
    )


def finish(data: Path, out: Path) -> None:
    """Write the sizes, what was measured and the card; print the shares."""
    for kind, config in CONFIGS.items():
        (out / config_file(kind)).write_text(json.dumps(dataclasses.asdict(config), indent=2) + "\n")
    metrics = measured(data, out)
    (out / METRICS).write_text(json.dumps(metrics, indent=2) + "\n")
    (out / "README.md").write_text(card(metrics), encoding="utf-8")
    for name, (mean, error) in metrics["test"].items():
        print(f"{name}: {100 * mean:.1f}% ± {100 * error:.1f}")
    print(json.dumps({name: metrics[name] for name in MEASURED}))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.pictures", description=__doc__)
    parser.add_argument("data", type=Path, help="a file of digits, see above")
    data = parser.parse_known_args()[0].data
    train_several(
        parser,
        READERS,
        0,  # as many as STEPS says
        lambda name, out, steps: train(name, data, out, in_steps(RECIPE, steps or STEPS[name])),
        lambda out: finish(data, out),
    )


if __name__ == "__main__":
    main()
