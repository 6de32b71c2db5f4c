"""What the lesson on training one's own model must show before a training. What it shows then depends on the training:
tests/pages/test_train_it_yourself.py."""

import math
import re

from tests.oracle import claims
from tests.oracle.common import Statements, code_part
from tests.oracle.forward import tidied
from tests.oracle.page import Page
from tests.oracle.statement import Statement
from tests.oracle.words import encoded

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
    return claims.caption(
        "A training takes at most 60 seconds of processor time, and at most 5 minutes in all. 2 trainings run at a "
        "time on this server, and the others wait. Each tab of your browser trains a model of its own. A training stops when you change what you chose for it, "
        "and soon after you leave this page."
    )


def idea(page: Page) -> Statements:
    yield claims.markdown(
        "Here you train a model yourself. It is tiny, but built of the translator's parts. It has 29 *pieces*: the letters "
        "a to z and three signs. It starts from random weights and is to reverse, copy or sort up to 8 letters."
    )
    yield claims.markdown(
        "Training repeats one small **step**. The model reads 64 texts with their right answers. The **loss** says how "
        "unlikely it found each right letter. The **gradient** says how the loss would change with each weight. So each "
        "weight moves a little against its gradient. How far depends on the **learning rate**."
    )
    yield claims.fold("The loss as a formula")
    yield claims.latex(r"L=-\frac{1}{N}\sum_{n=1}^{N}\ln P(\text{right letter }n)")
    yield claims.markdown(
        "The mean over all N letters, the end marks among them. The logarithm is the natural one, so the loss is counted "
        "in *nats*. It is 0 if every right letter gets probability 1."
    )


def see(page: Page) -> Statements:
    task = page.choice("task", TASKS, "reverse")
    yield claims.segmented("Task", TASKS, task)
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
    yield claims.fold("What the pictures show")
    yield claims.markdown(
        "**Held-out texts** are 200 texts that the model is measured on and never trained on. A text counts as right if "
        "its whole answer is. The loss is theirs, too. The **attention maps** are those of one text, *pictures*: a row for "
        "each layer, a column for each head, one for the mean of the heads. Within a map, each row is a letter and shows "
        "where it looks. The **length of the gradient** is that of each part of the model, at the last step. A gradient "
        "that is longer than 1 as a whole is cut to 1 before the weights move."
    )


def check(page: Page) -> Statements:
    tensors = ["Loss of each letter", "Probabilities"]
    yield claims.segmented("What to work out", tensors, page.choice("inside", tensors, tensors[0]))
    yield claims.caption(
        "First press *Start* in See. After the training, you can work out here how the loss came about."
    )


def do(page: Page) -> Statements:
    trials = ["Your own letters", "Teach the translator"]
    trial = page.choice("trial", trials, trials[0])
    yield claims.segmented("Try", trials, trial)
    yield from own_letters(page) if trial == trials[0] else teach(page)


def own_letters(page: Page) -> Statements:
    yield claims.markdown("**Your own letters, through your own model**")
    typed = page.state.get("letters", "")
    yield claims.text_box("Letters", typed, placeholder="learning")
    letters = re.sub("[^a-z]", "", typed.lower() or "learning")[:8]
    if not letters:
        yield claims.info("The model knows the letters a to z alone: type one to 8 of them.")
        return
    if letters != (typed or "learning"):
        yield claims.caption(f"The model knows the letters a to z and takes at most 8, so it reads “{letters}”.")
    yield claims.caption("First press *Start* in See. After the training, your model reads these letters here.")


def teach(page: Page) -> Statements:
    yield claims.markdown(
        "**Teach a copy of a small translator, and see what else changes.** It has 1.9 million numbers to learn, so it "
        "makes more mistakes than the large one. It learns your pairs alone, all of them in every one of 40 steps. "
        "Below them you see sentences that it does not learn."
    )
    pairs = []
    for n, (source, target) in enumerate(PAIRS, 1):
        pairs.append((page.state.get(f"english_{n}", source), page.state.get(f"german_{n}", target)))
        yield claims.text_box(f"English {n}", pairs[-1][0])
        yield claims.text_box(f"German {n}", pairs[-1][1])
    for n, pair in enumerate(pairs, 1):
        for side, text in zip(("English", "German"), pair, strict=True):
            if not (count := len(encoded(tidied(text)))):
                yield claims.info(f"Pair {n} has no {side}: write both sides.")
                return
            if count > 40:
                yield claims.info(f"The {side} of pair {n} has {count} pieces: write at most 40.")
                return
    if len(set(pairs)) < len(pairs):
        yield claims.caption("A pair that stands there more than once is learned as one.")
    yield claims.button("Teach")
    yield note()


def predict(page: Page) -> Statements:
    blind = claims.number(math.log(26 + 3), 2)
    yield claims.question(
        "Suppose a model gives each of its 29 pieces the same probability: a blind guess. What is the loss of each letter, "
        "in nats?",
        ("0", blind, "29"),
        1,
        f"The probability is 1/29, and −ln(1/29) = ln 29 = {blind}.",
        {0: "0 is the loss of a letter that gets probability 1.", 2: "29 is how many pieces there are."},
    )
    yield claims.question(
        "With *Positions* on *none*, nothing tells the encoder where a letter stands. Which task can a model still learn?",
        TASKS,
        TASKS.index("sort"),
        "The same letters in any order have one sorted answer. We tried each: after a training without positions, 97.0% "
        "of the held-out texts were sorted right, 7.0% copied right and 4.5% reversed right.",
        {
            0: "Who reverses a text must know which letter is last.",
            1: "Who copies a text must know which letter is first.",
        },
    )
    yield claims.question(
        "You set the learning rate to 10, over three thousand times the one it opens with. What happens?",
        ("It learns faster.", "The loss grows far above that of a blind guess.", "Nothing changes."),
        1,
        "We tried it: the first steps made the loss grow to 115 at step 9. A blind guess costs 3.4. So the training was "
        "stopped there.",
        {0: "It did not when we tried it: the loss grew at once.", 2: "Each step is longer now, so it ends elsewhere."},
    )


def code(page: Page) -> Statements:
    names = "new_texts", "measured", "Watch"
    yield from code_part(
        ("training/loop/updates.py", "training_steps"),
        ("training/loop/loss.py", "batch_loss"),
        ("training/loop/schedule.py", "learning_rate_factor"),
        *(("training/live/toy.py", name) for name in names),
    )
