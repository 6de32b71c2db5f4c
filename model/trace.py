"""`trace`: one sentence through the whole machine, every number kept. What every page draws from."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

import numpy as np
import torch
from numpy.typing import NDArray

from model import checkpoint
from model.config import ModelConfig
from model.decoding import Decoding, Greedy, NextToken, Step, decoding_steps
from model.device import Device, pick_device
from model.interventions import ATTENTIONS, NOTHING, Interventions
from model.tap import Recorder
from model.tokenizer import EOS_ID, SOS_ID, Token, Tokenizer, normalise
from model.transformer import EncoderDecoder

Array = NDArray[np.float32]

MAX_TOKENS = 100  # of a source or target sentence, `<eos>` not counted


@dataclass(frozen=True)
class Machine:
    """A loaded model with its tokenizer, its random-weights twin, and the device both are on. Shared by all threads."""

    config: ModelConfig
    model: EncoderDecoder
    twin: EncoderDecoder
    tokenizer: Tokenizer
    device: Device

    @property
    def n_parameters(self) -> int:
        return sum(p.numel() for p in self.model.parameters())


def load_machine(folder: Path = checkpoint.SHIPPED, device: Device | None = None) -> Machine:
    """The shipped model, ready to run.

    Raises: checkpoint.CheckpointError, naming the file and the repair
    """
    device = device or pick_device()
    model, tokenizer = checkpoint.load(folder)
    twin = checkpoint.load_twin(folder)
    return Machine(checkpoint.load_config(folder), model.to(device.torch), twin.to(device.torch), tokenizer, device)


class EmptySentenceError(ValueError):
    """Nothing is left of the sentence to translate; the message says so."""


@dataclass(frozen=True)
class Trace:
    """Everything that happened to one sentence.

    text:         the source as the model read it (quotes straightened, spaces joined, cut at MAX_TOKENS)
    n_cut:        source tokens beyond MAX_TOKENS, which were left out
    src:          source tokens, ending in `<eos>`                             (S)
    tgt:          the decoder's input tokens, beginning with `<sos>`           (T)
    labels:       what the decoder wrote, or was given to write, after each    (T)
    tensors:      every tapped value by name, batch axis removed, read-only; see the Taps of each module
    steps:        the decoding, one step a token; empty when a target was given
    translation:  the target as text
    finished:     False if the translation stopped at MAX_TOKENS without `<eos>`
    """

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
        """A tensor (H,T,S) of one layer's "encoder", "decoder" or "cross" attention: weights, scores, q, k, v…"""
        return self.tensors[f"{ATTENTIONS[kind].format(layer)}.{what}"]

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


@torch.inference_mode()
def trace(
    machine: Machine,
    source: str,
    target: str | None = None,
    decoding: Decoding = Greedy(),
    interventions: Interventions = NOTHING,
    twin: bool = False,
) -> Trace:
    """Send a sentence through the machine.

    Args:    source: English; target: German to be read by teacher forcing instead of being decoded;
             decoding, interventions; twin: use the random weights instead of the trained ones
    Raises:  EmptySentenceError; InterventionError where a change does not fit the model or the sentence;
             PrefixError where no translation begins with the tokens that the decoding gives
    """
    model, tokenizer, device = machine.twin if twin else machine.model, machine.tokenizer, machine.device.torch
    text = normalise(source)
    ids = tokenizer.encode(text)
    if not ids:
        raise EmptySentenceError("There is nothing to translate yet: type a sentence.")
    n_cut = max(0, len(ids) - MAX_TOKENS)
    if n_cut:
        ids = ids[:MAX_TOKENS]
        text = tokenizer.decode(ids)
    src = [*ids, EOS_ID]
    interventions.check(machine.config, len(src))
    change = interventions.compile(machine.config.d_k)

    src_ids = torch.tensor([src], device=device)
    recorder = Recorder(change)
    memory = model.encode(src_ids, recorder)
    if target is None:
        decoding = replace(decoding, max_steps=min(decoding.max_steps, MAX_TOKENS))
        next_token = NextToken(model, src_ids, memory, change, cached=interventions.settled)
        steps = tuple(decoding_steps(next_token, decoding))
        labels = list(steps[-1].best.ids)
    else:
        steps = ()
        labels = [*tokenizer.encode(normalise(target))[:MAX_TOKENS], EOS_ID]

    # One pass over the whole target records what every step saw: the causal mask makes the two the same.
    tgt = [SOS_ID, *labels[:-1]]
    model.decode(torch.tensor([tgt], device=device), memory, src_ids, recorder)
    return Trace(
        text=text,
        n_cut=n_cut,
        src=tokenizer.tokens(src),
        tgt=tokenizer.tokens(tgt),
        labels=tokenizer.tokens(labels),
        tensors=MappingProxyType({name: _frozen(value) for name, value in recorder.tensors.items()}),
        steps=steps,
        translation=tokenizer.decode(labels),
        finished=labels[-1] == EOS_ID,
    )


def _frozen(value: torch.Tensor) -> Array:
    """A read-only array without the batch axis (positions and embeddings' rows have none)."""
    array = value.detach().cpu().numpy()
    array = array[0] if array.ndim > 2 else array
    array = array.copy() if not array.flags.owndata else array
    array.setflags(write=False)
    return array
