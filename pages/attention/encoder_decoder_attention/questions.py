"""The questions of the lesson on encoder-decoder attention."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from experiments.attention.ablation import log_probabilities_hiding
from model.interventions import Head
from model.trace import Trace
from pages.attention.encoder_decoder_attention.hidden_word import source_words
from pages.attention.encoder_decoder_attention.view import HEAD, KIND
from ui import engine
from ui.course.quiz import Ask, Question, which_piece
from ui.text import in_markdown, magnitude, number

POLL = Question(
    "poll",
    "About Transformers, which of these are true?",
    (
        "They can always be run in parallel.",
        "A decoder that writes cannot write all pieces in parallel.",
        "Q, K and V come from splitting the input into three parts.",
        "Several heads may find different kinds of relations.",
        "In encoder-decoder attention the decoder gives queries and keys, and only the values come from the encoder.",
    ),
    frozenset({1, 3}),
    "In training the right translation is known, so all rows run side by side; a decoder that writes must wait for "
    "its own last piece. Several heads have several maps, which need not agree.",
    several=True,
    wrong={
        0: "A decoder that writes reads its own last piece, which does not exist before it is written.",
        2: "Each is the whole input times a learned matrix; nothing is split.",
        4: "Keys and values both come from the encoder's output; the decoder gives the queries.",
    },
)


def predict(trace: Trace) -> Sequence[Ask]:
    head = HEAD.value(trace.model)
    return largest(trace, head), partial(needs, trace), partial(kept, trace, head), POLL


def largest(trace: Trace, head: Head) -> Question:
    """Which English piece a head looks at most, in the middle of the translation."""
    row = len(trace.labels) // 2
    weights = trace.attention(KIND, head.layer)[head.head, row]
    return which_piece(
        "largest",
        f"The model writes **{in_markdown(trace.labels[row].text)}** (piece {row + 1} of the German). Which English "
        f"piece does layer {head.layer + 1}, head {head.head + 1} look at most, just before?",
        weights,
        trace.src,
        f"It gives it {number(float(weights.max()))} of its attention. Choose the cell in *See* to work it out.",
    )


def needs(trace: Trace) -> Question:
    """Which German piece loses most when the longest English word is hidden."""
    words = source_words(trace)
    longest = max(words, key=lambda word: len(word.label))
    word = trace.src[longest.pieces[0]].word
    _, likely = engine.run(log_probabilities_hiding, trace.model, trace.src, trace.labels, (word,))
    before, after = np.exp(likely)
    fall = before - after
    most = int(fall.argmax())
    name = in_markdown(longest.label)
    return which_piece(
        "needs",
        f"Hide **{name}** from the whole model and let it read the same translation again. Which German piece loses "
        "most of its probability?",
        fall,
        trace.labels,
        f"It goes from {magnitude(float(before[most]))} to {magnitude(float(after[most]))}. Under *Do* every word can "
        "be hidden in turn.",
    )


def kept(trace: Trace, head: Head) -> Question:
    """What becomes of the keys and values while the translation grows."""
    # The same sentence with a translation of one piece, <eos>: are the keys others?
    short = engine.retrace(trace, "")
    changed = max(
        float(np.abs(trace.attention(KIND, n, what) - short.attention(KIND, n, what)).max())
        for n in range(len(trace.model.anatomy.attentions[KIND]))
        for what in "kv"
    )
    n_heads, s, d_k = trace.attention(KIND, head.layer, "k").shape
    return Question(
        "kept",
        "The decoder has written a piece and goes on to the next. What becomes of the keys and values of its "
        "encoder-decoder attention?",
        (
            "They get one more row, for the piece just written.",
            "They stay exactly as they are.",
            "They are made anew and come out different, since the German has grown.",
        ),
        frozenset({1}),
        f"They are made from the encoder's output alone: K is ({n_heads}, {s}, {d_k}), a row for each of the {s} "
        "English pieces, however long the German. Compared with a German sentence of one piece, the keys and values "
        f"here differ by {magnitude(changed)} at most. So a translator makes them once and keeps them.",
        wrong={
            0: "That happens in masked self-attention, whose keys and values come from the German.",
            2: "There is no German in them: they are made from the encoder's output, which stays.",
        },
    )
