"""Lesson: a student with half the layers learns to say what its teacher says (DistilBERT)."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import streamlit as st

from experiments.family.distillation import STUDENTS, TAUGHT, TERMS, UNTAUGHT, compared, figures, terms
from experiments.family.fill_in import PASSES, reading_times
from figures.statistics import softmax
from model.files.loaded_model import Array, LoadedModel
from model.kept import kept
from model.text.tokenizer import CLS_ID, MASK, SEP_ID
from model.trace import Trace
from pages.family.fill_in_the_blank.blanks import SCENE, Blanks, whole
from pages.family_models import BERT, again, family_model
from pages.family_scenes import among_likeliest, named
from pages.hidden_word import ADDED, choose_word, said_of_each
from training.loop.reading import OF_TEACHER, OF_TEXT, TEMPERATURE, divergence, layers_of
from ui import engine
from ui.components.matrix import Caption, Labels
from ui.components.scene import Bar, Bars, Card, Cards, Frame, Role, Row, Scene
from ui.components.scene.answer import quoted
from ui.controls.background import background
from ui.controls.control import Stops
from ui.course.check import Part, Shown, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question
from ui.text import bold, chance, number, piece
from ui.views.charts.tables import table

NAMES = dict(zip(STUDENTS, ("taught", "untaught"), strict=True))
DRAWN, LISTED = 5, 8  # words in a panel of bars, and in the table
T = Stops("Temperature T", "temperature", ("1", "2", "4"))
CLEAR = 2  # standard errors, beyond which a difference is hardly chance


def models() -> list[LoadedModel]:
    return [family_model(name) for name in (BERT, *STUDENTS)]


@kept
def apart(text: Blanks, name: str) -> Array:
    """KL(teacher‖student) in nats at each word that the first screen can hide (N)."""
    return np.asarray(terms(said_of_each(BERT, text), said_of_each(name, text))[..., 2].sum(-1))


def telling_word(text: Blanks) -> int:
    """The word at which the untaught student lies furthest beyond the taught one."""
    beyond = apart(text, UNTAUGHT) - apart(text, TAUGHT)
    spelled = [n for n in range(len(beyond)) if text.word(n).isalpha()] or [*range(len(beyond))]
    return max(spelled, key=lambda n: beyond[n])


def scene(trace: Trace) -> Scene:
    """Each word hidden in turn: what the teacher says, and its students."""
    text = whole(trace)
    said = [terms(said_of_each(BERT, text), said_of_each(name, text)) for name in STUDENTS]
    added = f" {ADDED}" * text.is_ended
    return Scene(
        "DistilBERT: a student with half the layers learns to say what its teacher says. KL tells how far it still is "
        f"from that: 0 where both say the same.{added}",
        "Click the word to hide",
        [frame(text, n, [one[n] for one in said]) for n in range(len(said[0]))],
        by="cards",
        start=telling_word(text),
    )


def nats(kl: float) -> str:
    """A KL with two decimals; of a smaller one two digits that are not 0, if six decimals have them."""
    return number(kl, min(6, max(2, 1 - math.floor(math.log10(max(kl, 1e-9))))))


def frame(text: Blanks, own: int, said: Sequence[Array]) -> Frame:
    """said: the terms (V,3) of the taught student and of the untaught one"""
    right, teacher = text.ids[text.words[own][0]], said[0][:, 0]
    ids = among_likeliest(teacher, right, DRAWN)

    def panel(of: Array, title: str, role: Role = "output") -> Bars:
        befores = [None if of is teacher else float(teacher[id]) for id in ids]
        given = [(id, float(of[id]), before) for id, before in zip(ids, befores, strict=True)]
        bars = [Bar(named(id), p, chance(p), before, id == right) for id, p, before in given]
        return Bars(bars, title, role, note="bold: the hidden word" if of is teacher else "dashed: the teacher")

    words = [text.word(n) for n in range(min(len(text.words), SCENE))]
    row = Row([Card(MASK, "asked") if n == own else Card(word) for n, word in enumerate(words)])
    first, nearly = np.argsort(-teacher, kind="stable")[:2].tolist()
    kl = dict(zip(NAMES.values(), (float(one[:, 2].sum()) for one in said), strict=True))
    tests = [nats(figures(name)["kl"]["mean"]) for name in STUDENTS]
    return Frame(
        piece(words[own]),
        f"The teacher says “{quoted(named(first))}”, {chance(teacher[first])}, and next “{quoted(named(nearly))}”, "
        f"{chance(teacher[nearly])}. The student it taught: {chance(said[0][first, 1])} and "
        f"{chance(said[0][nearly, 1])}. KL from the teacher: **{nats(kl['taught'])}** nats, untaught "
        f"**{nats(kl['untaught'])}**. Over {figures(TAUGHT)['masked_tokens']:,} blanks of test texts: "
        f"{tests[0]} and {tests[1]}.",
        [
            [Cards([row])],
            [
                panel(teacher, "The teacher: 4 layers", "query"),
                panel(said[0][:, 1], "Taught by it: 2 layers"),
                panel(said[1][:, 1], "Untaught, by the text alone: 2 layers"),
            ],
            [
                Bars(
                    [Bar(name, gap, nats(gap), strong=name == "taught") for name, gap in kl.items()],
                    "How far from the teacher: KL, in nats",
                    limit=max(1.0, *kl.values()),
                )
            ],
        ],
    )


def idea(trace: Trace) -> None:
    st.markdown(
        "A text names one right word for a blank. A **teacher**, a model that is trained already, says more: it gives "
        "*every* word a probability, so that one sees which others nearly fit. In **distillation** a smaller "
        "**student** learns to give the same probabilities. DistilBERT is such a student of BERT, with every other "
        "layer left out."
    )
    st.markdown(
        "How far is it from its teacher? For each word, take the teacher’s p and the student’s q. **KL divergence** "
        "adds up how much more the teacher gives, as a logarithm, each word weighted by p:"
    )
    st.latex(r"\mathrm{KL}(p\,\|\,q)=\sum_{w} p_w\ln\frac{p_w}{q_w}\qquad p_w=\frac{e^{z_w/T}}{\sum_v e^{z_v/T}}")
    st.caption(
        "w: a word; z: its logit. With logarithms to base e the unit is the *nat*. KL is 0 where p and q are the same, "
        "else above 0. The *temperature* T flattens both: above 1, rare words count for more."
    )
    with st.expander("How the students here learned"):
        st.markdown(
            f"Both began as the teacher’s layers 1 and 3, with all its embeddings. One learned from {OF_TEACHER:g} · "
            f"T² · KL at T = {TEMPERATURE:g}, plus {OF_TEXT:g} times the usual loss, −ln of the right word’s "
            "probability. The other learned from the usual loss alone. Same texts, same number of steps. "
            "T² makes up for the smaller slopes at a higher T. The paper adds a third loss, between the two "
            "models’ hidden vectors; these students had none."
        )


def see(trace: Trace) -> Shown:
    st.markdown("**What does each word add to the KL?** The student here is the taught one.")
    text = whole(trace)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        blank, temperature = choose_word(text, telling_word(text)), float(T.draw())
    at = blank.hidden[0]
    read = compared(
        trace, family_model(BERT), said_of_each(BERT, text)[at], said_of_each(TAUGHT, text)[at], temperature
    )
    values = read.tensors[TERMS]
    ids = among_likeliest(values[:, 0], blank.ids[blank.places[0]], LISTED)
    shown = checked_matrix(
        read,
        TERMS,
        Caption(f"Teacher and student at T = {temperature:g}", "A row for each word; the last column adds up to KL."),
        labels=Labels([named(id) for id in ids], ("teacher p", "student q", "p · ln(p/q)")),
        part=Part(rows=ids),
    )
    part, all_of_it = float(values[ids, 2].sum()), float(values[:, 2].sum())
    st.markdown(
        f"These {len(ids)} rows add up to {number(part)}, all {len(values):,} pieces to **{number(all_of_it)}** nats: "
        f"that is the KL at this blank. The hidden piece is {bold(blank.tokens[blank.places[0]].text)}."
    )
    return shown


def do(trace: Trace) -> None:
    found = {name: figures(name) for name in STUDENTS}
    taught = found[TAUGHT]
    st.markdown(
        f"**What do half the layers change?** Measured on {taught['masked_tokens']:,} blanks of texts kept apart."
    )
    lines = [("teacher", BERT, of_mean(taught["teacher_accuracy"], 100, 1), number(0, 2), "1", "1")]
    for name, one in found.items():
        fast = [number(ratio, 2) for ratio in one["times_as_fast"].values()]
        lines.append((NAMES[name], name, of_mean(one["accuracy"], 100, 1), of_mean(one["kl"], 1, 4), *fast))
    table(
        ("", "layers", "parameters", "blanks right, %", "KL from the teacher", "times as fast: 1 row", "16 rows"),
        [
            (label, str(loaded.config.n_layers), f"{loaded.n_parameters:,}", *cells)
            for label, name, *cells in lines
            for loaded in (family_model(name),)
        ],
    )
    more = taught["more_right_than_the_other"]
    is_clear = abs(more["mean"]) > CLEAR * more["standard_error"]
    st.markdown(
        f"The taught student names **{number(100 * taught['share_of_teacher'], 1)}%** as many blanks right as its "
        f"teacher. Its share right, less the untaught one’s: {of_mean(more, 100, 1)} percentage points, "
        f"{'hardly' if is_clear else 'perhaps'} chance. Its KL, less the other’s: "
        f"{of_mean(taught['more_kl_than_the_other'], 1, 4)} nats."
    )
    st.caption(
        "After ± stands the standard error: about so far a mean moves with other texts of that kind. Each student was "
        f"trained once. Trained twice more, from other random numbers, the teacher has {again('accuracy')} right. The "
        "teacher also learned from pairs of texts. The students did not, and they began with its weights: what either "
        f"does to these shares was not measured. Times: the fastest of {PASSES}, of rows of {taught['pieces']} pieces, "
        "on one thread."
    )
    st.markdown("**How much sooner is the student done with your text?**")
    ids = (CLS_ID, *whole(trace).ids, SEP_ID)
    if seconds := background("sooner", "Time both", ids, lambda: engine.by_turns(reading_times(models()[:2], ids))):
        st.markdown(f"Just now and here the student reads it **{number(seconds[0] / seconds[1], 2)} times** as fast.")
    with st.expander("What the paper found"):
        st.markdown(
            "Sanh et al. 2019, *DistilBERT*: 66 million parameters in place of BERT base’s 110 million. Its mean score "
            "over the tasks of GLUE is 77.0 in place of 79.5, which is 97% of it (Table 1). It took 410 seconds for "
            "what took BERT 668: 60% faster, on a processor, one row at a time (Table 3)."
        )


def of_mean(found: Mapping[str, float], times: float, digits: int) -> str:
    return " ± ".join(number(times * found[name], digits) for name in ("mean", "standard_error"))


def predict(trace: Trace) -> Sequence[Question]:
    text = whole(trace)
    at = telling_word(text)
    softened = [softmax(said_of_each(BERT, text)[at] / t) for t in (1, TEMPERATURE)]
    best = int(softened[0].argmax())
    p, lower = (chance(float(one[best])) for one in softened)
    away = [float(apart(text, name)[at]) for name in STUDENTS]
    nearer = away.index(min(away))
    teacher, student = (family_model(name).n_parameters for name in (BERT, TAUGHT))
    return (
        Question(
            "half",
            f"The teacher has 4 layers and {teacher:,} parameters. The student has 2 layers. How many parameters?",
            (f"{teacher // 2:,}", f"{student:,}", f"{teacher:,}"),
            frozenset({1}),
            f"Two layers are gone, and the table of all pieces is as large as before: {student:,} are left, "
            f"{student / teacher:.0%}.",
            wrong={0: "Only layers were left out, no embeddings.", 2: "Two layers hold numbers, too."},
        ),
        Question(
            "softer",
            f"Hide {bold(text.word(at))}. At T = 1 the teacher gives its first guess {p}. And at T = {TEMPERATURE:g}?",
            ("more", "less", "the same"),
            frozenset({1}),
            f"It gives {lower}. Divided by {TEMPERATURE:g}, logits lie closer together, and the first one loses.",
            wrong={0: "That is what a T below 1 does.", 2: "The order stays; the probabilities do not."},
        ),
        Question(
            "nearer",
            f"Hide {bold(text.word(at))} in your sentence. Which student lies nearer to the teacher?",
            ("the one it taught", "the one that read the text alone"),
            frozenset({nearer}),
            f"KL from the teacher: taught {nats(away[0])}, by the text alone {nats(away[1])} nats.",
            wrong={1 - nearer: "We asked both: see the first screen."},
        ),
    )


LESSON = Lesson(
    "student-and-teacher",
    "DistilBERT: a student and its teacher",
    asks="Can half the layers say the same?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check_cell, do=do),
    code=(divergence, terms, layers_of),
    on_map=OnMap(readers=(BERT,), pictured=("teacher and students", models), scene=scene),
)
