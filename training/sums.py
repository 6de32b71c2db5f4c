"""Train the four adders of "Rule or by heart?": `python -m training.sums --out FOLDER`.

They are alike but for how many sums they learn from: the first 200, 400, 500 or 20,000 of one random order of all
1,000,000 sums of two numbers of up to three digits. It needs no data. `--only SIZE` trains one of them. Start the same
command again after a kill: it goes on from the last saved state. In the end the folder holds weights, sizes, the sums
that were learned, metrics.json and a card; it prints the shares of sums that are answered right, with standard errors.
"""

import argparse
import dataclasses
import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from model.build import build_network
from model.families.sums import (
    BELOW,
    CONFIG,
    LEARNED,
    METRICS,
    N_ASKED,
    N_WRITTEN,
    SIZES,
    asked,
    backwards,
    load_adder,
    numbers,
    write,
)
from model.files import checkpoint
from training.loop.data import NO_VARIATION
from training.loop.recipe import Recipe
from training.loop.resumable_run import hardware
from training.loop.small_run import train_several, train_small
from training.loop.updates import Batch

CARD = Path(__file__).parent / "cards" / "sums.md"
BATCH_SIZE, SEED = 128, 1
N_MEASURED = 2000  # sums of each kind to measure on, at most
N_CELLS, CELL, N_IN_CELL = 20, 100, 10  # the map: cells to each side, numbers to each side of a cell, sums asked in it
RECIPE = Recipe(
    steps=1500,
    peak_learning_rate=3e-3,
    warmup_steps=100,
    decay_fraction=0.5,
    label_smoothing=0.0,
    variation=NO_VARIATION,
)
Sums = tuple[Tensor, Tensor]  # first numbers (N), second numbers (N)


@functools.cache
def in_random_order() -> Sums:
    """All sums of two numbers from 0 to 999, each once, in the order in which they are learned from."""
    order = torch.randperm(BELOW**2, generator=torch.Generator().manual_seed(SEED))
    return order // BELOW, order % BELOW


def rows(a: Tensor, b: Tensor) -> Tensor:
    """Sums with their answers, the last digit first, as ids (N,15): 0347+0285=23600"""
    return torch.cat([asked(a, b), backwards(a + b, N_WRITTEN)], 1)


def batches(size: int) -> Iterator[Batch]:
    """Of the first so many sums, drawn with replacement; without end, and the same whenever they are asked for."""
    a, b = in_random_order()
    generator = torch.Generator().manual_seed(SEED + 1)
    while True:
        at = torch.randint(size, (BATCH_SIZE,), generator=generator)
        ids = rows(a[at], b[at])
        yield {"ids": ids, "labels": ids[:, N_ASKED:]}


def loss(network: nn.Module, batch: Batch) -> Tensor:
    """Mean of −ln P over the digits of the answer."""
    logits = network(batch["ids"][:, :-1])[:, N_ASKED - 1 :]
    return nn.functional.cross_entropy(logits.flatten(0, 1), batch["labels"].flatten())


def unseen(a: Tensor, b: Tensor) -> Tensor:
    """Which of these sums none of the four learned from, nor the same with its numbers exchanged (N)."""
    first, second = (n[: max(SIZES)] for n in in_random_order())
    known = torch.zeros(BELOW, BELOW, dtype=torch.bool)
    known[first, second] = known[second, first] = True
    inside = (a < BELOW) & (b < BELOW)
    return ~(inside & known[a.clamp(max=BELOW - 1), b.clamp(max=BELOW - 1)])


def to_measure() -> dict[str, Sums]:
    """Sums that none learned from: of numbers of up to three digits, the last ones in the random order; and of two
    numbers of four digits each.
    """
    a, b = (n[-2 * N_MEASURED :] for n in in_random_order())
    new = unseen(a, b)
    generator = torch.Generator().manual_seed(SEED + 2)
    longer = torch.randint(BELOW, 10 * BELOW, (2, N_MEASURED), generator=generator)
    return {"unseen": (a[new][:N_MEASURED], b[new][:N_MEASURED]), "longer": (longer[0], longer[1])}


def measure(network: nn.Module, a: Tensor, b: Tensor) -> dict[str, Any]:
    """How many sums are answered right, all digits, in parts of 1, with the standard error; how sure the model was of
    the wrong answers: the mean of their probabilities, None if all were right.
    """
    is_right, sure = judged(network, a, b)
    share = is_right.float().mean().item()
    error = (share * (1 - share) / len(a)) ** 0.5
    wrong = sure[~is_right]
    return {
        "right": [round(share, 4), round(error, 4)],
        "sure_when_wrong": round(wrong.mean().item(), 3) if len(wrong) else None,
        "sums": len(a),
    }


