"""Lesson: RoBERTa, and what a text asks when it is read again: the same blanks, or new ones."""

from collections.abc import Sequence

import streamlit as st

from figures.chart import BLUE, GREEN, ORANGE, PURPLE
from model.text.tokenizer import CLS_ID, MASK_ID, SEP_ID
from model.trace import Trace, read
from pages.family.fill_in_the_blank.blanks import Blanks as Text
from pages.family.fill_in_the_blank.blanks import whole
from pages.family_models import BERT, family_model
from pages.hidden_word import ADDED
from training.loop.blanks_again import (
    AS_PUBLISHED,
    PASSES,
    Blanks,
    drawn_anew,
    drawn_once,
    figures_of_four,
    first_to_ask,
)
from training.loop.reading import Reading
from training.loop.text_rows import SHORT, masked
from ui import engine
from ui.components.matrix import Caption, Labels, Scale
from ui.components.scene import Bar, Bars, Frame, Matrix, Scene
from ui.controls.control import Choice, Number
from ui.course.check import Part, Shown, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question
from ui.text import bold, number, piece
from ui.views.charts.curves import Axis, Line, curves
from ui.views.charts.tables import table

ROOM = 12  # pieces on the first screen
STOPS = (1, 2, 3, 5, 7, 10, 13, 16, PASSES)
SHARE, NEVER = AS_PUBLISHED.share, (1 - AS_PUBLISHED.share) ** PASSES
COPIES, EPOCHS = 10, 40  # of BERT's data, and the passes that Liu et al. 2019 tell of (§4.1)
GUESSES = 5  # columns of See beside those that are right
COLOURS = (BLUE, GREEN, ORANGE, PURPLE)

KIND = Choice("Blanks", "again_blanks", ("drawn once", "drawn anew"), default="drawn anew")
PASS = Number("Pass", "again_pass", 1, PASSES, 1)


def blanks_of(text: Text) -> dict[str, Blanks]:
    """Those of all passes, by how they are drawn; the seed is the first whose first pass asks for something."""
    size = family_model(BERT).tokenizer.vocab_size
    anew = drawn_anew(text.ids, size, first_to_ask(text.ids, size))
    return {"drawn once": drawn_once(anew), "drawn anew": anew}


def scene(trace: Trace) -> Scene:
    """The sentence down, the passes across: what each pass asks for, drawn once and drawn anew."""
    text = whole(trace)
    blanks = blanks_of(text)
    said = f" {ADDED}" * text.is_ended
    if len(text.ids) > ROOM:
        said += f" Here stand the first {ROOM} of its {len(text.ids)} pieces."
    return Scene(
        f"RoBERTa reads a text many times. Across: pass 1 to {PASSES}. Filled: a piece that it must guess in that "
        f"pass. The blanks are drawn once, or anew at each pass.{said}",
        "Times it has read your sentence",
        [frame(text, blanks, passes) for passes in STOPS],
        by="slider",
        start=len(STOPS) - 1,
        wide=(1, 1),
        plays=True,
    )


def frame(text: Text, drawn: dict[str, Blanks], passes: int) -> Frame:
    n, panels, ever = len(text.ids), [], []
    for kind, blanks in drawn.items():
        asked = blanks.asked.copy()
        asked[passes:] = False
        ever.append(int(asked.any(0).sum()))
        note = f"asked for {ever[-1]} of {n} pieces, {times(int(asked.sum()))} in all"
        names = [token.text for token in text.tokens[:ROOM]]
        panels.append(Matrix(asked.T[:ROOM].astype(float), f"Blanks {kind}", note, names, ends=1.0))
    says = (
        f"Read {times(passes)}. Blanks drawn once ask for **{ever[0]}** of your {n} pieces; drawn anew, they ask for "
        f"**{ever[1]}**."
    )
    return Frame(str(passes), says, [panels, [learned()]])


def learned() -> Bars:
    """What two of the four came to: those that read texts alone."""
    models, kinds = figures_of_four()["models"], {"drawn once": "the same blanks", "drawn anew": "new blanks"}
    shares = {kind: 100 * models[f"texts, {name}"]["accuracy"][0] for kind, name in kinds.items()}
    bars = [Bar(kind, share, f"{number(share, 1)}%", strong=kind == "drawn anew") for kind, share in shares.items()]
    title = "Two BERTs that read so: blanks right in other texts"
    return Bars(bars, title, limit=max(shares.values()))


