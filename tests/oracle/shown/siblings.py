"""A small translator with any of the parts, once more in NumPy, from its config and its weights; and what the view of
two of them must show.
"""

import functools
import json
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from tests.oracle.language import claims
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import number
from tests.oracle.language.common import KINDS, Statements, chart_and_numbers, cut_matrix, numbers_of_figure
from tests.oracle.language.page import READABLE, Page
from tests.oracle.language.words import inline, pieces, text_of
from tests.oracle.passes.decode import Writer, greedy
from tests.oracle.passes.forward import EOS, FOLDER, MAX_PIECES, SOS, Array, Forward, softmax, source_ids

prose = Prose("siblings")

MODELS = FOLDER.parent
PARTS = ("positions", "norm", "norm_place", "activation", "attention", "reach", "feed_forward", "n_experts", "d_latent")
PARTS += ("block", "n_squeezed", "d_embedding", "shares_layers", "rest_of")
PLAIN = {"vocab_size": 8000, "d_model": 128, "n_heads": 4, "n_layers": 2, "d_ff": 512, "max_len": 64, "dropout": 0.1}


class Sibling(Forward):
    """One pass. config: what config.json says; w: the weights by name."""

    def __init__(
        self, config: dict[str, Any], w: dict[str, Array], src: list[int], labels: list[int], **changes: Any
    ) -> None:
        super().__init__(src, labels, settings=config, w=w, **changes)


# --- those that come with the app ------------------------------------------------------------------------------------


def config_of(name: str) -> dict[str, Any]:
    return json.loads((MODELS / name / "config.json").read_text())


def names() -> list[str]:
    """Models with a config of these sizes."""
    folders = sorted(path.parent for path in MODELS.glob("*/about.json") if (path.parent / "config.json").exists())
    sizes = {folder.name: {n: v for n, v in config_of(folder.name).items() if n not in PARTS} for folder in folders}
    family = {"family": "encoder_decoder"}  # what a config without this word is
    return [name for name, size in sizes.items() if family | size == family | PLAIN]


@functools.cache
def weights_of(name: str) -> dict[str, Array]:
    return {key: w.astype(np.float64) for key, w in load_file(MODELS / name / "model.safetensors").items()}


@functools.lru_cache(64)
def translated(name: str, text: str) -> Sibling:
    """The sentence and what greedy search writes for it."""
    config, w = config_of(name), weights_of(name)
    most = min(MAX_PIECES, config["max_len"] - 1) if config["positions"] == "learned" else MAX_PIECES
    src = [*source_ids(text)[:-1][:most], EOS]
    writer = Writer(text)
    writer.passes = Sibling(config, w, src, [EOS])
    return Sibling(config, w, src, list(greedy(writer, most=most)))


@functools.lru_cache(64)
def read_along(name: str, text: str, translation: str) -> Sibling:
    """The sentence and a translation that it did not write itself."""
    labels = [*source_ids(translation)[:-1][:MAX_PIECES], EOS]
    return Sibling(config_of(name), weights_of(name), [*source_ids(text)[:-1][:MAX_PIECES], EOS], labels)


def two_siblings(page: Page, part: str) -> Statements:
    known = names()
    if len(known) < 2:
        return
    yield from prose("two trained siblings side")
    plain = next((name for name in known if name.startswith("plain")), known[0])
    other = next((name for name in known if name.startswith(part)), known[int(plain == known[0])])
    chosen = []
    for label, first in (("One sibling", plain), ("Another", other)):
        chosen.append(page.choice(f"{part}_sibling_{len(chosen) + 1}", known, first))
        yield claims.select(label, known, chosen[-1])
    labels = [kind.label for kind in KINDS.values()]
    label = page.choice("sibling_map", labels, labels[0])
    yield claims.segmented("Map", labels, label)
    kind = next(key for key, words in KINDS.items() if words.label == label)
    # `<eos>` counts; nobody reads more than the translator.
    length = len(source_ids(page.sentence))
    cut = [config_of(name)["positions"] == "learned" and length > config_of(name)["max_len"] for name in chosen]
    runs = [translated(name, page.sentence) for name in chosen]
    chances = [softmax(run["logits"])[np.arange(len(run.labels)), run.labels] for run in runs]
    yield claims.table(
        ("sibling", "mean probability of its pieces", "parameters"),
        *(
            (name, "" if short else number(chance.mean()), f"{count(name):,}")
            for name, chance, short in zip(chosen, chances, cut, strict=True)
        ),
    )
    for name, run, chance, short in zip(chosen, runs, chances, cut, strict=True):
        if short:
            yield from prose("has vectors for positions", name, config_of(name)["max_len"], length)
        else:
            yield from one_sibling(name, run, chance, kind)
    yield from prose("what was measured of")
    yield from sibling_table(part)


