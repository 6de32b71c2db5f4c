"""Lesson: from a sentence to numbers, and back again without a loss."""

from collections.abc import Sequence

import streamlit as st

from explain import WorkedStep
from figures.vocabulary import length_curve
from model.bpe_replay import Merges, merges_of
from model.checkpoint import SHIPPED
from model.tokenizations import UNKNOWN, Cut, cuts
from model.tokenizer import SPECIALS, Token, Tokenizer, normalise
from model.trace import Trace
from ui import engine
from ui.components.pieces import Card, pieces
from ui.controls.address import read_pair, write_pair
from ui.controls.vocabulary_entry import entries, hexadecimal, spaced
from ui.course.lesson import Lesson
from ui.course.quiz import Question
from ui.text import in_markdown, visible
from ui.views.attention_kinds import READABLE
from ui.views.tables import numbers_of_figure, table
from ui.views.worked_steps import show_steps

MAX_WORD = 40  # characters of a word whose merges are replayed
MAX_TEXT = 200  # characters of a text that is cut in five ways

EXAMPLES = {
    "Umlauts": "Schöne Grüße aus München",
    "Emoji": "I ate an 🍎 👩‍🚀",
    "Thai": "ฉันชอบสุนัข",
    "German compound": "Donaudampfschifffahrtsgesellschaft",
}

# How each of the five ways cuts a text, by its name.
HOW = {
    "Words": "At spaces and marks; each frequent word is a piece.",
    "Characters": "After every sign.",
    "Byte-pair encoding": "Joins bytes by the merge rules above. This model's way.",
    "WordPiece": "In each word, the longest piece that fits, from the left; ## marks a piece inside a word.",
    "Unigram": "Every piece has a probability; of all cuts the likeliest.",
}


def n_bytes(count: int) -> str:
    return f"{count} byte" if count == 1 else f"{count} bytes"


def n_pieces(count: int) -> str:
    return f"{count} piece" if count == 1 else f"{count} pieces"


def idea(trace: Trace) -> None:
    tokenizer = engine.model().tokenizer
    st.markdown(
        "A network reckons with numbers, so a sentence has to become numbers first. It is cut into words, the words "
        "into **pieces** (also called *tokens*), and every piece has a number, its **id**: its row in a fixed list of "
        f"{tokenizer.vocab_size:,} pieces, the **vocabulary**. Frequent words are one piece. A word that is not in "
        "the list falls apart into smaller pieces, in the end into single **bytes** (the numbers 0 to 255 in which "
        "computers store text), so nothing is ever lost."
    )
    st.markdown(
        "Which pieces are in the list? Before the model was trained, **byte-pair encoding** read its sentences as "
        "bytes and joined the two neighbours that occurred most often, again and again. That made "
        f"{len(merges_of(tokenizer)):,} **merge rules**. A new sentence is cut by the same rules, in the same order."
    )
    st.latex(
        r"\text{sentence}\;\to\;\text{words}\;\to\;\text{pieces}\;\to\;\text{ids}\in"
        rf"\{{0,\dots,{tokenizer.vocab_size - 1}\}}"
    )
    pad, sos, eos = (f"**{in_markdown(name)}** ({tokenizer.backend.token_to_id(name)})" for name in SPECIALS)
    st.markdown(
        f"Three ids stand for no text: {sos} starts a translation, {eos} ends a sentence, and {pad} fills up the "
        "shorter of several sentences that are computed together."
    )


def card(token: Token) -> Card:
    raw = engine.model().tokenizer.piece_bytes(token.id)
    if token.id < len(SPECIALS):
        return Card(token.text, ("added", f"id {token.id}"), -1, marked=True)
    return Card(entries()[token.id], (hexadecimal(raw), f"id {token.id}"), token.word)


def see(trace: Trace) -> None:
    tokens = trace.src[:READABLE]
    pieces(
        [card(token) for token in tokens],
        key="see_pieces",
        title="Your sentence as the model gets it",
        how_to_read="Each card: the piece (␣ is a space, which belongs to the piece after it), its bytes in "
        "hexadecimal (base 16, 00 to FF), its id. A wider gap ends a word.",
        selected=chosen_piece(trace),
        on_select=lambda n: write_pair("cell", (0, n)),
    )
    if len(tokens) < len(trace.src):
        st.caption(f"Shown: the first {len(tokens)} of {len(trace.src)} pieces.")
    tokenizer = engine.model().tokenizer
    ids = [token.id for token in trace.src]
    back = tokenizer.decode(ids)
    st.markdown("**The ids, which are all that the model sees**")
    st.code(str(ids), language=None, wrap_lines=True)
    st.markdown("**And back**")
    st.code(visible(back), language=None, wrap_lines=True)
    st.caption(
        f"{len(trace.text)} characters, {n_bytes(len(trace.text.encode()))}, {n_pieces(len(ids) - 1)} and "
        f"{in_markdown('<eos>')}. Turned back into text, the ids give "
        + ("exactly the sentence they came from." if back == trace.text else "another text than they came from.")
    )


