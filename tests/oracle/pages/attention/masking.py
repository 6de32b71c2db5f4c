"""What the lesson on masks must show."""

import numpy as np

from tests.oracle.language import claims, common
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import box, magnitude, number
from tests.oracle.language.common import Choice, Head, Shown, Statements, code_of
from tests.oracle.language.page import READABLE, Page, chances
from tests.oracle.language.statement import rounding
from tests.oracle.language.words import inline
from tests.oracle.passes.forward import config, softmax

prose = Prose("masking")

ANY_ROW = "“{row}” looks at “{column}”: {value}"
LIFT, PAD, PARALLEL = "Lift the causal mask", "Add padding", "All at once or one by one"
LONG = "My neighbour's cat. " * 20
STATES = (
    {},
    {"mask_stage": "1 before the mask", "layer": "1", "head": "3", "mask_trial": PAD, "pads": "7", "sentence": "Go"},
    {"mask_stage": "3 after the softmax", "layer": "2", "cell": "4.2", "mask_trial": PARALLEL, "pads": "٣"},
    {"sentence": "The house that my father built is very old.", "mask_trial": PARALLEL, "head": "2"},
    {"sentence": "Tom, Mary, " * 30, "mask_trial": LIFT, "head": "4"},
    {"sentence": "My neighbour's cat. " * 6, "mask_trial": PAD, "pads": "10", "mask_stage": "3 after the softmax"},
    {"sentence": LONG, "mask_trial": PARALLEL},
)
STAGES = {"1 before the mask": "scaled", "2 after the mask": "scores", "3 after the softmax": "weights"}
STAGE = Choice("Step", "mask_stage", list(STAGES), "2 after the mask")
TRIAL = Choice("Try", "mask_trial", (LIFT, PAD, PARALLEL))


def chosen_head(page: Page) -> Head:
    return common.head(page, ("decoder",), "decoder")


def drawn(page: Page) -> tuple[list[int], Statements]:
    """The rows that are drawn, and what is said if that is not all."""
    n = len(page.tgt)
    rows = list(range(n)) if n <= 7 else [0, 1, 2, 3, 4, 5, n - 1]
    return rows, iter([claims.caption(f"The first 6 of {n} rows, and the last.")] if n > 7 else [])


def idea(page: Page) -> Statements:
    yield from prose("while the decoder learns")
    rows, cut = drawn(page)
    yield claims.triangle(
        [piece.text for piece in page.tgt],
        [piece.text for piece in page.labels],
        rows,
        "Each row sees the coloured inputs and predicts the piece at its end",
    )
    yield from cut
    yield from prose("m is added to")


def shown(page: Page) -> Shown:
    chosen, name = chosen_head(page), STAGES[STAGE.of(page)]
    last = len(page.tgt) - 1
    start = min(1, last), min(2, last)
    return common.shown_tensor(page, f"{chosen.path}.{name}", head=chosen.head, kind="decoder", start=start)


def see(page: Page) -> Statements:
    chosen = chosen_head(page)
    yield from common.head_controls(page, ("decoder",), "decoder")
    yield STAGE.drawn(page)
    where = f"masked decoder self-attention, layer {chosen.layer + 1}, head {chosen.head + 1}"
    yield from common.tensor_matrix(shown(page), **prose.words(STAGE.of(page), where))
    t = len(page.tgt)
    hidden = sum(range(t))
    yield from prose("shapes scores and weights", t, t - 1, hidden, t * t)


def lift(page: Page) -> Statements:
    yield from prose("let the decoder see")
    chosen, lifted = chosen_head(page), page.under(causal_mask_off=True)
    before, after = page.probabilities, chances(lifted)
    yield from prose("the probability of each")
    n = len(page.labels)
    yield from common.pieces_before_after(page, before, after, ("with the mask", "mask lifted"))
    falls, rises = sum(after < before - 0.005), sum(after > before + 0.005)
    yield from prose("on average the probability", number(before.mean()), number(after.mean()), falls, n, rises)
    yield from common.before_after(
        [oracle[f"{chosen.path}.weights"][chosen.head] for oracle in (page.oracle, lifted)],
        ("With the causal mask", "Mask lifted"),
        page.tgt,
        page.tgt,
        how_to_read=f"{chosen.title}; 0 to 1 on both sides.",
        describe=ANY_ROW,
        csv_name="weights",
        hidden=(np.triu(np.ones((n, n), bool), 1), None),
    )
    yield from prose("this model learned with")


