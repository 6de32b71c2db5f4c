"""What the lesson on inference must show."""

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.oracle.language import claims, common
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import chance, factor, number, rounding, tex
from tests.oracle.language.common import KINDS, Choice, Shown, Statements, code_of
from tests.oracle.language.page import READABLE, Page, chances, likeliest
from tests.oracle.language.statement import Statement
from tests.oracle.language.words import encoded, inline, pieces, text_of, visible, words
from tests.oracle.passes.decode import LONGEST, Ids, Writer, beam, filter_logits, greedy, penalised
from tests.oracle.passes.draws import sampled
from tests.oracle.passes.forward import EOS, PAD, SOS, Array, Forward, config, source_ids, weights
from tests.oracle.shown.translation import translation
from tests.oracle.shown.worked import Step, steps

prose = Prose("inference")

TRIAL = Choice("Try", "method", ("Another word", "Beam search", "Sampling", "With and without cache", "All at once"))
ANOTHER, BEAM, SAMPLING, CACHE, AT_ONCE = TRIAL.options
HEADS_OF = Choice("Attention of", "heads_of", ("All heads of the layer, averaged", "The chosen head"))
AVERAGED, ONE = HEADS_OF.options
SHOWS = ("Probabilities", "Scores (logits)", "Looks at your sentence", "Looks at what it read")
NUMBERS = Choice("Numbers of this step", "numbers", SHOWS)
PROBABILITIES, LOGITS, SENTENCE, OWN = SHOWS
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
        "numbers": SENTENCE,
    },
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
        return likeliest(self.rows[step], LISTED, self.ids[step], more=True)


@functools.lru_cache(64)
def writing_of(text: str, prefix: Ids) -> Writing:
    return Writing(text, greedy(writer(text), prefix))