def chosen_piece(trace: Trace) -> int:
    """The piece that Check explains: the one in the address, else the longest."""
    n = min(len(trace.src), READABLE)
    lengths = [len(engine.model().tokenizer.piece_bytes(token.id)) if token.word >= 0 else 0 for token in trace.src[:n]]
    return read_pair("cell", (1, n), (0, lengths.index(max(lengths))))[1]


def check(trace: Trace) -> None:
    token = trace.src[chosen_piece(trace)]
    tokenizer, merges = engine.model().tokenizer, merges_of(engine.model().tokenizer)
    raw = tokenizer.piece_bytes(token.id)
    st.markdown(
        f"**How did {in_markdown(entries()[token.id])} become {token.id}?** "
        "Choose another piece by a click, or with Tab and Enter."
    )
    if token.id < len(SPECIALS):
        st.markdown(
            f"This one stands for no text. It is added behind every sentence, so that the model sees where it ends. "
            f"The vocabulary begins with {len(SPECIALS)} such marks, and this is number {token.id}, counted from 0."
        )
    else:
        st.markdown(f"It starts as {n_bytes(len(raw))}: `{hexadecimal(raw)}`.")
        st.markdown(merge_list(merges, token.id))
        show_steps([worked_id(merges, token.id)])
    if done := merges.of_piece(token.id):
        st.caption(
            f"{len(done)} of the {len(merges):,} merge rules made this piece. Rule 1 joins the two neighbours that the "
            "training text had most often; with those joined, rule 2 joins the next most frequent pair, and so on."
        )
    with st.expander("Compute it yourself"):
        st.markdown("Download the model's own tokenizer, then run these lines in Python (`pip install tokenizers`).")
        st.download_button(
            "tokenizer.json", (SHIPPED / "tokenizer.json").read_bytes, "tokenizer.json", on_click="ignore"
        )
        st.code(snippet(trace.text, merges, token.id), language="python")
        st.caption("The file writes every byte as one visible sign; Ġ is the space.")


def merge_list(merges: Merges, token_id: int) -> str:
    """The merges that made a piece as a Markdown list, in order."""
    names = entries()
    return "\n".join(
        f"{n}. Rule **{m.rank:,}** joins {in_markdown(names[m.left])} and {in_markdown(names[m.right])} into "
        f"**{in_markdown(names[m.joined])}**"
        for n, m in enumerate(merges.of_piece(token_id), 1)
    )


def worked_id(merges: Merges, token_id: int) -> WorkedStep:
    """How a piece's id follows from the rule that made it; a single byte's was fixed before any rule was learned."""
    first = len(SPECIALS) + 256
    done = merges.of_piece(token_id)
    if not done:
        return WorkedStep(
            f"A single byte needs no rule. The bytes have the ids from {len(SPECIALS)} to {first - 1}.",
            rf"\text{{id}} = {token_id}",
            token_id,
        )
    return WorkedStep(
        f"The id of what rule {done[-1].rank:,} makes: {len(SPECIALS)} marks and 256 bytes come first in the "
        "vocabulary, then one new piece for each rule. Ids count from 0, rules from 1.",
        rf"{len(SPECIALS)} + 256 + {done[-1].rank} - 1 = {token_id}",
        token_id,
    )


def snippet(text: str, merges: Merges, token_id: int) -> str:
    """Python that finds the piece's id again, and the ranks of its merges, with the `tokenizers` library."""
    entry = merges.tokenizer.backend.id_to_token
    lines = [
        "import json",
        "from pathlib import Path",
        "from tokenizers import Tokenizer",
        "",
        't = Tokenizer.from_file("tokenizer.json")',
        "t.encode_special_tokens = True  # what is typed is text, never a mark",
        f"t.encode({text!a}, add_special_tokens=False).ids",
        f"t.token_to_id({entry(token_id)!a})  # {token_id}",
    ]
    if done := merges.of_piece(token_id):
        lines += ["", 'merges = json.loads(Path("tokenizer.json").read_text(encoding="utf-8"))["model"]["merges"]']
        lines += [f"merges.index([{entry(m.left)!a}, {entry(m.right)!a}]) + 1  # {m.rank}" for m in done]
    return "\n".join(lines)


