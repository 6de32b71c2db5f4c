"""One word in two sentences, and one sentence with a word changed: vectors that depend on their context."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from explain import output_of
from figures.embedding_space import cosines
from figures.grouping import Group
from model.interventions import Block, Interventions
from model.tap import Recorder
from model.tokenizer import Token
from model.trace import Array, Trace
from ui import engine
from ui.controls.layers import Ids, example_sentences
from ui.views.attention_kinds import groups_of, n_layers

MONEY, RIVER = "I put my money in the bank.", "We sat on the bank of the river."
SPORT, THEATRE = "He plays basketball every Saturday.", "Peter plays the lead role in a Broadway show."
# Sentences to set beside the learner's: the first that shares its longest word with it is taken.
PARTNERS = (
    RIVER,
    MONEY,
    THEATRE,
    SPORT,
    "A white cat sleeps on the black sofa.",
    "The animal was too tired to cross the street.",
    "She gave the teacher an apple.",
)


@dataclass(frozen=True)
class Shared:
    """A word that two sentences share: its text, and its pieces in each."""

    word: str
    one: tuple[int, ...]
    two: tuple[int, ...]


def shared_words(one: Sequence[Token], two: Sequence[Token]) -> list[Shared]:
    """Words made of the same pieces in both sentences, each once, in the order of the first; no punctuation."""
    first, second = _by_ids(one), _by_ids(two)
    return [Shared(group.label, group.pieces, second[ids].pieces) for ids, group in first.items() if ids in second]


def _by_ids(tokens: Sequence[Token]) -> dict[Ids, Group]:
    """The words of a sentence by the ids of their pieces; of equal ones the first."""
    found: dict[Ids, Group] = {}
    for group in groups_of(tokens, by_word=True):
        if tokens[group.pieces[0]].word >= 0 and any(sign.isalnum() for sign in group.label):
            found.setdefault(tuple(tokens[i].id for i in group.pieces), group)
    return found


def partner(trace: Trace) -> str:
    """A sentence to set beside this one: of those that share a word with it, the one with the longest."""
    tokenizer = engine.machine().tokenizer

    def longest(sentence: str) -> int:
        found = shared_words(trace.src, tokenizer.tokens(tokenizer.encode(sentence)))
        return max((len(shared.word) for shared in found), default=0)

    return max((sentence for sentence in PARTNERS if sentence != trace.text), key=longest)


def stages(layers: int) -> dict[str, str]:
    """What a vector passes on its way up the encoder: a label, and the name of its tensor."""
    above = {f"after layer {layer + 1}": output_of("encoder", layer) for layer in range(layers)}
    return {"look-up": "encoder.embedding.tokens", "with position": "encoder.embedding.output"} | above


def vectors(trace: Trace, pieces: Sequence[int]) -> Array:
    """The vector of a word at each stage (stages, d_model): the mean of its pieces'."""
    return np.stack([trace.tensors[name][list(pieces)].mean(0) for name in stages(n_layers(trace)).values()])


def alike(one: Array, two: Array) -> Array:
    """Cosine of the angle between two vectors (stages, d_model), stage by stage."""
    return np.array([cosines(a[None], b[None])[0, 0] for a, b in zip(one, two, strict=True)])


def different_words(one: Trace, two: Trace) -> Array:
    """For each stage the mean cosine between a word of one sentence and a different word of the other; may be NaN."""
    sides = [_by_ids(trace.src) for trace in (one, two)]
    rows = [
        np.stack([vectors(trace, group.pieces) for group in side.values()], axis=1) if side else None
        for trace, side in zip((one, two), sides, strict=True)
    ]
    differ = np.array([[left != right for right in sides[1]] for left in sides[0]], dtype=bool)
    if rows[0] is None or rows[1] is None or not differ.any():
        return np.full(len(stages(n_layers(one))), np.nan)
    return np.array([cosines(left, right)[differ].mean() for left, right in zip(rows[0], rows[1], strict=True)])


@functools.lru_cache(maxsize=16)
def encoder_states(src: Ids, attention_off: bool = False) -> Mapping[str, Array]:
    """The tensors of all stages for a sentence given by its ids; with or without the encoder's self-attention."""
    machine = engine.machine()
    layers = range(machine.config.n_layers)
    off = tuple(Block("encoder", layer, "self_attn") for layer in layers) if attention_off else ()
    recorder = Recorder(Interventions(blocks_off=off).compile(machine.config.d_k))
    with torch.inference_mode():
        machine.model.encode(torch.tensor([list(src)], device=machine.device.torch), recorder)
    return {name: recorder.tensors[name][0].cpu().numpy() for name in stages(len(layers)).values()}


def travelled(src: Ids, changed: Ids, attention_off: bool = False) -> Array:
    """How far each row is moved (S, stages) when a sentence's ids change: the length of its difference, as a share of
    the length that it had."""
    before, after = (encoder_states(ids, attention_off) for ids in (src, changed))
    moved = [
        np.linalg.norm(after[name] - before[name], axis=1) / np.linalg.norm(before[name], axis=1) for name in before
    ]
    return np.stack(moved, axis=1)


@functools.cache
def everyday_words() -> dict[str, int]:
    """Words of the example sentences that are a single piece, with its id, in alphabetical order."""
    tokenizer = engine.machine().tokenizer
    found = {}
    for sentence in example_sentences():
        tokens = tokenizer.tokens(tokenizer.encode(sentence))
        for group in groups_of(tokens, by_word=True):
            if len(group.pieces) == 1 and group.label.isalpha():
                found[group.label] = tokens[group.pieces[0]].id
    return dict(sorted(found.items(), key=lambda item: item[0].lower()))
