"""Who reads the learner's sentence with fewer pairs, the small GPT or the translator, and what that costs."""

from dataclasses import replace

import numpy as np

from experiments.attention import patterns
from experiments.attention.patterns import ALL, NOTHING, Pairs, read_sparsely, translate_sparsely
from model.files.loaded_model import Array
from model.text.tokenizer import EOS_ID
from model.trace import Trace
from pages.family.gpt.reading import gpt, perplexity, read, unsure
from ui import engine
from ui.controls.control import Choice
from ui.text import bold, number

GPT, TRANSLATOR = "GPT", "Translator"
READER = Choice("Model", "reader", (GPT, TRANSLATOR))


def of_text(trace: Trace, pattern: str = ALL, k: int = 0) -> patterns.Cost:
    """What a pattern costs the text as GPT reads it."""
    labels = read(trace).label_ids
    if k >= len(labels):  # nothing is out of reach
        pattern, k = ALL, 0
    return engine.run(patterns.cost, gpt(), labels, pattern, k)


def sparse(trace: Trace, pattern: str = ALL, k: int = 0, hidden: Pairs = NOTHING) -> Trace:
    """The text as the chosen model reads it with the pairs that are left. A reading by the translator has a `src`."""
    if READER.value() == TRANSLATOR:
        first = engine.trace(trace.text)
        given = first.src_ids, first.label_ids, pattern, k, hidden
        tensors, ids = engine.run(translate_sparsely, first.model, *given)
        translation = first.model.tokenizer.decode(ids)
        return replace(first, tensors=tensors, translation=translation, finished=ids[-1] == EOS_ID)
    return engine.run(read_sparsely, gpt(), trace.text, pattern, k, hidden)


def path(reading: Trace) -> str:
    """Of the self-attention that is shown: the last of GPT, or of the translator's encoder."""
    return reading.model.anatomy.attentions["encoder" if reading.src else "decoder"][-1].path


def last(reading: Trace, what: str) -> Array:
    """A tensor (H,T,T) of it."""
    return reading.tensors[f"{path(reading)}.{what}"]


def left(reading: Trace) -> tuple[int, int]:
    """Of the pairs of one of its heads: those that are left, and all."""
    n = len(reading.tgt)
    return int(np.isfinite(last(reading, "scores")[0]).sum()), len(reading.src) ** 2 or n * (n + 1) // 2


def sureness(reading: Trace) -> str:
    """Perplexity of a text; of a translation, the mean probability of its pieces."""
    return number(float(np.mean(reading.probabilities)), 3) if reading.src else unsure(perplexity(reading))


def written(reading: Trace) -> str:
    return (reading.translation or "(nothing)") + " …" * (not reading.finished)


def cost(trace: Trace, reading: Trace) -> str:
    """What the model makes of the sentence with all pairs, and with those that are left."""
    whole, (kept, pairs) = sparse(trace), left(reading)
    before, now = sureness(whole), sureness(reading)
    says = f"**{kept}** of {pairs} pairs are left. "
    if not reading.src:
        return f"{says}Perplexity of your text: {before} with all pairs, **{now}** with these."
    return (
        f"{says}With all pairs it writes: {bold(written(whole))} These pieces have a mean probability of {before}, "
        f"with fewer pairs **{now}**. It then writes: {bold(written(reading))}"
    )
