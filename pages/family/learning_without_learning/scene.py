"""The first screen: the model's guesses swing to a hidden rule while it reads more and more pairs."""

import numpy as np

from model.files.load_special_models import loaded_in_context
from model.trace import Trace
from pages.family.learning_without_learning.along_rule import ALONG, STOPS, Read, read_task
from pages.family.learning_without_learning.tasks import RIDGE, TRANSFORMER, numbered
from ui import engine
from ui.components.scene import Axis, Card, Cards, Curve, Frame, Line, Row, Scene
from ui.text import number

ASKED = 16  # the last x that is drawn as numbers
SHOWN = 6  # pairs that are drawn as numbers


def scene(trace: Trace) -> Scene:
    read = engine.run(read_task, loaded_in_context(), trace.text)
    misses = read.miss(read.own)
    return Scene(
        "Learning without learning: the model reads pairs of x (five numbers) and y, then one more x, and guesses its "
        "y. It reads numbers, not words: your sentence only picks the hidden rule at random.",
        "Pairs that it reads",
        [scene_frame(read, stop) for stop in range(len(STOPS))],
        by="slider",
        start=int((misses <= misses[0] / 2).argmax()),  # where it has begun to swing
        plays=True,
    )


def scene_frame(read: Read, stop: int) -> Frame:
    n = STOPS[stop]
    own, ridge = (number(float(read.miss(guesses)[stop]), 2) for guesses in (read.own, read.ridge))
    return Frame(
        f"{n}",
        f"After **{n}** pair{'s' * (n > 1)} its guesses lie **{own}** off the rule on average; those of ridge "
        f"regression, on average the best formula for such rules, {ridge}. Weights changed: **0** of "
        f"{loaded_in_context().n_parameters:,}.",
        [[pairs_read(read, n)], [guessed(read, stop)]],
    )


def pairs_read(read: Read, n: int) -> Cards:
    """The last pairs that were read, each y below the five numbers of its x; then the x that is asked."""
    first = max(0, n - SHOWN)
    cards = [
        Card(number(float(read.y[i]), 2), note=numbered("y", i + 1), column=read.x[i].tolist())
        if i < n
        else Card("·", "unseen", note=numbered("y", i + 1))
        for i in range(first, first + SHOWN)
    ]
    asked = Card("?", "asked", note="asked", column=(ALONG[ASKED] * read.direction).tolist())
    return Cards([Row([*cards, asked], "x above its y")], limit=2.5)


def guessed(read: Read, stop: int) -> Curve:
    """The guesses along the rule, and where the pairs lie that were read."""
    along = read.x @ read.direction
    inside = np.abs(along) <= ALONG[-1]
    top = float(np.ceil(max(np.abs(of).max() for of in (read.own, read.ridge, read.rule, read.y[inside]))))
    lines = (
        Line("hidden rule", [*zip(ALONG, read.rule, strict=True)], "plain", dashed=True),
        Line(TRANSFORMER, [*zip(ALONG, read.own[stop], strict=True)]),
        Line(RIDGE, [*zip(ALONG, read.ridge[stop], strict=True)], "key", dashed=True),
    )
    return Curve(
        lines,
        Axis("x along the rule; green: pairs that were read", float(ALONG[0]), float(ALONG[-1])),
        Axis("y", -top, top),
        knob=(float(ALONG[ASKED]), float(read.own[stop][ASKED])),
        dots=[(float(along[i]), float(read.y[i])) for i in range(STOPS[stop]) if inside[i]],
    )
