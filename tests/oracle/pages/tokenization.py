"""What the lesson on tokenization must show."""

import re
from collections.abc import Sequence

from tests.oracle.claims import (
    FillIn,
    button,
    caption,
    cards,
    download,
    fold,
    info,
    latex,
    markdown,
    plot,
    question,
    slider,
    table,
    text_box,
)
from tests.oracle.claims import (
    code as code_block,
)
from tests.oracle.common import Statements, code_part, numbers_of_figure
from tests.oracle.forward import MAX_PIECES, merges, tidied, tokenizer
from tests.oracle.merging import Merge, five_ways, id_of, lengths, of_entry, replay, shown, words_of
from tests.oracle.page import READABLE, Page
from tests.oracle.statement import Statement
from tests.oracle.words import NAMES, encoded, entry, inline, raw, text_of, visible
from tests.oracle.worked import Step, steps

STATES = (
    {},
    {"sentence": "Zoë mag süße 🍎 und „Österreich“.", "cell": "1.3", "merges": "1", "text": "ฉันชอบ xylophones."},
    {"sentence": "Go", "cell": "1.2", "word": "Donaudampfschifffahrtsgesellschaft vor uns", "merges": "0"},
    {"sentence": "ฉันชอบ <b>$x$</b>", "word": "is it", "text": "A * text | that: is “long”. " * 9, "cell": "1.1"},
    {"sentence": "My neighbour's cat sleeps all day. " * 6, "word": "🐶"},
)

VOCABULARY = 8000  # entries
N_MERGES = VOCABULARY - 3 - 256


