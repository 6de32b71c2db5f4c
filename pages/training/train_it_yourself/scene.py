"""The first screen: the learner's own letters, before, while and after the tiny model learns to turn them round."""

import numpy as np

from model.text.tokenizer import EOS_ID, PAD_ID, SOS_ID, Token
from model.trace import Trace
from pages.first_screen import loss_curve
from pages.live_training import Mine, current, start
from pages.training.train_it_yourself.own_letters import FIRST, readable
from pages.training.train_it_yourself.tiny import SLOT, in_words, stage, untrained
from training.live.toy import BLIND_GUESS, Choice, Report, answered, loaded
from ui import engine
from ui.components.scene import Axis, Bar, Bars, Card, Cards, Frame, Link, Row, Scene
from ui.text import number

POINTS = 60  # of the curve
HIGHEST = 6.0  # nats, at the end of a bar


def scene(trace: Trace) -> Scene:
    (choice, mine, goes_on), letters = stage(), readable(trace.text)
    whose = f"“{letters}”, the beginning of your sentence" if letters else f"“{FIRST}”: your text has no letter a to z"

    def pressed() -> None:
        if mine and goes_on:
            mine[0].cancel()
        elif current(SLOT, choice) is mine:  # nobody has started one meanwhile
            start(SLOT, choice)

    return Scene(
        f"Train it yourself: a tiny model is to {choice.task} {whose}. It guesses each letter after the right ones "
        "before it. A line shows how much it looks at one of yours.",
        "Training",
        [frame(choice, letters or FIRST, mine)],
        wide=(1.8, 1, 1),
        press="Stop" if goes_on else "Start again" if mine else "Start",
        on_press=pressed,
        live=goes_on,
        also=stage,
    )


def frame(choice: Choice, letters: str, mine: Mine | None) -> Frame:
    """The letters and the right answer to them through the newest weights, beside the first ones."""
    reports: list[Report] = (list(mine[1].reports) if mine else []) or [untrained(choice)]
    first, last = (
        engine.alone(lambda: answered(loaded(choice, one.weights), choice.task, letters))  # noqa: B023 - at once
        for one in (untrained(choice), reports[-1])
    )
    losses, before = (one.tensors["losses"][:, 0].tolist() for one in (last, first))
    scores = last.tensors["logits"].copy()
    scores[:, [PAD_ID, SOS_ID]] = -np.inf  # never written
    guesses = last.model.tokenizer.tokens(scores.argmax(-1).tolist())
    written, bars = [], []
    for guess, right, loss, was in zip(guesses, last.labels, losses, before, strict=True):
        knows = guess.id == right.id
        written.append(Card(named(guess), "written" if knows else "asked", "" if knows else f"≠ {named(right)}"))
        bars.append(Bar(named(right), loss, number(loss, 2), was))
    mistakes = Bars(bars, "Its mistakes: −ln P of each letter", limit=HIGHEST, note="dashed: before the training")
    weights = last.attention("cross", choice.n_layers - 1).mean(0)
    links = [Link((0, s), (1, t), float(w), "output") for t, row in enumerate(weights) for s, w in enumerate(row)]
    rows = [Row([Card(named(token)) for token in last.src], "your letters"), Row(written, "its guesses", "output")]
    # Of many reports some at even distances, and the last.
    points = [(one.step, one.loss) for one in (*reports[:-1][:: 1 + len(reports) // POINTS], reports[-1])]
    curve = loss_curve(points, -1, ("a blind guess", BLIND_GUESS), Axis("steps", 0, choice.n_steps), 5.0)
    answer = in_words(choice, reports[-1], number(float(np.mean(losses)), 2), mine)
    return Frame(f"step {reports[-1].step}", answer, [[Cards(rows, links, "Where it looks"), mistakes, curve]])


def named(token: Token) -> str:
    return "end" if token.id == EOS_ID else token.text
