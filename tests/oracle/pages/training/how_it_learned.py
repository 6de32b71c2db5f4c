"""What the lesson on how the model learned must show."""

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.oracle.language import claims, common
from tests.oracle.language import scene as screen
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import chance, number
from tests.oracle.language.common import KINDS, Choice, Shown, Statements, code_of
from tests.oracle.language.page import READABLE, Page
from tests.oracle.language.statement import Statement
from tests.oracle.language.words import Piece, entry, inline, pieces, text_of, visible
from tests.oracle.passes.forward import EOS, SOS, config
from tests.oracle.shown.siblings import MODELS, config_of
from tests.oracle.shown.snapshots import (
    EPSILON,
    NAME,
    forced,
    measured,
    shares_on,
    steps,
    weights_at,
    written,
    written_at,
)

prose = Prose("how_it_learned")

YOURS = "your sentence"
TRIAL = Choice(
    "Try",
    "learned_trial",
    ("When heads formed", "What came first", "Label smoothing", "Teacher forcing", "Dropout", "Warm-up and schedule"),
)
TRIALS = TRIAL.options
LOOK = Choice("Look at", "look", ("Where it looks", "Probabilities", "Neighbours of a piece"))
LOOKS = LOOK.options
LOSS = Choice("What to work out", "learned_inside", ("Loss", "Smoothed loss"))
LONG = "My neighbour's cat sleeps on the sofa all day long. " * 5
STATES = (
    {},
    {
        "snapshot": "400",
        "look": LOOKS[1],
        "learned_trial": TRIALS[2],
        "learned_inside": LOSS.options[1],
        "smoothed": "2",
    },
    {"snapshot": "1000", "look": LOOKS[2], "near": "2", "learned_trial": TRIALS[4], "dropped": "3", "sentence": "Go!"},
    {"snapshot": "6000", "snapshot_head": "1.2", "formed_on": YOURS, "sentence": "Zoë has a süßen 🍎.", "cell": "2.1"},
    {"snapshot": "100", "learned_trial": TRIALS[1], "sentence": LONG},
    {"snapshot": "200", "learned_trial": TRIALS[3], "sentence": "The boy who lives here sees the girl every day."},
    {"snapshot": "7", "learned_trial": TRIALS[5], "look": "nothing", "snapshot_head": "3.1"},
    {"learned_trial": TRIALS[0], "formed_on": YOURS, "sentence": LONG},
    {"learned_trial": TRIALS[0], "formed_on": YOURS, "sentence": "Hello", "snapshot": "0", "snapshot_head": "2.4"},
    {"learned_trial": TRIALS[0], "formed_on": YOURS, "sentence": "Please turn on the light.", "snapshot_head": "1.1"},
)
MOST = 64
SCENE = 7  # pieces of each text
SLIDER = "Steps of training so far"


def step_of(page: Page) -> int:
    return int(page.choice("snapshot", [str(step) for step in steps()], "6000"))


def too_long(page: Page) -> list[Statement]:
    """What is said of a sentence that is too long for this model."""
    n = len(page.src)
    return [claims.info(prose.line("this translator learned from", MOST, n))] * (n > MOST)


def last_step() -> str:
    return f"{steps()[-1]:,}"


def scene(page: Page) -> Statements:
    losses = [float(forced(page, step)["losses"].mean()) for step in steps()]
    most = max(len(page.src), len(forced(page, steps()[-1]).labels))
    cut = f" Drawn: the first {SCENE} pieces." * (most > SCENE)
    caption, frames = prose.line("how it learned your", best_head(), cut), range(len(losses))
    shown = [scene_frame(page, losses, n) for n in frames]
    yield from screen.scene(page, caption, SLIDER, shown, frames[-1], by="slider", plays=True)


