"""What the page of results must show: what papers report, typed here once more, and the app's own figures."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import link, magnitude, number, plot, scatter, segmented, select
from tests.oracle.language.common import Statements, numbers_of_figure
from tests.oracle.language.page import Page
from tests.oracle.language.statement import Statement
from tests.oracle.passes import shipped
from tests.oracle.shown.course import COURSE
from tests.oracle.shown.frame import bar
from tests.oracle.shown.siblings import names

prose = Prose("results")

STATES = (
    {},
    {"results_language": "French", "sort_translation": "FLOPs, French", "sort_glue": "CoLA", "sort_squad": "F1, test"},
    {"sort_translation": "BLEU, German", "sort_rotary": "MNLI-mm", "sort_glue": "average", "sort_sizes": "parameters"},
    {"results_language": "Thai", "sort_glue": "<b>", "sort_sizes": "first published"},
    {"sort_sizes": "kind", "sort_squad": "exact, dev", "sort_translation": "FLOPs, German"},
)

ARXIV = "https://arxiv.org/abs/"
NONE = math.nan

# Each row: name, values; the columns before it, each with its order and how it is written.
TRANSLATION = (
    ("ByteNet", 23.75, NONE, NONE, NONE),
    ("Deep-Att + PosUnk", NONE, 39.2, NONE, 1.0e20),
    ("GNMT + RL", 24.6, 39.92, 2.3e19, 1.4e20),
    ("ConvS2S", 25.16, 40.46, 9.6e18, 1.5e20),
    ("MoE", 26.03, 40.56, 2.0e19, 1.2e20),
    ("Deep-Att + PosUnk, ensemble", NONE, 40.4, NONE, 8.0e20),
    ("GNMT + RL, ensemble", 26.30, 41.16, 1.8e20, 1.1e21),
    ("ConvS2S, ensemble", 26.36, 41.29, 7.7e19, 1.2e21),
    ("Transformer (base)", 27.3, 38.1, 3.3e18, 3.3e18),
    ("Transformer (big)", 28.4, 41.8, 2.3e19, 2.3e19),
)
GLUE = (
    ("best before GPT", 80.6, 80.1, 66.1, 82.3, 93.2, 35.0, 81.0, 86.0, 61.7, 74.0),
    ("BiLSTM + ELMo + attention", 76.4, 76.1, 64.8, 79.8, 90.4, 36.0, 73.3, 84.9, 56.8, 71.0),
    ("GPT", 82.1, 81.4, 70.3, 87.4, 91.3, 45.4, 80.0, 82.3, 56.0, 75.1),
    ("BERT (base)", 84.6, 83.4, 71.2, 90.5, 93.5, 52.1, 85.8, 88.9, 66.4, 79.6),
    ("BERT (large)", 86.7, 85.9, 72.1, 92.7, 94.9, 60.5, 86.5, 89.3, 70.1, 82.1),
)
SQUAD = (
    ("people", NONE, NONE, 82.3, 91.2),
    ("nlnet, ensemble", NONE, NONE, 86.0, 91.7),
    ("QANet, ensemble", NONE, NONE, 84.5, 90.5),
    ("BiDAF + ELMo", NONE, 85.6, NONE, 85.8),
    ("R.M. Reader, ensemble", 81.2, 87.9, 82.3, 88.5),
    ("BERT (base)", 80.8, 88.5, NONE, NONE),
    ("BERT (large)", 84.1, 90.9, NONE, NONE),
    ("BERT (large), ensemble", 85.8, 91.8, NONE, NONE),
    ("BERT (large) + TriviaQA", 84.2, 91.1, 85.1, 91.8),
    ("BERT (large) + TriviaQA, ensemble", 86.2, 92.2, 87.4, 93.2),
)
# Year and month, name, kind, millions of parameters, the lesson with what it teaches of it; as it is written, the source.
MODELS = [
    (date, name, kind, int(millions), *rest)
    for name, said in prose.words("models").items()
    for date, kind, millions, *rest in [[cell.strip() for cell in said.split("|")]]
]
SIZES, WORDS = [model[:6] for model in MODELS], [model[6] for model in MODELS]


def frame(page: Page) -> Statements:
    yield from bar(page)
    yield from prose("results")
    yield from first_picture(page)
    yield from how_counted()
    yield from tables(page)
    yield from timeline()


# --- the first picture -----------------------------------------------------------------------------------------------


def flops_of(name: str) -> float:
    """Of a model's training: a multiply-add for each number of a product, three products forwards and backwards."""
    return counted(shipped.config(name), shipped.metrics(name)["training"]["batches"])


