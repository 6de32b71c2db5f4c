"""Lesson: ELECTRA says of every token whether a small generator has swapped it."""

from collections.abc import Mapping, Sequence

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from experiments.family.fill_in import each_hidden
from experiments.family.language_models import published
from experiments.family.swapping import FORTH_AND_BACK, filled_in, forwards, suspected
from figures.statistics import softmax
from model.families.encoder_only import Discriminator, ReplacedTokenHead
from model.files.loaded_model import Array, LoadedModel
from model.kept import kept
from model.text.tokenizer import CLS_ID, SEP_ID, normalise
from model.trace import Trace
from model.trace import read as read_tokens
from pages.family.fill_in_the_blank.blanks import Blanks, whole
from pages.family.fine_tuning.with_and_without import tasks_of
from pages.family_models import BERT, family_model
from pages.hidden_word import ADDED
from training.loop.noise import chosen, word_beginnings
from training.loop.reading import Reading
from training.loop.replacing import TEMPERATURE, drawn
from training.loop.text_rows import Masking
from ui import engine
from ui.components.matrix import Caption, Labels, Scale
from ui.components.scene import Bar, Bars, Card, Cards, Frame, Link, Row, Scene
from ui.components.scene.answer import quoted
from ui.controls.control import Choice, Number, Stops
from ui.controls.piece_control import choose_part, current_part
from ui.course.check import Shown, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question
from ui.text import bold, chance, number
from ui.views.charts.tables import table

ELECTRA, GENERATOR = "electra-mini", "distilled"
WENT_ON = {BERT: "BERT", "bert-longer": "then more blanks", ELECTRA: "then swaps: ELECTRA"}
DRAWN, RANKS, LISTED = 10, (1000, 100, 10, 3, 1), 12  # pieces and guesses on the first screen; guesses in a table
SWAP, TYPED, MAX_TYPED = "swap", "swap_in", 30  # in the address; characters of a word that is put in
HALF = 0.5  # beyond which it says that a piece was swapped
SHOW = Choice("Show", "swap_show", ("P(swapped)", "score"))
TENSORS = {"P(swapped)": "probability", "score": "logits"}
SHARE = Stops("Share that is hidden and filled in, in %", "swap_share", (0, 15, 30, 50, 100), default=30)
SEED = Number("Seed", "swap_seed", 1, 20, 1)


def models() -> list[LoadedModel]:
    return [family_model(name) for name in (ELECTRA, GENERATOR)]


def named(id: int) -> str:
    return family_model(ELECTRA).tokenizer.tokens([id])[0].text


def shown(text: Blanks) -> range:
    """The pieces that can be swapped here, by index."""
    return range(min(len(text.ids), DRAWN))


@kept
def generated(text: Blanks) -> Array:
    """The generator's probability of every entry (N,V) where each of the first pieces is hidden, that piece alone."""
    groups = tuple((n,) for n in shown(text))
    return softmax(engine.run(each_hidden, family_model(GENERATOR), text.ids, groups).astype(float))


@kept
def all_guesses(text: Blanks) -> NDArray[np.int64]:
    """Of each of the first pieces entries that begin a word and do not stand there (N,1000), the likeliest first."""
    words = np.flatnonzero(word_beginnings(family_model(ELECTRA).tokenizer))
    others = words != np.array(text.ids)[: len(shown(text)), None]
    order = np.argsort(np.where(others, -generated(text)[:, words], 1.0), axis=1, kind="stable")
    return words[order[:, : RANKS[0]]]


def guesses(text: Blanks, at: int) -> list[int]:
    """What the generator would put in the place of a piece, the likeliest first."""
    found: list[int] = all_guesses(text)[at].tolist()
    return found


def swapped(text: Blanks, at: int, *ids: int) -> tuple[int, ...]:
    return (*text.ids[:at], *ids, *text.ids[at + 1 :])


def suspicion(*texts: tuple[int, ...]) -> Array:
    """P(swapped) of every piece (texts,S)."""
    return engine.run(suspected, family_model(ELECTRA), texts)


def telling_piece(text: Blanks) -> int:
    """The piece at which ELECTRA suspects a far-fetched guess most; words come before marks, inner ones first."""
    found = suspicion(*(swapped(text, n, guesses(text, n)[RANKS[1] - 1]) for n in shown(text)))
    spelled = [n for n in shown(text) if text.tokens[n].text.isalpha()]
    return max(spelled[1:] or spelled or shown(text), key=lambda n: float(found[n, n]))