def scene_frame(page: Page, losses: list[float], at: int) -> dict[str, Any]:
    step, last = steps()[at], len(losses) - 1
    read, own = forced(page, step), list(written(step, page.sentence, SCENE + 1))
    right = read.logits.argmax(1) == read.labels
    source, labels = page.src[:SCENE], pieces(read.labels[:SCENE])
    layer, head = (int(one) - 1 for one in best_head().split("."))
    weights = read[f"decoder.layers.{layer}.cross_attn.weights"][head]
    german = [
        screen.card(piece.text, "written" if right[n] else "asked", chance(read.chances[n]), read.chances[n])
        for n, piece in enumerate(labels)
    ]
    size = config_of(NAME)["vocab_size"]
    blind = math.log(size)
    links = [
        screen.link((0, s), (1, t), weights[t, s], "output") for t in range(len(labels)) for s in range(len(source))
    ]
    lines = [
        screen.line("loss", list(enumerate(losses))),
        screen.line(f"a blind guess: ln {size:,}", [(0, blind), (last, blind)], "plain", True),
    ]
    ends = ("steps of training", 0, last, [(n, f"{one:,}") for n, one in enumerate(steps())])
    curve = screen.curve(lines, ends, ("", 0, max(10, *losses)), knob=(at, losses[at]), height=150)
    says = visible(text_of(own)) or "(nothing)", "" if own[-1] == EOS else " …"
    said = f"{step:,}", last_step(), number(losses[at], 2), right.sum(), len(right), *says
    english = screen.row([screen.card(piece.text) for piece in source], "English")
    cards = screen.cards([english, screen.row(german, "German", "output")], links)
    return screen.frame(f"{step:,}", prose.line("after of steps its", *said), [cards], [curve])


def best_head() -> str:
    last = measured()["snapshots"][-1]["aligned"]
    return max(heads(), key=last.__getitem__)


def idea(page: Page) -> Statements:
    yield from prose("a model learns from")
    size = sum(w.size for w in weights_at(0).values()) / 1e6
    yield from prose("this small translator has", number(size, 1), last_step(), len(steps()))


# --- See -------------------------------------------------------------------------------------------------------------


def see(page: Page) -> Statements:
    if said := too_long(page):
        yield from said
        return
    step = step_of(page)
    yield claims.control("select_slider", SLIDER, options=[str(s) for s in steps()], value=str(step))
    own = written_at(page, step)
    cut = "" if own[-1] == EOS else f" (cut after {len(own)} pieces)"
    text = inline(text_of(list(own)) or "(nothing)")
    yield from prose("after of steps", f"{step:,}", last_step(), text, cut)
    yield from LOOK.trials(where_it_looks, probabilities, neighbours)(page)


def heads() -> list[str]:
    return [f"{layer}.{head}" for layer in (1, 2) for head in (1, 2, 3, 4)]


def rows_of(page: Page) -> tuple[Piece, ...]:
    return pieces(forced(page, step_of(page)).labels)


def where_it_looks(page: Page) -> Statements:
    step, head = step_of(page), page.choice("snapshot_head", heads(), best_head())
    yield claims.segmented("Head", heads(), head, prose.line("the layer a dot", best_head()))
    values = forced(page, step)[f"decoder.layers.{int(head[0]) - 1}.cross_attn.weights"][int(head[2]) - 1]
    looks = {"describe": KINDS["cross"].describe, "csv_name": f"head {head} at step {step}"}
    words = prose.words("where head looks", head, f"{step:,}")
    yield common.cut_matrix(values, rows_of(page), page.src, **looks, **words)
    yield from common.cut_to(*zip(values.shape, ("rows", "columns"), strict=True))
    yield from prose("the rows are what")


def probabilities(page: Page) -> Statements:
    step = step_of(page)
    texts, chances = [piece.text for piece in rows_of(page)], forced(page, step).chances
    words = prose.words("a bar for each", min(len(texts), READABLE), f"{step:,}")
    yield common.piece_columns(texts, [("probability", chances)], 1.0, **words)
    yield from common.cut_to((len(texts), "pieces"))
    yield from prose("these are the pieces", number(chances.mean()))


