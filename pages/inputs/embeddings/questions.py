"""Predict: three questions, answered from the learned matrix and from two sentences."""

from collections.abc import Mapping, Sequence
from functools import partial

from experiments.inputs.contextual_vectors import encoder_states
from experiments.inputs.vocabulary import cosines_of, embedding_matrix
from figures.embedding_space import distance, largest_difference, one_hot
from model.files.loaded_model import Array, LoadedModel
from model.text.tokenizer import EOS_ID
from model.trace import Trace
from ui import engine
from ui.controls.vocabulary_entry import entries, neighbours_of
from ui.course.quiz import Ask, Question
from ui.text import in_markdown, number

BANKS = ("I put my money in the bank.", "We sat on the bank of the river.")
WORKS = "big"  # a piece whose neighbours make sense
ALL_BUT_THE_SAME = 0.98  # a cosine from which on it is chance which of many pieces is called the nearest
NEAR = 0.45  # a piece of the sentence is asked about if its nearest neighbour has at least this cosine


def first_id(loaded: LoadedModel, word: str) -> int:
    """The id of a word, or of its first piece."""
    return loaded.tokenizer.encode(word)[0]


def row_of(loaded: LoadedModel, sentence: str, word: str) -> int:
    """Where a word's first piece stands in a sentence."""
    return loaded.tokenizer.encode(sentence).index(first_id(loaded, word))


def states_of(loaded: LoadedModel, sentence: str) -> Mapping[str, Array]:
    """The tensors of a sentence in the encoder, from the look-up to the last layer."""
    return engine.run(encoder_states, loaded, (*loaded.tokenizer.encode(sentence), EOS_ID))


def predict(trace: Trace) -> Sequence[Ask]:
    return one_hot_question(trace.model), partial(nearest_question, trace), partial(bank_question, trace.model)


def one_hot_question(loaded: LoadedModel) -> Question:
    size = len(embedding_matrix(loaded))
    dog, cat, because = (first_id(loaded, word) for word in ("dog", "cat", "because"))
    near, far = (distance(one_hot(dog, size), one_hot(i, size)) for i in (cat, because))
    alike = engine.run(cosines_of, loaded, (dog,), (cat, because))[0]
    return Question(
        "one-hot",
        "As a *one-hot vector*, a piece is a long row of 0 with a single 1 at the place of its id. Which of these "
        "vectors lies nearer to that of *dog*: that of *cat* or that of *because*?",
        ("cat", "because", "neither: both are equally far"),
        frozenset({0 if near < far else 1 if near > far else 2}),
        f"Both distances are √(1² + 1²) = {number(near)}: two one-hot vectors differ in exactly two places. The rows "
        f"of E are not like that: the cosine of *dog* and *cat* is {number(float(alike[0]), 2)}, of *dog* and "
        f"*because* {number(float(alike[1]), 2)} (1 means the same direction).",
        wrong={
            0: "A cat is more like a dog, but a one-hot vector holds nothing but the id.",
            1: "The ids may lie closer together in the list, but a one-hot vector does not count places.",
        },
    )


def asked_about(trace: Trace) -> int:
    """The piece of the sentence with the nearest neighbour that is one alone, or one that works where none is near."""
    name = trace.model.name
    own = dict.fromkeys(token.id for token in trace.src if token.word >= 0)
    nearest = {id: neighbours_of(id, name)[1][0] for id in own}
    clear = [id for id, cosine in nearest.items() if NEAR <= cosine <= ALL_BUT_THE_SAME]
    return max(clear, key=lambda id: nearest[id]) if clear else first_id(trace.model, WORKS)


def nearest_question(trace: Trace) -> Question:
    entry, names = asked_about(trace), entries(trace.model.name)
    ids, values = neighbours_of(entry, trace.model.name)
    # The nearest, a distant neighbour and two entries picked by their place in the vocabulary: no chance in it.
    others = [ids[-1], *(i for i in (entry + 1, entry + 2, entry + 3, entry - 1, entry - 2) if 0 <= i < len(names))]
    options = sorted({ids[0], *[i for i in dict.fromkeys(others) if i != ids[0] and names[i] != names[ids[0]]][:3]})
    return Question(
        "nearest",
        f"Which of these has the row of E that points most nearly the same way as the row of "
        f"**{in_markdown(names[entry])}**?",
        tuple(in_markdown(names[i]) for i in options),
        frozenset({options.index(ids[0])}),
        f"Of all {len(names) - 1:,} others, it has the largest cosine once the mean of all rows is taken from each: "
        f"{number(values[0])}. *Do* shows who comes next.",
        wrong={
            n: f"{in_markdown(names[i])} is number {ids.index(i) + 1} in the list of the nearest."
            if i in ids
            else f"{in_markdown(names[i])} only stands near it in the vocabulary; its id tells nothing about meaning."
            for n, i in enumerate(options)
            if i != ids[0]
        },
    )


def bank_question(loaded: LoadedModel) -> Question:
    name = f"{loaded.anatomy.stack('encoder').embedding}.tokens"
    rows = [states_of(loaded, text)[name][row_of(loaded, text, "bank")] for text in BANKS]
    off = largest_difference(*rows)
    return Question(
        "bank",
        f"*{BANKS[0]}* and *{BANKS[1]}* Does *bank* have the same embedding in both?",
        ("Yes", "No, the neighbours change it", "No, the place in the sentence changes it"),
        frozenset({0 if off == 0 else 1}),
        f"The largest difference between the two rows is {number(off, 1)}: the look-up knows nothing but the id.",
        wrong={
            1: "Neighbours change the vector later, by attention; the embedding is looked up before that.",
            2: "The place is added in the next step, as a vector of its own; the embedding itself does not know it.",
        },
    )