def scene(trace: Trace) -> Scene:
    """One piece swapped, for guesses of the generator from far-fetched to likely: what ELECTRA says of every piece."""
    text = whole(trace)
    at = telling_piece(text)
    ids = {0: text.ids[at], **{rank: guesses(text, at)[rank - 1] for rank in RANKS}}
    rows = suspicion(*(swapped(text, at, id) for id in ids.values()))
    cut = f" Drawn: the first {DRAWN} pieces." * (len(text.ids) > DRAWN)
    return Scene(
        "ELECTRA says of every piece whether a small generator has put it there in the place of another. Below each: "
        f"P(swapped). Marked: above a half.{cut}{f' {ADDED}' * text.is_ended}",
        "Put in",
        [frame(text, at, ids, rank, p.tolist()) for rank, p in zip(ids, rows, strict=True)],
        start=1,
    )


def frame(text: Blanks, at: int, ids: Mapping[int, int], rank: int, p: Sequence[float]) -> Frame:
    """ids: what can stand in the place of piece `at`, by its rank, and by 0 what stood there; p: P(swapped) of each"""
    chances, words = generated(text)[at], [text.tokens[n].text for n in shown(text)]
    own, now = words[at], named(ids[rank])
    was = [Card(word, "unseen" if rank and n == at else "") for n, word in enumerate(words)]
    words[at] = now
    cards = [Card(word, "strong" if p[n] > HALF else "", chance(p[n]), p[n]) for n, word in enumerate(words)]
    offered = ((ids[n], float(chances[ids[n]])) for n in (0, *sorted(RANKS)))
    bars = [Bar(named(id), q, chance(q), strong=id == ids[rank]) for id, q in offered]
    others = sum(one > HALF for n, one in enumerate(p) if n != at or not rank)
    says = f"Nothing is swapped. Pieces that ELECTRA suspects all the same: **{others}** of {len(p)}."
    if rank:
        says = (
            f"“{quoted(own)}” is now “{quoted(now)}”, number {rank:,} of the generator’s other words. ELECTRA gives it "
            f"**{chance(p[at])}** to be swapped. {'It notices.' if p[at] > HALF else '**It is fooled.**'} "
            f"Other pieces that it suspects: {others}."
        )
    rows = [Row(was, "your text"), Row(cards, "ELECTRA reads", "output")]
    picture = Cards(rows, [Link((0, at), (1, at), 0.2, "key")])
    beside = Bars(bars, f"What the generator would put in the place of “{own}”", "key")
    return Frame(now if rank else "as written", says, [[picture], [beside]])


def idea(trace: Trace) -> None:
    st.markdown(
        f"BERT learns from blanks: {Masking().share:.0%} of the pieces are hidden, and only these count in its loss. "
        "**ELECTRA** (Clark et al. 2020) learns from every piece. A small BERT, the **generator**, fills in the "
        "blanks. Its guesses are often wrong, and often plausible. The **discriminator** reads the text that it made, "
        "and says of each piece whether another one stood there. That is what we call ELECTRA. Where the generator put "
        "the right piece back, nothing was swapped."
    )
    st.latex(
        r"L=-\frac{1}{|B|}\sum_{t\in B}\ln p_G(x_t)\;-\;\lambda\,\frac1n\sum_{t=1}^{n}"
        r"\big(r_t\ln D_t+(1-r_t)\ln(1-D_t)\big)"
    )
    st.caption(
        "*B*: the blanks. *p*_G: the generator’s probability of the piece that stood there. *D*: what the "
        "discriminator gives piece t to be swapped; *r* is 1 if it was, else 0. λ weighs the second loss: 50 in the "
        "paper. Each of the two learns from its own sum alone, but for the table of embeddings: the paper’s two share "
        "it. No slope passes through the guesses."
    )
    with st.expander("How the one here differs"):
        small, steps = family_model(GENERATOR), published(ELECTRA)["training"]["steps"]
        st.markdown(
            f"Our generator has {small.config.n_layers} layers. It is the student of the lesson on DistilBERT: it was "
            "trained before and stays as it is, so that the second sum alone is left. It draws at temperature "
            f"{TEMPERATURE:g}: more of its guesses are wrong, and easier to notice. The discriminator began as the "
            f"small BERT, with a new head, and learned from swaps in {steps:,} steps. "
            "In the paper both begin with random weights, learn side by side, and share their table of embeddings."
        )


def place(text: Blanks, choose: bool = False) -> int:
    """Of the piece that is swapped below; choose: by a control that is drawn here."""
    default, of = telling_piece(text), ".".join(map(str, text.ids))
    if choose:
        return choose_part("Piece to swap", [text.tokens[n].text for n in shown(text)], default, of, SWAP)
    return current_part(len(shown(text)), default, of, SWAP)


