"""What the lesson on training one's own model must show before a training. What it shows then depends on the training:
tests/pages/training/test_train_it_yourself.py."""

import functools
import math
import random
import re
from collections.abc import Mapping, Sequence
from string import ascii_lowercase
from typing import Any

import numpy as np

from tests.oracle.language import claims, common
from tests.oracle.language import scene as screen
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import number
from tests.oracle.language.common import Statements, code_of
from tests.oracle.language.page import Page
from tests.oracle.language.statement import Statement
from tests.oracle.language.words import encoded
from tests.oracle.passes.forward import EOS, PAD, SOS, Array, softmax, tidied
from tests.oracle.passes.untrained import random_weights
from tests.oracle.shown.siblings import Sibling

prose = Prose("train_it_yourself")

TASKS = ["reverse", "copy", "sort"]
POSITIONS = ["sinusoidal", "learned", "relative", "rotary", "alibi", "none"]
PAIRS = (
    ("I ate an apple.", "Ich habe den Apfel verputzt."),
    ("The cat sleeps.", "Die Mieze pennt."),
    ("Good morning.", "Moin."),
    ("I am tired.", "Ich bin hundemüde."),
    ("He has no money.", "Er ist pleite."),
)
STATES = (
    {},
    {"task": "copy", "depth": "3", "n_heads": "8", "positions": "none", "rate": "10", "inside": "Probabilities"},
    {
        "task": "sort",
        "maps": "Encoder",
        "letters": "Wörter 12345 and more",
        "depth": "2",
        "n_heads": "4",
        "positions": "alibi",
    },
    {"trial": "Teach the translator", "n_heads": "1", "rate": "0.0003"},
    {"trial": "Teach the translator", "english_2": PAIRS[0][0], "german_2": PAIRS[0][1], "sentence": "🍎 42"},
    {"trial": "Teach the translator", "english_4": "very " * 100 + "good.", "present": "true", "step": "4"},
    {"trial": "Teach the translator", "german_3": " ", "positions": "rotary"},
    {"task": "none", "depth": "4", "n_heads": "0", "rate": "1e9", "maps": "Masked decoder", "letters": "123"},
)


SIZES: dict[str, Any] = {"vocab_size": 29, "d_model": 64, "d_ff": 128, "max_len": 16}
BLIND = math.log(29)
SOLVED = {"reverse": lambda text: text[::-1], "copy": str, "sort": lambda text: "".join(sorted(text))}
SIGNS = ("<pad>", "<sos>", "end", *ascii_lowercase)


def config(page: Page) -> dict[str, Any]:
    return SIZES | {
        "n_layers": int(page.choice("depth", ["1", "2", "3"], "1")),
        "n_heads": int(page.choice("n_heads", ["1", "2", "4", "8"], "2")),
        "positions": page.choice("positions", POSITIONS, "sinusoidal"),
    }


def read(page: Page, w: Mapping[str, Array], letters: str) -> Sibling:
    """Letters, and the right answer to them, through a tiny model."""
    answer = SOLVED[page.choice("task", TASKS, "reverse")](letters)
    ids = ([*map(SIGNS.index, text), EOS] for text in (letters, answer))
    return Sibling(config(page), dict(w), *ids)


def costs(one: Sibling) -> Array:
    """−ln P of each right letter."""
    return -np.log(softmax(one.logits)[np.arange(len(one.labels)), one.labels])


@functools.cache
def held_out() -> list[str]:
    rng = random.Random("held out")
    return ["".join(rng.choices(ascii_lowercase, k=rng.randint(3, 8))) for _ in range(200)]


def scene(page: Page) -> Statements:
    w = random_weights(**config(page))
    loss = np.concatenate([costs(read(page, w, text)) for text in held_out()]).mean()
    yield from tiny_scene(page, w, [(0, loss)], 1200, "Start", "its weights are random")


def tiny_scene(
    page: Page,
    w: Mapping[str, Array],
    points: Sequence[tuple[int, float]],
    n_steps: int,
    press: str,
    run: str,
    *more: Any,
) -> Statements:
    """points: steps and held-out losses so far; run: of the answer, more: what it names beside the cost of a letter"""
    letters = re.sub("[^a-z]", "", page.text.lower())[:8]
    before, now = (read(page, one, letters or "learning") for one in (random_weights(**config(page)), w))
    scores = now.logits.copy()
    scores[:, [PAD, SOS]] = -np.inf
    written = [
        screen.card(SIGNS[id], *(("written",) if id == right else ("asked", f"≠ {SIGNS[right]}")))
        for id, right in zip(scores.argmax(1), now.labels, strict=True)
    ]
    weights = now[f"decoder.layers.{config(page)['n_layers'] - 1}.cross_attn.weights"].mean(0)
    task = page.choice("task", TASKS, "reverse")
    read_now = prose.line("the first letters of", letters) if letters else prose.line("learning your text has")
    rows = [
        screen.row([screen.card(SIGNS[id]) for id in now.ids["encoder"]], "your letters"),
        screen.row(written, "its guesses", "output"),
    ]
    t_s = [(t, s) for t in range(weights.shape[0]) for s in range(weights.shape[1])]
    links = [screen.link((0, s), (1, t), weights[t, s], "output") for t, s in t_s]
    mistakes = [
        screen.bar(SIGNS[id], cost, number(cost, 2), first)
        for id, cost, first in zip(now.labels, costs(now), costs(before), strict=True)
    ]
    lines = [
        screen.line("loss", points),
        screen.line("a blind guess", [(0, BLIND), (n_steps, BLIND)], "plain", True),
    ]
    top = max(5.0, *(loss for _, loss in points))
    panels = [
        screen.cards(rows, links, "Where it looks"),
        screen.bars(mistakes, "Its mistakes: −ln P of each letter", limit=6.0, note="dashed: before the training"),
        screen.curve(lines, ("steps", 0, n_steps), ("", 0, top), knob=points[-1]),
    ]
    said = prose.line(run, number(costs(now).mean(), 2), number(BLIND, 2), *more)
    frame = screen.frame(f"step {points[-1][0]}", said, panels)
    caption = prose.line("train it yourself a", task, read_now)
    yield from screen.scene(page, caption, "Training", [frame], wide=(1.8, 1, 1), press=press)


