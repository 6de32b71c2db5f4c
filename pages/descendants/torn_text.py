"""Lesson: BART reads a text that was torn, in one of five ways, and writes the whole one."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import streamlit as st

from experiments.family.language_models import published
from experiments.family.restoring import in_order, restored, restored_together
from model.kept import kept
from model.text.tokenizer import MASK_ID
from model.trace import Trace
from pages.family_models import family_model, finished
from pages.hidden_word import ADDED
from training.loop.noise import KINDS, Noisy, Pieces, cut, infill, share_of
from training.loop.restoring import LEAST, MOST
from ui import engine
from ui.components.matrix import Caption
from ui.components.scene import Bar, Bars, Card, Cards, Frame, Link, Row, Scene, State
from ui.controls.control import Choice, Number, Stops
from ui.course.check import Shown, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Ask, Question
from ui.text import bold, chance, number
from ui.views.charts.column_chart import Series, column_chart
from ui.views.charts.tables import table

BART = "bart-mini"
ROOM, MORE = 14, 4  # pieces of the text at most, and of what is written beyond them
PERCENT, SEED, DRAWS, WISHED = 30, 7, 8, 15  # wished for: points of BLEU
KIND = {"mask": "masking", "delete": "deletion", "infill": "infilling", "permute": "permutation", "rotate": "rotation"}

NOISE = Choice("Noise", "noise", tuple(KIND), default="infill")
SHARE = Stops("Share that is torn, in %", "share", (0, 10, 20, 30, 40, 50, 70, 100), default=PERCENT)
DRAW = Number("Seed", "seed", 1, 20, SEED)


def text_of(trace: Trace) -> tuple[Pieces, str]:
    """The whole sentences for which there is room, or the beginning of a longer one; what was done to the text."""
    whole = cut(finished(trace.text), family_model(BART).tokenizer)
    n = max((end for end in (*whole.sentences, len(whole.ids)) if 0 < end <= ROOM), default=ROOM)
    words, sentences = (tuple(at for at in starts if at < n) for starts in (whole.words, whole.sentences))
    said = f" {ADDED}" * (finished(trace.text) != trace.text)
    if n < len(whole.ids):
        said = f" Here is room for {ROOM} pieces: of your {len(whole.ids)} you see the first {n}."
    return Pieces(whole.ids[:n], words, sentences), said


def read(text: Pieces, *torn: Noisy) -> list[Trace]:
    """What BART makes of a text torn in some ways."""
    return engine.run(restored, family_model(BART), tuple(one.ids for one in torn), len(text.ids) + MORE)


def scene(trace: Trace) -> Scene:
    """The text, torn in each of five ways, and put back; it opens with the way after which most comes back."""
    text, said = text_of(trace)
    torn = [noise(text, PERCENT / 100, SEED) for noise in KINDS.values()]
    both = [*zip(torn, read(text, *torn), strict=True)]
    gained = [len(in_order(text.ids, whole.label_ids)) - len(in_order(text.ids, noisy.ids)) for noisy, whole in both]
    return Scene(
        f"BART reads your text with {PERCENT}% of it torn, and writes it whole. Bold: hidden, and back. Dashed below: "
        f"not as it stood.{said}",
        "Tear it",
        [frame(text, kind, *one) for kind, one in zip(KIND, both, strict=True)],
        start=gained.index(max(gained)),
    )


def frame(text: Pieces, kind: str, noisy: Noisy, read: Trace) -> Frame:
    n, ids, labels = len(text.ids), noisy.ids, read.labels[: len(read.labels) - read.finished]
    went = {i: at for at, places in enumerate(noisy.origins) for i in places}
    seen, back = {i for i, at in went.items() if ids[at] != MASK_ID}, in_order(text.ids, read.label_ids)
    states: list[State] = [("" if back[j] in seen else "strong") if j in back else "asked" for j in range(len(labels))]
    own = [Card(one.text, "" if i in seen else "unseen") for i, one in enumerate(read.model.tokenizer.tokens(text.ids))]
    left = [Card(one.text, "asked" if one.id == MASK_ID else "") for one in read.src[:-1]]
    p = read.probabilities
    said = [Card(one.text, states[j], chance(p[j]), p[j]) for j, one in enumerate(labels)]
    rows = [Row(own, "your text"), Row(left, "the encoder reads", "plain"), Row(said, "the decoder writes", "output")]
    links = [Link((0, i), (1, at), 0.2, "query" if i in seen else "key") for i, at in went.items()]
    links += [Link((1, went[i]), (2, j), 0.2, "output" if i in seen else "key") for j, i in back.items() if i in went]
    before, after, gone = len(in_order(text.ids, ids)), len(back), n - len(seen)
    signs = {
        "mask": f"Hidden pieces: {gone}, each behind a [MASK] of its own.",
        "delete": f"Pieces gone: {gone}. No sign tells where.",
        "infill": f"Hidden pieces: {gone}. [MASK] signs: {ids.count(MASK_ID)}. How many pieces for each?",
        "permute": "Nothing is gone. What stood where?",
        "rotate": "Nothing is gone. Where did it begin?",
    }
    bars = [Bar("torn", before, f"{before} of {n}"), Bar("restored", after, f"{after} of {n}", before, True)]
    says = f"In your order: **{before}** of {n} pieces when torn, **{after}** when restored. {signs[kind]}"
    drawn = Bars(bars, "Pieces in your order; dashed: torn", limit=n)
    return Frame(kind, says + " It would write on." * (not read.finished), [[Cards(rows, links)], [drawn]])


def idea(trace: Trace) -> None:
    loaded = family_model(BART)
    st.markdown(
        "**BART** (Lewis et al. 2019) is trained on torn texts. What tears a text is called **noise**. Here are five "
        "kinds. *Mask*: each hidden piece becomes a sign, [MASK]. *Delete*: pieces are left out. *Infill*: runs of "
        "pieces become one [MASK] each. *Permute*: sentences change places; in a single sentence, words do. "
        "*Rotate*: the text begins further on, and its beginning comes last.\n\n"
        "The encoder reads the torn text x̃. Each piece looks to both sides, as in BERT. The decoder writes the whole "
        "text x from left to right, as in GPT. The loss counts **every** piece of x, not only the torn ones:"
    )
    st.latex(r"L=-\frac1n\sum_{t=1}^{n}\ln P(x_t\mid x_1,\dots,x_{t-1},\tilde x)")
    with st.expander("How the one here differs"):
        st.markdown(
            f"It is small: {loaded.config.n_layers} + {loaded.config.n_layers} layers, {loaded.n_parameters:,} "
            f"parameters. Each text that it learned from had at most 64 pieces and one kind of noise, on {LEAST:.0%} "
            f"to {MOST:.0%} of it. In the paper a text has two kinds at once: infill, and all sentences shuffled. Our "
            "positions are sinusoids, theirs are learned."
        )


def controls(trace: Trace) -> None:
    for control in (NOISE, SHARE, DRAW):
        control.draw()


def see(trace: Trace) -> Shown:
    text, said = text_of(trace)
    (whole,) = read(text, KINDS[KIND[NOISE.value()]](text, SHARE.value() / 100, DRAW.value()))
    st.markdown(f"**Where does the decoder look in the torn text?** It writes: {bold(whole.translation or '–')}")
    last, how = whole.model.anatomy.attentions["cross"][-1], "Row: what it writes. Column: what the encoder reads."
    caption = Caption("Encoder-decoder attention of the last layer, average of its heads", how)
    shown = checked_matrix(whole, f"{last.path}.average", caption)
    st.caption(f"Another seed tears other places. A share of 0 leaves the text whole.{said}")
    return shown


@kept
def come_back(text: Pieces, percent: int) -> np.ndarray:
    """How many pieces stand in the text's order, torn and restored, by kind of noise and draw (KIND,DRAWS,2)."""
    torn = [KINDS[kind](text, percent / 100, seed + 1).ids for kind in KIND.values() for seed in range(DRAWS)]
    written = engine.run(restored_together, family_model(BART), tuple(torn), len(text.ids) + MORE)
    pairs = [[len(in_order(text.ids, ids)) for ids in both] for both in zip(torn, written, strict=True)]
    return np.array(pairs).reshape(len(KIND), DRAWS, 2)


