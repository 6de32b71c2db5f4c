"""What the lesson on ELECTRA must show."""

import json
from functools import cached_property
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
    check_cell,
    code_of,
    shown_tensor,
    tensor_matrix,
)
from tests.oracle.language.page import Page
from tests.oracle.language.words import inline, visible
from tests.oracle.passes import shipped
from tests.oracle.passes.family import bert
from tests.oracle.passes.forward import Array, softmax, tidied
from tests.oracle.shown.blanks import Blanks

prose = Prose("which_was_swapped")

GENERATOR, RANKS = "distilled", (1000, 100, 10, 3, 1)
SHOW = Choice("Show", "swap_show", ("P(swapped)", "score"))
SHARE = Stops("Share that is hidden and filled in, in %", "swap_share", ("0", "15", "30", "50", "100"), "30")
TRIAL = Choice("Try", "swap_trial", ("Which word fools it", "Many at once", "What it is worth"))
LONG = "The man who told me that he had lost it forgot it again. " * 9
STATES: tuple[dict[str, str], ...] = (
    {},
    {"stop": "1", "swap": "4", "swap_in": "pear", "swap_trial": TRIAL.options[1], "swap_share": "100"},
    {"stop": "6", "swap": "2", "swap_in": "<b>frobnicated</b> 昨日", "swap_show": "score", "cell": "3.1"},
    {"sentence": LONG, "swap_trial": TRIAL.options[1], "swap_seed": "4", "stop": "3"},
    {"sentence": "Go", "swap_in": "Go", "swap": "1", "swap_trial": TRIAL.options[2]},
    {"sentence": "The boy sees the girl.", "swap_trial": TRIAL.options[1], "swap_share": "0"},
    {"sentence": "12 + 7 = 19?", "swap": "3"},
)


class Text(Blanks):
    """The page's text, and what ELECTRA and its generator make of it."""

    def __init__(self, page: Page) -> None:
        super().__init__(page, opened=True)
        self.texts = [piece.text for piece in self.pieces[: min(10, len(self.ids))]]
        self.at = page.count("swap", len(self.texts), self.telling + 1) - 1
        typed = tidied(page.state.get("swap_in", ""))
        own = bert.tokenizer().encode(typed, add_special_tokens=False).ids if typed else []
        self.put_in = tuple(own) or (self.guesses(self.at)[0],)

    def default(self) -> int:
        return 0

    def generated(self, at: int) -> Array:
        """The generator's probability of every entry where one piece is hidden."""
        return softmax(bert.read(self.ids, (at,), GENERATOR)["logits"][at + 1])

    def guesses(self, at: int) -> list[int]:
        """Entries that begin a word and do not stand there, the likeliest first."""
        order = np.argsort(-self.generated(at), kind="stable").tolist()
        return [id for id in order if bert.raw(id)[:1] == b" " and id != self.ids[at]]

    def swapped(self, at: int, *ids: int) -> Array:
        """P(swapped) of every piece, marks left out, with others in the place of one."""
        read = bert.suspected((*self.ids[:at], *ids, *self.ids[at + 1 :]))
        return np.asarray(read["probability"][1:-1, 0])

    @cached_property
    def telling(self) -> int:
        """Where ELECTRA suspects the generator's hundredth guess most."""
        spelled = [n for n, text in enumerate(self.texts) if text.isalpha()]
        among = spelled[1:] or spelled or [*range(len(self.texts))]
        return max(among, key=lambda n: self.swapped(n, self.guesses(n)[99])[n])


def scene(page: Page) -> Statements:
    text = Text(page)
    cut = f" {prose.line('drawn the first')}" * (len(text.ids) > 10)
    caption = prose.line("electra says of every", cut + f" {prose.line('ended')}" * text.ended)
    frames = [scene_frame(text, rank) for rank in (0, *RANKS)]
    yield from screen.scene(page, caption, "Put in", frames, 1)


