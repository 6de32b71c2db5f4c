"""What the lesson on the feed-forward network asks before it shows anything."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from experiments.passes import changed_pass
from figures.probabilities import probabilities_of
from model.anatomy.structure import Layer
from model.interventions import Block, Interventions
from model.trace import Trace
from pages.blocks.feed_forward.leave_out import differences_alone
from pages.blocks.feed_forward.network import network_of
from ui import engine
from ui.controls.layer_control import LAYER, phrase_of, tokens_of_layer
from ui.course.quiz import Ask, Question
from ui.text import in_markdown, magnitude, number

SAME = 0.02  # a mean probability that differs by less is called the same


def predict(trace: Trace) -> Sequence[Ask]:
    layer = LAYER.value(trace.model)
    return how_many_fire(trace, layer), partial(position_wise, trace, layer), partial(what_hurts_more, trace, layer)


def how_many_fire(trace: Trace, layer: Layer) -> Question:
    hidden, tokens = trace.tensors[f"{network_of(trace, layer).path}.hidden"], tokens_of_layer(trace, layer)
    row = min(1, len(tokens) - 1)
    n, share = int((hidden[row] > 0).sum()), float((hidden[row] > 0).mean())
    right = 0 if share < 0.1 else 1 if share <= 0.5 else 2
    return Question(
        "firing",
        f"Of the {hidden.shape[1]:,} hidden units of {phrase_of(layer)}: how many fire (are above 0) for "
        f"**{in_markdown(tokens[row].text)}** (piece {row + 1})?",
        ("fewer than one in ten", "between one in ten and a half", "more than half"),
        frozenset({right}),
        f"It is {n} of {hidden.shape[1]:,}, so {1 - share:.1%} rest.",
        wrong={
            option: f"That would be {than} {count:,.0f} units."
            for option, (than, count) in enumerate(
                (
                    ("fewer than", hidden.shape[1] / 10),
                    ("at least", hidden.shape[1] / 10),
                    ("more than", hidden.shape[1] / 2),
                )
            )
            if option != right
        },
    )


def position_wise(trace: Trace, layer: Layer) -> Question:
    network_differs, attention_differs = differences_alone(trace, layer)
    tiny = 1e-3
    same = network_differs < tiny, attention_differs < tiny
    right = {(True, False): 0, (False, True): 1, (True, True): 2, (False, False): 3}[same]
    wrong = (
        "The other rows are gone; one of the two blocks does notice.",
        "Self-attention mixes the rows of a sentence; alone there is nothing to mix.",
        "Self-attention mixes the rows of a sentence; alone it has only the one.",
        "The feed-forward network never looks at another row.",
    )
    return Question(
        "alone",
        f"Take one row out of your sentence and send it alone through the two blocks of {phrase_of(layer)}. "
        f"Which of them "
        "writes the same for it as before? (The same: no number differs by a thousandth.)",
        ("only the feed-forward network", "only self-attention", "both", "neither"),
        frozenset({right}),
        f"The largest difference is {magnitude(network_differs)} for the network and "
        f"{magnitude(attention_differs)} for "
        "self-attention. (Some slides say that in the feed-forward network the pieces learn from each other. "
        f"They do not: "
        "that is what attention is for.)",
        wrong={option: says for option, says in enumerate(wrong) if option != right},
    )


def what_hurts_more(trace: Trace, layer: Layer) -> Question:
    block = Block(layer.stack, layer.index, "feed_forward")
    off, linear = (
        float(
            probabilities_of(
                engine.run(changed_pass, trace.model, trace.src_ids, trace.tgt_ids, change, ("logits",))["logits"],
                list(trace.label_ids),
            ).mean()
        )
        for change in (Interventions(blocks_off=(block,)), Interventions(relu_off=(block,)))
    )
    right = 2 if abs(off - linear) < SAME else 0 if linear < off else 1
    wrong = (
        "Without the ReLU the translation stays likelier than without the network.",
        "Without the network the translation stays likelier than without the ReLU.",
        f"The two mean probabilities differ by {number(abs(off - linear), 2)}.",
    )
    return Question(
        "hurts",
        f"What makes your translation less likely in {phrase_of(layer)}: to leave out the ReLU alone, or the whole "
        f"network? (The same: the mean probability of its pieces differs by less than {number(SAME, 2)}.)",
        ("the ReLU alone", "the whole network", "both about the same"),
        frozenset({right}),
        f"The mean probability of the translation's pieces is {number(float(np.mean(trace.probabilities)))} as it is, "
        f"{number(linear)} without the ReLU and {number(off)} without the network.",
        wrong={option: says for option, says in enumerate(wrong) if option != right},
    )
