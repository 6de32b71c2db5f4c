"""Lesson: four GPTs that differ in width alone, the line through their losses, and a task told in the text."""

import math
from collections.abc import Sequence
from itertools import pairwise

import streamlit as st

from experiments.family.language_models import published, read_text
from experiments.family.scaling import (
    EXAMPLES,
    SIZES,
    VERDICTS,
    law,
    loss_of,
    numbers_of,
    power_law,
    prompt,
    size_figures,
    verdict_chances,
)
from experiments.training.losses import LOSSES
from figures.chart import BLUE, GREY
from model.trace import Trace, most_tokens
from pages.family.gpt.reading import losses, say_what_is_cut, text_pieces
from pages.family_models import GPT, family_model
from ui import engine
from ui.components.matrix import Caption, Labels, Scale
from ui.components.scene import Axis, Card, Cards, Curve, Frame, Line, Row, Scene
from ui.controls.control import Choice, Number
from ui.course.check import Part, Shown, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question
from ui.text import chance, number
from ui.views.attention_kinds import READABLE
from ui.views.charts import curves as chart
from ui.views.charts.tables import table

ROOM = 10  # pieces on the first screen
LARGER = (10, 100, 1000)  # times the largest here
KAPLAN = 0.076  # Kaplan et al. 2020, Eq. 1.1: the loss falls with N to the power of −0.076


def millions(n: float) -> str:
    """With two digits that count, or all before the point."""
    if n >= 1e9:
        return f"{n / 1e9:.2g} billion"
    return f"{n / 1e6:.2g} M" if n < 1e8 else f"{n / 1e6:.0f} M"


# Written out, so that a file that is missing is said on this lesson, and keeps no other from starting.
NAMES = dict(zip(("0.14 M", "0.31 M", "0.72 M", "5.2 M"), SIZES, strict=True))
SIZE = Choice("Whose losses", "size", tuple(NAMES), default=[*NAMES][-1])
SHOTS = Number("Examples before it", "shots", 0, len(EXAMPLES), 0)


def read(name: str, trace: Trace) -> Trace:
    return engine.run(read_text, family_model(name), trace.text)


def scene(trace: Trace) -> Scene:
    """The losses of four sizes on one line, and what each size gives the pieces of the sentence."""
    said = "" if len(text_pieces(read(GPT, trace))) <= ROOM else f" Here stand its first {ROOM} pieces."
    return Scene(
        "Is a larger one better? Four GPTs learned from the same texts; only their width differs. The loss: how much a "
        "piece surprises them, so lower is better. Dashed: a line through the three smaller ones. Below it, how "
        f"probable the chosen one found each piece of your sentence.{said}",
        "Numbers in the model",
        [frame(trace, stop, name) for stop, name in NAMES.items()],
        start=len(NAMES) - 1,
        plays=True,
    )


def frame(trace: Trace, stop: str, name: str) -> Frame:
    reading, smaller = read(name, trace), law(*SIZES[:-1])
    ends = [math.log10(numbers_of(SIZES[0])) - 0.2, math.log10(numbers_of(SIZES[-1])) + 0.2]
    dots = [(math.log10(numbers_of(one)), math.log10(loss_of(one))) for one in SIZES]
    heights = [math.log10(smaller.at(10**x)) for x in ends]
    words = [(math.log10(numbers_of(one)), millions(numbers_of(one))) for one in SIZES]
    drawn = Curve(
        [Line("foretold", [*zip(ends, heights, strict=True)], "key", dashed=True)],
        Axis("numbers in the model", *ends, words),
        Axis("loss", heights[1] - 0.02, heights[0] + 0.02, [(y, number(10**y, 2)) for _, y in (dots[0], dots[-1])]),
        title="Loss on unseen texts; axes: logarithms",
        knob=dots[SIZES.index(name)],
        dots=dots,
    )
    pairs = [*zip(text_pieces(reading), reading.probabilities, strict=False)][:ROOM]
    row = Row([Card(piece.text, "", chance(p), p) for piece, p in pairs], "your sentence", "output")
    says = (
        f"With **{stop}** numbers its loss is **{number(loss_of(name), 2)}**: as unsure as between "
        f"{math.exp(loss_of(name)):.0f} equally probable pieces. On your sentence it is "
        f"**{number(float(losses(reading).mean()), 2)}**."
    )
    if name == SIZES[-1]:
        says += f" The line through the smaller ones foretold **{number(smaller.at(numbers_of(name)), 2)}**."
    return Frame(stop, says, [[drawn], [Cards([row])]])


