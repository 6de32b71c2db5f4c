"""What the lesson on sums, learned as a rule or by heart, must show."""

import re
from typing import Any

import numpy as np

from tests.oracle.language import claims
from tests.oracle.language import scene as screen
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import chance, number
from tests.oracle.language.common import Choice, Shown, Statements, check_cell, code_of, shown_tensor, tensor_matrix
from tests.oracle.language.page import Page
from tests.oracle.language.words import inline
from tests.oracle.passes import shipped
from tests.oracle.passes.sums import SIZES, Answer, answer, learned
from tests.oracle.shown.frame import INSTEAD

prose = Prose("rule_or_by_heart")

FIRST, KINDS = "367 + 285", ("learned", "unseen", "longer")
MODEL = Choice("Sums it learned from", "learned", tuple(f"{size:,}" for size in SIZES), "20,000")
PLACES = ("ones", "tens", "hundreds", "thousands", "ten thousands")
STATES: tuple[dict[str, str], ...] = (
    {},
    {"sum": "999+1", "stop": "1", "learned": "200", "cell": "2.3"},
    {"sum": " 0047 +  5 ", "stop": "2", "learned": "400", "cell": "5.1"},
    {"sum": "9999+9999", "stop": "3", "learned": "500"},
    {"sum": "220 + 192"},
    {"sum": "0 + 1000", "stop": "9", "learned": "7"},
    {"sum": "12345 + 1"},
    {"sum": "-3+5"},
    {"sum": "x"},
    {"sum": "1+2+3"},
    {"sum": "5+"},
    {"sum": "  "},
)


def fault(page: Page) -> tuple[str, int, int]:
    """What is said of the sum that was typed, if it cannot be read, and the two numbers that are read."""
    text = page.state.get("sum", FIRST).strip()
    unknown = re.search("[^0-9+ ]", text)
    found = re.fullmatch("([0-9]+) *[+] *([0-9]+)", text)
    longest = max(map(len, found.groups())) if found else 0
    said = (
        prose.line("there is no sum") if not text
        else prose.line("digits and one plus", inline(unknown[0])) if unknown
        else prose.line("a sum is two") if not found
        else prose.line("a number has room", longest) if longest > 4
        else ""
    )  # fmt: skip
    a, b = (367, 285) if said or not found else map(int, found.groups())
    return said, a, b


def further(n: int) -> int:
    return n + 1000 if n < 1000 else n


def percent(share: float) -> str:
    return f"{number(100 * share, 1)}%"


def is_right(found: Answer, a: int, b: int) -> bool:
    return found.said == f"{a + b:05}"[::-1]


def verdict(found: Answer, a: int, b: int) -> str:
    return "right" if is_right(found, a, b) else f"wrong: it is {a + b}"


def scene(page: Page) -> Statements:
    _, a, b = fault(page)
    frames = [scene_frame(size, a, b) for size in SIZES]
    yield from screen.scene(
        page, prose.line("four models learned to"), "Sums it learned from", frames, 3, wide=(1, 1), plays=True
    )