def see(trace: Trace) -> Shown:
    text = whole(trace)
    st.markdown("**Can you fool it?** Put a word of your own in the place of one of yours.")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        at = place(text, choose=True)
        first = guesses(text, at)[0]
        st.text_input(
            "Put in", key=TYPED, bind="query-params", live="300ms", placeholder=named(first), max_chars=MAX_TYPED
        )
        shows = SHOW.draw()
    if text.n_cut:
        st.info(f"ELECTRA reads only the first {len(text.tokens)} pieces of this text.")
    tokenizer = family_model(ELECTRA).tokenizer
    typed = normalise(str(st.session_state.get(TYPED) or "")[:MAX_TYPED])
    ids = (typed and tuple(tokenizer.encode(typed))) or (first,)
    read = engine.run(read_tokens, family_model(ELECTRA), (CLS_ID, *swapped(text, at, *ids), SEP_ID))
    p = [float(one) for one in read.tensors["probability"][at + 1 : at + 1 + len(ids), 0]]
    told = ", ".join(f"{bold(named(id))} {chance(each)}" for id, each in zip(ids, p, strict=True))
    verdict = "It notices." if max(p) > HALF else "**You fooled it.**"
    if ids == (text.ids[at],):
        verdict = "That is what stood there: nothing is swapped."
    st.markdown(f"P(swapped): {told}. {verdict}")
    labels = Labels(columns=(shows,), describe=f"{shows} of “{{row}}”: {{value}}")
    caption = Caption("What ELECTRA says of every piece", "The score’s sigmoid is P(swapped): a score of 0 is a half.")
    scale = Scale("weight" if shows == "P(swapped)" else "signed")
    return checked_matrix(read, TENSORS[shows], caption, labels=labels, scale=scale)


def fooling(trace: Trace) -> None:
    """The generator's likeliest pieces for the place chosen above, by how little ELECTRA suspects them."""
    text = whole(trace)
    at = place(text)
    offered, chances = guesses(text, at)[:LISTED], generated(text)[at]
    p = suspicion(*(swapped(text, at, id) for id in offered))[:, at].tolist()
    st.markdown(
        f"**Which word fools it?** The generator’s {LISTED} likeliest other words in the place of "
        f"{bold(text.tokens[at].text)}. ELECTRA is fooled by **{sum(one <= HALF for one in p)}**."
    )
    lines = sorted(zip(p, offered, strict=True), key=lambda one: one[0])
    table(
        ("put in", "the generator gives it", "P(swapped)"),
        [(named(id), chance(float(chances[id])), chance(one)) for one, id in lines],
    )


def many(trace: Trace) -> None:
    text = whole(trace)
    st.markdown("**Many at once, as in training.** Some pieces are hidden, and the generator fills them in.")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        share, seed = SHARE.draw(), SEED.draw()
    places = tuple(sorted(chosen(len(text.ids), share / 100, seed)))
    filled = engine.run(filled_in, family_model(GENERATOR), text.ids, places, TEMPERATURE, seed) if places else text.ids
    p, n = suspicion(filled)[0], len(filled)
    was, told = np.array(filled) != text.ids, p > HALF
    st.markdown(
        f"Hidden: {len(places)} of {n} pieces. The generator put **{len(places) - was.sum()}** of them back as they "
        f"were and swapped **{was.sum()}**. ELECTRA notices **{(told & was).sum()}** of these, and suspects "
        f"**{(told & ~was).sum()}** of the other {n - was.sum()}."
    )
    listed = [at for at in range(n) if at in places or told[at]]
    lines = [(named(text.ids[at]), named(filled[at]) * (at in places), chance(float(p[at]))) for at in listed]
    if lines:
        table(("stood there", "stands there", "P(swapped)"), lines)
    st.caption("Listed: the pieces that were hidden, and any other that ELECTRA suspects.")


