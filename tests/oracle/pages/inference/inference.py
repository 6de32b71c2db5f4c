"""What the lesson on inference must show."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.oracle.language import claims, common
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import Series, chance, factor, number, rounding, tex
from tests.oracle.language.common import KINDS, Choice, Shown, Statements, code_of
from tests.oracle.language.page import READABLE, Page, chances
from tests.oracle.language.statement import Statement
from tests.oracle.language.words import Word, encoded, inline, pieces, text_of, visible, words
from tests.oracle.passes.decode import LONGEST, Ids, Writer, beam, filter_logits, greedy, penalised
from tests.oracle.passes.draws import sampled
from tests.oracle.passes.forward import EOS, PAD, SOS, Array, Forward, config, source_ids, weights
from tests.oracle.shown.worked import Step, steps

prose = Prose("inference")

TRIAL = Choice("Try", "method", ("Another word", "Beam search", "Sampling", "With and without cache", "All at once"))
ANOTHER, BEAM, SAMPLING, CACHE, AT_ONCE = TRIAL.options
HEADS_OF = Choice("Attention of", "heads_of", ("All heads of the layer, averaged", "The chosen head"))
AVERAGED, ONE = HEADS_OF.options
NUMBERS = Choice(
    "Numbers of this step",
    "numbers",
    ("Probabilities", "Scores (logits)", "Looks at your sentence", "Looks at what it read"),
)
PROBABILITIES, LOGITS, SENTENCE, OWN = NUMBERS.options
CAT = "The black cat fights the white cat."
LONG = "My neighbour's cat sleeps on the sofa all day long. " * 5


def begins(text: str, *more: int) -> str:
    """A beginning as the address has it."""
    return ".".join(map(str, (*encoded(text), *more)))


STATES = (
    {},
    {"at": "4", "heads_of": ONE, "layer": "2", "head": "3", "numbers": SENTENCE, "method": BEAM, "node": "2.4"},
    {"sentence": CAT, "prefix": begins("Der schwarze Hund"), "at": "3", "numbers": LOGITS, "cell": "1.3"},
    {"sentence": CAT, "prefix": begins("Ich", EOS), "at": "2", "method": BEAM, "beam": "1"},
    # Here α decides.
    {"sentence": "I put my money in the bank.", "method": BEAM, "beam": "5", "alpha": "0.0", "at": "5", "numbers": OWN},
    {"method": SAMPLING, "seed": "4", "at": "2", "numbers": OWN, "cell": "1.2"},
    {
        "sentence": "Zoë mag <b> Äpfel.",
        "method": SAMPLING,
        "temperature": "1.5",
        "top_p": "0.9",
        "seed": "1",
        "at": "99",
    }
    | {"numbers": SENTENCE},
    {"method": SAMPLING, "temperature": "0.7", "top_k": "5", "seed": "2", "prefix": begins("Ich aß"), "at": "1"},
    {"method": SAMPLING, "temperature": "0.0", "top_p": "0.0", "seed": "3", "prefix": "99999.3", "at": "3"},
    {"sentence": CAT, "method": SAMPLING, "top_p": "0.0", "prefix": f"{begins('Eine')}.1", "heads_of": ONE},
    {"sentence": "Go", "method": CACHE, "at": "2", "layer": "1"},
    {"sentence": LONG, "method": CACHE, "at": "45", "numbers": OWN},
    {"sentence": CAT, "method": AT_ONCE, "at": "3", "prefix": begins("Die")},
    {"sentence": "ฉันชอบสุนัข", "method": BEAM, "beam": "1", "alpha": "2.0"},
    {"method": AT_ONCE},
)
LISTED, TRIED = 10, 15  # pieces offered at a step; words hidden in turn
SCORE_TERMS = 12  # log-probabilities written out of a long sum


# --- the translation in the visitor's hand ---------------------------------------------------------------------------


@functools.lru_cache(64)
def writer(text: str) -> Writer:
    return Writer(text)


def said(id: int) -> str:
    """An entry as a piece on a page."""
    return pieces([id])[0].text


class Writing:
    """A translation that is written on from a beginning.

    own: at each step what the model would have written; yours: whether something else was
    """

    def __init__(self, text: str, labels: Ids) -> None:
        self.writer = writer(text)
        self.ids = labels
        self.src = pieces(source_ids(text))
        self.labels, self.tgt = pieces(labels), pieces([SOS, *labels[:-1]])
        self.oracle = Forward(source_ids(text), list(labels))
        self.rows = [self.writer.scores(labels[:t]) for t in range(len(labels))]  # log-probabilities, what may come
        self.yours = [int(row.argmax()) != id for row, id in zip(self.rows, labels, strict=True)]
        self.shares = [math.exp(row[id]) for row, id in zip(self.rows, labels, strict=True)]
        self.text = text_of(labels)
        self.total = math.fsum(row[id] for row, id in zip(self.rows, labels, strict=True))

    def offered(self, step: int) -> list[int]:
        """Ids of a step's likeliest pieces, and of the one written if it is none of them."""
        likeliest = [int(id) for id in np.argsort(-self.rows[step], kind="stable")[:LISTED]]
        return likeliest if self.ids[step] in likeliest else [*likeliest, self.ids[step]]


