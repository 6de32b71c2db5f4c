"""What the lesson on tokenization must show."""

import re
from collections.abc import Sequence

from tests.oracle.language import claims
from tests.oracle.language.approved import Prose
from tests.oracle.language.common import Statements, code_of, cut_to, numbers_of_figure
from tests.oracle.language.page import READABLE, Page
from tests.oracle.language.statement import Statement
from tests.oracle.language.words import NAMES, encoded, entry, inline, raw, text_of, visible
from tests.oracle.passes.forward import MAX_PIECES, merges, tidied, tokenizer
from tests.oracle.passes.merging import Merge, five_ways, id_of, lengths, of_entry, replay, shown, words_of
from tests.oracle.shown.worked import Step, steps

prose = Prose("tokenization")

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
    yield from prose("a network works with", f"{VOCABULARY:,}", f"{N_MERGES:,}")
    yield from prose("the ids go from", f"{VOCABULARY - 1:,}", id_of("<sos>"), id_of("<eos>"), id_of("<pad>"))


def chosen(page: Page) -> int:
    """The piece that Check explains: that of the address, else the first of the longest."""
    sizes = [len(raw(piece.id)) for piece in page.src[:READABLE]]
    return page.pair("cell", (1, len(sizes)), (0, sizes.index(max(sizes))))[1]


def see(page: Page) -> Statements:
    ids = [piece.id for piece in page.src]
    text = text_of(ids)
    yield claims.cards(
        [
            (p.text, ["added", f"id {p.id}"], -1, True)
            if p.id < 3
            else (name(p.id), [hexadecimal(raw(p.id)), f"id {p.id}"], p.word, False)
            for p in page.src[:READABLE]
        ],
        title="Your sentence as the model gets it",
        how_to_read=prose.line("each card the piece"),
        selected=chosen(page),
        clickable=True,
    )
    yield from cut_to((len(ids), "cards"))
    yield from prose("the ids which are")
    yield claims.code(str(ids))
    yield from prose("and back")
    yield claims.code(visible(text))
    assert text == page.text  # byte-level pieces lose nothing
    yield from prose(
        "characters and eos turned", len(page.text), n_of(len(page.text.encode()), "byte"), n_of(len(ids) - 1, "piece")
    )
    if page.sentence != page.text and len(encoded(tidied(page.sentence))) <= MAX_PIECES:
        yield from prose("what you typed was")


def check(page: Page) -> Statements:
    id = page.src[chosen(page)].id
    done = of_entry(id)
    yield from prose("how did become choose", name(id), id)
    if id < 3:
        yield from prose("this one stands for", len(NAMES), len(NAMES) - 1)
    else:
        yield from prose("it starts as", n_of(len(raw(id)), "byte"), hexadecimal(raw(id)))
        yield claims.markdown(
            "\n".join(
                f"{n}. Rule **{m.rank:,}** joins {shown(m.left)} and {shown(m.right)} into **{shown(m.joined)}**"
                for n, m in enumerate(done, 1)
            )
        )
        yield from steps(id_step(id, done))
        if len(done) > 1:
            part = done[-2]
            yield from prose("rule made what is", f"{part.rank:,}", shown(part.joined))
            yield claims.FillIn(f"3 + 256 + {part.rank} - 1", id_of(part.joined), whole=True)
    if done:
        yield from prose("of the merge rules", len(done), f"{N_MERGES:,}")
    yield from prose("compute it yourself")
    yield claims.download("tokenizer.json")
    yield claims.code(snippet(page.text, id, done))
    yield from prose("the file writes every")


def id_step(id: int, done: Sequence[Merge]) -> Step:
    if not done:
        assert 3 <= id < 3 + 256
        return Step("A single byte needs no rule. The bytes have the ids from 3 to 258.", rf"\text{{id}} = {id}")
    rank = done[-1].rank
    assert 3 + 256 + rank - 1 == id
    return Step(prose.line("rule made this piece", f"{rank:,}"), f"3 + 256 + {rank} - 1 = {id}")


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
    yield from prose("merge by merge")
    yield from build_a_word(page)
    yield from prose("five ways to cut")
    yield from five_cuts(page)
    yield from prose("vocabulary size")
    yield from size_and_length(page)


