"""What the lesson on Vision Transformers must show."""

from typing import Any

import numpy as np

from tests.oracle.language import claims
from tests.oracle.language import scene as screen
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import chance, number
from tests.oracle.language.common import Choice, Shown, Statements, check_cell, code_of, shown_tensor, tensor_matrix
from tests.oracle.language.page import Page
from tests.oracle.language.statement import Statement
from tests.oracle.passes import pictures, shipped
from tests.oracle.passes.pictures import Read
from tests.oracle.shown.frame import INSTEAD, UNKEPT

prose = Prose("a_picture_as_words")

STATES: tuple[dict[str, str], ...] = (
    {},
    {"digit": "9", "stop": "4", "see": "columns", "try": "Looks and effects", "cell": "1.5"},
    {"digit": "10", "see": "pixels of the patches", "try": "Read every row", "cell": "7.30"},
    {"digit": "7", "try": "Read every row"},
    {"digit": "11", "stop": "2", "map": "1.3", "try": "Places"},
    {"digit": "3", "stop": "7", "hide": "6.7", "cell": "2.4"},
    {"digit": "0", "hide": "11", "try": "Hide patches", "see": "columns"},
    {"digit": "99", "hide": "0.99.x", "try": "Fewer digits"},
    {"hide": ".".join(map(str, range(1, 17)))},
)
SEE = Choice("What to see", "see", ("attention", "pixels of the patches", "columns"))
TRY = Choice("Try", "try", ("Hide patches", "Looks and effects", "Read every row", "Places", "Fewer digits"))
STOPS = (0, 1, 2, 3, 4, 6, 8)
ROWS = ["[class]", *map(str, range(1, 17))]
SIGNS = "0123456789abcdefghijklmnopqrstuvwxyz"
CNN, VIT = "convolutional network", "Vision Transformer"

UNKEPT["a-picture-as-words"] = "what you drew"


def sample(page: Page) -> int:
    text = page.state.get("digit", "")
    return int(text) if text.isascii() and text.isdigit() and int(text) < pictures.n_samples() else 4


def ink(picture: np.ndarray) -> str:
    return "".join(SIGNS[round(35 * float(one))] for one in picture.ravel())


def sheet(page: Page) -> Statements:
    n = sample(page)
    words = prose.words("a sheet to draw")
    told = {"samples": [*map(str, range(10)), words.pop("last")], "chosen": min(n, 10), "size": 28}
    yield Statement("drawing", words | told | {"ink": ink(pictures.sample(n)[0])})


INSTEAD["a-picture-as-words"] = sheet


def scene(page: Page) -> Statements:
    n = sample(page)
    order = pictures.order(n, STOPS[-1])
    frames = [scene_frame(n, order[:many]) for many in STOPS]
    caption, control = prose.line("vit a picture as"), prose.line("patches hidden each time")
    yield from screen.scene(page, caption, control, frames, by="slider", wide=(1, 2.1, 1), plays=True)


def scene_frame(n: int, gone: list[int]) -> dict[str, Any]:
    (picture, label), first, read = pictures.sample(n), pictures.read(n), pictures.read(n, frozenset(gone))
    before, now, weights = first.chances, read.chances, read.looks
    named, was, most = int(now.argmax()), int(before.argmax()), int(weights.argmax())
    columns = read["encoder.embedding.projected"][:, :12]
    cut = {
        "size": 28,
        "side": 4,
        "down": 4,
        "whole": False,
        "ink": ink(picture),
        "weights": [screen.near(weight / weights.max()) for weight in weights],
        "hidden": [int(at in gone) for at in range(1, 17)],
    }
    fan = {"top": "[class]", "columns": [[screen.near(one) for one in column] for column in columns]}
    fan |= {"limit": screen.near(float(np.abs(columns).max()))}
    bars = [
        screen.bar(str(digit), now[digit], chance(now[digit]), before[digit] if gone else None, digit == named)
        for digit in range(10)
    ]
    if not gone:
        truth = f"The digit is **{label}**. " if named != label else ""
        says = prose.line("it reads and looks", named, chance(now[named]), truth, most + 1, chance(weights[most]))
    else:
        which = f"patch {gone[0]}" if len(gone) == 1 else f"patches {', '.join(map(str, gone[:-1]))} and {gone[-1]}"
        still = "" if named != was else "still "
        fell = f"{was} fell from {chance(before[was])} to {chance(now[was])}"
        fell = fell if named != was else f"before, {chance(before[was])}"
        says = prose.line("without it reads", which, still, named, chance(now[named]), fell)
    return screen.frame(
        f"{len(gone)} hidden",
        says,
        [
            cut | {"kind": "sheet", "windows": [], "marked": 0} | prose.words("your picture in patches"),
            cut | fan | {"kind": "fan"} | prose.words("each patch is a"),
            screen.bars(bars, "It reads"),
        ],
    )


