"""What the lesson on pictures that are written must show."""

from typing import Any

import numpy as np

from tests.oracle.language import claims
from tests.oracle.language import scene as screen
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import chance, number
from tests.oracle.language.common import (
    Choice,
    Shown,
    Statements,
    Stops,
    addresses,
    check_cell,
    code_of,
    shown_tensor,
    tensor_matrix,
)
from tests.oracle.language.page import Page
from tests.oracle.language.statement import Statement
from tests.oracle.pages.beyond_text.a_picture_as_words import ink, sample, share, sheet
from tests.oracle.passes import drawing, pictures, shipped
from tests.oracle.passes.drawing import QUESTIONS, WORDS, Drawing
from tests.oracle.shown.frame import INSTEAD, UNKEPT

prose = Prose("pictures_from_text")

STATES = addresses(
    "",
    "word=three&attempt=5&stop=9&patch=2&map=1.3&cell=0.1&try=Ask about your drawing&digit=6&task=1",
    "word=eight&attempt=99&stop=8&patch=49&cell=3.40&try=Colder and warmer",
    "word=x&stop=1&patch=22&map=0.2&try=Colder and warmer&temperature=2.5",
    "word=two&attempt=12&stop=3&place=49&code=1&patch=21",
    "word=zero&attempt=1&place=1&code=64&try=Force a patch",
    "word=nine&try=How often it is right&patch=8",
    "try=Ask about your drawing&task=2",
    "try=Ask about your drawing&digit=11&task=7",
)
WORD = Choice("Draw a", "word", WORDS, "seven")
TRY = Choice("Try", "try", ("Force a patch", "Colder and warmer", "Ask about your drawing", "How often it is right"))
ATTEMPT = Stops("Attempt", "attempt", [str(n) for n in range(1, 13)], "4")
NEXT = Stops("Patch that is drawn", "patch", [str(n) for n in range(2, 50)], "25")
PLACE = Stops("Place", "place", [str(n) for n in range(1, 50)], "11")
CODE = Stops("Patch of the code book, from paper to most ink", "code", [str(n) for n in range(1, 65)], "64")
WARMTH = Stops("Temperature", "temperature", ("0.3", "0.6", "1", "1.5", "2.5"))
UNKEPT["pictures-from-text"] = "what you drew"


def drawn(page: Page, temperature: float = 1.0, forced: tuple[int, int] | None = None) -> Drawing:
    return drawing.drawing(WORD.at(page), int(ATTEMPT.of(page)), temperature, forced)


def read_back(picture: np.ndarray) -> tuple[int, str]:
    found = pictures.Read(picture).chances
    return int(found.argmax()), chance(found.max())


def asks(page: Page) -> Statements:
    yield WORD.drawn(page)
    yield ATTEMPT.drawn(page)


INSTEAD["pictures-from-text"] = asks


def scene(page: Page) -> Statements:
    frames = [scene_frame(page, n) for n in (0, 3, 10, 17, 24, 31, 38, 45, 49)]
    looks: dict[str, Any] = {"by": "slider", "wide": (1, 1, 1.1), "plays": True}
    yield from screen.scene(page, prose.line("pictures from text a"), "Patches drawn", frames, 4, **looks)


