"""What the lesson on BERT's blanks must show."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.oracle.language import claims
from tests.oracle.language import scene as screen
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import chance
from tests.oracle.language.common import Choice, Statements, check_cell, code_of, shown_tensor, tensor_matrix
from tests.oracle.language.page import READABLE, Page, likeliest
from tests.oracle.language.words import inline, visible
from tests.oracle.passes.family import bert
from tests.oracle.passes.family.bert import Ids, config, entry, metrics, n_parameters
from tests.oracle.passes.forward import Array
from tests.oracle.shown.blanks import ADDED, SCENE, Blanks

prose = Prose("fill_in_the_blank")

LONG = "The man who told me that he had lost his umbrella there forgot it again, because it never rained. " * 5
INSIDE = {"Probability": "probabilities", "Logit": "logits"}
TRIAL = Choice("Try", "blank_trial", ("How training hides", "How much to hide"))
SHARES = ("5%", "10%", "15%", "25%", "40%", "60%")
STATES = (
    {"sentence": "I ate an apple.", "blank_inside": "Logit"},
    {"sentence": "Once upon a time there was a little girl.", "blanks": "3.8", "which": "2"},
    {"sentence": "The dog ran.", "blanks": "0", "share": "5%"},
    {"sentence": "Go"},
    {"sentence": "The cat drinks milk", "blanks": "4", "share": "60%", "blank_seed": "5"},
    {"sentence": "The xylophone is kaputt", "blanks": "2.1", "blank_trial": TRIAL.options[1], "cell": "2.3"},
    {"sentence": LONG, "share": "40%", "blanks": "2.99"},
)


def looked_at(page: Page, blanks: Blanks) -> int:
    return blanks.places[page.count("which", len(blanks.places), 1) - 1]


def scene(page: Page) -> Statements:
    blanks = Blanks(page, opened=True)
    caption = prose.line("bert fills in the blank", ADDED * blanks.ended)
    frames = [scene_frame(blanks, n) for n in range(min(SCENE, len(blanks.words)))]
    yield from screen.scene(page, caption, "Click the word to hide", frames, blanks.hidden[0], by="cards")


def scene_frame(blanks: Blanks, own: int) -> dict[str, Any]:
    hidden, at = blanks.words[own], blanks.words[own][0]
    right, count = blanks.ids[at], min(SCENE, len(blanks.words))
    both, left = bert.both_sides(blanks.ids, hidden, at), blanks.left(at)
    less = {
        n: bert.both_sides(blanks.ids, tuple(sorted(hidden + blanks.words[n])), at) for n in range(count) if n != own
    }
    told = min(less, key=lambda n: less[n][right]) if less else own
    lost = {n: max(0.0, 1 - shares[right] / both[right]) for n, shares in less.items()}
    words = [
        screen.card(blanks.word(n), "strong" if n == told and lost[told] else "", chance(less.get(n, both)[right]))
        for n in range(count)
    ]
    words[own] = screen.card("[MASK]", "asked", blanks.word(own))

    says = prose.line("bert gives gpt", visible(blanks.pieces[at].text), chance(both[right]), chance(left[right])) + " "
    if not lost.get(told):
        says += prose.line("no other word tells")
    else:
        where = prose.line("behind the blank" if told > own else "before the blank")
        says += prose.line("hide it too", visible(blanks.word(told)), chance(less[told][right]), where)
    without = f"BERT without “{visible(blanks.word(told))}”" if less else "BERT"
    links = [screen.link((0, n), (0, own), weight) for n, weight in lost.items()]
    panels = [
        screen.guesses(both, entry, right, 4, "BERT, from both sides", "query"),
        screen.guesses(less.get(told, both), entry, right, 4, without, "query", before=both[right]),
        screen.guesses(left, entry, right, 4, "GPT, from the left"),
    ]
    cards = screen.cards([screen.row(words)], links, prose.line("below each word"))
    return screen.frame(visible(blanks.word(own)), says, [cards], panels)


def idea(page: Page) -> Statements:
    yield from prose("bert is an encoder")
    test, sizes = metrics()["test"], config()
    layers = (sizes[name] for name in ("n_layers", "d_model", "n_heads"))
    shares = (claims.number(100 * test[name], 1) for name in ("accuracy", "left_neighbour"))
    yield from prose("devlin et al trained", *layers, claims.number(n_parameters() / 1e6, 1), *shares)


def see(page: Page) -> Statements:
    blanks = Blanks(page)
    yield from prose("what stands in the")
    yield from (claims.button(example) for example in prose.words("examples").values())
    yield claims.cards(
        [
            ("[MASK]", [piece.text], piece.word, True) if n in blanks.places else (piece.text, [], piece.word, False)
            for n, piece in enumerate(blanks.pieces)
        ],
        **prose.words("your sentence in pieces"),
        runs=True,
    )
    if blanks.ended:
        yield claims.caption(ADDED.strip())
    if blanks.is_cut:
        yield from prose("only the first pieces", len(blanks.pieces))
    if not blanks.hidden:
        yield from prose("there is no blank")
        return
    if len(blanks.hidden) == len(blanks.words):
        yield from prose("every word is hidden")
    place = looked_at(page, blanks)
    if len(blanks.places) > 1:
        texts = [blanks.pieces[at].text for at in blanks.places]
        yield claims.numbered("Blank to look at", texts, blanks.places.index(place))
    right, both, left = blanks.ids[place], blanks.both(place), blanks.left(place)
    for who, chances in (("BERT, from both sides", both), ("GPT, from the left", left)):
        yield claims.markdown(f"**{who}**")
        ids = likeliest(chances, 5, right, more=True)
        names = [entry(id) + " ✓" * (id == right) for id in ids]
        limit = max(both.max(), left.max())
        yield claims.bars(names, [chances[id] for id in ids], f"{who}: the likeliest pieces", limit)
    yield claims.markdown(verdict(blanks, place, both, left))
    yield from prose("what each of them", f"{len(both):,}")


def verdict(blanks: Blanks, place: int, both: Array, left: Array) -> str:
    right = blanks.ids[place]
    ranks = [1 + int((chances > chances[right]).sum()) for chances in (both, left)]
    one, two = both[right], left[right]
    values = (
        inline(blanks.pieces[place].text),
        f"{len(both):,}",
        f"{ranks[0]:,}",
        chance(one),
        f"{ranks[1]:,}",
        chance(two),
    )
    who = ("BERT", "GPT") if one > two else ("GPT", "BERT")
    says = prose.line("the hidden piece is", *values, who[0], f"{max(one, two) / min(one, two):,.1f}", who[1])
    if {*range(place, len(blanks.ids))} <= {*blanks.places}:
        return f"{says} {prose.line('nothing to the right')}"
    if place == 0:
        return f"{says} {prose.line('nothing at all')}"
    later = range(blanks.word_of(place) + 1, len(blanks.words))
    seen = ["…" if n in blanks.hidden else blanks.word(n) for n in later]
    text = " ".join(seen[:8]) + (" …" if len(seen) > 8 else "")
    return f"{says} {prose.line('only bert sees', inline(text))}"


def check(page: Page) -> Statements:
    blanks, inside = Blanks(page), page.choice("blank_inside", list(INSIDE), "Probability")
    yield claims.segmented("What to work out", list(INSIDE), inside)
    if not blanks.hidden:
        yield from prose("once a word is")
        return
    place = looked_at(page, blanks)
    at = [place, *(other for other in blanks.places if other != place)][:READABLE]
    ids = likeliest(blanks.both(place), 5, blanks.ids[place], more=True)
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
    yield from tensor_matrix(shown, **prose.words("guesses", inside))
    yield from check_cell(shown)


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
    yield claims.cards(cards, **prose.words("what bert would read"))
    counts = [fates.count(fate) for fate in ("hidden", "swapped", "left")]
    nothing = "" if sum(counts) else " No blank, nothing to guess in this row."
    yield from prose("drawn of pieces hidden", sum(counts), len(blanks.ids), *counts, nothing)
    of_thousand = 10 * int(share[:-1])
    yield claims.table(
        "of 1,000 pieces | drawn | hidden | swapped | left",
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
    right, wrong = (1, 0) if two > one else (0, 1)
    values = inline(blanks.pieces[place].text), place + 1, chance(one), chance(two)
    yield prose.question("hide in your sentence", right, *values, wrong={wrong: prose.line("we asked both")})
    yield prose.question("training draws of pieces", 1)


do = TRIAL.trials(corruption, shares)
code = code_of(
    "model/families/encoder_only.py: MaskedTokenHead, EncoderOnly",
    "training/loop/text_rows.py: masked",
    "experiments/family/fill_in.py: left_alone, without_each",
)
