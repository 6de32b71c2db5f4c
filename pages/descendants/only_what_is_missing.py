"""Lesson: T5 reads a text with stretches cut out, and writes those alone; a word before the text names the task."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import streamlit as st

from experiments.family.language_models import published
from experiments.family.restoring import restored
from explain import worked_noise, worked_pair
from model.text.tokenizer import SENTINELS
from model.trace import Trace
from pages.descendants.torn_text import text_of
from pages.family.fill_in_the_blank.blanks import Blanks, choose_words, whole
from pages.family_models import family_model
from pages.hidden_word import ADDED
from training.loop.noise import Noisy
from training.loop.restoring import ANSWER, FILL, PAIR, TAG, TEXT, answer_source, tag_source
from training.loop.spans import MEAN, SHARE, cut_spans, hide_spans, n_hidden_and_spans, read_spans
from ui import engine
from ui.components.matrix import Caption
from ui.components.scene import Bar, Bars, Card, Cards, Frame, Link, Row, Scene
from ui.controls.control import Choice
from ui.course.check import Shown, check_cell, checked_matrix, fill_in
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question
from ui.text import bold, chance, number
from ui.views.charts.tables import table
from ui.views.worked_steps import show_steps

T5 = "t5-mini"
STOPS, SEED = (15, 30, 50, 70), 54  # percent of the pieces that are cut out on the first screen
BRIEF = 1.5  # pieces in a stretch there, on average: a sentence is short
MORE = 6  # pieces that it may write beyond those that are to be written
STORY, QUESTION = "Mary went to the garden. John went to the office. Mary took the milk.", "Where is Mary?"
LONGEST = 1000  # characters of a box that are read


def prefix() -> list[int]:
    return family_model(T5).tokenizer.encode(FILL)


def first_sign() -> int:
    return family_model(T5).tokenizer.first_sentinel


def write(source: Sequence[int], most: int) -> Trace:
    """What T5 writes for a source, up to `most` pieces."""
    (found,) = engine.run(restored, family_model(T5), (tuple(source),), most)
    return found


def filled(source: Noisy, target: Noisy) -> Trace:
    return write((*prefix(), *source.ids), len(target.ids) + MORE)


def scene(trace: Trace) -> Scene:
    """More and more of the text is cut out; T5 writes what is missing."""
    text, said = text_of(trace)
    pairs = [hide_spans(text.ids, first_sign(), SEED, percent / 100, BRIEF) for percent in STOPS]
    most = max(len(target.ids) for _, target in pairs) + MORE
    sources = tuple((*prefix(), *source.ids) for source, _ in pairs)
    readings = engine.run(restored, family_model(T5), sources, most)  # side by side
    each = zip(STOPS, pairs, readings, strict=True)
    return Scene(
        "T5 writes only what is missing. Each stretch that is cut out leaves a sign, and T5 writes the sign and what "
        f"stood there. Bold: as in your text.{said}",
        "Share that is cut out",
        [frame(text.ids, percent, *pair, reading) for percent, pair, reading in each],
    )


def frame(ids: tuple[int, ...], percent: int, source: Noisy, target: Noisy, reading: Trace) -> Frame:
    tokens = family_model(T5).tokenizer.tokens
    labels = reading.labels[: len(reading.labels) - reading.finished]
    first, p, begins = first_sign(), reading.probabilities, len(prefix())
    gone = {place for at, id in enumerate(source.ids) if id >= first for place in source.origins[at]}
    right = as_cut([one.id for one in labels], target)
    own = [Card(one.text, "unseen" if at in gone else "") for at, one in enumerate(tokens(ids))]
    read = [Card(one.text, "asked" if one.id >= first else "") for one in reading.src[:-1]]
    said = [
        Card(one.text, "asked" if one.id >= first else "strong" if j in right else "", chance(p[j]), p[j])
        for j, one in enumerate(labels)
    ]
    links = [
        Link((0, place), (1, begins + at), 0.2, "key" if id >= first else "query")
        for at, id in enumerate(source.ids)
        for place in source.origins[at]
    ]
    signs = {id: begins + at for at, id in enumerate(source.ids) if id >= first}
    links += [Link((1, signs[one.id]), (2, j), 0.2, "key") for j, one in enumerate(labels) if one.id in signs]
    n_write, n_whole = len(target.ids) + 1, len(ids) + 1
    bars = [Bar("T5", n_write, str(n_write), strong=True), Bar("all of it, as BART", n_whole, str(n_whole))]
    says = (
        f"Cut out of your {counted(len(ids), 'piece', 'pieces')}: **{len(gone)}**, in "
        f"{counted(len(signs), 'stretch', 'stretches')}. T5 puts **{len(right)}** of them back as you wrote them."
    )
    rows = [Row(own, "your text"), Row(read, "the encoder reads", "plain"), Row(said, "the decoder writes", "output")]
    drawn = Bars(bars, "Pieces to write, with signs and end mark", limit=float(max(n_write, n_whole)))
    says += " It would write on." * (not reading.finished)
    return Frame(f"{percent}%", says, [[Cards(rows, links)], [drawn]])


def counted(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"


def as_cut(written: Sequence[int], target: Noisy) -> list[int]:
    """The places in what was written of pieces that stand behind their sign just as they were cut out."""
    first, wanted = first_sign(), behind_signs(target.ids)
    found, sign, since = [], None, 0
    for at, id in enumerate(written):
        if id >= first:
            sign, since = id, at + 1
        elif wanted.get(sign, ())[at - since : at - since + 1] == (id,):
            found.append(at)
    return found


def behind_signs(ids: Sequence[int]) -> dict[int | None, tuple[int, ...]]:
    """What stands behind each sign."""
    first, stretches, sign = first_sign(), dict[int | None, tuple[int, ...]](), None
    for id in ids:
        if id >= first:
            sign = id
        stretches[sign] = (*stretches.get(sign, ()), *([id] if id < first else []))
    return stretches


def idea(trace: Trace) -> None:
    loaded = family_model(T5)
    st.markdown(
        "**T5** (Raffel et al. 2020) turns every task into one: read a text, write a text. A **prefix**, a few pieces "
        "before the text, says which task it is.\n\n"
        f"It learns from plain text with stretches cut out. Of n pieces {SHARE:.0%} go, in stretches of {MEAN:g} on "
        "average. Each leaves a sign of its own, ⟨X⟩, ⟨Y⟩, ⟨Z⟩ and so on. The target y has each sign with what stood "
        "there, and one sign more. The loss counts the pieces of y alone:"
    )
    st.latex(r"L=-\frac1m\sum_{t=1}^{m}\ln P(y_t\mid y_1,\dots,y_{t-1},\text{prefix},\tilde x)")
    with st.expander("How the one here differs"):
        st.markdown(
            f"It began as our BART: {loaded.config.n_layers} + {loaded.config.n_layers} layers, "
            f"{loaded.n_parameters:,} parameters. Its encoder and its table of pieces are BART’s, untouched. The "
            f"decoder and {len(SENTINELS)} signs learned. From random weights, a smaller one learned in 8,000 steps to "
            "write well-formed outputs. It wrote the kinds without the words, and had 19% of them right.\n\nIt knows "
            f"three prefixes: “{FILL}”, “{TAG}” and “{ANSWER}”. Half of its rows were texts of at most {TEXT} pieces "
            "to fill, a quarter each of the two other tasks. In the paper a task with more examples comes more often, "
            "up to a limit, positions are relative, and the largest T5 has 11 billion parameters."
        )


def opened(trace: Trace) -> Blanks:
    """Two stretches are cut out, if there is room: the first word and the one before the last. For these T5 most often
    writes as many.
    """
    text = whole(trace)
    n = len(text.words)
    return replace(text, hidden=(0, n - 2) if n > 2 else (0,))


def spans_of(text: Blanks) -> list[range]:
    """The stretches of hidden pieces, as many as there are signs for."""
    spans: list[range] = []
    for place in text.places:
        if spans and spans[-1].stop == place:
            spans[-1] = range(spans[-1].start, place + 1)
        else:
            spans.append(range(place, place + 1))
    return spans[: len(SENTINELS) - 1]


def sign_at(text: Blanks, place: int) -> str:
    """The sign in place of a hidden piece; the piece itself if all signs are used up before it."""
    found = (sign for sign, span in zip(SENTINELS, spans_of(text), strict=False) if place in span)
    return next(found, text.tokens[place].text)


class Cut(NamedTuple):
    """The text with what is cut out, and the picture of where T5 looks for it; none if nothing is."""

    text: Blanks
    shown: Shown | None


def see(trace: Trace) -> Cut:
    how = "Drag over words to cut them out, or click one. The same puts them back."
    text = choose_words(opened(trace), "Your sentence in T5’s pieces", how, ADDED, sign_at)
    spans = spans_of(text)
    if not spans:
        st.info("Nothing is cut out, so nothing is to be written. Drag over some words.")
        return Cut(text, None)
    source, target = cut_spans(text.ids, first_sign(), spans)
    reading = filled(source, target)
    said = [one.id for one in reading.labels[: len(reading.labels) - reading.finished]]
    st.markdown(
        f"**Where does it look for what is missing?**\n\n- It reads: {signed((*prefix(), *source.ids))}\n"
        f"- To be written: {signed(target.ids)}\n- It writes: {signed(said)}"
    )
    if read_spans(reading.label_ids[:-1], first_sign(), len(spans)) is None:
        st.caption("That is not well formed: the signs do not come in order, each once, with one more at the end.")
    last, how = reading.model.anatomy.attentions["cross"][-1], "Row: what it writes. Column: what the encoder reads."
    caption = Caption("Encoder-decoder attention of the last layer, average of its heads", how)
    return Cut(text, checked_matrix(reading, f"{last.path}.average", caption))


def signed(ids: Sequence[int]) -> str:
    return bold(" ".join(one.text for one in family_model(T5).tokenizer.tokens(ids))) if ids else "nothing"


NOISE, CELL = "How much is cut out", "A cell of the picture"
WORKED = Choice("What to work out", "t5_inside", (NOISE, CELL))


def check(cut: Cut) -> None:
    if WORKED.draw() == NOISE:
        noise_by_hand(cut.text)
    elif cut.shown:
        check_cell(cut.shown)
    else:
        st.caption("There is nothing to work out: nothing is cut out.")


def noise_by_hand(text: Blanks) -> None:
    """How much training cuts out of the text; how long source and target are with what the learner cut out."""
    n, spans = len(text.ids), spans_of(text)
    st.markdown(f"**How much does training cut out?** Your text has **{counted(n, 'piece', 'pieces')}**.")
    steps = worked_noise(n, SHARE, MEAN)
    show_steps(steps + (worked_pair(n, sum(map(len, spans)), len(spans), len(prefix())) if spans else []))
    if steps[0].blank:
        st.markdown(f"How many pieces does training cut out of a text twice as long, of {2 * n} pieces?")
        fill_in(steps[0].blank, key=f"noise/{n}")


def tag(trace: Trace) -> None:
    st.markdown(
        f"**The same model, another prefix.** Behind “{TAG}” it writes each word again, and its kind behind it."
    )
    text = whole(trace)
    words = [text.word(n) for n in range(len(text.words))]
    loaded = family_model(T5)
    while len(ids := loaded.tokenizer.encode(tag_source(words))) + len(words) >= PAIR:  # what is written is longer
        words.pop()
    written = loaded.tokenizer.decode(write(ids, PAIR).label_ids).split()
    pairs = [(word, written[2 * n : 2 * n + 2]) for n, word in enumerate(words)]
    table(
        ("your word", "its kind"), [(word, two[1] if len(two) > 1 and two[0] == word else "–") for word, two in pairs]
    )
    st.caption("–: there it wrote another word, or none. The kinds are those of Universal Dependencies.")


def answer(trace: Trace) -> None:
    st.markdown(f"**A question, and a story.** Behind “{ANSWER}” it writes the answer.")
    story = st.text_area("Story", STORY, key="t5_story", bind="query-params", max_chars=LONGEST)
    question = st.text_input("Question", QUESTION, key="t5_question", bind="query-params", max_chars=LONGEST)
    loaded = family_model(T5)
    ids = loaded.tokenizer.encode(answer_source(question[:LONGEST], story[:LONGEST]))
    reading = write(ids[: PAIR - 1], PAIR)
    st.markdown(f"It answers: {bold(reading.translation) if reading.translation else 'nothing'}")
    if len(ids) >= PAIR:
        st.caption(f"It reads the first {PAIR - 1} of the {len(ids)} pieces of question and story.")
    st.caption(
        "It learned from short stories in which people go to places and take things (bAbI, Weston et al. 2015). What "
        "it makes of any other text is not worth much."
    )


def measured(trace: Trace) -> None:
    test = published(T5)["test"]
    st.markdown("**How well does it do what it learned?** Texts, sentences and stories that it never read.")
    ratio = test["target_pieces"]["mean"] / test["text_pieces"]["mean"]
    kinds = {
        "well formed: the right signs, in order": "well_formed",
        "stretches just as they were": "spans",
        "kinds of words": "tags",
        "answers": "answers",
    }
    rows = []
    for name, one in ((name, test[key]) for name, key in kinds.items()):
        right, error = (number(100 * one[what], 1) for what in ("right", "standard_error"))
        rows.append((name, f"{right} ± {error}", f"{one['n']:,}"))
    table(("what is right", "in %", "of"), rows)
    st.markdown(
        f"Its targets have **{number(test['target_pieces']['mean'], 1)}** pieces on average, the texts "
        f"**{number(test['text_pieces']['mean'], 1)}**: **{number(ratio, 2)}** of what BART must write."
    )
    st.caption(
        f"{SHARE:.0%} of the pieces are cut out. ± the standard error, over texts. Always the likeliest piece is "
        "written. One training; how much another would differ was not measured."
    )
    with st.expander("What the paper found"):
        st.markdown(
            "Raffel et al. 2020, Tables 5 and 7, GLUE after fine-tuning. To write the whole text, with pieces hidden "
            "as for BERT: 83.0. To write only what is missing, single pieces drawn: 83.3, and training is cheaper, "
            "since targets are shorter. Stretches of three pieces on average: 83.5."
        )


TRIALS = {"Tag each word": tag, "Answer a question": answer, "How well it does": measured}
TRIAL = Choice("Try", "t5_trial", tuple(TRIALS))


def do(trace: Trace) -> None:
    TRIALS[TRIAL.draw()](trace)


def predict(trace: Trace) -> Sequence[Question]:
    n = len(whole(trace).ids)
    hidden, spans = n_hidden_and_spans(n)
    right, all_of_it = hidden + spans + 2, n + 1
    options = sorted({hidden, right, all_of_it})
    whys = {
        hidden: "Each stretch has a sign before it, and a last sign and the end mark come at the end.",
        all_of_it: "So many would be the whole text with its end mark.",
    }
    return (
        Question(
            "pieces",
            f"We cut {SHARE:.0%} out of your {counted(n, 'piece', 'pieces')}: {hidden}, in "
            f"{counted(spans, 'stretch', 'stretches')}. How many pieces is T5 to write?",
            tuple(map(str, options)),
            frozenset({options.index(right)}),
            f"{counted(hidden, 'piece', 'pieces')}, {counted(spans, 'sign', 'signs')} to say where they belong, one "
            "more sign, and the end mark.",
            wrong={k: whys[count] for k, count in enumerate(options) if count != right},
        ),
        Question(
            "prefix",
            "You want the kinds of the words, not what is missing. What has to change?",
            ("the weights", "the prefix", "the decoder’s last layer"),
            frozenset({1}),
            f"The same weights read “{TAG}” in place of “{FILL}”.",
            wrong={
                0: "One set of weights learned all three tasks.",
                2: "One layer writes the pieces of all answers.",
            },
        ),
    )


LESSON = Lesson(
    "only-what-is-missing",
    "T5: only what is missing",
    asks="Cut words out. What is left to write?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check, do=do),
    code=(hide_spans, cut_spans),
    on_map=OnMap(readers=(T5,), scene=scene),
)
