"""What the lesson on tasks as one row must show."""

import functools
import json
import math
from typing import Any, NamedTuple

import numpy as np
from safetensors.numpy import load_file

from tests.oracle.language import claims
from tests.oracle.language import scene as screen
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import chance, number
from tests.oracle.language.common import Choice, Shown, Statements, check_cell, code_of, shown_tensor, tensor_matrix
from tests.oracle.language.page import Page
from tests.oracle.passes import shipped
from tests.oracle.passes.family import bert
from tests.oracle.passes.forward import EOS, SOS, Array, softmax, tidied
from tests.oracle.passes.network import Network
from tests.oracle.shown.worked import RULES, Index, Step, linear

prose = Prose("one_row")

GPT, SEP, RANK, ORDERS = bert.GPT, bert.SEP, 8, ["A, then B", "B, then A"]
FIRST_B, OTHER_A, MOST, DRAWN = "I had an apple.", "The street is empty.", {1: 62, 2: 30}, 6


class Task(NamedTuple):
    file: str
    answers: tuple[str, ...]
    n_texts: int = 2
    n_orders: int = 1


TASKS = {
    "Kind or unkind?": Task("sentiment", ("unkind", "kind"), n_texts=1),
    "Does B follow from A?": Task("entailment", ("it follows", "it may be so", "it cannot be so")),
    "Do both say the same?": Task("paraphrase", ("not the same", "the same"), n_orders=2),
}
TASK = Choice("Task", "row_task", tuple(TASKS), "Does B follow from A?")
TRIAL = Choice("Try", "row_trial", ("Does it read both", "With and without pre-training"))
LONG = "The man who told me that he had lost his umbrella there forgot it again, because it never rained. " * 5
STATES = (
    {},
    {"row_task": TASK.options[0], "stop": "1", "row_trial": TRIAL.options[1], "cell": "1.2"},
    {"row_task": TASK.options[2], "stop": "3", "row_b": LONG, "cell": "2.1"},
    {"sentence": LONG, "row_b": "<b>Nobody</b> is **here** 昨日", "cell": "1.3"},
    {"sentence": "Go", "row_b": " ", "stop": "2"},
    {"row_task": TASK.options[0], "sentence": LONG, "row_b": ""},
)
WAYS = {  # as Radford et al. 2018 name and score them, Table 5
    "second_loss": ("Transformer, pre-trained, with the second loss", 74.7),
    "random": ("without pre-training", 59.9),
    "pretrained": ("without the second loss", 75.0),
}


class Read:
    """Rows through GPT with what a task added: W + (16/8)·BA in place of each W."""

    def __init__(self, file: str, rows: tuple[bert.Ids, ...]) -> None:
        passes = [Network(shipped.config(GPT), adapted(file), records={"weights"}) for _ in rows]
        states = [one.decoder_states(list(ids))[-1] for one, ids in zip(passes, rows, strict=True)]
        self.looks = [one["decoder.layers.3.self_attn.weights"].mean(0)[-1] for one in passes]
        self.w = adapted(file)
        self.states = np.stack(states)
        self.scores = self.states @ self.w["classifier.weight"].T + self.w["classifier.bias"]

    def __getitem__(self, name: str) -> Array:
        return {"last_states": self.states, "scores": self.scores}.get(name, self.w.get(name))


@functools.cache
def adapted(file: str) -> dict[str, Array]:
    found = load_file(shipped.MODELS / "rows" / f"{file}.safetensors")
    added = {name.removeprefix("network."): w.astype(np.float64) for name, w in found.items()}
    w = dict(shipped.weights(GPT))
    for name, down in added.items():
        path = name.removesuffix(".down.weight")
        if path == name:
            continue
        w[f"{path}.weight"] = w[f"{path}.weight"] + 16 / RANK * added[f"{path}.up.weight"] @ down
    return w | {name: one for name, one in added.items() if name.startswith("classifier")}


read = functools.lru_cache(128)(Read)


def score(oracle: Read, name: str, index: Index) -> Step:
    return linear(oracle, name, index, "what goes in", "last_states", "classifier", "W")  # type: ignore[arg-type]


RULES["scores"] = score  # type: ignore[assignment]


class Asked:
    """A task and the page's two texts."""

    def __init__(self, page: Page, task: Task, swapped: bool = False, a: str = "") -> None:
        typed = page.state.get("row_b", "")
        texts = [
            tuple(bert.tokenizer().encode(one, add_special_tokens=False).ids)
            for one in (a or page.text, tidied(typed) or FIRST_B)
        ]
        self.task, self.typed = task, typed
        self.is_cut = any(len(one) > MOST[task.n_texts] for one in texts[: task.n_texts])
        a, b = (one[: MOST[task.n_texts]] for one in (reversed(texts) if swapped else texts))
        orders = [(a, b), (b, a)][: task.n_orders]
        self.rows = tuple((SOS, *x, SEP, *y, EOS) for x, y in orders) if task.n_texts == 2 else ((SOS, *a, EOS),)

    @property
    def read(self) -> Read:
        return read(self.task.file, self.rows)

    @property
    def chances(self) -> Array:
        return np.asarray(softmax(self.read.scores.sum(0)))

    @property
    def answer(self) -> tuple[str, str]:
        best = int(self.chances.argmax())
        return self.task.answers[best], chance(self.chances[best])


