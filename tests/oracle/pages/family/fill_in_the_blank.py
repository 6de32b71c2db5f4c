"""What the lesson on BERT's blanks must show."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.oracle.language import claims, common
from tests.oracle.language import scene as screen
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import chance
from tests.oracle.language.common import Statements, check_cell, code_of, shown_tensor, tensor_matrix
from tests.oracle.language.page import READABLE, Page
from tests.oracle.language.words import Piece, inline, visible
from tests.oracle.passes.family import bert
from tests.oracle.passes.family.bert import Ids, config, entry, metrics, n_parameters
from tests.oracle.passes.forward import Array

prose = Prose("fill_in_the_blank")

LONG = "The man who told me that he had lost his umbrella there forgot it again, because it never rained. " * 5
INSIDE = {"Probability": "probabilities", "Logit": "logits"}
TRIALS = ("How training hides", "How much to hide")
SCENE = 10
ADDED = " A full stop was added: BERT and GPT learned from texts that end with a mark."
SHARES = ("5%", "10%", "15%", "25%", "40%", "60%")
STATES = (
    {"sentence": "I ate an apple.", "blank_inside": "Logit"},
    {"sentence": "Once upon a time there was a little girl.", "blanks": "3.8", "which": "2"},
    {"sentence": "The dog ran.", "blanks": "0"},
    {"sentence": "Go"},
    {"sentence": "The cat drinks milk", "blanks": "4", "share": "60%", "blank_seed": "5"},
    {"sentence": "The xylophone is kaputt", "blanks": "2.1", "blank_trial": TRIALS[1], "cell": "2.3"},
    {"sentence": LONG, "share": "40%", "blanks": "2.99"},
)


class Blanks:
    """The page's text, its words, and which of them the address hides."""

    def __init__(self, page: Page, opened: bool = False) -> None:
        whole = bert.tokenizer().encode(bert.ended(page.text), add_special_tokens=False).ids
        self.ids: Ids = tuple(whole[: bert.MOST])
        self.is_cut = len(whole) > bert.MOST
        self.ended = bert.ended(page.text) != page.text and not self.is_cut
        self.pieces: tuple[Piece, ...] = bert.pieces(self.ids)
        self.words = bert.words(self.pieces)
        first = (self.default(),)
        asked = page.state.get("blanks", "")
        self.hidden: tuple[int, ...] = first
        if asked == "0":
            self.hidden = ()
        elif re.fullmatch(r"\d+(\.\d+)*", asked):
            named = tuple(sorted({int(n) - 1 for n in asked.split(".")}))
            self.hidden = named if named[0] >= 0 and named[-1] < len(self.words) else first
        if opened:
            self.hidden = first
        self.places = tuple(place for n in self.hidden for place in self.words[n])

    def word(self, n: int) -> str:
        return "".join(self.pieces[place].text for place in self.words[n])

    def default(self) -> int:
        """The longest word within that BERT names first and GPT does not; else that which BERT gives most more."""
        drawn = range(min(SCENE, len(self.words)))
        spelled = [n for n in drawn if self.word(n).isalpha()]
        inner = spelled[1:-1] or spelled or list(drawn)
        gained, known = {}, {}
        for n in inner:
            at = self.words[n][0]
            both, left, right = bert.both_sides(self.ids, self.words[n], at), self.left(at), self.ids[at]
            gained[n] = both[right] - left[right]
            known[n] = len(self.word(n)) if both.argmax() == right and left.argmax() != right else 0
        return max(inner, key=lambda n: (known[n], gained[n]))

    def word_of(self, place: int) -> int:
        return next(n for n, word in enumerate(self.words) if place in word)

    def both(self, place: int) -> Array:
        return bert.both_sides(self.ids, self.places, place)

    def left(self, place: int) -> Array:
        return bert.left_alone(self.ids[:place])


def looked_at(page: Page, blanks: Blanks) -> int:
    return blanks.places[page.count("which", len(blanks.places), 1) - 1]


def shown_ids(chances: Array, right: int) -> list[int]:
    best = [int(id) for id in np.argsort(-chances, kind="stable")[:5]]
    return best if right in best else [*best, right]


def scene(page: Page) -> Statements:
    blanks = Blanks(page, opened=True)
    yield from screen.scene(
        page,
        prose.line("bert fills in the blank", ADDED * blanks.ended),
        "Click the word to hide",
        [scene_frame(blanks, n) for n in range(min(SCENE, len(blanks.words)))],
        blanks.hidden[0],
        by="cards",
    )