def neighbours(page: Page) -> Statements:
    texts = [piece.text for piece in page.src[:READABLE]]
    lengths = [len(piece.text) if piece.word >= 0 else 0 for piece in page.src[:READABLE]]
    at = page.count("near", len(texts), lengths.index(max(lengths)) + 1) - 1
    yield claims.numbered("A piece of your sentence", texts, at)
    columns, ends = [], (step_of(page), steps()[-1])
    for one in ends:
        rows = weights_at(one)["embedding.matrix.weight"]
        rows = rows - rows.mean(0)
        units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        cosines = units @ units[page.src[at].id]
        cosines[page.src[at].id] = -np.inf
        best = np.argsort(-cosines)[:6]
        columns.append([f"{entry(int(id)).replace(' ', '␣')}  {number(cosines[id], 2)}" for id in best])
    yield claims.table([f"nearest at step {one:,}" for one in ends], *zip(*columns, strict=True))
    yield from prose("each piece has a")


# --- Check -----------------------------------------------------------------------------------------------------------


def shown(page: Page) -> Shown:
    return common.shown_tensor(
        page,
        ("losses", "smoothed_losses")[LOSS.at(page)],
        rows=[piece.text for piece in rows_of(page)],
        columns=["loss"],
        oracle=forced(page, step_of(page)),
        scale="positive",
        limit=math.ceil(math.log(config()["vocab_size"])) + 1.0,
        digits=4,
    )


def check(page: Page) -> Statements:
    yield LOSS.drawn(page)
    if said := too_long(page):
        yield from said
        return
    yield from common.tensor_matrix(shown(page), **prose.words("losses", LOSS.of(page), f"{step_of(page):,}"))
    yield from common.check_cell(shown(page))


# --- Do --------------------------------------------------------------------------------------------------------------


def first_above(shares: Sequence[float], level: float = 0.5) -> int | None:
    above = [step for step, share in zip(steps(), shares, strict=True) if share > level]
    return above[0] if above else None


def first_head(shares: dict[str, list[float]], level: float) -> tuple[str, str, str]:
    """The head above a level first, the step, and its share there; of several the one with the largest."""
    above = {head: first_above(shares[head], level) for head in heads()}
    step = min(one for one in above.values() if one is not None)
    share, head = max((shares[head][steps().index(step)], head) for head in heads() if above[head] == step)
    return head, f"{step:,}", number(share, 2)


def lines_plot(
    page: Page, alt: str, lines: dict[str, Sequence[float]], colours: dict[str, str], y: claims.Axis, **more: float
) -> Statement:
    """The snapshots at even distances; 0.3 of a distance is left at either end."""
    last = len(steps()) - 1
    drawn = [
        claims.Line(
            name, range(last + 1), values, colours.get(name, claims.GREY), dotted=True, pale=name not in colours
        )
        for name, values in lines.items()
    ]
    x = claims.Axis("step of the snapshot", -0.3, last + 0.3, [(n, f"{step:,}") for n, step in enumerate(steps())])
    return claims.curves(drawn, x, y, alt=alt, upright=steps().index(step_of(page)), **more)


COLOURS = ("#0072B2", "#E69F00", "#CC79A7", "#009E73")


