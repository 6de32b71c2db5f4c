"""What heads are called and do, on a sentence and over the test set, and which of them a visitor has switched off."""

import functools

import numpy as np
import streamlit as st

from experiments.attention.ablation import all_heads, log_probabilities_without
from experiments.attention.head_roles import (
    Measured,
    aligned_words,
    evenness,
    head_places,
    load_measured,
    role,
    shares,
    uniform,
)
from experiments.passes import changed_pass
from figures.probabilities import probabilities_of
from model.files.checkpoint import CheckpointError
from model.files.loaded_model import Array, LoadedModel
from model.interventions import Head, InterventionError, Interventions
from model.text.tokenizer import SOS_ID
from model.trace import Trace
from ui import engine

OFF = "off"  # the parameter in the address: heads like cross.2.1+encoder.0.3
MAX_CHARS = 1000  # of it that are read


def layer_of(trace: Trace, head: Head) -> tuple[Head, ...]:
    """All heads of a head's layer."""
    attention = trace.model.anatomy.attention(head.attention, head.layer)
    return tuple(Head(head.attention, head.layer, n) for n in range(attention.n_heads))


@functools.lru_cache(8)
def measured(loaded: LoadedModel) -> tuple[Measured | None, str]:
    """The shares over the test sentences, or None and what is wrong with their file."""
    try:
        return load_measured(loaded.anatomy), ""
    except CheckpointError as error:
        return None, str(error)


def aligned(trace: Trace) -> tuple[int, ...]:
    """The source word behind each piece of the translation, or −1; one run for each word, remembered."""
    return engine.run(aligned_words, trace.model, trace.src, trace.labels)


def shares_here(trace: Trace, kind: str, layer: int) -> tuple[list[dict[str, float]], dict[str, float]]:
    """The shares of every head of a layer on this sentence, and those of equal weights."""
    counted = head_places(trace, kind, aligned(trace) if kind == "cross" else ())
    weights = trace.attention(kind, layer)
    given, equal = shares(weights, counted), shares(uniform(kind, *weights.shape[1:]), counted)
    heads = [{name: float(share[head]) for name, share in given.items()} for head in range(len(weights))]
    return heads, {name: float(share) for name, share in equal.items()}


def roles_here(trace: Trace, kind: str, layer: int) -> list[str]:
    """What every head of a layer does on this sentence, in words."""
    heads, equal = shares_here(trace, kind, layer)
    return [role(kind, head, equal) for head in heads]


def evenness_here(trace: Trace, kind: str, layer: int) -> list[float]:
    """How evenly every head of a layer spreads its weight on this sentence, from 0 to 1."""
    return [float(one) for one in evenness(kind, trace.attention(kind, layer))]


def change_without(trace: Trace) -> dict[Head, float]:
    """How the log-probability of the translation (in nats) changes when each head of the model is off alone."""
    heads = tuple(all_heads(trace.model.anatomy))
    without = engine.run(log_probabilities_without, trace.model, trace.src_ids, trace.label_ids, heads)
    changes = without.sum(-1, dtype=np.float64) - np.log(trace.probabilities).sum()
    return dict(zip(heads, changes.tolist(), strict=True))


def probabilities_with(trace: Trace, change: Interventions) -> Array:
    """The probability (T) that a changed model gives each piece of the translation, given those before it."""
    labels = trace.label_ids
    tensors = engine.run(changed_pass, trace.model, trace.src_ids, (SOS_ID, *labels[:-1]), change, ("logits",))
    return probabilities_of(tensors["logits"], labels)


def read_off(loaded: LoadedModel) -> tuple[Interventions, str]:
    """The heads that the address switches off, and what is wrong with it, if anything."""
    text = st.query_params.get(OFF, "")[:MAX_CHARS].replace(" ", "+")  # a + typed by hand arrives as a space
    if not text:
        return Interventions(), ""
    try:
        change = Interventions(heads_off=Interventions.parse(f"heads_off:{text}").heads_off)
        change.check(loaded.anatomy, src_len=1)
    except InterventionError as error:
        return Interventions(), str(error)
    return change, ""


def write_off(heads: tuple[Head, ...]) -> None:
    """Put the heads to be switched off into the address; none is left out."""
    change = Interventions(heads_off=heads)
    if change:
        st.query_params[OFF] = "+".join(map(str, change.heads_off))
    else:
        st.query_params.pop(OFF, None)