def tear_further(trace: Trace) -> None:
    st.markdown(f"**How torn may your text be?** Each kind of noise tears it in {DRAWS} ways, and BART restores each.")
    (text, _), percent = text_of(trace), SHARE.value()
    shares = come_back(text, percent) / len(text.ids)
    means, errors = shares.mean(1), shares.std(1, ddof=1) / DRAWS**0.5
    series = [Series(name, means[:, n], errors[:, n]) for n, name in enumerate(("torn", "restored"))]
    axis = "share of your pieces in your order"
    column_chart([*KIND], series, alt=f"The {axis}, by noise", axis=axis, limit=1.0, labelled="noise")
    st.caption(
        f"{percent}% is torn, as chosen in See. A dot is the mean of {DRAWS} draws, its line ± the standard error. *In "
        "your order*: the longest run that both texts share, then the longest on either side of it, and so on. BART "
        f"learned from texts of which {LEAST:.0%} to {MOST:.0%} was torn."
    )


def unseen(trace: Trace) -> None:
    test = published(BART)["test"]
    st.markdown(f"**How well does it restore texts that it never read?** {test['share']:.0%} of each is torn.")
    lines, reached, turned = [], [], number(test["kinds"]["rotation"]["noisy"]["bleu"], 2)
    for kind, name in KIND.items():
        before, after = (test["kinds"][name][when] for when in ("noisy", "restored"))
        more = after["bleu"] - before["bleu"]
        reached += [kind] * (more >= WISHED)
        scores = (f"{number(one['bleu'], 2)} ± {number(one['standard_error'], 2)}" for one in (before, after))
        lines.append((kind, *scores, number(more, 2)))
    table(("noise", "BLEU, torn", "BLEU, restored", "gain"), lines)
    st.markdown(
        f"We wished for {WISHED} points more than the torn text has. That far come: **{', '.join(reached) or 'none'}**."
    )
    st.caption(
        f"BLEU counts the runs of one to four words that two texts share, from 0 to 100. Here: {test['texts']:,} "
        "texts, ± the standard error. A [MASK] counts as nothing. BLEU sees the order of near words only: rotated "
        f"texts have {turned} when torn, so that {WISHED} more are out of reach. How much another training would "
        "differ was not measured."
    )
    with st.expander("What the paper found"):
        st.markdown(
            "Lewis et al. 2019, Table 1: models of one size, each pre-trained with one kind of noise, then fine-tuned "
            "to find answers in a text (SQuAD 1.1, F1). Infill: 90.8. Mask and delete: 90.4 each. Permute: 85.4. "
            "Rotate: 77.2. Infill and permute together: 90.8. With these two they trained the large BART (§5.1)."
        )


