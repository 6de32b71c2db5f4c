"""The first screen: the learner's own letters, before, while and after the tiny model learns to turn them round."""

from typing import Any

import numpy as np
import streamlit as st

from model.kept import kept
from model.text.tokenizer import EOS_ID, PAD_ID, SOS_ID, Token
from model.trace import Trace
from pages.first_screen import forget_scene
from pages.live_training import Mine, current, how_it_ended, start
from pages.training.train_it_yourself.choosing import chosen
from pages.training.train_it_yourself.own_letters import FIRST, readable
from pages.training.train_it_yourself.tiny import SLOT
from serving.work_queue import says_when
from training.live.toy import BLIND_GUESS, Choice, Report, answered, held_out, loaded
from ui import engine
from ui.components.scene import Axis, Bar, Bars, Card, Cards, Curve, Frame, Line, Link, Row, Scene
from ui.text import number

_SHOWN = "tiny_scene"  # in the session: the stage that the scene shows
POINTS = 60  # of the curve
HIGHEST = 6.0  # nats, at the end of a bar


def under_way(mine: Mine | None) -> bool:
    return mine is not None and mine[0].look() in ("waiting", "running")


def stage() -> tuple[Any, ...]:
    """What is to be seen: the choice, the training, and whether it is under way."""
    mine = current(SLOT, chosen())
    return chosen(), mine and id(mine[1]), under_way(mine)


def keep_in_step() -> None:
    """Draws the page anew if something was chosen, started or stopped below that the scene does not show."""
    now = stage()
    if st.session_state.get(_SHOWN, now) != now:
        st.session_state[_SHOWN] = now
        forget_scene()
        st.rerun()


@kept
def untrained(choice: Choice) -> Report:
    """The random weights with which a training begins, and what they can do."""
    return engine.alone(lambda: next(choice.reports(lambda step: False)))


def scene(trace: Trace) -> Scene:
    choice, mine = chosen(), current(SLOT, chosen())
    goes_on = under_way(mine)
    st.session_state[_SHOWN] = stage()
    letters = readable(trace.text)
    whose = f"the first {len(letters)} letters of your sentence" if letters else f"“{FIRST}”: your text has no a to z"

    def pressed() -> None:
        if mine and goes_on:
            mine[0].cancel()
        elif current(SLOT, choice) is mine:  # nobody has started one meanwhile
            start(SLOT, choice)
        forget_scene()

    return Scene(
        f"Train it yourself: a tiny model is to {choice.task} {whose}. A line shows how much it looks at a letter "
        "before it writes one.",
        "Training",
        [frame(choice, letters or FIRST, mine)],
        wide=(1.8, 1, 1),
        press="Stop" if goes_on else "Start again" if mine else "Start",
        on_press=pressed,
        live=goes_on,
    )


def frame(choice: Choice, letters: str, mine: Mine | None) -> Frame:
    """The letters and the right answer to them through the newest weights, beside the first ones."""
    reports: list[Report] = (list(mine[1].reports) if mine else []) or [untrained(choice)]
    first, last = (
        engine.alone(lambda: answered(loaded(choice, one.weights), choice.task, letters))  # noqa: B023 - at once
        for one in (untrained(choice), reports[-1])
    )
    losses, weights = last.tensors["losses"][:, 0], last.attention("cross", choice.n_layers - 1).mean(0)
    scores = last.tensors["logits"].copy()
    scores[:, [PAD_ID, SOS_ID]] = -np.inf  # never written
    guesses = last.model.tokenizer.tokens([int(id) for id in scores.argmax(-1)])
    written = [
        Card(named(guess), "written") if guess.id == right.id else Card(named(guess), "asked", f"not {named(right)}")
        for guess, right in zip(guesses, last.labels, strict=True)
    ]
    cards = Cards(
        [Row([Card(named(token)) for token in last.src], "your letters"), Row(written, "it writes", "output")],
        [Link((0, s), (1, t), float(w), "output") for t, row in enumerate(weights) for s, w in enumerate(row)],
        "Where it looks",
    )
    pairs = zip(last.labels, losses, first.tensors["losses"][:, 0], strict=True)
    bars = Bars(
        [Bar(named(token), float(loss), number(float(loss), 2), float(before)) for token, loss, before in pairs],
        "Its mistakes: −ln P of each letter", limit=HIGHEST, note="dashed: before the training",
    )  # fmt: skip
    answer = says(choice, reports[-1], number(float(losses.mean()), 2), mine)
    return Frame(f"step {reports[-1].step}", answer, [[cards, bars, curve(choice, reports)]])


def named(token: Token) -> str:
    return "end" if token.id == EOS_ID else token.text


def says(choice: Choice, report: Report, cost: str, mine: Mine | None) -> str:
    blind = number(BLIND_GUESS, 2)
    if mine is None:
        return f"Its weights are random: your letters cost **{cost}** each, a blind guess {blind}. Press **Start**."
    if mine[0].look() == "waiting":
        return says_when(mine[0])
    return (
        ("" if under_way(mine) else f"{how_it_ended(mine)} ")
        + f"Step **{report.step:,}** of {choice.n_steps:,}: your letters cost **{cost}** each; a blind guess costs "
        f"{blind}. Of {len(held_out())} texts that it never saw, **{number(100 * report.right, 1)}%** are right."
    )


def curve(choice: Choice, reports: list[Report]) -> Curve:
    """The loss so far; of many reports some at even distances, and the last."""
    some = [*reports[:-1][:: 1 + len(reports) // POINTS], reports[-1]]
    return Curve(
        [
            Line("loss", [(one.step, one.loss) for one in some]),
            Line("a blind guess", [(0, BLIND_GUESS), (choice.n_steps, BLIND_GUESS)], "plain", dashed=True),
        ],
        Axis("steps", 0, choice.n_steps),
        Axis("", 0, max(5.0, *(one.loss for one in some))),
        knob=(reports[-1].step, reports[-1].loss),
    )
