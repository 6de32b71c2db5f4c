"""Train two readers of digits, each on 500 and on 8,000: `python -m training.pictures DIGITS.npz --out FOLDER`.

DIGITS.npz holds x_train, x_val, x_test (N,28,28), 0 for paper to 255 for ink, and y_train, y_val, y_test (N). The
readers, a Vision Transformer and a convolutional network, are about equally large, and take the same steps on the same
batches, each picture moved by up to two pixels. `--only NAME` trains one. Start the same command again after a kill: it
goes on from the last saved state. In the end the folder holds weights, the sizes, metrics.json and a card; it prints
how many digits of the test part each reads right, with standard errors.
"""

import argparse
import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from model.build import build_vision
from model.families.pictures import ConvolutionalNetwork, PictureConfig
from model.files import checkpoint
from training.loop.data import NO_VARIATION
from training.loop.recipe import Recipe
from training.loop.resumable_run import hardware
from training.loop.small_run import train_several, train_small
from training.loop.updates import Batch

CARD = Path(__file__).parent / "cards" / "pictures.md"
METRICS = "metrics.json"
VIT, CNN = "vit", "cnn"
NAMES = tuple(f"{kind}-{n}" for n in (8000, 500) for kind in (VIT, CNN))
BATCH_SIZE, SEED = 64, 1
MOVED = 2  # pixels, at most, to any side
RECIPE = Recipe(
    steps=10_000,
    peak_learning_rate=2e-3,
    warmup_steps=500,
    decay_fraction=0.5,
    label_smoothing=0.0,
    variation=NO_VARIATION,
)
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
    return build_vision(PictureConfig()) if name.startswith(VIT) else ConvolutionalNetwork()


def train(name: str, data: Path, out: Path, recipe: Recipe = RECIPE) -> dict[str, Any]:
    """Train and write one of the four. Returns: seconds of its training, by the processor's clock; parameters"""
    pictures, labels = read_digits(data, "train")
    n = int(name.partition("-")[2])
    network = new_network(name)
    seconds = train_small(network, batches(pictures[:n], labels[:n]), recipe, loss, out / f"{name}.pt")
    checkpoint.save_weights(out / f"{name}.safetensors", network.state_dict())
    figures = {"processor_seconds": round(seconds), "parameters": sum(p.numel() for p in network.parameters())}
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


def load(name: str, out: Path) -> nn.Module:
    """A trained network. Raises: CheckpointError, naming the file and the repair"""
    network = new_network(name)
    network.load_state_dict(checkpoint.load_weights(out / f"{name}.safetensors"))
    return network.eval().requires_grad_(False)


def measured(data: Path, out: Path) -> dict[str, Any]:
    """What metrics.json says of all four: their training, and what they read of the part kept for testing."""
    digits = read_digits(data, "test")
    networks = {name: load(name, out) for name in NAMES}
    hits = {name: right(network, *digits) for name, network in networks.items()}
    table = networks[NAMES[0]].get_parameter("embedding.positions.table.weight")[1:]  # without that of [class]
    config = PictureConfig()
    recipe = {name: getattr(RECIPE, name) for name in ("steps", "warmup_steps", "decay_fraction", "peak_learning_rate")}
    return {
        "recipe": recipe | {"batch_size": BATCH_SIZE, "seed": SEED, "moved": MOVED, "hardware": hardware()},
        "training": {name: json.loads((out / f"{name}.json").read_text()) for name in NAMES},
        "test": {name: share(hit) for name, hit in hits.items()},
        "pictures": len(digits[1]),
        "cnn_ahead": {str(n): ahead(hits[f"{CNN}-{n}"], hits[f"{VIT}-{n}"]) for n in (8000, 500)},
        "cosines_of_places": nearness(table, config.size // config.patch),
    }


def card(metrics: dict[str, Any]) -> str:
    """The model card: its words with the figures filled in."""
    told = {name: f"{100 * mean:.1f} ± {100 * error:.1f}" for name, (mean, error) in metrics["test"].items()}
    seconds = [of["processor_seconds"] for of in metrics["training"].values()]
    return CARD.read_text(encoding="utf-8").format(
        vit=metrics["training"][NAMES[0]]["parameters"],
        cnn=metrics["training"][NAMES[1]]["parameters"],
        seconds=f"{min(seconds)} to {max(seconds)}",
        pictures=metrics["pictures"],
        rows="\n".join(f"| {n:,} | {told[f'{VIT}-{n}']} | {told[f'{CNN}-{n}']} |" for n in (8000, 500)),
        cosines=metrics["cosines_of_places"],
        **metrics["recipe"],
    )


def finish(data: Path, out: Path) -> None:
    """Write the sizes, what was measured and the card; print the shares."""
    config = json.dumps(dataclasses.asdict(PictureConfig()), indent=2)
    (out / checkpoint.CONFIG).write_text(config + "\n")
    metrics = measured(data, out)
    (out / METRICS).write_text(json.dumps(metrics, indent=2) + "\n")
    (out / "README.md").write_text(card(metrics), encoding="utf-8")
    for name, (mean, error) in metrics["test"].items():
        print(f"{name}: {100 * mean:.1f}% ± {100 * error:.1f}")
    print(json.dumps({name: metrics[name] for name in ("cnn_ahead", "cosines_of_places")}))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.pictures", description=__doc__)
    parser.add_argument("data", type=Path, help="a file of digits, see above")
    data = parser.parse_known_args()[0].data
    train_several(
        parser,
        NAMES,
        RECIPE.steps,
        lambda name, out, steps: train(name, data, out, dataclasses.replace(RECIPE, steps=steps)),
        lambda out: finish(data, out),
    )


if __name__ == "__main__":
    main()