def heads_formed(page: Page) -> Statements:
    file = measured()
    many = f"{file['sentences']} sentences"
    yield from prose("the aligned word of")
    measured_on = Choice("Measured on", "formed_on", [many, YOURS])
    yield measured_on.drawn(page)
    on = measured_on.of(page)
    if on != many and (said := too_long(page)):
        yield from said
        return
    tested = {head: [one["aligned"][head] for one in file["snapshots"]] for head in heads()}
    shares = tested if on == many else shares_on(page)
    named = sorted(sorted(heads(), key=lambda head: -shares[head][-1])[:4])
    alt, y = prose.line("the share of each", on), claims.Axis("share on the aligned words", 0, 1)
    yield lines_plot(page, alt, shares, dict(zip(named, COLOURS, strict=True)), y, across=0.5)
    formed = {head: step for head in heads() if (step := first_above(shares[head])) is not None}
    if formed:
        head, step, share = first_head(shares, 0.5)
        others = [first_head(shares, level) for level in (0.4, 0.3)]
        lower = [prose.line("with a line of", level, *of[:2]) for level, of in zip((0.4, 0.3), others, strict=True)]
        depends = ", and which head comes first depends on it" * any(of[0] != head for of in others)
        if step == "0":
            yield from prose("on head has of", on, head, share)
        else:
            yield from prose("on head formed first", on, head, step, share, depends, " ".join(lower))
    else:
        yield from prose("on no head formed", on)
    yield claims.table(
        "head | formed at step | share at the end",
        *((head, f"{formed[head]:,}" if head in formed else "never", number(shares[head][-1], 2)) for head in heads()),
    )
    yield from prose("each line is a", number(file["equal"], 2), many)
    yield from common.numbers_of_figure(
        ("step", *heads()),
        *((f"{step:,}", *(number(shares[head][n], 2) for head in heads())) for n, step in enumerate(steps())),
    )


def short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"


def learned_first(page: Page) -> Statements:
    file = measured()
    n, snapshots = file["sentences"], {one["step"]: one for one in file["snapshots"]}
    now, last = snapshots[step_of(page)], snapshots[steps()[-1]]
    yield from prose("when did it begin", n)
    lines = {
        "with its own English": [one["loss"] for one in snapshots.values()],
        "with another's English": [one["loss_elsewhere"] for one in snapshots.values()],
    }
    y = claims.Axis("loss, in nats a piece", 0, 1.05 * max(map(max, lines.values())))
    yield lines_plot(page, prose.line("the loss snapshot by"), lines, dict(zip(lines, COLOURS, strict=False)), y)
    costs = (number(one["loss_elsewhere"] - one["loss"], 2) for one in (now, last))
    repeated = inline(short(now["repeated"]) or "(nothing)")
    yield from prose("at step another's english", f"{now['step']:,}", *costs, repeated, now["times"], n)
    yield claims.table(
        f"step | the end mark | an end mark elsewhere | the {file['common']} commonest pieces | all others | different translations",
        *(
            (f"{one['step']:,}", *(f"{number(100 * share, 0)}%" for share in shares_right(one)), str(one["different"]))
            for one in snapshots.values()
        ),
    )
    yield from prose("an end mark elsewhere")


def shares_right(one: dict[str, Any]) -> tuple[float, ...]:
    return one["right"]["end"], one["end_elsewhere"], one["right"]["common"], one["right"]["other"]


def least() -> float:
    """The entropy of a target that is 0.9 sure and shares the rest among all."""
    size = config()["vocab_size"]
    target = np.full(size, EPSILON / size)
    target[0] += 1 - EPSILON
    return float(-(target * np.log(target)).sum())


def smoothing(page: Page) -> Statements:
    step, oracle, size = step_of(page), forced(page, step_of(page)), config()["vocab_size"]
    yield from prose("nobody gave your sentence", f"{step:,}")
    texts = [piece.text for piece in rows_of(page)[:READABLE]]
    plain, smoothed = (oracle[name][:, 0] for name in ("losses", "smoothed_losses"))
    words = prose.words("two bars for each", len(texts))
    yield common.piece_columns(texts, [("loss", plain), ("smoothed loss", smoothed)], **words)
    yield from prose("the mean loss is", number(plain.mean()), f"{size:,}", number(math.log(size), 2))
    at = page.count("smoothed", len(texts), 1) - 1
    yield claims.numbered("A right piece", texts, at)
    target = np.full(size, EPSILON / size)
    target[oracle.labels[at]] += 0.9
    others = np.arange(size) != oracle.labels[at]
    costs = target * oracle.costs()[at]
    rest = f"the other {size - 1:,} together", f"{target[others].sum():.6f}"  # exact: the model has no part in it
    yield claims.table(
        "piece | target | the model's P | target · −ln P",
        (texts[at], f"{target[~others][0]:.6f}", chance(oracle.chances[at]), number(costs[~others][0])),
        (*rest, chance(1 - oracle.chances[at]), number(costs[others].sum())),
    )
    found = number(costs.sum()), f"{EPSILON / size:.7f}", number(least())
    yield from prose("the last column adds", inline(texts[at]), *found)


