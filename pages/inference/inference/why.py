"""Why a piece was written: its score, where the model looked, what it read, and what it could not do without."""

import numpy as np
import streamlit as st

from model.interventions import Head
from model.trace import Trace
from pages.inference.inference.state import Without, text_of, without_each
from ui.text import bold, chance, in_markdown, number, piece
from ui.views.attention_kinds import KINDS

MOST = 15  # words that are hidden in turn: with more of them one would wait


def why(writing: Trace, step: int) -> Head | None:
    """Why this piece: its scores, where the model looked, what it read, and what it could not do without.

    Returns: the head whose absence costs it most, if any costs it something
    """
    label, likeliest = writing.labels[step], writing.steps[step].candidates
    name, own = bold(piece(label.text)), likeliest[0].id == label.id
    rival = likeliest[1] if own else likeliest[0]
    logits, probability = writing.tensors["logits"][step], writing.probabilities[step]
    score, other = (number(float(logits[id]), 2) for id in (label.id, rival.id))
    st.markdown(
        f"**Why {in_markdown(piece(label.text))}?** (step {step + 1})\n"
        + ("- **Score.** Its" if own else "- **Score.** You chose it: its")
        + f" score (logit) is {score}, that of {'the runner-up' if own else 'what the model would have written'} "
        f"{bold(text_of(writing, rival.id))} {other}. The softmax turns them into the probabilities "
        f"{chance(probability)} and {chance(rival.probability)}.\n"
        f"- **Attention.** {looked_at(writing, step)}\n"
        f"- **Cache.** {read_from_cache(writing, step)}\n"
        f"- **Source word.** {cause_of(writing, step, name)}\n"
        f"- **Head.** {head_behind(writing, step)}\n\n"
        "Attention says where it *looked*; only hiding and switching off say what it *needed*."
    )
    measured = without(writing, step)
    least = int(measured.off.argmin())
    return measured.heads[least] if measured.off[least] < probability else None


def looked_at(writing: Trace, step: int) -> str:
    layers = range(writing.model.config.n_layers)
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
    n, t, s = writing.model.config.n_layers, step + 1, len(writing.src)
    own = np.mean([writing.attention("decoder", layer)[:, step, :t] for layer in range(n)], (0, 1))
    most, n_heads = int(own.argmax()), n * writing.model.config.n_heads
    return (
        f"In each of {n} layers it read the keys and values of the {t} piece{'s' * (t > 1)} read so far and of the {s} "
        f"of your sentence: {n}\u00a0·\u00a0({t}\u00a0+\u00a0{s}) = {n * (t + s)} pairs of them. "
        + (
            f"{n} are new, the others were kept from earlier steps. Of what it had read it looked most at "
            f"{bold(piece(writing.tgt[most].text))} (piece {most + 1}): {number(float(own[most]), 2)}, the mean over "
            f"all {n_heads} heads of the masked self-attention."
            if step
            else "In this first step all are new."
        )
    )


def without(writing: Trace, step: int) -> Without:
    """What becomes of a step's piece without each head, and each word or, of many, each it looks at most."""
    mean = np.mean(
        [writing.attention("cross", layer)[:, step] for layer in range(writing.model.config.n_layers)], (0, 1)
    )
    shares: dict[int, float] = {}
    for token, weight in zip(writing.src, mean, strict=True):
        shares[token.word] = shares.get(token.word, 0.0) + float(weight)
    words = sorted(shares.keys() - {-1}, key=lambda word: -shares[word])[:MOST]
    return without_each(writing, step, tuple(words))


def cause_of(writing: Trace, step: int, name: str) -> str:
    """The word without which this piece becomes least likely, measured."""
    measured = without(writing, step)
    before, after = writing.probabilities[step], measured.hidden
    least = int(after.argmin())
    all_words = len(measured.words) == len({token.word for token in writing.src} - {-1})
    if after[least] >= before:
        which = "one word of yours" if all_words else f"one of the {MOST} words that it looks at most"
        return f"Hiding any {which} does not make {name} less likely."
    word = writing.model.tokenizer.decode([token.id for token in writing.src if token.word == measured.words[least]])
    which = "other word of yours" if all_words else f"other of the {MOST} words that it looks at most"
    return (
        f"Hide the word {bold(word)} from the whole model, and the probability of {name} goes from {chance(before)} to "
        f"{chance(float(after[least]))}. No {which} costs it more."
    )


def head_behind(writing: Trace, step: int) -> str:
    """The head without which this piece becomes least likely, measured."""
    measured = without(writing, step)
    before, after = writing.probabilities[step], measured.off
    least = int(after.argmin())
    if after[least] >= before:
        return f"Switching off any one of the {len(measured.heads)} heads of the decoder does not make it less likely."
    head = measured.heads[least]
    name = f"layer {head.layer + 1}, head {head.head + 1} of the {KINDS[head.attention].name.lower()}"
    goes = f"the probability goes from {chance(before)} to {chance(float(after[least]))}"
    if after[least] > before / 2:
        return (
            f"None of the {len(measured.heads)} heads of the decoder decides alone: without {name}, which costs it "
            f"most, {goes}."
        )
    return (
        f"Of the {len(measured.heads)} heads of the decoder, it needs one most: {name}. With that one "
        f"switched off, {goes}."
    )