def longest_word(trace: Trace) -> str:
    """The word of the sentence with the most pieces; of several such the longest."""
    words: dict[int, list[int]] = {}
    for token in trace.src:
        if token.word >= 0:
            words.setdefault(token.word, []).append(token.id)
    tokenizer = engine.model().tokenizer
    best = max(words.values(), key=lambda ids: (len(ids), sum(len(tokenizer.piece_bytes(i)) for i in ids)))
    return tokenizer.decode(best)


def do(trace: Trace) -> None:
    replay(trace)
    compare(trace)


def typed_words(trace: Trace) -> list[tuple[int, ...]]:
    """The words in the box, each as its bytes; of an empty box the hardest word of the sentence."""
    typed = normalise(str(st.session_state.get("word") or ""))
    return merges_of(engine.model().tokenizer).words((typed or longest_word(trace))[:MAX_WORD])


def replay(trace: Trace) -> None:
    st.subheader("Build a word, merge by merge", anchor=False)
    typed = st.text_input(
        "A word of yours",
        key="word",
        bind="query-params",
        placeholder=f"empty: “{visible(longest_word(trace)[:MAX_WORD])}” of your sentence",
        live="300ms",
    )
    merges = merges_of(engine.model().tokenizer)
    words = typed_words(trace)
    word = words[0]
    done = merges.replay(word)
    if len(normalise(typed or "") or longest_word(trace)) > MAX_WORD:
        st.caption(f"Shown: the first word, and of it no more than {MAX_WORD} characters.")
    elif len(words) > 1:
        st.caption("Merging never crosses the end of a word, so this shows the first word only.")
    elif done:
        st.caption("Move the slider to the left to take merges back, down to the bytes, and to the right to redo them.")
    if not done:
        pieces(byte_cards(word), key="do_bytes", title="No merge rule fits here: the bytes are the pieces")
        return
    if st.session_state.get("merges", 0) > len(done):  # set for a longer word
        st.session_state["merges"] = len(done)
    count = st.slider("Number of merges", 0, len(done), len(done), key="merges", bind="query-params")
    now = done[count - 1] if count else None
    left, right = st.columns(2, gap="medium")
    with left:
        pieces(
            byte_cards(now.before if now else word, (now.at, now.at + 1) if now else ()),
            key="do_before",
            title=f"Before merge {count}: {n_pieces(len(now.before))}" if now else "Before any merge",
            how_to_read="The dashed two are joined next: of all neighbours, the pair with the earliest rule.",
        )
    with right:
        if now is None:
            st.info("Move the slider to 1 to see the first merge.")
        else:
            pieces(
                byte_cards(now.after, (now.at,)),
                key="do_after",
                title=f"After merge {count} of {len(done)}: {n_pieces(len(now.after))}",
                how_to_read=f"Joined by rule {now.rank:,} of {len(merges):,}.",
            )
    names = entries()
    numbers_of_figure(
        ("Merge", "Rule", "Joins", "Pieces left", "Done"),
        [
            (
                str(n),
                f"{m.rank:,}",
                f"{names[m.left]} + {names[m.right]}",
                str(len(m.after)),
                "yes" if n <= count else "no",
            )
            for n, m in enumerate(done, 1)
        ],
    )


def byte_cards(symbols: Sequence[int], marked: Sequence[int] = ()) -> list[Card]:
    return [Card(entries()[i], (f"id {i}",), 0, marked=n in marked) for n, i in enumerate(symbols)]


def _type(text: str) -> None:
    st.session_state["text"] = text