def forcing(page: Page) -> Statements:
    yield from prose("when the decoder writes")
    step = step_of(page)
    alone, oracle = list(written_at(page, step)), forced(page, step)
    right, best = oracle.labels, [int(id) for id in oracle.logits.argmax(1)]
    lists = [[SOS, *alone[:-1]], alone, [SOS, *right[:-1]], best, right]
    columns = [[piece.text for piece in pieces(ids)] for ids in lists]
    n_rows = min(max(len(alone), len(right)), READABLE)
    yield claims.table(
        " | alone: reads | writes | forced: reads | would write | right",
        *((str(n + 1), *(column[n] if n < len(column) else "" for column in columns)) for n in range(n_rows)),
    )
    same, sure = (sum(a == b for a, b in zip(ids, right, strict=False)) for ids in (alone, best))
    parted = [n for n, (a, b) in enumerate(zip(lists[0], lists[2], strict=False)) if a != b][:1]
    differ = [prose.line("they first read different", n + 1, *(inline(columns[i][n]) for i in (0, 2))) for n in parted]
    where = (differ or [prose.line("as far as both")])[0]
    yield from prose("at step the forced", f"{step:,}", sure, len(right), same, where)


def dropping(page: Page) -> Statements:
    step, draw = step_of(page), int(page.state.get("dropped", "0"))
    rate = config_of(NAME)["dropout"]
    yield from prose("in training dropout sets", f"{rate:g}", f"{1 - rate:g}")
    yield claims.button("Draw other numbers")
    runs = [forced(page, step, seed).chances for seed in (2 * draw, 2 * draw + 1, None)]
    names = ("dropout on", "on, once more", "off")
    texts = [piece.text for piece in rows_of(page)[:READABLE]]
    yield from common.chart_and_numbers(
        "piece",
        texts,
        [claims.Series(name, values[:READABLE]) for name, values in zip(names, runs, strict=True)],
        limit=1.0,
        **prose.words("three bars for each", len(texts), f"{step:,}"),
    )
    yield from prose("with dropout on two", number(abs(runs[0] - runs[1]).max()), number(0))


def schedule(page: Page) -> Statements:
    """A rise for 1,000 steps, and in the last three tenths of 6,000 a fall."""
    log = json.loads((MODELS / NAME / "log.json").read_text())
    rows, validation = log["steps"], log["validation"]
    yield from prose("the learning rate says")
    yield curves(rows, validation)
    table = []
    for phase, first, last in (("warm-up", 1, 1000), ("plateau", 1001, 4201), ("fall", 4202, 6000)):
        inside = [row for row in rows if first <= row["step"] <= last]
        spans = [
            " → ".join(number(np.mean([row[name] for row in part]), 2) for part in (inside[:20], inside[-20:]))
            for name in ("loss", "gradient_norm")
        ]
        table.append((phase, f"{first:,} to {last:,}", *spans))
    yield claims.table("phase | steps | loss | length of the gradient", *table)
    yield from prose("loss and gradient in")
    yield claims.link("Where to normalise, and how", "where-to-normalise")