def idea(trace: Trace) -> None:
    found = law(*SIZES)
    st.markdown(
        "What does a model gain if it is larger? Kaplan et al. (2020) trained many GPTs and found a simple rule. Let N "
        "be how many numbers a model learns, its *parameters*. The loss is the mean of −ln P over many pieces, where P "
        "is the probability that the model gave the right one; its unit is the *nat*. The loss L falls as a power of N:"
    )
    st.latex(r"L(N)=c\cdot N^{-\alpha}\qquad \ln L=\ln c-\alpha\ln N")
    st.markdown(
        "Where both axes are logarithms, that is a straight **line**. Drawn through the three smaller ones, it "
        f"foretells **{number(law(*SIZES[:-1]).at(numbers_of(GPT)), 2)}** for the fourth; measured was "
        f"**{number(loss_of(GPT), 2)}**. Drawn through all four, it has α = **{number(-found.slope, 3)}** and fits "
        f"with R² = **{number(found.fit, 3)}**, where 1 would be exact. Four points cannot tell a power from "
        "other curves that fall as slowly."
    )
    with st.expander("How the four differ"):
        st.markdown(
            "Only in their width: "
            + ", ".join(f"{family_model(name).config.d_model} ({millions(numbers_of(name))})" for name in SIZES)
            + f". All have four layers, {family_model(GPT).config.vocab_size:,} pieces, the same texts in the same "
            f"order, {published(GPT)['training']['steps']:,} steps and the same learning rate. The three smaller ones "
            "learned on a GPU, the largest on a processor; both multiply in 16 bits."
        )


def controls(trace: Trace) -> None:
    SIZE.draw()


def see(trace: Trace) -> Shown:
    reading = read(NAMES[SIZE.value()], trace)
    say_what_is_cut(reading)
    tokens = text_pieces(reading)
    st.markdown("**What does each size make of your sentence?** The mean of −ln P over its pieces, in nats.")
    means = {stop: losses(read(name, trace)).mean() for stop, name in NAMES.items()}
    table((*means,), [tuple(number(float(mean), 2) for mean in means.values())])
    st.caption("The line is about a mean over many texts. On a single one a larger GPT can do worse.")
    rows = range(min(READABLE, len(tokens)))
    return checked_matrix(
        reading,
        LOSSES,
        Caption(f"Loss of each piece, {SIZE.value()}", "A row for each piece of your sentence."),
        labels=Labels([tokens[n].text for n in rows], ("loss",)),
        part=Part(rows=rows, columns=[0]),
        scale=Scale("positive", limit=math.ceil(math.log(reading.model.config.vocab_size)) + 1.0, digits=4),
    )


def foretell(trace: Trace) -> None:
    st.markdown("**How good would a larger one be?** The line, drawn on.")
    found, largest = law(*SIZES), numbers_of(SIZES[-1])
    # A little further than the last, whose name would be cut at the edge.
    ends = math.log10(numbers_of(SIZES[0])), math.log10(LARGER[-1] * largest) + 0.4
    points = [(x, math.log10(found.at(10**x))) for x in ends]
    measured = [(math.log10(numbers_of(name)), math.log10(loss_of(name))) for name in SIZES]
    lines = [
        chart.Line("the line through all four", points, GREY, dashed=True),
        chart.Line("measured", measured, BLUE, dotted=True),
    ]
    sizes = [*(numbers_of(name) for name in SIZES), *(times * largest for times in LARGER)]
    x = chart.Axis("numbers in the model, as logarithms", *ends, [(math.log10(n), millions(n)) for n in sizes])
    losses_at = loss_of(SIZES[0]), loss_of(SIZES[-1]), found.at(sizes[-1])
    words = [(math.log10(loss), number(loss, 2)) for loss in losses_at]
    y = chart.Axis("loss, in nats a piece", points[1][1], measured[0][1], words)
    chart.curves(lines, x, y, alt="Loss against size, measured and foretold, both on axes of logarithms")
    known = ((numbers_of(name), loss_of(name)) for name in SIZES)
    rows = [(millions(n), number(loss, 2), number(found.at(n), 2)) for n, loss in known]
    rows += [(millions(times * largest), "–", number(found.at(times * largest), 2)) for times in LARGER]
    table(("numbers", "measured loss", "on the line"), rows)
    left = law(*SIZES[:-1])
    off = left.at(largest) / loss_of(SIZES[-1]) - 1
    st.markdown(
        f"**One test of the line:** without the largest, it foretells {number(left.at(largest), 2)} for it. "
        f"It measured {number(loss_of(SIZES[-1]), 2)}, so the line was {number(100 * abs(off), 1)}% too "
        f"{'high' if off > 0 else 'low'}."
    )
    tables = {name: table_of(name) / numbers_of(name) for name in SIZES}
    bare = power_law([numbers_of(name) - table_of(name) for name in SIZES], [loss_of(name) for name in SIZES])
    st.caption(
        "The line foretells a loss and nothing else: not what a larger one can do, nor how far the line goes on. One "
        "training of each size; chance was not measured. All numbers count here, the table of pieces too: it holds "
        f"{number(100 * tables[SIZES[0]], 0)}% of the smallest's and {number(100 * tables[SIZES[-1]], 0)}% of the "
        f"largest's. Without the table α is {number(-bare.slope, 3)}. Kaplan et al. left it out, and found {KAPLAN} "
        "for models of up to 1.5 billion numbers."
    )