def n_of(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def spaces_shown(text: str) -> str:
    return text.replace(" ", "␣")


def name(id: int) -> str:
    """An entry with its spaces shown."""
    return spaces_shown(entry(id))


def hexadecimal(raw: bytes) -> str:
    return " ".join(f"{byte:02X}" for byte in raw)


def idea(page: Page) -> Statements:
    assert tokenizer().get_vocab_size() == VOCABULARY
    assert len(merges()) == N_MERGES
    yield markdown(
        "A network works with numbers. So your sentence is cut into words, and the words into **pieces** (also called "
        f"*tokens*). Every piece has a number, its **id**: its place in a fixed list of {VOCABULARY:,} pieces, the "
        "**vocabulary**."
    )
    yield latex(r"\text{sentence}\to\text{words}\to\text{pieces}\to\text{ids}")
    yield fold("Where the list comes from")
    yield markdown(
        "Frequent words are one piece. A word that is not in the list falls apart into smaller pieces, in the end into "
        "single **bytes** (the numbers 0 to 255 in which computers store text)."
    )
    yield markdown(
        "The list was made before the model was trained. **Byte-pair encoding** read the training sentences as bytes and "
        "joined the two neighbours that occurred most often, again and again. That made "
        f"{N_MERGES:,} **merge rules**. A new sentence is cut by the same rules, in the same order."
    )
    yield markdown(
        f"The ids go from 0 to {VOCABULARY - 1:,}. Three of them stand for no text: **<sos>** ({id_of('<sos>')}) starts a "
        f"translation, **<eos>** ({id_of('<eos>')}) ends a sentence, and **<pad>** ({id_of('<pad>')}) fills up the "
        "shorter of several sentences that are computed together."
    )


def chosen(page: Page) -> int:
    """The piece that Check explains: that of the address, else the first of the longest."""
    sizes = [len(raw(piece.id)) for piece in page.src[:READABLE]]
    return page.pair("cell", (1, len(sizes)), (0, sizes.index(max(sizes))))[1]


def see(page: Page) -> Statements:
    ids = [piece.id for piece in page.src]
    text = text_of(ids)
    yield cards(
        [
            (p.text, ["added", f"id {p.id}"], -1, True)
            if p.id < 3
            else (name(p.id), [hexadecimal(raw(p.id)), f"id {p.id}"], p.word, False)
            for p in page.src[:READABLE]
        ],
        title="Your sentence as the model gets it",
        how_to_read="Each card: the piece (␣ is a space, which belongs to the piece after it), its bytes in "
        "hexadecimal (base 16, 00 to FF), its id. A wider gap ends a word.",
        selected=chosen(page),
        clickable=True,
    )
    if len(ids) > READABLE:
        yield caption(f"Shown: the first {READABLE} of {len(ids)} pieces.")
    yield markdown("**The ids, which are all that the model sees**")
    yield code_block(str(ids))
    yield markdown("**And back**")
    yield code_block(visible(text))
    assert text == page.text  # byte-level pieces lose nothing
    yield caption(
        f"{len(page.text)} characters, {n_of(len(page.text.encode()), 'byte')}, {n_of(len(ids) - 1, 'piece')} and "
        "<eos>. Turned back into text, the ids give exactly the text that was cut."
    )
    if page.sentence != page.text and len(encoded(tidied(page.sentence))) <= MAX_PIECES:
        yield caption(
            "What you typed was tidied before it was cut, as the training text was: spaces in a row became one, "
            "quotation marks straight, a letter and its accent one sign. That part does not come back."
        )


def check(page: Page) -> Statements:
    id = page.src[chosen(page)].id
    done = of_entry(id)
    yield markdown(f"**How did {name(id)} become {id}?** Choose another piece by a click, or with Tab and Enter.")
    if id < 3:
        yield markdown(
            "This one stands for no text. It is added behind every sentence, so that the model sees where it ends. "
            f"The vocabulary begins with {len(NAMES)} such marks, and their ids are 0 to {len(NAMES) - 1}."
        )
    else:
        yield markdown(f"It starts as {n_of(len(raw(id)), 'byte')}: `{hexadecimal(raw(id))}`.")
        yield markdown(
            "\n".join(
                f"{n}. Rule **{m.rank:,}** joins {shown(m.left)} and {shown(m.right)} into **{shown(m.joined)}**"
                for n, m in enumerate(done, 1)
            )
        )
        yield from steps(id_step(id, done))
        if len(done) > 1:
            part = done[-2]
            yield markdown(f"Rule {part.rank:,} made **{shown(part.joined)}**. What is its id?")
            yield FillIn(f"3 + 256 + {part.rank} - 1", id_of(part.joined), whole=True)
    if done:
        yield caption(
            f"{len(done)} of the {N_MERGES:,} merge rules made this piece. Rule 1 joins the pair of neighbours that the "
            "training text had most often. Then all pairs were counted anew: rule 2 joins the pair that was most "
            "frequent by then, and so on."
        )
    yield fold("Compute it yourself")
    yield markdown("Download the model's own tokenizer, then run these lines in Python (`pip install tokenizers`).")
    yield download("tokenizer.json")
    yield code_block(snippet(page.text, id, done))
    yield caption("The file writes every byte as one visible sign; Ġ is the space.")


def id_step(id: int, done: Sequence[Merge]) -> Step:
    if not done:
        assert 3 <= id < 3 + 256
        return Step("A single byte needs no rule. The bytes have the ids from 3 to 258.", rf"\text{{id}} = {id}")
    rank = done[-1].rank
    assert 3 + 256 + rank - 1 == id
    return Step(
        f"Rule {rank:,} made this piece. The vocabulary begins with 3 marks and 256 bytes; then comes one new piece for "
        "each rule. Ids count from 0, rules from 1, so 1 is taken away.",
        f"3 + 256 + {rank} - 1 = {id}",
    )


def snippet(text: str, id: int, done: Sequence[Merge]) -> str:
    lines = [
        "import json",
        "from pathlib import Path",
        "from tokenizers import Tokenizer",
        "",
        't = Tokenizer.from_file("tokenizer.json")',
        "t.encode_special_tokens = True  # what is typed is text, never a mark",
        f"t.encode({text!a}, add_special_tokens=False).ids",
        f"t.token_to_id({tokenizer().id_to_token(id)!a})  # {id}",
    ]
    if done:
        lines += ["", 'merges = json.loads(Path("tokenizer.json").read_text(encoding="utf-8"))["model"]["merges"]']
        lines += [f"merges.index([{m.left!a}, {m.right!a}]) + 1  # {m.rank}" for m in done]
    return "\n".join(lines)


def hardest_word(page: Page) -> str:
    """The word of the sentence with the most pieces; of several the longest in bytes."""
    ids: dict[int, list[int]] = {}
    for piece in page.src[:-1]:
        ids.setdefault(piece.word, []).append(piece.id)
    return text_of(max(ids.values(), key=lambda one: (len(one), sum(len(raw(id)) for id in one))))


def do(page: Page) -> Statements:
    yield fold("Merge by merge")
    yield from build_a_word(page)
    yield fold("Five ways to cut")
    yield from five_cuts(page)
    yield fold("Vocabulary size")
    yield from size_and_length(page)


def build_a_word(page: Page) -> Statements:
    typed, hardest = page.state.get("word", ""), hardest_word(page)
    word = tidied(typed) or hardest
    several = words_of(word[:40])
    done = replay(several[0])
    yield text_box("A word of yours", typed, placeholder=f"empty: “{visible(hardest[:40])}” of your sentence")
    if len(word) > 40:
        yield caption("Shown: the first word, and of it no more than 40 characters.")
    elif len(several) > 1:
        yield caption("Merging never crosses the end of a word, so this shows the first word only.")
    elif done:
        yield caption(
            "Move the slider to the left to take merges back, down to the bytes, and to the right to redo them."
        )
    if not done:
        yield symbols(several[0], (), title="No merge rule fits here: the bytes are the pieces")
        return
    asked = page.state.get("merges", "")
    count = min(int(asked), len(done)) if asked.isdecimal() else len(done)
    yield slider("Number of merges", 0, len(done), count)
    now = done[count - 1] if count else None
    how = "The dashed two are joined next: of all neighbours, the pair with the earliest rule."
    if now:
        title = f"Before merge {count}: {n_of(len(now.before), 'piece')}"
        yield symbols(now.before, (now.at, now.at + 1), title=title, how_to_read=how)
        yield symbols(
            now.after,
            (now.at,),
            title=f"After merge {count} of {len(done)}: {n_of(len(now.after), 'piece')}",
            how_to_read=f"Joined by rule {now.rank:,} of {N_MERGES:,}.",
        )
    else:
        yield symbols(several[0], (), title="Before any merge", how_to_read=how)
        yield info("Move the slider to 1 to see the first merge.")
    yield from numbers_of_figure(
        ("Merge", "Rule", "Joins", "Pieces left", "Done"),
        *(
            (
                str(n),
                f"{m.rank:,}",
                f"{shown(m.left)} + {shown(m.right)}",
                str(len(m.after)),
                "yes" if n <= count else "no",
            )
            for n, m in enumerate(done, 1)
        ),
    )


def symbols(many: Sequence[str], marked: Sequence[int], title: str, how_to_read: str = "") -> Statement:
    return cards(
        [(shown(symbol), [f"id {id_of(symbol)}"], 0, n in marked) for n, symbol in enumerate(many)],
        title=title,
        how_to_read=how_to_read,
    )


HOW = {
    "Words": "At spaces and marks; each frequent word is a piece.",
    "Characters": "After every sign.",
    "Byte-pair encoding": "Joins bytes by the merge rules. This model's way.",
    "WordPiece": "In each word, the longest piece that fits, from the left; ## marks a piece inside a word.",
    "Unigram": "Every piece has a probability; the likeliest of all possible cuts is taken.",
}


def listed(pieces: Sequence[str]) -> str:
    return " · ".join(map(spaces_shown, pieces[:READABLE])) + " …" * (len(pieces) > READABLE)


def five_cuts(page: Page) -> Statements:
    typed = page.state.get("text", "")
    whole = tidied(typed) or page.text
    text = whole[:200]
    yield text_box("A text of yours", typed, placeholder="empty: your sentence")
    for label, example in (
        ("Umlauts", "Schöne Grüße aus München"),
        ("Emoji", "I ate an 🍎 👩\u200d🚀"),
        ("Thai", "ฉันชอบสุนัข"),
        ("German compound", "Donaudampfschifffahrtsgesellschaft"),
        ("Your sentence", ""),
    ):
        yield button(label, help=example)
    if len(whole) > 200:
        yield caption("Shown: the first 200 characters.")
    cuts = five_ways(text)
    yield table(
        ("Method", "How it cuts", "This text, cut"), *((c.method, HOW[c.method], listed(c.pieces)) for c in cuts)
    )
    yield table(
        ("Method", "Vocabulary", "Pieces", "Put together again"),
        *(
            (
                c.method,
                f"{c.vocab_size:,}",
                str(len(c.pieces)),
                c.says,
            )
            for c in cuts
        ),
    )
    yield caption(
        "All five learned from the same sentences. <unk> stands for what a vocabulary does not have: that part of the "
        "text is lost. Words and WordPiece do not note where a space was. When they put the pieces together again, they "
        "set a space between any two words or marks. Byte-pair encoding always has a piece, because its smallest ones "
        "are the 256 bytes."
    )


def size_and_length(page: Page) -> Statements:
    curve = lengths((tidied(page.state.get("text", "")) or page.text)[:200])
    (_, most), (_, least) = curve[0], curve[-1]
    yield markdown(
        "A larger vocabulary makes the sequence shorter. The text is the one under *Five ways to cut*. With no "
        f"merge it is {n_of(most, 'piece')} long, one for each byte (and one for the space in front). With all "
        f"{N_MERGES:,} merges it is {least}. Every merge costs one row in the vocabulary. The line below is this text, "
        "cut with only the first merges known."
    )
    sizes, pieces = [259 + n for n, _ in curve], [length for _, length in curve]
    blue = "#0072B2"
    yield plot(
        f"A line that falls in steps from {n_of(most, 'piece')} with 259 entries in the vocabulary to "
        f"{n_of(least, 'piece')} with 8,000.",
        [
            {
                "type": "scatter",
                "mode": "lines",
                "x": sizes,
                "y": pieces,
                "line": {"shape": "hv", "width": 3, "color": blue},
                "hovertemplate": "%{x:,} entries: %{y} pieces<extra></extra>",
            },
            {
                "type": "scatter",
                "mode": "markers+text",
                "x": [VOCABULARY],
                "y": [least],
                "text": [str(least)],
                "marker": {"size": 12, "color": blue},
                "hoverinfo": "skip",
            },
        ],
        x={
            "type": "log",
            "title": {"text": "Entries in the vocabulary"},
            "tickvals": [260, 500, 1000, 2000, 4000, 8000],
            "tickformat": ",",
        },
        y={"title": {"text": "Pieces of this text"}, "rangemode": "tozero"},
    )
    yield from numbers_of_figure(
        ("Merges known", "Vocabulary", "Pieces"), *((f"{n:,}", f"{259 + n:,}", str(at)) for n, at in curve)
    )


def predict(page: Page) -> Statements:
    now, loud = encoded(page.text), encoded(page.text.upper())
    made = [entry(id).strip(" ") for id in range(259, VOCABULARY)]
    small, capital = (
        sum(bool(re.fullmatch(r"[^\W\d_]{2,}", one)) and one == case(one) != other(one) for one in made)
        for case, other in ((str.lower, str.upper), (str.upper, str.lower))
    )
    both = f"It has {n_of(len(now), 'piece')} as it stands and {len(loud)} in capitals."
    yield question(
        f"Your sentence has {n_of(len(now), 'piece')}. Written in CAPITALS it has…",
        ("fewer", "just as many", "more"),
        1 + (len(loud) > len(now)) - (len(loud) < len(now)),
        f"In capitals it has {n_of(len(loud), 'piece')}: {listed([entry(id) for id in loud])}. Capital letters are "
        f"other bytes than small ones, so other merge rules apply. Of the {N_MERGES:,} pieces that the rules made, "
        f"{small:,} are two or more small letters and {capital:,} are two or more capitals.",
        {
            0: f"Capitals do not make it shorter. {both}",
            1: f"The letters are the same to you, but not to the model. {both}",
            2: f"Capitals do not always cost more. {both}",
        },
    )
    words = dict.fromkeys(
        ("because", "apple", "sunflowers", "xylophone", "Saturday", "Straße", hardest_word(page)[:40])
    )
    counts = {word: len(encoded(word)) for word in words}
    most = max(counts.values())
    best = next(word for word in counts if counts[word] == most)
    # What ties with the right one is not offered.
    options = [word for word in counts if word == best or counts[word] < most]
    yield question(
        "Which of these words falls into the most pieces?",
        [inline(word) for word in options],
        options.index(best),
        f"Pieces: {', '.join(f'{inline(word)} {counts[word]}' for word in options)}. Length alone does not decide. "
        "There is a piece for letters that often stood together in the training text.",
        {
            n: f"{inline(word)} has {n_of(counts[word], 'piece')}: {listed([entry(id) for id in encoded(word)])}."
            for n, word in enumerate(options)
        },
    )
    ids = encoded("blorptangle")
    yield question(
        "The word *blorptangle* was made up for this question. How many pieces does the model make of it?",
        ("1, which means “unknown”", str(len(ids)), "11, one for each letter"),
        1,
        f"It gets {n_of(len(ids), 'piece')}, each with its id: {' · '.join(f'{name(id)} ({id})' for id in ids)}. Put "
        "together they are “blorptangle” again.",
        {
            0: "This vocabulary has no such piece, and needs none: any text is bytes, and every byte is a piece.",
            2: "It starts as 12 bytes, 11 letters and a space in front. But some of these letters often stood together "
            "in other words, so rules join them.",
        },
    )


def code(page: Page) -> Statements:
    yield from code_part(
        ("model/text/tokenizer.py", "Tokenizer.encode"),
        ("model/text/tokenizer.py", "Tokenizer.tokens"),
        ("model/text/tokenizer.py", "normalise"),
        ("model/text/bpe_replay.py", "Merges"),
    )
