"""Several texts at once: padded to one length, encoded together, and rewritten greedily side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from model.families.network import Network
from model.files.loaded_model import Array, LoadedModel
from model.parts.layers import Memory
from model.tap import Recorder
from model.text.tokenizer import EOS_ID, PAD_ID, SOS_ID, Token
from model.trace import MAX_TOKENS, taken

GROUP = 50  # sentences of alike length, side by side: of more the shorter ones would have more padding


@dataclass(frozen=True)
class Translated:
    """One sentence of a batch: source pieces (S), the decoder's input pieces (T), tensors by name without padding."""

    src: tuple[Token, ...]
    tgt: tuple[Token, ...]
    tensors: Mapping[str, Array]


def translate_together(loaded: LoadedModel, sentences: Sequence[str]) -> list[str]:
    """Greedy translations, as `model.decoding.strategies.Greedy` writes them, of many sentences side by side."""
    return [loaded.tokenizer.decode(ids) for ids in write_together(loaded.model, _sources(loaded, sentences))]


@torch.inference_mode()
def write_together(model: Network, sources: Sequence[list[int]]) -> list[list[int]]:
    """What an encoder-decoder writes greedily for each source, ids that end in `<eos>`: ids, with `<eos>` if it ends in
    MAX_TOKENS.
    """
    by_length = sorted(range(len(sources)), key=lambda row: len(sources[row]))
    texts: list[list[int]] = [[] for _ in sources]
    for start in range(0, len(sources), GROUP):
        rows = by_length[start : start + GROUP]
        memory = model.encode(padded(model, [sources[row] for row in rows]))
        for row, written in zip(rows, _write(model, memory), strict=True):
            texts[row] = written
    return texts


@torch.inference_mode()
def record_together(loaded: LoadedModel, sentences: Sequence[str], keep: tuple[str, ...]) -> list[Translated]:
    """The same in one batch; of every tapped (B,T,…) value, keep those whose names end so."""
    model, tokenizer, recorder = loaded.model, loaded.tokenizer, Recorder()
    sources = _sources(loaded, sentences)
    memory = model.encode(padded(model, sources), recorder)
    targets = [[SOS_ID, *written[:-1]] for written in _write(model, memory)]  # what the decoder reads
    model.decode(padded(model, targets), memory, tap=recorder)  # once more, to record what every step saw
    translated = []
    for row, (src, tgt) in enumerate(zip(sources, targets, strict=True)):
        length = {"encoder": len(src), "decoder": len(tgt)}
        tensors = {
            name: value[row, : length[name.partition(".")[0]]].cpu().numpy()
            for name, value in recorder.tensors.items()
            if name.endswith(keep)
        }
        translated.append(Translated(tokenizer.tokens(src), tokenizer.tokens(tgt), tensors))
    return translated


def _sources(loaded: LoadedModel, sentences: Sequence[str]) -> list[list[int]]:
    """ids of each sentence, as many as the model takes, and `<eos>`. Raises: EmptySentenceError"""
    return [[*taken(loaded, sentence)[1], EOS_ID] for sentence in sentences]


def _write(model: Network, memory: Memory) -> list[list[int]]:
    """ids of a translation of each row of a memory: at most MAX_TOKENS, the last of them `<eos>` if it ends in time.

    A sentence that has ended leaves the batch, so that nothing more is computed for it.
    """
    device, cache = memory.states.device, model.new_cache()
    written: list[list[int]] = [[] for _ in memory.states]
    writing = list(range(len(written)))  # the rows that are still in the batch
    for _ in range(MAX_TOKENS):
        tgt_ids = torch.tensor([[SOS_ID, *written[row]] for row in writing], device=device)
        newest = model.decode(tgt_ids, memory, cache)[:, -1].argmax(-1).tolist()
        for row, id in zip(writing, newest, strict=True):
            written[row].append(id)
        going_on = [n for n, id in enumerate(newest) if id != EOS_ID]
        if not going_on:
            break
        if len(going_on) < len(writing):
            rows = torch.tensor(going_on, device=device)
            memory = Memory(memory.states[rows], memory.mask[rows])
            cache.select(rows)
            writing = [writing[n] for n in going_on]
    return written


def padded(model: Network, rows: Sequence[list[int]]) -> Tensor:
    """ids (B,T) of rows of unequal length."""
    longest = max(map(len, rows))
    return torch.tensor(
        [ids + [PAD_ID] * (longest - len(ids)) for ids in rows], device=model.embedding.matrix.weight.device
    )
