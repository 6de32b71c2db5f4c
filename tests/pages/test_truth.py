"""Every number that See and Check of a lesson show, read from the page and computed again by tests/forward.py."""

import random
import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from json import loads
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.formula import agree
from tests.forward import Forward, bytes_of, config, merges, replayed, source_ids, tokenizer, weights
from tests.pages.kit import assert_sound, opened
from ui import engine
from ui.attention import READABLE
from ui.lessons import LESSONS, Lesson
from ui.worked import RULES, arrays, worked

SENTENCES = (
    "I ate an apple",
    "Go",  # one token
    "The animal didn't cross the street because it was too wide.",
    "The black cat fights the white cat.",
    "Zoë und Jürgen mögen süße Äpfel aus Österreich.",
    "I like dogs 🐶 and pizza 🍕.",
    "ฉันชอบสุนัข",
    "My neighbour's cat sleeps on the sofa all day long. " * 12,  # more than the model takes
    "<b>$x_1$</b> ‘curly’ *stars* | 3 : 4",
    "We sat on the bank of the river.",
)
STATES = 2  # settings tried for each sentence and page

SIGN = "[-−]?"
NUMBER = re.compile(rf"{SIGN}\d[\d,]*(?:\.\d+)?")


def close(shown: float, true: float, digits: int = 4) -> bool:
    """Whether a rounded number is the true one, given that the app computes in float32."""
    return bool(abs(shown - true) <= 0.5 * 10.0**-digits * 1.001 + 2e-5 * max(1.0, abs(true)))


def numbers_in(text: str) -> list[float]:
    return [float(found.replace("−", "-").replace(",", "").rstrip(".")) for found in NUMBER.findall(text)]


@cache
def forward(text: str) -> Forward:
    """The oracle's pass; the ids written are the app's, and the oracle must find them the likeliest."""
    labels = [token.id for token in engine.trace(text).labels]
    found = Forward(source_ids(text), labels)
    assert found.is_greedy()
    rows = found["encoder.embedding.tokens"]
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    found.keep("cosines", units @ units.T)
    return found


def floats(data: dict[str, Any]) -> np.ndarray:
    return np.frombuffer(b64decode(data["values"]), "<f4").reshape(len(data["rows"]), len(data["columns"]))


def value_at(oracle: Forward, name: str, index: tuple[int, ...]) -> float:
    return float(oracle[name][index])


# --- what a page shows ---------------------------------------------------------------------------------------------


@dataclass
class Seen:
    """What one part of a page shows."""

    components: list[dict[str, Any]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)  # Markdown, captions, tables
    codes: list[str] = field(default_factory=list)
    charts: list[str] = field(default_factory=list)  # keys of plotly figures
    sliders: list[float] = field(default_factory=list)
    buttons: list[Any] = field(default_factory=list)  # segmented controls

    @property
    def formulas(self) -> list[str]:
        return [f for text in self.texts for f in re.findall(r"\$(\\displaystyle [^$]*)\$", text)]

    @property
    def matrices(self) -> list[dict[str, Any]]:
        return [data for data in self.components if "values" in data]


def elements(node: Any) -> Iterator[Any]:
    yield node
    for child in getattr(node, "children", {}).values():
        yield from elements(child)


def part(app: AppTest, key: str) -> Seen:
    """What stands in the container with this key."""
    (container,) = (n for n in elements(app.main) if getattr(n, "key", None) == key)
    seen = Seen()
    for element in elements(container):
        match element.type:
            case "bidi_component":
                seen.components.append(loads(element.proto.json))
            case "markdown" | "caption":
                seen.texts.append(element.value)
            case "code":
                seen.codes.append(element.value)
            case "plotly_chart":
                seen.charts.append(element.key)
            case "slider":
                seen.sliders.append(element.value)
            case "button_group":
                seen.buttons.append(element)
    return seen


# --- matrices ------------------------------------------------------------------------------------------------------