# --- what was measured -----------------------------------------------------------------------------------------------


def measured(name: str) -> dict[str, Any]:
    return json.loads((MODELS / name / "metrics.json").read_text())


def with_plain(part: str) -> list[str]:
    """Those that differ in a part, and the plain ones, by their loss."""
    known = [name for name in names() if name.startswith((part, "plain"))]
    return sorted(known, key=lambda name: (measured(name)["training"]["validation_loss"], name))


def sibling_table(part: str) -> Statements:
    shown = with_plain(part)
    if len(shown) < 2:
        yield from prose("too few siblings come")
        return
    file = MODELS / "speed.json"
    speeds = json.loads(file.read_text())["ratios"] if file.exists() else {}
    speeds = {name: ratio for name, ratio in speeds.items() if name in shown}
    values = {
        "loss": {name: measured(name)["training"]["validation_loss"] for name in shown},
        "bleu": {name: measured(name)["test"]["greedy"]["bleu"] for name in shown},
    }
    plain = [name for name in shown if name.startswith("plain")]
    others = [name for name in shown if name not in plain]
    if len(plain) < 2:
        yield from prose("with fewer than two")
    else:
        loss, bleu = (
            number(np.ptp([one[name] for name in plain]), n) for one, n in zip(values.values(), (3, 1), strict=True)
        )
        margins = (
            number(margin([one[name] for name in plain]), n) for one, n in zip(values.values(), (3, 1), strict=True)
        )
        yield from prose("the plain ones differ", len(plain), loss, bleu, *margins, number(student(len(plain)), 2))
        if others:
            loss, bleu = (
                ", ".join(f"**{name}**" for name in others if not is_noise(one, plain, name)) or "none"
                for one in values.values()
            )
            yield from prose("beyond the noise in", loss, bleu)
    speed = ["speed"] if speeds else []
    yield claims.table(
        ("sibling", "loss", "against the plain", "BLEU", "against the plain", *speed, "parameters"),
        *(
            (
                name,
                *(
                    cell
                    for one, digits in (("loss", 3), ("bleu", 1))
                    for cell in (number(values[one][name], digits), against(values[one], plain, name, digits))
                ),
                *[f"{speeds[name]:.2f} ×" if name in speeds else ""] * bool(speeds),
                f"{count(name):,}",
            )
            for name in shown
        ),
    )
    yield from prose(
        "loss cross-entropy on the",
        f"{measured(shown[0])['test']['greedy']['sentences']:,}",
        " Speed: pieces written a second, as a multiple of those of plain-1." * bool(speeds),
    )


def is_noise(values: dict[str, float], plain: list[str], name: str) -> bool:
    theirs = [values[one] for one in plain]
    return bool(abs(values[name] - np.mean(theirs)) <= margin(theirs))


def student(n: int) -> float:
    """Within how many standard deviations 95% lie, by Student's t of n measurements, solved for one and two degrees."""
    return {2: np.tan(0.475 * np.pi), 3: 0.95 * np.sqrt(2 / (1 - 0.95**2))}[n]


def margin(theirs: list[float]) -> float:
    n = len(theirs)
    return student(n) * np.std(theirs, ddof=1) * np.sqrt((n + 1) / n)


def against(values: dict[str, float], plain: list[str], name: str, digits: int) -> str:
    if name in plain or len(plain) < 2:
        return ""
    by = values[name] - np.mean([values[one] for one in plain])
    shown = f"{abs(by):.{digits}f}"
    sign = "+" if by > 0 else "−" if float(shown) else ""
    return f"{sign}{shown}{', noise' if is_noise(values, plain, name) else ''}"


