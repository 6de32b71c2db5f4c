"""Put a trained model into the app: `python -m training.publish RUN TEST.tsv`.

Copies weights, vocabulary and config from a training run's folder to assets/models/translator, scores them as shipped,
and writes metrics.json and the model card (README.md) from the measured figures.
"""

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

from model.checkpoint import CONFIG, SHIPPED, TOKENIZER, WEIGHTS
from model.decoding import Beam, Greedy
from model.trace import load_machine
from training.evaluate import evaluate, references

CARD = Path(__file__).with_name("model_card.md")


def publish(run: Path, test: Path, target: Path = SHIPPED) -> dict[str, Any]:
    """Copy, score and describe; returns what metrics.json holds."""
    target.mkdir(parents=True, exist_ok=True)
    for name in (WEIGHTS, CONFIG, TOKENIZER):
        shutil.copyfile(run / name, target / name)
    machine = load_machine(target)
    groups = references(test)
    training = json.loads((run / "training.json").read_text())
    metrics = {
        "training": {**training, "data": "Tatoeba, train.en-de.tsv", "pairs": 168530},
        "test": {
            "data": "Tatoeba, test.en-de.tsv",
            "beam 4": evaluate(machine, groups, Beam(4)),
            "greedy": evaluate(machine, groups, Greedy()),
            "beam 4, as typed": evaluate(machine, groups, Beam(4), typed=True),
        },
    }
    (target / "metrics.json").write_text(json.dumps(metrics, indent=2) + "\n")
    config, scores = machine.config, metrics["test"]
    (target / "README.md").write_text(
        CARD.read_text(encoding="utf-8").format(
            parameters=machine.n_parameters,
            layers=config.n_layers,
            d_model=config.d_model,
            heads=config.n_heads,
            megabytes=(target / WEIGHTS).stat().st_size / 1e6,
            steps=training["steps"],
            minutes=training["seconds"] / 60,
            hardware=metrics["training"]["hardware"],
            beam=scores["beam 4"],
            greedy=scores["greedy"],
            typed=scores["beam 4, as typed"],
            signature=scores["beam 4"]["bleu_signature"],
        ),
        encoding="utf-8",
    )
    return metrics


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.publish", description=__doc__)
    parser.add_argument("run", type=Path, help="the folder given to training.train as --out")
    parser.add_argument("test", type=Path, help="a file of sentence pairs kept apart for scoring")
    arguments = parser.parse_args()
    print(json.dumps(publish(arguments.run, arguments.test)["test"], indent=2))


if __name__ == "__main__":
    main()
