"""The loss of a translator on texts longer than those it was trained on: test sentences, joined."""

import random
from collections.abc import Sequence

import torch
from torch.nn.functional import cross_entropy

from model.files.loaded_model import LoadedModel
from model.text.tokenizer import PAD_ID, Tokenizer
from training.loop.data import Pair, collate

SPANS = ((1, 20), (21, 40), (41, 64), (65, 96), (97, 128))  # of positions in the target, from 1
N_TEXTS, BATCH, SEED = 300, 20, 1  # texts of each span

Ids = tuple[list[int], list[int]]


def joined(pairs: Sequence[Pair], tokenizer: Tokenizer, span: tuple[int, int], rng: random.Random) -> Ids:
    """Pairs drawn and joined until the target ends within a span, `<eos>` counted; the source ends no later than it."""
    first, last = span
    while True:
        goal, english, german = rng.randint(first, last), "", ""
        source: list[int] = []
        target: list[int] = []
        while len(target) + 1 < goal:
            more_english, more_german = pairs[rng.randrange(len(pairs))]
            english, german = f"{english} {more_english}".strip(), f"{german} {more_german}".strip()
            source, target = tokenizer.encode(english), tokenizer.encode(german)
        if source and target and first <= len(target) + 1 <= last and len(source) + 1 <= last:
            return source, target


def losses(loaded: LoadedModel, pairs: Sequence[Pair], n_texts: int = N_TEXTS) -> dict[str, float | None]:
    """Mean cross-entropy, in nats a token, at the positions of each span, in texts that end within it.

    The right tokens before are given (teacher forcing). The texts are the same for all models with one tokenizer.

    Returns: by span, like "21–40"; None where the model has no position that far
    """
    longest = loaded.model.embedding.positions.max_len
    found: dict[str, float | None] = {}
    for span in SPANS:
        rng = random.Random(f"{SEED}/{span[0]}")
        texts = [joined(pairs, loaded.tokenizer, span, rng) for _ in range(n_texts)]
        reaches = longest is None or span[1] <= longest
        found[f"{span[0]}–{span[1]}"] = round(mean_loss(loaded, texts, span[0]), 4) if reaches else None
    return found


@torch.inference_mode()
def mean_loss(loaded: LoadedModel, texts: Sequence[Ids], first: int) -> float:
    """Over the labels of all texts from position `first` (from 1) to their end."""
    total = n_tokens = 0.0
    for start in range(0, len(texts), BATCH):
        batch = {name: ids.to(loaded.device.torch) for name, ids in collate(texts[start : start + BATCH]).items()}
        logits = loaded.model(batch["src_ids"], batch["tgt_ids"])[:, first - 1 :]
        labels = batch["labels"][:, first - 1 :]
        total += cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=PAD_ID, reduction="sum").item()
        n_tokens += (labels != PAD_ID).sum().item()
    return total / n_tokens