def curves(rows: list[dict[str, float]], validation: list[dict[str, float]]) -> Statement:
    panels = (("learning rate", "learning_rate"), ("loss", "loss"), ("gradient", "gradient_norm"))
    axes, domains = ("y", "y2", "y3"), ([0.72, 1.0], [0.36, 0.64], [0.0, 0.28])
    steps = [row["step"] for row in rows]
    traces = [
        claims.scatter(
            steps,
            [row[key] for row in rows],
            colour=claims.BLUE,
            width=1.5,
            hover=f"step %{{x:,}}: %{{y:.4g}}<extra>{name}</extra>",
            name=name,
            yaxis=axis,
        )
        for (name, key), axis in zip(panels, axes, strict=True)
    ]
    x, losses = ([row[key] for row in validation] for key in ("step", "loss"))
    looks: dict[str, Any] = {"marker": {"color": claims.ORANGE, "size": 7, "symbol": "diamond"}, "yaxis": "y2"}
    hover = "step %{x:,}: %{y:.4g}<extra>validation loss</extra>"
    traces.append(claims.scatter(x, losses, "markers", name="validation loss", hover=hover, **looks))
    y = [
        {"domain": domain, "title": {"text": name}, "rangemode": "tozero"}
        for (name, _), domain in zip(panels, domains, strict=True)
    ]
    dotted = {"color": claims.GREY, "width": 1, "dash": "dot"}
    upright = {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "line": dotted}
    return claims.plot(
        prose.line("learning rate loss and"),
        traces,
        x={"title": {"text": "step"}, "tickformat": ",", "range": [0, 6120], "anchor": "y3"},
        y=y[0],
        yaxis2=y[1],
        yaxis3=y[2],
        shapes=[{"x0": end, "x1": end} | upright for end in (1000, 4201)],
    )


# --- Predict ---------------------------------------------------------------------------------------------------------


def predict(page: Page) -> Statements:
    file = measured()
    n, snapshots = file["sentences"], file["snapshots"]
    learned = {
        "end": first_above([min(one["right"]["end"], 1 - one["end_elsewhere"]) for one in snapshots]),
        "aligned": first_above([max(one["aligned"].values()) for one in snapshots]),
        "other": first_above([one["right"]["other"] for one in snapshots]),
    }
    words = prose.words("learned first")
    told = [
        f"{words[what]} {'at no snapshot' if step is None else f'at step {step:,}'}" for what, step in learned.items()
    ]
    right = int(np.argmin([math.inf if step is None else step for step in learned.values()]))
    wrong = [prose.line("we measured it", text) for text in told]
    yield prose.question("the translator starts from", right, last_step(), n, *told, file["common"], wrong=wrong)
    (early,) = (one for one in snapshots if one["step"] == 100)
    right = 0 if early["different"] < 50 else 1 if early["different"] <= 150 else 2
    ranges = (range(50), range(50, 151), range(151, 10**6))
    firsts = [[one["step"] for one in snapshots if one["different"] in span][:1] for span in ranges]
    says = [prose.line("so many it writes", f"at step {one[0]:,}" if one else "at no snapshot") for one in firsts]
    repeated = inline(short(early["repeated"]) or "(nothing)"), early["times"]
    harm = number(early["loss_elsewhere"] - early["loss"], 2)
    yield prose.question("after steps it translates", right, n, early["different"], *repeated, harm, wrong=says)
    size, best = config()["vocab_size"], number(least(), 2)
    values = f"{size:,}", number(0.9 + 0.1 / size), best
    yield prose.question("in training the right", 2, *values, options=("0", "0.1", best))


do = TRIAL.trials(heads_formed, learned_first, smoothing, forcing, dropping, schedule)
code = code_of(
    "training/loop/loss.py: batch_loss",
    "training/loop/updates.py: training_steps",
    "training/loop/schedule.py: learning_rate_factor",
    "experiments/blocks/dropout.py: probabilities_with_dropout",
    "experiments/training/forming.py: aligned_shares, first_above",
)
