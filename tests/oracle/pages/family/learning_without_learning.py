"""What the lesson on in-context learning must show."""

import json
import zlib
from typing import Any

import numpy as np

from tests.oracle.language import claims
from tests.oracle.language import scene as screen
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import number
from tests.oracle.language.common import Shown, Statements, check_cell, code_of, numbers_of_figure, tensor_matrix
from tests.oracle.language.page import Page
from tests.oracle.language.statement import factor, tex
from tests.oracle.passes.draws import regression
from tests.oracle.passes.family.in_context import (
    FOLDER,
    MOST,
    along_rule,
    config,
    first_task,
    follows,
    guesses,
    last_weights,
    weights,
)  # fmt: skip
from tests.oracle.shown.worked import Step, long_sum, steps

prose = Prose("learning_without_learning")

WAYS = {
    "Transformer": "#0072B2",
    "ridge": "#E69F00",
    "least squares": "#CC79A7",
    "3 nearest neighbours": "#009E73",
    "always 0": "#808a96",
}
NOISES, SIZES, USUAL = ("0.1", "0.25", "0.5", "1", "2"), ("0.5", "1", "2", "3"), 0.5
LISTED = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40)
STATES = (
    {},
    {"icl_examples": "2", "icl_noise": "1", "icl_draw": "2", "icl_x": "1", "icl_beta": "3", "icl_layer": "2", "icl_head": "3"},
    {"icl_noise": "0.1", "icl_x": "3", "icl_beta": "0.5"},
    {"icl_examples": "40", "icl_x": "0.5", "icl_layer": "4", "cell": "1.2", "sentence": "Go", "icl_noise": "2", "icl_beta": "2"},
)  # fmt: skip


class State:
    """What the controls are set to."""

    def __init__(self, page: Page) -> None:
        self.n = page.count("icl_examples", MOST, 10)
        self.noise = page.choice("icl_noise", NOISES, "0.5")
        self.sigma = float(self.noise)
        self.draw = page.count("icl_draw", 5, 1)
        self.x_size, self.beta_size = page.choice("icl_x", SIZES, "2"), page.choice("icl_beta", SIZES, "1")
        self.layer = page.count("icl_layer", config()["n_layers"], 1)
        self.head = page.count("icl_head", config()["n_heads"], 1)
        self.count = f"{self.n} example{'' if self.n == 1 else 's'}"


def errors(all_guesses: dict[str, np.ndarray], name: str) -> np.ndarray:
    return np.asarray(((all_guesses[name] - all_guesses["y"]) ** 2).mean(0))


def ratio(all_guesses: dict[str, np.ndarray], n: int) -> float:
    return float(errors(all_guesses, "Transformer")[n - 1] / errors(all_guesses, "ridge")[n - 1])