@functools.lru_cache(64)
def writing_of(text: str, prefix: Ids) -> Writing:
    return Writing(text, greedy(writer(text), prefix))


def prefix(page: Page) -> tuple[Ids, str]:
    """The beginning that the address asks for, as far as it can be; what is said of the rest."""
    known: Ids = ()
    asked = page.state.get("prefix", "")
    for part in asked.split(".") if asked else ():
        id = int(part)
        why = ""
        if id >= config()["vocab_size"]:
            why = f"id {id} is not in the vocabulary of {config()['vocab_size']} entries"
        elif id in (PAD, SOS):
            why = f"id {id} is a sign that is never written"
        if why:
            return known, f"The address asks for the piece {part}, but {why}. It is left out."
        known = (*known, id)
    return known, ""


def written(page: Page) -> Writing:
    return writing_of(page.sentence, prefix(page)[0])


def step_of(page: Page, writing: Writing) -> int:
    """The step shown, from 0; the last one if there are fewer."""
    return min(page.count("at", 1000, 1), len(writing.ids)) - 1


# --- See: the theatre ------------------------------------------------------------------------------------------------


def see(page: Page) -> Statements:
    _, note = prefix(page)
    if note:
        yield Statement("warning", note)
    writing = written(page)
    step = step_of(page, writing)
    yield theatre(page, writing, step)
    yield from common.cut_to((len(writing.src), "pieces of your sentence"))
    yield from why(writing, step)
    yield claims.button("Back to the model's own choice", disabled=not any(writing.yours))
    yield claims.button("Watch this step in the machine")
    yield claims.markdown(how_it_went(writing))
    yield from prose("which attention the shades")
    yield from common.head_controls(page, ("cross",), "cross")
    yield HEADS_OF.drawn(page)
    yield NUMBERS.drawn(page)
    looks = [which(page)] * (NUMBERS.of(page) in (SENTENCE, OWN))
    yield from common.tensor_matrix(shown(page), **prose.words(NUMBERS.of(page), step + 1, *looks))


def which(page: Page) -> str:
    chosen = common.head(page, ("cross",), "cross")
    return f"layer {chosen.layer + 1}, " + (
        "average of its heads" if HEADS_OF.of(page) == AVERAGED else f"head {chosen.head + 1}"
    )


def looks(page: Page, writing: Writing, kind: str) -> Array:
    """Weights (T,S) of the chosen head, or of all heads of its layer, averaged."""
    chosen = common.head(page, ("cross",), "cross")
    maps = writing.oracle[f"decoder.layers.{chosen.layer}.{kind}_attn.weights"]
    return maps.mean(0) if HEADS_OF.of(page) == AVERAGED else maps[chosen.head]


def theatre(page: Page, writing: Writing, step: int) -> Statement:
    cross, own = looks(page, writing, "cross"), looks(page, writing, "self")
    return Statement(
        "theatre",
        {
            "steps": [theatre_step(writing, t, cross[t, :READABLE], own[t, : t + 1]) for t in range(len(writing.ids))],
            "source": [visible(piece.text) for piece in writing.src[:READABLE]],
            "target": [visible(piece.text) for piece in (writing.tgt[0], *writing.labels)],
            "step": step,
            "yours": [False, *writing.yours],
            "source_name": prose.line("your sentence read once", which(page)),
            "target_name": prose.line("what the decoder has"),
        },
    )