def chosen_head(page: Page) -> tuple[int, int]:
    return page.pair("map", (3, 4), (2, 0))


def shown(page: Page) -> Shown:
    read: Any = pictures.read(sample(page))
    match SEE.of(page):
        case "attention":
            layer, head = chosen_head(page)
            name = f"encoder.layers.{layer}.self_attn.weights"
            most = int(read[name][head, 0].argmax())
            both: dict[str, Any] = {"rows": ROWS, "columns": ROWS, "start": (0, most)}
            return shown_tensor(page, name, head=head, kind="encoder", oracle=read, **both)
        case "columns":
            return shown_tensor(page, "encoder.embedding.output", rows=ROWS, oracle=read)
    return shown_tensor(page, "patches", rows=ROWS[1:], oracle=read, scale="weight")


def see(page: Page) -> Statements:
    yield SEE.drawn(page)
    read, kind = pictures.read(sample(page)), SEE.of(page)
    if kind != "attention":
        words = {"columns": "columns that the encoder", "pixels of the patches": "pixels of the patches"}[kind]
        yield from tensor_matrix(shown(page), **prose.words(words))
        return
    layer, head = chosen_head(page)
    maps = np.stack([read[f"encoder.layers.{n}.self_attn.weights"][:, 0, 1:] for n in range(3)]).reshape(3, 4, 4, 4)
    title = prose.line("where class looks head")
    yield claims.head_grid(maps / maps.max(), selected=(layer, head), title=title, mean=False)
    yield from tensor_matrix(shown(page), **prose.words("weights of layer head", layer + 1, head + 1))


def check(page: Page) -> Statements:
    yield from check_cell(shown(page))


def grid(values: np.ndarray, title: str, how_to_read: str, **more: Any) -> Statement:
    looks: dict[str, Any] = {"describe": "Patch {name}: {value}"} | more
    looks |= {"value_names": [[str(4 * row + column) for column in range(1, 5)] for row in range(4)]}
    rows, columns = ([f"{side} {n}" for n in range(1, 5)] for side in ("row", "column"))
    return claims.matrix(
        values.reshape(4, 4), rows, columns, title=title, how_to_read=how_to_read, csv_name=title, **looks
    )


def effects(n: int, gone: frozenset[int], of: int) -> np.ndarray:
    return np.array([pictures.read(n, gone ^ {patch}).chances[of] for patch in range(1, 17)])


def hide(page: Page) -> Statements:
    n = sample(page)
    gone = frozenset(at for at in range(1, 17) if str(at) in page.state.get("hide", "").split("."))
    first, now = pictures.read(n).chances, pictures.read(n, gone).chances
    was, named = int(first.argmax()), int(now.argmax())
    yield from prose("click a patch to", was)
    words = prose.words("how likely without this", was, chance(now[was]))
    mask = np.array([at in gone for at in range(1, 17)]).reshape(4, 4)
    describe = "Without patch {name}: {value}"
    yield grid(effects(n, gone, was), **words, hidden=mask, describe=describe, hatched="hidden")
    if gone:
        listed = ", ".join(map(str, sorted(gone)))
        yield from prose("hidden it reads", listed, named, chance(now[named]), was, chance(first[was]))
    else:
        yield from prose("nothing is hidden it", was, chance(first[was]))


