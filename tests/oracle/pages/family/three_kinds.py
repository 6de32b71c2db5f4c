"""What the lesson on three kinds of model must show."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.oracle.language import claims
from tests.oracle.language import scene as screen
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import chance, magnitude
from tests.oracle.language.common import Statements, check_cell, code_of, shown_tensor, tensor_matrix
from tests.oracle.language.page import Page
from tests.oracle.language.words import encoded, inline, pieces, visible
from tests.oracle.passes.decode import Ids, german
from tests.oracle.passes.family import bert
from tests.oracle.passes.family.language_models import entry, reading, text_of, tokenizer
from tests.oracle.passes.forward import SOS, Array, softmax, tidied

prose = Prose("three_kinds")

ENCODER, DECODER, BOTH = KINDS = ["Encoder alone", "Decoder alone", "Encoder and decoder"]
ADDED = " A full stop was added: BERT and GPT learned from texts that end with a mark."
END = "and nobody saw it."
DRAWN, SHOWN, WORKED, SCENE = 10, 3, 6, 10
FAR = "The king and the queen of the land said that he was not there."
STATES = (
    {},
    {
        "kind": DECODER,
        "gap": "1",
        "sentence": "The old man looks at the sea.",
        "stop": "2",
        "three_end": "*is* <b>old</b>.",
    },
    {"kind": BOTH, "sentence": "Go", "three_end": ""},
    # BERT notices so far away an end hardly, but it does.
    {"sentence": FAR, "gap": "4", "three_end": "queen of the land said that he was not there!"},
    {"kind": ENCODER, "gap": "7", "sentence": "Entschuldigung " * 60, "cell": "1.3", "three_end": "und " * 100},
)


def gap(page: Page) -> tuple[Ids, int]:
    """The pieces of the text, and which of them is asked for.

    If none is chosen: that within which both sides are surer of than the left alone, by the largest difference.
    """
    ids = bert.ids_of(bert.ended(page.text))
    return ids, page.count("gap", len(ids), clearest(ids) + 1) - 1


def clearest(ids: Ids) -> int:
    gained = [-np.subtract(*(shares[ids[at]] for shares in chances(ids, at).values())) for at in places(ids)]
    return places(ids)[int(np.argmin(gained))]


def places(ids: Ids) -> range:
    n = min(len(ids), SCENE)
    return range(1, n - 1) if n > 2 else range(n)


def chances(ids: Ids, at: int) -> dict[str, Array]:
    """The probability of every entry at a place, from both sides and from the left."""
    return {ENCODER: bert.both_sides(ids, (at,), at), DECODER: softmax(reading(ids).logits[at])}


def guesses(shares: Array) -> str:
    best = np.argsort(-shares, kind="stable")[:SHOWN]
    return " · ".join(f"“{visible(entry(int(id)))}” {chance(shares[id])}" for id in best)


def bold(id: int) -> str:
    return f"**{inline(visible(entry(id)))}**"


def scene(page: Page) -> Statements:
    ids, _ = gap(page)
    asked = places(ids)
    caption = prose.line("three kinds of model read", ADDED * (bert.ended(page.text) != page.text))
    frames = [scene_frame(page, ids, place) for place in asked]
    yield from screen.scene(
        page, caption, "The piece asked for", frames, clearest(ids) - asked[0], by="slider", wide=(2.6, 1)
    )


def scene_frame(page: Page, ids: Ids, at: int) -> dict[str, Any]:
    """The piece at one place asked for: what each model looks at, and what it guesses."""
    texts, shares, step = [entry(id) for id in ids[:SCENE]], chances(ids, at), min(at, len(page.labels) - 1)
    source = page.src[:SCENE]
    written = page.labels[max(0, step - SCENE + 1) : step]
    both, left, cross = (
        oracle[f"{stack}.weights"].mean(0)[row]
        for oracle, stack, row in (
            (bert.read(ids, (at,)), "encoder.layers.3.self_attn", at + 1),
            (reading(ids), "decoder.layers.3.self_attn", at),
            (page.oracle, "decoder.layers.2.cross_attn", step),
        )
    )

    slots = max(min(len(ids), SCENE), len(source), min(len(page.labels), SCENE))

    def lane(asked: str, behind: str) -> list[Any]:
        known = [screen.card(text, behind if n > at else "") for n, text in enumerate(texts)]
        return [*known[:at], screen.card(asked, "asked"), *known[at + 1 :]]

    def arches(weights: Array, role: str, places: Sequence[int]) -> list[Any]:
        return [screen.link((0, n), (0, at), weights[n + 1], role) for n in places if n != at]

    translator = screen.row(map(screen.card, (piece.text for piece in source)), BOTH, "value")
    german = [*(screen.card(piece.text, "written") for piece in written), screen.card("?", "asked")]
    strands = [screen.link((0, n), (1, len(written)), w, "value") for n, w in enumerate(cross[: len(source)])]
    lanes: list[tuple[Any, list[Any]]] = [
        ([screen.row(lane("[MASK]", ""), ENCODER)], arches(both, "query", range(len(texts)))),
        ([screen.row(lane("?", "unseen"), DECODER, "output")], arches(left, "output", range(at))),
        ([translator, screen.row(german, "", "output")], strands),
    ]
    right, label = ids[at], page.labels[step].id
    panels = (
        screen.guesses(shares[ENCODER], entry, right, SHOWN, role="query"),
        screen.guesses(shares[DECODER], entry, right, SHOWN),
        screen.guesses(
            softmax(page.oracle["logits"][step]), lambda id: pieces([id])[0].text, label, SHOWN, role="value"
        ),
    )
    said = prose.line("both sides give", visible(texts[at]), *(chance(one[right]) for one in shares.values()))
    rows = [(screen.cards(*each, slots=slots), panel) for each, panel in zip(lanes, panels, strict=True)]
    return screen.frame(visible(texts[at]), said, *rows)


def idea(page: Page) -> Statements:
    yield from prose("the transformer of has")
    yield prose.table("the table of kind models learns")
    yield from prose("mass bart and t")


def kind_of(page: Page) -> str:
    return page.choice("kind", KINDS, ENCODER)


def see(page: Page) -> Statements:
    ids, at = gap(page)
    texts, shares = [entry(id) for id in ids], chances(ids, at)
    yield from prose("one text three models")
    n_cut = len(tokenizer().encode(bert.ended(page.text), add_special_tokens=False).ids) - len(ids)
    yield claims.numbered("A piece to ask for", texts, at)
    if n_cut:
        yield from prose("bert and gpt read", len(ids), n_cut)
    yield claims.table(
        " | sees of your text | puts out | for your text",
        (ENCODER, f"{at} before, {len(ids) - at - 1} after", "guesses for a masked piece", guesses(shares[ENCODER])),
        (DECODER, f"{at} before", "guesses for the next piece", guesses(shares[DECODER])),
        (BOTH, "all", "another text", page.translation or "(nothing)"),
    )
    one, other = (chance(shares[kind][ids[at]]) for kind in (ENCODER, DECODER))
    yield from prose("the piece asked for", bold(ids[at]), one, other)
    kind = kind_of(page)
    yield claims.segmented("Kind", KINDS, kind)
    yield from mask(page, kind)
    yield from prose("may see hatched hidden", DRAWN)


def mask(page: Page, kind: str) -> Statements:
    ids, at = gap(page)
    if kind == ENCODER:
        names = [entry(id) for id in bert.read(ids, (at,)).ids][:DRAWN]
        seen = np.ones((len(names), len(names)), bool)
    elif kind == DECODER:
        names = [entry(id) for id in (SOS, *ids)][:DRAWN]
        seen = np.tri(len(names), dtype=bool)
    else:
        source, target = (some[:DRAWN] for some in (page.src, page.tgt))
        names = [piece.text for piece in (*source, *target)]
        seen = np.tri(len(names), dtype=bool)
        seen[:, : len(source)] = True
    how = prose.words("who sees whom")[str(KINDS.index(kind))]
    looks = {"title": f"{kind}: who may see whom", "how_to_read": how, "csv_name": f"mask {kind}", "digits": 0}
    describe = "“{row}” may see “{column}”: {value}"
    yield claims.matrix(seen.astype(float), names, names, hidden=~seen, describe=describe, **looks)


def check(page: Page) -> Statements:
    kind, (ids, at) = kind_of(page), gap(page)
    readings: dict[str, tuple[Any, int, str]] = {
        ENCODER: (bert.read(ids, (at,)), at + 1, "masked piece"),
        DECODER: (reading(ids), at, "next piece"),
        BOTH: (page.oracle, 0, "first piece"),
    }
    oracle, row, what = readings[kind]
    best = [int(id) for id in np.argsort(-oracle["logits"][row], kind="stable")[:WORKED]]
    names = [piece.text for piece in pieces(best)] if kind == BOTH else [entry(id) for id in best]
    part: dict[str, Any] = {"rows": [what], "columns": names, "only_rows": [row], "only_columns": best}
    found = shown_tensor(page, "probabilities", start=(0, 0), oracle=oracle, scale="weight", **part)
    yield from tensor_matrix(found, **prose.words("likeliest pieces", kind, what))
    yield from check_cell(found)


def do(page: Page) -> Statements:
    ids, at = gap(page)
    yield from prose("write another end it", bold(ids[at]))
    typed = page.state.get("three_end", END)
    yield claims.text_box("Another end", typed)
    end = typed[:300].strip()
    more = tokenizer().encode(end, add_special_tokens=False).ids if end else []
    other: Ids = (*ids[: at + 1], *more)[: bert.MOST]
    text = text_of(other)
    yield from prose("they read", inline(visible(text)))
    before, after = chances(ids, at), chances(other, at)
    translations = [page.translation, german(text) if encoded(tidied(text)) else ""]
    rows = [
        (kind, guesses(one), guesses(after[kind]), magnitude(change(one, after[kind]))) for kind, one in before.items()
    ]
    yield claims.table(
        " | your text | with the other end | largest difference",
        *rows,
        (BOTH, *(one or "(nothing)" for one in translations), "–"),
    )
    yield from prose("the largest difference between")


def change(one: Array, other: Array) -> float:
    largest = float(np.abs(one - other).max())
    return largest if largest > 1e-5 else 0.0


def predict(page: Page) -> Statements:
    yield prose.question("which kind writes a", 2, options=KINDS)
    ids, at = gap(page)
    one, other = (shares[ids[at]] for shares in chances(ids, at).values())
    right, wrong = (0, 1) if one >= other else (1, 0)
    values = bold(ids[at]), at + 1, chance(one), chance(other)
    yield prose.question("ask both for piece", right, *values, wrong={wrong: prose.line("the other way round")})


code = code_of(
    "model/families/encoder_only.py: EncoderOnly",
    "model/families/decoder_only.py: DecoderOnly",
    "model/families/encoder_decoder.py: EncoderDecoder",
    "experiments/family/three_kinds.py: may_see",
)