def place(row: int) -> str:
    return "xy"[row % 2] + "".join("₀₁₂₃₄₅₆₇₈₉"[int(digit)] for digit in str(row // 2 + 1))


def error_lines(found: dict[str, np.ndarray], state: State) -> Statements:
    lines = {name: errors(found, name) for name in WAYS}
    top = 1.5 * lines["always 0"].max()
    said = ", ".join(f"{name} {number(of[state.n - 1], 2)}" for name, of in lines.items())
    yield claims.curves(
        [
            claims.Line(name, np.arange(1, MOST + 1), np.minimum(of, 10 * top), WAYS[name], dashed=name == "ridge")
            for name, of in lines.items()
        ],
        claims.Axis("examples in the prompt", 1, MOST, [(one, str(one)) for one in (1, 5, 10, 20, 30, 40)]),
        claims.Axis("mean squared error of the guess", 0, top),
        alt=f"Mean squared error by the number of examples, 1 to {MOST}. With {state.n}: {said}.",
        upright=state.n,
        across=state.sigma**2,
    )
    if high := [name for name, of in lines.items() if of.max() > top]:
        # The shortest β through five examples in five dimensions is the longest of all.
        at = {name: int(lines[name].argmax()) + 1 for name in high}
        said = (f"{name} with {n} example{'s' * (n > 1)}: {number(lines[name].max(), 1)}" for name, n in at.items())
        yield from prose("some errors are too", ", ".join(said))


STOPS, PAIRS = (1, 2, 3, 5, 8, 12, 20, 40), 6


def scene(page: Page) -> Statements:
    """The rule that the text draws, and how near the guesses come to it with more and more pairs."""
    read = along_rule(zlib.crc32(page.text.encode()), STOPS)
    places, length = read["places"], np.linalg.norm(read["beta"])
    misses = {way: np.abs(read[way] - length * places).mean(1) for way in ("own", "ridge")}
    opens = next(n for n, miss in enumerate(misses["own"]) if miss <= misses["own"][0] / 2)
    frames = [scene_frame(read, stop, [float(miss[stop]) for miss in misses.values()]) for stop in range(len(STOPS))]
    caption = prose.line("learning without learning the")
    yield from screen.scene(page, caption, "Pairs that it reads", frames, opens, by="slider", plays=True)


def scene_frame(read: dict[str, np.ndarray], stop: int, misses: list[float]) -> dict[str, Any]:
    n, x, y, length = STOPS[stop], read["x"], read["y"], float(np.linalg.norm(read["beta"]))
    places, direction = read["places"], read["beta"] / length
    cards = [
        screen.card(number(y[i], 2), note=place(2 * i + 1), column=x[i])
        if i < n
        else screen.card("·", "unseen", note=place(2 * i + 1))
        for i in range(max(0, n - PAIRS), max(0, n - PAIRS) + PAIRS)
    ]
    cards.append(screen.card("?", "asked", note="asked", column=1.5 * direction))
    along, rule = x @ direction, length * places
    drawn = [i for i in range(len(x)) if abs(along[i]) <= 2.5]
    top = float(np.ceil(max(abs(of).max() for of in (read["own"], read["ridge"], rule, y[drawn]))))
    lines = [
        screen.line("hidden rule", [*zip(places, rule, strict=True)], "plain", True),
        screen.line("Transformer", [*zip(places, read["own"][stop], strict=True)]),
        screen.line("ridge", [*zip(places, read["ridge"][stop], strict=True)], "key", True),
    ]
    curve = screen.curve(
        lines,
        ("x along the rule; green: pairs that were read", -2.5, 2.5),
        ("y", -top, top),
        knob=(1.5, read["own"][stop][16]),
        dots=[(along[i], y[i]) for i in drawn if i < n],
    )
    pairs, size = f"{n} pair{'s' * (n > 1)}", sum(w.size for w in weights("float64").values())
    return screen.frame(
        str(n),
        prose.line("after its guesses lie", *pairs.split(), *(number(miss, 2) for miss in misses), f"{size:,}"),
        [screen.cards([screen.row(cards, "x above its y")], limit=2.5)],
        [curve],
    )


def see(page: Page) -> Statements:
    state = State(page)
    found = guesses(state.sigma, state.draw)
    yield claims.slider("Examples", 1.0, MOST, state.n)
    yield claims.control("select_slider", "Noise σ (in training: 0.5)", options=list(NOISES), value=state.noise)
    yield claims.segmented("Draw of the tasks", range(1, 6), state.draw)
    yield from prose("how good is a")
    yield from error_lines(found, state)
    other = "" if state.sigma == USUAL else prose.line("it was trained with")
    ratios = number(ratio(found, state.n), 2), number(state.sigma**2, 2)
    yield from prose("means over tasks that", state.count, *ratios, other)
    last = {name: found[name][:, state.n - 1] for name in WAYS}
    yield claims.table(
        (state.count, "mean squared error", "mean squared distance to ridge's guesses"),
        *(
            (name, number(errors(found, name)[state.n - 1], 3), number(((of - last["ridge"]) ** 2).mean(), 3))
            for name, of in last.items()
        ),
    )
    yield from numbers_of_figure(
        ("examples", *WAYS), *((str(n), *(number(errors(found, name)[n - 1], 3) for name in WAYS)) for n in LISTED)
    )


def check(page: Page) -> Statements:
    state = State(page)
    yield claims.segmented("Layer", range(1, config()["n_layers"] + 1), state.layer)
    yield claims.segmented("Head", range(1, config()["n_heads"] + 1), state.head)
    read, row = first_task(state.sigma, state.draw), 2 * state.n
    name = f"decoder.layers.{state.layer - 1}.self_attn.weights"
    looks = read[name][state.head - 1, row, : row + 1]
    columns = sorted(np.argsort(-looks, kind="stable")[:12].tolist())
    sides = [place(row)], [place(column) for column in columns]
    cell = page.pair("cell", (1, len(columns)), (0, int(looks[columns].argmax())))
    csv_name = f"{name} head {state.head} rows {row} columns {','.join(map(str, columns))}"
    shown = Shown(
        name, read, *sides, ([row], columns), cell, state.head - 1, np.zeros((1, len(columns)), bool),
        more={"csv_name": csv_name, "scale": "weight", "describe": "{row} looks at {column}: {value}"},
    )  # type: ignore[arg-type]  # fmt: skip
    yield from tensor_matrix(shown, **prose.words("weights", place(row), state.layer, state.head, len(columns)))
    yield from check_cell(shown)
    yield from prose("ridge's guess for the")
    yield from by_hand(state)


def by_hand(state: State) -> Statements:
    x, y = (one[0] for one in regression(state.sigma, 1, 1, state.draw))
    pairs, answers, asked = x[: state.n], y[: state.n], x[state.n]
    penalty = state.sigma**2 * 5
    beta = np.linalg.solve(pairs.T @ pairs + penalty * np.eye(5), pairs.T @ answers)
    named, total = long_sum(pairs[:, 0], answers)
    last, guessed = long_sum(asked, beta)
    listed = r",\ ".join(tex(one) for one in beta)
    variance = rf"{tex(state.sigma)}\cdot {factor(state.sigma)}\cdot 5 = {tex(penalty)}"
    first = prose.line("the first number of", named.replace("dimensions", "examples"))
    yield from steps(
        Step(prose.line("lambda is the variance"), variance),
        Step(first, f"{total} = {tex(pairs[:, 0] @ answers)}"),
        Step(prose.line("five such numbers and"), rf"\hat\beta = ({listed})"),
        Step(prose.line("the last x times", last), f"{guessed} = {tex(asked @ beta)}"),
    )
    own = guesses(state.sigma, state.draw)["Transformer"][0, state.n - 1]
    yield from prose("the transformer guesses for", number(own, 3), place(2 * state.n), number(y[state.n], 3))


def do(page: Page) -> Statements:
    state = State(page)
    yield from prose("leave what it was")
    yield claims.segmented("Deviation of the numbers of x (in training: 1)", SIZES, state.x_size)
    yield claims.segmented("Length of β (in training: about 1)", SIZES, state.beta_size)
    other = guesses(state.sigma, state.draw, float(state.x_size), float(state.beta_size))
    yield from error_lines(other, state)
    here = {f"noise σ = {state.noise}, as in See": guesses(state.sigma, state.draw)} if state.sigma != USUAL else {}
    moved = f"σ = {state.noise}, x times {state.x_size}, β times {state.beta_size}"
    rows = {"as in training": guesses(USUAL, state.draw), **here, moved: other}

    def found(one: dict[str, np.ndarray]) -> tuple[str, ...]:
        both = (number(errors(one, way)[state.n - 1], 3) for way in ("Transformer", "ridge"))
        return (*both, number(ratio(one, state.n), 2))

    head = (f"tasks, {state.count}", "Transformer", "ridge", "Transformer / ridge")
    yield claims.table(head, *((name, *found(one)) for name, one in rows.items()))
    yield from prose("mean squared errors a")
    yield from every_head(state)
    yield from published()


def every_head(state: State) -> Statements:
    yield from prose("what the last looks")
    looks, _ = last_weights(state.sigma, state.draw, state.n)
    layers, heads = looks.shape[1:3]
    yield claims.matrix(
        looks[0].reshape(layers * heads, -1),
        [f"{layer + 1}.{head + 1}" for layer in range(layers) for head in range(heads)],
        [*(f"pair {n}" for n in range(1, state.n + 1)), place(2 * state.n)],
        **prose.words("weights of the last"),
        csv_name="matrix",
        describe="head {row} looks at {column}: {value}",
    )
    if state.n < 3:
        yield from prose("with fewer than examples")
        return
    along = follows(state.sigma, state.draw, state.n)
    layer, head = divmod(int(along.argmax()), heads)
    yield from prose("does it look at", layer + 1, head + 1, number(along.max(), 2))


def published() -> Statements:
    metrics = json.loads((FOLDER / "metrics.json").read_text())
    test, training = metrics["test"], metrics["training"]
    yield from prose("measured after its training")
    listed = ("5", "10", "20", "40")
    yield claims.table(
        ("mean squared error", *(f"{n} examples" for n in listed)),
        *(
            ({"in-context": "Transformer", "zero": "always 0"}.get(name, name), *(number(of[n], 4) for n in listed))
            for name, of in test.items()
        ),
    )
    most = max(test["in-context"][str(n)] / test["ridge"][str(n)] for n in range(5, 41))
    steps, sigma = f"{training['steps']:,}", f"{training['regression']['sigma']:g}"
    yield from prose("with to examples its", number(most, 2), steps, sigma)


def predict(page: Page) -> Statements:
    size = sum(w.size for w in weights("float64").values())
    yield prose.question("the model has weights", 0, f"{size:,}", MOST)
    usual, longer = guesses(USUAL, 1), guesses(USUAL, 1, 2)
    least, nothing, best = (errors(usual, name)[4] for name in ("least squares", "always 0", "ridge"))
    options = ("smaller than that of always guessing 0", "larger than that of always guessing 0")
    right = int(least > nothing)
    values, wrong = (number(one, 2) for one in (least, nothing, best)), {1 - right: f"It is {options[right]}."}
    yield prose.question("an has five numbers", right, *values, options=options, wrong=wrong)
    before, after = ratio(usual, 10), ratio(longer, 10)
    own, best = (errors(longer, name)[9] for name in ("Transformer", "ridge"))
    low, high = number(1.1 * best, 2), number(2 * best, 2)
    says = (f"at most {low}", f"from {low} to {high}", f"above {high}")
    options = ("up to 1.1 times ridge's", "1.1 to 2 times ridge's", "more than twice ridge's")
    first, right = (int(one > 1.1) + int(one > 2) for one in (before, after))
    values, wrong = (number(one, 2) for one in (own, after, before)), [prose.line("an error", text) for text in says]
    yield prose.question("in training the numbers", right, options[first], *values, options=options, wrong=wrong)


code = code_of(
    "model/families/in_context.py: InContext",
    "training/loop/in_context.py: Regression, least_squares, nearest_neighbours",
)