def scene_frame(blanks: Blanks, own: int) -> dict[str, Any]:
    hidden, at = blanks.words[own], blanks.words[own][0]
    right, count = blanks.ids[at], min(SCENE, len(blanks.words))
    both, left = bert.both_sides(blanks.ids, hidden, at), blanks.left(at)
    less = {
        n: bert.both_sides(blanks.ids, tuple(sorted(hidden + blanks.words[n])), at) for n in range(count) if n != own
    }
    told = min(less, key=lambda n: less[n][right]) if less else own
    words = [
        screen.card(blanks.word(n), "strong" if n == told else "", chance(less.get(n, both)[right]))
        for n in range(count)
    ]
    words[own] = screen.card("[MASK]", "asked", blanks.word(own))
    lost = {n: max(0.0, 1 - shares[right] / both[right]) for n, shares in less.items()}

    def panel(shares: Array, title: str, role: str, before: float | None = None) -> dict[str, Any]:
        best = [int(id) for id in np.argsort(-shares, kind="stable")[:4]]
        best = best if right in best else [*best[:-1], right]
        bars = [
            screen.bar(entry(id), shares[id], chance(shares[id]), before if id == right else None, id == right)
            for id in best
        ]
        return screen.bars(bars, title, role)

    says = prose.line("bert gives gpt", visible(blanks.pieces[at].text), chance(both[right]), chance(left[right])) + " "
    if not lost.get(told):
        says += prose.line("no other word tells")
    else:
        says += prose.line(
            "hide it too",
            visible(blanks.word(told)),
            chance(less[told][right]),
            prose.line("behind the blank" if told > own else "before the blank"),
        )
    without = f"BERT without “{visible(blanks.word(told))}”" if less else "BERT"
    return screen.frame(
        visible(blanks.word(own)),
        says,
        [
            screen.cards(
                [screen.row(words)],
                [screen.link((0, n), (0, own), weight) for n, weight in lost.items()],
                prose.line("below each word"),
            )
        ],
        [
            panel(both, "BERT, from both sides", "query"),
            panel(less.get(told, both), without, "query", both[right]),
            panel(left, "GPT, from the left", "output"),
        ],
    )


def idea(page: Page) -> Statements:
    yield from prose("bert is an encoder")
    test, sizes = metrics()["test"], config()
    yield from prose(
        "devlin et al trained",
        sizes["n_layers"],
        sizes["d_model"],
        sizes["n_heads"],
        claims.number(n_parameters() / 1000000.0, 1),
        claims.number(100 * test["accuracy"], 1),
        claims.number(100 * test["left_neighbour"], 1),
    )


def see(page: Page) -> Statements:
    blanks = Blanks(page)
    yield from prose("what stands in the")
    for example in (
        "The bird flew [MASK] of the window.",
        "The old man and the [MASK] woman had no children.",
        "It [MASK] been raining since yesterday.",
    ):
        yield claims.button(example)
    yield claims.cards(
        [
            ("[MASK]", [piece.text], piece.word, True) if n in blanks.places else (piece.text, [], piece.word, False)
            for n, piece in enumerate(blanks.pieces)
        ],
        title="Your sentence in BERT’s pieces",
        how_to_read="Click a word to hide it, or to show it again.",
        clickable=True,
    )
    if blanks.ended:
        yield claims.caption(ADDED.strip())
    if blanks.is_cut:
        yield from prose("bert reads only the", len(blanks.pieces))
    if not blanks.hidden:
        yield from prose("there is no blank")
        return
    if len(blanks.hidden) == len(blanks.words):
        yield from prose("every word is hidden")
    place = looked_at(page, blanks)
    if len(blanks.places) > 1:
        options = [f"{n} {claims.visible(blanks.pieces[at].text)}" for n, at in enumerate(blanks.places, 1)]
        yield claims.select("Blank to look at", options, options[blanks.places.index(place)])
    right, both, left = blanks.ids[place], blanks.both(place), blanks.left(place)
    for who, chances in (("BERT, from both sides", both), ("GPT, from the left", left)):
        yield claims.markdown(f"**{who}**")
        ids = shown_ids(chances, right)
        names = [entry(id) + " ✓" * (id == right) for id in ids]
        limit = max(both.max(), left.max())
        yield claims.bars(names, [chances[id] for id in ids], f"{who}: the likeliest pieces", limit)
    yield claims.markdown(verdict(blanks, place, both, left))
    yield from prose("what each of them", f"{len(both):,}")


def verdict(blanks: Blanks, place: int, both: Array, left: Array) -> str:
    right = blanks.ids[place]
    ranks = [1 + int((chances > chances[right]).sum()) for chances in (both, left)]
    one, two = both[right], left[right]
    says = (
        f"The hidden piece is **{inline(blanks.pieces[place].text)}**. Among {len(both):,} pieces BERT ranks it **{ranks[0]:,}** "
        f"(probability {chance(one)}), GPT **{ranks[1]:,}** ({chance(two)}). "
    )
    says += (
        f"BERT finds it {one / two:,.1f} times as likely as GPT does."
        if one > two
        else f"GPT finds it {two / one:,.1f} times as likely as BERT does."
    )
    if {*range(place, len(blanks.ids))} <= {*blanks.places}:
        return f"{says} BERT sees nothing to the right of this blank, so it sees no word that GPT does not."
    if place == 0:
        return f"{says} GPT sees nothing at all here: it guesses how a text begins."
    later = range(blanks.word_of(place) + 1, len(blanks.words))
    seen = ["…" if n in blanks.hidden else blanks.word(n) for n in later]
    text = " ".join(seen[:8]) + (" …" if len(seen) > 8 else "")
    return f"{says} Only BERT sees what stands to the right: **{inline(text)}**"


