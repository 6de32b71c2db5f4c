"""What the lesson on masks must show."""

import numpy as np

from tests.oracle.claims import (
    Series,
    box,
    caption,
    columns,
    flow,
    fold,
    latex,
    magnitude,
    markdown,
    matrix,
    number,
    question,
    segmented,
    slider,
    table,
    triangle,
)
from tests.oracle.common import (
    Head,
    Shown,
    Statements,
    check_cell,
    code_part,
    head,
    head_controls,
    numbers_of_figure,
    shown_tensor,
    tensor_matrix,
)
from tests.oracle.forward import Array, config, softmax
from tests.oracle.page import READABLE, Page
from tests.oracle.statement import rounding
from tests.oracle.words import inline

LIFT, PAD, PARALLEL = "Lift the causal mask", "Add padding", "All at once or one by one"
LONG = "My neighbour's cat. " * 20
STATES = (
    {},
    {"mask_stage": "1 before the mask", "layer": "1", "head": "3", "mask_trial": PAD, "pads": "7", "sentence": "Go"},
    {"mask_stage": "3 after the softmax", "layer": "2", "cell": "4.2", "mask_trial": PARALLEL},
    {"sentence": "The house that my father built is very old.", "mask_trial": PARALLEL, "head": "2"},
    {"sentence": "Tom, Mary, " * 30, "mask_trial": LIFT, "head": "4"},
    {"sentence": LONG, "mask_trial": PAD, "pads": "4", "mask_stage": "3 after the softmax"},
    {"sentence": LONG, "mask_trial": PARALLEL},
)
STAGES = {
    "1 before the mask": ("scaled", "Scores before the mask", "Query times key, divided by √d_k: the future too."),
    "2 after the mask": ("scores", "Scores after the mask", "Hatched: −∞. A row sees itself and what came before."),
    "3 after the softmax": ("weights", "Weights", "Each row adds up to 1; where the score was −∞, it is 0."),
}


def chosen_head(page: Page) -> Head:
    return head(page, ("decoder",), "decoder")


def drawn(page: Page) -> tuple[list[int], Statements]:
    """The rows that are drawn, and what is said if that is not all."""
    n = len(page.tgt)
    rows = list(range(n)) if n <= 7 else [0, 1, 2, 3, 4, 5, n - 1]
    return rows, iter([caption(f"The first 6 of {n} rows, and the last.")] if n > 7 else [])


def idea(page: Page) -> Statements:
    yield markdown(
        "While the decoder learns, the right translation lies open before it. So that no piece can look ahead, a "
        "**causal mask** M turns the score of every later piece into −∞. The softmax then gives that piece a weight "
        "of exactly 0: nothing flows."
    )
    yield latex(r"\operatorname{softmax}\!\left(\frac{QK^{\mathsf T}}{\sqrt{d_k}}+M\right)")
    yield fold("What each row sees, and a second mask for padding")
    yield markdown(
        "Row i of the decoder sees the inputs 1 to i, the first of them `<sos>`, and predicts piece i of the "
        "translation."
    )
    rows, cut = drawn(page)
    yield triangle(
        [piece.text for piece in page.tgt],
        [piece.text for piece in page.labels],
        rows,
        "Each row sees the coloured inputs and predicts the piece at its end",
    )
    yield from cut
    yield markdown("M is added to the scores, and e to the −∞ is 0:")
    yield latex(r"M_{ij}=\begin{cases}0&\text{if row }i\text{ may see }j\\-\infty&\text{otherwise}\end{cases}")
    yield markdown(
        "A second mask, the **padding mask**, hides `<pad>`. Many sentences go through the model together, in one "
        "array of numbers, and this filler brings them to one length. No piece may look at it."
    )


def shown(page: Page) -> Shown:
    chosen, (name, _, _) = chosen_head(page), STAGES[page.choice("mask_stage", list(STAGES), "2 after the mask")]
    last = len(page.tgt) - 1
    start = min(1, last), min(2, last)
    return shown_tensor(page, f"{chosen.path}.{name}", head=chosen.head, kind="decoder", start=start)


def see(page: Page) -> Statements:
    chosen, stage = chosen_head(page), page.choice("mask_stage", list(STAGES), "2 after the mask")
    yield from head_controls(page, ("decoder",), "decoder")
    yield segmented("Step", list(STAGES), stage)
    _, title, how_to_read = STAGES[stage]
    where = f"masked decoder self-attention, layer {chosen.layer + 1}, head {chosen.head + 1}"
    yield from tensor_matrix(shown(page), title=f"{title} ({where})", how_to_read=how_to_read)
    t = len(page.tgt)
    hidden = sum(range(t))
    yield caption(
        f"Shapes: scores and weights ({t}, {t}), the mask ({t}, {t}). It hides {t} · {t - 1} / 2 = {hidden} of {t * t} "
        "cells. Nothing is padded here: your sentence runs alone, so its padding mask hides nothing."
    )


def check(page: Page) -> Statements:
    yield from check_cell(shown(page))


