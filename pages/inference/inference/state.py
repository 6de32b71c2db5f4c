"""A translation under the visitor's hand: which step is shown, which pieces they chose, what becomes of them.

The step and the chosen pieces live in the address, as `at=4` and `prefix=306.1201`, ids of the vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from experiments.attention.ablation import all_heads, log_probabilities_hiding, log_probabilities_without
from model.decoding.strategies import Beam, Greedy, Hypothesis, Sampling, Step
from model.interventions import Head
from model.text.tokenizer import EOS, EOS_ID, Token
from model.trace import Array, Trace
from ui import engine
from ui.controls.address import read_count, write_count
from ui.controls.chosen_pieces import ChosenPieces, Ids
from ui.text import bold, in_markdown, piece

_STEP = "at"  # in the address
PREFIX = ChosenPieces("prefix")


def read_step(n_steps: int) -> int:
    """The step that is shown, counted from 0; the last one if there are fewer."""
    return min(read_count(_STEP, 1000, 1) or 1, n_steps) - 1


def write_step(step: int) -> None:
    write_count(_STEP, step + 1, 1)


def read_prefix(trace: Trace) -> tuple[Ids, str]:
    """The ids that the translation of this sentence is to begin with, and what was left out of them and why, or ''."""
    return PREFIX.read(trace.text, trace.model.config.vocab_size)


def write_prefix(prefix: Ids) -> None:
    PREFIX.write(prefix)


def written(trace: Trace, prefix: Ids) -> Trace:
    """The sentence's trace with a translation that begins with the chosen pieces."""
    return engine.retrace(trace, decoding=Greedy(prefix=prefix)) if prefix else trace


def own_choice(step: Step) -> int:
    """The id that the model itself would have written."""
    return step.candidates[0].id


def yours(writing: Trace) -> list[bool]:
    """For each piece written, whether it is another than the model's own choice."""
    return [own_choice(step) != label.id for step, label in zip(writing.steps, writing.labels, strict=True)]


def choose(writing: Trace, step: int, id: int) -> None:
    """Write this piece at this step, and let the model go on. What it would have written anyway needs no choosing."""
    prefix = [*ids(writing.labels[:step]), id]
    while prefix and prefix[-1] == own_choice(writing.steps[len(prefix) - 1]):
        prefix.pop()
    write_prefix(tuple(prefix))
    write_step(step)


def beam(trace: Trace, size: int, prefix: Ids) -> tuple[Step, ...]:
    """The steps of a beam search. The length penalty only orders what has finished, so it is left to the page."""
    return engine.retrace(trace, decoding=Beam(size, prefix=prefix)).steps


def sampled(trace: Trace, temperature: float, top_k: int, top_p: float, seed: int, prefix: Ids) -> Trace:
    return engine.retrace(trace, decoding=Sampling(temperature, top_k, top_p, seed, prefix=prefix))


@dataclass(frozen=True)
class Without:
    """The probability of one piece written when something is taken away.

    words: the `word` of source tokens; hidden: with each of them hidden from everybody
    heads: of the decoder; off: with each of them switched off
    """

    words: tuple[int, ...]
    hidden: Array
    heads: tuple[Head, ...]
    off: Array


def without_each(writing: Trace, step: int, words: tuple[int, ...]) -> Without:
    """Measured for the piece of one step, given those before it: each word and each decoder head taken away in turn."""
    heads = tuple(head for head in all_heads(writing.model.anatomy) if head.attention != "encoder")
    labels = writing.labels[: step + 1]
    _, hidden = engine.run(log_probabilities_hiding, writing.model, writing.src, labels, words)
    off = engine.run(log_probabilities_without, writing.model, writing.src_ids, ids(labels), heads)
    return Without(words, np.exp(hidden[1:, -1]), heads, np.exp(off[:, -1]))


def cache_at(writing: Trace, step: int) -> tuple[int, int, int]:
    """What the key-value cache holds after a step: positions of what was read, of the source, and bytes in all layers.

    A cache keeps the very keys and values that one pass over the whole translation computes: of the translation the
    first ones, of the source all.
    """
    kept = [
        (writing.attention("decoder", layer, what)[:, : step + 1], writing.attention("cross", layer, what))
        for layer in range(writing.model.config.n_layers)
        for what in "kv"
    ]
    own, source = kept[0]
    return own.shape[1], source.shape[1], sum(one.nbytes + other.nbytes for one, other in kept)


def ids(tokens: Sequence[Token]) -> Ids:
    return tuple(token.id for token in tokens)


def now(trace: Trace) -> tuple[Trace, int]:
    """The translation as the visitor has it, and the step that is shown, counted from 0."""
    prefix, _ = read_prefix(trace)
    writing = written(trace, prefix)
    return writing, read_step(len(writing.labels))


def text_of(trace: Trace, id: int) -> str:
    """An entry of the model's vocabulary as it can be seen."""
    (token,) = trace.model.tokenizer.tokens([id])
    return piece(token.text)


def candidates(writing: Trace, step: int) -> list[tuple[int, float]]:
    """Ids and probabilities of a step's likeliest pieces, best first, and of the one written if it is none of them."""
    likeliest = [(candidate.id, candidate.probability) for candidate in writing.steps[step].candidates]
    label = writing.labels[step].id
    return likeliest if label in dict(likeliest) else [*likeliest, (label, writing.probabilities[step])]


def ended(writing: Trace) -> str:
    """What there is to say about the pieces that the visitor chose, and about the end."""
    chosen = [n for n, other in enumerate(yours(writing)) if other]
    if chosen and writing.labels[chosen[-1]].id == EOS_ID:
        return f"You ended the sentence: after {in_markdown(EOS)} nothing more is written."
    if chosen:
        return "Chosen by you: " + ", ".join(bold(piece(writing.labels[n].text)) for n in chosen) + "."
    if not writing.finished:
        return "The model did not come to an end by itself; it was stopped."
    return "Every piece so far is the model's own choice."


def as_text(trace: Trace, one: Hypothesis) -> str:
    """A translation, finished or not."""
    return trace.model.tokenizer.decode(one.ids) + ("" if one.finished else " …")
