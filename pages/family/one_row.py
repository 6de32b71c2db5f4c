"""Lesson: a GPT reads on from left to right, so each task is written as one row, and its last mark answers."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from experiments.family.language_models import published
from experiments.family.rows import LOOKS, SCORES, Ids, asked
from figures.statistics import softmax
from model.adapting.fine_tuned import FineTunedWriter
from model.adapting.row_tasks import RANK, with_task
from model.files.loaded_model import Array
from model.text.tokenizer import EOS_ID, SEP_ID, SOS_ID, normalise
from model.trace import Trace
from pages.family.fine_tuning.ablation import WAYS
from pages.family.fine_tuning.choosing import with_error
from pages.family_models import GPT, family_model
from training.loop.finetune_loop import Accuracy
from training.loop.tasks import KEPT_OF_ROWS, MAX_LEN
from ui import engine
from ui.components.matrix import Caption, Labels
from ui.components.scene import Bar, Bars, Card, Cards, Frame, Link, Row, Scene
from ui.controls.control import Choice
from ui.course.check import Shown, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.notices import MAX_CHARS
from ui.course.quiz import Question
from ui.text import chance, number
from ui.views.charts.bars import bars
from ui.views.charts.tables import table

SECOND, FIRST_B = "row_b", "I had an apple."  # key of the box for text B, and what stands in it at first
DRAWN = 6  # pieces of each text
OTHER_A = "The street is empty."
ORDERS, ANOTHER = ("A, then B", "B, then A"), "another A, then B"
MARKS = {SOS_ID: "start", SEP_ID: "then", EOS_ID: "read"}


@dataclass(frozen=True)
class Task:
    """file: its name; answers: by the number of the class; is_pair: it asks about two texts; both: in both orders"""

    file: str
    answers: tuple[str, ...]
    is_pair: bool = True
    both: bool = False

    @property
    def room(self) -> int:
        """Pieces of each text that are read: as in training, where a row has MAX_LEN with its marks."""
        return (MAX_LEN - 3) // 2 if self.is_pair else MAX_LEN - 2

    def rows(self, first: Ids, second: Ids) -> tuple[Ids, ...]:
        if not self.is_pair:
            return ((SOS_ID, *first, EOS_ID),)
        orders = ((first, second), (second, first)) if self.both else ((first, second),)
        return tuple((SOS_ID, *one, SEP_ID, *other, EOS_ID) for one, other in orders)


TASKS = {
    "Kind or unkind?": Task("sentiment", ("unkind", "kind"), is_pair=False),
    "Does B follow from A?": Task("entailment", ("it follows", "it may be so", "it cannot be so")),
    "Do both say the same?": Task("paraphrase", ("not the same", "the same"), both=True),
}
FOLLOWS = "Does B follow from A?"
TASK = Choice("Task", "row_task", tuple(TASKS), default=FOLLOWS)


@dataclass(frozen=True)
class Asked:
    """A task with what it asks about; is_cut: a text was longer than is read."""

    task: Task
    rows: tuple[Ids, ...]
    is_cut: bool

    @property
    def read(self) -> Trace[FineTunedWriter]:
        return engine.run(asked, family_model(GPT), self.task.file, self.rows)

    @property
    def chances(self) -> Array:
        """Of each answer: the scores of both orders are added."""
        return softmax(self.read.tensors[SCORES].astype(float).sum(0))


def text_b() -> str:
    """As typed, also where its box is not on the page; while that is empty, the text in grey."""
    typed = str(st.session_state.get(SECOND, st.query_params.get(SECOND)) or "")
    return normalise(typed[:MAX_CHARS]) or FIRST_B


def question_of(trace: Trace, task: Task, order: str = ORDERS[0]) -> Asked:
    """A task's question about A and B, in an order; or about another text in the place of A."""
    a = OTHER_A if order == ANOTHER else trace.text
    both = [tuple(family_model(GPT).tokenizer.encode(one)) for one in (a, text_b())]
    is_cut = any(len(one) > task.room for one in both[: 1 + task.is_pair])
    first, second = (one[: task.room] for one in (reversed(both) if order == ORDERS[1] else both))
    return Asked(task, task.rows(first, second), is_cut)


