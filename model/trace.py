"""`trace`: one sentence through a whole model, every number kept. What every page draws from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Generic

import numpy as np
import torch
from torch import nn

from model.decoding.strategies import Decoding, Greedy, NextToken, Step, decoding_steps
from model.files.loaded_model import AnyConfig, AnyNetwork, Array, LoadedModel
from model.interventions import NOTHING, Head, Interventions
from model.tap import Recorder
from model.text.tokenizer import EOS_ID, SOS_ID, Token, normalise

MAX_TOKENS = 100  # of a source or target sentence, `<eos>` not counted


def most_tokens(loaded: LoadedModel) -> int:
    """How many tokens of a text a model takes, special ones not counted: fewer than MAX_TOKENS if its positions end."""
    longest = loaded.model.embedding.positions.max_len
    return min(MAX_TOKENS + 1, longest or MAX_TOKENS + 1) - loaded.model.n_marks


class EmptySentenceError(ValueError):
    """Nothing is left of the sentence to translate; the message says so."""


@dataclass(frozen=True)
class Trace(Generic[AnyNetwork, AnyConfig]):
    """Everything that happened to one sentence.

    model:        the model that it went through
    text:         the source as the model read it (quotes straightened, spaces joined, cut at `most_tokens`)
    n_cut:        source tokens beyond that, which were left out
    src:          source tokens, ending in `<eos>`; none for a decoder alone; from [CLS] to [SEP] for an encoder
                  alone, which has no tgt and no labels    (S)
    tgt:          the decoder's input tokens, beginning with `<sos>`; a decoder alone reads the text here    (T)
    labels:       what the decoder wrote, or was given to write, after each    (T)
    tensors:      every tapped value by name, batch axis removed, read-only; see the Taps of each module
    steps:        the decoding, one step a token; empty when a target was given
    translation:  the target as text
    finished:     False if the translation stopped at its longest without `<eos>`
    """

    model: LoadedModel[AnyNetwork, AnyConfig]
    text: str
    n_cut: int
    src: tuple[Token, ...]
    tgt: tuple[Token, ...]
    labels: tuple[Token, ...]
    tensors: Mapping[str, Array]
    steps: tuple[Step, ...]
    translation: str
    finished: bool

    def attention(self, kind: str, layer: int, what: str = "weights") -> Array:
        """A tensor (H,T,S) of one layer's attention of a kind like "cross": weights, scores, q, k, v…"""
        return self.tensors[f"{self.model.anatomy.attention(kind, layer).path}.{what}"]

    def path(self, head: Head) -> str:
        """Module path of the attention that a head belongs to."""
        return self.model.anatomy.attention(head.attention, head.layer).path

    def tokens(self, axis: str) -> tuple[Token, ...]:
        """The tokens along an axis named "src", "tgt" or "labels"."""
        return {"src": self.src, "tgt": self.tgt, "labels": self.labels}[axis]

    @cached_property
    def src_ids(self) -> tuple[int, ...]:
        return tuple(token.id for token in self.src)

    @cached_property
    def tgt_ids(self) -> tuple[int, ...]:
        return tuple(token.id for token in self.tgt)

    @cached_property
    def label_ids(self) -> tuple[int, ...]:
        return tuple(token.id for token in self.labels)

    @cached_property
    def probabilities(self) -> tuple[float, ...]:
        """The model's probability of each label, given the labels before it."""
        logits = self.tensors["logits"].astype(np.float64)
        shifted = np.exp(logits - logits.max(-1, keepdims=True))
        rows = shifted / shifted.sum(-1, keepdims=True)
        return tuple(float(rows[t, token.id]) for t, token in enumerate(self.labels))

    @cached_property
    def nbytes(self) -> int:
        """Memory held by the tensors, in bytes."""
        return sum(a.nbytes for a in self.tensors.values())


AnyTrace = Trace[nn.Module, object]  # of a model of any kind, also one that is no `Network`


def taken(loaded: LoadedModel, source: str) -> tuple[str, list[int], int]:
    """What a model takes of a text: the text, its ids without marks, and how many ids were cut off.

    Raises: EmptySentenceError
    """
    text = normalise(source)
    ids, limit = loaded.tokenizer.encode(text), most_tokens(loaded)
    if not ids:
        raise EmptySentenceError("There is nothing to translate yet: type a sentence.")
    if len(ids) <= limit:
        return text, ids, 0
    # The text that is kept must be read as these ids again: no part of a sign may stand at its end, and no space.
    text = loaded.tokenizer.decode(ids[:limit]).rstrip("\ufffd")
    while len(kept := loaded.tokenizer.encode(text := normalise(text))) > limit:
        text = text[:-1]
    return text, kept, len(ids) - len(kept)