def cache_size(n_read: int, n_source: int) -> tuple[int, int]:
    """Pairs of a key and a value that are kept, and their bytes: two vectors of float32 each."""
    pairs = config()["n_layers"] * (n_read + n_source)
    return pairs, pairs * 2 * config()["d_model"] * 4


def theatre_step(writing: Writing, t: int, cross: Array, own: Array) -> dict[str, Any]:
    n_layers, n_heads = config()["n_layers"], config()["n_heads"]
    pairs, size = cache_size(t + 1, len(writing.src))
    # Every layer adds what it computes of the piece just read; the first step finds nothing of the source either.
    new = n_layers * (1 + len(writing.src)) if t == 0 else n_layers
    offered = writing.offered(t)
    return {
        "cross": cross,
        "self": own,
        "candidates": [[visible(said(id)), float(np.exp(writing.rows[t][id]))] for id in offered],
        "chosen": offered.index(writing.ids[t]),
        "cache": [[t + 1, len(writing.src)]] * n_layers,
        "cache_says": prose.line(
            "key-value cache after this", pairs, new, f"{size:,}", n_heads, config()["d_model"] // n_heads
        ),
    }


def how_it_went(writing: Writing) -> str:
    chosen = [n for n, other in enumerate(writing.yours) if other]
    says = prose.words("how it went", ", ".join(f"**{inline(writing.labels[n].text)}**" for n in chosen))
    if chosen:
        return says["ended" if writing.ids[chosen[-1]] == EOS else "chosen"]
    return says["own" if writing.ids[-1] == EOS else "stopped"]


def shown(page: Page) -> Shown:
    writing, what = written(page), NUMBERS.of(page)
    step = step_of(page, writing)
    if what in (PROBABILITIES, LOGITS):
        ids = writing.offered(step)
        return common.shown_tensor(
            page,
            "probabilities" if what == PROBABILITIES else "logits",
            oracle=writing.oracle,
            only_rows=[step],
            only_columns=ids,
            rows=[f"after {visible(writing.tgt[step].text)}"],
            columns=[said(id) for id in ids],
            start=(0, ids.index(writing.ids[step])),
            scale="weight" if what == PROBABILITIES else "signed",
        )
    asks, answers = (writing.labels, writing.src) if what == SENTENCE else (writing.tgt, writing.tgt)
    seen = range(len(writing.src))[:READABLE] if what == SENTENCE else range(step + 1)[-READABLE:]
    chosen = common.head(page, ("cross",), "cross")
    path = f"decoder.layers.{chosen.layer}.{'cross' if what == SENTENCE else 'self'}_attn"
    return common.shown_tensor(
        page,
        f"{path}.average" if HEADS_OF.of(page) == AVERAGED else f"{path}.weights",
        head=None if HEADS_OF.of(page) == AVERAGED else chosen.head,
        kind="cross" if what == SENTENCE else "decoder",
        oracle=writing.oracle,
        only_rows=[step],
        only_columns=list(seen),
        rows=[asks[step].text],
        columns=[answers[j].text for j in seen],
    )


# --- why this piece --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cost:
    """What is taken away, and how likely the piece is without it."""

    what: Any
    share: float


def without(writing: Writing, step: int, **change: Any) -> float:
    """How likely the piece of a step is in a pass that something is taken away from."""
    return float(chances(Forward([piece.id for piece in writing.src], list(writing.ids[: step + 1]), **change))[step])


def weights_of(writing: Writing, kind: str, step: int) -> Array:
    """Weights (L,H,S) of a step."""
    return np.stack(
        [writing.oracle[f"decoder.layers.{n}.{kind}_attn.weights"][:, step] for n in range(config()["n_layers"])]
    )


