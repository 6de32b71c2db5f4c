"""What the model loses when a part is taken away: a source word hidden, an attention head switched off."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import ceil

import torch
from torch import Tensor

from model.anatomy.structure import Anatomy
from model.files.loaded_model import Array, LoadedModel
from model.interventions import Head
from model.tap import Tap
from model.text.tokenizer import SOS_ID, Token

CORES = os.cpu_count() or 1
MIN_BATCH, MAX_BATCH = 4, 16  # changed copies of a sentence that run through the model at once


def log_probabilities_hiding(
    loaded: LoadedModel, src: Sequence[Token], labels: Sequence[Token], words: Sequence[int] | None = None
) -> tuple[tuple[int, ...], Array]:
    """How likely each target piece stays, in nats, with each of these source words, by default all, hidden in turn.

    Nobody may attend to the hidden word's pieces, in no layer, and the target is read by teacher forcing.

    Returns: the `word` of N source words; (N + 1, T), first with all words, then without each
    """
    words = tuple(sorted({token.word for token in src} - {-1}) if words is None else words)
    ids, targets = [token.id for token in src], [token.id for token in labels]
    hidden = torch.tensor([[False] * len(src), *[[token.word == word for token in src] for word in words]])

    def batch(rows: slice) -> Tensor:
        some = hidden[rows].to(loaded.device.torch)

        def hide(name: str, value: Tensor) -> Tensor:
            """Row b of the batch does without what row b of `some` (B,S) names."""
            return value & ~some[:, None, None, :] if name in ("encoder.mask", "decoder.memory_mask") else value

        return _log_probabilities(loaded, ids, targets, len(some), hide)

    return words, _side_by_side(batch, len(hidden))


def log_probabilities_without(
    loaded: LoadedModel, src: Sequence[int], labels: Sequence[int], heads: Sequence[Head]
) -> Array:
    """How likely each target piece stays, in nats, with each of these heads switched off on its own.

    Args:    src (S) ids, `<eos>` last; labels (T) ids, read by teacher forcing; heads: N of them
    Returns: (N,T), row n without head n
    """
    paths = {head: loaded.anatomy.attention(head.attention, head.layer).path for head in heads}

    def batch(rows: slice) -> Tensor:
        some = heads[rows]

        def switch_off(name: str, value: Tensor) -> Tensor:
            """Row b of the batch does without the b-th of `some`."""
            rows = [(b, head.head) for b, head in enumerate(some) if name == f"{paths[head]}.heads"]
            if rows:
                value = value.clone()
                for b, head in rows:
                    value[b, head] = 0
            return value

        in_encoder = any(head.attention == "encoder" for head in some)
        return _log_probabilities(loaded, src, labels, len(some), switch_off, encode_once=not in_encoder)

    return _side_by_side(batch, len(heads))


def _side_by_side(batch: Callable[[slice], Tensor], n: int) -> Array:
    """(n,T): what `batch` computes of some rows, for n of them, on all cores.

    Each core takes batches of its own. To divide each product among the cores takes no longer where nothing else runs,
    but several times as long beside other work: then every product waits for the core that comes last.
    """
    for_each_core = ceil(n / CORES)
    size = max(ceil(for_each_core / ceil(for_each_core / MAX_BATCH)), MIN_BATCH)
    with ThreadPoolExecutor(CORES) as pool:
        batches = pool.map(batch, [slice(start, start + size) for start in range(0, n, size)])
        return torch.cat([*batches]).cpu().numpy()


@torch.inference_mode()
def _log_probabilities(
    loaded: LoadedModel, src: Sequence[int], labels: Sequence[int], n: int, tap: Tap, encode_once: bool = False
) -> Tensor:
    """(n,T) in nats: each label given those before it, in n copies of one sentence that the tap tells apart.

    encode_once: the tap changes nothing in the encoder, so all copies read the memory of one
    """
    device = loaded.device.torch
    src_ids, tgt_ids = (torch.tensor([[*ids]] * n, device=device) for ids in (src, [SOS_ID, *labels[:-1]]))
    memory = loaded.model.encode(src_ids[:1] if encode_once else src_ids, tap)
    logits = loaded.model.decode(tgt_ids, memory, tap=tap)  # (n,T,V)
    of_labels = logits[:, range(len(labels)), list(labels)]
    return of_labels - logits.logsumexp(-1)


def all_heads(anatomy: Anatomy) -> list[Head]:
    """Every head of a model, by attention, layer and head."""
    return [
        Head(kind, layer, head)
        for kind, attentions in anatomy.attentions.items()
        for layer, attention in enumerate(attentions)
        for head in range(attention.n_heads)
    ]
