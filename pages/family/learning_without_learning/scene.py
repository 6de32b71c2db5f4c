"""The first screen: the model's guesses swing to a hidden rule while it reads more and more pairs."""

import zlib
from dataclasses import dataclass

import numpy as np
import torch

from model.files.load_special_models import in_context_metrics, loaded_in_context
from model.files.loaded_model import LoadedModel
from model.trace import Trace
from pages.family.learning_without_learning.tasks import RIDGE, TRANSFORMER, ZERO, Array, numbered
from training.loop.in_context import Regression
from ui import engine
from ui.components.scene import Axis, Bar, Bars, Card, Cards, Curve, Frame, Line, Row, Scene
from ui.text import number

STOPS = (1, 2, 3, 5, 8, 12, 20, 40)
ALONG = np.linspace(-2.5, 2.5, 21)  # the last x: so many times a vector of length 1 that points along the rule
ASKED = 16  # the one of them that is drawn as numbers
SHOWN = 9  # pairs that are drawn as numbers
IN_FILE = {ZERO: "zero", RIDGE: "ridge", TRANSFORMER: "in-context"}


@dataclass(frozen=True)
class Read:
    """A text's own task: pairs x (40,5), y (40); the rule's length and direction (5); at each stop what the model and
    ridge guess along the rule (8,21).
    """

    x: Array
    y: Array
    length: float
    direction: Array
    own: Array
    ridge: Array


@torch.inference_mode()
def read_task(loaded: LoadedModel, text: str) -> Read:
    """Draw a task that depends on the text alone, and have it read, stop by stop."""
    regression, seed = Regression(), zlib.crc32(text.encode("utf-8", "replace"))
    beta = regression.rules(1, torch.Generator().manual_seed(seed))[0]
    drawn = regression.prompts(1, torch.Generator().manual_seed(seed))
    x, y, many = drawn["x"][:, :-1], drawn["y"][:, :-1], len(ALONG)
    direction = beta / beta.norm()
    asked = torch.tensor(ALONG, dtype=x.dtype)[:, None] * direction
    own, ridge = [], []
    for n in STOPS:
        pairs = torch.cat([x[:, :n].expand(many, -1, -1), asked[:, None]], 1), torch.zeros(many, n + 1)
        pairs[1][:, :n] = y[:, :n]
        own.append(loaded.model(*(one.to(loaded.device.torch) for one in pairs))[:, -1].cpu().double().numpy())
        known = (one[:, :n].double().numpy().repeat(many, 0) for one in (x, y))
        ridge.append(regression.ridge(*known, asked.double().numpy()))
    pairs_read = (one[0].double().numpy() for one in (x, y))
    return Read(*pairs_read, float(beta.norm()), direction.double().numpy(), np.stack(own), np.stack(ridge))


def scene(trace: Trace) -> Scene:
    read = engine.run(read_task, loaded_in_context(), trace.text)
    misses = np.abs(read.own - read.length * ALONG).mean(1)
    return Scene(
        "Learning without learning: the model reads pairs of x (five numbers) and y, then one more x, and guesses its "
        "y. It reads numbers, not words: your sentence only picks the hidden rule at random.",
        "Pairs that it reads",
        [scene_frame(read, stop) for stop in range(len(STOPS))],
        by="slider",
        start=int((misses <= misses[0] / 2).argmax()),  # where it has begun to swing
        wide=(2.2, 1),
        plays=True,
    )


def scene_frame(read: Read, stop: int) -> Frame:
    n, rule = STOPS[stop], read.length * ALONG
    misses = [float(np.abs(guesses[stop] - rule).mean()) for guesses in (read.own, read.ridge)]
    weights = loaded_in_context().n_parameters
    return Frame(
        f"{n}",
        f"After **{n}** pair{'s' * (n > 1)} its guesses lie **{number(misses[0], 2)}** off the rule on average; those "
        f"of ridge regression, the best formula for such rules, {number(misses[1], 2)}. Weights changed: **0** of "
        f"{weights:,}.",
        [[pairs_read(read, stop)], [guessed(read, stop), squared_errors(n)]],
    )


def pairs_read(read: Read, stop: int) -> Cards:
    """The last pairs that were read, each y below the five numbers of its x; then the x that is asked."""
    n = STOPS[stop]
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
    along, rule = read.x @ read.direction, read.length * ALONG
    inside = np.abs(along) <= ALONG[-1]
    top = float(np.ceil(max(np.abs(of).max() for of in (read.own, read.ridge, rule, read.y[inside]))))
    lines = (
        Line("hidden rule", [*zip(ALONG, rule, strict=True)], "plain", dashed=True),
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


def squared_errors(n: int) -> Bars:
    """Measured after the training, on many tasks."""
    test = in_context_metrics()["test"]
    errors = {name: float(test[kept][str(n)]) for name, kept in IN_FILE.items()}
    bars = [Bar(name, error, number(error, 2), strong=name == TRANSFORMER) for name, error in errors.items()]
    noise = f"the noise alone: {Regression().sigma ** 2:g}"
    return Bars(bars, "squared error, 4,000 tasks", "query", limit=1.3, note=noise)
