"""What the lesson on training one's own model must show before a training. What it shows then depends on the training:
tests/pages/training/test_train_it_yourself.py."""

import math
import re

from tests.oracle.language import claims, common
from tests.oracle.language.approved import Prose
from tests.oracle.language.common import Statements, code_of
from tests.oracle.language.page import Page
from tests.oracle.language.statement import Statement
from tests.oracle.language.words import encoded
from tests.oracle.passes.forward import tidied

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
    {"task": "sort", "maps": "Encoder", "letters": "Wörter 12345 and more"},
    {"trial": "Teach the translator"},
    {"trial": "Teach the translator", "english_2": PAIRS[0][0], "german_2": PAIRS[0][1]},
    {"trial": "Teach the translator", "english_4": "very " * 100 + "good.", "present": "true", "step": "4"},
    {"trial": "Teach the translator", "german_3": " "},
    {"task": "none", "depth": "4", "n_heads": "0", "rate": "1e9", "maps": "Masked decoder", "letters": "123"},
)


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
    answer = {"reverse": lambda text: text[::-1], "copy": str, "sort": lambda text: "".join(sorted(text))}[task]
    pairs = " · ".join(f"`{text}  →  {answer(text)}`" for text in ("pictures", "hello", "x"))
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