TRIALS = {"On texts it never read": unseen, "How much comes back": tear_further}
TRIAL = Choice("Try", "torn_trial", tuple(TRIALS))


def do(trace: Trace) -> None:
    TRIALS[TRIAL.draw()](trace)


def easier(trace: Trace) -> Question:
    text, _ = text_of(trace)
    masked, deleted = come_back(text, PERCENT)[:2, :, 1].sum(1).tolist()
    right = 2 if masked == deleted else int(deleted > masked)
    shares = [f"{number(100 * k / DRAWS / len(text.ids), 1)}%" for k in (masked, deleted)]
    wrong = {n: f"{one}: see Do." for n, one in enumerate(("Not mask", "Not delete", "They differ")) if n != right}
    return Question(
        "easier",
        f"{PERCENT}% of your text is torn, {DRAWS} times each way, and restored. After which is more in order?",
        ("mask", "delete", "the same"),
        frozenset({right}),
        f"In your order stand {shares[0]} of your pieces after mask, {shares[1]} after delete.",
        wrong=wrong,
    )


def predict(trace: Trace) -> Sequence[Ask]:
    n = len(text_of(trace)[0].ids)
    hidden = share_of(n, PERCENT / 100)
    pieces = Question(
        "pieces",
        f"Infill hides {hidden} of your {n} pieces. How many is the decoder to write, with its end mark?",
        (f"{hidden}: those that are hidden", f"{n + 1}: all, and the mark"),
        frozenset({1}),
        "BART writes the whole text, also what the encoder has read. Its loss counts every piece.",
        wrong={0: "It writes the whole text."},
    )
    return pieces, partial(easier, trace)


LESSON = Lesson(
    "torn-text",
    "BART: a torn text put back",
    asks="How torn may a text be and still come back?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check_cell, do=do, controls=controls),
    code=(infill, restored, in_order),
    on_map=OnMap(readers=(BART,), scene=scene),
)
