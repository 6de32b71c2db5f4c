"""One word in two sentences, and one sentence with a word changed: vectors that depend on their context."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from experiments.passes import Ids
from experiments.writing.examples import example_sentences
from figures.embedding_space import cosines
from figures.grouping import Group, words
from model.files.loaded_model import Array, LoadedModel
from model.interventions import Block, Interventions
from model.tap import Recorder
from model.text.tokenizer import Token
from model.trace import Trace

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
    for group in words([token.text for token in tokens], [token.word for token in tokens]):
        if tokens[group.pieces[0]].word >= 0 and any(sign.isalnum() for sign in group.label):
            found.setdefault(tuple(tokens[i].id for i in group.pieces), group)
    return found


def partner(trace: Trace) -> str:
    """A sentence to set beside this one: of those that share a word with it, the one with the longest."""
    tokenizer = trace.model.tokenizer

    def longest(sentence: str) -> int:
        found = shared_words(trace.src, tokenizer.tokens(tokenizer.encode(sentence)))
        return max((len(shared.word) for shared in found), default=0)

    return max((sentence for sentence in PARTNERS if sentence != trace.text), key=longest)


def stages(loaded: LoadedModel) -> dict[str, str]:
    """What a vector passes on its way up the encoder: a label, and the name of its tensor."""
    encoder = loaded.anatomy.stack("encoder")
    above = {f"after layer {layer.index + 1}": layer.writes for layer in encoder.layers}
    return {"look-up": f"{encoder.embedding}.tokens", "with position": encoder.embedding_writes} | above


def vectors(trace: Trace, pieces: Sequence[int]) -> Array:
    """The vector of a word at each stage (stages, d_model): the mean of its pieces'."""
    return np.stack([trace.tensors[name][list(pieces)].mean(0) for name in stages(trace.model).values()])


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
        return np.full(len(stages(one.model)), np.nan)
    return np.array([cosines(left, right)[differ].mean() for left, right in zip(rows[0], rows[1], strict=True)])


@torch.inference_mode()
def encoder_states(loaded: LoadedModel, src: Ids, attention_off: bool = False) -> Mapping[str, Array]:
    """The tensors of all stages for a sentence given by its ids; with or without the encoder's self-attention."""
    layers = loaded.anatomy.stack("encoder").layers
    off = tuple(Block("encoder", layer.index, "self_attn") for layer in layers) if attention_off else ()
    recorder = Recorder(Interventions(blocks_off=off).compile(loaded.anatomy))
    loaded.model.encode(torch.tensor([list(src)], device=loaded.device.torch), recorder)
    return {name: recorder.tensors[name][0].cpu().numpy() for name in stages(loaded).values()}


def travelled(loaded: LoadedModel, src: Ids, changed: Ids, attention_off: bool = False) -> Array:
    """How far each row is moved (S, stages) when a sentence's ids change: the length of its difference, as a share of
    the length that it had."""
    before, after = (encoder_states(loaded, ids, attention_off) for ids in (src, changed))
    moved = [
        np.linalg.norm(after[name] - before[name], axis=1) / np.linalg.norm(before[name], axis=1) for name in before
    ]
    return np.stack(moved, axis=1)


def everyday_words(loaded: LoadedModel) -> dict[str, int]:
    """Words of the example sentences that are a single piece, with its id, in alphabetical order."""
    tokenizer, ids = loaded.tokenizer, {}
    for sentence in example_sentences(loaded):
        tokens = tokenizer.tokens(tokenizer.encode(sentence))
        for group in words([token.text for token in tokens], [token.word for token in tokens]):
            if len(group.pieces) == 1 and group.label.isalpha():
                ids[group.label] = tokens[group.pieces[0]].id
    return dict(sorted(ids.items(), key=lambda item: item[0].lower()))
