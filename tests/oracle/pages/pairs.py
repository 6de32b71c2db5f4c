"""What the lesson on pairs of texts must show."""

from tests.oracle import bert, claims, stage_family
from tests.oracle.bert import Bert, Ids
from tests.oracle.claims import chance, factor, tex
from tests.oracle.common import Statements, check_cell, code_part, shown_tensor, tensor_matrix
from tests.oracle.page import READABLE, Page
from tests.oracle.statement import Statement

FIRST_B, MOST = "It was very good.", 60
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
OTHERS = ("He bought a gallon of milk.", "Penguins are flightless.")
STATES = (
    {"sentence": "The man went to the store.", "second": OTHERS[0], "pair_inside": "Probabilities"},
    {"sentence": "Go"},
    {"sentence": "He ran.", "second": " "},
    {"sentence": "We met.", "second": "I saw <b>him</b> there. " * 20, "pair_inside": "Scores", "cell": "1.2"},
    {"sentence": "I ate.", "pair_inside": "Token", "cell": "2.1"},
    {"sentence": "I ate.", "pair_inside": "Segment", "cell": "6.3"},
    {"sentence": "I ate.", "pair_inside": "Token + segment"},
    {"sentence": "I ate.", "pair_inside": "Position", "cell": "5.4"},
)


class Pair:
    def __init__(self, page: Page) -> None:
        typed = page.state.get("second", FIRST_B)
        ids = [
            tuple(bert.tokenizer().encode(text, add_special_tokens=False).ids)
            for text in (page.text, bert.tidied(typed))
        ]
        self.typed = typed
        self.is_cut = max(map(len, ids)) > MOST
        self.first, self.second = (one[:MOST] for one in ids)

    @property
    def oracle(self) -> Bert:
        return bert.read_pair(self.first, self.second)


def follows(first: Ids, second: Ids) -> float:
    return float(bert.read_pair(first, second)["next_sentence.probabilities"][0, 0])


def on_stage(page: Page, small: bool) -> Statement:
    pair = Pair(Page("pairs", {"sentence": page.sentence}))  # with the B that the lesson opens with
    machine = stage_family.of_bert(pair.oracle)
    return stage_family.clip(machine, ["encoder.embedding", "encoder.segments", "encoder.positions"], small)


def idea(page: Page) -> Statements:
    yield claims.markdown(
        "Some tasks are about two texts: does one answer the other, do both say the same? BERT reads them as **one row**, "
        "with marks between: [CLS] A [SEP] B [SEP]. Each piece gets the sum of three learned vectors: one for the piece, "
        "one for its text (its **segment**, A or B), one for its position."
    )
    yield claims.latex(r"x_i=E_{\text{piece}}+S_{\text{segment}}+P_{\text{position}}")
    yield claims.markdown(
        "In training, B really follows A in half of the rows; in the others it comes from elsewhere. From the row of [CLS] "
        "BERT must tell which: this is **next-sentence prediction**."
    )


def see(page: Page) -> Statements:
    pair = Pair(page)
    yield claims.markdown("**Does B follow A?** A is your sentence at the top.")
    yield claims.text_box("Text B", pair.typed)
    if not pair.second:
        yield claims.info(EMPTY)
        return
    if pair.is_cut:
        yield claims.info(f"Of each text BERT reads at most {MOST} pieces here.")
    chances = pair.oracle["next_sentence.probabilities"][0]
    yield claims.bars(ANSWERS, list(chances), "Does B follow A?")
    yield claims.markdown(f"BERT gives a probability of **{chance(chances[0])}** that B follows A.")
    pieces = bert.pieces(pair.oracle.ids)
    yield claims.cards(
        [
            (piece.text, [f"{'AB'[segment]} · {n}"], piece.word, False)
            for n, (piece, segment) in enumerate(zip(pieces, pair.oracle.segments, strict=True), 1)
        ],
        title="What BERT reads",
        how_to_read="Below each piece stand its segment and its position.",
    )


