"""The first screen: two texts become one row, and BERT says from the row of [CLS] whether the second follows."""

from experiments.family.language_models import published
from model.trace import Trace
from pages.family.pairs.texts import FIRST_B, Pair, pair_of
from pages.family_models import BERT
from pages.family_scenes import looks
from ui.components.scene import Bar, Bars, Card, Cards, Frame, Link, Row, Scene
from ui.text import chance, visible

SHOWN = 6  # pieces of each text
NUMBERS = 12  # of each vector
STOP = 34  # letters of a text in the control
LIMIT = 0.25  # of a column's colours
GOES_ON = (FIRST_B, "But they were not afraid.", "She was very happy.", "Then he fell asleep.", "Then I went home.")
ELSEWHERE = (
    "The sum of the angles of a triangle is two right angles.",
    "The Roman army was divided into legions, each of 6,000 men.",
    "The law of the land was made by the king.",
    "The table of contents is on page 12.",
    "Oxygen is a gas.",
)
SWAPPED = "⇄ swapped"
LAYERS = {
    "What it reads": "encoder.embedding.sum",
    "= the piece": "encoder.embedding.tokens",
    "+ text A or B": "encoder.embedding.segments",
    "+ its place": "encoder.embedding.positions",
}


def scene(trace: Trace) -> Scene:
    """A frame for each text B: of those that could go on the likeliest behind this sentence, of those from elsewhere
    the least likely, the first of them and A swapped, and A itself.
    """

    def follows(text: str) -> float:
        pair = pair_of(trace.text, text)
        return pair.follows if pair else 0.0

    likeliest, least = max(GOES_ON, key=follows), min(ELSEWHERE, key=follows)
    pairs = {
        likeliest: pair_of(trace.text, likeliest),
        least: pair_of(trace.text, least),
        SWAPPED: pair_of(likeliest, trace.text),
        trace.text: pair_of(trace.text, trace.text),
    }
    frames = [frame(text, pair, follows(likeliest)) for text, pair in pairs.items() if pair]
    is_cut = any(len(text) > SHOWN for pair in pairs.values() if pair for text in (pair.first, pair.second))
    cut = f" Drawn: at most {SHOWN} pieces of a text." * is_cut
    return Scene(
        "BERT reads a pair of texts as one row; each column is the sum of the three below it. Lines: where [CLS], the "
        f"mark in front, looks in the last layer.{cut}",
        "Text B",
        frames,
    )


def frame(text: str, pair: Pair, before: float) -> Frame:
    n_first = len(pair.first) + 2  # with [CLS] and the first [SEP]
    ends = len(pair.tokens)
    shown = [n for n in range(ends) if n <= SHOWN or n_first - 1 <= n < n_first + SHOWN or n == ends - 1]
    test = published(BERT)["test"]
    tensors, weights = pair.read.tensors, looks(pair.read, "encoder.self_attn", 0)
    columns = [
        Row([Card(pair.tokens[n].text, column=tensors[tensor][n, :NUMBERS]) for n in shown], name, "query", bare=True)
        for name, tensor in LAYERS.items()
    ]
    tokens = Row([Card(pair.tokens[n].text, "" if n < n_first else "asked", pair.segment(n)) for n in shown])
    arches = [Link((0, i), (0, 0), float(weights[n])) for i, n in enumerate(shown) if n]
    slots = min(len(pair.first), SHOWN) + SHOWN + 3  # in every frame, whatever the length of its B
    gauge = Bars([Bar("B follows A", pair.follows, chance(pair.follows), before, strong=True)], role="query")
    return Frame(
        f"{visible(text)[:STOP]}…" if len(text) > STOP else visible(text),
        f"From the row of [CLS] alone BERT gives **{chance(pair.follows)}** that B follows A. Of two pairs of "
        f"sentences that it never saw, neighbours and strangers, it finds the neighbours likelier in "
        f"{test['single_sentences']:.0%}.",
        [[gauge], [Cards([*columns, tokens], arches, limit=LIMIT, slots=slots)]],
    )