def longer_texts(page: Page) -> Statements:
    """The loss of those with other positions in texts longer than any in training."""
    plain = [name for name in names() if name.startswith("plain")]
    others = [name for name in names() if name.startswith("positions")]
    if not plain or not others:
        return
    shown = plain + others
    losses = {name: measured(name)["longer"]["loss"] for name in shown}
    spans = list(losses[plain[0]])
    most = config_of(plain[0])["max_len"]
    yield from prose("texts longer than any", most)
    near, far = (lowest_and_highest(losses, span) for span in (spans[0], spans[-1]))
    looks = [("#808a96", "circle-open", 1)] * len(plain) + [
        ("#0072B2", "circle", 2), ("#E69F00", "square", 2), ("#CC79A7", "diamond", 2), ("#009E73", "cross", 2),
        ("#D55E00", "x", 2),
    ][: len(others)]  # fmt: skip
    yield claims.plot(
        f"The loss of {len(shown)} siblings by position. {far}",
        [
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": "plain ones" if name in plain else name,
                "x": spans,
                "y": list(losses[name].values()),
                "line": {"color": colour, "width": width},
                "marker": {"symbol": symbol, "size": 8},
                "hovertemplate": f"{name}, positions %{{x}}: %{{y:.2f}}<extra></extra>",
            }
            for name, (colour, symbol, width) in zip(shown, looks, strict=True)
        ],
        x={"title": {"text": "positions in the text"}, "type": "category"},
        y={"title": {"text": "loss, nats a piece"}},
    )
    said = [near, far]
    if len(plain) > 1:
        spread = np.ptp([losses[name][spans[-1]] for name in plain])
        said.append(f"The plain ones, which differ in their random numbers alone, differ there by {number(spread, 2)}.")
    if short := [name for name in others if losses[name][spans[-1]] is None]:
        assert all(config_of(name)["positions"] == "learned" for name in short)
        said.append(f"No number there: {', '.join(short)}, with vectors for {most} positions and none beyond.")
    yield claims.markdown(" ".join(said))
    yield from prose("length is not all")
    yield from numbers_of_figure(
        ("sibling", *spans),
        *((name, *("" if one is None else number(one, 2) for one in losses[name].values())) for name in shown),
    )


def lowest_and_highest(losses: dict[str, dict[str, float | None]], span: str) -> str:
    ranked = sorted((loss, name) for name, by_span in losses.items() if (loss := by_span[span]) is not None)
    (low, best), (high, worst) = ranked[0], ranked[-1]
    return prose.line("at positions the lowest", span, number(low, 2), best, number(high, 2), worst)


def count(name: str) -> int:
    """Numbers learned."""
    return sum(w.size for w in weights_of(name).values())


def one_sibling(name: str, run: Sibling, chance: Array, kind: str) -> Statements:
    src, labels, tgt = (pieces(ids) for ids in (run.ids["encoder"], run.labels, [SOS, *run.labels[:-1]]))
    yield from prose("writes", inline(name), inline(text_of(run.labels) or "(nothing)"))
    texts = [piece.text for piece in labels[:READABLE]]
    yield from chart_and_numbers(
        "piece",
        texts,
        [claims.Series("probability", chance[:READABLE])],
        claims.chance,
        alt=f"A bar for each of {len(texts)} pieces that {name} wrote: its probability.",
        axis=name,
        limit=1.0,
    )
    last = run.config["n_layers"] - 1
    path = KINDS[kind].path.format(last)
    asks, answers = {"encoder": (src, src), "decoder": (tgt, tgt), "cross": (labels, src)}[kind]
    title, how = f"{KINDS[kind].name} of {name}", f"The average of the heads of layer {last + 1}; 0 to 1."
    looks = {"title": title, "how_to_read": how, "describe": KINDS[kind].describe}
    hidden, csv_name = np.isneginf(run[f"{path}.scores"][0]), f"{kind} attention of {name}"
    yield cut_matrix(run[f"{path}.weights"].mean(0), asks, answers, hidden, csv_name=csv_name, **looks)