@functools.lru_cache(64)
def dearest(writing: Writing, step: int) -> tuple[Cost, Cost, bool]:
    """The word and the decoder's head without which a piece is least likely; whether all words were tried."""
    mean = weights_of(writing, "cross", step).mean((0, 1))
    every = [word for word in words(writing.src) if writing.src[word.pieces[0]].word >= 0]
    every.sort(key=lambda word: -mean[list(word.pieces)].sum())
    hidden = [Cost(word, without(writing, step, blocked=word.pieces)) for word in every[:TRIED]]
    heads = [
        (kind, n, h)
        for kind in ("decoder", "cross")
        for n in range(config()["n_layers"])
        for h in range(config()["n_heads"])
    ]
    off = [Cost(one, without(writing, step, heads_off=((KINDS[one[0]].path.format(one[1]), one[2]),))) for one in heads]
    return min(hidden, key=lambda one: one.share), min(off, key=lambda one: one.share), len(every) <= TRIED


def why(writing: Writing, step: int) -> Statements:
    row, id, before = writing.rows[step], writing.ids[step], writing.shares[step]
    first, second = (int(n) for n in np.argsort(-row)[:2])
    rival = second if id == first else first
    logits = writing.oracle["logits"][step]
    says, against = (
        ("Its", "the runner-up") if id == first else ("You chose it: its", "what the model would have written")
    )
    yield from prose(
        "why step score score",
        inline(said(id)),
        step + 1,
        says,
        number(logits[id], 2),
        against,
        inline(said(rival)),
        number(logits[rival], 2),
        chance(before),
        chance(float(np.exp(row[rival]))),
        looked_at(writing, step),
        read_from_cache(writing, step),
        word_needed(writing, step),
        head_needed(writing, step),
    )
    if dearest(writing, step)[1].share < before:
        yield claims.button("Show that head")


def looked_at(writing: Writing, step: int) -> str:
    maps = weights_of(writing, "cross", step)
    most = int(maps.mean((0, 1)).argmax())
    layer, one = divmod(int(maps[:, :, most].argmax()), maps.shape[1])
    return prose.line(
        "on average over all",
        maps.shape[0] * maps.shape[1],
        inline(writing.src[most].text),
        most + 1,
        number(maps.mean((0, 1))[most], 2),
        layer + 1,
        one + 1,
        number(maps[layer, one, most], 2),
    )


def read_from_cache(writing: Writing, step: int) -> str:
    n, t, s = config()["n_layers"], step + 1, len(writing.src)
    read = "1 piece" if t == 1 else f"{t} pieces"
    says = (
        f"In each of {n} layers it read the keys and values of the {read} read so far and of the {s} of your sentence: "
        f"{n}\u00a0·\u00a0({t}\u00a0+\u00a0{s}) = {n * t + n * s} pairs of them. "
    )
    if step == 0:
        return f"{says}In this first step all are new."
    own = weights_of(writing, "self", step).mean((0, 1))
    most = int(own.argmax())
    return prose.line(
        "are new the others",
        says,
        n,
        inline(writing.tgt[most].text),
        most + 1,
        number(own[most], 2),
        n * config()["n_heads"],
    )


def word_needed(writing: Writing, step: int) -> str:
    cost, _, all_tried = dearest(writing, step)
    name, before = inline(writing.labels[step].text), writing.shares[step]
    rest = "of yours" if all_tried else f"of the {TRIED} words that it looks at most"
    if cost.share >= before:
        return f"Hiding any one {'word ' if all_tried else ''}{rest} does not make **{name}** less likely."
    word: Word = cost.what
    text = text_of([writing.src[n].id for n in word.pieces])
    return prose.line(
        "hide the word from", inline(text), name, chance(before), chance(cost.share), "word " if all_tried else "", rest
    )


def head_needed(writing: Writing, step: int) -> str:
    _, cost, _ = dearest(writing, step)
    before, many = writing.shares[step], 2 * config()["n_layers"] * config()["n_heads"]
    if cost.share >= before:
        return f"Switching off any one of the {many} heads of the decoder does not make it less likely."
    kind, layer, one = cost.what
    name = (
        f"layer {layer + 1}, head {one + 1} of the "
        + {"decoder": "decoder masked self-attention", "cross": "encoder-decoder attention"}[kind]
    )
    goes = f"the probability goes from {chance(before)} to {chance(cost.share)}."
    if cost.share > before / 2:
        return f"None of the {many} heads of the decoder decides alone: without {name}, which costs it most, {goes}"
    return f"Of the {many} heads of the decoder, it needs one most: {name}. With that one switched off, {goes}"