def do(page: Page) -> Statements:
    trial = page.choice("mask_trial", [LIFT, PAD, PARALLEL], LIFT)
    yield segmented("Try", [LIFT, PAD, PARALLEL], trial)
    yield from {LIFT: lift, PAD: pad, PARALLEL: parallel}[trial](page)


def chances(page: Page, logits: Array) -> Array:
    """The probability of each piece of the translation."""
    return softmax(logits)[np.arange(len(page.labels)), page.oracle.labels]


def lift(page: Page) -> Statements:
    yield markdown(
        "Let the decoder see the whole translation at once, the words it has yet to write included. Nothing else "
        "changes."
    )
    chosen, lifted = chosen_head(page), page.under(causal_mask_off=True)
    before, after = chances(page, page.oracle["logits"]), chances(page, lifted["logits"])
    yield markdown("**The probability of each piece of the translation, with and without the mask**")
    texts, n = [piece.text for piece in page.labels], len(page.labels)
    names = "with the mask", "mask lifted"
    cut = min(n, READABLE)
    yield columns(
        texts[:cut],
        [Series(name, values[:cut]) for name, values in zip(names, (before, after), strict=True)],
        alt=f"Two bars for each of {cut} pieces: its probability with the mask, and mask lifted.",
        axis="probability",
        limit=1.0,
    )
    yield from numbers_of_figure(
        ("piece", *names, "change"),
        *((text, number(b), number(a), number(a - b)) for text, b, a in zip(texts[:cut], before, after, strict=False)),
    )
    if n > cut:
        yield caption(f"Shown: the first {cut} of {n} pieces. What is said below is about all.")
    falls, rises = sum(after < before - 0.005), sum(after > before + 0.005)
    yield markdown(
        f"On average the probability goes from **{number(before.mean())}** to **{number(after.mean())}**: it falls for "
        f"{falls} of {n} pieces and rises for {rises}."
    )
    part, reads = np.s_[:READABLE, :READABLE], [piece.text for piece in page.tgt[:READABLE]]
    for oracle, title, hidden in (
        (page.oracle, "With the causal mask", np.triu(np.ones((n, n), bool), 1)[part]),
        (lifted, "Mask lifted", None),
    ):
        yield matrix(
            oracle[f"{chosen.path}.weights"][chosen.head][part],
            reads,
            reads,
            title=title,
            how_to_read=f"{chosen.title}; 0 to 1 on both sides.",
            describe="“{row}” looks at “{column}”: {value}",
            hidden=hidden,
            csv_name=f"weights {title}",
        )
    if n > READABLE:
        yield caption(f"Shown: the first {READABLE} of {n} rows and the first {READABLE} of {n} columns.")
    yield caption(
        "This model learned with the mask: it has never seen the future. A model that learned without it could copy the "
        "next piece from its own input. In training it would make nearly no error; when it has to write, there is "
        "nothing to copy."
    )


