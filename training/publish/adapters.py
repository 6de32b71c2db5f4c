"""Teach the translator each style by LoRA and put that into the app: `python -m training.publish.adapters`.

A style that is in assets/models/adapters already is left as it is: after a kill the same command goes on. Printed and
kept is what each adapter, rounded as the app runs it, makes of sentences that it never saw.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import torch

from model.adapting.adapters import ADAPTERS, file_of, with_adapter
from model.files.checkpoint import CheckpointError, save_weights
from model.files.device import CPU
from model.files.loaded_model import TRANSLATOR, load_model
from training.live.adapting import Adapting
from training.live.styles import OTHERS, STYLES
from training.live.teaching import translations
from training.loop.updates import DivergedError
from training.publish.translator import CARD, CARDS, METRICS

RANK = 4


def publish(name: str, folder: Path, steps: int | None = None) -> dict[str, Any]:
    """Learn a style and keep A and B; returns the figures. Raises: OSError, CheckpointError, DivergedError"""
    task, style = Adapting(TRANSLATOR, name, rank=RANK), STYLES[name]()
    task = Adapting(TRANSLATOR, name, rank=RANK, n_steps=steps or task.n_steps)
    *_, last = task.reports(lambda step: False)
    save_weights(file_of(name, folder), {one: torch.tensor(value) for one, value in last.learned.items()})
    loaded = load_model(TRANSLATOR, device=CPU)
    written = translations(with_adapter(loaded, file_of(name, folder)), [english for english, _ in style.held_out])
    others, before = (translations(one, OTHERS) for one in (with_adapter(loaded, file_of(name, folder)), loaded))
    return {
        "rank": RANK,
        "numbers": sum(value.size for value in last.learned.values()),
        "pairs": len(set(style.pairs)),
        "steps": last.step,
        "n": len(written),
        "in_the_style": sum(map(style.follows, written)),
        "word_for_word": sum(now == wanted for now, (_, wanted) in zip(written, style.held_out, strict=True)),
        "n_others": len(OTHERS),
        "others_kept": sum(style.without(now) == old for now, old in zip(others, before, strict=True)),
    }


def card(figures: dict[str, Any]) -> str:
    """The model card: its words with the figures filled in."""
    row = "| {file} | {name} | {pairs} pairs | {in_the_style} of {n} | {word_for_word} | {others_kept} of {n_others} |"
    rows = "\n".join(row.format(file=file_of(name).name, name=name, **one) for name, one in figures.items())
    first = next(iter(figures.values()))
    return (CARDS / "adapters.md").read_text(encoding="utf-8").format(rows=rows, **first)


def main(folder: Path = ADAPTERS) -> int:
    parser = argparse.ArgumentParser(prog="python -m training.publish.adapters", description=__doc__)
    parser.add_argument("--steps", type=int, help="of each training, if not as many as in the app")
    given = parser.parse_args()
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    metrics = folder / METRICS
    try:
        figures = json.loads(metrics.read_text()) if metrics.exists() else {}
        for name in (one for one in STYLES if one not in figures):
            figures[name] = publish(name, folder, given.steps)
            metrics.write_text(json.dumps(figures, indent=2) + "\n")
            print(f"{name}: {json.dumps(figures[name])}", flush=True)
        (folder / CARD).write_text(card(figures), encoding="utf-8")
    except (OSError, ValueError, CheckpointError, DivergedError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
