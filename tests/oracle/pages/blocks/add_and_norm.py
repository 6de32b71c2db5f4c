"""What the lesson on Add & Norm must show."""

import numpy as np

from tests.oracle.language import claims, common
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import Series, magnitude, number, rounding
from tests.oracle.language.common import Choice, Shown, Statements, code_of, layer_of, read_by
from tests.oracle.language.page import READABLE, Page
from tests.oracle.language.statement import Statement
from tests.oracle.language.words import inline
from tests.oracle.passes.decode import translated
from tests.oracle.passes.deep_stack import BUILDS, deep_run
from tests.oracle.passes.forward import Array, config
from tests.oracle.passes.shipped import everyday
from tests.oracle.shown.worked import stream_and_change

prose = Prose("add_and_norm")

LONG = " ".join(["The animal didn't cross the street because it was too wide."] * 4)
STEPS = ("1 x", "2 Sublayer(x)", "3 the sum", "4 the norm")
STEP = Choice("Step", "norm_step", STEPS, STEPS[3])
NORM = Choice("Normalise", "norm_kind", ("Batch norm: per feature", "Layer norm: per word"))
NORMS = NORM.options
AFTER = {
    "encoder": ("after self-attention", "after feed-forward"),
    "decoder": ("after self-attention", "after encoder-decoder attention", "after feed-forward"),
}
STATES = (
    {},
    {
        "stack": "Decoder", "layer": "1", "add_norm_decoder": AFTER["decoder"][1], "norm_step": STEPS[0],
        "norm_kind": NORMS[1], "depth": "2", "cell": "2.5",
    },
    {"sentence": "Frobnicating quokkas!", "layer": "1", "add_norm_encoder": AFTER["encoder"][0], "norm_step": STEPS[2]},
    {"sentence": "Go", "stack": "Decoder", "norm_step": STEPS[1], "draw": "4", "depth": "11", "cell": "1.9"},
    {"sentence": LONG, "layer": "2", "draw": "8", "norm_kind": NORMS[1]},
    {"stack": "Decoder", "add_norm_decoder": AFTER["decoder"][0], "layer": "2", "cell": "1.1"},
    {"sentence": everyday()[1], "draw": "-1"},
)  # fmt: skip
SHOWN = 16  # dimensions
DEEPEST = 24


def chosen(page: Page) -> Choice:
    """Which Add & Norm of its layer."""
    stack = layer_of(page).stack
    return Choice("Add & Norm", f"add_norm_{stack}", AFTER[stack], AFTER[stack][-1])


def path(page: Page) -> str:
    return f"{layer_of(page).path}.add_norm_{chosen(page).at(page) + 1}"


def names(page: Page) -> list[str]:
    """What comes in, what is written, their sum, what goes out."""
    return [*stream_and_change(path(page)), f"{path(page)}.sum", f"{path(page)}.output"]


def shown(page: Page) -> Shown:
    name = names(page)[STEP.at(page)]
    return common.shown_tensor(page, name, describe="“{row}”, dimension {column}: {value}")


def see(page: Page) -> Statements:
    d_model = config()["d_model"]
    yield from common.layer_controls(page)
    yield chosen(page).drawn(page)
    yield STEP.drawn(page)
    step = STEP.of(page)
    yield from common.tensor_matrix(
        shown(page), **prose.words(step, layer_of(page).where, *[d_model] * (step in STEPS[:2]))
    )
    yield from prose("shapes sublayer sum and", len(read_by(page)), d_model)
    texts = [piece.text for piece in read_by(page)[:READABLE]]
    yield from (spread if step == STEPS[3] else lengths)(page, texts)


def length(rows: Array) -> Array:
    return np.sqrt((rows**2).sum(1))