def unread(loaded: LoadedModel, source: str) -> Trace:
    """A sentence cut into a model's tokens, and not sent through it. Raises: EmptySentenceError"""
    text, ids, n_cut = taken(loaded, source)
    src = loaded.tokenizer.tokens(loaded.model.inputs(ids).src)
    return Trace(loaded, text, n_cut, src, (), (), MappingProxyType({}), (), "", finished=True)


@torch.inference_mode()
def trace(
    loaded: LoadedModel,
    source: str,
    target: str | None = None,
    decoding: Decoding = Greedy(),
    interventions: Interventions = NOTHING,
) -> Trace:
    """Send a sentence through a model. A decoder alone goes on writing where it ends; an encoder alone reads it.

    Args:    source: what goes in; target: a text to be read by teacher forcing instead of being decoded;
             decoding, interventions
    Raises:  EmptySentenceError; InterventionError where a change does not fit the model or the sentence;
             PrefixError where nothing that is written begins with the tokens that the decoding gives
    """
    tokenizer, anatomy = loaded.tokenizer, loaded.anatomy
    text, ids, n_cut = taken(loaded, source)
    src, begun = loaded.model.inputs(ids)
    if not anatomy.writes_target:
        return replace(read(loaded, src, interventions=interventions), text=text, n_cut=n_cut)
    decoding = replace(decoding, prefix=(*begun, *decoding.prefix))
    interventions.check(anatomy, len(src) or len(ids))
    recorder = Recorder(interventions.compile(anatomy))
    labels, steps = _run(loaded, src, target, decoding, interventions, recorder)
    return Trace(
        model=loaded,
        text=text,
        n_cut=n_cut,
        src=tokenizer.tokens(src),
        tgt=tokenizer.tokens([SOS_ID, *labels[:-1]]),
        labels=tokenizer.tokens(labels),
        tensors=MappingProxyType({name: frozen(value) for name, value in recorder.tensors.items()}),
        steps=steps,
        translation=tokenizer.decode(labels),
        finished=labels[-1] == EOS_ID,
    )


@torch.inference_mode()
def read(
    loaded: LoadedModel,
    ids: Sequence[int],
    segment_ids: Sequence[int] | None = None,
    interventions: Interventions = NOTHING,
) -> Trace:
    """Send tokens through an encoder alone, which writes nothing.

    Args:    ids: [CLS] text [SEP], or [CLS] text [SEP] text [SEP], any of the text's tokens replaced by [MASK];
             segment_ids: 0 up to the first [SEP], 1 behind it; without them 0 everywhere; interventions
    Raises:  InterventionError where a change does not fit the model or the text
    """
    interventions.check(loaded.anatomy, len(ids))
    recorder = Recorder(interventions.compile(loaded.anatomy))
    src_ids = torch.tensor([list(ids)], device=loaded.device.torch)
    segments = None if segment_ids is None else torch.tensor([list(segment_ids)], device=loaded.device.torch)
    loaded.model(src_ids, segments, tap=recorder)
    return Trace(
        model=loaded,
        text=loaded.tokenizer.decode(ids),
        n_cut=0,
        src=loaded.tokenizer.tokens(ids),
        tgt=(),
        labels=(),
        tensors=MappingProxyType({name: frozen(value) for name, value in recorder.tensors.items()}),
        steps=(),
        translation="",
        finished=True,
    )


def _run(
    loaded: LoadedModel,
    src: list[int],
    target: str | None,
    decoding: Decoding,
    interventions: Interventions,
    recorder: Recorder,
) -> tuple[list[int], tuple[Step, ...]]:
    """Write a target, or read the one given, while everything is recorded; its ids, and the steps of the decoding."""
    model, device = loaded.model, loaded.device.torch
    memory = model.encode(torch.tensor([src], dtype=torch.long, device=device), recorder)
    steps: tuple[Step, ...] = ()
    if target is None:
        decoding = replace(decoding, max_steps=min(decoding.max_steps, most_tokens(loaded)))
        next_token = NextToken(model, memory, recorder.change, cached=interventions.cacheable)
        steps = tuple(decoding_steps(next_token, decoding))
        labels = list(steps[-1].best.ids)
    else:
        labels = [*loaded.tokenizer.encode(normalise(target))[: most_tokens(loaded)], EOS_ID]
    # One pass over the whole target records what every step saw: the causal mask makes the two the same.
    model.decode(torch.tensor([[SOS_ID, *labels[:-1]]], device=device), memory, tap=recorder)
    return labels, steps


def frozen(value: torch.Tensor) -> Array:
    """A read-only array without the batch axis (positions and embeddings' rows have none)."""
    array = value.detach().cpu().numpy()
    array = array[0] if array.ndim > 2 else array
    array = array.copy() if not array.flags.owndata else array
    array.setflags(write=False)
    return array