@dataclass
class Place:
    """Which tensor a matrix shows."""

    name: str
    head: int | None

    @property
    def layer(self) -> int:
        found = re.search(r"layers\.(\d+)", self.name)
        return int(found[1]) if found else 0


def place_of(data: dict[str, Any]) -> Place | None:
    found = re.fullmatch(r"(cosines|(?:encoder|decoder)\.[a-z_.0-9]+)(?: head (\d+))?", data["csv_name"])
    return Place(found[1], int(found[2]) - 1 if found[2] else None) if found else None


def check_matrix(data: dict[str, Any], oracle: Forward) -> None:
    """All values, the masked cells, and the numbers in the title and below it."""
    shown, place = floats(data), place_of(data)
    if place is None:
        (expected,) = (make(oracle, data) for pattern, make in OTHER.items() if re.fullmatch(pattern, data["csv_name"]))
        assert expected.shape == shown.shape
        assert np.allclose(shown, expected, atol=1e-4, rtol=1e-4), data["csv_name"]
        return
    whole = oracle[place.name] if place.head is None else oracle[place.name][place.head]
    true = whole[: shown.shape[0], : shown.shape[1]]
    assert shown.shape[0] == min(len(whole), READABLE)
    assert np.array_equal(np.isfinite(shown), np.isfinite(true))
    assert np.allclose(shown, true, atol=1e-4, rtol=1e-4), data["csv_name"]
    if data["hidden"]:
        hidden = np.frombuffer(b64decode(data["hidden"]), np.uint8).reshape(shown.shape).astype(bool)
        scores = oracle[f"{place.name.rpartition('.')[0]}.scores"][place.head]
        assert np.array_equal(hidden, np.isneginf(scores[: shown.shape[0], : shown.shape[1]]))
    d_model, d_k = config()["d_model"], config()["d_model"] // config()["n_heads"]
    layer = place.layer + (2 if "add_norm" in place.name else 1)  # what one layer writes, the next one reads
    known = {0, 1, -1, layer, (place.head or 0) + 1, d_model, d_k, np.sqrt(d_k), np.sqrt(d_model), *whole.shape}
    assert set(numbers_in(data["title"] + " " + data["how_to_read"])) <= known


def check_grid(data: dict[str, Any], oracle: Forward) -> None:
    """The bytes of the overview against the weights of every encoder head."""
    height, width = data["height"], data["width"]
    shown = np.frombuffer(b64decode(data["maps"]), np.uint8).reshape(data["layers"], -1, height, width)
    for layer, maps in enumerate(shown):
        true = oracle[f"encoder.layers.{layer}.self_attn.weights"][:, :height, :width]
        assert np.abs(maps[: data["heads"]] - 255 * true).max() < 0.51


def products_of_positions(oracle: Forward, data: dict[str, Any]) -> np.ndarray:
    table = oracle["encoder.embedding.positions"][: len(data["rows"])]
    return table @ table.T