# --- Do --------------------------------------------------------------------------------------------------------------


def step_cards(writing: Writing, step: int, title: str, marked: str) -> Statement:
    return claims.cards(
        [
            (visible(piece.text), (number(share, 2),), piece.word if piece.word >= 0 else -1 - n, other)
            for n, (piece, share, other) in enumerate(zip(writing.labels, writing.shares, writing.yours, strict=True))
        ],
        title=title,
        how_to_read=f"Below each piece its probability; dashed: {marked}. Choose one to go to its step.",
        selected=step,
        clickable=True,
    )


def another_word(page: Page) -> Statements:
    own, writing = writing_of(page.sentence, ()), written(page)
    step = step_of(page, writing)
    offered = writing.offered(step)
    yield from prose("take another piece than")
    yield step_cards(writing, step, "The translation: choose a step", "chosen by you")
    yield claims.cards(
        [
            (visible(said(id)), (chance(float(np.exp(writing.rows[step][id]))),), n, False)
            for n, id in enumerate(offered)
        ],
        title=f"Step {step + 1}: choose what is written",
        how_to_read="The model's likeliest pieces and their probabilities.",
        selected=offered.index(writing.ids[step]),
        clickable=True,
    )
    if not any(writing.yours):
        yield from prose("so far every piece")
        return
    yield claims.button("Back to the model's own choice")
    yield claims.table(
        ("", "translation", "log-probability", "pieces"),
        *(
            (name, one.text or "(nothing)", number(one.total, 2), str(len(one.ids)))
            for name, one in (("the model's own", own), ("with your choice", writing))
        ),
    )
    # Up to the first piece that was chosen both are the same.
    first = next(n for n in range(len(writing.ids)) if own.ids[n] != writing.ids[n])
    last = min(max(len(own.ids), len(writing.ids)), first + READABLE)

    def at(one: Writing, n: int) -> tuple[str, str]:
        return (one.labels[n].text, chance(one.shares[n])) if n < len(one.ids) else ("", "")

    yield claims.table(
        ("step", "the model's own", "probability", "with your choice", "probability"),
        *((str(n + 1), *at(own, n), *at(writing, n)) for n in range(first, last)),
    )
    yield from prose("from the first step", how_it_went(writing))


# --- beam search -----------------------------------------------------------------------------------------------------


def unfinished(ids: Ids) -> str:
    """A translation as text, with dots if it has not ended."""
    return text_of(ids) + ("" if ids[-1] == EOS else " …")


def tree(page: Page, size: int) -> tuple[list[list[tuple[Ids, float, str]]], dict[Ids, float]]:
    """For each step what came near, best first, with what became of it; and all that ended."""
    begun, known = prefix(page)[0], writer(page.sentence)
    search = beam(known, size, begun)
    given = [
        [(begun[:n], known.total(begun[:n]), "ended" if begun[n - 1] == EOS else "kept")]
        for n in range(1, len(begun) + 1)
    ]
    looked_at = []
    for near, kept in zip(search.looked_at, search.kept, strict=True):
        # When the search stops, what has not ended is dropped.
        stops = kept is search.kept[-1] and bool(search.finished)
        looked_at.append(
            [
                (ids, total, "ended" if ids in search.finished else "kept" if ids in kept and not stops else "pruned")
                for ids, total in near.items()
            ]
        )
    return given + looked_at, search.finished