def looks(page: Page) -> Statements:
    n = sample(page)
    read = pictures.read(n)
    was = int(read.chances.argmax())
    yield from prose("does it look at")
    yield grid(read.looks, **prose.words("class looks"), scale="positive")
    yield grid(read.rollout(), **prose.words("rollout"), scale="positive")
    taken = read.chances[was] - effects(n, frozenset(), was)
    yield grid(taken, **prose.words("what hiding it takes", was), scale="signed", limit=1.0)
    kept = shipped.metrics("pictures")
    yield from prose("measured on digits how", f"{kept['pictures']:,}")
    rows = [(many, share(of["looked_at"]), share(of["random"])) for many, of in kept["hiding"].items()]
    yield claims.table(prose.line("head of hiding"), *rows)
    yield from prose("the random ones are")


def share(of: list[float]) -> str:
    return f"{number(100 * of[0], 1)} ± {number(100 * of[1], 1)}"


def every_row(page: Page) -> Statements:
    read = pictures.read(sample(page))
    said, was = read.lens(), int(read.chances.argmax())
    yield from prose("when did it know")
    rows = ["at the start", "after layer 1", "after layer 2", "after layer 3"]
    names = [[f"{row.argmax()}, {chance(row.max())}" for row in layer] for layer in said]
    yield claims.matrix(
        said[..., was],
        rows,
        ROWS,
        **prose.words("how likely each row", was),
        csv_name="every row",
        value_names=names,
        describe=f"{{row}}, {{column}}: {{value}} for {was}, it would name {{name}}",
    )
    first = 3
    while first and said[first - 1, 0].argmax() == was:
        first -= 1
    since = prose.line("since when", was, rows[first]) if first else prose.line("from the start")
    yield from prose("read at class it", int(said[0, 0].argmax()), since)


def places(page: Page) -> Statements:
    yield from prose("has it found out")
    table = pictures.weights("vit-8000")["embedding.positions.table.weight"][1:]
    cosines = np.array([[a @ b / np.sqrt(a @ a * (b @ b)) for b in table] for a in table])
    yield claims.matrix(
        cosines, ROWS[1:], ROWS[1:], **prose.words("cosines of the places"), csv_name="matrix", scale="signed",
        limit=1.0, group=4, describe="Places {row} and {column}: {value}",
    )  # fmt: skip
    at = np.array([divmod(n, 4) for n in range(16)])
    apart = np.abs(at[:, None] - at)
    kinds = ((apart == [0, 1]).all(-1), (apart == [1, 0]).all(-1), apart.max(-1) >= 2)
    yield from prose("side by side one", *(number(float(cosines[which].mean()), 2) for which in kinds))


def fewer(page: Page) -> Statements:
    picture, _ = pictures.sample(sample(page))
    kept, rows = shipped.metrics("pictures"), []
    yield from prose("patches or filters a")
    for name in pictures.NAMES:
        kind, _, n = name.partition("-")
        said = Read(picture, name=name).chances if kind == "vit" else pictures.convolved(picture, name)
        reads = f"{said.argmax()}, {chance(said.max())}"
        rows.append((VIT if kind == "vit" else CNN, f"{int(n):,}", reads, share(kept["test"][name])))
    yield claims.table(prose.line("head of the readers"), *rows)
    for n in ("8000", "500"):
        apart, tells = ahead(n)
        told = prose.line("the network is ahead" if tells else "the two are apart", apart)
        yield from prose("from digits the convolutional", f"{int(n):,}", told)
    many, few = (f"{kept['training'][f'vit-{n}']['steps']:,}" for n in (8000, 500))
    yield from prose("digits that none of", f"{kept['pictures']:,}", many, kept["recipe"]["batch_size"], few)


def ahead(n: str) -> tuple[str, bool]:
    """How far the convolutional network is ahead, in points, and whether that is two standard errors or more."""
    mean, error = shipped.metrics("pictures")["cnn_ahead"][n]
    return f"{number(100 * mean, 1)} ± {number(100 * error, 1)}", mean >= 2 * error


do = TRY.trials(hide, looks, every_row, places, fewer)


def predict(page: Page) -> Statements:
    yield prose.question("a picture of pixels", 2)
    for run, n in (("a convolutional network of", "500"), ("and if both learn", "8000")):
        apart, tells = ahead(n)
        told = prose.line("the convolutional network is" if tells else "they are apart", apart)
        yield prose.question(run, 1 if tells else 2, told)


code = code_of(
    "model/families/pictures.py: cut_into_patches, PatchEmbedding, VisionTransformer",
    "experiments/pictures/looking.py: hidden, rollout, lens",
)