def trained_scene(
    page: Page, w: Mapping[str, Array], points: Sequence[tuple[int, float]], n_steps: int, right: float
) -> Statements:
    """After a training. right: of the held-out texts, as a share"""
    more = points[-1][0], n_steps, number(100 * right, 1)
    yield from tiny_scene(page, w, points, n_steps, "Start again", "the training is over", *more)


def note() -> Statement:
    return claims.caption(prose.line("a training takes at"))


def see(page: Page) -> Statements:
    task = yield from common.choose(page, "Task", "task", TASKS, "reverse")
    layers, heads = ["1", "2", "3"], ["1", "2", "4", "8"]
    yield claims.segmented("Layers in each stack", layers, page.choice("depth", layers, "1"))
    yield claims.segmented("Heads", heads, page.choice("n_heads", heads, "2"))
    yield claims.segmented("Positions", POSITIONS, page.choice("positions", POSITIONS, "sinusoidal"))
    rates = ["0.0003", "0.001", "0.003", "0.01", "0.1", "10"]
    yield claims.segmented("Learning rate", rates, page.choice("rate", rates, "0.003"))
    pairs = " · ".join(f"`{text}  →  {SOLVED[task](text)}`" for text in ("pictures", "hello", "x"))
    yield claims.markdown(f"**To {task}:** {pairs}")
    kinds = ["Encoder-decoder", "Encoder", "Masked decoder"]
    yield claims.segmented("Attention to watch", kinds, page.choice("maps", kinds, "Encoder-decoder"))
    yield claims.button("Start")
    yield note()
    yield from prose("what the pictures show")


def check(page: Page) -> Statements:
    tensors = ["Loss of each letter", "Probabilities"]
    yield claims.segmented("What to work out", tensors, page.choice("inside", tensors, tensors[0]))
    yield from prose("first press start in")


def do(page: Page) -> Statements:
    trials = ["Your own letters", "Teach the translator"]
    trial = yield from common.choose(page, "Try", "trial", trials)
    yield from own_letters(page) if trial == trials[0] else teach(page)


def own_letters(page: Page) -> Statements:
    yield from prose("your own letters through")
    typed = page.state.get("letters", "")
    yield claims.text_box("Letters", typed, placeholder="learning")
    letters = re.sub("[^a-z]", "", typed.lower() or "learning")[:8]
    if not letters:
        yield from prose("the model knows the")
        return
    if letters != (typed or "learning"):
        yield from prose("the model knows the letters", letters)
    yield from prose("first press start in see")


def teach(page: Page) -> Statements:
    yield from prose("teach a copy of")
    pairs = []
    for n, (source, target) in enumerate(PAIRS, 1):
        pairs.append((page.state.get(f"english_{n}", source), page.state.get(f"german_{n}", target)))
        yield claims.text_box(f"English {n}", pairs[-1][0])
        yield claims.text_box(f"German {n}", pairs[-1][1])
    for n, pair in enumerate(pairs, 1):
        for side, text in zip(("English", "German"), pair, strict=True):
            if not (count := len(encoded(tidied(text)))):
                yield from prose("pair has no write", n, side)
                return
            if count > 40:
                yield from prose("the of pair has", side, n, count)
                return
    if len(set(pairs)) < len(pairs):
        yield from prose("a pair that stands")
    yield claims.button("Teach")
    yield note()


def predict(page: Page) -> Statements:
    blind = claims.number(math.log(26 + 3), 2)
    yield prose.question("suppose a model gives", 1, blind, options=("0", blind, "29"))
    yield prose.question("with positions on none", TASKS.index("sort"), options=TASKS)
    yield prose.question("you set the learning", 1)


code = code_of(
    "training/loop/updates.py: training_steps",
    "training/loop/loss.py: batch_loss",
    "training/loop/schedule.py: learning_rate_factor",
    "training/live/toy.py: new_texts, measured, Watch",
)