def judged(network: nn.Module, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Of sums (N): whether each is answered right; the probability of each answer as a whole."""
    found = [write(network, *some) for some in zip(a.split(1000), b.split(1000), strict=True)]
    written, chances = (torch.cat(parts) for parts in zip(*found, strict=True))
    return numbers(written) == a + b, chances.prod(1)


def drawn_map() -> Sums:
    """Unseen sums of each cell of the map, a cell of the first and then of the second number after the other
    (20·20·N_IN_CELL).
    """
    generator = torch.Generator().manual_seed(SEED + 3)
    corners = torch.cartesian_prod(*2 * [torch.arange(N_CELLS) * CELL]).T[:, :, None]  # (2,400,1)
    drawn = corners + torch.randint(CELL, (2, N_CELLS**2, 4 * N_IN_CELL), generator=generator)
    new = unseen(*drawn)
    first = new.int().argsort(dim=1, descending=True, stable=True)[
        :, :N_IN_CELL
    ]  # of each cell, the first that are new
    a, b = (n.gather(1, first).flatten() for n in drawn)
    return a, b


def train(size: int, out: Path, recipe: Recipe = RECIPE) -> dict[str, Any]:
    """Train and write one of the four. Returns: seconds of its training, by the processor's clock; parameters"""
    torch.manual_seed(SEED)  # all four begin with the same weights
    network = build_network(CONFIG)
    seconds = train_small(network, batches(size), recipe, loss, out / f"{size}.pt")
    (out / checkpoint.CONFIG).write_text(json.dumps(dataclasses.asdict(CONFIG), indent=2) + "\n")
    checkpoint.save_weights(out / f"{size}.safetensors", network.state_dict())
    figures = {"processor_seconds": round(seconds), "parameters": sum(p.numel() for p in network.parameters())}
    (out / f"{size}.json").write_text(json.dumps(figures))
    return figures


def measured(out: Path) -> dict[str, Any]:
    """What metrics.json says: of all four, how they were trained and how many sums of which kind they answer right."""
    training, test, maps = {}, {}, {}
    first, second = in_random_order()
    for size in SIZES:
        network = load_adder(size, out).model
        training[str(size)] = json.loads((out / f"{size}.json").read_text())
        kinds = {"learned": (first[: min(size, N_MEASURED)], second[: min(size, N_MEASURED)])} | to_measure()
        test[str(size)] = {kind: measure(network, *sums) for kind, sums in kinds.items()}
        is_right = judged(network, *drawn_map())[0].reshape(N_CELLS, N_CELLS, -1)
        maps[str(size)] = [[round(share, 2) for share in row] for row in is_right.float().mean(2).tolist()]
    recipe = {name: getattr(RECIPE, name) for name in ("steps", "warmup_steps", "decay_fraction", "peak_learning_rate")}
    recipe |= {"batch_size": BATCH_SIZE, "seed": SEED, "of": BELOW**2, "hardware": hardware()}
    of_map = {"cell": CELL, "sums_in_cell": N_IN_CELL, "right": maps}
    return {"recipe": recipe, "training": training, "test": test, "map": of_map}


def card(metrics: dict[str, Any]) -> str:
    """The model card: its words with the figures filled in."""
    lines = []
    for size in SIZES:
        kinds = metrics["test"][str(size)].values()
        shares = (f"{100 * kind['right'][0]:.2f} ± {100 * kind['right'][1]:.2f}" for kind in kinds)
        lines.append(f"| {size:,} | {' | '.join(shares)} | {metrics['test'][str(size)]['longer']['sure_when_wrong']} |")
    seconds = [of["processor_seconds"] for of in metrics["training"].values()]
    return CARD.read_text(encoding="utf-8").format(
        rows="\n".join(lines),
        parameters=metrics["training"][str(SIZES[0])]["parameters"],
        seconds=f"{min(seconds)} to {max(seconds)}",
        n_measured=N_MEASURED,
        bound=300 / N_MEASURED,  # where none of n was seen, 95% of the intervals from 0 to 3/n hold the share
        **metrics["recipe"],
    )


def finish(out: Path) -> None:
    """Write what was learned from, what was measured and the card; print the shares."""
    sums = torch.stack(in_random_order(), 1)[: max(SIZES)].to(torch.int16)
    save_file({"sums": sums}, out / LEARNED)
    metrics = measured(out)
    (out / METRICS).write_text(json.dumps(metrics) + "\n")
    (out / "README.md").write_text(card(metrics), encoding="utf-8")
    for size in SIZES:
        kinds = metrics["test"][str(size)].items()
        shares = (f"{kind} {100 * of['right'][0]:.2f}% ± {100 * of['right'][1]:.2f}" for kind, of in kinds)
        print(f"{size:,} sums: {', '.join(shares)}")


def main() -> None:
    train_several(
        argparse.ArgumentParser(prog="python -m training.sums", description=__doc__),
        SIZES,
        RECIPE.steps,
        lambda size, out, steps: train(size, out, dataclasses.replace(RECIPE, steps=steps)),
        finish,
    )


if __name__ == "__main__":
    main()
