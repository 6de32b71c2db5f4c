"""Whom the pieces of test sentences ask in the siblings with experts, and whether an expert has a subject:
`python -m training.measure.experts TEST.tsv TAGGED.tsv [--only NAME…]`.

TEST.tsv has pairs of sentences, of which the first 2,000 are read. TAGGED.tsv has a first line that names its columns,
then a sentence a line: words divided by spaces, a tab, and their Universal Dependencies tags. What is found is written
to routing.json in the folder of each sibling.
"""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.blocks.experts import FILE, entropy, information, networks
from experiments.passes import forward
from model.files.loaded_model import MODELS, LoadedModel, load_model, sibling_names
from model.text.tokenizer import EOS_ID, SOS_ID
from training.loop.data import read_pairs
from training.measure.parts_of_speech import tagged

PAIRS, SEED = 2000, 1
RANKS = (10, 100, 1000)  # a piece is among the ten commonest of the text, the next ninety, the next 900, or rarer


def asked_by(
    loaded: LoadedModel, texts: Iterable[tuple[list[int], list[int]]], stack: str
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The expert with the largest gate for every row, by network of a stack; and the ids of the rows' pieces."""
    paths = [path for path in networks(loaded) if path.startswith(stack)]
    found: dict[str, list[np.ndarray]] = {path: [] for path in paths}
    ids: list[int] = []
    for src, tgt in texts:
        read = forward(loaded, src, tgt)
        ids += src if stack == "encoder" else tgt
        for path in paths:
            found[path].append(read[f"{path}.gates"])
    return {path: np.concatenate(many) for path, many in found.items()}, np.array(ids)


def rank_classes(ids: np.ndarray) -> np.ndarray:
    """0 for the commonest pieces, and on to 3 for the rarest; see RANKS."""
    pieces, where, counts = np.unique(ids, return_inverse=True, return_counts=True)
    rank = np.empty(len(pieces), int)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(pieces))
    return np.searchsorted(RANKS, rank[where], side="right")


def measure(loaded: LoadedModel, test: Path, tags: Path) -> dict[str, Any]:
    encode = loaded.tokenizer.encode
    pairs = [([*encode(en), EOS_ID], [SOS_ID, *encode(de)]) for en, de in read_pairs([test])[:PAIRS]]
    layers: dict[str, dict[str, Any]] = {}
    for stack in ("encoder", "decoder"):
        gates, ids = asked_by(loaded, pairs, stack)
        for path, one in gates.items():
            work = (one > 0).mean(0) / (one > 0).mean(0).sum()
            first = one.argmax(-1)
            layers[path] = {
                "work": work.round(4).tolist(),
                "bits": round(entropy(np.bincount(first)), 4),
                "common": round(information(first, rank_classes(ids)), 4),
            }
    sentences = list(tagged(loaded, tags))
    gates, _ = asked_by(loaded, [(ids, [SOS_ID]) for ids, _ in sentences], "encoder")
    classes = np.unique([tag for _, one in sentences for tag in one], return_inverse=True)[1]
    shuffled = np.random.default_rng(SEED).permutation(classes)
    for path, one in gates.items():
        for name, known in (("classes", classes), ("shuffled", shuffled)):
            layers[path][name] = round(information(one.argmax(-1), known), 4)
    return {"data": test.name, "pairs": len(pairs), "tags": tags.name, "sentences": len(sentences), "layers": layers}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("test", type=Path)
    parser.add_argument("tagged", type=Path)
    parser.add_argument("--only", nargs="+", metavar="NAME")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # sentence by sentence, more would only wait for one another
    for name in arguments.only or [name for name in sibling_names() if name.startswith("experts-")]:
        found = measure(load_model(name), arguments.test, arguments.tagged)
        (MODELS / name / FILE).write_text(json.dumps(found, indent=2) + "\n")
        print(name, {path: round(max(one["work"]) * len(one["work"]), 2) for path, one in found["layers"].items()})


if __name__ == "__main__":
    main()