def compare(trace: Trace) -> None:
    st.subheader("Five ways to cut the same text", anchor=False)
    typed = st.text_input(
        "A text of yours", key="text", bind="query-params", placeholder="empty: your sentence", live="300ms"
    )
    with st.container(horizontal=True, gap="small", key="cut_examples"):
        for label, text in EXAMPLES.items():
            st.button(label, key=f"cut_{label}", on_click=_type, args=(text,), type="tertiary", help=text)
        st.button("Your sentence", key="cut_sentence", on_click=_type, args=("",), type="tertiary")
    whole = normalise(typed or "") or trace.text
    text = whole[:MAX_TEXT]
    if len(whole) > MAX_TEXT:
        st.caption(f"Shown: the first {MAX_TEXT} characters.")
    tokenizer = engine.model().tokenizer
    found = cuts(text, tokenizer)
    table(
        ("Method", "How it cuts", "This text, cut"),
        [
            (
                cut.method,
                HOW[cut.method],
                " · ".join(spaced(piece) for piece in cut.pieces[:READABLE])
                + (" …" if len(cut.pieces) > READABLE else ""),
            )
            for cut in found
        ],
    )
    table(
        ("Method", "Vocabulary", "Pieces", "Comes back"),
        [(cut.method, f"{cut.vocab_size:,}", str(len(cut.pieces)), comes_back(cut)) for cut in found],
    )
    st.caption(
        f"All five learned from the same sentences. {in_markdown(UNKNOWN)} stands for what a vocabulary does not have, "
        "so its text does not come back. Words and WordPiece forget the spaces, so a text with a full stop may not "
        "come back from them either. Byte-pair encoding always has a piece: its smallest ones are the 256 bytes."
    )
    merges = merges_of(tokenizer)
    lengths = merges.lengths(text)
    base = len(SPECIALS) + 256
    st.markdown(
        "**A larger vocabulary makes the sequence shorter.** With no merge at all this text is "
        f"{n_pieces(lengths[0][1])} long, one for each byte (and one for the space in front); with all "
        f"{len(merges):,} merges it is {lengths[-1][1]}. Every merge costs one row in the vocabulary. The line below "
        "is this text, cut with only the first merges known."
    )
    st.plotly_chart(
        length_curve([base + n for n, _ in lengths], [length for _, length in lengths], len(lengths) - 1),
        theme="streamlit",
        key="length_curve",
        alt=f"A line that falls in steps from {n_pieces(lengths[0][1])} with {base} entries in the vocabulary to "
        f"{n_pieces(lengths[-1][1])} with {base + lengths[-1][0]:,}.",
        config={"displayModeBar": False},
    )
    numbers_of_figure(
        ("Merges known", "Vocabulary", "Pieces"), [(f"{n:,}", f"{base + n:,}", str(at)) for n, at in lengths]
    )


def comes_back(cut: Cut) -> str:
    """Whether the text can be had from its pieces again; if not, how many of them are unknown."""
    return "yes" if cut.rebuilt else f"no, {cut.n_unknown} unknown"


INVENTED = "blorptangle"
WORDS = ("because", "apple", "sunflowers", "xylophone", "Saturday", "Straße")


def predict(trace: Trace) -> Sequence[Question]:
    return capitals(trace), hardest(trace, engine.model().tokenizer), unseen(engine.model().tokenizer)


def capitals(trace: Trace) -> Question:
    tokenizer = engine.model().tokenizer
    now, loud = (tokenizer.encode(text) for text in (trace.text, trace.text.upper()))
    cut = " · ".join(entries()[i] for i in loud[:READABLE]) + (" …" if len(loud) > READABLE else "")
    return Question(
        "capitals",
        f"Your sentence has {n_pieces(len(now))}. Written in CAPITALS it has…",
        ("fewer", "just as many", "more"),
        frozenset({0 if len(loud) < len(now) else 1 if len(loud) == len(now) else 2}),
        f"It has {n_pieces(len(loud))}: {in_markdown(cut)}. Capital letters are other bytes than small ones, and the "
        "merges were learned from everyday text, which hardly ever shouts.",
    )


def hardest(trace: Trace, tokenizer: Tokenizer) -> Question:
    counts = {word: len(tokenizer.encode(word)) for word in (*WORDS, longest_word(trace)[:MAX_WORD])}
    best = max(counts, key=lambda word: counts[word])
    # One right answer: what ties with it is not offered.
    options = [word for word in counts if word == best or counts[word] < counts[best]]
    return Question(
        "hardest",
        "Which of these words falls into the most pieces?",
        tuple(in_markdown(word) for word in options),
        frozenset({options.index(best)}),
        "Pieces: "
        + ", ".join(f"{in_markdown(word)} {counts[word]}" for word in options)
        + ". What counts is how often "
        "its parts were seen in training, not how long a word is.",
    )


def unseen(tokenizer: Tokenizer) -> Question:
    ids = tokenizer.encode(INVENTED)
    cut = " · ".join(f"{in_markdown(entries()[i])} ({i})" for i in ids)
    return Question(
        "unseen",
        f"What does the model get for a word nobody has ever written, like *{INVENTED}*?",
        (
            "One id that means “unknown”.",
            "A new id, added to the vocabulary.",
            "The ids of several smaller pieces.",
            "Nothing: the word is left out.",
        ),
        frozenset({2}),
        f"It gets {n_pieces(len(ids))}: {cut}. Put together they are “{in_markdown(tokenizer.decode(ids))}” again.",
    )


LESSON = Lesson(
    "tokenization",
    "Tokenization",
    asks="How does a sentence become numbers?",
    idea=idea,
    see=see,
    do=do,
    check=check,
    predict=predict,
    code=(Tokenizer.encode, Tokenizer.tokens, normalise, Merges),
    blocks=("tokenize",),
)