def percent(right: float, n: int) -> str:
    return f"{number(100 * right, 0)}% ± {number(100 * math.sqrt(right * (1 - right) / n), 0)}"


def scene(page: Page) -> Statements:
    frames = [scene_frame(Asked(page, task), name) for name, task in TASKS.items()]
    longest = max(len(bert.ids_of(text)) for text in (page.text, tidied(page.state.get("row_b", "")) or FIRST_B))
    cut = f" {prose.line('drawn at most', DRAWN)}" * (longest > DRAWN)
    yield from screen.scene(page, prose.line("gpt reads one row", cut), "Task", frames, 1)


def scene_frame(asked: Asked, name: str) -> dict[str, Any]:
    rows, links = [], []
    for r, (ids, looks) in enumerate(zip(asked.rows, asked.read.looks, strict=True)):
        cards, n = [], 0
        for id, piece, look in zip(ids, bert.pieces(ids), looks, strict=True):
            mark = {SOS: "start", SEP: "then", EOS: "read"}.get(id)
            n = 0 if mark else n + 1
            if n > DRAWN:
                continue
            links.append((r, len(cards), look))
            cards.append(screen.card(mark or piece.text, "" if not mark else "strong" if mark == "read" else "asked"))
        del links[-1]
        rows.append(screen.row(cards, "the row" if len(asked.rows) == 1 else f"row {r + 1}"))
    ends = [len(row["cards"]) - 1 for row in rows]
    arches = [screen.link((r, n), (r, ends[r]), look) for r, n, look in links]
    p = asked.chances
    bars = [
        screen.bar(answer, p[n], chance(p[n]), strong=n == int(p.argmax()))
        for n, answer in enumerate(asked.task.answers)
    ]
    test = shipped.metrics("rows")[asked.task.file]
    says = prose.line(
        "it says of texts",
        *asked.answer,
        f"{test['n']:,}",
        percent(test["right"], test["n"]),
        f"{test['counted']:.0%}",
    )
    added = f"{prose.line('scores are added')} " if asked.task.n_orders == 2 else ""
    known = f" {prose.line('pre-training read these sentences')}" if asked.task.file == "paraphrase" else ""
    picture = screen.cards(rows, arches, slots=15)
    return screen.frame(name, added + says + known, [picture], [screen.bars(bars, name)])


def shown(page: Page) -> Shown:
    asked = Asked(page, TASKS[TASK.of(page)])
    orders = ORDERS[: len(asked.rows)] if asked.task.n_texts == 2 else ["your sentence"]
    return shown_tensor(page, "scores", rows=orders, columns=list(asked.task.answers), oracle=asked.read)  # type: ignore[arg-type]


def see(page: Page) -> Statements:
    asked = Asked(page, TASKS[TASK.of(page)])
    yield TASK.drawn(page)
    if asked.task.n_texts == 2:
        yield from prose("a is your sentence")
        yield claims.text_box("Text B", asked.typed, placeholder=FIRST_B)
    if asked.is_cut:
        yield from prose("of a text at most", MOST[asked.task.n_texts])
    yield claims.bars(asked.task.answers, list(asked.chances), TASK.of(page))
    yield from tensor_matrix(shown(page), **prose.words("scores"))


def check(page: Page) -> Statements:
    yield from check_cell(shown(page))


def reads_both(page: Page) -> Statements:
    yield from prose("does it read both", OTHER_A)
    rows = [
        (
            name,
            *(
                ", ".join(one.answer)
                for one in (Asked(page, task), Asked(page, task, True), Asked(page, task, a=OTHER_A))
            ),
        )
        for name, task in TASKS.items()
        if task.n_texts == 2
    ]
    yield claims.table(("", *ORDERS, "another A, then B"), *rows)
    yield from prose("whether two texts say")


def with_and_without(page: Page) -> Statements:
    found = json.loads((shipped.MODELS.parent / "labelled" / "one_row.json").read_text())[GPT]
    one = found["tasks"]["entailment"]
    p, n = one["right"], one["n"]
    yield from prose("does pre-training help")
    rows = [(name, percent(p[way], n), number(reported, 1)) for way, (name, reported) in WAYS.items()]
    yield claims.table(("", "right, ours", "mean score of eight tasks, the paper’s"), *rows)
    variance = {way: x * (1 - x) / n for way, x in p.items()}
    gained, second = p["pretrained"] - p["random"], p["second_loss"] - p["pretrained"]
    told = [
        text
        for difference, other in ((gained, "random"), (second, "second_loss"))
        for text in (
            number(100 * difference, 1),
            number(difference / math.sqrt(variance["pretrained"] + variance[other]), 1),
        )
    ]
    yield from prose("pre-trained less random weights", *told)
    yield from prose("ours pairs to learn", f"{one['train']:,}", found["settings"]["epochs"], f"{n:,}")


def predict(page: Page) -> Statements:
    yield prose.question("which state has seen", 2)
    n, m = (len(bert.ids_of(text)[: MOST[2]]) for text in (page.text, FIRST_B))
    yield prose.question("your sentence has pieces", 2, n, FIRST_B, m, *(n + m + more for more in (0, 2, 3)))


do = TRIAL.trials(reads_both, with_and_without)
code = code_of(
    "model/adapting/fine_tuned.py: FineTunedWriter",
    "model/adapting/row_tasks.py: with_task",
    "experiments/family/rows.py: asked",
)