def scene_frame(text: Text, rank: int) -> dict[str, Any]:
    """rank: of the guess that is put in; 0: none is"""
    at, words = text.telling, list(text.texts)
    order, chances = text.guesses(at), text.generated(at)
    now = order[rank - 1] if rank else text.ids[at]
    p, own = text.swapped(at, now), words[at]
    was = [screen.card(word, "unseen" if rank and n == at else "") for n, word in enumerate(words)]
    words[at] = bert.entry(now)
    cards = [
        screen.card(word, "strong" if p[n] > 0.5 else "", chance(p[n]), float(p[n])) for n, word in enumerate(words)
    ]
    bars = [
        screen.bar(bert.entry(id), chances[id], chance(chances[id]), strong=id == now)
        for id in (text.ids[at], *(order[rank - 1] for rank in RANKS[::-1]))
    ]
    suspects = sum(p > 0.5) - (bool(rank) and p[at] > 0.5)
    if rank:
        verdict = prose.words("verdicts")["noticed" if p[at] > 0.5 else "fooled"]
        says = prose.line("is now", visible(own), visible(words[at]), f"{rank:,}", chance(p[at]), verdict, suspects)
    else:
        says = prose.line("nothing is swapped", suspects, len(p))
    rows = [screen.row(was, "your text"), screen.row(cards, "ELECTRA reads", "output")]
    names = prose.words("panels", own)
    return screen.frame(
        words[at] if rank else "as written",
        says,
        [screen.cards(rows, [screen.link((0, at), (1, at), 0.2, "key")])],
        [screen.bars(bars, names["generator"], "key")],
    )


def idea(page: Page) -> Statements:
    steps = shipped.metrics(bert.ELECTRA)["training"]["steps"]
    yield from prose("idea", shipped.config(GENERATOR)["n_layers"], f"{steps:,}")


def shown(page: Page) -> Shown:
    text, shows = Text(page), SHOW.of(page)
    ids = (*text.ids[: text.at], *text.put_in, *text.ids[text.at + 1 :])
    name, scale = ("probability", "weight") if shows == "P(swapped)" else ("logits", "signed")
    rows = [bert.entry(id) for id in (bert.CLS, *ids, bert.SEP)]
    described = f"{shows} of “{{row}}”: {{value}}"
    given: dict[str, Any] = {"rows": rows, "columns": [shows], "scale": scale, "describe": described}
    return shown_tensor(page, name, oracle=bert.suspected(ids), **given)  # type: ignore[arg-type]


def see(page: Page) -> Statements:
    text = Text(page)
    yield from prose("can you fool it")
    yield claims.numbered("Piece to swap", text.texts, text.at)
    yield claims.text_box("Put in", page.state.get("swap_in", ""), placeholder=bert.entry(text.guesses(text.at)[0]))
    yield SHOW.drawn(page)
    if text.is_cut:
        yield from prose("reads only the first", len(text.ids))
    p = text.swapped(text.at, *text.put_in)[text.at : text.at + len(text.put_in)]
    told = ", ".join(f"**{inline(bert.entry(id))}** {chance(each)}" for id, each in zip(text.put_in, p, strict=True))
    verdicts = prose.words("verdicts of yours")
    verdict = "same" if text.put_in == (text.ids[text.at],) else "noticed" if max(p) > 0.5 else "fooled"
    yield from prose("p swapped", told, verdicts[verdict])
    yield from tensor_matrix(shown(page), **prose.words("matrix"))


def check(page: Page) -> Statements:
    yield from check_cell(shown(page))


def fooling(page: Page) -> Statements:
    text = Text(page)
    order, chances = text.guesses(text.at)[:12], text.generated(text.at)
    p = {id: float(text.swapped(text.at, id)[text.at]) for id in order}
    yield from prose("which word fools it", inline(text.texts[text.at]), sum(one <= 0.5 for one in p.values()))
    lines = ((bert.entry(id), chance(chances[id]), chance(p[id])) for id in sorted(order, key=lambda id: p[id]))
    yield claims.table("put in | the generator gives it | P(swapped)", *lines)


