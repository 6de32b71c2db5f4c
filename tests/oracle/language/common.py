"""What several lessons show: the choice of a head, a tensor as a matrix, Check beside it, the code that ran."""

import ast
import functools
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import (
    FillIn,
    Question,
    Series,
    announcement,
    caption,
    cards,
    code,
    columns,
    control,
    download,
    fold,
    matrix,
    number,
    question,
    segmented,
    table,
)  # fmt: skip
from tests.oracle.language.page import READABLE, Page, tensor
from tests.oracle.language.statement import Statement, legible
from tests.oracle.language.words import Piece, inline, visible
from tests.oracle.passes.forward import Array, Forward, config
from tests.oracle.shown.worked import Step, steps, worked

prose = Prose("common")

ROOT = Path(__file__).parents[3]

Statements = Iterator[Statement | Question | FillIn]


# --- kinds of attention ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """One of the three attentions: what it is called, how its maps are read, and how a cell is said."""

    name: str
    label: str
    path: str
    describe: str

    @property
    def caption(self) -> dict[str, str]:
        """The title of its map, and how it is read."""
        return prose.words(self.name)


KINDS = {
    "encoder": Kind(
        "Encoder self-attention",
        "Encoder",
        "encoder.layers.{}.self_attn",
        "“{row}” looks at “{column}”: {value}",
    ),
    "decoder": Kind(
        "Decoder masked self-attention",
        "Masked decoder",
        "decoder.layers.{}.self_attn",
        "after reading “{row}”, the decoder looks at “{column}”: {value}",
    ),
    "cross": Kind(
        "Encoder-decoder attention",
        "Encoder-decoder",
        "decoder.layers.{}.cross_attn",
        "before writing “{row}”, the model looks at “{column}”: {value}",
    ),
}


def asks_and_answers(page: Page, kind: str) -> tuple[Sequence[Piece], Sequence[Piece]]:
    """What the rows and the columns of an attention stand for."""
    return {
        "encoder": (page.src, page.src),
        "decoder": (page.tgt, page.tgt),
        # A row of encoder-decoder attention belongs to the piece about to be written.
        "cross": (page.labels, page.src),
    }[kind]


@dataclass(frozen=True)
class Head:
    """A head, layer and head counted from 0."""

    kind: str
    layer: int
    head: int

    @property
    def path(self) -> str:
        return KINDS[self.kind].path.format(self.layer)

    @property
    def title(self) -> str:
        return f"{KINDS[self.kind].name}, layer {self.layer + 1}, head {self.head + 1}"

    @property
    def where(self) -> str:
        return f"layer {self.layer + 1}, head {self.head + 1} of the {KINDS[self.kind].name.lower()}"

    @property
    def phrase(self) -> str:
        """Within a sentence."""
        return self.title[0].lower() + self.title[1:]


def head(page: Page, kinds: Sequence[str] = tuple(KINDS), default: str = "encoder") -> Head:
    """The head that the address chooses; without it the first of the last layer."""
    by_label = {KINDS[kind].label: kind for kind in kinds}
    kind = by_label.get(page.state.get("attention", ""), default)
    n_layers, n_heads = config()["n_layers"], config()["n_heads"]
    return Head(kind, page.count("layer", n_layers, n_layers) - 1, page.count("head", n_heads, 1) - 1)


def early_kinds(page: Page) -> Sequence[str]:
    """What the first lessons on attention offer: the encoder's; the others to somebody who comes with one of them."""
    later = [KINDS[kind].label for kind in ("decoder", "cross")]
    return tuple(KINDS) if page.state.get("attention") in later else ("encoder",)


LAYER_HELP = (
    "The same block stands several times, one after the other. Each of these layers reads what the one before wrote."
)
HEAD_HELP = "Within a layer, several heads look at once, side by side, each with matrices of its own."


def addresses(*texts: str) -> tuple[dict[str, str], ...]:
    """States as they stand in an address: `a=1&b=two words`."""
    return tuple(dict(pair.split("=", 1) for pair in text.split("&") if pair) for text in texts)


