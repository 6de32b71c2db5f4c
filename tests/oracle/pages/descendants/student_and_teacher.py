"""What the lesson on DistilBERT must show."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from tests.oracle.language import claims
from tests.oracle.language import scene as screen
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import chance, number
from tests.oracle.language.common import (
    Shown,
    Statements,
    Stops,
    check_cell,
    code_of,
    shown_tensor,
    tensor_matrix,
)
from tests.oracle.language.page import Page, likeliest
from tests.oracle.language.words import inline, visible
from tests.oracle.passes import shipped
from tests.oracle.passes.family import bert
from tests.oracle.passes.forward import Array
from tests.oracle.shown.blanks import Hidden

prose = Prose("student_and_teacher")

STUDENTS = {"distilled": "taught", "untaught": "untaught"}
T = Stops("Temperature T", "temperature", ("1", "2", "4"))
STATES: tuple[dict[str, str], ...] = (
    {},
    {"stop": "1", "hide": "2", "temperature": "2", "cell": "1.1"},
    {"sentence": "The man who told me that he had lost it forgot it again. " * 9, "temperature": "4", "cell": "8.3"},
    {"sentence": "The xylophone is kaputt", "hide": "2", "cell": "3.2"},
    {"sentence": "Run"},
    {"sentence": "12 + 7 = 19?"},
)

PASSES = 40  # of each model that is timed


def two_digits(kl: float) -> str:
    """In nats: two decimals, and more where these would not show two digits, six at most."""
    return number(kl, next((n for n in range(2, 6) if kl * 10**n >= 10), 6))


class Text(Hidden):
    """The page's text, one word of it hidden, and what the three models say of each word that can be."""

    def compared(self, n: int, name: str, t: float = 1.0) -> bert.Compared:
        logits = (bert.read(self.ids, self.words[n], one)["logits"] for one in (bert.BERT, name))
        return bert.Compared(*(rows[self.words[n][0] + 1] for rows in logits), t)

    @cached_property
    def kl(self) -> list[list[float]]:
        """Of both students, for each word."""
        return [[self.compared(n, name).kl for name in STUDENTS] for n in range(len(self.shown))]

    def default(self) -> int:
        spelled = [n for n, text in enumerate(self.shown) if text.isalpha()] or range(len(self.shown))
        return max(spelled, key=lambda n: self.kl[n][1] - self.kl[n][0])

    def right(self, n: int) -> int:
        return self.ids[self.words[n][0]]


def figures(name: str) -> dict[str, Any]:
    return shipped.metrics(name, "against_teacher.json")


def scene(page: Page) -> Statements:
    text = Text(page, opened=True)
    caption = prose.line("distilbert a student", f" {prose.line('ended')}" * text.ended)
    frames = [scene_frame(text, n) for n in range(len(text.shown))]
    yield from screen.scene(page, caption, "Click the word to hide", frames, text.hidden[0], by="cards")


def scene_frame(text: Text, own: int) -> dict[str, Any]:
    teacher, *students = (text.compared(own, name) for name in ("distilled", *STUDENTS))
    right, first, nearly = text.right(own), *np.argsort(-teacher.p)[:2]
    titles = prose.words("panels")

    def panel(who: str, of: Array, is_student: bool = True) -> dict[str, Any]:
        bars = [
            screen.bar(bert.entry(id), of[id], chance(of[id]), teacher.p[id] if is_student else None, id == right)
            for id in likeliest(teacher.p, 5, right)
        ]
        note = titles["dashed" if is_student else "bold"]
        return screen.bars(bars, titles[who], "output" if is_student else "query", note=note)

    words = [screen.card("[MASK]", "asked") if n == own else screen.card(word) for n, word in enumerate(text.shown)]
    kl = text.kl[own]
    gaps = [
        screen.bar(who, gap, two_digits(gap), None, who == "taught")
        for who, gap in zip(STUDENTS.values(), kl, strict=True)
    ]
    guesses = [part for id in (first, nearly) for part in (visible(bert.entry(int(id))), chance(teacher.p[id]))]
    given = [chance(students[0].q[id]) for id in (first, nearly)]
    far = [two_digits(gap) for gap in (*kl, *(figures(name)["kl"]["mean"] for name in STUDENTS))]
    panels = [panel("teacher", teacher.p, False), panel("taught", students[0].q), panel("untaught", students[1].q)]
    return screen.frame(
        visible(text.shown[own]),
        prose.line("the teacher says", *guesses, *given, *far, f"{figures('distilled')['masked_tokens']:,}"),
        [screen.cards([screen.row(words)])],
        panels,
        [screen.bars(gaps, titles["kl"], limit=max(1.0, *kl))],
    )


