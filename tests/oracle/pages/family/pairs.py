"""What the lesson on pairs of texts must show."""

from typing import Any

from tests.oracle.language import claims
from tests.oracle.language import scene as screen
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import chance, factor, tex
from tests.oracle.language.common import Statements, check_cell, code_of, shown_tensor, tensor_matrix
from tests.oracle.language.page import READABLE, Page
from tests.oracle.language.words import visible
from tests.oracle.passes.family import bert
from tests.oracle.passes.family.bert import Bert, Ids

prose = Prose("pairs")

FIRST_B, MOST = "But I was still hungry.", 60
ANSWERS = ("B follows A", "B is from elsewhere")
EMPTY = "Text B is empty: type one, so that there is a pair."
STEPS = {
    "Token": "encoder.embedding.tokens",
    "Segment": "encoder.embedding.segments",
    "Token + segment": "encoder.embedding.with_segments",
    "Position": "encoder.embedding.positions",
    "Sum of the three": "encoder.embedding.sum",
    "Scores": "next_sentence.logits",
    "Probabilities": "next_sentence.probabilities",
}
GOES_ON = (FIRST_B, "But they were not afraid.", "She was very happy.", "Then he fell asleep.", "Then I went home.")
PAPER = "The man went to the store.", "He bought a gallon of milk.", "Penguins are flightless birds."
OTHERS = (
    "The sum of the angles of a triangle is two right angles.",
    "The Roman army was divided into legions, each of 6,000 men.",
)
ELSEWHERE = (
    *OTHERS,
    "The law of the land was made by the king.",
    "The table of contents is on page 12.",
    "Oxygen is a gas.",
)
STATES = (
    {"sentence": "The man went to the store.", "second": OTHERS[0], "pair_inside": "Probabilities"},
    {"sentence": "Go"},
    {"sentence": "He ran.", "second": "\u0007 "},
    {"sentence": "We met.", "second": "I saw <b>him</b> there. " * 20, "pair_inside": "Scores", "cell": "1.2"},
    {"sentence": "I ate.", "pair_inside": "Token", "cell": "2.1"},
    {"sentence": "I ate.", "pair_inside": "Segment", "cell": "6.3"},
    {"sentence": "I ate.", "second": "[SEP] </script> **no** 昨日", "pair_inside": "Token + segment"},
    {"sentence": "I ate.", "pair_inside": "Position", "cell": "5.4"},
)


class Pair:
    def __init__(self, page: Page, second: str | None = None) -> None:
        typed = page.state.get("second", FIRST_B) if second is None else second
        encoded = (
            bert.tokenizer().encode(text, add_special_tokens=False).ids for text in (page.text, bert.tidied(typed))
        )
        ids = [tuple(one) for one in encoded]
        self.typed = typed
        self.is_cut = max(map(len, ids)) > MOST
        self.first, self.second = (one[:MOST] for one in ids)

    @property
    def oracle(self) -> Bert:
        return bert.read_pair(self.first, self.second)


def follows(first: Ids, second: Ids) -> float:
    return float(bert.read_pair(first, second)["next_sentence.probabilities"][0, 0])


def scene(page: Page) -> Statements:
    shares = {text: follows(Pair(page).first, bert.ids_of(text)) for text in (*GOES_ON, *ELSEWHERE)}
    most, least = max(GOES_ON, key=shares.__getitem__), min(ELSEWHERE, key=shares.__getitem__)
    swapped = Pair(page, most)
    swapped.first, swapped.second = swapped.second, swapped.first
    pairs = {most: Pair(page, most), least: Pair(page, least), "⇄ swapped": swapped, page.text: Pair(page, page.text)}
    frames = [scene_frame(text, pair, shares[most]) for text, pair in pairs.items()]
    longest = max(len(ids) for pair in pairs.values() for ids in (pair.first, pair.second))
    caption = prose.line("bert reads a pair", prose.line("drawn at most pieces", 6) if longest > 6 else "")
    yield from screen.scene(page, caption, "Text B", frames)


def scene_frame(text: str, pair: "Pair", before: float) -> dict[str, Any]:
    oracle, pieces = pair.oracle, bert.pieces(pair.oracle.ids)
    begins = oracle.segments.index(1)
    rows = [*range(min(7, begins - 1)), *range(begins - 1, min(begins + 6, len(pieces) - 1)), len(pieces) - 1]
    named = {"What it reads": "sum", "= the piece": "tokens", "+ text A or B": "segments", "+ its place": "positions"}
    columns = [
        screen.row(
            [screen.card(pieces[n].text, column=oracle[f"encoder.embedding.{tensor}"][n, :12]) for n in rows],
            name,
            bare=True,
        )
        for name, tensor in named.items()
    ]
    cards = [screen.card(pieces[n].text, "asked" if oracle.segments[n] else "", "AB"[oracle.segments[n]]) for n in rows]
    weights = oracle["encoder.layers.3.self_attn.weights"].mean(0)[0]
    arches = [screen.link((0, i), (0, 0), weights[n]) for i, n in enumerate(rows) if i]
    known = f"{bert.metrics()['test']['single_sentences']:.0%}"
    share = float(oracle["next_sentence.probabilities"][0, 0])
    bars = screen.bars([screen.bar("B follows A", share, chance(share), before, True)], role="query")
    picture = screen.cards([*columns, screen.row(cards)], arches, limit=0.25, slots=min(len(pair.first), 6) + 9)
    stop = visible(text if len(text) <= 34 else text[:34]) + "…" * (len(text) > 34)
    return screen.frame(stop, prose.line("from the row of", chance(share), known), [bars], [picture])