def worth(trace: Trace) -> None:
    """Whether it notices swaps in texts that it never read, and what it is worth when fine-tuned, beside BERT."""
    test = published(ELECTRA)["test"]
    harder = test["at_temperature_1"]
    areas = [f"{number(100 * one['area'], 1)} ± {number(100 * one['standard_error'], 1)}%" for one in (test, harder)]
    st.markdown(
        f"**Does it notice swaps in texts that it never read?** The generator swapped {test['replaced']:,} pieces. "
        "Take one of these, and one that was not swapped. ELECTRA suspects the swapped one more in "
        f"**{areas[0]}** of such pairs. At temperature 1, as in the paper, the generator guesses better, and it is "
        f"**{areas[1]}**."
    )
    st.caption(
        f"Chance would be 50%. {Masking().share:.0%} of the pieces were hidden, and the generator put "
        f"{test['guessed_right']:.1%} of these back as they were, at temperature 1 {harder['guessed_right']:.1%}. ± is "
        "the standard error."
    )
    st.markdown(
        "**What is it worth on other tasks?** From the small BERT, two went on for as many steps: one with more "
        "blanks, one with swaps. All three are fine-tuned alike, all their weights. Right on texts kept apart:"
    )
    more = (0.0, *tflops(family_model(BERT), family_model(ELECTRA), family_model(GENERATOR)))
    lines = []
    for (name, called), cost in zip(WENT_ON.items(), more, strict=True):
        tasks = [one for one in tasks_of(name) if one["kind"] in ("pair", "span", "tags")]
        each = [(one["right"]["pretrained"], one["n"]) for one in tasks]
        mean, error = sum(p for p, _ in each) / 3, sum(p * (1 - p) / n for p, n in each) ** 0.5 / 3
        shares = (f"{number(100 * p, 1)}%" for p, _ in each)
        lines.append((called, f"{cost:,.0f}", *shares, f"{number(100 * mean, 1)} ± {number(100 * error, 1)}%"))
    table(("", "TFLOPs more", "pairs", "spans", "tags", "mean of the three"), lines)
    st.caption(
        "*FLOPs*: of the products with weights, two for each weight that a piece meets going forwards, four going "
        "back. The generator goes forwards alone. ± is the standard error; one training of each."
    )
    with st.expander("What the paper found"):
        st.markdown(
            "Clark et al. 2020, Table 1: after about the same FLOPs, the small ELECTRA has 79.9 on the tasks of GLUE "
            "and a BERT of its size 75.1; the base ones have 85.1 and 82.2. Table 5: if only the hidden pieces count "
            "in the discriminator’s loss, the base ELECTRA falls from 85.0 to 82.4."
        )


def tflops(bert: LoadedModel, electra: LoadedModel, generator: LoadedModel) -> tuple[float, float]:
    """Of the training that went on: with blanks, and with swaps."""
    training = published(ELECTRA)["training"]
    with_blanks = FORTH_AND_BACK * forwards(bert, Reading.masking.share)
    with_swaps = FORTH_AND_BACK * forwards(electra, 0) + forwards(generator, Masking().share)
    pieces = training["steps"] * training["recipe"]["batch_tokens"] / 1e12
    return with_blanks * pieces, with_swaps * pieces


TRIALS = {"Which word fools it": fooling, "Many at once": many, "What it is worth": worth}
TRIAL = Choice("Try", "swap_trial", tuple(TRIALS))


def do(trace: Trace) -> None:
    TRIALS[TRIAL.draw()](trace)


def predict(trace: Trace) -> Sequence[Question]:
    text = whole(trace)
    n, at, share = len(text.ids), telling_piece(text), Masking().share
    hidden = max(1, round(share * n))
    ids = [guesses(text, at)[rank - 1] for rank in (RANKS[0], RANKS[2], RANKS[-1])]
    p = suspicion(*(swapped(text, at, id) for id in ids))[:, at].tolist()
    least, told = p.index(min(p)), [*map(chance, p)]
    each = ", ".join(f"{bold(named(id))} {one}" for id, one in zip(ids, told, strict=True))
    return (
        Question(
            "teach",
            f"Your text has {n} pieces. {share:.0%} of them are hidden. How many count in ELECTRA’s loss?",
            (f"{hidden}: the hidden ones", f"{n}: all"),
            frozenset({1}),
            "It must say of every piece whether it was swapped. In BERT’s loss only the hidden ones count, about "
            f"{hidden}.",
            wrong={0: "So it is with BERT."},
        ),
        Question(
            "fools",
            f"Put a word in the place of {bold(text.tokens[at].text)}. Which one does ELECTRA suspect least?",
            tuple(map(named, ids)),
            frozenset({least}),
            f"P(swapped): {each}.",
            wrong={k: f"It gives it {one} to be swapped." for k, one in enumerate(told) if k != least},
        ),
    )


LESSON = Lesson(
    "which-was-swapped",
    "ELECTRA: which was swapped?",
    asks="Swap a word. Does it notice?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check_cell, do=do),
    code=(Discriminator, ReplacedTokenHead, drawn),
    on_map=OnMap(readers=(ELECTRA,), pictured=("ELECTRA and its generator", models), scene=scene),
)