def beam_search(page: Page) -> Statements:
    size, alpha = int(page.state.get("beam", "3")), float(page.state.get("alpha", "1.0"))
    yield from prose("keep the likeliest few")
    yield claims.slider("Beginnings kept", 1.0, 6.0, size)
    yield claims.slider("Length penalty α", 0.0, 2.0, alpha)
    layers, finished = tree(page, size)
    ranked = sorted(finished, key=lambda ids: -penalised(finished[ids], len(ids), alpha))
    best = ranked[0] if ranked else layers[-1][0][0]
    home = len(best) - 1, [ids for ids, *_ in layers[len(best) - 1]].index(best)
    column, row = page.pair("node", (len(layers), 12), home)
    if row >= len(layers[column]):
        column, row = home
    yield Statement(
        "beam_tree",
        {
            "columns": [
                [
                    [
                        visible(said(ids[-1])),
                        total,
                        state,
                        [one for one, *_ in layers[n - 1]].index(ids[:-1]) if n else 0,
                    ]
                    for ids, total, state in layer
                ]
                for n, layer in enumerate(layers)
            ],
            "title": f"The search: {sum(map(len, layers))} extensions that came near, {len(ranked)} of them ended",
            "how_to_read": prose.line("each number is the"),
            "selected": [column, row],
        },
    )
    yield from in_order(finished, ranked, alpha)
    chosen = layers[column][row][0]
    yield from prose("the score of", inline(unfinished(chosen)))
    known = writer(page.sentence)
    yield from steps(*score([float(known.scores(chosen[:n])[id]) for n, id in enumerate(chosen)], alpha))
    if chosen[-1] != EOS:
        yield from prose("it has not ended")


def in_order(finished: dict[Ids, float], ranked: Sequence[Ids], alpha: float) -> Statements:
    if not ranked:
        yield from prose("none of the beginnings", LONGEST)
        return
    yield claims.table(
        ("place", "translation", "log P", "pieces", "divided by", "score"),
        *(
            (
                str(n),
                text_of(ids) or "(nothing)",
                number(finished[ids]),
                str(len(ids)),
                number((5 + len(ids)) ** alpha / 6**alpha),
                number(penalised(finished[ids], len(ids), alpha)),
            )
            for n, ids in enumerate(ranked, 1)
        ),
    )
    plain, strong = (max(ranked, key=lambda ids: penalised(finished[ids], len(ids), a)) for a in (0, 2))
    says = "Here the winner is the same for α = 0 and α = 2."
    if plain != strong:
        says = (
            f"Here α decides: with α = 0 the winner is **{inline(text_of(plain))}**, with α = 2 "
            f"**{inline(text_of(strong))}**."
        )
    yield from prose("a longer sentence multiplies", says)


def score(terms: list[float], alpha: float) -> list[Step]:
    """A translation's score: the sum of its log-probabilities over lp of Wu et al. 2016, Equation 14."""
    total, length = math.fsum(terms), len(terms)
    rest = terms[SCORE_TERMS:]
    written = [*terms[:SCORE_TERMS], *([math.fsum(rest)] if rest else [])]
    more = f" ({len(rest)} of them in the last term)" if rest else ""
    base = (5 + length) / (5 + 1)
    return [
        Step(
            prose.line("add the log-probabilities of", length, more),
            f"{' + '.join(map(factor, written))} = {tex(total)}",
        ),
        Step(
            f"With 5 more and divided by 6, the length {length} becomes", rf"\frac{{5 + {length}}}{{6}} = {tex(base)}"
        ),
        Step(
            f"The score is the sum divided by that number to the power α = {alpha}.",
            rf"\frac{{{tex(total)}}}{{{tex(base)}^{{{alpha}}}}} = {tex(penalised(total, length, alpha))}",
        ),
    ]


# --- sampling --------------------------------------------------------------------------------------------------------


