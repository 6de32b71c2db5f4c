"""Measure how much each head of the encoder looks at nouns, verbs and adjectives:
`python -m training.measure.parts_of_speech FILE.tsv`.

FILE has a first line that names its columns, then a sentence a line: words divided by spaces, a tab, and their
Universal Dependencies tags. A share is the part of a head's weight that falls on the pieces of such words, averaged
over all rows of all sentences; it is written to assets/models/translator/parts_of_speech.json.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.attention.head_roles import fingerprint
from experiments.passes import forward
from model.files.checkpoint import SHIPPED, WEIGHTS
from model.files.loaded_model import LoadedModel, load_folder
from model.interventions import Head
from model.text.tokenizer import EOS_ID, SOS_ID
from model.trace import most_tokens

FILE = "parts_of_speech.json"
PARTS = {"nouns": "NOUN", "verbs": "VERB", "adjectives": "ADJ"}
SOURCE = "Universal Dependencies English Web Treebank, CC BY-SA 4.0"


def tagged(loaded: LoadedModel, file: Path) -> Iterator[tuple[list[int], list[str]]]:
    """The sentences that a model can take whole, as ids, with the tag of the word for each, and "" for `<eos>`."""
    for line in file.read_text(encoding="utf-8").splitlines()[1:]:
        words, tags = (column.split() for column in line.split("\t"))
        cut = [loaded.tokenizer.encode(word) for word in words]
        ids = [*(id for word in cut for id in word), EOS_ID]
        if len(ids) - 1 <= most_tokens(loaded):
            yield ids, [*(tag for word, tag in zip(cut, tags, strict=True) for _ in word), ""]


def measure(loaded: LoadedModel, file: Path) -> dict[str, Any]:
    """Shares of every head, and of equal weights, over the sentences of a file that the model can take whole."""
    n_sentences, n_rows, n_layers = 0, 0, loaded.config.n_layers
    totals = np.zeros((n_layers, loaded.config.n_heads, len(PARTS)))
    equal = np.zeros(len(PARTS))
    for ids, tags in tagged(loaded, file):
        tag_of = np.array(tags)
        counts = np.stack([tag_of == tag for tag in PARTS.values()], 1)
        read = forward(loaded, ids, [SOS_ID])
        for layer in range(n_layers):
            totals[layer] += read[f"encoder.layers.{layer}.self_attn.weights"].sum(1) @ counts
        equal += counts.sum(0)
        n_sentences, n_rows = n_sentences + 1, n_rows + len(ids)
    named = {
        str(Head("encoder", *at)): dict(zip(PARTS, (totals[at] / n_rows).round(4).tolist(), strict=True))
        for at in np.ndindex(*totals.shape[:2])
    }
    uniform = dict(zip(PARTS, (equal / n_rows).round(4).tolist(), strict=True))
    return {"sentences": n_sentences, "uniform": uniform, "shares": named}


def main(folder: Path = SHIPPED) -> None:
    parser = argparse.ArgumentParser(prog="python -m training.measure.parts_of_speech", description=__doc__)
    parser.add_argument("file", type=Path)
    file = parser.parse_args().file
    torch.set_num_threads(1)  # sentence by sentence, more would only wait for one another
    found = {
        "data": {"file": file.name, "sha256": fingerprint(file), "source": SOURCE},
        "model": {"file": WEIGHTS, "sha256": fingerprint(folder / WEIGHTS)},
        **measure(load_folder(folder), file),
    }
    (folder / FILE).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(f"{folder / FILE}: {found['sentences']:,} sentences")


if __name__ == "__main__":
    main()