def scene_frame(size: int, a: int, b: int) -> dict[str, Any]:
    kept = shipped.metrics("sums")
    test, right = kept["test"][str(size)], np.array(kept["map"]["right"][str(size)])
    upwards = [[right[first][19 - row] for first in range(20)] for row in range(20)]
    names = [{0: "0", 5: "500", 10: "1,000", 15: "1,500"}.get(19 - row, "·") for row in range(20)]
    marked = (19 - b // 100, a // 100) if a < 2000 and b < 2000 else None
    whole = screen.matrix(np.array(upwards), **prose.words("unseen sums that it"), rows=names, ends=1.0, marked=marked)
    pairs = list(dict.fromkeys([(a, b), (further(a), further(b))]))
    rows = [screen.row(cards(size, *pair), f"{pair[0]} + {pair[1]} =", "output") for pair in pairs]
    said = screen.cards(rows, title=prose.line("it answers below"), slots=5)
    found = answer(size, a, b)
    shares = (percent(test[kind]["right"][0]) for kind in ("unseen", "longer"))
    known = " It learned from this sum." * ((a, b) in learned(size))
    says = prose.line("it answers your sum", a, b, found.value, verdict(found, a, b), known, *shares)
    return screen.frame(f"{size:,}", says, (whole, said))


def cards(size: int, a: int, b: int) -> list[list[Any]]:
    found, right = answer(size, a, b), f"{a + b:05}"
    said = found.said[::-1]
    begins = min(5 - len(said.lstrip("0")), 5 - len(right.lstrip("0")), 4)
    return [
        screen.card(
            said[n],
            "written" if said[n] == right[n] else "unseen",
            chance(found.chances[4 - n], 2),
            found.chances[4 - n],
        )
        for n in range(begins, 5)
    ]


def own_sum(page: Page) -> Statements:
    yield claims.text_box("A sum of two numbers", page.state.get("sum", FIRST))
    said, *_ = fault(page)
    if said:
        yield claims.info(f"{said} {prose.line('shown is the sum')}")


INSTEAD["rule-or-by-heart"] = own_sum


def asked(page: Page) -> tuple[int, int, Answer]:
    """The sum, and what the chosen model writes."""
    _, a, b = fault(page)
    return a, b, answer(int(MODEL.of(page).replace(",", "")), a, b)


def shown(page: Page) -> Shown:
    *_, found = asked(page)
    looks: dict[str, Any] = {"rows": list(PLACES), "columns": list("0123456789"), "scale": "weight"}
    looks |= {"only_rows": range(9, 14), "only_columns": range(10), "oracle": found.read}
    return shown_tensor(page, "probabilities", start=(0, int(found.said[0])), **looks)


def see(page: Page) -> Statements:
    yield MODEL.drawn(page)
    a, b, found = asked(page)
    yield from prose("how sure is it", inline(f"{a:04}+{b:04}="), found.said)
    yield from tensor_matrix(shown(page), **prose.words("probability of each digit"))


def check(page: Page) -> Statements:
    yield from check_cell(shown(page))


def do(page: Page) -> Statements:
    yield from prose("one digit more each")
    _, a, b = fault(page)
    pairs = [(a, b), (further(a), further(b))]
    if a >= 1000 and b >= 1000:
        pairs = pairs[:1]
        yield from prose("both of your numbers")
    rows = []
    for size in SIZES:
        both = [(answer(size, *pair), pair) for pair in pairs]
        cells = [
            text for found, pair in both for text in (f"{found.value}, {verdict(found, *pair)}", chance(found.sure))
        ]
        rows.append((f"{size:,}", *cells))
    yield claims.table(("learned from", *(text for p in pairs for text in (f"{p[0]} + {p[1]}", "how sure"))), *rows)
    yield from measured()


def measured() -> Statements:
    kept = shipped.metrics("sums")
    yield from prose("as measured sums with")
    rows = []
    for size, of in kept["test"].items():
        shares = (
            f"{number(100 * of[kind]['right'][0], 2)} ± {number(100 * of[kind]['right'][1], 2)}" for kind in KINDS
        )
        sure = (of[kind]["sure_when_wrong"] for kind in KINDS[1:])
        rows.append((f"{int(size):,}", *shares, *("–" if one is None else number(one, 2) for one in sure)))
    yield claims.table(prose.line("head of the measured"), *rows)
    recipe, counts = kept["recipe"], {of["unseen"]["sums"] for of in kept["test"].values()}
    n_weights = sum(w.size for w in answer(200, 1, 1).read.w.values())
    (n,) = counts
    yield from prose(
        "unseen sums that none",
        *(f"{n:,}", number(100 * 3 / n, 2), f"{recipe['steps']:,}", recipe["batch_size"], f"{n_weights:,}"),
    )


def predict(page: Page) -> Statements:
    _, a, b = fault(page)
    found = [answer(size, a, b) for size in SIZES]
    right = [n for n, one in enumerate(found) if is_right(one, a, b)] or [4]
    told = ", ".join(str(one.value) for one in found)
    wrong = {n: prose.line("the one with answers", f"{SIZES[n]:,}", one.value) for n, one in enumerate(found)} | {
        4: prose.line("at least one")
    }
    yield prose.question("you ask all four", right, a, b, told, a + b, wrong=wrong)
    inside, outside = (shipped.metrics("sums")["test"]["20000"][kind]["right"][0] for kind in ("unseen", "longer"))
    fits = 2 if outside <= 0.1 else 1 if outside <= 0.9 else 0
    measured = percent(outside)
    wrong = {
        0: prose.line("as many would be", percent(inside), measured),
        1: prose.line("some would be over", measured),
    }
    yield prose.question("the one with 20 000", fits, percent(inside), percent(outside), wrong=wrong)


code = code_of("model/families/sums.py: write, asked, answer")
