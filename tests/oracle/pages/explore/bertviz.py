"""What the page with BertViz's views of the translator must show."""

import numpy as np

from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import matrix, number, segmented
from tests.oracle.language.common import KINDS, Statements, addresses, asks_and_answers, cut_to, head, head_controls
from tests.oracle.language.page import READABLE, Page
from tests.oracle.language.words import inline
from tests.oracle.passes.foreign import OURS, family
from tests.oracle.shown.attention import weight_steps, weights_of
from tests.oracle.shown.bertviz_views import view
from tests.oracle.shown.frame import bar, notices
from tests.oracle.shown.worked import steps

prose = Prose("bertviz")

CATS = "The black cat fights the white cat."
STATES = addresses(
    "",
    f"sentence={CATS}&attention=Masked decoder&layer=1&head=3&cell=2.4&order=by dimension",
    f"sentence={CATS}&attention=Encoder&layer=2&head=4&bertviz=Model view",
    "sentence=My neighbour's cat <b> sleeps on the sofa. My neighbour's cat <b> sleeps on the sofa. My neighbour's cat <b> sleeps on the sofa. My neighbour's cat <b> sleeps on the sofa. My neighbour's cat <b> sleeps on the sofa. My neighbour's cat <b> sleeps on the sofa. My neighbour's cat <b> sleeps on the sofa. My neighbour's cat <b> sleeps on the sofa. &attention=Encoder",
)


def frame(page: Page) -> Statements:
    yield from bar(page)
    yield from prose("bertviz")
    if family():
        yield segmented("Model", [OURS, *family()], OURS)
    yield from notices(page)
    chosen = head(page, default="cross")
    rows, columns = ([piece.text for piece in pieces] for pieces in asks_and_answers(page, chosen.kind))
    yield from head_controls(page, default="cross")
    weights, _ = weights_of(page.oracle, chosen.kind)
    yield from view(page, chosen.kind, weights, rows, columns, chosen.layer, chosen.head)
    yield from prose("query times key number")
    whole = page.oracle[f"{chosen.path}.weights"][chosen.head]
    part = np.s_[:READABLE, :READABLE]
    shown = whole[part]
    row, column = page.pair("cell", shown.shape, divmod(int(shown.astype(np.float32).argmax()), shown.shape[1]))
    yield matrix(
        shown,
        rows[:READABLE],
        columns[:READABLE],
        title="Choose a pair",
        how_to_read=f"{chosen.title}: weights.",
        describe=KINDS[chosen.kind].describe,
        hidden=np.isneginf(page.oracle[f"{chosen.path}.scores"][chosen.head])[part],
        selected=(row, column),
        csv_name=f"{chosen.path}.weights head {chosen.head + 1}",
    )
    yield from cut_to(*zip(whole.shape, ("rows", "columns"), strict=True))
    yield from prose("query of key of", inline(rows[row]), inline(columns[column]))
    yield from steps(*weight_steps(page.oracle, chosen.path, (chosen.head, row, column)))
    q, k = page.oracle[f"{chosen.path}.q"][chosen.head, row], page.oracle[f"{chosen.path}.k"][chosen.head, column]
    yield from elements(page, q, k)


def elements(page: Page, q: np.ndarray, k: np.ndarray) -> Statements:
    products = q * k
    orders = {
        "largest products first": sorted(range(len(q)), key=lambda d: -abs(products[d])),
        "by dimension": list(range(len(q))),
    }
    order = page.choice("order", list(orders), "largest products first")
    yield segmented("Order", list(orders), order)
    dimensions = orders[order]
    yield matrix(
        np.stack([q, k, products])[:, dimensions],
        ["query", "key", "product"],
        [str(d + 1) for d in dimensions],
        title="The query, the key and their products",
        how_to_read="A column is a dimension. A positive product pulls the two together, a negative one pushes apart.",
        describe="dimension {column}, {row}: {value}",
        scale="signed",
        csv_name="query times key",
    )
    positive = products[products > 0]
    reached = np.cumsum(sorted(np.abs(products), reverse=True)) / np.abs(products).sum()
    half = next(n for n, share in enumerate(reached, 1) if share >= 0.5)
    sums = (number(some.sum()) for some in (positive, products[products < 0], products))
    yield from prose("of products are positive", len(positive), len(q), *sums, half)