def pad(page: Page) -> Statements:
    yield markdown(
        "Sentences that run together are brought to one length with `<pad>`. Put some behind yours, once with the "
        "padding mask and once without: what changes for your words?"
    )
    count, chosen = int(page.state.get("pads", "3")), chosen_head(page)
    yield slider("How many <pad> behind your sentence", 1, 10, count)
    alone, seen = page.oracle["logits"], page.under(pads=count)
    masked = page.under(pads=count, blocked=tuple(range(len(page.src), len(page.src) + count)))
    yield table(
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
    for oracle, title, hidden in ((masked, "With the padding mask", covered), (seen, "Without it", None)):
        yield matrix(
            oracle[f"{path}.weights"][chosen.head][np.ix_(at, at)],
            [*words, *["<pad>"] * count],
            [*words, *["<pad>"] * count],
            title=title,
            how_to_read=f"Encoder self-attention, layer {chosen.layer + 1}, head {chosen.head + 1}; 0 to 1 on both "
            "sides.",
            describe="“{row}” looks at “{column}”: {value}",
            hidden=hidden,
            csv_name=f"weights {title}",
        )
    t, v = alone.shape
    yield caption(
        f"A logit is the score of one vocabulary entry; there are {t} rows of {v:,}. Compared with your sentence alone. "
        "With the mask, the padding changes nothing but the last digits, which depend on the order of additions. Rows "
        "of padding are computed too, but no other row reads them."
    )
    if len(words) < len(page.src):
        yield caption(f"Shown: the first {len(words)} of {len(page.src)} pieces, and the padding.")


def parallel(page: Page) -> Statements:
    yield markdown(
        "In training the decoder reads the *right* pieces, not those it would have written itself: that is *teacher "
        "forcing*. They are all known beforehand, so all rows go through **in one pass**. In writing, the next input "
        "does not exist until the piece before it is written. Do the two compute the same?"
    )
    yield from time_lines(page)
    n, v = page.oracle["logits"].shape
    lifted = np.abs(page.under(causal_mask_off=True)["logits"] - page.oracle["logits"]).max(1)
    yield table(
        ("", "runs of the decoder", "largest difference from one by one"),
        ("one by one", str(n), ""),
        ("all at once, with the causal mask", "1", rounding()),
        ("all at once, mask lifted", "1", magnitude(float(lifted.max()))),
    )
    yield caption(
        f"Compared are all {n} · {v:,} logits (the scores of all vocabulary entries). With the mask a row depends on "
        "nothing after it, so it does not matter whether the rest is there already: that is why training can run all "
        "rows at once."
    )
    yield fold("The largest difference, row by row")
    cut = min(n, READABLE)
    yield table(
        ("row", "reads", "predicts", "with the mask", "mask lifted"),
        *(
            (str(i + 1), page.tgt[i].text, page.labels[i].text, rounding(), magnitude(float(lifted[i])))
            for i in range(cut)
        ),
    )
    if n > cut:
        yield caption(f"The first {cut} of {n} rows.")
    yield fold("What training minimises in this one pass")
    yield from loss(page)


def time_lines(page: Page) -> Statements:
    rows, cut = drawn(page)
    texts = [page.labels[i].text for i in rows]
    runs = [
        box(text, f"run {i + 1}, sees {i + 1} input{'s' * (i > 0)}", "output")
        for i, text in zip(rows, texts, strict=True)
    ]
    whole = box("1 run", f"all {len(page.tgt)} rows at once", "output", texts, (3.6 * len(texts), 2))
    yield flow(
        "Training predicts all pieces in one run of the decoder; writing takes one run for each.",
        ["Training:", whole],
        ["Writing:", *(one for run in runs for one in ("→", run))],
    )
    yield from cut


def loss(page: Page) -> Statements:
    yield markdown(
        "Each row gives the right piece a probability P. Its *loss* is −log P: 0 if it was sure, the larger the less it "
        "expected the piece. Training changes the weights so that the sum over all rows gets smaller. Take the model's "
        "own translation for the right one:"
    )
    chance = page.probabilities
    yield table(
        ("row", "right piece", "P", "−log P"),
        *(
            (str(i + 1), page.labels[i].text, number(chance[i]), number(-np.log(chance[i])))
            for i in range(min(len(chance), READABLE))
        ),
    )
    yield markdown(f"The sum over all {len(chance)} rows is **{number(-np.log(chance).sum())}**.")
    yield caption(
        "Two things are different in training. *Dropout* sets a part of the numbers to 0, chosen anew at every step "
        f"({100 * config()['dropout']:.0f}% in this model), so that no number alone is relied on; here it is off. And "
        "the model was asked to leave a little probability for the other pieces (*label smoothing*)."
    )


def predict(page: Page) -> Statements:
    scores = np.array([[1, 0, -1, -1], [1, 1, -1, 0], [0, 1, 1, -1], [-1, -1, 2, 1]])
    lines = "\n".join(
        f"| {i} | " + " | ".join(str(n).replace("-", "−") for n in row) + " |" for i, row in enumerate(scores, 1)
    )
    masked = softmax(np.where(np.tri(4, dtype=bool), scores, -np.inf))[1, 1]
    assert masked == 0.5
    yield question(
        "Four pieces have these scaled scores, a row for each query:\n\n| | 1 | 2 | 3 | 4 |\n|---|---|---|---|---|\n"
        f"{lines}\n\nWhat is the weight $\\alpha_{{2,2}}$ in *masked* self-attention?",
        ("0", "0.5", "e / (2e + e⁻¹ + 1)", "1"),
        1,
        f"Row 2 sees the pieces 1 and 2 only, and their scores are both 1: e / (e + e) = {number(masked, 1)}.",
        {
            0: "That is the weight of a hidden piece. But row 2 may see piece 2, itself.",
            2: f"That is the weight without the mask: {number(softmax(scores)[1, 1])}.",
            3: "It would be, if row 2 saw itself alone. It sees piece 1 too.",
        },
    )
    chosen = chosen_head(page)
    yield question(
        f"The decoder writes *{inline(page.translation) or 'nothing'}* What weight does **{inline(page.tgt[0].text)}**, "
        f"row 1, give to itself in layer {chosen.layer + 1}, head {chosen.head + 1} of the masked self-attention?",
        ("0", "0.5", "1", "It depends on its query and key."),
        2,
        f"It is {number(page.oracle[f'{chosen.path}.weights'][chosen.head, 0, 0])}, in every head and for every "
        "sentence: row 1 sees itself alone, and a softmax over one score is 1, whatever the score.",
        {
            0: "A row of weights adds up to 1, and here there is only one to give.",
            1: "There is nothing else to share with.",
            3: "The score does, the weight does not.",
        },
    )


def code(page: Page) -> Statements:
    yield from code_part(
        ("model/parts/masks.py", "causal_mask"),
        ("model/parts/masks.py", "pad_mask"),
        ("model/parts/attention.py", "scaled_dot_product_attention"),
        ("experiments/passes.py", "one_at_a_time"),
    )
