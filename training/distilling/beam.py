"""Beam search by several models at once, for many sentences side by side."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from experiments.writing.batched_translation import padded
from model.decoding.strategies import mask_special_tokens
from model.families.network import Network
from model.files.loaded_model import LoadedModel
from model.parts.layers import Memory
from model.text.tokenizer import EOS_ID, PAD_ID, SOS_ID
from model.trace import MAX_TOKENS

GROUP = 250  # sentences of alike length, side by side
LENGTH_PENALTY = 0.6  # α of Wu et al. 2016, §7, Eq. 14, as in Vaswani et al. 2017, §6.1


def translate_by_several(models: Sequence[LoadedModel], sentences: Sequence[str], beams: int) -> list[str]:
    """What the models, which share a vocabulary, write together for each sentence.

    Args:    beams: translations that are kept at every step; with one the search is greedy
    Returns: the best translation of each; "" of a sentence without pieces or with more than MAX_TOKENS
    """
    tokenizer, networks = models[0].tokenizer, [loaded.model for loaded in models]
    sources = tokenizer.encode_batch(sentences)
    fitting = [row for row, ids in enumerate(sources) if 0 < len(ids) <= MAX_TOKENS]
    fitting.sort(key=lambda row: len(sources[row]))
    texts = [""] * len(sentences)
    for start in range(0, len(fitting), GROUP):
        rows = fitting[start : start + GROUP]
        found = search(networks, [[*sources[row], EOS_ID] for row in rows], beams)
        for row, ids in zip(rows, found, strict=True):
            texts[row] = tokenizer.decode(ids)
    return texts


@torch.inference_mode()
def search(models: Sequence[Network], sources: Sequence[list[int]], beams: int) -> list[list[int]]:
    """ids of the best target of each source by the mean of the models' probabilities: at most MAX_TOKENS, padding and
    all behind `<eos>`.

    A translation that has ended keeps its score and its place among the kept ones. When all of a sentence have ended,
    it leaves the batch. One that has not ended is taken only if none has.
    """
    memories = [model.encode(padded(model, sources)) for model in models]
    every = torch.arange(len(sources), device=memories[0].states.device)
    memories = [_rows(memory, every.repeat_interleave(beams)) for memory in memories]
    caches = [model.new_cache() for model in models]
    ids = torch.full((len(sources) * beams, 1), SOS_ID, device=every.device)  # the rows of one source stand together
    scores = torch.tensor([0.0, *[-math.inf] * (beams - 1)], device=every.device).repeat(len(sources), 1)
    writing, written = [*range(len(sources))], [[0]] * len(sources)
    for step in range(MAX_TOKENS):
        readers = zip(models, memories, caches, strict=True)
        logs = [mask_special_tokens(model.decode(ids, memory, cache)[:, -1]) for model, memory, cache in readers]
        log_p = torch.stack(logs).logsumexp(0) - math.log(len(models))  # (rows,V)
        has_ended = ends(ids)
        log_p[has_ended] = -math.inf
        log_p[has_ended, PAD_ID] = 0.0
        scores, found = (scores.view(-1, 1) + log_p).view(len(writing), -1).topk(beams)
        rows = every[: len(writing), None] * beams + found // log_p.size(1)
        ids = torch.cat([ids[rows.flatten()], (found % log_p.size(1)).view(-1, 1)], 1)
        leaves = ends(ids).view(-1, beams).all(1) | (step == MAX_TOKENS - 1)
        for n, best in zip(leaves.nonzero()[:, 0].tolist(), best_of(ids, scores)[leaves].tolist(), strict=True):
            written[writing[n]] = best[1:]
        stays = ~leaves
        if not (writing := [row for row, stay in zip(writing, stays.tolist(), strict=True) if stay]):
            break
        ids, scores, rows = ids.view(-1, beams, step + 2)[stays].flatten(0, 1), scores[stays], rows[stays].flatten()
        memories = [_rows(memory, rows) for memory in memories]
        for cache in caches:
            cache.select(rows)
    return written


def ends(ids: Tensor) -> Tensor:
    """Which rows of ids (N,T) have ended, (N)."""
    return (ids[:, -1] == EOS_ID) | (ids[:, -1] == PAD_ID)


def best_of(ids: Tensor, scores: Tensor) -> Tensor:
    """The best row of each source, (N,T): ids (N·K,T), scores (N,K) in nats, to be divided by ((5 + length)/6)^α."""
    n_sources, beams = scores.shape
    lengths = (ids[:, 1:] != PAD_ID).sum(1)
    marks = scores.flatten() / ((5 + lengths) / 6) ** LENGTH_PENALTY
    best = torch.where(ends(ids), marks, marks - 1e6).view(n_sources, beams).argmax(1)
    return ids.view(n_sources, beams, -1)[torch.arange(n_sources, device=ids.device), best]


def _rows(memory: Memory, rows: Tensor) -> Memory:
    return Memory(memory.states[rows], memory.mask[rows])