def times(n: int) -> str:
    return "1 time" if n == 1 else f"{n} times"


def idea(trace: Trace) -> None:
    st.markdown(
        "A BERT learns by guessing hidden pieces, and reads its texts many times. BERT drew the blanks **once**, when "
        "the data were made. (It made ten copies of each text, each with other blanks.) **RoBERTa** (Liu et al. 2019) "
        f"draws them **anew at each pass**. Each time a piece is asked for with a chance of {SHARE:.0%}. So after $k$ "
        "passes with new blanks, the chance that it was never asked for is"
    )
    st.latex(rf"(1-{SHARE:g})^k")
    st.markdown(
        "RoBERTa also drops the second task of BERT: to tell whether two texts are **neighbours**. Each training row "
        "is then filled with sentences in their order, of one text or of several. Its parts are those of BERT. It was "
        "trained longer, in larger batches, on ten times the text."
    )


def controls(trace: Trace) -> None:
    for control in (KIND, PASS):
        control.draw()


def see(trace: Trace) -> Shown | None:
    text, at = whole(trace), PASS.value() - 1
    asked, there = (part[at] for part in blanks_of(text)[KIND.value()])
    places = [int(place) for place in asked.nonzero()[0]]
    if not places:
        found = blanks_of(text)[KIND.value()].asked.any(1)
        another = next(n for n in (*range(at, PASSES), *range(at)) if found[n])
        st.info(f"Pass {at + 1} asks for no piece of your sentence. Pass {another + 1} does.")
        return None
    reading = engine.run(read, family_model(BERT), (CLS_ID, *(int(id) for id in there), SEP_ID))
    said = reading.tensors["logits"][[place + 1 for place in places]]
    best = (-said[0]).argsort(kind="stable")[:GUESSES]
    columns = [*dict.fromkeys((*(text.ids[place] for place in places), *best.tolist()))]
    stands = [stands_for(text, place, int(there[place])) for place in places]
    st.markdown(
        f"**What would a BERT guess in pass {at + 1}?** It must guess {'; '.join(stands)}. The one here is our BERT, "
        "fully trained."
    )
    tokens = family_model(BERT).tokenizer.tokens
    shown = checked_matrix(
        reading,
        "probabilities",
        Caption(
            "Probability of its guesses", "Row: a piece to guess. Columns: those, then the likeliest for the first row."
        ),
        labels=Labels([text.tokens[place].text for place in places], [one.text for one in tokens(columns)]),
        part=Part([place + 1 for place in places], columns),
        scale=Scale("positive", limit=1),
        start=(0, 0),
    )
    st.caption(
        f"Of the pieces asked for, {AS_PUBLISHED.masked:.0%} become [MASK], {AS_PUBLISHED.random:.0%} another piece, "
        "and the others stay, as in BERT."
    )
    return shown


def stands_for(text: Text, place: int, id: int) -> str:
    own = bold(piece(text.tokens[place].text))
    if id == MASK_ID:
        return f"{own} ([MASK] stands there)"
    if id == text.ids[place]:
        return f"{own} (left there)"
    (other,) = family_model(BERT).tokenizer.tokens((id,))
    return f"{own} ({bold(piece(other.text))} stands there)"


def check(shown: Shown | Trace) -> None:
    if not isinstance(shown, Shown):
        st.caption("There is nothing to work out: this pass asks for no piece.")
    else:
        check_cell(shown)