def see(page: Page) -> Statements:
    pair = Pair(page)
    yield from prose("does b follow a")
    yield claims.text_box("Text B", pair.typed)
    if not pair.second:
        yield claims.info(EMPTY)
        return
    if pair.is_cut:
        yield from prose("of each text bert", MOST)
    chances = pair.oracle["next_sentence.probabilities"][0]
    yield claims.bars(ANSWERS, list(chances), "Does B follow A?")
    yield from prose("bert gives a probability", chance(chances[0]))
    pieces = bert.pieces(pair.oracle.ids)
    both = enumerate(zip(pieces, pair.oracle.segments, strict=True), 1)
    shown = [(piece.text, [f"{'AB'[segment]} · {n}"], piece.word, False) for n, (piece, segment) in both]
    yield claims.cards(shown, **prose.words("what bert reads"))


def check(page: Page) -> Statements:
    pair, step = Pair(page), page.choice("pair_inside", list(STEPS), "Sum of the three")
    yield claims.segmented("What to work out", list(STEPS), step)
    if not pair.second:
        yield from prose("once there is a")
        return
    oracle = pair.oracle
    if step in ("Scores", "Probabilities"):
        more: dict[str, object] = {"scale": "positive", "limit": 1} if step == "Probabilities" else {}
        shown = shown_tensor(page, STEPS[step], rows=["[CLS]"], columns=ANSWERS, oracle=oracle, **more)  # type: ignore[arg-type]
        yield from tensor_matrix(shown, title=step, how_to_read="Made from the row of [CLS].")
    else:
        pieces = bert.pieces(oracle.ids)
        rows = [f"{piece.text} ({'AB'[segment]})" for piece, segment in zip(pieces, oracle.segments, strict=True)]
        shown = shown_tensor(page, STEPS[step], rows=rows[:READABLE], n_columns=8, oracle=oracle)  # type: ignore[arg-type]
        how = "A row for each piece, a column for each of the first 8 dimensions."
        yield from tensor_matrix(shown, title=step, how_to_read=how)
        parts = [factor(oracle[STEPS[name]][shown.index]) for name in ("Token", "Segment", "Position")]
        yield from prose("this cell in all", " + ".join(parts), tex(oracle["encoder.embedding.sum"][shown.index]))
    yield from check_cell(shown)


def do(page: Page) -> Statements:
    pair = Pair(page)
    if not pair.second:
        yield claims.info(EMPTY)
        return
    yield from prose("swap the texts how")
    tried = {
        "A, then B": (pair.first, pair.second),
        "B, then A": (pair.second, pair.first),
        "A, then A again": (pair.first, pair.first),
        **{f"A, then: {text}": (pair.first, bert.ids_of(text)) for text in OTHERS},
    }
    found = {name: follows(*texts) for name, texts in tried.items()}
    yield claims.table(("the two texts", "probability"), *((name, chance(one)) for name, one in found.items()))
    ends = found["A, then B"], found["B, then A"], min(found.values()), max(found.values())
    yield from prose("in the other order", *map(chance, ends))
    yield from prose("the paper's own example")
    told = ((text, chance(follows(bert.ids_of(PAPER[0]), bert.ids_of(text)))) for text in PAPER[1:])
    yield claims.table(("B", "probability that B follows A"), *told)
    test = bert.metrics()["test"]
    area, error, long, same = (
        claims.number(100 * test[name], 1)
        for name in ("single_sentences", "standard_error", "next_sentence", "always_the_same")
    )
    n_single, n_long = (f"{test[name]:,}" for name in ("single_pairs", "pairs"))
    again = bert.again("single_sentences")
    yield from prose("take two pairs of", area, error, n_single, again, n_long, long, same)


def predict(page: Page) -> Statements:
    n, m = len(Pair(page).first), len(bert.ids_of(FIRST_B))
    options, s = [str(n + m + more) for more in (0, 2, 3)], "s" * (n != 1)
    yield prose.question("your sentence has pieces", 2, n, s, FIRST_B, m, options=options)
    yield prose.question("which position does the", 1, n, options=("1", str(n + 3), str(n + 1)))
    yield prose.question("the wrong b's of", 0)


code = code_of(
    "model/parts/embedding.py: SegmentEmbedding",
    "model/families/encoder_only.py: NextSentenceHead",
    "experiments/family/pairs.py: read_pair",
    "training/loop/text_rows.py: read_rows",
)