def counted(c: dict[str, Any], n: dict[str, int]) -> float:
    d, units = c["d_model"], c["d_ff"]
    # A network with a gate has three matrices of two thirds of the units.
    network = 3 * d * round(2 * units / 3) if c["activation"] in ("swiglu", "geglu") else 2 * d * units
    if c.get("feed_forward", "").startswith("experts"):  # a row meets the router, and as many units as without
        network += d * c["n_experts"]
    attention, pair, heads = 4 * d * d, 2 * d, c.get("n_heads", 4)
    if (kind := c.get("attention")) in ("grouped_query", "multi_query"):  # two heads share keys and values, or all do
        attention = 2 * d * d * (1 + (heads // 2 if kind == "grouped_query" else 1) / heads)
    elif kind == "latent":  # 48 numbers a row, of which keys and values are made; and short queries and keys
        short = d // heads // 2
        attention, pair = 2 * d * d + 3 * 48 * d + short * d * (heads + 1), 2 * d + short * heads
    of_source = n["source"] * (attention + network) + pair * n["source_pairs"]
    masked = attention * n["target"] + pair * n["target_pairs"]
    cross = 2 * d * d * (n["target"] + n["source"]) + 2 * d * n["cross_pairs"]
    multiplications = c["n_layers"] * (of_source + masked + cross + network * n["target"])
    return 3.0 * 2 * (multiplications + n["target"] * d * c["vocab_size"])


def own() -> list[tuple[str, float, float]]:
    """Name, BLEU, FLOPs of the translator, found with 4 beams, and of its siblings, found greedily."""
    rows = []
    for name in ("translator", *names()):
        test = shipped.metrics(name)["test"]
        rows.append((name, test["beam 4" if name == "translator" else "greedy"]["bleu"], flops_of(name)))
    return rows


PLAIN = "\u00a0%{text}\u00a0"  # beside its point
GREY, BLUE, GREEN, ORANGE, PURPLE = "#808a96", "#0072B2", "#009E73", "#E69F00", "#CC79A7"
LOOKS = {
    "one model": (GREY, "circle", 9),
    "ensemble of several": (GREY, "circle-open", 10),
    "Transformer": (BLUE, "diamond", 13),
}
TICKS = {"German": [24, 25, 26, 27, 28, 29], "French": [37, 38, 39, 40, 41, 42, 43]}


def group(name: str) -> str:
    if name.endswith(", ensemble"):
        return "ensemble of several"
    return "Transformer" if name.startswith("Transformer") else "one model"


def first_picture(page: Page) -> Statements:
    language = page.choice("results_language", ("German", "French"), "German")
    yield segmented("From English into", ("German", "French"), language)
    at = ("German", "French").index(language)
    papers = [(row[0], row[1 + at], row[3 + at]) for row in TRANSLATION if not math.isnan(row[1 + at] + row[3 + at])]
    points = [(*one, group(one[0]), "" if one[0].endswith("ensemble") else one[0]) for one in papers]
    traces = []
    for name, (colour, symbol, size) in LOOKS.items():
        shown = [point for point in points if point[3] == name]
        if not shown:
            continue
        marker = {"color": colour, "symbol": symbol, "size": size, "line": {"width": 1.5, "color": colour}}
        x, y = (np.array([point[n] for point in shown]) for n in (2, 1))
        says = [f"{point[0]}: {point[1]:g} BLEU" for point in shown]
        texts = {"text": [point[4] for point in shown], "texttemplate": PLAIN}
        hover = "%{customdata}<extra></extra>"
        traces.append(scatter(x, y, "markers+text", name=name, marker=marker, customdata=says, hover=hover, **texts))
    powers = np.log10([point[2] for point in points])
    ticks = TICKS[language]
    yield plot(
        prose.line("bleu into against the", language, len(papers)),
        traces,
        {
            "type": "log", "title": {"text": "FLOPs of the training, a power of ten each"},
            "exponentformat": "power", "dtick": 1, "range": np.array([powers.min() - 0.5, powers.max() + 0.7]),
        },
        {
            "title": {"text": "BLEU"}, "tickvals": np.array(ticks), "ticktext": list(map(str, ticks)),
            "range": np.array([ticks[0], ticks[-1]]),
        },
    )  # fmt: skip
    new = max((one for one in papers if group(one[0]) == "Transformer"), key=lambda one: one[1])
    old = max((one for one in papers if group(one[0]) != "Transformer"), key=lambda one: one[1])
    better, dearer = number(new[1] - old[1], 1), number(old[2] / new[2], 1)
    yield from prose("higher is better further", new[0], better, old[0], dearer)
    test = shipped.metrics("translator")["test"]["beam 4"]
    assert (test["sentences"], test["bleu_signature"][:10]) == (2000, "nrefs:var|")
    yield from numbers_of_figure(
        ("system", "BLEU", "FLOPs of the training"), *((p[0], f"{p[1]:g}", magnitude(p[2])) for p in points)
    )
    yield from prose("this app s own", new[0], f"{round(new[2] / flops_of('translator'), -3):,.0f}")
    made = prose.words("how each is made")
    rows = [[name, made[name], number(bleu, 2), magnitude(flops)] for name, bleu, flops in own()]
    head = ["this app's", "how it is made", "BLEU, everyday sentences", "FLOPs of the training"]
    yield Statement("table", [head, *rows])
    training = shipped.metrics("translator")["training"]
    teachers = [training["stages"][name] for name in ("german-english", "teacher-1", "teacher-2")]
    whole = {"d_model": 256, "d_ff": 1024, "n_layers": 3, "activation": "relu", "vocab_size": 8000}
    price = sum(counted({**whole, **one["parts"]}, one["batches"]) for one in teachers)
    yield from prose("the translator searches", len(teachers), magnitude(price))


def how_counted() -> Statements:
    estimate = 12 * 60 * 60 * 8 * 9.5e12
    yield from prose("how the flops were", magnitude(9500000000000.0), magnitude(estimate))
    config, n = shipped.config("translator"), shipped.metrics("translator")["training"]["batches"]
    sums = [n[name] for name in ("source", "target", "source_pairs", "target_pairs", "cross_pairs")]
    whole = (config["n_layers"], config["d_model"], 2 * config["d_model"] * config["d_ff"], config["vocab_size"], *sums)
    lines = zip("N d F V S T S₂ T₂ P".split(), (f"{n:,}" for n in whole), strict=True)
    total = ["FLOPs", magnitude(flops_of("translator"))]
    yield Statement("table", [["of the translator", "number"], *map(list, lines), total])
    base = {"d_model": 512, "d_ff": 2048, "n_layers": 6, "vocab_size": 37_000, "activation": "relu"}
    pieces = 100_000 * 25_000
    alone = {"source": pieces, "target": pieces, "source_pairs": 0, "target_pairs": 0, "cross_pairs": 0}
    yield from prose("counted in this way", magnitude(counted(base, alone)), number(estimate / counted(base, alone), 1))


# --- the tables ------------------------------------------------------------------------------------------------------


def sorted_rows(rows: Sequence[Sequence[Any]], by: int, high: bool) -> list[int]:
    """Numbers of the rows, the best first, those without a value last."""

    def is_missing(n: int) -> bool:
        return isinstance(rows[n][by], float) and math.isnan(rows[n][by])

    there = [n for n in range(len(rows)) if not is_missing(n)]
    # Equal ones in their old order.
    order = sorted(there, key=lambda n: -rows[n][by] if high else rows[n][by])
    return order + [n for n in range(len(rows)) if is_missing(n)]


def result_table(
    page: Page,
    name: str,
    head: Sequence[str],
    rows: Sequence[Sequence[Any]],
    written: Sequence[Sequence[str]],
    cheap: Sequence[str] = (),
    source: str = "",
) -> Statements:
    """The choice of a column and the table. written: the cells of each row; cheap: columns in which less is better;
    source: of all rows, below the table; else the last column names that of each"""
    options = ("the paper's order", *(head[1:] if source else head[1:-1]))
    by = page.choice(f"sort_{name}", options, options[0])
    yield select("Sort by", options, by)
    at = head.index(by) if by in head else 0
    order = sorted_rows(rows, at, by not in cheap) if at else list(range(len(rows)))
    yield Statement("table", [list(head), *(list(written[n]) for n in order)])
    if source:
        yield from prose("all figures", source)


def cell(value: float, digits: int | None = None) -> str:
    if math.isnan(value):
        return "–"
    return f"{value:.{digits}f}" if digits is not None else f"{value:g}"


def tables(page: Page) -> Statements:
    yield from prose("the tables")
    vaswani = f"[Vaswani et al. 2017, Table 2]({ARXIV}1706.03762)"
    devlin = f"[Devlin et al. 2018, Table {{}}]({ARXIV}1810.04805)"
    yield from prose("translation")
    prices = ("FLOPs, German", "FLOPs, French")
    head = ("system", "BLEU, German", "BLEU, French", *prices)
    costs = [["–" if math.isnan(v) else magnitude(v) for v in row[3:]] for row in TRANSLATION]
    written = [(row[0], cell(row[1]), cell(row[2]), *cost) for row, cost in zip(TRANSLATION, costs, strict=True)]
    yield from result_table(page, "translation", head, TRANSLATION, written, prices, vaswani)
    yield from prose("on news wmt an")
    head = ("system", *"MNLI-m MNLI-mm QQP QNLI SST-2 CoLA STS-B MRPC RTE".split(), "average")
    yield from result_table(page, "glue", head, GLUE, one_decimal(GLUE), source=devlin.format(1))
    yield from prose("tasks about english sentences")
    head = ("who answers", "exact, dev", "F1, dev", "exact, test", "F1, test")
    yield from result_table(page, "squad", head, SQUAD, one_decimal(SQUAD), source=devlin.format(2))
    yield from prose("questions whose answer stands")
    yield from rotary(page, devlin.format(1))
    yield from sizes(page)


def one_decimal(rows: Sequence[Sequence[Any]]) -> list[tuple[str, ...]]:
    return [(row[0], *(cell(v, 1) for v in row[1:])) for row in rows]


def rotary(page: Page, devlin: str) -> Statements:
    yield from prose("rotary positions")
    bert = GLUE[3]
    rows = (
        ("BERT, on the test sets", *(bert[n] for n in (8, 5, 4, 7, 3, 1, 2))),
        ("RoFormer, on the validation sets", 89.5, 90.7, 88.0, 87.0, 86.4, 80.2, 79.8),
    )
    sources = (devlin, f"[Su et al. 2021, Table 2]({ARXIV}2104.09864)")
    head = ("model", *"MRPC SST-2 QNLI STS-B QQP MNLI-m MNLI-mm source".split())
    written = [(*row, source) for row, source in zip(one_decimal(rows), sources, strict=True)]
    yield from result_table(page, "rotary", head, rows, written)
    yield from prose("rotary positions roformer against")


def sizes(page: Page) -> Statements:
    yield from prose("sizes")
    rows = [(name, date, kind, millions) for date, name, kind, millions, *_ in SIZES]
    head = ("model", "first published", "kind", "parameters", "source")
    written = [
        (*row[:3], words, f"[{paper}]({url})") for row, (*_, words, paper, url) in zip(rows, MODELS, strict=True)
    ]
    yield from result_table(page, "sizes", head, rows, written, head[1:4])
    yield from prose("first published is the")


# --- who grew how large when -----------------------------------------------------------------------------------------

KINDS = {
    "LSTM": (GREY, "x"),
    "encoder-decoder": (GREEN, "diamond"),
    "encoder": (ORANGE, "square"),
    "decoder": (BLUE, "circle"),
}


def timeline() -> Statements:
    yield from prose("ten years of growth")
    n_parameters = shipped.n_parameters("translator")
    largest = max(millions for *_, millions, _, _ in SIZES) * 1_000_000
    yield from prose("the oldest stands above", f"{round(largest / n_parameters, -3):,.0f}")
    labels = [f"{date[:4]} {short(name)}" for date, name, *_ in SIZES]
    traces = []
    for kind, (colour, symbol) in KINDS.items():
        mine = [n for n, row in enumerate(SIZES) if row[2] == kind]
        marker = {"color": colour, "size": 12, "line": {"width": 1.5, "color": colour}}
        marker["symbol"] = [symbol if SIZES[n][4] else f"{symbol}-open" for n in mine]
        x, y = np.array([SIZES[n][3] * 1e6 for n in mine]), [labels[n] for n in mine]
        texts = {"text": [WORDS[n] for n in mine], "texttemplate": PLAIN, "customdata": np.array(mine)}
        hover = "%{y}: %{text} parameters<extra>" + kind + "</extra>"
        traces.append(scatter(x, y, "markers+text", name=kind, marker=marker, hover=hover, **texts))
    yield plot(
        prose.line("the parameters of models", len(SIZES)),
        traces,
        {
            "type": "log", "title": {"text": "parameters"}, "exponentformat": "power", "dtick": 1,
            "range": np.array([6.5, 12.2]),
        },
        {
            "type": "category", "categoryorder": "array", "categoryarray": labels,
            "range": np.array([len(SIZES) - 0.5, -0.5]),
        },
        shapes=[
            {
                "type": "line", "x0": n_parameters, "x1": n_parameters, "yref": "paper", "y0": 0, "y1": 1,
                "line": {"color": PURPLE, "width": 1.5, "dash": "dot"},
            }
        ],
        annotations=[
            {"x": math.log10(n_parameters), "yref": "paper", "y": 0, "text": "this app's<br>translator", "showarrow": False}
        ],
    )  # fmt: skip
    yield from numbers_of_figure(
        ("model", "kind", "parameters", "what a lesson teaches of it"),
        *(
            (label, kind, f"{millions * 1_000_000:,}", part)
            for label, (_, _, kind, millions, _, part) in zip(labels, SIZES, strict=True)
        ),
    )
    yield Statement("subheader", "The lessons behind them")
    for _, name, _, _, lesson, _ in SIZES:
        if lesson:
            title = next(one.title for one in COURSE if one.slug == lesson)
            yield link(f"{short(name)} → {title}", lesson)


def short(name: str) -> str:
    return name.partition(",")[0]
