"""Predict: three questions, answered by the tokenizer itself."""

from collections.abc import Sequence

from model.trace import Trace
from pages.inputs.tokenization.words import FIRST_MERGED, MAX_WORD, longest_word, n_bytes, n_pieces, names
from ui.course.quiz import Question
from ui.text import in_markdown
from ui.views.attention_kinds import READABLE

INVENTED = "blorptangle"
WORDS = ("because", "apple", "sunflowers", "xylophone", "Saturday", "Straße")


def predict(trace: Trace) -> Sequence[Question]:
    return capitals(trace), hardest(trace), unseen(trace)


def listed(trace: Trace, ids: Sequence[int]) -> str:
    """Pieces side by side, in Markdown."""
    return " · ".join(in_markdown(names(trace)[i]) for i in ids[:READABLE]) + (" …" if len(ids) > READABLE else "")


def capitals(trace: Trace) -> Question:
    tokenizer = trace.model.tokenizer
    now, loud = (tokenizer.encode(text) for text in (trace.text, trace.text.upper()))
    merged = [name.removeprefix("␣") for name in names(trace)[FIRST_MERGED:]]
    words = [name for name in merged if len(name) > 1 and name.isalpha()]
    small, capital = sum(map(str.islower, words)), sum(map(str.isupper, words))
    right = 0 if len(loud) < len(now) else 1 if len(loud) == len(now) else 2
    both = f"It has {n_pieces(len(now))} as it stands and {len(loud)} in capitals."
    wrong = {
        0: f"Capitals do not make it shorter. {both}",
        1: f"The letters are the same to you, but not to the model. {both}",
        2: f"Capitals do not always cost more. {both}",
    }
    del wrong[right]
    return Question(
        "capitals",
        f"Your sentence has {n_pieces(len(now))}. Written in CAPITALS it has…",
        ("fewer", "just as many", "more"),
        frozenset({right}),
        f"In capitals it has {n_pieces(len(loud))}: {listed(trace, loud)}. Capital letters are other bytes than small "
        f"ones, so other merge rules apply. Of the {len(merged):,} pieces that the rules made, {small:,} are two or "
        f"more small letters and {capital:,} are two or more capitals.",
        wrong=wrong,
    )


def hardest(trace: Trace) -> Question:
    tokenizer = trace.model.tokenizer
    counts = {word: len(tokenizer.encode(word)) for word in (*WORDS, longest_word(trace)[:MAX_WORD])}
    best = max(counts, key=lambda word: counts[word])
    # One right answer: what ties with it is not offered.
    options = [word for word in counts if word == best or counts[word] < counts[best]]
    right = options.index(best)
    return Question(
        "hardest",
        "Which of these words falls into the most pieces?",
        tuple(in_markdown(word) for word in options),
        frozenset({right}),
        "Pieces: "
        + ", ".join(f"{in_markdown(word)} {counts[word]}" for word in options)
        + ". Length alone does not decide. There is a piece for letters that often stood together in the training "
        "text.",
        wrong={
            n: f"{in_markdown(word)} has {n_pieces(counts[word])}: {listed(trace, tokenizer.encode(word))}."
            for n, word in enumerate(options)
            if n != right
        },
    )


def unseen(trace: Trace) -> Question:
    tokenizer = trace.model.tokenizer
    ids = tokenizer.encode(INVENTED)
    cut = " · ".join(f"{in_markdown(names(trace)[i])} ({i})" for i in ids)
    length = len(INVENTED)
    return Question(
        "unseen",
        f"The word *{INVENTED}* was made up for this question. How many pieces does the model make of it?",
        ("1, which means “unknown”", str(len(ids)), f"{length}, one for each letter"),
        frozenset({1}),
        f"It gets {n_pieces(len(ids))}, each with its id: {cut}. Put together they are "
        f"“{in_markdown(tokenizer.decode(ids))}” again.",
        wrong={
            0: "This vocabulary has no such piece, and needs none: any text is bytes, and every byte is a piece.",
            2: f"It starts as {n_bytes(length + 1)}, {length} letters and a space in front. But some of these letters "
            "often stood together in other words, so rules join them.",
        },
    )
