"""What gpt-mini loses when it may ask fewer pairs, not trained anew: `python -m training.measure.patterns TEST.txt`.

Writes the perplexity of the first 10,000 tokens by pattern and k into the model's folder, as patterns.json.
"""

import argparse
import itertools
import json
import math
from pathlib import Path

import torch

from experiments.attention.patterns import ALL, FILE, PATTERNS, SIZES, keeping
from model.files.loaded_model import MODELS, LoadedModel, load_model
from model.text.tokenizer import PAD_ID
from training.loop.corpus import Document, read_corpus
from training.loop.text_rows import collate_written
from training.measure.family import windows

NAME, N_TOKENS = "gpt-mini", 10_000


@torch.inference_mode()
def perplexity(loaded: LoadedModel, documents: list[Document], pattern: str, k: int) -> float:
    """To two decimals; of each token from at least half the model's width before it, if its document has so many."""
    total, n, width = 0.0, 0, loaded.config.max_len
    for ids, first in itertools.chain.from_iterable(windows(one, width) for one in documents):
        batch = collate_written([ids])
        memory = loaded.model.encode(batch["tgt_ids"][:, :0])
        logits = loaded.model.decode(batch["tgt_ids"], memory, tap=keeping(pattern, k))[0, first:]
        labels = batch["labels"][0, first:]
        assert (labels != PAD_ID).all()
        total += torch.nn.functional.cross_entropy(logits, labels, reduction="sum").item()
        n += len(labels)
    return round(math.exp(total / n), 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("test", type=Path)
    test: Path = parser.parse_args().test
    torch.set_num_threads(1)
    loaded = load_model(NAME)
    every = read_corpus([test], loaded.tokenizer)
    counts = list(itertools.accumulate(len(one.ids) for one in every))
    documents = every[: 1 + next((n for n, count in enumerate(counts) if count >= N_TOKENS), len(every))]
    found: dict[str, object] = {"data": test.name, "tokens": sum(len(one.ids) + 1 for one in documents)}
    found[ALL] = perplexity(loaded, documents, ALL, 0)
    for pattern in PATTERNS:
        found[pattern] = {str(k): perplexity(loaded, documents, pattern, k) for k in SIZES}
        print(pattern, found[pattern], flush=True)
    (MODELS / NAME / FILE).write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
