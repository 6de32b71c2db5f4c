"""Why a piece was written: its score, where the model looked, what it read, and what it could not do without."""

import numpy as np
import streamlit as st

from model.trace import Trace
from ui.attention import KINDS
from ui.decoding.state import text_of, without_each
from ui.engine import machine
from ui.text import bold, chance, in_markdown, number, piece


def why(writing: Trace, step: int) -> None:
    """Why this piece: its scores, where the model looked, what it read, and what it could not do without."""
    label, found = writing.labels[step], writing.steps[step].candidates
    name, own = bold(piece(label.text)), found[0].id == label.id
    rival = found[1] if own else found[0]
    logits, probability = writing.tensors["logits"][step], writing.probabilities[step]
    score, other = (number(float(logits[id]), 2) for id in (label.id, rival.id))
    st.markdown(
        f"**Why {in_markdown(piece(label.text))}?** (step {step + 1})\n"
        + ("- **Score.** Its" if own else "- **Score.** You chose it: its")
        + f" score (logit) is {score}, that of {'the runner-up' if own else 'what the model would have written'} "
        f"{bold(text_of(rival.id))} {other}. The softmax turns them into the probabilities {chance(probability)} and "
        f"{chance(rival.probability)}.\n"
        f"- **Attention.** {looked_at(writing, step)}\n"
        f"- **Cache.** {read_from_cache(writing, step)}\n"
        f"- **Source word.** {cause_of(writing, step, name)}\n"
        f"- **Head.** {head_behind(writing, step)}"
    )


def looked_at(writing: Trace, step: int) -> str:
    layers = range(machine().config.n_layers)
    weights = np.stack([writing.attention("cross", layer)[:, step] for layer in layers])  # (L,H,S)
    mean = weights.mean((0, 1))
    most = int(mean.argmax())
    layer, head = divmod(int(weights[:, :, most].argmax()), weights.shape[1])
    return (
        f"On average over all {weights.shape[0] * weights.shape[1]} heads of the encoder-decoder attention, it looked "
        f"most at {bold(piece(writing.src[most].text))} (piece {most + 1}): {number(float(mean[most]), 2)}. Most of "
        f"all in layer {layer + 1}, head {head + 1}: {number(float(weights[layer, head, most]), 2)}."
    )


def read_from_cache(writing: Trace, step: int) -> str:
    n, t, s = machine().config.n_layers, step + 1, len(writing.src)
    return (
        f"In each of {n} layers it read the keys and values of the {t} piece{'s' * (t > 1)} read so far and of the {s} "
        f"of your sentence: {n} · ({t} + {s}) = {n * (t + s)} pairs, of which "
        + (f"{n} are new and the others were kept from earlier steps." if step else "all are new in the first step.")
    )


def cause_of(writing: Trace, step: int, name: str) -> str:
    """The word without which this piece becomes least likely, measured."""
    without = without_each(writing.src, writing.labels[: step + 1])
    before, after = writing.probabilities[step], without.hidden
    least = int(after.argmin())
    if after[least] >= before:
        return f"Hiding any one word of yours does not make {name} less likely: the German before it is enough."
    word = machine().tokenizer.decode([token.id for token in writing.src if token.word == without.words[least]])
    return (
        f"Hide the word {bold(word)} from the whole model, and the probability of {name} goes from "
        f"{chance(before)} to {chance(float(after[least]))}. No other word of yours costs it more."
    )


def head_behind(writing: Trace, step: int) -> str:
    """The head without which this piece becomes least likely, measured."""
    without = without_each(writing.src, writing.labels[: step + 1])
    before, after = writing.probabilities[step], without.off
    least = int(after.argmin())
    if after[least] >= before:
        return "Switching off any one head of the decoder does not make it less likely: the others stand in."
    head = without.heads[least]
    return (
        f"Of the {len(without.heads)} heads of the decoder, it needs one most: layer {head.layer + 1}, head "
        f"{head.head + 1} of the {KINDS[head.attention].name.lower()}. With that one switched off the probability goes "
        f"from {chance(before)} to {chance(float(after[least]))}."
    )
