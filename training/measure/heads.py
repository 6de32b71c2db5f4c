"""Measure what each attention head looks at: `python -m training.measure.heads FILE.tsv [--limit N]`.

FILE has one `English<TAB>German` a line. The English sentences go through the shipped model, which writes its own
greedy translation (the German of the file is not used): a head is seen at the work it does in the app. The shares of
`experiments.attention.head_roles` are averaged over all rows of all sentences and written to
assets/models/translator/heads.json.
"""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import track

from experiments.attention.head_roles import MEASURED, SHARES, aligned_words, fingerprint, head_places, shares, uniform
from model.files.checkpoint import SHIPPED, WEIGHTS
from model.files.loaded_model import LoadedModel, load_folder
from model.interventions import Head
from model.trace import trace
from training.evaluate import references

DIGITS = 4
SOURCE = "Sentence pairs from Tatoeba (tatoeba.org), CC BY 2.0 FR, in part by way of www.manythings.org/anki"


def measure(loaded: LoadedModel, sentences: Sequence[str]) -> dict[str, Any]:
    """Shares of every head over these sentences, and of equal weights over the same.

    Returns: sentences; rows: of each kind of attention; unaligned: how many of the rows of "cross" have no aligned
             word; uniform: by kind and name; shares: by head and name
    """
    rows: Counter[str] = Counter()
    baselines: dict[str, Counter[str]] = {kind: Counter() for kind in SHARES}
    totals: dict[str, Counter[str]] = {}
    unaligned = 0
    for sentence in track(sentences, "measuring", console=Console(stderr=True), transient=True):
        one = trace(loaded, sentence)
        aligned = aligned_words(loaded, one.src, one.labels)
        unaligned += aligned.count(-1)
        for kind in SHARES:
            counted = head_places(one, kind, aligned)
            n_rows, n_columns = one.attention(kind, 0).shape[1:]
            rows[kind] += n_rows
            for name, share in shares(uniform(kind, n_rows, n_columns), counted).items():
                baselines[kind][name] += float(share) * n_rows
            for layer in range(loaded.config.n_layers):
                for name, of_heads in shares(one.attention(kind, layer), counted).items():
                    for head, share in enumerate(of_heads):
                        totals.setdefault(str(Head(kind, layer, head)), Counter())[name] += float(share) * n_rows

    def means(total: Counter[str], kind: str) -> dict[str, float]:
        return {name: round(value / rows[kind], DIGITS) for name, value in total.items()}

    return {
        "sentences": len(sentences),
        "rows": dict(rows),
        "unaligned": unaligned,
        "uniform": {kind: means(total, kind) for kind, total in baselines.items()},
        "shares": {head: means(total, Head.parse(head).attention) for head, total in sorted(totals.items())},
    }


def write(folder: Path, file: Path, limit: int | None = None, source: str = SOURCE) -> Path:
    """Measure the model in this folder on the first `limit` English sentences of a file; returns the written file."""
    limited = f" --limit {limit}" if limit else ""
    measured = {
        "data": {"file": file.name, "sha256": fingerprint(file), "source": source},
        "command": f"python -m training.measure.heads {file.name}{limited}",
        "model": {"file": WEIGHTS, "sha256": fingerprint(folder / WEIGHTS)},
        "target": "the model's own greedy translation",
        **measure(load_folder(folder), list(references(file, limit))),
    }
    target = folder / MEASURED
    target.write_text(json.dumps(measured, indent=2) + "\n", encoding="utf-8")
    return target


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.measure.heads", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--limit", type=int, help="use only the first N English sentences")
    parser.add_argument("--model", type=Path, default=SHIPPED, help="folder of another model than the shipped one")
    parser.add_argument("--source", default=SOURCE, help="where the sentences come from (default: Tatoeba)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # sentence by sentence, more would only wait for one another
    target = write(arguments.model, arguments.file, arguments.limit, arguments.source)
    print(f"{target}: {json.loads(target.read_text())['sentences']:,} sentences")


if __name__ == "__main__":
    main()
