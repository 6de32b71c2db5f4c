"""What gpt-mini loses when it may ask fewer pairs, not trained anew: `python -m training.measure.patterns TEST.txt`.

Writes the perplexity of the first texts, 10,000 tokens or a little more, by pattern and k into the model's folder, as
patterns.json; with --trained RUN…, folders of training.family, also that of models that were trained with another
attention.
"""

import argparse
import itertools
import json
import math
from pathlib import Path

import torch

from experiments.attention.patterns import ALL, FILE, PATTERNS, SIZES, TRAINED, keeping
from model.families.network import Network
from model.files.checkpoint import load
from model.files.device import CPU
from model.files.loaded_model import MODELS, load_model
from model.text.tokenizer import PAD_ID
from training.loop.corpus import Document, read_corpus
from training.loop.text_rows import collate_written
from training.measure.family import windows

NAME, N_TOKENS = "gpt-mini", 10_000


@torch.inference_mode()
def perplexity(model: Network, width: int, documents: list[Document], pattern: str = ALL, k: int = 0) -> float:
    """To two decimals; of each token from at least half the model's width before it, if its document has so many."""
    total, n = 0.0, 0
    for ids, first in itertools.chain.from_iterable(windows(one, width) for one in documents):
        batch = collate_written([ids])
        memory = model.encode(batch["tgt_ids"][:, :0])
        logits = model.decode(batch["tgt_ids"], memory, tap=keeping(pattern, k))[0, first:]
        labels = batch["labels"][0, first:]
        assert (labels != PAD_ID).all()
        total += torch.nn.functional.cross_entropy(logits, labels, reduction="sum").item()
        n += len(labels)
    return round(math.exp(total / n), 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("test", type=Path)
    parser.add_argument("--trained", nargs="+", type=Path, default=[], metavar="RUN")
    arguments = parser.parse_args()
    test: Path = arguments.test
    torch.set_num_threads(1)
    loaded = load_model(NAME, device=CPU)
    every = read_corpus([test], loaded.tokenizer)
    counts = list(itertools.accumulate(len(one.ids) for one in every))
    documents = every[: 1 + next((n for n, count in enumerate(counts) if count >= N_TOKENS), len(every))]
    found: dict[str, object] = {"data": test.name, "tokens": sum(len(one.ids) + 1 for one in documents)}
    model, width = loaded.model, loaded.config.max_len
    found[ALL] = perplexity(model, width, documents)
    for pattern in PATTERNS:
        found[pattern] = {str(k): perplexity(model, width, documents, pattern, k) for k in SIZES}
        print(pattern, found[pattern], flush=True)
    others = {run.name: load(run, vocabulary=run.parent)[0] for run in arguments.trained}
    found[TRAINED] = {name: perplexity(one, width, documents) for name, one in others.items()}
    print(TRAINED, found[TRAINED])
    (MODELS / NAME / FILE).write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
