"""Lesson: BERT reads two texts as one row, and says whether the second follows the first."""

from collections.abc import Sequence

import streamlit as st

from experiments.family.language_models import published
from experiments.family.pairs import CHANCES, SCORES, read_pair
from explain.core import factor, tex
from model.families.encoder_only import NextSentenceHead
from model.parts.embedding import SegmentEmbedding
from model.trace import Trace
from pages.family.pairs.scene import ELSEWHERE, scene
from pages.family.pairs.texts import FIRST_B, MOST, SECOND, Pair, bert, chosen, pair_of
from pages.family_models import BERT, again
from training.loop.text_rows import read_rows
from ui.components.matrix import Caption, Labels, Scale
from ui.components.pieces import Card, pieces
from ui.controls.control import Choice
from ui.course.check import Part, check_cell, checked_matrix
from ui.course.lesson import Bench, Lesson, OnMap
from ui.course.quiz import Question
from ui.text import chance, in_markdown, number
from ui.views.attention_kinds import READABLE
from ui.views.charts.bars import bars
from ui.views.charts.tables import table

ANSWERS = ("B follows A", "B is from elsewhere")
EMPTY = "Text B is empty: type one, so that there is a pair."
STEPS = {
    "Token": "encoder.embedding.tokens",
    "Segment": "encoder.embedding.segments",
    "Token + segment": "encoder.embedding.with_segments",
    "Position": "encoder.embedding.positions",
    "Sum of the three": "encoder.embedding.sum",
    "Scores": SCORES,
    "Probabilities": CHANCES,
}
TENSOR = Choice("What to work out", "pair_inside", tuple(STEPS), default="Sum of the three")
OTHERS = ELSEWHERE[:2]
# Of Devlin et al. 2018, A.1: A, what follows it, and what does not
PAPER = "The man went to the store.", "He bought a gallon of milk.", "Penguins are flightless birds."


def idea(trace: Trace) -> None:
    st.markdown(
        "Some tasks are about two texts: does one answer the other, do both say the same? BERT reads them as **one "
        "row**, with marks between: [CLS] A [SEP] B [SEP]. Each piece gets the sum of three learned vectors: one for "
        "the piece, one for its text (its **segment**, A or B), one for its position."
    )
    st.latex(r"x_i=E_{\text{piece}}+S_{\text{segment}}+P_{\text{position}}")
    st.markdown(
        "In training, B follows A in half of the pairs; in the others it comes from elsewhere. From the row of [CLS] "
        "BERT must tell which: this is **next-sentence prediction**."
    )


def see(trace: Trace) -> None:
    st.markdown("**Does B follow A?** A is your sentence at the top.")
    st.text_input("Text B", FIRST_B, key=SECOND, bind="query-params", live="300ms")
    if not (pair := chosen(trace)):
        st.info(EMPTY)
        return
    if pair.is_cut:
        st.info(f"Of each text BERT reads at most {MOST} pieces here.")
    bars(ANSWERS, [pair.follows, 1 - pair.follows], "Does B follow A?")
    st.markdown(f"BERT gives a probability of **{chance(pair.follows)}** that B follows A.")
    cards = [
        Card(token.text, (f"{pair.segment(row)} · {row + 1}",), token.word if token.word >= 0 else -1)
        for row, token in enumerate(pair.tokens)
    ]
    pieces(
        cards, key="pair", title="What BERT reads", how_to_read="Below each piece stand its segment and its position."
    )


def check(trace: Trace) -> None:
    step = TENSOR.draw()
    if not (pair := chosen(trace)):
        st.caption("Once there is a pair, you can work out here how its numbers come about.")
        return
    name = STEPS[step]
    if name in (SCORES, CHANCES):
        caption = Caption(step, "Made from the row of [CLS].")
        scale = Scale("positive", limit=1) if name == CHANCES else Scale("signed")
        shown = checked_matrix(pair.read, name, caption, labels=Labels(("[CLS]",), ANSWERS), scale=scale)
    else:
        rows = tuple(f"{token.text} ({pair.segment(row)})" for row, token in enumerate(pair.tokens))
        caption = Caption(step, "A row for each piece, a column for each of the first 8 dimensions.")
        shown = checked_matrix(pair.read, name, caption, labels=Labels(rows[:READABLE]), part=Part(n_columns=8))
        add_up(pair, shown.index)
    check_cell(shown)