def check(page: Page) -> Statements:
    pair, step = Pair(page), page.choice("pair_inside", list(STEPS), "Sum of the three")
    yield claims.segmented("What to work out", list(STEPS), step)
    if not pair.second:
        yield claims.caption("Once there is a pair, you can work out here how its numbers come about.")
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
        yield claims.markdown(
            "This cell in all three tables, piece, segment and position: "
            f"${' + '.join(parts)} = {tex(oracle['encoder.embedding.sum'][shown.index])}$"
        )
    yield from check_cell(shown)


def do(page: Page) -> Statements:
    pair = Pair(page)
    if not pair.second:
        yield claims.info(EMPTY)
        return
    yield claims.markdown("**Swap the texts.** How likely does BERT find it that the second follows the first?")
    tried = {
        "A, then B": (pair.first, pair.second),
        "B, then A": (pair.second, pair.first),
        "A, then A again": (pair.first, pair.first),
        **{f"A, then: {text}": (pair.first, bert.ids_of(text)) for text in OTHERS},
    }
    found = {name: follows(*texts) for name, texts in tried.items()}
    yield claims.table(("the two texts", "probability"), *((name, chance(one)) for name, one in found.items()))
    yield claims.markdown(
        f"In the other order the probability goes from {chance(found['A, then B'])} to {chance(found['B, then A'])}. Over "
        f"all five it lies between {chance(min(found.values()))} and {chance(max(found.values()))}: so much the texts tell "
        "this small BERT. One that could not tell at all would say 0.5 each time."
    )
    test = bert.metrics()["test"]
    yield claims.caption(
        f"Of {test['pairs']:,} pairs of texts that it never saw, this BERT tells in "
        f"{claims.number(100 * test['next_sentence'], 1)}% whether B follows A. Always the more frequent answer would be "
        f"right in {claims.number(100 * test['always_the_same'], 1)}%."
    )
    yield claims.fold("Why later models dropped it")
    yield claims.markdown(
        "RoBERTa (Liu et al. 2019) trained with and without this task: without it the model was as good at later tasks, or "
        "slightly better. ALBERT (Lan et al. 2020) names a reason: a text from elsewhere mostly has another topic, so the "
        "topic alone tells. ALBERT therefore asks for the order of two neighbours."
    )


def predict(page: Page) -> Statements:
    n, m = len(Pair(page).first), len(bert.ids_of(FIRST_B))
    yield claims.question(
        f"Your sentence has {n} pieces, and *{FIRST_B}* has {m}. How many rows does BERT read?",
        (str(n + m), str(n + m + 2), str(n + m + 3)),
        2,
        f"{n} + {m} and three marks: [CLS] and two times [SEP].",
        {0: "The marks are missing.", 1: "One mark is missing."},
    )
    yield claims.question(
        "Which position does the first piece of B get?",
        ("1", str(n + 3), str(n + 1)),
        1,
        f"Positions run through both texts: [CLS], {n} pieces and [SEP] stand before it.",
        {0: "B's segment says that it is the second text. Positions do not begin anew.", 2: "Count the marks."},
    )
    yield claims.question(
        "The wrong B's of training come from other documents. What may a model learn instead of what follows what?",
        ("which texts share a topic", "which text is longer", "how to spell"),
        0,
        "Neighbours mostly share a topic, and texts from two documents mostly do not. So the topic alone helps.",
        {1: "Both kinds of B are cut to the same length.", 2: "Both kinds of B are spelled alike."},
    )


def code(page: Page) -> Statements:
    yield from code_part(
        ("model/parts/embedding.py", "SegmentEmbedding"),
        ("model/families/encoder_only.py", "NextSentenceHead"),
        ("experiments/family/pairs.py", "read_pair"),
        ("training/loop/text_rows.py", "read_rows"),
    )