def do(trace: Trace) -> None:
    found = figures_of_four()
    models = found["models"]
    st.markdown("**Does it matter?** Four small BERTs read the same few texts again and again. Their loss on others:")
    lines = [
        Line(
            title,
            [(step / one["steps"] * one["epochs"], loss) for step, loss in one["validation"]],
            colour,
            dotted=True,
        )
        for colour, (title, one) in zip(COLOURS, models.items(), strict=True)
    ]
    points = [point for line in lines for point in line.points]
    low, high = min(y for _, y in points), max(y for _, y in points)
    x, room = Axis("times they have read them", 0, max(x for x, _ in points)), (high - low) / 50
    curves(
        lines, x, Axis("loss on other texts, in nats", low - room, high + room), alt="The loss of the four by passes"
    )
    rows = [
        (title, percent(*one["accuracy"]), plus_minus(*one["loss"]), number(one["epochs"], 1))
        for title, one in models.items()
    ]
    table(("it learned from", "blanks right, in %", "loss, in nats", "passes"), rows)
    changes = [
        (turn, percent(*one["accuracy"]), plus_minus(*one["loss"])) for turn, one in found["differences"].items()
    ]
    table(("what is changed", "points of blanks right", "nats of loss"), changes)
    st.markdown(verdict())
    first = next(iter(models.values()))
    st.caption(
        f"Of {found['masked_tokens']:,} blanks in texts that none had read, the same for all four, ± the standard "
        f"error over blanks. They learned from {first['documents']:,} documents. Each has {first['parameters']:,} "
        f"parameters, two layers, and took {first['steps']:,} steps; kept are the weights of the step that did best "
        f"on texts of validation. In training, rows of {SHORT} pieces or more had {Reading.masking.share:.0%} blanks, "
        f"not the {SHARE:.0%} of the picture. All four are tested on texts alone, as the last two were trained. *No "
        "pairs* changes the rows and drops the second task. A curve of pairs is of rows of pairs: compare it with its "
        "own kind."
    )
    with st.expander("What the paper found"):
        st.markdown(
            "Liu et al. 2019, Table 1: a base-sized BERT with ten sets of blanks, and with new ones. SQuAD 2.0 (F1): "
            "78.3 and 78.7. MNLI: 84.3 and 84.0. SST-2: 92.5 and 92.9. Table 2: with pairs of texts and the "
            "second task, SQuAD 1.1 (F1) 90.4 and MNLI 84.0; without it, with texts of one document 90.6 and 84.7, "
            "with those of several, as RoBERTa has them, 90.4 and 84.7."
        )


def percent(share: float, error: float) -> str:
    return plus_minus(100 * share, 100 * error, 2)


def plus_minus(value: float, error: float, digits: int = 3) -> str:
    return f"{number(value, digits)} ± {number(error, digits)}"


# What a change is judged by, and what is said of it: more of that, or less
JUDGED = {
    "new blanks, with texts alone": ("loss", "higher loss", "lower loss"),
    "no pairs, with new blanks": ("accuracy", "more blanks right", "fewer blanks right"),
}


def verdict() -> str:
    """Each change with how it stands to its error."""
    says = []
    for turn, (what, more, less) in JUDGED.items():
        by, error = figures_of_four()["differences"][turn][what]
        says.append(f"{turn[0].upper()}{turn[1:]}: **{told(by, error, more, less)}**.")
    return (
        f"{' '.join(says)} *Within the noise*: less than two standard errors over blanks; another seed may differ more."
    )


def told(by: float, error: float, more: str, less: str) -> str:
    return "within the noise" if abs(by) < 2 * error else more if by > 0 else less


def predict(trace: Trace) -> Sequence[Question]:
    return (
        Question(
            "copies",
            f"BERT’s data held {COPIES} copies of each text, each with blanks of its own, and were read in {EPOCHS} "
            "passes. How often did it meet a text with the same blanks?",
            ("once", f"{EPOCHS // COPIES} times", f"{EPOCHS} times"),
            frozenset({1}),
            f"{EPOCHS} passes over {COPIES} sets of blanks: each comes {EPOCHS // COPIES} times.",
            wrong={0: f"There are {COPIES} sets for {EPOCHS} passes.", 2: "Then there would be one set."},
        ),
        Question(
            "never",
            f"Each pass over a long text draws new blanks for {SHARE:.0%} of its pieces. What share is never asked "
            f"for in {PASSES} passes, on average?",
            ("none of them", f"about {NEVER:.0%}", f"about {1 - SHARE:.0%}"),
            frozenset({1}),
            f"Each pass leaves a piece out with a chance of {1 - SHARE:g}. All {PASSES} do: {1 - SHARE:g} to the power "
            f"{PASSES} is {number(NEVER, 3)}.",
            wrong={0: "Chance may leave a piece out every time.", 2: "So many are left out by one pass."},
        ),
    )


LESSON = Lesson(
    "read-again",
    "RoBERTa: read it again",
    asks="Read it again: does it ask anything new?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check, do=do, controls=controls),
    code=(masked, drawn_anew),
    on_map=OnMap(readers=(BERT,), scene=scene),
)