def choose(
    page: Page, label: str, name: str, options: Sequence[str], default: str = ""
) -> Generator[Statement, None, str]:
    """A control with one of a few options, the first by default; returns what the address chooses."""
    control = Choice(label, name, options, default)
    yield control.drawn(page)
    return control.of(page)


@dataclass(frozen=True)
class Choice:
    """A control with one of a few options, the first by default."""

    label: str
    name: str
    options: Sequence[str]
    default: str = ""

    def of(self, page: Page) -> str:
        """What the address chooses."""
        return page.choice(self.name, self.options, self.default or self.options[0])

    def at(self, page: Page) -> int:
        return self.options.index(self.of(page))

    def drawn(self, page: Page) -> Statement:
        return segmented(self.label, self.options, self.of(page))

    def trials(self, *tried: Callable[[Page], Statements]) -> Callable[[Page], Statements]:
        """The claim of a part that begins with this control, and goes on with what claims each option."""

        def part(page: Page) -> Statements:
            yield self.drawn(page)
            yield from tried[self.at(page)](page)

        return part


@dataclass(frozen=True)
class Stops(Choice):
    """The same along a slider; of its options both ends must be tried."""

    def of(self, page: Page) -> str:
        chosen = super().of(page)
        page.asked[self.name] = (self.options[0], self.options[-1]), chosen
        return chosen

    def drawn(self, page: Page) -> Statement:
        return control("select_slider", self.label, options=list(self.options), value=self.of(page))


STACK = Choice("Stack", "stack", ("Encoder", "Decoder"))


@dataclass(frozen=True)
class Layer:
    """A layer of a stack, counted from 0."""

    stack: str
    n: int

    @property
    def path(self) -> str:
        return f"{self.stack}.layers.{self.n}"

    @property
    def phrase(self) -> str:
        return f"layer {self.n + 1} of the {self.stack}"

    @property
    def where(self) -> str:
        return f"{self.stack}, layer {self.n + 1}"


def layer_of(page: Page) -> Layer:
    """The layer that the address chooses; without it the last of the encoder."""
    n_layers = config()["n_layers"]
    return Layer(STACK.of(page).lower(), page.count("layer", n_layers, n_layers) - 1)


def layer_controls(page: Page) -> Statements:
    yield STACK.drawn(page)
    yield segmented("Layer", range(1, config()["n_layers"] + 1), layer_of(page).n + 1)


def read_by(page: Page) -> tuple[Piece, ...]:
    """The pieces that the chosen stack reads."""
    return page.src if STACK.of(page) == "Encoder" else page.tgt


def head_controls(page: Page, kinds: Sequence[str] = tuple(KINDS), default: str = "encoder") -> Statements:
    """Which attention, layer and head."""
    chosen = head(page, kinds, default)
    if len(kinds) > 1:
        yield segmented("Attention", [KINDS[kind].label for kind in kinds], KINDS[chosen.kind].label)
    yield segmented("Layer", range(1, config()["n_layers"] + 1), chosen.layer + 1, LAYER_HELP)
    yield segmented("Head", range(1, config()["n_heads"] + 1), chosen.head + 1, HEAD_HELP)


# --- a tensor as a matrix, and Check beside it -----------------------------------------------------------------------


@dataclass(frozen=True)
class Shown:
    """A tensor on the page, or one head of it.

    rows, columns: the texts beside and above all that is shown; at: which rows and columns of the tensor these are
    """

    name: str
    oracle: Forward
    rows: Sequence[str]
    columns: Sequence[str]
    at: tuple[Sequence[int], Sequence[int]]
    cell: tuple[int, int]
    head: int | None = None
    hidden: Array | None = None
    cut: str = ""
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def values(self) -> Array:
        whole = tensor(self.oracle, self.name)
        return (whole if self.head is None else whole[self.head])[np.ix_(*self.at)]

    @property
    def index(self) -> tuple[int, ...]:
        """Where the chosen cell lies in the tensor."""
        place = self.at[0][self.cell[0]], self.at[1][self.cell[1]]
        return place if self.head is None else (self.head, *place)