def scene(trace: Trace) -> Scene:
    """A frame for each task: its row or rows, where the last mark looks, and the answer."""
    longest = max(len(family_model(GPT).tokenizer.encode(one)) for one in (trace.text, text_b()))
    cut = f" Drawn: at most {DRAWN} pieces of a text." * (longest > DRAWN)
    return Scene(
        "GPT reads one row, left to right. Each task puts its texts into it, between marks; the last mark answers. "
        f"Lines: where it looks in the last layer.{cut}",
        "Task",
        [frame(trace, name, task) for name, task in TASKS.items()],
        start=[*TASKS].index(FOLLOWS),
        also=text_b,
    )


def frame(trace: Trace, name: str, task: Task) -> Frame:
    question = question_of(trace, task)
    rows, links = [], []
    for r, (row, looks) in enumerate(zip(question.rows, question.read.tensors[LOOKS], strict=True)):
        cards, at = drawn(row)
        rows.append(Row(cards, f"row {r + 1}" if len(question.rows) > 1 else "the row"))
        links += [Link((r, n), (r, len(at) - 1), float(looks[place])) for n, place in enumerate(at[:-1])]
    chances, measured = question.chances, published("rows")[task.file]
    best = int(chances.argmax())
    answers = [
        Bar(answer, p, chance(p), strong=n == best)
        for n, (answer, p) in enumerate(zip(task.answers, map(float, chances), strict=True))
    ]
    how = "The scores of both rows are added: which text comes first must not count. " if task.both else ""
    read = " Pre-training read these sentences, but no pairs and no answers." if task.file == "paraphrase" else ""
    return Frame(
        name,
        f"{how}It says **{task.answers[best]}**, {chance(float(chances[best]))}. Of {measured['n']:,} texts that "
        f"its fine-tuning never saw, it answers **{with_error(measured['right'], measured['n'])}** rightly; counting "
        f"words {measured['counted']:.0%}.{read}",
        [[Cards(rows, links, slots=2 * DRAWN + 3)], [Bars(answers, name)]],
    )


def drawn(row: Ids) -> tuple[list[Card], list[int]]:
    """The cards of a row, at most DRAWN pieces of each text, and their places in it."""
    cards, at, n = [], [], 0
    for place, (id, token) in enumerate(zip(row, family_model(GPT).tokenizer.tokens(row), strict=True)):
        n = 0 if id in MARKS else n + 1
        if n <= DRAWN:
            state = "" if n else "strong" if id == EOS_ID else "asked"
            cards.append(Card(MARKS.get(id, token.text), state))  # type: ignore[arg-type]
            at.append(place)
    return cards, at


def idea(trace: Trace) -> None:
    st.markdown(
        "A GPT does one thing: it reads a row from left to right. How can it do a task that has two texts, or one in "
        "which it writes nothing? The first GPT (Radford et al. 2018) put **the task into the row**: marks stand "
        "before, between and behind the texts. The last mark comes after everything, so its state has seen "
        "everything. A small new layer, the **head**, makes a score for each answer from that state alone:"
    )
    st.latex(r"P(\text{answer})=\mathrm{softmax}(h_{\text{last}}W+b)")
    with st.expander("How it learned here"):
        st.markdown(
            "The small GPT stays as it was. Beside each matrix of its layers stand two thin ones, which learn with the "
            f"head: *LoRA* of rank {RANK}, see its lesson. The paper let all weights learn, and gave the marks new "
            "vectors. Here stand marks that its vocabulary has already: [SEP] between two texts, and the sign for the "
            "end behind the last."
        )


def see(trace: Trace) -> Shown:
    task = TASKS[TASK.draw()]
    if task.is_pair:
        st.markdown("A is your sentence at the top.")
        st.text_input("Text B", key=SECOND, bind="query-params", live="300ms", placeholder=FIRST_B)
    question = question_of(trace, task)
    if question.is_cut:
        st.info(f"Of a text at most {task.room} pieces are read here.")
    bars(task.answers, question.chances.tolist(), TASK.value())
    orders = ORDERS[: len(question.rows)] if task.is_pair else ("your sentence",)
    caption = Caption("Scores", "What the head makes of each row’s last state. Softmax makes the probabilities above.")
    return checked_matrix(question.read, SCORES, caption, labels=Labels(orders, task.answers))


