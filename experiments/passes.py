"""Experiments that a trace of one sentence does not hold: other inputs, another memory, other ways to run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import torch
from torch import Tensor

from model.decoding.strategies import Greedy, NextToken, decoding_steps
from model.files.loaded_model import Array, LoadedModel
from model.interventions import Interventions
from model.tap import Recorder, Tap, no_tap
from model.text.tokenizer import PAD_ID, Tokenizer
from model.trace import MAX_TOKENS

MAX_SHUFFLED = 20  # words


@torch.inference_mode()
def forward(loaded: LoadedModel, src: Sequence[int], tgt: Sequence[int], change: Tap = no_tap) -> Mapping[str, Array]:
    """Every tapped value of one teacher-forced pass over raw ids: what `<pad>` in them does is up to the masks.

    Args:    src (S), tgt (T) ids, with their special tokens; change: an intervention
    Returns: arrays by tap name, batch axis removed
    """
    device = loaded.device.torch
    recorder = Recorder(change)
    loaded.model(torch.tensor([list(src)], device=device), torch.tensor([list(tgt)], device=device), recorder)
    return recorded(recorder)


@torch.inference_mode()
def encode(loaded: LoadedModel, src: Sequence[int]) -> Mapping[str, Array]:
    """Every tapped value of the encoder alone: of raw ids, with their special tokens, as of `forward`."""
    recorder = Recorder()
    loaded.model.encode(torch.tensor([list(src)], device=loaded.device.torch), recorder)
    return recorded(recorder)


def recorded(recorder: Recorder) -> Mapping[str, Array]:
    """What a recorder has kept, as arrays by tap name, batch axis removed."""
    found = {name: value.cpu().numpy() for name, value in recorder.tensors.items()}
    return MappingProxyType({name: array[0] if array.ndim > 2 else array for name, array in found.items()})


Ids = tuple[int, ...]


def changed_pass(
    loaded: LoadedModel, src: Ids, tgt: Ids, change: Interventions, keep: tuple[str, ...]
) -> Mapping[str, Array]:
    """Of one teacher-forced pass under a change, the tensors whose names end in one of `keep`."""
    tensors = forward(loaded, src, tgt, change.compile(loaded.anatomy))
    return MappingProxyType({name: array for name, array in tensors.items() if name.endswith(keep)})


def padded_pass(loaded: LoadedModel, src: Ids, tgt: Ids, count: int, masked: bool) -> Mapping[str, Array]:
    """Weights and logits of one pass over the source with `<pad>` tokens behind it, with or without the mask."""
    tensors = forward(loaded, [*src, *[PAD_ID] * count], tgt, no_tap if masked else see_padding)
    return MappingProxyType({name: array for name, array in tensors.items() if name.endswith(("weights", "logits"))})


def see_padding(name: str, value: Tensor) -> Tensor:
    """The intervention that lifts the padding mask: everybody may attend to `<pad>`."""
    return torch.ones_like(value) if name in ("encoder.mask", "decoder.memory_mask") else value


@torch.inference_mode()
def one_at_a_time(loaded: LoadedModel, src: Sequence[int], tgt: Sequence[int]) -> Array:
    """logits (T,V) of T runs of the decoder, each with one more input token, as in inference."""
    device, cache = loaded.device.torch, loaded.model.new_cache()
    src_ids, tgt_ids = (torch.tensor([list(ids)], device=device) for ids in (src, tgt))
    memory = loaded.model.encode(src_ids)
    steps = [loaded.model.decode(tgt_ids[:, : t + 1], memory, cache)[0, -1] for t in range(tgt_ids.size(1))]
    return torch.stack(steps).cpu().numpy()


@dataclass(frozen=True)
class Reading:
    """What a decoder made of a memory.

    weights: its encoder-decoder attention (L,H,T,S) while it read the target by teacher forcing
    ids:     what it wrote by itself, the likeliest token at each step
    """

    weights: Array
    ids: tuple[int, ...]


@torch.inference_mode()
def read_from(loaded: LoadedModel, src: Sequence[int], tgt: Sequence[int], layer: int, max_steps: int) -> Reading:
    """Let the decoder read what the encoder held after its first `layer` layers (0: its embeddings) as the memory."""
    device, encoder, decoder = loaded.device.torch, Recorder(), Recorder()
    src_ids, tgt_ids = (torch.tensor([list(ids)], device=device) for ids in (src, tgt))
    memory = loaded.model.encode(src_ids, encoder)
    stack = loaded.anatomy.stack("encoder")
    states = encoder.tensors[stack.layers[layer - 1].writes if layer else stack.embedding_writes]
    memory = memory._replace(states=states)
    loaded.model.decode(tgt_ids, memory, tap=decoder)
    attentions = loaded.anatomy.attentions["cross"]
    weights = torch.cat([decoder.tensors[f"{attention.path}.weights"] for attention in attentions])
    *_, last = decoding_steps(NextToken(loaded.model, memory), Greedy(max_steps))
    return Reading(weights.cpu().numpy(), last.best.ids)


@torch.inference_mode()
def write_without(loaded: LoadedModel, src: Sequence[int], hidden: Sequence[int]) -> tuple[int, ...]:
    """Ids that the model writes greedily while nobody may attend to some source tokens, given by index."""

    def hide(name: str, value: Tensor) -> Tensor:
        if name in ("encoder.mask", "decoder.memory_mask"):
            value = value.clone()
            value[..., list(hidden)] = False
        return value

    src_ids = torch.tensor([list(src)], device=loaded.device.torch)
    memory = loaded.model.encode(src_ids, hide)
    # The tap changes what may be looked at, the same at every step: what the cache keeps stays true.
    *_, last = decoding_steps(NextToken(loaded.model, memory, hide, cached=True), Greedy(MAX_TOKENS))
    return last.best.ids


@torch.inference_mode()
def read_out(loaded: LoadedModel, vectors: Array) -> Array:
    """logits (T,V) that the model's output makes of any vectors (T,d_model), as if they were the decoder's last."""
    return loaded.model.output(torch.tensor(vectors, device=loaded.device.torch)).cpu().numpy()


@dataclass(frozen=True)
class Shuffle:
    """A sentence and its words in another order.

    words, shuffled: the two sentences
    rows: for each token of the shuffled sentence, `<eos>` included, which token of the first it is
    """

    words: str
    shuffled: str
    rows: tuple[int, ...]


def shuffle(tokenizer: Tokenizer, text: str, seed: int) -> Shuffle | None:
    """The first words of a text in another order, the same for the same seed; None where no other order exists.

    No more than MAX_SHUFFLED words and MAX_TOKENS pieces are taken.
    """
    words: list[str] = []
    pieces: list[range] = []  # the tokens of each word
    for word in text.split()[:MAX_SHUFFLED]:
        start = pieces[-1].stop if pieces else 0
        end = start + len(tokenizer.encode(word))
        if end > MAX_TOKENS:
            break
        words.append(word)
        pieces.append(range(start, end))
    if len(set(words)) < 2:
        return None
    random = np.random.default_rng(seed)
    order = list(range(len(words)))
    while [words[i] for i in order] == words:
        order = [int(i) for i in random.permutation(len(words))]
    rows = [row for i in order for row in pieces[i]]
    return Shuffle(" ".join(words), " ".join(words[i] for i in order), (*rows, len(rows)))