def rotation(oracle: Forward, data: dict[str, Any]) -> np.ndarray:
    (step,) = (int(n) for n in re.findall(r"rotation by (\d+)", data["csv_name"]))
    result = np.zeros((6, 6))
    for i in range(3):
        angle = step / 10000 ** (2 * i / config()["d_model"])
        result[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
    return result


def one_hot_times_matrix(oracle: Forward, data: dict[str, Any]) -> np.ndarray:
    (row,) = (int(n) for n in re.findall(r"E\[(\d+)\]", data["rows"][1]))
    assert row in oracle.ids["encoder"]
    return np.stack([weights()["embedding.matrix.weight"][row, :16]] * 2)


# Matrices that are no tensor of the pass, by the name of their download.
OTHER: dict[str, Callable[[Forward, dict[str, Any]], np.ndarray]] = {
    "one-hot times E": one_hot_times_matrix,
    "products of positions": products_of_positions,
    r"rotation by \d+ positions": rotation,
}


# --- Check ---------------------------------------------------------------------------------------------------------


def operands(oracle: Forward, name: str, index: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray] | None:
    """For a sum of products: the two rows that are multiplied."""
    stem, _, what = name.rpartition(".")
    if what == "cosines":
        rows = oracle["encoder.embedding.tokens"]
        return rows[index[0]], rows[index[1]]
    if what in ("q", "k", "v"):
        head, row, dimension = index
        d_k = oracle[name].shape[-1]
        layer, stack = int(stem.split(".")[2]), stem.split(".")[0]
        if "cross" in stem:
            source = (
                f"decoder.layers.{layer}.add_norm_1.output"
                if what == "q"
                else f"encoder.layers.{config()['n_layers'] - 1}.add_norm_2.output"
            )
        elif layer == 0:
            source = f"{stack}.embedding.output"
        else:
            source = f"{stack}.layers.{layer - 1}.add_norm_{2 if stack == 'encoder' else 3}.output"
        return oracle[source][row], oracle[f"{stem}.w_{what}.weight"][head * d_k + dimension]
    if what == "products":
        head, row, column = index
        return oracle[f"{stem}.q"][head, row], oracle[f"{stem}.k"][head, column]
    if what == "heads":
        head, row, dimension = index
        return oracle[f"{stem}.weights"][head, row], oracle[f"{stem}.v"][head, :, dimension]
    return None


def check_formula(formula: str, oracle: Forward, name: str, index: tuple[int, ...]) -> None:
    """The arithmetic is right, it ends in the oracle's value, and its factors are the oracle's too."""
    true = value_at(oracle, name, index)
    result = agree(formula)
    assert result == true or close(result, true), f"{formula} but {true}"
    pair = operands(oracle, name, index)
    if pair is None:
        return
    plain = formula.replace("(", "").replace(")", "")
    decimals = rf"({SIGN}\d+\.\d+)"
    for left, right in re.findall(rf"{decimals}\\cdot {decimals}", plain):
        lengths = [np.linalg.norm(side) for side in pair]
        if name == "cosines" and np.allclose([float(left), float(right)], lengths, atol=1e-4):
            continue
        near = (np.abs(pair[0] - float(left)) < 1e-4) & (np.abs(pair[1] - float(right)) < 1e-4)
        assert near.any(), f"{left} times {right} is no product of {name}{index}"


def says_numbers(oracle: Forward, name: str, index: tuple[int, ...], listed: int) -> list[float]:
    """The numbers in the words above a formula, but those of the largest products."""
    what = name.rpartition(".")[2]
    d_model, n_heads = config()["d_model"], config()["n_heads"]
    d_k = d_model // n_heads
    if re.search(r"add_norm_\d\.output$", name):
        return [index[1] + 1, d_model]
    match what:
        case "cosines":
            return [index[0] + 1, index[1] + 1, d_model]
        case "tokens":
            id = oracle.ids[name.split(".")[0]][index[0]]
            return [id, index[1] + 1, id, 0, config()["vocab_size"], 0]
        case "q" | "k" | "v":
            head, row, dimension = index
            return [row + 1, head * d_k + dimension + 1, head + 1, dimension + 1, d_model]
        case "products":
            return [index[1] + 1, index[2] + 1, d_k]
        case "scaled" if "attn" in name:
            return [d_k]
        case "scaled":
            return [d_model]
        case "positions":
            return [index[0], 0, index[1], 0, 2, index[1] - index[1] % 2]
        case "weights":
            seen = int(np.isfinite(oracle[name.replace("weights", "scores")][index[:2]]).sum())
            if np.isneginf(oracle[name.replace("weights", "scores")][index]):
                return [0]
            return [seen] if seen <= listed else [seen, seen - listed]
        case "heads":
            total = oracle[name.replace("heads", "weights")].shape[-1]
            return [index[2] + 1, total] if total <= listed else [index[2] + 1, total, total - listed]
        case _:
            return []


def check_says(says: str, oracle: Forward, name: str, index: tuple[int, ...]) -> None:
    """The numbers in the words, with the named dimensions truly those of the largest products."""
    found = numbers_in(says.replace("\\", ""))
    expected = says_numbers(oracle, name, index, listed=4)
    pair = operands(oracle, name, index)
    if pair is not None and len(pair[0]) > 3 and "largest of the" in says:
        size = np.abs(pair[0] * pair[1])
        named = [int(n) - 1 for n in found[len(expected) : -1]]
        assert len(named) == 3
        assert min(size[named]) >= np.sort(size)[-3] - 1e-4
        assert found[-1] == len(size) - 3
        found = found[: len(expected)]
    assert found == expected, says


class Lookup(dict[str, np.ndarray]):
    """`t` of a snippet, answered by the oracle instead of the download."""

    def __init__(self, oracle: Forward) -> None:
        super().__init__()
        self.oracle = oracle

    def __missing__(self, name: str) -> np.ndarray:
        whole, _, row = name.removesuffix("]").partition("[")
        return self.oracle[whole][int(row)] if row else self.oracle[whole]


def run_snippet(snippet: str, t: Any) -> float:
    """The value of a snippet's last line."""
    *lines, last = snippet.strip().splitlines()
    scope = {"np": np, "t": t}
    exec("\n".join(line for line in lines if not line.startswith(("import", "t = np.load"))), scope)
    return float(eval(last, scope))


def check_check(seen: Seen, oracle: Forward) -> set[int]:
    """The worked cell: heading, words, formula, snippet. Returns which of the texts were looked at."""
    (data,) = (d for d in seen.matrices if place_of(d))
    place = place_of(data)
    assert place is not None
    cell = tuple(data["selected"])
    index = cell if place.head is None else (place.head, *cell)
    true = value_at(oracle, place.name, index)
    done = set()
    for n, text in enumerate(seen.texts):
        if found := re.match(rf"\*\*How did this ({SIGN}(?:\d+\.\d+|inf|∞)) come about\?", text):
            shown = float(found[1].replace("−", "-").replace("∞", "inf"))
            assert shown == true or close(shown, true), f"{text} but {true}"
            done.add(n)
        elif found := re.match(r"\d\\\. (.*)", text):
            check_says(found[1], oracle, place.name, index)
            done.add(n)
        elif text.startswith(r"$\displaystyle"):
            check_formula(text.strip("$"), oracle, place.name, index)
            done.add(n)
    assert len(done) == 3, seen.texts
    (code,) = seen.codes
    result = run_snippet(code, Lookup(oracle))
    said = float(code.rpartition("# ")[2])
    assert result == true or close(result, true, 6)
    assert said == true or close(said, true, 6)
    return done


# --- words ---------------------------------------------------------------------------------------------------------


def expect(text: str, numbers: list[float]) -> None:
    """The numbers of a text, in order, to the digits shown; bold parts may hold a visitor's words and are left out."""
    found = [n.replace("−", "-").replace(",", "") for n in NUMBER.findall(text)]
    assert len(found) == len(numbers), (text, numbers)
    for shown, true in zip(found, numbers, strict=True):
        digits = len(shown.partition(".")[2])
        assert close(float(shown), true, digits) if digits else float(shown) == true, (text, shown, true)


def without_bold(text: str) -> str:
    return re.sub(r"\*\*.*?(?<!\\)\*\*", "", text)


def only_place(seen: Seen) -> Place:
    (place,) = (p for d in seen.matrices if (p := place_of(d)))
    return place


def sizes(path: str, oracle: Forward) -> tuple[int, int, int]:
    """T, S, d_k of the attention at a path."""
    return oracle[f"{path}.q"].shape[1], oracle[f"{path}.k"].shape[1], oracle[f"{path}.q"].shape[2]


def cost(text: str, seen: Seen, oracle: Forward) -> None:
    t, s, d_k = sizes(only_place(seen).name.rpartition(".")[0], oracle)
    expect(text, [t, d_k, s, d_k, s, d_k, t, s, t, s, d_k, t * s * d_k])


def hidden_cells(text: str, seen: Seen, oracle: Forward) -> None:
    t, *_ = sizes(only_place(seen).name.rpartition(".")[0], oracle)
    expect(text, [t, t, t, t, t, t - 1, 2, t * (t - 1) // 2, t * t])


def projections(text: str, seen: Seen, oracle: Forward) -> None:
    s, (kind,) = len(oracle["encoder.embedding.output"]), (b.value for b in seen.buttons if b.key == "attention")
    t = s if kind == "Encoder" else len(oracle["decoder.embedding.output"])
    n_heads, d_model = config()["n_heads"], config()["d_model"]
    d_k = d_model // n_heads
    learned = [d_model, d_model, d_model, n_heads, d_k]
    if kind == "Encoder-decoder":
        expect(text, [t, d_model, n_heads, t, d_k, s, d_model, n_heads, s, d_k, n_heads, s, d_k, *learned])
    else:
        expect(text, [t, d_model, n_heads, t, d_k, n_heads, t, d_k, *learned])


def looked_at(text: str, seen: Seen, oracle: Forward) -> None:
    place, row = only_place(seen), seen.matrices[0]["selected"][0]
    weights = oracle[place.name][place.head][row]
    best = np.argsort(-weights, kind="stable")[:3]
    expect(without_bold(text), [row + 1, *(n for j in best for n in (j + 1, float(weights[j])))])


def readable_part(text: str, seen: Seen, oracle: Forward) -> None:
    (data,) = (d for d in seen.matrices if place_of(d))
    place = only_place(seen)
    whole = oracle[place.name] if place.head is None else oracle[place.name][place.head]
    expect(text, [len(data["rows"]), whole.shape[0], len(data["columns"]), whole.shape[1]])


def same_products(text: str, seen: Seen, oracle: Forward) -> None:
    """A diagonal's products differ by rounding alone."""
    found = re.match(r"Within a diagonal the products differ by at most ([\d.]+)(?: · 10([⁻⁰-⁹¹²³]+))?, ", text)
    assert found
    power = (found[2] or "⁰").translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
    assert float(found[1]) * 10.0 ** int(power) < 1e-3, text
    expect(text[found.end() :], [2, config()["d_model"] // 2])


def steps_on(text: str, seen: Seen, oracle: Forward) -> None:
    (step,) = seen.sliders
    length = (config()["d_model"] / 2) ** 0.5
    begins, lengths = text.split("A rotation changes no length")
    assert numbers_in(begins)[:4] == [step, 0, 99 - step, step]
    assert re.search(r"by at most \*\*(0\.000|[\d.]+ · 10⁻[⁵-⁹¹²³])", begins), text
    expect(lengths, [100, length, length, config()["d_model"] // 2, length])


def clock_table(text: str, seen: Seen, oracle: Forward) -> None:
    (position,), d_model = seen.sliders, config()["d_model"]
    for line in text.splitlines()[2:]:
        pair, angle, sine, cosine = numbers_in(line)
        turned = position / 10000 ** (2 * pair / d_model)
        assert close(angle % (2 * np.pi), turned % (2 * np.pi)) or close(angle, turned), line
        assert close(sine, np.sin(turned)), line
        assert close(cosine, np.cos(turned)), line


def rows_of_matrix(text: str, seen: Seen, oracle: Forward) -> None:
    expect(text, [*weights()["embedding.matrix.weight"].shape, *oracle[only_place(seen).name].shape])


def place_of_the_one(text: str, seen: Seen, oracle: Forward) -> None:
    row = next(d["selected"][0] for d in seen.matrices if place_of(d))
    expect(without_bold(text), [1, oracle.ids["encoder"][row], config()["vocab_size"], 0])


def long_way(text: str, seen: Seen, oracle: Forward) -> None:
    size, d_model = weights()["embedding.matrix.weight"].shape
    expect(text, [d_model, 0, size, d_model, size * d_model])


def readable_pieces(text: str, seen: Seen, oracle: Forward) -> None:
    expect(text, [READABLE, len(oracle.ids["encoder"])])


def fixed(*numbers: float) -> Callable[[str, Seen, Forward], None]:
    return lambda text, seen, oracle: expect(text, list(numbers))


# Who checks a text with numbers in it: the one whose pattern it begins with.
WORDS: dict[str, Callable[[str, Seen, Forward], None]] = {
    "Shapes: Q": cost,
    "Shapes: scores": hidden_cells,
    "X ": projections,
    "The chosen row": looked_at,
    r"Shown: the first \d+ of \d+ rows": readable_part,
    r"Shown: the first \d+ of \d+ pieces": readable_pieces,
    "Shapes: E": rows_of_matrix,
    r"\*\*Why the look-up": place_of_the_one,
    "Largest difference over all": long_way,
    "Within a diagonal": same_products,
    "The same matrix takes": steps_on,
    r"\| pair \| angle": clock_table,
    "Each pair of dimensions is a clock hand": fixed(0, 1, 57),
    "In other words, M is unitary": fixed(1),
    r"Orange is \+1, blue −1": fixed(1, -1),
}

# Figures whose numbers stand in a table beside them, or are tested with the function that draws them.
CHARTS = {"clocks", "waves"}


def check_words(seen: Seen, oracle: Forward, done: set[int]) -> None:
    """Every other text with a number in it has somebody who checks it."""
    for n, text in enumerate(seen.texts):
        if n in done or not re.search(r"\d", re.sub(r"\$.*?\$", "", text)):
            continue
        checks = [check for begins, check in WORDS.items() if re.match(begins, text)]
        assert len(checks) == 1, f"nobody checks the numbers in: {text}"
        checks[0](text, seen, oracle)


# --- the tokenizer's page, which has cards for a matrix and merge rules for arithmetic ------------------------------


def check_pieces(seen: Seen, sentence: str) -> None:
    ids, entry = source_ids(sentence), tokenizer().id_to_token
    (data,) = seen.components
    assert len(data["cards"]) == min(len(ids), READABLE)
    for (_, (raw, id_text), _, _), id in zip(data["cards"], ids, strict=False):
        assert id_text == f"id {id}"
        assert raw == ("added" if id < 3 else bytes_of(entry(id)).hex(" ").upper())
    text = tokenizer().decode(ids[:-1])
    assert seen.codes[:2] == [str(ids), text]
    chosen = ids[data["selected"][1]]
    ranks = replayed(entry(chosen)) if chosen >= 3 else []
    joins = [rank for known in seen.texts for rank in re.findall(r"\d+\. Rule \*\*([\d,]+)\*\*", known)]
    assert [int(rank.replace(",", "")) for rank in joins] == ranks
    n_bytes = len(bytes_of(entry(chosen))) if chosen >= 3 else 0
    made = [ranks[-1], 3, 256, 0, 1] if ranks else [3, 258]
    known = {
        r"\d+ characters?, ": [len(text), len(text.encode()), len(ids) - 1],
        "This one stands for no text": [3, chosen, 0],
        "It starts as ": [n_bytes],
        r"1\\\. ": made,
        r"\d+ of the [\d,]+ merge rules": [len(ranks), len(merges()), 1, 2],
        "Shown: the first ": [READABLE, len(ids)],
    }
    for text in seen.texts:
        if found := re.match(r"\*\*How did .* become (\d+)\?\*\*", text):
            assert int(found[1]) == chosen
        elif text.startswith("$"):
            formula = text.strip("$").replace(r"\text{id}", "x")
            assert (float(formula.rpartition("=")[2]) if "x" in formula else agree(formula)) == chosen
        elif re.search(r"\d", text) and not re.match(r"\d+\. Rule", text):
            (numbers,) = (n for begins, n in known.items() if re.match(begins, text))
            expect(re.sub(r"`.*?`|^1\\\.", "", text), numbers)
    for line in seen.codes[2].splitlines():
        if found := re.match(r"(.*)  # (\d+)$", line):
            scope = {"t": tokenizer(), "merges": [list(pair) for pair in merges()]}
            assert eval(found[1], scope) == int(found[2]), line


# --- the walk ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda one: one.slug)
def test_every_number_of_see_and_check(lesson: Lesson) -> None:
    app, choose = opened(lesson.file), random.Random(lesson.slug)
    n_matrices = n_formulas = 0
    for sentence in SENTENCES:
        app.text_input(key="sentence").input(sentence)
        for _ in range(STATES):
            app.query_params["cell"] = f"{choose.randint(1, 6)}.{choose.randint(1, 6)}"
            for button in part(app, "part_see").buttons:
                button.set_value(choose.choice(button.options))
            app.run()
            assert_sound(app)
            # Texts are shown as the browser gets them: the trace tidies the sentence, the oracle does it on its own.
            oracle, seen = forward(sentence), part(app, "part_see")
            if lesson.slug == "tokenization":
                check_pieces(seen, sentence)
                n_matrices += 1
                n_formulas += len(seen.formulas)
                continue
            for data in seen.components:
                (check_matrix if "values" in data else check_grid)(data, oracle)
            assert set(seen.charts) <= CHARTS
            check_words(seen, oracle, check_check(seen, oracle))
            n_matrices += len(seen.matrices)
            n_formulas += len(seen.formulas)
    assert n_matrices >= len(SENTENCES)
    assert n_formulas >= len(SENTENCES) // 2


# --- every kind of number, beyond what one walk meets ----------------------------------------------------------------


@pytest.mark.parametrize("sentence", SENTENCES, ids=range(len(SENTENCES)))
def test_every_tensor_of_a_sentence(sentence: str) -> None:
    trace, oracle = engine.trace(sentence), forward(sentence)
    assert [token.id for token in trace.src] == source_ids(sentence)
    for name, tensor in trace.tensors.items():
        if not name.endswith("mask"):
            true = oracle[name]
            assert np.array_equal(np.isfinite(tensor), np.isfinite(true)), name
            assert np.allclose(tensor, true, atol=2e-4, rtol=2e-4), name


def test_the_weights_that_the_app_shows_are_the_shipped_ones() -> None:
    shown = engine.weights()
    assert shown.keys() == weights().keys()
    for name, true in weights().items():
        assert np.array_equal(shown[name], true), name


@pytest.mark.parametrize(("pattern", "rule"), RULES, ids=lambda one: getattr(one, "__name__", ""))
def test_every_rule_of_check(pattern: re.Pattern[str], rule: Any) -> None:
    """Random cells of every tensor that the rule knows, in three sentences."""
    choose = random.Random(pattern.pattern)
    tried = 0
    for sentence in (SENTENCES[0], SENTENCES[2], SENTENCES[6]):
        oracle, found = forward(sentence), engine.numbers(engine.trace(sentence))
        for name in filter(pattern.fullmatch, found.tensors):
            for _ in range(2):
                index = tuple(choose.randrange(size) for size in found.tensors[name].shape)
                step, true = worked(found, name, index), value_at(oracle, name, index)
                check_formula(step.formula, oracle, name, index)
                check_says(step.says, oracle, name, index)
                assert step.value == true or close(step.value, true, 6)
                own = run_snippet(step.snippet, arrays(found, [step]))
                assert own == true or close(own, true, 6), step.snippet
                tried += 1
    assert tried