def sampling(page: Page) -> Statements:
    tau, top_k = float(page.state.get("temperature", "1.0")), int(page.state.get("top_k", "0"))
    top_p, seed = float(page.state.get("top_p", "1.0")), int(page.state.get("seed", "0"))
    yield from prose("draw each piece at")
    yield claims.slider("Temperature", 0.0, 2.0, tau)
    yield claims.slider("Top-k (0: all)", 0.0, 50.0, top_k)
    yield claims.slider("Top-p", 0.0, 1.0, top_p)
    yield claims.slider("Seed", 0.0, 9999.0, seed)
    yield claims.button("Draw again")

    known, begun = writer(page.sentence), prefix(page)[0]

    def drawn_from(ids: Ids) -> Array:
        return filter_logits(known.scores(ids), tau, top_k, top_p)

    drawn = Writing(page.sentence, sampled(drawn_from, seed, begun))
    yield from prose(
        "drawn greedy writes", inline(drawn.text) or "(nothing)", inline(written(page).text) or "(nothing)"
    )
    if drawn.ids[-1] != EOS:
        yield from prose("it did not come", LONGEST)
    step = step_of(page, drawn)
    yield step_cards(drawn, step, "The drawn sentence: choose a step", "not the likeliest")
    likely, kept = np.exp(drawn.rows[step]), drawn_from(drawn.ids[:step])
    ids, id = drawn.offered(step), drawn.ids[step]
    names, sides = [said(one) for one in ids], ("the model's", "drawn from")
    yield claims.columns(
        names,
        [Series(side, values[ids]) for side, values in zip(sides, (likely, kept), strict=True)],
        axis="probability",
        limit=1.0,
        alt=f"Step {step + 1}: two bars for each of {len(ids)} pieces, its probability before and after narrowing.",
    )
    how = "; this piece was chosen by you, not drawn. " if step < len(begun) else ". It drew "
    yield from prose(
        "at step the sampler",
        step + 1,
        f"{np.count_nonzero(kept):,}",
        f"{len(kept):,}",
        how,
        inline(said(id)),
        chance(likely[id]),
        chance(kept[id]),
        " Temperature 0 leaves the likeliest alone: that is greedy." * (tau == 0),
        " Top-p 0 keeps one: the likeliest always stays." * (top_p == 0 and tau > 0),
    )
    if (top_k, top_p) == (0, 1) and tau > 0:
        yield from prose("nothing is narrowed only")
    yield from common.numbers_of_figure(
        ("piece", *sides),
        *((name, chance(likely[one]), chance(kept[one])) for name, one in zip(names, ids, strict=True)),
    )


# --- what it costs ---------------------------------------------------------------------------------------------------


def products(new: int, read: int, source: int, source_known: bool) -> int:
    """Multiplications of one run of the decoder and the output: n·m·k for each product of (n,m) and (m,k).

    Args: new: positions computed; read: positions that they see; source_known: its keys and values are in the cache
    """
    d, d_ff, v = config()["d_model"], config()["d_ff"], config()["vocab_size"]
    of_a_layer = [
        *[(new, d, d)] * 4,  # queries, keys, values, and what is made of the heads
        (new, d, read),  # queries times keys, all heads together
        (new, read, d),  # weights times values
        *[(new, d, d)] * 2,  # queries to the source, and what is made of the heads
        *[(source, d, d)] * (0 if source_known else 2),  # its keys and values
        (new, d, source),
        (new, source, d),
        (new, d, d_ff),
        (new, d_ff, d),
    ]
    return config()["n_layers"] * sum(map(math.prod, of_a_layer)) + math.prod((new, d, v))


def runs(t: int, s: int) -> tuple[list[int], list[int]]:
    """Multiplications of each of t steps, with the cache and without."""
    with_cache = [products(1, n, s, source_known=n > 1) for n in range(1, t + 1)]
    return with_cache, [products(n, n, s, source_known=False) for n in range(1, t + 1)]


def with_and_without_cache(page: Page) -> Statements:
    writing = written(page)
    t, s = len(writing.ids), len(writing.src)
    cached, anew = runs(t, s)
    yield from prose("the causal mask keeps")
    of = min(t, READABLE)
    sides = "with the cache", "without"
    yield claims.columns(
        [piece.text for piece in writing.labels[:of]],
        [Series(side, np.array(run[:of]) / 1e6) for side, run in zip(sides, (cached, anew), strict=True)],
        axis="million multiplications",
        alt=f"Two bars for each of {of} steps: its multiplications with the cache and without.",
    )
    yield from common.numbers_of_figure(
        (
            "step",
            "writes",
            "positions, with the cache",
            "positions, without",
            "multiplications, with the cache",
            "multiplications, without",
        ),
        *(
            (str(n), writing.labels[n - 1].text, "1", str(n), f"{cached[n - 1]:,}", f"{anew[n - 1]:,}")
            for n in range(1, of + 1)
        ),
    )
    computed = t * (t + 1) // 2
    yield claims.table(
        ("the whole translation", *sides, "ratio"),
        ("decoder positions computed", f"{t:,}", f"{computed:,}", number(computed / t, 2)),
        ("multiplications", f"{sum(cached):,}", f"{sum(anew):,}", number(sum(anew) / sum(cached), 2)),
        ("memory of the cache at the end, bytes", f"{cache_size(t, s)[1]:,}", "0", ""),
    )
    assert t == 1 or cached[0] > max(cached[1:])
    yield from prose("counted from the shapes")
    yield claims.button("Measure the time on this machine, now")
    yield from prose("not measured yet for")