def cut(picture: np.ndarray, hidden: list[int], **words: str) -> dict[str, Any]:
    """A picture in patches of 4 × 4."""
    high, wide = picture.shape
    told = {"size": wide, "side": wide // 4, "down": high // 4, "whole": False, "ink": ink(picture)}
    return told | {"kind": "sheet", "windows": [], "marked": 0, "hidden": hidden, "weights": [0] * len(hidden)} | words


def scene_frame(page: Page, n: int) -> dict[str, Any]:
    one, at = drawn(page), min(n, 48)
    order = sorted(range(64), key=lambda code: -one.chances[at, code])[:4]
    yes = drawing.yes(one.ids[:n])
    says = prose.line(
        "of patches for patch", n, n + 1, chance(one.chances[at].max()),
        chance(yes[0]),
    )  # fmt: skip
    if n == 49:
        says = prose.line("all patches the vision", *read_back(one.picture()))

    offered = np.hstack([drawing.codes()[code] for code in order])
    chances = " · ".join(chance(one.chances[at, code]) for code in order)
    bars = [
        screen.bar(question, p, chance(p), strong=bool(p > 0.5)) for question, p in zip(QUESTIONS, yes, strict=True)
    ]
    gone = [int(place >= n) for place in range(49)]
    return screen.frame(
        f"{n} of 49",
        says,
        [
            cut(one.picture(n), gone, **prose.words("the picture so far", WORDS[WORD.at(page)])),
            cut(
                offered,
                [],
                title=prose.line("likeliest when the last") if n == 49 else prose.line("likeliest for patch", n + 1),
                note=chances,
            ),
            screen.bars(bars, **prose.words("asked about these patches")),
        ],
    )


def chosen(page: Page) -> tuple[int, int]:
    return page.pair("map", (3, 4), (2, 0))


def shown(page: Page) -> Shown:
    one, n = drawn(page), int(NEXT.of(page))
    read: Any = drawing.Read((WORD.at(page), *one.ids[:-1]))
    layer, head = chosen(page)
    name, rows = f"decoder.layers.{layer}.self_attn.weights", range((n - 1) // 7 * 7, n)
    names = [WORDS[WORD.at(page)], *PLACE.options]
    most = int(read[name][head, n - 1, :n].argmax())
    looks: dict[str, Any] = {"rows": [names[at] for at in rows], "columns": names[:n], "only_rows": rows}
    looks |= {"only_columns": range(n), "start": (len(rows) - 1, most), "oracle": read}
    return shown_tensor(page, name, head=head, kind="decoder", **looks)


def see(page: Page) -> Statements:
    n = int(NEXT.of(page))
    yield NEXT.drawn(page)
    read, (layer, head) = shown(page).oracle, chosen(page)
    maps = np.zeros((3, 4, 49))
    for at in range(3):
        maps[at, :, : n - 1] = read[f"decoder.layers.{at}.self_attn.weights"][:, n - 1, 1:n]
    title = prose.line("where it looks before", n)
    maps = maps.reshape(3, 4, 7, 7) / maps.max()
    yield claims.head_grid(maps, selected=(layer, head), title=title, mean=False)
    yield from tensor_matrix(shown(page), **prose.words("weights of layer head", layer + 1, head + 1, n))


def check(page: Page) -> Statements:
    yield from check_cell(shown(page))


def grid(picture: np.ndarray, title: str, how_to_read: str) -> Any:
    names = [str(n) for n in range(1, 29)]
    describe = "Row {row}, column {column}: {value}"
    return claims.matrix(picture, names, names, title=title, how_to_read=how_to_read, csv_name=title, describe=describe)


def force(page: Page) -> Statements:
    yield from prose("what if you replace")
    place, code = int(PLACE.of(page)), int(CODE.of(page))
    yield from (PLACE.drawn(page), CODE.drawn(page))
    one, other = drawn(page), drawn(page, 1.0, (place - 1, 10 + code - 1))
    for drawing_, run, told in ((one, "as it drew it", ()), (other, "with a patch replaced", (place,))):
        title = prose.line(run, *told)
        yield grid(
            drawing_.picture(), title, prose.line("the vision transformer reads", *read_back(drawing_.picture()))
        )
    changed = sum(a != b for a, b in zip(one.ids[place:], other.ids[place:], strict=True))
    yield from prose("of the patches after", 49 - place, changed) if place < 49 else prose("no patch comes after")


def warm(page: Page) -> Statements:
    yield from prose("colder or warmer scores")
    temperature = WARMTH.of(page)
    yield WARMTH.drawn(page)
    one = drawn(page, float(temperature)).picture()
    title = prose.line("at temperature", WORDS[WORD.at(page)], temperature)
    yield grid(one, title, prose.line("the vision transformer reads", *read_back(one)))


def ask(page: Page) -> Statements:
    yield from sheet(page)
    yield from prose("what does it say")
    told: dict[str, Any] = {"caption": prose.line("one decoder three tasks"), "control": "Question", "by": "choice"}
    told |= {"plays": False, "press": "", "wide": [1, 1.6], "frames": [task(page, n) for n in range(3)]}
    yield Statement("scene", told | {"at": int(page.choice("task", ["0", "1", "2"], "0"))})
    yield from prose("unit hu and singh")


def task(page: Page, n: int) -> dict[str, Any]:
    picture, label = pictures.sample(sample(page))
    patches = drawing.in_patches(picture)
    p = drawing.yes(patches)[n]
    is_so = (label % 2 == 0, label > 5, label % 3 == 0)[n]
    answer, sure = "yes" if p > 0.5 else "no", max(p, 1 - p)
    truth = prose.line("that is right") if is_so == (p > 0.5) else prose.line("the digit is", label)
    rows = [
        screen.row([screen.card("49 patches"), screen.card(QUESTIONS[n], "asked")], "it reads", "key"),
        screen.row([screen.card(answer, "written", chance(sure), sure)], "it writes", "output"),
    ]
    links = [screen.link((0, at), (1, 0), 1.0) for at in (0, 1)]
    drawn_ = cut(drawing.picture([*patches]), [], title=prose.line("your drawing in the"), note="")
    cards = screen.cards(rows, links, prose.line("one decoder whatever is"))
    said = prose.line("it says", QUESTIONS[n].capitalize(), answer, chance(sure), truth)
    return screen.frame(QUESTIONS[n], said, [drawn_, cards])


def how_often(page: Page) -> Statements:
    test = shipped.metrics("drawing")["test"]
    shares = (share(test[name]) for name in ("read_back", "as_they_are", "written"))
    back, real, coded = shares
    yield from prose("as measured of drawings", f"{test['drawings']:,}", back, f"{test['pictures']:,}", real, coded)
    rows = [(question, share(test["answers"][question])) for question in QUESTIONS]
    yield claims.table(prose.line("head of the questions"), *rows, ("mean of the three", share(test["answered"])))
    yield from prose("how much must it")
    seen = [(n, share(of)) for n, of in test["answered_after"].items()]
    yield claims.table(prose.line("head of the beginnings"), *seen)
    yield from prose("digits that it did")


do = TRY.trials(force, warm, ask, how_often)


def predict(page: Page) -> Statements:
    yield prose.question("it is about to", 1)
    yield prose.question("you ask for the", 1)
    after = shipped.metrics("drawing")["test"]["answered_after"]
    stops = ("14", "28", "49")
    right = next((k for k, n in enumerate(stops) if after[n][0] >= 0.9), 3)
    lines = [prose.line("after so many are", n, number(100 * after[n][0], 1)) for n in stops]
    faults = {k: line for k, line in enumerate([*lines, prose.line("see the first one")]) if k != right}
    yield prose.question("it is asked about", right, " ".join(lines), wrong=faults)


code = code_of("model/families/drawing.py: draw, says_yes, written, picture_of")
