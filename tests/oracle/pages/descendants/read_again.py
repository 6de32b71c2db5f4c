"""What the lesson on RoBERTa must show."""

import json

import numpy as np

from tests.oracle.language import claims, common
from tests.oracle.language import scene as screen
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import number
from tests.oracle.language.common import Choice, Shown, Statements
from tests.oracle.language.page import Page
from tests.oracle.language.words import inline
from tests.oracle.passes import shipped
from tests.oracle.passes.family import bert
from tests.oracle.passes.forward import Array, softmax
from tests.oracle.shown.blanks import Blanks

prose = Prose("read_again")

PASSES, ROOM, STOPS = 20, 12, (1, 2, 3, 5, 7, 10, 13, 16, 20)
KIND = Choice("Blanks", "again_blanks", ("drawn once", "drawn anew"), "drawn anew")
COLOURS = ("#0072B2", "#009E73", "#E69F00", "#CC79A7")
LONG = "The man who told me that he had lost his umbrella there forgot it again, because it never rained. " * 5
STATES = (
    {"sentence": "The boy sees the girl."},
    {"again_pass": "2", "stop": "1", "cell": "1.2"},
    {"sentence": LONG, "again_pass": "9", "again_blanks": "drawn once", "stop": "9"},
    {"sentence": LONG, "again_pass": "20", "cell": "2.3"},
    {"sentence": "Go", "again_pass": "4", "stop": "5"},
    {"sentence": "...", "again_pass": "2", "again_blanks": "drawn once"},
)


class Drawn:
    """The page's text, and the blanks of its passes: BERT's draw (Devlin et al. 2018, §3.1), from a seed."""

    def __init__(self, page: Page) -> None:
        text = Blanks(page, opened=True)
        self.ids, self.pieces, self.ended = text.ids, text.pieces, text.ended
        self.n = len(self.ids)
        own = 1 + sum(self.ids) % 997
        seed = next(seed for seed in range(own, own + 99) if self.passes(seed)[0][0].any())
        asked, there = self.passes(seed)
        once = np.array([asked[0]] * PASSES), np.array([there[0]] * PASSES)
        self.by_kind = {"drawn once": once, "drawn anew": (asked, there)}

    def passes(self, seed: int) -> tuple[Array, Array]:
        """Which pieces are asked for, and what stands there (PASSES,N): 80% [MASK], 10% any piece."""
        rng, asked, there = np.random.default_rng(seed), [], []
        size, marks = shipped.config(bert.BERT)["vocab_size"], len(bert.NAMES)
        for _ in range(PASSES):
            chosen = rng.random(self.n + 2)[1:-1] < 0.15
            becomes = rng.random(self.n + 2)[1:-1]
            other = rng.integers(marks, size, self.n + 2, dtype=np.uint16)[1:-1]
            read = np.where(chosen & (becomes < 0.8), bert.MASK, self.ids)
            asked.append(chosen)
            there.append(np.where(chosen & (becomes >= 0.8) & (becomes < 0.9), other, read))
        return np.array(asked), np.array(there)

    def ever(self, kind: str, passes: int = PASSES) -> int:
        return int(self.by_kind[kind][0][:passes].any(0).sum())


def figures() -> dict:  # type: ignore[type-arg]
    found: dict = json.loads((shipped.MODELS.parent / "labelled" / "again.json").read_text())  # type: ignore[type-arg]
    return found


def scene(page: Page) -> Statements:
    text = Drawn(page)
    said = f" {prose.line('ended')}" * text.ended
    said += f" {prose.line('room', ROOM, text.n)}" * (text.n > ROOM)
    frames = [scene_frame(text, passes) for passes in STOPS]
    caption = prose.line("roberta reads a text", said)
    how = {"by": "slider", "wide": (1, 1), "plays": True}
    yield from screen.scene(page, caption, "Times it has read your sentence", frames, len(STOPS) - 1, **how)


def scene_frame(text: Drawn, passes: int) -> screen.Panel:
    panels = []
    for kind, (asked, _) in text.by_kind.items():
        dark = np.where(np.arange(PASSES)[:, None] < passes, asked, False)
        note = prose.line("asked for of pieces", text.ever(kind, passes), text.n, times(int(dark.sum())))
        names = [one.text for one in text.pieces[:ROOM]]
        panels.append(screen.matrix(dark.T[:ROOM].astype(float), f"Blanks {kind}", note, names, ends=1.0))
    ever = (text.ever(kind, passes) for kind in KIND.options)
    says = prose.line("read blanks drawn once", times(passes), *ever, text.n)
    return screen.frame(str(passes), says, panels, [learned()])