def add_up(pair: Pair, index: tuple[int, ...]) -> None:
    """The chosen cell of all three tables, and their sum."""
    parts = [float(pair.read.tensors[STEPS[name]][index]) for name in ("Token", "Segment", "Position")]
    piece, segment, place = (factor(part) for part in parts)
    total = tex(float(pair.read.tensors[STEPS["Sum of the three"]][index]))
    st.markdown(
        rf"This cell in all three tables, piece, segment and position: ${piece} + {segment} + {place} = {total}$"
    )


def do(trace: Trace) -> None:
    if not (pair := chosen(trace)):
        st.info(EMPTY)
        return
    st.markdown("**Swap the texts.** How likely does BERT find it that the second follows the first?")
    tokenizer = bert().tokenizer
    others = [Pair(pair.first, tuple(tokenizer.encode(text))) for text in OTHERS]
    tried = {
        "A, then B": pair,
        "B, then A": Pair(pair.second, pair.first),
        "A, then A again": Pair(pair.first, pair.first),
        **{f"A, then: {text}": other for text, other in zip(OTHERS, others, strict=True)},
    }
    table(("the two texts", "probability"), [(name, chance(one.follows)) for name, one in tried.items()])
    turned, all_five = tried["B, then A"].follows, [one.follows for one in tried.values()]
    st.markdown(
        f"In the other order the probability goes from {chance(pair.follows)} to {chance(turned)}. Over all five it "
        f"lies between {chance(min(all_five))} and {chance(max(all_five))}. One that could not tell at all would give "
        "every pair the same number."
    )
    test, (paper_a, *paper_b) = published(BERT)["test"], PAPER
    st.markdown(f"**The paper’s own example.** A is: {paper_a}")
    lines = [(text, pair_of(paper_a, text)) for text in paper_b]
    table(("B", "probability that B follows A"), [(text, chance(one.follows)) for text, one in lines if one])
    st.caption(
        "Take two pairs of single sentences that it never saw: neighbours, and two from different texts. This BERT "
        f"finds the neighbours likelier in {number(100 * test['single_sentences'], 1)}% ± "
        f"{number(100 * test['standard_error'], 1)}% (measured on {test['single_pairs']:,} pairs); a coin would in "
        f"50%. Trained twice more, from other random numbers, it does so in {again('single_sentences')}. Of "
        f"{test['pairs']:,} pairs of longer texts it tells in {number(100 * test['next_sentence'], 1)}% "
        "whether B follows A; always the more frequent answer would be right in "
        f"{number(100 * test['always_the_same'], 1)}%."
    )
    with st.expander("Why later models dropped it"):
        st.markdown(
            "RoBERTa (Liu et al. 2019) trained with and without this task: without it the model was as good at later "
            "tasks, or slightly better. ALBERT (Lan et al. 2020) names a reason: a text from elsewhere usually has "
            "a different topic, which gives it away. ALBERT therefore asks for the order of two neighbours."
        )


def predict(trace: Trace) -> Sequence[Question]:
    if not (pair := pair_of(trace.text, FIRST_B)):
        return ()
    n, m = len(pair.first), len(pair.second)
    return (
        Question(
            "rows",
            f"Your sentence has {n} piece{'s' * (n != 1)}, and *{in_markdown(FIRST_B)}* has {m}. How many pieces "
            "does BERT read, its marks included?",
            (str(n + m), str(n + m + 2), str(n + m + 3)),
            frozenset({2}),
            f"{n} + {m} and three marks: [CLS] and two times [SEP].",
            wrong={0: "The marks are missing.", 1: "One mark is missing."},
        ),
        Question(
            "position",
            "Which position does the first piece of B get?",
            ("1", str(n + 3), str(n + 1)),
            frozenset({1}),
            f"Positions run through both texts: [CLS], {n} pieces and [SEP] stand before it.",
            wrong={
                0: "B's segment says that it is the second text. Positions do not begin anew.",
                2: "Count the marks.",
            },
        ),
        Question(
            "topic",
            "The wrong B's of training come from other documents. What may a model learn instead of what follows what?",
            ("which texts share a topic", "which text is longer", "how to spell"),
            frozenset({0}),
            "Neighbours mostly share a topic, and texts from two documents mostly do not. So the topic alone helps.",
            wrong={1: "How long B may be is chosen alike for both kinds.", 2: "Both kinds of B are spelled alike."},
        ),
    )


LESSON = Lesson(
    "pairs",
    "BERT: pairs",
    asks="Does B follow A?",
    idea=idea,
    predict=predict,
    bench=Bench(see=see, check=check, do=do),
    code=(SegmentEmbedding, NextSentenceHead, read_pair, read_rows),
    on_map=OnMap(readers=(BERT,), scene=scene),
)