def pad(page: Page) -> Statements:
    yield from prose("sentences that run together")
    count, chosen = page.number("pads", 1, 10, 3), chosen_head(page)
    yield claims.slider("How many <pad> after your sentence", 1, 10, count)
    alone, seen = page.oracle["logits"], page.under(pads=count)
    masked = page.under(pads=count, blocked=tuple(range(len(page.src), len(page.src) + count)))
    yield claims.table(
        ("the same sentence with padding", "largest difference of a logit", "rows whose first choice changes"),
        ("with the padding mask", rounding(), "0"),
        (
            "without it",
            magnitude(float(np.abs(seen["logits"] - alone).max())),
            str(sum(seen["logits"].argmax(1) != alone.argmax(1))),
        ),
    )
    words = [piece.text for piece in page.src][: READABLE - count]
    at = [*range(len(words)), *range(len(page.src), len(page.src) + count)]
    path = f"encoder.layers.{chosen.layer}.self_attn"
    covered = np.tile([n >= len(words) for n in range(len(at))], (len(at), 1))
    names = [*words, *["<pad>"] * count]
    yield from common.before_after(
        [oracle[f"{path}.weights"][chosen.head][np.ix_(at, at)] for oracle in (masked, seen)],
        ("With the padding mask", "Without it"),
        names,
        names,
        how_to_read=prose.line("encoder self-attention layer head", chosen.layer + 1, chosen.head + 1),
        describe=ANY_ROW,
        csv_name="weights",
        hidden=(covered, None),
    )
    t, v = alone.shape
    yield from prose("a logit is the", t, f"{v:,}")
    if len(words) < len(page.src):
        yield from prose("shown the first of pieces", len(words), len(page.src))


def parallel(page: Page) -> Statements:
    yield from prose("in training the decoder")
    yield from time_lines(page)
    n, v = page.oracle["logits"].shape
    lifted = np.abs(page.under(causal_mask_off=True)["logits"] - page.oracle["logits"]).max(1)
    yield claims.table(
        ("", "runs of the decoder", "largest difference from one by one"),
        ("one by one", str(n), ""),
        ("all at once, with the causal mask", "1", rounding()),
        ("all at once, mask lifted", "1", magnitude(float(lifted.max()))),
    )
    yield from prose("compared are all logits", n, f"{v:,}")
    cut = min(n, READABLE)
    yield claims.table(
        ("row", "reads", "predicts", "with the mask", "mask lifted"),
        *(
            (str(i + 1), page.tgt[i].text, page.labels[i].text, rounding(), magnitude(float(lifted[i])))
            for i in range(cut)
        ),
    )
    if n > cut:
        yield from prose("the first of rows", cut, n)
    yield from prose("what training minimises in")
    yield from loss(page)


def time_lines(page: Page) -> Statements:
    rows, cut = drawn(page)
    texts = [page.labels[i].text for i in rows]
    runs = [
        box(text, f"run {i + 1}, sees {i + 1} input{'s' * (i > 0)}", "output")
        for i, text in zip(rows, texts, strict=True)
    ]
    whole = box("1 run", f"all {len(page.tgt)} rows at once", "output", texts, (3.6 * len(texts), 2))
    yield claims.flow(
        "Training predicts all pieces in one run of the decoder; writing takes one run for each.",
        ["Training:", whole],
        ["Writing:", *(one for run in runs for one in ("→", run))],
    )
    yield from cut


def loss(page: Page) -> Statements:
    yield from prose("each row gives the")
    chance = page.probabilities
    yield claims.table(
        ("row", "right piece", "P", "−log P"),
        *(
            (str(i + 1), page.labels[i].text, number(chance[i]), number(-np.log(chance[i])))
            for i in range(min(len(chance), READABLE))
        ),
    )
    yield from prose("the sum over all", len(chance), number(-np.log(chance).sum()), f"{100 * config()['dropout']:.0f}")


def predict(page: Page) -> Statements:
    scores = np.array([[1, 0, -1, -1], [1, 1, -1, 0], [0, 1, 1, -1], [-1, -1, 2, 1]])
    lines = "\n".join(
        f"| {i} | " + " | ".join(str(n).replace("-", "−") for n in row) + " |" for i, row in enumerate(scores, 1)
    )
    masked = softmax(np.where(np.tri(4, dtype=bool), scores, -np.inf))[1, 1]
    assert masked == 0.5
    yield prose.question("four pieces have these", 1, lines, number(masked, 1), number(softmax(scores)[1, 1]))
    chosen = chosen_head(page)
    values = chosen.layer + 1, chosen.head + 1, number(page.oracle[f"{chosen.path}.weights"][chosen.head, 0, 0])
    german, first = inline(page.translation) or "nothing", inline(page.tgt[0].text)
    yield prose.question("the decoder writes what", 2, german, first, *values)


do = TRIAL.trials(lift, pad, parallel)
code = code_of(
    "model/parts/masks.py: causal_mask, pad_mask",
    "model/parts/attention.py: scaled_dot_product_attention",
    "experiments/passes.py: one_at_a_time",
)