def lengths(page: Page, texts: list[str]) -> Statements:
    x, change, total = (page.oracle[name][:READABLE] for name in names(page)[:3])
    one, two, along = length(x), length(change), (x * total).sum(1) / length(x) / length(total)
    yield from prose("how much comes in")
    yield claims.columns(
        texts,
        [Series("comes in", one), Series("is written", two)],
        alt=f"Two bars for each of {len(texts)} pieces: the length of the row that comes in and of what is written.",
        axis="length",
    )
    yield from common.numbers_of_figure(
        ("piece", "comes in", "is written", "written / comes in", "cosine of the sum and what came in"),
        *(
            (text, number(a, 2), number(b, 2), number(b / a, 2), number(c, 2))
            for text, a, b, c in zip(texts, one, two, along, strict=True)
        ),
    )
    yield from prose("the length of a", number(along.mean(), 2), number((two / one).mean(), 2))


def per_word(rows: Array) -> Array:
    return (rows - rows.mean(1, keepdims=True)) / np.sqrt(rows.var(1, keepdims=True) + 1e-5)


def per_feature(rows: Array) -> Array:
    return per_word(rows.T).T


def spread(page: Page, texts: list[str]) -> Statements:
    total, output = (page.oracle[name][:READABLE] for name in names(page)[2:])
    series = [
        Series(name, rows.mean(1), rows.std(1))
        for name, rows in (("before", total), ("normalised", per_word(total)), ("after γ and β", output))
    ]
    yield from prose("what the norm does")
    yield claims.columns(
        texts, series, alt=prose.line("three dots with bars", len(texts)), axis="mean ± standard deviation"
    )
    yield from common.numbers_of_figure(
        ("mean ± deviation of", *(one.name for one in series)),
        *(
            (text, *(f"{number(one.values[n], 3)} ± {number(one.deviations[n], 3)}" for one in series))
            for n, text in enumerate(texts)
        ),
    )
    before, later = total.std(1), output.std(1)
    yield from prose(
        "before the deviations lie",
        number(before.min(), 2),
        number(before.max(), 2),
        number(later.min(), 2),
        number(later.max(), 2),
    )


# --- a deep stack ----------------------------------------------------------------------------------------------------


def do(page: Page) -> Statements:
    yield from why_add_and_norm(page)
    yield from prose("after the sum or", ("no", "one", "two", "three")[config()["n_layers"]])
    yield from two_norms(page)


def size(value: float) -> str:
    return number(value, 0) if 1000 <= value < 1e6 else magnitude(value)


def why_add_and_norm(page: Page) -> Statements:
    yield from prose("why add and why")
    depth, draw = page.count("depth", DEEPEST, DEEPEST), page.number("draw", 0, 8, 0)
    yield claims.slider("Layers", 2.0, DEEPEST, depth)
    yield claims.button("Draw other random weights")
    gradients, alike = ({build: deep_run(build, depth, draw)[n] for build in BUILDS} for n in (0, 1))
    colours, dashes = ("#0072B2", "#808a96", "#E69F00", "#CC79A7"), ("solid", "dot", "dash", "dashdot")
    looks = zip(colours, dashes, ("circle", "diamond", "square", "x"), strict=True)
    powers = range(-8, 11, 2)
    yield claims.plot(
        prose.line(
            "the size of the",
            ", ".join((f"{build} {size(values[0])} at the first layer" for build, values in gradients.items())),
        ),
        [
            claims.scatter(
                np.arange(1, depth + 2),
                np.array(values),
                "lines+markers",
                colour,
                name=build,
                dash=dash,
                marker={"size": 6, "symbol": symbol},
                hover=f"layer %{{x}}: %{{y:.3g}}<extra>{build}</extra>",
            )
            for (build, values), (colour, dash, symbol) in zip(gradients.items(), looks, strict=True)
        ],
        x={"title": {"text": "input of layer (the last is the output)"}},
        y={
            "title": {"text": "size of the gradient"},
            "type": "log",
            "range": np.array([-8.5, 10]),
            "tickvals": np.array([10.0**n for n in powers]),
            "ticktext": [f"10<sup>{str(n).replace('-', '−')}</sup>" if n else "1" for n in powers],
        },
    )
    at = min(3, depth)
    yield claims.table(
        ("build", "gradient at layer 1 (at the top: 1)", f"how alike the rows are after layer {at}"),
        *((build, size(values[0]), number(alike[build][at], 2)) for build, values in gradients.items()),
    )
    yield from common.numbers_of_figure(
        ("input of layer", *BUILDS),
        *(
            ("output" if n == depth else str(n + 1), *(size(values[n]) for values in gradients.values()))
            for n in range(depth + 1)
        ),
    )
    yield from prose("with neither the gradient")


