"""Measure what size buys: `python -m training.measure.sizes TASKS [--out FILE]`.

Of four published GPTs: the line through the logarithms of their sizes and losses, its power, its R², and what the line
of the smaller ones says of the largest. And a task told in the text: TASKS is the folder of the tasks, each GPT reads
film reviews of the test part behind 0 to 4 examples, and says "good" or "bad". Printed is JSON: the line; how many each
tells right, as it says it and against the middle of what it says of all (which takes out that one of the two words is
likelier anywhere), with the standard error.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.family.scaling import EXAMPLES, SIZES, law, numbers_of, verdict_chances
from model.files.checkpoint import CheckpointError
from model.files.loaded_model import MODELS, load_model
from training.loop.tasks import rows_of, spread

N_TEXTS = 400


def measure(tasks: Path, models: Path = MODELS) -> dict[str, Any]:
    """Raises: CheckpointError or OSError, naming the file"""
    rows = spread(rows_of(tasks / "sentiment.test.tsv"), N_TEXTS)
    is_good = np.array([label == "pos" for label, _ in rows])
    found: dict[str, Any] = {}
    for name in SIZES:
        loaded = load_model(name, models)
        found[name] = {}
        for n in range(len(EXAMPLES) + 1):
            said = np.log([verdict_chances(loaded, text, n) for _, text in rows])
            leans = said[:, 0] - said[:, 1]
            found[name][str(n)] = {
                "right": share((leans > 0) == is_good),
                "against_the_middle": share((leans > np.median(leans)) == is_good),
                "says_good": round(float((leans > 0).mean()), 4),
            }
    line, foretold = law(*SIZES), law(*SIZES[:-1]).at(numbers_of(SIZES[-1]))
    return {
        "line": {"power": round(line.slope, 4), "fit": round(line.fit, 4), "foretold": round(foretold, 4)},
        "texts": len(rows),
        "good": round(float(is_good.mean()), 4),
        "models": found,
    }


def share(right: np.ndarray) -> list[float]:
    """And its standard error."""
    mean = float(right.mean())
    return [round(mean, 4), round((mean * (1 - mean) / len(right)) ** 0.5, 4)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m training.measure.sizes", description=__doc__)
    parser.add_argument("tasks", type=Path, help="folder of the tasks")
    parser.add_argument("--out", type=Path, help="keep the figures in this file, too")
    given = parser.parse_args()
    torch.set_num_threads(1)
    try:
        text = json.dumps(measure(given.tasks), indent=2) + "\n"
    except (CheckpointError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(text, end="")
    if given.out:
        given.out.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