def shown_tensor(
    page: Page,
    name: str,
    *,
    head: int | None = None,
    kind: str | None = None,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    only_rows: Sequence[int] | None = None,
    only_columns: Sequence[int] | None = None,
    n_columns: int | None = None,
    start: tuple[int, int] | None = None,
    oracle: Forward | None = None,
    **more: Any,
) -> Shown:
    """A tensor as See shows it: cut to what can be read, with the cell that the address, or its size, chooses.

    Args: head: which one, if the tensor has heads; kind: of attention, which says what its rows and columns are;
          rows, columns: their texts, if not those of the pieces or the numbers of the dimensions
          only_rows, only_columns: just these; n_columns: the first so many; start: the cell chosen at first
          oracle: another pass than the page's; more: goes on to `claims.matrix`
    """
    oracle = oracle or page.oracle
    whole = tensor(oracle, name) if head is None else tensor(oracle, name)[head]
    what = name.rpartition(".")[2]
    between_pieces = kind is not None and what in ("products", "scaled", "scores", "weights", "average")
    height = min(len(whole), READABLE)
    width = min(whole.shape[1], READABLE if between_pieces else n_columns or whole.shape[1])
    at = only_rows or range(height), only_columns or range(width)
    if kind is not None:
        asks, answers = asks_and_answers(page, kind)
        stand_for = answers if what in ("k", "v") else asks
        rows = rows or [stand_for[i].text for i in at[0]]
        if between_pieces:
            columns = columns or [answers[j].text for j in at[1]]
    rows = rows or [(page.src if name.startswith("encoder") else page.tgt)[i].text for i in at[0]]
    columns = columns or [str(j + 1) for j in at[1]]
    hidden = None
    # All heads have the same mask; an average over several layers has none.
    mask = f"{name.rpartition('.')[0]}.scores"
    if kind is not None and what in ("weights", "scores", "average") and mask in oracle.tensors:
        hidden = np.isneginf(oracle[mask][head or 0])[np.ix_(*at)]
    values = whole[np.ix_(*at)]
    # The largest; of equal ones the first. The app computes in float32, where more are equal.
    sizes = np.abs(np.where(np.isfinite(values), values, 0)).astype(np.float32)
    first = divmod(int(sizes.argmax()), values.shape[1])
    cut = ""
    if not (only_rows or only_columns) and values.shape != whole.shape:
        sides = zip(values.shape, whole.shape, ("rows", "columns"), strict=True)
        cut = f"Shown: {' and '.join(f'the first {s} of {w} {side}' for s, w, side in sides if s != w)}."
    csv_name = f"{name} head {head + 1}" if head is not None else name
    for side, only in (("rows", only_rows), ("columns", only_columns)):
        csv_name += f" {side} {','.join(map(str, only))}" if only else ""
    is_weight = what in ("weights", "average")
    defaults: dict[str, Any] = {"csv_name": csv_name, "scale": "weight" if is_weight else "signed"}
    if is_weight and kind is not None:
        defaults["describe"] = KINDS[kind].describe
    cell = page.pair("cell", values.shape, start or first)
    return Shown(name, oracle, rows[: len(values)], columns, at, cell, head, hidden, cut, defaults | more)


def tensor_matrix(shown: Shown, *, title: str, how_to_read: str, **more: Any) -> Statements:
    """The matrix of a tensor, and what is cut of it."""
    yield matrix(
        shown.values,
        shown.rows,
        shown.columns,
        title=title,
        how_to_read=how_to_read,
        hidden=shown.hidden,
        selected=shown.cell,
        **shown.more | more,
    )
    if shown.cut:
        yield caption(shown.cut)


def check_cell(shown: Shown) -> Statements:
    """How the chosen cell came about, and the lines that compute it again."""
    value = float(tensor(shown.oracle, shown.name)[shown.index])
    row, column = (inline(side[n]) for side, n in zip((shown.rows, shown.columns), shown.cell, strict=True))
    yield from prose("how did this come", legible(value), row, column)
    row, column = (side[n] for side, n in zip((shown.rows, shown.columns), shown.cell, strict=True))
    yield announcement(f"Now worked out: row {visible(row)}, column {visible(column)}, {legible(value)}.")
    step = worked(shown.oracle, shown.name, shown.index)
    yield from steps(step)
    yield from prose("numbers are shown rounded")
    if step.blank:
        yield FillIn(step.blank.formula, step.blank.answer)
    yield from compute_it_yourself(step, value)