# --- layer norm and batch norm ---------------------------------------------------------------------------------------


def batches(page: Page) -> list[Array]:
    """The sums of the sentence beside three others, and beside three other ones: all words (N, d_model) of each."""
    name = f"{path(page)}.sum"
    others = [translated(one)[name] for one in everyday() if one != page.text]
    return [np.concatenate([page.oracle[name], *some]) for some in (others[:3], others[3:6])]


def two_norms(page: Page) -> Statements:
    kind, both = NORM.of(page), batches(page)
    yield from prose("per word or per", layer_of(page).phrase, config()["d_model"])
    yield NORM.drawn(page)
    yield grid(kind == NORMS[1])
    t, norm = len(read_by(page)), per_word if kind == NORMS[1] else per_feature
    one, two = (norm(rows)[:t] for rows in both)
    change = np.abs(two - one).max(0)
    dimensions = sorted(np.argsort(-change, kind="stable")[:SHOWN])
    yield from common.before_after(
        [rows[:, dimensions] for rows in (one, two)],
        ("Your sentence beside 3 others", "Beside 3 other ones"),
        read_by(page),
        [str(d + 1) for d in dimensions],
        how_to_read=f"{kind}; the {SHOWN} dimensions that change most. γ = 1, β = 0.",
        describe="“{row}”, dimension {column}: {value}",
        scale="signed",
        csv_name=kind.partition(":")[0],
    )
    most = rounding() if kind == NORMS[1] else magnitude(change.max())
    yield from prose("the sentences beside it", most)
    yield claims.table(
        ("the first batch", "mean of a word", "deviation of a word", "mean of a feature", "deviation of a feature"),
        *(
            (name, *(span(values) for side in (rows, rows.T) for values in (side.mean(1), side.std(1))))
            for name, rows in (
                ("as it is", both[0]),
                ("layer norm", per_word(both[0])),
                ("batch norm", per_feature(both[0])),
            )
        ),
    )
    yield from prose("smallest to largest over", len(both[0]), config()["d_model"])


def span(values: Array) -> str:
    low, high = values.min(), values.max()
    return number(low, 2) if round(low, 2) == round(high, 2) else f"{number(low, 2)} … {number(high, 2)}"


def grid(by_row: bool) -> Statement:
    """Five words by eight features; one row or one column is marked."""
    marked, plain = '<td class="on"></td>', '<td class=""></td>'
    lines = [[marked if (n == 1 if by_row else m == 2) else plain for m in range(8)] for n in range(5)]
    cells = "".join(f"<tr>{''.join(line)}</tr>" for line in lines)
    what = "one row: all features of one word" if by_row else "one column: one feature of all words"
    return Statement("html", prose.line("figure class tw-norm-grid role", what, cells))


# --- questions -------------------------------------------------------------------------------------------------------


def predict(page: Page) -> Statements:
    yield mean_and_deviation(page)
    one, two = (per_feature(rows)[: len(read_by(page))] for rows in batches(page))
    yield prose.question("your sentence stays the", 0, magnitude(np.abs(one - two).max()), rounding())
    neither, both = (deep_run(build, DEEPEST, 0)[0][0] for build in ("neither", "Add & Norm"))
    assert neither < 1e-5
    yield prose.question("a stack of layers", 2, DEEPEST, size(neither), size(both))


def mean_and_deviation(page: Page) -> claims.Question:
    total = page.oracle[f"{path(page)}.sum"]
    row = int(total.std(1).argmax())
    at, sizes = layer_of(page), (number(one, 2) for one in (total[row].mean(), total[row].std(), 0, 1))
    where = at.n + 1, at.stack, chosen(page).at(page) + 1, inline(read_by(page)[row].text)
    return prose.question("in layer of the", 0, *where, *sizes)


code = code_of(
    "model/parts/residual.py: PostNorm",
    "experiments/blocks/norm_comparison.py: per_word, per_feature",
    "experiments/blocks/deep_stack.py: NormOnly, AddOnly, Neither, deep_run",
)
