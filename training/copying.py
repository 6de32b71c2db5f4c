"""Train the two copiers of "Without attention": `python -m training.copying --out FOLDER`.

Each must repeat six letters hidden among noise. Both are trained alike, each at the same few learning rates, and the
rate that does best on new rows of the trained length is kept. It needs no data: rows are drawn. `--only KIND` trains
one of them, so that two processes can share the work. Start the same command again after a kill: it goes on from the
last saved state. In the end the folder holds weights, sizes, metrics.json and a card; it prints the shares of letters
repeated right, with standard errors.
"""

import argparse
import dataclasses
import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from model.families.copying import (
    ASKS,
    KINDS,
    LENGTHS,
    LETTERS,
    METRICS,
    N_LETTERS,
    NOISE,
    PLACES,
    Copier,
    CopyingConfig,
    load_copier,
    save_copier,
)
from training.loop.data import NO_VARIATION
from training.loop.recipe import Recipe
from training.loop.resumable_run import hardware
from training.loop.small_run import train_several, train_small
from training.loop.updates import Batch

CARD = Path(__file__).parent / "cards" / "copying.md"
RATES = (2e-3, 4e-3, 8e-3, 1.6e-2, 3.2e-2)  # peak learning rates that both are tried with
BATCH_SIZE, SEED, N_ROWS = 32, 1, 2000  # N_ROWS: to measure on
RECIPE = Recipe(
    steps=2000,
    warmup_steps=50,
    decay_fraction=1.0,  # falls from the first step on
    label_smoothing=0.0,
    variation=NO_VARIATION,
)


def drawn(n_rows: int, places: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Rows with six letters at random places among noise, then six question marks.

    Returns: ids (n_rows,places+6); the letters (n_rows,6), in their order
    """
    at = torch.rand(n_rows, places, generator=generator).argsort(1)[:, :N_LETTERS].sort(1).values
    letters = torch.randint(NOISE + 1, ASKS, (n_rows, N_LETTERS), generator=generator)
    ids = torch.full((n_rows, places + N_LETTERS), NOISE).scatter(1, at, letters)
    ids[:, places:] = ASKS
    return ids, letters


def batches() -> Iterator[Batch]:
    """Without end, and the same whenever they are asked for."""
    generator = torch.Generator().manual_seed(SEED)
    while True:
        ids, labels = drawn(BATCH_SIZE, PLACES, generator)
        yield {"ids": ids, "labels": labels}


def loss(copier: nn.Module, batch: Batch) -> Tensor:
    """Mean of −ln P over the letters, each at its question mark."""
    logits = copier(batch["ids"])[:, -N_LETTERS:]
    return nn.functional.cross_entropy(logits.flatten(0, 1), batch["labels"].flatten())


@torch.inference_mode()
def share(copier: nn.Module, places: int, seed: int, n_rows: int = N_ROWS) -> tuple[float, float]:
    """Of the letters repeated right, and its standard error, from row to row."""
    ids, letters = drawn(n_rows, places, torch.Generator().manual_seed(seed))
    said = torch.cat([copier(some)[:, -N_LETTERS:].argmax(-1) for some in ids.split(100)])
    right = (said == letters).float().mean(1)
    return round(right.mean().item(), 4), round(right.std().item() / n_rows**0.5, 4)


def train(kind: str, out: Path, recipe: Recipe = RECIPE, rates: Sequence[float] = RATES) -> dict[str, Any]:
    """One of the two at each rate; the best is written, and what was tried.

    Returns: by rate, the share of letters right on new rows of the trained length; the rate that was kept; seconds of
             one training, by the processor's clock
    """
    tried, best, config = {}, -1.0, CopyingConfig()
    for rate in rates:
        torch.manual_seed(SEED)
        copier = Copier(config, kind)
        one = dataclasses.replace(recipe, peak_learning_rate=rate)
        seconds = train_small(copier, batches(), one, loss, out / f"{kind} {rate:g}.pt")
        tried[f"{rate:g}"] = found = share(copier, PLACES, seed=SEED + 1)[0]
        if found > best:
            best, kept = found, {"rate": rate, "processor_seconds": round(seconds)}
            save_copier(out, kind, config, copier)
    figures = {"tried": tried, "kept": kept}
    (out / f"{kind}.json").write_text(json.dumps(figures))
    return figures


def measured(out: Path) -> dict[str, Any]:
    """What metrics.json says: of both, how they were trained and how well they repeat letters in new rows."""
    training, test = {}, {}
    for kind in KINDS:
        loaded = load_copier(kind, out)
        training[kind] = json.loads((out / f"{kind}.json").read_text()) | {"parameters": loaded.n_parameters}
        model = loaded.model.cpu()  # as the rows are
        test[kind] = {str(places): share(model, places, seed=SEED + 2) for places in LENGTHS}
    recipe = {name: getattr(RECIPE, name) for name in ("steps", "warmup_steps", "decay_fraction", "max_grad_norm")}
    drawing = {"places": PLACES, "letters": N_LETTERS, "of": len(LETTERS), "batch_size": BATCH_SIZE, "seed": SEED}
    recipe |= drawing | {"rates": RATES, "hardware": hardware()}
    return {"recipe": recipe, "training": training, "test": {"rows": N_ROWS} | test}


def card(metrics: dict[str, Any]) -> str:
    """The model card: its words with the figures filled in."""
    rows = [
        " | ".join((kind, *(f"{100 * a:.2f} ± {100 * b:.2f}" for a, b in metrics["test"][kind].values())))
        for kind in KINDS
    ]
    tried = [
        f"{kind}: " + ", ".join(f"{rate} {100 * of:.1f}%" for rate, of in metrics["training"][kind]["tried"].items())
        for kind in KINDS
    ]
    return CARD.read_text(encoding="utf-8").format(
        head=" | ".join(f"{n} places" for n in LENGTHS),
        rule="---|" * len(LENGTHS),
        rows="\n".join(f"| {row} |" for row in rows),
        tried="; ".join(tried),
        **metrics,
    )


def finish(out: Path) -> None:
    """Write what was measured and the card; print the shares."""
    metrics = measured(out)
    (out / METRICS).write_text(json.dumps(metrics, indent=2) + "\n")
    (out / "README.md").write_text(card(metrics), encoding="utf-8")
    for kind, places in itertools.product(KINDS, LENGTHS):
        right, error = metrics["test"][kind][str(places)]
        print(f"{kind}, {places} places: {right:.2%} ± {error:.2%}")


def main() -> None:
    train_several(
        argparse.ArgumentParser(prog="python -m training.copying", description=__doc__),
        KINDS,
        RECIPE.steps,
        lambda kind, out, steps: train(kind, out, dataclasses.replace(RECIPE, steps=steps)),
        finish,
    )


if __name__ == "__main__":
    main()