def compute_it_yourself(step: Step, value: float) -> Statements:
    yield from prose("compute it yourself")
    yield download("Download numbers.npz")
    *lines, last = step.snippet.splitlines()
    result, _, note = last.partition("  # ")
    lines += [f"# {note}"] if note else []
    yield code(
        "\n".join(
            [
                "import numpy as np",
                "",
                't = np.load("numbers.npz")',
                *lines,
                f"print({result})  # {'-inf' if np.isneginf(value) else number(value, 6, minus='-')}",
            ]
        )
    )


# --- figures that stand in several lessons ---------------------------------------------------------------------------


def numbers_of_figure(head: Sequence[str], *rows: Sequence[str]) -> Statements:
    """The table behind a fold below a figure."""
    yield from prose("the numbers of the")
    yield table(head, *rows)


def piece_columns(
    texts: Sequence[str], named: Iterable[tuple[str, Array]], limit: float | None = None, **words: str
) -> Statement:
    """A column for each text that can be read, of numbers by their names; words: of `claims.columns`."""
    series = [Series(name, values[:READABLE]) for name, values in named]
    return columns(texts[:READABLE], series, limit=limit, **words)


def chart_and_numbers(
    labelled: str,
    labels: Sequence[str],
    series: Sequence[Series],
    write: Callable[[float], str] = number,
    **chart: Any,
) -> Statements:
    """A column chart (see `claims.columns`) with its own table below."""
    yield columns(labels, series, **chart)
    rows = ((name, *(write(one.values[n]) for one in series)) for n, name in enumerate(labels))
    yield from numbers_of_figure((labelled, *(one.name for one in series)), *rows)


def pieces_before_after(page: Page, before: Array, after: Array, names: tuple[str, str]) -> Statements:
    """The probabilities (T) of the pieces of the translation before and after a change, as bars and in numbers."""
    texts = [piece.text for piece in page.labels[:READABLE]]
    alt = f"Two bars for each of {len(texts)} pieces: its probability {names[0]}, and {names[1]}."
    both = zip(names, (before, after), strict=True)
    yield piece_columns(texts, both, 1.0, alt=alt, axis="probability")
    lines = zip(texts, before, after, strict=False)
    rows = ((text, number(b), number(a), number(a - b)) for text, b, a in lines)
    yield from numbers_of_figure(("piece", *names, "change"), *rows)
    if len(before) > READABLE:
        yield from prose("what is said is about all", READABLE, len(before))


def shifted(page: Page) -> Statements:
    """The decoder's inputs, each with the piece written there: `<sos>` first, then what was written."""
    written = [piece.text for piece in page.labels]
    read = zip(["<sos>", *written], written[:READABLE], strict=False)
    yield cards([(one, [f"→ {next_}"], n, n == 0) for n, (one, next_) in enumerate(read)], **prose.words("shifted"))
    yield from cut_to((len(written), "pieces"))
    yield from prose("the decoder reads what")


def cut_to(*sides: tuple[int, str], most: Sequence[int] = (READABLE, READABLE)) -> Statements:
    """What is said of sides, each a length and a name, that are longer than can be read."""
    longer = ((n, *side) for n, side in zip(most, sides, strict=False) if side[0] > n)
    if parts := [f"the first {n} of {size} {side}" for n, size, side in longer]:
        yield from prose("shown", " and ".join(parts))


def cut_matrix(
    values: Array,
    rows: Sequence[Any],
    columns: Sequence[Any],
    hidden: Array | None = None,
    n_columns: int = READABLE,
    **more: Any,
) -> Statement:
    """As much of a matrix as can be read; rows, columns: of all of it, texts or what has one."""
    sides = ([getattr(one, "text", one) for one in side] for side in (rows[:READABLE], columns[:n_columns]))
    part = np.s_[:READABLE, :n_columns]
    return matrix(values[part], *sides, hidden=None if hidden is None else hidden[part], **more)