def check(page: Page) -> Statements:
    blanks, inside = Blanks(page), page.choice("blank_inside", list(INSIDE), "Probability")
    yield claims.segmented("What to work out", list(INSIDE), inside)
    if not blanks.hidden:
        yield from prose("once a word is")
        return
    place = looked_at(page, blanks)
    at = [place, *(other for other in blanks.places if other != place)][:READABLE]
    ids = shown_ids(blanks.both(place), blanks.ids[place])
    more: dict[str, object] = {"scale": "positive", "limit": 1} if inside == "Probability" else {}
    shown = shown_tensor(
        page,
        INSIDE[inside],
        rows=[f"{blanks.pieces[n].text} (row {n + 2})" for n in at],
        columns=[entry(id) for id in ids],
        only_rows=[n + 1 for n in at],
        only_columns=ids,
        oracle=bert.read(blanks.ids, blanks.places),  # type: ignore[arg-type]
        **more,
    )
    how = "A row for each blank, that looked at first; a column for each guess."
    yield from tensor_matrix(shown, title=f"{inside} of BERT’s guesses", how_to_read=how)
    yield from check_cell(shown)


def do(page: Page) -> Statements:
    trial = yield from common.choose(page, "Try", "blank_trial", TRIALS)
    yield from {TRIALS[0]: corruption, TRIALS[1]: shares}[trial](page)


def corruption(page: Page) -> Statements:
    blanks = Blanks(page)
    yield from prose("in training nobody chooses")
    share, seed = page.choice("share", SHARES, "15%"), page.count("blank_seed", 50, 1)
    yield claims.control("select_slider", "Share of the pieces to ask for", options=list(SHARES), value=share)
    yield claims.slider("Seed", 1, 50, seed)
    cards, fates = [], []
    for piece, now, asked in zip(blanks.pieces, *drawn(blanks.ids, int(share[:-1]) / 100, seed), strict=True):
        fate = "hidden" if now == bert.MASK else "left" if now == piece.id else "swapped"
        fates += [fate] * asked
        cards.append((entry(now), [f"{fate}: {piece.text}"] if asked else [], piece.word, bool(asked)))
    yield claims.cards(cards, title="What BERT would read", how_to_read="Marked: BERT must name the true piece here.")
    counts = [fates.count(fate) for fate in ("hidden", "swapped", "left")]
    yield from prose(
        "drawn of pieces hidden",
        sum(counts),
        len(blanks.ids),
        counts[0],
        counts[1],
        counts[2],
        "" if sum(counts) else " BERT learns nothing from this row.",
    )
    of_thousand = 10 * int(share[:-1])
    yield claims.table(
        ("of 1,000 pieces", "drawn", "hidden", "swapped", "left"),
        (f"at {share}, expected", *(f"{of_thousand * part:g}" for part in (1, 0.8, 0.1, 0.1))),
    )
    yield from prose("why not always mask")


def drawn(ids: Ids, share: float, seed: int) -> tuple[Sequence[int], Sequence[bool]]:
    """What stands in place of each piece, and whether it is asked for: NumPy's numbers, over the text and its marks."""
    random = np.random.default_rng(seed)
    n = len(ids) + 2
    asked = (random.random(n) < share)[1:-1]
    fate, any_piece = random.random(n)[1:-1], random.integers(6, config()["vocab_size"], n, dtype=np.uint16)[1:-1]
    read = [
        id if not ask else bert.MASK if one < 0.8 else int(other) if one < 0.9 else id
        for id, ask, one, other in zip(ids, asked, fate, any_piece, strict=True)
    ]
    return read, [bool(ask) for ask in asked]


def shares(page: Page) -> Statements:
    yield from prose("how hard does guessing")
    yield claims.button("Measure the loss")


def predict(page: Page) -> Statements:
    yield prose.question("in an encoder every", 0)
    blanks = Blanks(page, opened=True)
    place = blanks.places[0]
    one, two = (chances[blanks.ids[place]] for chances in (blanks.both(place), blanks.left(place)))
    right = 1 if two > one else 0
    yield prose.question(
        "hide in your sentence",
        right,
        inline(blanks.pieces[place].text),
        place + 1,
        chance(one),
        chance(two),
        wrong={1 - right: "We asked both: the other one gives it more."},
    )
    yield prose.question("training draws of pieces", 1)


code = code_of(
    "model/families/encoder_only.py: MaskedTokenHead, EncoderOnly",
    "training/loop/text_rows.py: masked",
    "experiments/family/fill_in.py: left_alone, without_each",
)