def reads_both(trace: Trace) -> None:
    st.markdown(f"**Does it read both?** The same texts, exchanged; and “{OTHER_A}” in the place of A.")
    ways, lines = (*ORDERS, ANOTHER), []
    for name, task in TASKS.items():
        if task.is_pair:
            all_chances = [question_of(trace, task, order).chances for order in ways]
            answers = [f"{task.answers[int(p.argmax())]}, {chance(float(p.max()))}" for p in all_chances]
            lines.append((name, *answers))
    table(("", *ways), lines)
    st.caption(
        "Whether two texts say the same must not depend on their order, so the scores of both orders are added. What "
        "follows from A need not lead back to A. If the answer hardly changes behind another A, B alone may have "
        "given it. In the pairs that this head learned from, some words of B give the answer away (Gururangan et al. "
        "2018)."
    )


def with_and_without(trace: Trace) -> None:
    found = json.loads(KEPT_OF_ROWS.read_text(encoding="utf-8"))[GPT]
    one = found["tasks"]["entailment"]
    st.markdown("**Does pre-training help?** All weights learn to tell what follows; three ways to begin and to learn.")
    table(
        ("", "right, ours", "mean score of eight tasks, the paper’s"),
        [
            (name, with_error(one["right"][way], one["n"]), number(reported, 1))
            for way, (name, reported) in WAYS.items()
            if way in one["right"]
        ],
    )
    (gained, far), (second, further) = (
        difference(one, *ways) for ways in (("pretrained", "random"), ("second_loss", "pretrained"))
    )
    st.markdown(
        f"Pre-trained less random weights: {number(gained, 1)} percentage points, **{number(far, 1)}** standard "
        f"errors. With the second loss less without it: {number(second, 1)}, {number(further, 1)} standard errors."
    )
    st.caption(
        f"Ours: {one['train']:,} pairs to learn from, {found['settings']['epochs']} times each, {one['n']:,} others to "
        "measure with; one training each. The *second loss* goes on with guessing the next piece. The paper: Radford "
        "et al. 2018, Table 5; it did twelve tasks, and eight stand in that table. Other tasks, and far less text: "
        "compare the differences, not the scores."
    )


def difference(one: Mapping[str, Any], way: str, other: str) -> tuple[float, float]:
    """By how many percentage points one way answers more rightly than another; and in standard errors of that."""
    right = [one["right"][name] for name in (way, other)]
    error = math.hypot(*(Accuracy(share, one["n"]).standard_error for share in right))
    return 100 * (right[0] - right[1]), (right[0] - right[1]) / error


TRIALS = {"Does it read both": reads_both, "With and without pre-training": with_and_without}
TRIAL = Choice("Try", "row_trial", tuple(TRIALS))


def do(trace: Trace) -> None:
    TRIALS[TRIAL.draw()](trace)


def predict(trace: Trace) -> Sequence[Question]:
    n, m = (len(family_model(GPT).tokenizer.encode(text)[: TASKS[FOLLOWS].room]) for text in (trace.text, FIRST_B))
    return (
        Question(
            "where",
            "A GPT reads from left to right. Which state has seen both texts whole?",
            ("that of the first mark", "that of the mark between them", "that of the last mark"),
            frozenset({2}),
            "Each state has seen what stands before it. Only the last one has all before it.",
            wrong={0: "It has seen nothing but itself.", 1: "It has seen text A alone."},
        ),
        Question(
            "long",
            f"Pieces read of your sentence: {n}. Of “{FIRST_B}”: {m}. How long is the row of the pair?",
            (str(n + m), str(n + m + 2), str(n + m + 3)),
            frozenset({2}),
            "A mark at the start, one between the texts, one at the end: three more.",
            wrong={0: "The marks stand in the row, too.", 1: "One mark more stands between the two texts."},
        ),
    )


LESSON = Lesson(
    "one-row",
    "GPT: every task is one row",
    asks="How do you ask a model that only reads on?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check_cell, do=do),
    code=(FineTunedWriter, with_task, asked),
    on_map=OnMap(readers=(GPT,), scene=scene),
)