def all_at_once(page: Page) -> Statements:
    writing = written(page)
    step, t, s = step_of(page, writing), len(writing.ids), len(writing.src)
    yield from prose("in training the right")
    yield claims.table(
        ("", "runs of the decoder", "one after the other", "multiplications"),
        (
            "inference: one piece at a time, with the cache",
            str(t),
            "yes: each waits for the one before",
            f"{sum(runs(t, s)[0]):,}",
        ),
        ("training: all at once", "1", "no", f"{products(t, t, s, source_known=False):,}"),
    )
    yield from prose("the largest difference between", t, f"{config()['vocab_size']:,}", rounding())
    label, read = (f"**{inline(one[step].text)}**" for one in (writing.labels, writing.tgt))
    if step == 0:
        yield from prose("why then not write", label, read)
        return
    yield from prose("why then not write all", step + 1, label, read, step, t)


# --- questions -------------------------------------------------------------------------------------------------------


def predict(page: Page) -> Statements:
    own = writing_of(page.sentence, ())
    yield prose.question("training computes all rows", 1)
    yield likelier(own, page)
    yield nucleus(own)
    yield first_gpt()


def nucleus(own: Writing) -> claims.Question:
    """How many pieces reach p, where the model is least sure."""
    step = int(np.argmin([row.max() for row in own.rows]))
    ids = own.offered(step)[:6]
    shares = np.exp(own.rows[step][ids])
    sums = np.cumsum(shares)
    many = np.cumsum(np.sort(np.exp(own.rows[step]))[::-1])

    def needed(p: float) -> int:
        return int((many < p).sum()) + 1

    # Asked is what at most five pieces reach, if possible clearly.
    asked = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05)
    few = [p for p in asked if needed(p) <= 5]
    clear = [p for p in few if min(abs(sums - p)) > 0.004]
    p = [*clear, *few, 0.05][0]
    right = min(needed(p), 5)
    listed = ", ".join(f"**{inline(said(id))}** {number(share, 3)}" for id, share in zip(ids, shares, strict=True))
    wrong = [
        prose.line("the sum of the first", n, number(sums[n - 1], 3), p)
        if n < right
        else prose.line("more than it needs", n, right, p)
        for n in range(1, 6)
    ]
    return prose.question(
        "the next piece need", right - 1, step + 1, listed, p, right, number(sums[right - 1], 3), wrong=wrong
    )


@functools.lru_cache(64)
def likeliest_of_beam(text: str) -> tuple[Ids, float]:
    search = beam(writer(text), 5)
    among = search.finished or search.kept[-1]
    ids = max(among, key=lambda one: among[one])
    return ids, among[ids]


def likelier(own: Writing, page: Page) -> claims.Question:
    ids, total = likeliest_of_beam(page.sentence)
    same = ids == own.ids
    right = 2 if same else 0 if total > own.total else 1
    side, texts = "closer to" if total > own.total else "further from", (own.text, unfinished(ids))
    both = (inline(text) or "(nothing)" for text in texts)
    values = *both, number(own.total, 2), number(total, 2)
    if same:
        return prose.question("it finds the same", right, *values)
    return prose.question("it finds another", right, *values, side)


def first_gpt() -> claims.Question:
    learned = sum(w.size for w in weights().values())
    assert config()["d_model"] > 117
    assert learned > 117e3
    here = f"{learned / 1e6:.1f} million"
    sizes = (117, 117e3, 117e6, 117e9)
    right = min(range(4), key=lambda n: abs(math.log(sizes[n] / 117e6)))  # Radford et al. 2018
    return prose.question("the first gpt writes", right, here, config()["d_model"])


do = TRIAL.trials(another_word, beam_search, sampling, with_and_without_cache, all_at_once)
code = code_of(
    "model/decoding/strategies.py: greedy_steps, beam_steps, filter_logits, sampling_steps, forced_prefix_steps",
    "model/decoding/cache.py: KeyValueCache",
)