def before_after(
    values: Sequence[Array],
    titles: Sequence[str],
    rows: Sequence[Any],
    columns: Sequence[Any],
    *,
    csv_name: str,
    hidden: Sequence[Array | None] = (None, None),
    scale: str = "weight",
    instead: str = "",
    n_columns: int = READABLE,
    **more: Any,
) -> Statements:
    """Two matrices (T,S) side by side on one scale, or a note instead of the second; and what is cut of them."""
    limit = None if scale == "weight" else max(np.abs(one[:READABLE, :n_columns]).max() for one in values)
    for one, title, cover in zip(values, titles, hidden, strict=False):
        looks = {"title": title, "csv_name": f"{csv_name} {title}", "scale": scale, "limit": limit}
        yield cut_matrix(one, rows, columns, cover, n_columns, **looks, **more)
    if len(values) == 1:
        yield Statement("info", instead)
    yield from cut_to(*zip(values[0].shape, ("rows", "columns"), strict=True), most=(READABLE, n_columns))


def heads_before_after(
    page: Page, passes: Sequence[Forward], titles: Sequence[str], chosen: Head, instead: str = ""
) -> Statements:
    """The weights of one head before and after a change, side by side; without a second pass a note instead."""
    yield from before_after(
        [oracle[f"{chosen.path}.weights"][chosen.head] for oracle in passes],
        titles,
        *asks_and_answers(page, chosen.kind),
        how_to_read=f"{chosen.title}; 0 to 1 on both sides.",
        describe=KINDS[chosen.kind].describe,
        csv_name=f"weights {chosen.title}",
        hidden=[np.isneginf(oracle[f"{chosen.path}.scores"][chosen.head]) for oracle in passes],
        instead=instead,
    )


def which_piece(text: str, values: Array, sequence: Sequence[Piece], why: str) -> Question:
    """Which piece has the largest value? Offered are the four largest, as they stand; −∞ is none of them."""
    texts = [piece.text for piece in sequence]
    right, options, wrong = four_largest(values, texts)
    return question(text, options, right, why, wrong)


def four_largest(values: Array, texts: Sequence[str]) -> tuple[int, list[str], dict[int, str]]:
    """Which of the four largest values, as they stand, is the largest; options, and what is said of the others."""
    finite = [i for i in range(len(values)) if np.isfinite(values[i])]
    largest = sorted(finite, key=lambda i: (-np.float32(values[i]), i))[:4]
    order = sorted(largest)
    wrong = {
        order.index(i): f"That piece comes {nth}."
        for i, nth in zip(largest[1:], ("second", "third", "fourth"), strict=False)
    }
    return order.index(largest[0]), [f"{inline(texts[i])} (piece {i + 1})" for i in order], wrong


# --- the code that ran -----------------------------------------------------------------------------------------------


@functools.cache
def _definitions(file: str) -> dict[str, tuple[int, str]]:
    """First line and text of every class and function in a file, by qualified name: read, not imported."""
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines(keepends=True)
    found = {}

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                first = min([child.lineno, *(d.lineno for d in child.decorator_list)])
                text = "".join(lines[first - 1 : child.end_lineno])
                found[f"{prefix}{child.name}"] = first, text
                visit(child, f"{prefix}{child.name}.")

    visit(ast.parse("".join(lines)), "")
    return found


def code_part(first: tuple[str, str], *others: tuple[str, str]) -> Statements:
    """Code: each a (file, qualified name), the first open, the others folded away."""
    for n, (file, name) in enumerate((first, *others)):
        line, text = _definitions(file)[name]
        where = f"{file}, line {line}"
        yield fold(f"{name} · {where}") if n else caption(where)
        yield code(text.rstrip("\n"))


def code_of(*places: str) -> Callable[[Page], Statements]:
    """The claim of Code from places like "model/parts/masks.py: causal_mask, pad_mask", in the order shown."""
    parts = [
        (file, name) for file, _, names in (place.partition(": ") for place in places) for name in names.split(", ")
    ]
    return lambda page: code_part(*parts)