def many(page: Page) -> Statements:
    text = Text(page)
    seed, n = int(page.number("swap_seed", 1, 20, 1)), len(text.ids)
    yield from prose("many at once as")
    yield SHARE.drawn(page)
    yield claims.slider("Seed", 1, 20, seed)
    places = np.random.default_rng(seed).permutation(n)[: round(int(SHARE.of(page)) / 100 * n)].tolist()
    logits = bert.read(text.ids, tuple(sorted(places)), GENERATOR)["logits"]
    draws = dict(zip(sorted(places), np.random.default_rng(seed).random(len(places)), strict=True))
    now = [
        int(np.searchsorted(softmax(logits[at + 1] / 2).cumsum(), draws[at])) if at in draws else id
        for at, id in enumerate(text.ids)
    ]
    p, swapped = bert.suspected(tuple(now))["probability"][1:-1, 0], np.array(now) != np.array(text.ids)
    told = p > 0.5
    counts = len(places), n, len(places) - sum(swapped), sum(swapped), sum(told & swapped), sum(told & ~swapped)
    yield from prose("hidden of pieces the", *counts, n - sum(swapped))
    if listed := [at for at in range(n) if at in places or told[at]]:
        lines = ((bert.entry(text.ids[at]), bert.entry(now[at]) * (at in places), chance(p[at])) for at in listed)
        yield claims.table("stood there | stands there | P(swapped)", *lines)
    yield from prose("listed the pieces that")


def flops(name: str, guessed: float) -> float:
    """Of one piece, going forwards: 2 for each weight of a matrix; the head that guesses works for a share of them."""
    sizes = {key: w.size for key, w in shipped.weights(name).items() if w.ndim == 2}
    whole = sum(n for key, n in sizes.items() if key.split(".")[0] in ("encoder", "replaced"))
    return 2 * (whole + guessed * (sizes["embedding.matrix.weight"] + sizes.get("masked_token.transform.weight", 0)))


def worth(page: Page) -> Statements:
    figures, found = shipped.metrics(bert.ELECTRA), []
    test, training = figures["test"], figures["training"]
    told = []
    for one in (test, test["at_temperature_1"]):
        told += [number(100 * one["area"], 1), number(100 * one["standard_error"], 1)]
    back = (f"{100 * one['guessed_right']:.1f}%" for one in (test, test["at_temperature_1"]))
    yield from prose("does it notice swaps", f"{test['replaced']:,}", *told, *back)
    kept = json.loads((shipped.MODELS.parent / "labelled" / "four_tasks.json").read_text())
    pieces = training["steps"] * training["recipe"]["batch_tokens"] / 1e12
    went_on = {
        "BERT": (bert.BERT, 0.0),
        "then more blanks": ("bert-longer", 3 * flops(bert.BERT, 0.4)),
        "then swaps: ELECTRA": (bert.ELECTRA, 3 * flops(bert.ELECTRA, 0) + flops(GENERATOR, 0.15)),
    }
    for who, (name, cost) in went_on.items():
        of = {one["kind"]: (one["right"]["pretrained"], one["n"]) for one in kept[name]["tasks"].values()}
        each = [of[kind] for kind in ("pair", "span", "tags")]
        mean = sum(p for p, _ in each) / 3
        around = np.sqrt(sum(p * (1 - p) / n for p, n in each)) / 3
        shares = (f"{number(100 * p, 1)}%" for p, _ in each)
        found.append((who, f"{cost * pieces:,.0f}", *shares, f"{number(100 * mean, 1)} ± {number(100 * around, 1)}%"))
    yield claims.table(" | TFLOPs more | pairs | spans | tags | mean of the three", *found)
    yield from prose("flops of the products")


def predict(page: Page) -> Statements:
    text = Text(page)
    at, n = text.telling, len(text.ids)
    yield prose.question("your text has pieces", 1, n, max(1, round(0.15 * n)))
    ids = [text.guesses(at)[rank - 1] for rank in (1000, 10, 1)]
    each = [text.swapped(at, id)[at] for id in ids]
    p, least = [chance(one) for one in each], int(np.argmin(each))
    wrong = {k: prose.line("it gives it", one) for k, one in enumerate(p) if k != least}
    told = ", ".join(f"**{inline(bert.entry(id))}** {one}" for id, one in zip(ids, p, strict=True))
    options = [bert.entry(id) for id in ids]
    yield prose.question("put a word in", least, inline(text.texts[at]), told, options=options, wrong=wrong)


do = TRIAL.trials(fooling, many, worth)
code = code_of(
    "model/families/encoder_only.py: Discriminator",
    "model/families/encoder_only.py: ReplacedTokenHead",
    "training/loop/replacing.py: drawn",
)