def learned() -> screen.Panel:
    once, anew = (100 * figures()["models"][f"texts, {how} blanks"]["accuracy"][0] for how in ("the same", "new"))
    bars = [screen.bar("drawn once", once, f"{number(once, 1)}%")]
    bars.append(screen.bar("drawn anew", anew, f"{number(anew, 1)}%", None, True))
    return screen.bars(bars, prose.line("two small berts"), limit=max(once, anew))


def times(n: int) -> str:
    return f"{n} time{'' if n == 1 else 's'}"


def looked_at(page: Page) -> tuple[Drawn, list[int], Array]:
    text, at = Drawn(page), page.number("again_pass", 1, PASSES, 1) - 1
    asked, there = (part[at] for part in text.by_kind[KIND.of(page)])
    return text, np.flatnonzero(asked).tolist(), there


def shown(page: Page) -> Shown:
    text, places, there = looked_at(page)
    reading = bert.Bert([bert.CLS, *there.tolist(), bert.SEP])
    likely = (-softmax(reading["logits"][places[0] + 1])).argsort()[:5].tolist()
    ids = [*dict.fromkeys((*(text.ids[n] for n in places), *likely))]
    return common.shown_tensor(
        page,
        "probabilities",
        rows=[text.pieces[n].text for n in places],
        columns=[bert.entry(id) for id in ids],
        only_rows=[n + 1 for n in places],
        only_columns=ids,
        start=(0, 0),
        oracle=reading,  # type: ignore[arg-type]
        scale="positive",
        limit=1,
    )


def see(page: Page) -> Statements:
    yield KIND.drawn(page)
    at = page.number("again_pass", 1, PASSES, 1)
    yield claims.slider("Pass", 1, PASSES, at)
    text, places, there = looked_at(page)
    if not places:
        asks = np.flatnonzero(text.by_kind[KIND.of(page)][0].any(1)) + 1
        yield from prose("pass asks for no", at, next((n for n in asks if n > at), asks[0]))
        return
    stands = []
    for n in places:
        own, id = inline(text.pieces[n].text), int(there[n])
        what = "masked" if id == bert.MASK else "left" if id == text.ids[n] else "other"
        stands.append(prose.line(what, own, *([inline(bert.entry(id))] if what == "other" else [])))
    yield from prose("what would a bert", at, "; ".join(stands))
    yield from common.tensor_matrix(shown(page), **prose.words("matrix"))
    yield from prose("of the pieces asked")


def check(page: Page) -> Statements:
    if looked_at(page)[1]:
        yield from common.check_cell(shown(page))
    else:
        yield from prose("there is nothing to")


def plus_minus(pair: list[float], times: int = 1, digits: int = 3) -> str:
    return " ± ".join(number(times * one, digits) for one in pair)


def do(page: Page) -> Statements:
    found = figures()
    models = found["models"]
    yield from prose("does it matter four")
    lines = []
    for colour, (title, one) in zip(COLOURS, models.items(), strict=True):
        steps, losses = np.array(one["validation"]).T
        lines.append(claims.Line(title, steps * one["epochs"] / one["steps"], losses, colour, dotted=True))
    every = np.concatenate([line.y for line in lines])
    x = claims.Axis("times they have read them", 0, max(line.x.max() for line in lines))
    room = (every.max() - every.min()) / 50
    y = claims.Axis("loss on other texts, in nats", every.min() - room, every.max() + room)
    yield claims.curves(lines, x, y, alt="The loss of the four by passes")
    rows = [
        (title, plus_minus(one["accuracy"], 100, 2), plus_minus(one["loss"]), number(one["epochs"], 1))
        for title, one in models.items()
    ]
    yield claims.table("it learned from | blanks right, in % | loss, in nats | passes", *rows)
    turns = [
        (turn, plus_minus(one["accuracy"], 100, 2), plus_minus(one["loss"]))
        for turn, one in found["differences"].items()
    ]
    yield claims.table("what is changed | points of blanks right | nats of loss", *turns)
    blanks, pairs = (
        found["differences"]["new blanks, with texts alone"],
        found["differences"]["no pairs, with new blanks"],
    )
    says = [
        told(*blanks["loss"], ("lower loss", "higher loss")),
        told(*pairs["accuracy"], ("fewer blanks right", "more blanks right")),
    ]
    one = models["texts, new blanks"]
    values = f"{found['masked_tokens']:,}", f"{one['documents']:,}", f"{one['parameters']:,}", f"{one['steps']:,}"
    yield from prose("new blanks with texts", *says, *values)


def told(by: float, error: float, either: tuple[str, str]) -> str:
    return "within the noise" if -2 * error < by < 2 * error else either[by > 0]


def predict(page: Page) -> Statements:
    yield prose.question("bert's data held copies", 1)
    yield prose.question("each pass over a", 1, f"{0.85**20:.0%}", number(0.85**20, 3))


code = common.code_of("training/loop/text_rows.py: masked", "training/loop/blanks_again.py: drawn_anew")
