"""What the lesson on Add & Norm asks before it shows anything."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from experiments.blocks.deep_stack import MAX_DEPTH, deep_run
from experiments.blocks.norm_comparison import per_feature, per_word
from figures.add_norm import mean_and_deviation
from model.anatomy.structure import Layer, SubLayer
from model.trace import Trace
from pages.blocks.add_and_norm.deep import size
from pages.blocks.add_and_norm.place import current_sublayer, number_of, sum_of
from pages.blocks.add_and_norm.two_norms import batches_of
from ui.controls.layer_control import LAYER, phrase_of, tokens_of_layer
from ui.course.quiz import Ask, Question
from ui.text import in_markdown, magnitude, number


def predict(trace: Trace) -> Sequence[Ask]:
    layer = LAYER.value(trace.model)
    sublayer = current_sublayer(layer)
    return mean_question(trace, layer, sublayer), partial(batch_question, trace, sublayer), gradient_question


def mean_question(trace: Trace, layer: Layer, sublayer: SubLayer) -> Question:
    total = trace.tensors[sum_of(sublayer)]
    row = int(total.std(1).argmax())
    (before,), (after,) = (mean_and_deviation(rows) for rows in (total[[row]], per_word(total[[row]])))
    pairs = ((0, 1), (1, 1), (1, 0), (0, 0))
    options = tuple(f"mean {mean}, deviation {deviation}" for mean, deviation in pairs)
    right = min(range(len(pairs)), key=lambda i: float(np.abs(after - pairs[i]).sum()))
    return Question(
        "mean",
        f"In {phrase_of(layer)}, Add & Norm {number_of(layer, sublayer)}, the sum of "
        f"**{in_markdown(tokens_of_layer(trace, layer)[row].text)}** has mean "
        f"{number(float(before[0]), 2)} and standard deviation {number(float(before[1]), 2)}. And after the norm, "
        "before γ and β?",
        options,
        frozenset({right}),
        f"It has mean {number(abs(float(after[0])), 2)} and deviation {number(float(after[1]), 2)}: the row's own mean "
        "is taken off, and what is left is divided by the row's own deviation. (A “unit mean”, as one reads here and "
        "there, is a slip: the mean becomes 0, the deviation 1.)",
        wrong={
            option: says
            for option, says in enumerate(
                (
                    "That is what comes out of the norm; look at both numbers again.",
                    "The mean is taken off, so it does not become 1.",
                    "It is the other way round: the deviation becomes 1, the mean does not.",
                    "Were the deviation 0, all numbers of the row would be the same.",
                )
            )
            if option != right
        },
    )


def batch_question(trace: Trace, sublayer: SubLayer) -> Question:
    own, *batches = batches_of(trace, sublayer)
    differences: list[float] = []
    for norm in (per_feature, per_word):
        one, two = (norm(np.concatenate([own, *others]))[: len(own)] for others in batches)
        differences.append(float(np.abs(one - two).max()))
    batch, layer_norm = (difference > 1e-3 for difference in differences)
    right = {(True, False): 0, (False, True): 1, (True, True): 2, (False, False): 3}[batch, layer_norm]
    return Question(
        "batch",
        "Your sentence stays, the other sentences of the batch are replaced. Under which norm do your words' vectors "
        "change?",
        ("batch norm", "layer norm", "both", "neither"),
        frozenset({right}),
        f"The largest difference is {magnitude(differences[0])} under batch norm and {magnitude(differences[1])} under "
        "layer norm, which looks at one word at a time.",
        wrong={
            option: says
            for option, says in enumerate(
                (
                    "Batch norm is not the only one, or not at all.",
                    "Layer norm looks at one word at a time: it does not know who stands beside it.",
                    "Layer norm looks at one word at a time, so it cannot change.",
                    "Batch norm takes mean and deviation over all words of the batch, strangers included.",
                )
            )
            if option != right
        },
    )


def gradient_question() -> Question:
    neither, both = (deep_run(joint, MAX_DEPTH).gradients[0] for joint in ("neither", "Add & Norm"))
    right = 0 if neither > 0.03 else 1 if neither > 1e-5 else 2
    return Question(
        "gradient",
        f"A stack of {MAX_DEPTH} layers with random weights and neither Add nor Norm. How large is the gradient at the "
        "first layer, if it is 1 at the top?",
        ("above 0.03", "between 0.00001 and 0.03", "below 0.00001"),
        frozenset({right}),
        f"It is {size(neither)}. With Add & Norm it is {size(both)}. Move the slider under *Do* and watch it "
        "fall with every layer.",
        wrong={
            option: says
            for option, says in enumerate(
                (
                    "Nothing hands it down whole: each of the layers weakens it.",
                    f"Each layer weakens it, and there are {MAX_DEPTH}: count again.",
                    "It shrinks, but not that far.",
                )
            )
            if option != right
        },
    )