def shown(page: Page) -> Shown:
    text = Text(page)
    (n,) = text.hidden
    compared = text.compared(n, "distilled", float(T.of(page)))
    ids = likeliest(compared.p, 8, text.right(n))
    columns = ["teacher p", "student q", "p · ln(p/q)"]
    rows = [bert.entry(id) for id in ids]
    return shown_tensor(page, "divergence", rows=rows, columns=columns, only_rows=ids, oracle=compared)  # type: ignore[arg-type]


def see(page: Page) -> Statements:
    text, matrix = Text(page), shown(page)
    yield from prose("what does each word")
    yield from text.control(prose, "ended", "read only the first")
    yield T.drawn(page)
    yield from tensor_matrix(matrix, **prose.words("matrix", T.of(page)))
    terms = matrix.oracle["divergence"][:, 2]
    sums = number(terms[list(matrix.at[0])].sum()), f"{len(terms):,}", number(terms.sum())
    yield from prose("these rows add up", len(matrix.rows), *sums, inline(text.pieces[text.places[0]].text))


def check(page: Page) -> Statements:
    yield from check_cell(shown(page))


def with_error(found: Mapping[str, float], times: float, digits: int) -> str:
    return f"{number(times * found['mean'], digits)} ± {number(times * found['standard_error'], digits)}"


def do(page: Page) -> Statements:
    found = {name: figures(name) for name in STUDENTS}
    taught = found["distilled"]
    yield from prose("what do half the", f"{taught['masked_tokens']:,}")
    rows = [("teacher", bert.BERT, with_error(taught["teacher_accuracy"], 100, 1), "0.00", "1", "1")]
    for name, one in found.items():
        fast = (number(one["times_as_fast"][n], 2) for n in ("1", "16"))
        rows.append((STUDENTS[name], name, with_error(one["accuracy"], 100, 1), with_error(one["kl"], 1, 4), *fast))
    yield claims.table(
        " | layers | parameters | blanks right, % | KL from the teacher | times as fast: 1 row | 16 rows",
        *(
            (who, str(shipped.config(name)["n_layers"]), f"{shipped.n_parameters(name):,}", *cells)
            for who, name, *cells in rows
        ),
    )
    more = taught["more_right_than_the_other"]
    yield from prose(
        "the taught student names",
        number(100 * taught["share_of_teacher"], 1),
        with_error(more, 100, 1),
        "hardly" if abs(more["mean"]) > 2 * more["standard_error"] else "perhaps",
        with_error(taught["more_kl_than_the_other"], 1, 4),
        bert.again("accuracy"),
        PASSES,
        taught["pieces"],
    )
    yield claims.button("Time both")
    yield from prose("what the paper found")


def predict(page: Page) -> Statements:
    teacher, student = (shipped.n_parameters(name) for name in (bert.BERT, "distilled"))
    counts = f"{teacher:,}", f"{teacher // 2:,}", f"{student:,}", f"{student / teacher:.0%}"
    yield prose.question("the teacher has layers", 1, *counts)
    text = Text(page, opened=True)
    (n,) = text.hidden
    once, twice = (text.compared(n, "distilled", t).p for t in (1, 2))
    word, best = inline(text.shown[n]), once.argmax()
    yield prose.question("at t the teacher", 1, word, chance(once[best]), chance(twice[best]))
    near = int(text.kl[n][1] < text.kl[n][0])
    asked = {1 - near: prose.line("asked both")}
    yield prose.question("hide which student", near, word, *(two_digits(one) for one in text.kl[n]), wrong=asked)


code = code_of(
    "training/loop/reading.py: divergence",
    "experiments/family/distillation.py: terms",
    "training/loop/reading.py: layers_of",
)