def prefix(page: Page) -> tuple[Ids, str]:
    """The beginning that the address asks for, as far as it can be; what is said of the rest."""
    known: Ids = ()
    asked = page.state.get("prefix", "")
    for part in asked.split(".") if asked else ():
        id = int(part)
        if id >= config()["vocab_size"] or id in (PAD, SOS):
            why = prose.words("the address asks for", part, config()["vocab_size"])
            return known, why["mark" if id in (PAD, SOS) else "unknown"]
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
    yield from translation(page.text, writing.oracle, own=not any(writing.yours))
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
    offered, d_k = writing.offered(t), config()["d_model"] // n_heads
    return {
        "cross": cross,
        "self": own,
        "candidates": [[visible(said(id)), float(np.exp(writing.rows[t][id]))] for id in offered],
        "chosen": offered.index(writing.ids[t]),
        "cache": [[t + 1, len(writing.src)]] * n_layers,
        "cache_says": prose.line("key-value cache after this", pairs, new, f"{size:,}", n_heads, d_k),
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


Cost = tuple[float, Any]  # how likely a piece is without what is taken away, and what that is


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
    hidden = [(without(writing, step, blocked=word.pieces), word) for word in every[:TRIED]]
    sizes = range(config()["n_layers"]), range(config()["n_heads"])
    heads = [(kind, n, h) for kind in ("decoder", "cross") for n in sizes[0] for h in sizes[1]]
    off = [(without(writing, step, heads_off=((KINDS[kind].path.format(n), h),)), (kind, n, h)) for kind, n, h in heads]
    return min(hidden, key=lambda one: one[0]), min(off, key=lambda one: one[0]), len(every) <= TRIED


def why(writing: Writing, step: int) -> Statements:
    row, id, before = writing.rows[step], writing.ids[step], writing.shares[step]
    first, second = (int(n) for n in np.argsort(-row)[:2])
    rival = second if id == first else first
    logits = writing.oracle["logits"][step]
    says, against = prose.words("its or yours")["own" if id == first else "yours"].split(" | ")
    scores = (said(id), logits[id]), (said(rival), logits[rival])
    (name, own), (other, score) = ((inline(text), number(score, 2)) for text, score in scores)
    shares = chance(before), chance(float(np.exp(row[rival])))
    needs = (needed(writing, step) for needed in (looked_at, read_from_cache, word_needed, head_needed))
    yield from prose("why step score score", name, step + 1, says, own, against, other, score, *shares, *needs)
    if dearest(writing, step)[1][0] < before:
        yield claims.button("Show that head")


def looked_at(writing: Writing, step: int) -> str:
    maps = weights_of(writing, "cross", step)
    most = int(maps.mean((0, 1)).argmax())
    layer, one = divmod(int(maps[:, :, most].argmax()), maps.shape[1])
    mean = maps.mean((0, 1))[most]
    piece = inline(writing.src[most].text), most + 1, number(mean, 2)
    look = layer + 1, one + 1, number(maps[layer, one, most], 2)
    return prose.line("on average over all", maps.shape[0] * maps.shape[1], *piece, *look)


def read_from_cache(writing: Writing, step: int) -> str:
    n, t, s = config()["n_layers"], step + 1, len(writing.src)
    read = "1 piece" if t == 1 else f"{t} pieces"
    says = prose.line("in each of layers", n, read, s, t, n * t + n * s)
    if step == 0:
        return f"{says} In this first step all are new."
    own = weights_of(writing, "self", step).mean((0, 1))
    most = int(own.argmax())
    piece = inline(writing.tgt[most].text), most + 1, number(own[most], 2)
    return prose.line("are new the others", f"{says} ", n, *piece, n * config()["n_heads"])


def word_needed(writing: Writing, step: int) -> str:
    (cost, word), _, all_tried = dearest(writing, step)
    name, before = inline(writing.labels[step].text), writing.shares[step]
    rest = "of yours" if all_tried else f"of the {TRIED} words that it looks at most"
    one = "word " if all_tried else ""
    if cost >= before:
        return prose.line("hiding any one", one, rest, name)
    text = text_of([writing.src[n].id for n in word.pieces])
    return prose.line("hide the word from", inline(text), name, chance(before), chance(cost), one, rest)


def head_needed(writing: Writing, step: int) -> str:
    _, (cost, (kind, layer, one)), _ = dearest(writing, step)
    before, many = writing.shares[step], 2 * config()["n_layers"] * config()["n_heads"]
    which = "needless" if cost >= before else "shared" if cost > before / 2 else "needed"
    attention = {"decoder": "decoder masked self-attention", "cross": "encoder-decoder attention"}[kind]
    return prose.words("heads needed", many, layer + 1, one + 1, attention, chance(before), chance(cost))[which]


# --- Do --------------------------------------------------------------------------------------------------------------


def step_cards(writing: Writing, step: int, title: str, marked: str) -> Statement:
    return claims.cards(
        [
            (visible(piece.text), (number(share, 2),), piece.word if piece.word >= 0 else -1 - n, other)
            for n, (piece, share, other) in enumerate(zip(writing.labels, writing.shares, writing.yours, strict=True))
        ],
        **prose.words("step cards", title, marked),
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
        **prose.words("choose what is written", step + 1),
        selected=offered.index(writing.ids[step]),
        clickable=True,
    )
    if not any(writing.yours):
        yield from prose("so far every piece")
        return
    yield claims.button("Back to the model's own choice")
    yield claims.table(
        " | translation | log-probability | pieces",
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
        "step | the model's own | probability | with your choice | probability",
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
        going = [] if kept is search.kept[-1] and search.finished else kept
        looked_at.append(
            [
                (ids, total, "ended" if ids in search.finished else "kept" if ids in going else "pruned")
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
    begins = [[], *([ids for ids, *_ in layer] for layer in layers)]
    columns = [
        [[visible(said(ids[-1])), total, state, begins[n].index(ids[:-1]) if n else 0] for ids, total, state in layer]
        for n, layer in enumerate(layers)
    ]
    words = prose.words("the search", sum(map(len, layers)), len(ranked))
    yield Statement("beam_tree", {"columns": columns, **words, "selected": [column, row]})
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
    rows = [
        (text_of(ids) or "(nothing)", number(finished[ids]), str(len(ids)), number((5 + len(ids)) ** alpha / 6**alpha))
        for ids in ranked
    ]
    scores = [number(penalised(finished[ids], len(ids), alpha)) for ids in ranked]
    yield claims.table(
        "place | translation | log P | pieces | divided by | score",
        *((str(n), *row, score) for n, (row, score) in enumerate(zip(rows, scores, strict=True), 1)),
    )
    plain, strong = (max(ranked, key=lambda ids: penalised(finished[ids], len(ids), a)) for a in (0, 2))
    says = prose.words("the winner", *(inline(text_of(ids)) for ids in (plain, strong)))
    yield from prose("a longer sentence multiplies", says["same" if plain == strong else "other"])


def score(terms: list[float], alpha: float) -> list[Step]:
    """A translation's score: the sum of its log-probabilities over lp of Wu et al. 2016, Equation 14."""
    total, length = math.fsum(terms), len(terms)
    rest = terms[SCORE_TERMS:]
    written = [*terms[:SCORE_TERMS], *([math.fsum(rest)] if rest else [])]
    more = f" ({len(rest)} of them in the last term)" if rest else ""
    base = (5 + length) / (5 + 1)
    power = rf"\frac{{{tex(total)}}}{{{tex(base)}^{{{alpha}}}}} = {tex(penalised(total, length, alpha))}"
    added = f"{' + '.join(map(factor, written))} = {tex(total)}"
    return [
        Step(prose.line("add the log-probabilities of", length, more), added),
        Step(prose.line("with 5 more", length), rf"\frac{{5 + {length}}}{{6}} = {tex(base)}"),
        Step(prose.line("the sum divided", alpha), power),
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
    both = (inline(one.text) or "(nothing)" for one in (drawn, written(page)))
    yield from prose("drawn greedy writes", *both)
    if drawn.ids[-1] != EOS:
        yield from prose("it did not come", LONGEST)
    step = step_of(page, drawn)
    yield step_cards(drawn, step, "The drawn sentence: choose a step", "not the likeliest")
    likely, kept = np.exp(drawn.rows[step]), drawn_from(drawn.ids[:step])
    ids, id = drawn.offered(step), drawn.ids[step]
    names, sides = [said(one) for one in ids], ("the model's", "drawn from")
    both = zip(sides, (likely[ids], kept[ids]), strict=True)
    yield common.piece_columns(names, both, 1.0, **prose.words("before and after", step + 1, len(ids)))
    how = "; this piece was chosen by you, not drawn. " if step < len(begun) else ". It drew "
    why = " Temperature 0 leaves the likeliest alone: that is greedy." * (tau == 0)
    why_one = " Top-p 0 keeps one: the likeliest always stays." * (top_p == 0 and tau > 0)
    entries, shares = (f"{np.count_nonzero(kept):,}", f"{len(kept):,}"), (chance(likely[id]), chance(kept[id]))
    yield from prose("at step the sampler", step + 1, *entries, how, inline(said(id)), *shares, why, why_one)
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
    labels = [piece.text for piece in writing.labels]
    millions = [(side, np.array(run) / 1e6) for side, run in zip(sides, (cached, anew), strict=True)]
    yield common.piece_columns(labels, millions, **prose.words("multiplications", of))
    head = "step | writes | positions, with the cache | positions, without | multiplications, with the cache | multiplications, without"
    rows = zip(labels[:of], cached, anew, strict=False)
    yield from common.numbers_of_figure(
        head.split(" | "), *((str(n), text, "1", str(n), f"{a:,}", f"{b:,}") for n, (text, a, b) in enumerate(rows, 1))
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
    one_by_one, at_once = f"{sum(runs(t, s)[0]):,}", f"{products(t, t, s, source_known=False):,}"
    yield claims.table(
        " | runs of the decoder | one after the other | multiplications",
        ("inference: one piece at a time, with the cache", str(t), "yes: each waits for the one before", one_by_one),
        ("training: all at once", "1", "no", at_once),
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