def build_a_word(page: Page) -> Statements:
    typed, hardest = page.state.get("word", ""), hardest_word(page)
    word = tidied(typed) or hardest
    several = words_of(word[:40])
    done = replay(several[0])
    yield claims.text_box("A word of yours", typed, placeholder=f"empty: “{visible(hardest[:40])}” of your sentence")
    if len(word) > 40:
        yield from prose("shown the first word")
    elif len(several) > 1:
        yield from prose("merging never crosses the")
    elif done:
        yield from prose("move the slider to")
    if not done:
        yield symbols(several[0], (), title="No merge rule fits here: the bytes are the pieces")
        return
    asked = page.state.get("merges", "")
    count = min(int(asked), len(done)) if asked.isdecimal() else len(done)
    yield claims.slider("Number of merges", 0, len(done), count)
    if count:
        now = done[count - 1]
        sizes = (n_of(len(side), "piece") for side in (now.before, now.after))
        words = prose.words("one merge", count, len(done), *sizes, f"{now.rank:,}", f"{N_MERGES:,}")
        yield symbols(now.before, (now.at, now.at + 1), title=words["before"], how_to_read=words["next"])
        yield symbols(now.after, (now.at,), title=words["after"], how_to_read=words["joined"])
    else:
        yield symbols(several[0], (), **prose.words("before any merge"))
        yield from prose("move the slider to to")
    yield from numbers_of_figure(
        ("Merge", "Rule", "Joins", "Pieces left", "Done"),
        *(
            (
                str(n),
                f"{m.rank:,}",
                f"{shown(m.left)} + {shown(m.right)}",
                str(len(m.after)),
                "no" if n > count else "yes",
            )
            for n, m in enumerate(done, 1)
        ),
    )


def symbols(many: Sequence[str], marked: Sequence[int], title: str, how_to_read: str = "") -> Statement:
    return claims.cards(
        [(shown(symbol), [f"id {id_of(symbol)}"], 0, n in marked) for n, symbol in enumerate(many)],
        title=title,
        how_to_read=how_to_read,
    )


def listed(pieces: Sequence[str]) -> str:
    return " · ".join(map(spaces_shown, pieces[:READABLE])) + " …" * (len(pieces) > READABLE)


def five_cuts(page: Page) -> Statements:
    typed = page.state.get("text", "")
    whole = tidied(typed) or page.text
    text = whole[:200]
    yield claims.text_box("A text of yours", typed, placeholder="empty: your sentence")
    yield from (claims.button(*offer) for offer in prose.words("texts to try").items())
    if len(whole) > 200:
        yield from prose("shown the first characters")
    cuts, how = five_ways(text), prose.words("how each cuts")
    yield claims.table(
        ("Method", "How it cuts", "This text, cut"), *((c.method, how[c.method], listed(c.pieces)) for c in cuts)
    )
    yield claims.table(
        ("Method", "Vocabulary", "Pieces", "Put together again"),
        *((c.method, f"{c.vocab_size:,}", str(len(c.pieces)), c.says) for c in cuts),
    )
    yield from prose("all five learned from")


def size_and_length(page: Page) -> Statements:
    curve = lengths((tidied(page.state.get("text", "")) or page.text)[:200])
    (_, most), (_, least) = curve[0], curve[-1]
    yield from prose("a larger vocabulary makes", n_of(most, "piece"), f"{N_MERGES:,}", least)
    sizes, pieces = [259 + n for n, _ in curve], [length for _, length in curve]
    blue = "#0072B2"
    yield claims.plot(
        prose.line("a line that falls", n_of(most, "piece"), n_of(least, "piece")),
        [
            claims.scatter(
                sizes,
                pieces,
                line={"shape": "hv", "width": 3, "color": blue},
                hover="%{x:,} entries: %{y} pieces<extra></extra>",
            ),
            claims.scatter(
                [VOCABULARY], [least], "markers+text", text=[str(least)], marker={"size": 12, "color": blue}
            ),
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
    counted = n_of(len(now), "piece"), n_of(len(loud), "piece"), listed([entry(id) for id in loud])
    made_of = (f"{n:,}" for n in (N_MERGES, small, capital))
    right = 1 + (len(loud) > len(now)) - (len(loud) < len(now))
    yield prose.question("your sentence has written", right, *counted, *made_of, both)
    words = dict.fromkeys(
        ("because", "apple", "sunflowers", "xylophone", "Saturday", "Straße", hardest_word(page)[:40])
    )
    counts = {word: len(encoded(word)) for word in words}
    most = max(counts.values())
    best = next(word for word in counts if counts[word] == most)
    # What ties with the right one is not offered.
    options = [word for word in counts if word == best or counts[word] < most]
    yield prose.question(
        "which of these words",
        options.index(best),
        ", ".join(f"{inline(word)} {counts[word]}" for word in options),
        options=[inline(word) for word in options],
        wrong={
            n: f"{inline(word)} has {n_of(counts[word], 'piece')}: {listed([entry(id) for id in encoded(word)])}."
            for n, word in enumerate(options)
        },
    )
    ids = encoded("blorptangle")
    cut = " · ".join(f"{name(id)} ({id})" for id in ids)
    yield prose.question("the word blorptangle was", 1, n_of(len(ids), "piece"), cut, len(ids))


code = code_of(
    "model/text/tokenizer.py: Tokenizer.encode, Tokenizer.tokens, normalise", "model/text/bpe_replay.py: Merges"
)