def few_shot(trace: Trace) -> None:
    st.markdown(
        "**A task told in the text.** No weight changes: the text before the last word says what is asked for. With "
        "no example that is called **zero-shot**, with some **few-shot**."
    )
    n = SHOTS.draw()
    st.code(prompt(trace.text, n), language=None, wrap_lines=True)
    gpt = family_model(GPT)
    n_read, n_pieces = most_tokens(gpt), len(gpt.tokenizer.encode(prompt(trace.text, n)))
    if n_pieces > n_read:
        st.info(f"They read the last {n_read} pieces of this, and leave out the first {n_pieces - n_read}.")
    good, bad = (word.strip() for word in VERDICTS)
    rows = []
    for stop, name in NAMES.items():
        both = engine.run(verdict_chances, family_model(name), trace.text, n)
        rows.append((stop, *map(chance, both), good if both[0] > both[1] else bad))
    table(("numbers", f"P({good})", f"P({bad})", "so it says"), rows)
    found = size_figures()
    counts = [str(k) for k in range(len(EXAMPLES) + 1)]
    cells = {name: [found["models"][name][k] for k in counts] for name in SIZES}
    least = min(cell["says_good"] for row in cells.values() for cell in row)
    share_of_all = "all" if least == 1 else f"at least {number(100 * least, 1)}%"
    st.markdown(
        f"**Is it right?** We asked about {found['texts']} film reviews, {number(100 * found['good'], 1)}% of them "
        f"good ones. Each model says “{good}” to **{share_of_all}** of them, behind any number of examples. So we let "
        f"it choose differently: the half of the reviews at which it leans most to “{good}” counts as its good ones. "
        "Then it is right in so many percent:"
    )
    lines = [(stop, *(share(cell["against_the_middle"]) for cell in cells[name])) for stop, name in NAMES.items()]
    table(("numbers", *(f"{k} example{'s' * (k != '1')}" for k in counts)), lines)
    helped = any(gain(cell, row[0]) > 2 for row in cells.values() for cell in row[1:])
    st.caption(
        f"With the standard error. Examples {'helped one of them' if helped else 'helped none of them'} by more than "
        "two standard errors. Guessing is right in 50%; counting words, taught with 8,528 labelled reviews, in 76%."
    )
    with st.expander("What the paper found"):
        st.markdown(
            "Brown et al. 2020 (GPT-3, 175 billion numbers): on the eight tasks of SuperGLUE, 32 examples in the text "
            "give 71.8; a fine-tuned BERT large has 69.0, the best fine-tuned model of that time 89.0 (Table 3.8)."
        )


def table_of(name: str) -> int:
    """How many of a model's numbers stand in its table of pieces."""
    config = family_model(name).config
    return config.vocab_size * config.d_model


def gain(cell: dict[str, list[float]], first: dict[str, list[float]]) -> float:
    """What more is right in a cell than in the first of its row, in standard errors of the difference."""
    (more, error), (less, other) = cell["against_the_middle"], first["against_the_middle"]
    return (more - less) / math.hypot(error, other)


def share(pair: Sequence[float]) -> str:
    return " ± ".join(number(100 * one, 1) for one in pair)


TRIALS = {"Draw the line on": foretell, "A task told in the text": few_shot}
TRIAL = Choice("Try", "larger_trial", tuple(TRIALS))


def do(trace: Trace) -> None:
    TRIALS[TRIAL.draw()](trace)


def predict(trace: Trace) -> Sequence[Question]:
    found, largest = law(*SIZES), numbers_of(SIZES[-1])
    ten = 10**found.slope
    means = [float(losses(read(name, trace)).mean()) for name in SIZES]
    falls = all(a > b for a, b in pairwise(means))
    told = ", ".join(number(mean, 2) for mean in means)
    return (
        Question(
            "ten",
            f"The largest here has {millions(largest)} numbers. By the line through all four, with α = "
            f"{number(-found.slope, 3)}: how much lower is the loss with ten times as many?",
            ("only a tenth is left", "half is left", f"{number(100 * (1 - ten), 0)}% lower", "as high as before"),
            frozenset({2}),
            f"10 to the power of {number(found.slope, 3)} is {number(ten, 3)}: that share of the loss is left.",
            wrong={
                0: "A tenth needs 10 to the power of −α to be 0.1, so α = 1.",
                1: "Half needs 10 to the power of −α to be 0.5, so α = 0.3.",
                3: "That needs 10 to the power of −α to be 1, so α = 0.",
            },
        ),
        Question(
            "own",
            "Is each larger one less surprised by your sentence than the one before?",
            ("yes, all of them", "no, not all"),
            frozenset({0 if falls else 1}),
            f"Their losses on it, from the smallest on: {told}.",
            wrong={1: "Compare neighbours: each is lower."}
            if falls
            else {
                0: "The line is about a mean over many texts. On yours, one of them is not lower than the one before."
            },
        ),
    )


LESSON = Lesson(
    "a-larger-one",
    "Scale: a larger one",
    asks="How good would a larger one be?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check_cell, do=do, controls=controls),
    code=(power_law, verdict_chances),
    on_map=OnMap(readers=(GPT,), pictured=("four GPTs", lambda: [family_model(name) for name in SIZES]), scene=scene),
)
