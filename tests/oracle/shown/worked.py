"""How a number came about, written down once more: the words, the arithmetic and the lines of Python of each step.

Everything is computed here from the oracle's own pass. Counted from 1 where people read it, from 0 in Python.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tests.oracle.language.approved import Prose
from tests.oracle.language.page import averaged, tensor
from tests.oracle.language.statement import Statement, by_size, factor, tex
from tests.oracle.passes.forward import Array, Forward, config

prose = Prose("worked")

EMBEDDING = "embedding.matrix.weight"
WRITTEN = 3  # products written out of a long sum
LISTED = 4  # terms written out of a softmax, or of a sum of weighted values

Index = tuple[int, ...]


@dataclass(frozen=True)
class Blank:
    """A part of the arithmetic that the learner does: the formula, and what it comes to."""

    formula: str
    answer: float


@dataclass(frozen=True)
class Step:
    """What is done, in words; the arithmetic (LaTeX); Python that does it again; a part of it to be done by hand."""

    says: str
    formula: str
    snippet: str = ""
    blank: Blank | None = None


def steps(*many: Step) -> list[Statement]:
    """Steps as a page shows them: numbered, the words above the arithmetic."""
    return [
        Statement("markdown", text)
        for n, step in enumerate(many, 1)
        for text in (f"{n}. {typeset(step.says)}", rf"$\displaystyle {by_size(step.formula)}$")
    ]


def typeset(says: str) -> str:
    """The four matrices stand as in formulas."""
    return re.sub(r"W\^([QKVO])", r"$W^\1$", says)


def worked(oracle: Forward, name: str, index: Index) -> Step:
    """The step that `tensor(oracle, name)[index]` came from."""
    for pattern, make in RULES.items():
        if re.fullmatch(pattern, name):
            return make(oracle, name, index)
    raise KeyError(f"the oracle has no step for {name}")


def long_sum(left: Array, right: Array, of: str = "dimensions") -> tuple[str, str]:
    """A sum of many products: which are written out, in words, and the sum."""
    products = left * right
    if len(products) <= WRITTEN:
        terms = [rf"{factor(a)}\cdot {factor(b)}" for a, b in zip(left, right, strict=True)]
        return f"All {len(products)} products are written out.", " + ".join(terms)
    largest = np.argsort(-np.abs(products), kind="stable")[:WRITTEN]
    others = np.delete(products, largest).sum()
    named = ", ".join(str(n + 1) for n in largest)
    terms = [rf"{factor(left[n])}\cdot {factor(right[n])}" for n in largest]
    words = prose.words("a long sum", len(products), of, named, len(products) - WRITTEN)
    says = f"{words['begins']} {words['one' if len(products) == WRITTEN + 1 else 'many']}"
    return says, " + ".join([*terms, factor(others)])


def largest_product(left: Array, right: Array) -> Blank:
    """The first product that a long sum writes out, of the numbers as they are shown."""
    at = int(np.abs(left * right).argmax())
    one, two = round(float(left[at]), 4), round(float(right[at]), 4)
    return Blank(rf"{factor(left[at])}\cdot {factor(right[at])}", one * two)


def reads(stack: str, layer: int) -> str:
    """What a layer reads."""
    return f"{stack}.embedding.output" if layer == 0 else writes(stack, layer - 1)


def writes(stack: str, layer: int) -> str:
    return f"{stack}.layers.{layer}.add_norm_{2 if stack == 'encoder' else 3}.output"


def in_the_last_term(rest: Sequence[int]) -> str:
    return f" ({len(rest)} of them in the last term)" if len(rest) else ""


def at(index: Index) -> str:
    return "[" + ", ".join(map(str, index)) + "]"


def layer_of(name: str) -> tuple[str, int]:
    stack, _, layer, *_ = name.split(".")
    return stack, int(layer)


def projection(oracle: Forward, name: str, index: Index) -> Step:
    (stack, layer), (head, row, dimension) = layer_of(name), index
    path, _, letter = name.rpartition(".")
    if letter in "kv" and f"{path}.squeezed" in oracle.tensors:
        source = f"{path}.squeezed"
    elif ".self_attn." in name:
        source = reads(stack, layer)
    elif letter == "q":
        source = f"{stack}.layers.{layer}.add_norm_1.output"
    else:
        source = writes("encoder", config()["n_layers"] - 1)
    matrix, capital = f"{path}.w_{letter}.weight", letter.upper()
    column = head * oracle[name].shape[-1] + dimension
    rows = oracle[source][row], oracle[matrix][column]
    named, total = long_sum(*rows)
    return Step(
        prose.line("projection", row + 1, column + 1, capital, head + 1, dimension + 1, named),
        rf"{letter}_{{{row + 1},{dimension + 1}}} = x_{{{row + 1}}} \cdot W^{capital}_{{:,{column + 1}}} = {total} = "
        + tex(oracle[name][index]),
        f't["{source}"][{row}] @ t["{matrix}[{column}]"]  # torch keeps W transposed: its rows are W\'s columns',
        largest_product(*rows),
    )


def product(oracle: Forward, name: str, index: Index) -> Step:
    head, row, column = index
    path = name.rpartition(".")[0]
    names = [f"{path}.{'rotated_' * (f'{path}.rotated_q' in oracle.tensors)}{letter}" for letter in "qk"]
    pair = oracle[names[0]][head, row], oracle[names[1]][head, column]
    named, total = long_sum(*pair)
    return Step(
        prose.line("product", row + 1, column + 1, named),
        rf"q_{{{row + 1}}}\cdot k_{{{column + 1}}} = {total} = {tex(oracle[name][index])}",
        f't["{names[0]}"][{head}, {row}] @ t["{names[1]}"][{head}, {column}]',
        largest_product(*pair),
    )


def divided(oracle: Forward, name: str, index: Index) -> Step:
    path = name.rpartition(".")[0]
    before, d_k = oracle[f"{path}.products"][index], oracle[f"{path}.q"].shape[-1]
    source = f't["{path}.products"]{at(index)}'
    if oracle.scale_off:
        says = "The scale is switched off: the product stays as it is."
        return Step(says, rf"{tex(before)} \to {tex(before)}", source)
    return Step(
        prose.line("scaled", d_k),
        rf"\frac{{{tex(before)}}}{{\sqrt{{{d_k}}}}} = \frac{{{tex(before)}}}{{{tex(math.sqrt(d_k))}}} = "
        + tex(before / math.sqrt(d_k)),
        f"{source} / np.sqrt({d_k})",
        Blank(f"{factor(before)} / {tex(math.sqrt(d_k))}", before / math.sqrt(d_k)),
    )


def masked_or_not(oracle: Forward, name: str, index: Index) -> Step:
    path = name.rpartition(".")[0]
    before = tex(oracle[f"{path}.scaled"][index])
    if np.isneginf(oracle[name][index]):
        says = "The mask covers this position: its score becomes −∞."
        return Step(says, rf"{before} \to -\infty", "-np.inf  # masked")
    says = "The mask lets this position through: the score stays."
    return Step(says, rf"{before} \to {before}", f't["{path}.scaled"]{at(index)}')


def softmaxed(oracle: Forward, name: str, index: Index) -> Step:
    head, row, column = index
    source = name.replace(".weights", ".scores")
    scores = oracle[source][head, row]
    seen = [j for j in range(len(scores)) if scores[j] > -np.inf]
    top = scores.max()
    large = top > 20  # then the largest is taken off first
    less = " - row.max()" if large else ""
    snippet = f'row = t["{source}"][{head}, {row}]\nnp.exp(row[{column}]{less}) / np.exp(row{less}).sum()'
    if column not in seen:
        says = "The mask covers this position: its score is −∞, so its weight is 0."
        return Step(says, rf"e^{{-\infty}} = 0 \;\Rightarrow\; {tex(0)}", snippet)
    others = sorted((j for j in seen if j != column), key=lambda j: (-scores[j], j))
    listed, rest = [column, *others][:LISTED], others[LISTED - 1 :]
    powers = {j: f"e^{{{tex(scores[j])}{f' - {tex(top)}' if large else ''}}}" for j in seen}
    terms = [powers[j] for j in listed] + [tex(np.exp(scores[rest] - top * large).sum())] * bool(rest)
    taken_off = prose.line("the largest is first", tex(top)) if large else ""
    return Step(
        prose.line("softmax", len(seen), in_the_last_term(rest)) + taken_off,
        rf"\frac{{{powers[column]}}}{{{' + '.join(terms)}}} = {tex(oracle[name][index])}",
        snippet,
        None if large else Blank(powers[column], math.exp(round(scores[column], 4))),
    )


def weighted_sum(oracle: Forward, name: str, index: Index) -> Step:
    head, row, dimension = index
    path = name.rpartition(".")[0]
    weights, values = oracle[f"{path}.weights"][head, row], oracle[f"{path}.v"][head, :, dimension]
    order = np.argsort(-weights, kind="stable")
    listed, rest = order[:LISTED], order[LISTED:]
    terms = [rf"{tex(weights[j])}\cdot {factor(values[j])}" for j in listed]
    terms += [factor((weights * values)[rest].sum())] * bool(len(rest))
    return Step(
        prose.line("weighted sum", dimension + 1, len(weights), in_the_last_term(rest)),
        f"{' + '.join(terms)} = {tex(oracle[name][index])}",
        f't["{path}.weights"][{head}, {row}] @ t["{path}.v"][{head}, :, {dimension}]',
        largest_product(weights, values),
    )


def state(oracle: Forward, name: str, index: Index) -> Step:
    head, i, j = index
    path = name.rpartition(".")[0]
    pair = oracle[f"{path}.features_k"][head, :, i], oracle[f"{path}.v"][head, :, j]
    named, total = long_sum(*pair, of="positions")
    n = len(pair[0])
    return Step(
        prose.line("state", n, i + 1, j + 1, named),
        f"{total} = {tex(oracle[name][index])}",
        f't["{path}.features_k"][{head}, :{n}, {i}] @ t["{path}.v"][{head}, :{n}, {j}]',
        largest_product(*pair),
    )


def weighted_or_read(oracle: Forward, name: str, index: Index) -> Step:
    """What a head returns: a sum of values, or what its query reads from a state that all queries share."""
    head, row, j = index
    path = name.rpartition(".")[0]
    if f"{path}.state" not in oracle.tensors:
        return weighted_sum(oracle, name, index)
    query, column, sums = (
        oracle[f"{path}.{what}"][at]
        for what, at in (("features_q", (head, row)), ("state", np.s_[head, :, j]), ("total", (head, 0)))
    )
    (named, above), (_, below) = long_sum(query, column), long_sum(query, sums)
    return Step(
        prose.line("read state", row + 1, j + 1, named),
        rf"\frac{{{above}}}{{{below}}} = {tex(oracle[name][index])}",
        f'query = t["{path}.features_q"][{head}, {row}]\n'
        f'query @ t["{path}.state"][{head}][:, {j}] / (query @ t["{path}.total"][{head}, 0])',
        largest_product(query, column),
    )


def laid_side_by_side(oracle: Forward, name: str, index: Index) -> Step:
    row, column = index
    d_k = config()["d_model"] // config()["n_heads"]
    head, dimension = column // d_k, column % d_k
    source = name.replace("concat", "heads")
    return Step(
        prose.line("side by side", d_k, column + 1, dimension + 1, head + 1),
        rf"{tex(oracle[source][head, row, dimension])} \to {tex(oracle[source][head, row, dimension])}",
        f't["{source}"][{head}, {row}, {dimension}]',
    )


def linear(oracle: Forward, name: str, index: Index, what: str, source: str, matrix: str, letter: str) -> Step:
    """xW + b. Args: what: the rows are; source: the tensor they are of; matrix: its path; letter: what W is called"""
    row, column = index
    bias, weight = f"{matrix}.bias", f"{matrix}.weight"
    named, total = long_sum(oracle[source][row], oracle[weight][column])
    snippet = f't["{source}"][{row}] @ t["{weight}[{column}]"]'
    more = ", which mixes the heads" if letter == "W^O" else ""
    if bias in oracle.w:
        total, snippet = f"{total} + {factor(oracle[bias][column])}", f'{snippet} + t["{bias}"][{column}]'
        more += f", plus the bias {letter.replace('W', 'b')} at the end"
    return Step(
        f"Row {row + 1} of {what} times column {column + 1} of {letter}{more}. {named}",
        f"{total} = {tex(oracle[name][index])}",
        snippet,
        largest_product(oracle[source][row], oracle[weight][column]),
    )


def squeezed(oracle: Forward, name: str, index: Index) -> Step:
    path, source = name.rpartition(".")[0], reads(*layer_of(name))
    return linear(oracle, name, index, "the layer's input", source, f"{path}.w_c", "W^C")


def mixed(oracle: Forward, name: str, index: Index) -> Step:
    path = name.rpartition(".")[0]
    return linear(oracle, name, index, "the concatenation", f"{path}.concat", f"{path}.w_o", "W^O")


def mean_of(values: Sequence[float], names: Sequence[str], snippet: str = "") -> Step:
    """A mean of several weights, each with a name."""
    total = " + ".join(map(tex, values))
    return Step(
        f"The average of {len(values)} weights: {', '.join(names)}.",
        rf"\frac{{{total}}}{{{len(values)}}} = {tex(float(np.mean(values)))}",
        snippet,
    )


def average(oracle: Forward, name: str, index: Index) -> Step:
    row, column = index
    sources = averaged(name)
    if len(sources) == 1:
        values = oracle[sources[0]][:, row, column].tolist()
        names = [f"head {n}" for n in range(1, len(values) + 1)]
    else:
        values = [float(oracle[source][:, row, column].mean()) for source in sources]
        names = [f"the average of layer {n}" for n in range(1, len(values) + 1)]
    return mean_of(values, names, f"np.mean([t[name][:, {row}, {column}] for name in {sources}])")


def between_words(weights: Array, rows: Sequence[int], columns: Sequence[int]) -> Step:
    """A weight between two words, from weights (T,S) between pieces: added over columns, averaged over rows."""
    block = [[weights[i, j] for j in columns] for i in rows]
    result = sum(map(sum, block)) / len(rows)
    sums = ["(" + " + ".join(map(tex, line)) + ")" for line in block]
    formula = rf"\frac{{{' + '.join(sums)}}}{{{len(rows)}}}" if len(rows) > 1 else sums[0][1:-1]
    return Step(
        prose.line("between words", len(columns), len(rows)),
        f"{formula} = {tex(result)}",
    )


def widened(oracle: Forward, name: str, index: Index) -> Step:
    path, (stack, layer) = name.rpartition(".")[0], layer_of(name)
    source = f"{stack}.layers.{layer}.add_norm_{1 if stack == 'encoder' else 2}.output"
    return linear(oracle, name, index, "what the feed-forward network reads", source, f"{path}.w_1", "W₁")


def rectified(oracle: Forward, name: str, index: Index) -> Step:
    source = name.replace("hidden", "pre_activation")
    before = oracle[source][index]
    says = "a positive number stays as it is." if before > 0 else "a negative number becomes 0; the unit rests."
    return Step(
        f"ReLU: {says}",
        rf"\max(0,\ {tex(before)}) \to {tex(max(0.0, before))}",
        f'max(0, t["{source}"]{at(index)})',
        Blank(rf"\max(0,\ {tex(before)})", max(0.0, before)),
    )


def narrowed(oracle: Forward, name: str, index: Index) -> Step:
    path = name.rpartition(".")[0]
    return linear(oracle, name, index, "the hidden units", f"{path}.hidden", f"{path}.w_2", "W₂")


def stream_and_change(path: str) -> tuple[str, str]:
    """What an Add & Norm (`….add_norm_2`) adds: what its sub-layer read, and what it wrote."""
    stack, layer = layer_of(path)
    n = int(path[-1])
    sublayers = ["self_attn", "feed_forward"] if stack == "encoder" else ["self_attn", "cross_attn", "feed_forward"]
    read = reads(stack, layer) if n == 1 else f"{path[:-1]}{n - 1}.output"
    return read, f"{stack}.layers.{layer}.{sublayers[n - 1]}.output"


def sum_of_two(oracle: Forward, says: str, names: Sequence[str], index: Index) -> Step:
    """Two tensors, added element by element."""
    one, two = (oracle[name][index] for name in names)
    return Step(
        says,
        f"{tex(one)} + {factor(two)} = {tex(one + two)}",
        " + ".join(f't["{name}"]{at(index)}' for name in names),
        Blank(f"{tex(one)} + {factor(two)}", one + two),
    )


def added(oracle: Forward, name: str, index: Index) -> Step:
    says = "What ran past the sub-layer (the residual stream) plus what the sub-layer wrote."
    return sum_of_two(oracle, says, stream_and_change(name.removesuffix(".sum")), index)


def normed(oracle: Forward, name: str, index: Index, source: str = "", norm: str = "") -> Step:
    """source: what the norm reads; norm: the path of its weights; both as in post-norm if not given"""
    path, (row, dimension) = name.removesuffix(".output"), index
    source, norm = source or f"{path}.sum", norm or oracle.home(f"{path}.norm")
    x = oracle[source][row]
    gamma, beta = oracle[f"{norm}.weight"][dimension], oracle[f"{norm}.bias"][dimension]
    return Step(
        prose.line("layer norm", dimension + 1, len(x)),
        rf"{factor(gamma)}\cdot\frac{{{tex(x[dimension])} - {factor(x.mean())}}}{{{tex(math.sqrt(x.var() + 1e-5))}}} "
        rf"+ {factor(beta)} = {tex(oracle[name][index])}",
        f'row = t["{source}"][{row}]\n'
        f't["{norm}.weight"][{dimension}] * (row[{dimension}] - row.mean()) / np.sqrt(row.var() + 1e-05)'
        f' + t["{norm}.bias"][{dimension}]',
    )


def share_of_expert(oracle: Forward, name: str, index: Index) -> Step:
    row, expert = index
    source = name.replace("shares", "router")
    powers = [rf"e^{{{tex(one)}}}" for one in oracle[source][row]]
    return Step(
        prose.line("share of an expert", len(powers)),
        rf"\frac{{{powers[expert]}}}{{{' + '.join(powers)}}} = {tex(oracle[name][index])}",
        f'row = np.exp(t["{source}"][{row}].astype(float))\nrow[{expert}] / row.sum()',
        Blank(powers[expert], math.exp(round(float(oracle[source][index]), 4))),
    )


def gate(oracle: Forward, name: str, index: Index) -> Step:
    source = name.replace("gates", "shares")
    share, row = oracle[source][index], oracle[source][index[0]]
    if not oracle[name][index]:
        return Step(prose.line("expert not asked", index[1] + 1), tex(0.0), "0.0")
    if len(kept := np.flatnonzero(oracle[name][index[0]])) > 1:
        total, experts = " + ".join(map(tex, row[kept])), ", ".join(str(n + 1) for n in kept)
        return Step(
            prose.line("experts asked", experts),
            rf"\frac{{{tex(share)}}}{{{total}}} = {tex(oracle[name][index])}",
            f't["{source}"]{at(index)} / t["{source}"][{index[0]}, {kept.tolist()}].sum()',
            Blank(total, float(row[kept].sum())),
        )
    return Step(prose.line("expert asked", index[1] + 1), f"{tex(share)} = {tex(share)}", f't["{source}"]{at(index)}')


def logit(oracle: Forward, name: str, index: Index) -> Step:
    if "head.weight" in oracle.w:  # of a reader: classes have a matrix of their own
        return linear(oracle, name, index, "what goes in", "encoder.normed", "head", "W")
    row, id = index
    source = writes("decoder", config()["n_layers"] - 1)
    rows = oracle[source][row], oracle[EMBEDDING][id]
    named, total = long_sum(*rows)
    return Step(
        prose.line("logit", row + 1, id, named),
        f"{total} = {tex(oracle['logits'][index])}",
        f't["{source}"][{row}] @ t["{EMBEDDING}[{id}]"]',
        largest_product(*rows),
    )


def probability(oracle: Forward, name: str, index: Index) -> Step:
    row, id = index
    logits = oracle["logits"][row]
    top = logits.max()
    return Step(
        prose.line("probability", f"{len(logits):,}", row + 1, tex(top)),
        rf"\frac{{e^{{{tex(logits[id])} - {factor(top)}}}}}{{{tex(np.exp(logits - top).sum())}}} = "
        + tex(tensor(oracle, "probabilities")[index]),
        f'row = t["logits[{row}]"].astype(float)\nnp.exp(row[{id}] - row.max()) / np.exp(row - row.max()).sum()',
    )


def looked_up(oracle: Forward, name: str, index: Index) -> Step:
    id = oracle.ids[name.partition(".")[0]][index[0]]
    says = f"The id is {id}, so this is dimension {index[1] + 1} of the row of E that belongs to it."
    return of_table(oracle[name][index], says, (EMBEDDING, id, index[1]), config()["vocab_size"])


def of_table(value: float, says: str, place: tuple[str, int, int], size: int) -> Step:
    """A number that was looked up. place: the table, its row and column; size: how many rows it has"""
    table, id, dimension = place
    return Step(
        f"{says} As a product with the one-hot vector: one of {size:,} terms counts, the others are multiplied by 0.",
        rf"1\cdot {factor(value)} + {size - 1}\cdot 0 = {tex(value)}",
        f't["{table}[{id}]"][{dimension}]',
    )


def scaled_up(oracle: Forward, name: str, index: Index) -> Step:
    source, d_model = name.replace("scaled", "tokens"), config()["d_model"]
    before, root = factor(oracle[source][index]), math.sqrt(d_model)
    return Step(
        prose.line("scaled up", d_model),
        rf"\sqrt{{{d_model}}}\cdot {before} = {tex(root)}\cdot {before} = {tex(root * oracle[source][index])}",
        f't["{source}"]{at(index)} * np.sqrt({d_model})',
        Blank(rf"{tex(root)}\cdot {before}", root * oracle[source][index]),
    )


def position(oracle: Forward, name: str, index: Index) -> Step:
    pos, dimension = index
    d_model, odd = config()["d_model"], dimension % 2
    twice_i, wave = dimension - odd, "cos" if odd else "sin"
    angle, pairs = pos / 10000 ** (twice_i / d_model), (twice_i // 2 + 1, twice_i // 2, twice_i)
    return Step(
        prose.line("position", pos, dimension + 1, wave.replace("sin", "sine").replace("cos", "cosine"), *pairs),
        rf"\{wave}\!\left(\frac{{{pos}}}{{10000^{{{twice_i}/{d_model}}}}}\right) = \{wave}({tex(angle)}) = "
        + tex(math.cos(angle) if odd else math.sin(angle)),
        f"np.{wave}({pos} / 10000 ** ({twice_i} / {d_model}))",
        Blank(rf"\{'sin' if odd else 'cos'}({tex(angle)})", math.sin(angle) if odd else math.cos(angle)),
    )


def embedded(oracle: Forward, name: str, index: Index) -> Step:
    if name.replace("output", "with_class") in oracle.tensors:  # of a picture
        names = [name.replace("output", what) for what in ("with_class", "positions")]
        return sum_of_two(oracle, "Two vectors are added, element by element.", names, index)
    names = [name.replace("output", what) for what in ("scaled", "positions")]
    return sum_of_two(
        oracle, "The scaled embedding and the positional encoding are added, element by element.", names, index
    )


def pixel(oracle: Forward, name: str, index: Index) -> Step:
    (patch, within), picture = index, oracle["picture"]
    side = math.isqrt(oracle[name].shape[1])
    across = len(picture) // side
    row, column = patch // across * side + within // side, patch % across * side + within % side
    return Step(
        prose.line("pixel", across, side, within + 1, patch + 1, row + 1, column + 1),
        rf"\text{{picture}}_{{{row + 1},{column + 1}}} = {tex(picture[row, column])}",
        f't["picture"][{row}, {column}]',
    )


def cosine(oracle: Forward, source: str, row: int, column: int) -> Step:
    """The cosine of the angle between two rows of a tensor."""
    a, b = oracle[source][row], oracle[source][column]
    lengths = math.sqrt(a @ a), math.sqrt(b @ b)
    named, total = long_sum(a, b)
    return Step(
        prose.line("cosine", row + 1, column + 1, named),
        rf"({total})\,/\,({tex(lengths[0])}\cdot {tex(lengths[1])}) = \frac{{{tex(a @ b)}}}"
        rf"{{{tex(lengths[0] * lengths[1])}}} = {tex(a @ b / (lengths[0] * lengths[1]))}",
        f't = t["{source}"].astype(float)\na, b = t[{row}], t[{column}]\n'
        "(a @ b) / (np.linalg.norm(a) * np.linalg.norm(b))",
        largest_product(a, b),
    )


_ATTENTION = r"(?:encoder|decoder)\.layers\.\d+\.(?:self|cross)_attn\."
_LAYER = r"(?:encoder|decoder)\.layers\.\d+\."
RULES: dict[str, Callable[[Forward, str, Index], Step]] = {
    _ATTENTION + "[qkv]": projection,
    _ATTENTION + "squeezed": squeezed,
    _ATTENTION + "products": product,
    _ATTENTION + "scaled": divided,
    _ATTENTION + "scores": masked_or_not,
    _ATTENTION + "weights": softmaxed,
    _ATTENTION + "heads": weighted_or_read,
    _ATTENTION + "state": state,
    _ATTENTION + "concat": laid_side_by_side,
    _ATTENTION + "output": mixed,
    r".*_attn\.average": average,
    _LAYER + r"feed_forward\.pre_activation": widened,
    _LAYER + r"feed_forward\.hidden": rectified,
    _LAYER + r"feed_forward\.output": narrowed,
    _LAYER + r"feed_forward\.shares": share_of_expert,
    _LAYER + r"feed_forward\.gates": gate,
    _LAYER + r"add_norm_\d\.sum": added,
    _LAYER + r"add_norm_\d\.output": normed,
    "logits": logit,
    "patches": pixel,
    "probabilities": probability,
    r".*\.embedding\.tokens": looked_up,
    r".*\.embedding\.scaled": scaled_up,
    r".*\.embedding\.positions": position,
    r".*\.embedding\.output": embedded,
    "cosines": lambda oracle, _, index: cosine(oracle, "encoder.embedding.tokens", *index),
}
