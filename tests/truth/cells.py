"""Matrices, and the cell that Check works out, against the oracle."""

import re
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.oracle.formula import agree
from tests.oracle.forward import Forward, config
from tests.truth.reading import SIGN, Expected, Seen, close, floats, numbers_in, place_of
from ui.views.attention_kinds import READABLE


def value_at(oracle: Forward, name: str, index: tuple[int, ...]) -> float:
    return float(oracle[name][index])


def check_matrix(data: dict[str, Any], oracle: Forward, others: Mapping[str, Expected]) -> None:
    """All values, the masked cells, and the numbers in the title and below it.

    others: matrices of this lesson that are no tensor of the pass, by the name of their download
    """
    shown, place = floats(data), place_of(data)
    if place is None:
        (expected,) = (
            make(oracle, data) for pattern, make in others.items() if re.fullmatch(pattern, data["csv_name"])
        )
        assert expected.shape == shown.shape
        assert np.allclose(shown, expected, atol=1e-4, rtol=1e-4), data["csv_name"]
        return
    whole = place.whole(oracle)
    rows = place.rows if place.rows is not None else list(range(min(len(whole), READABLE)))
    columns = place.columns if place.columns is not None else list(range(shown.shape[1]))
    true = whole[np.ix_(rows, columns)]
    assert shown.shape == true.shape
    assert np.array_equal(np.isfinite(shown), np.isfinite(true))
    assert np.allclose(shown, true, atol=1e-4, rtol=1e-4), data["csv_name"]
    if data["hidden"]:
        hidden = np.frombuffer(b64decode(data["hidden"]), np.uint8).reshape(shown.shape).astype(bool)
        scores = oracle[f"{place.name.rpartition('.')[0]}.scores"][place.head or 0]
        assert np.array_equal(hidden, np.isneginf(scores[np.ix_(rows, columns)]))
    d_model, d_k = config()["d_model"], config()["d_model"] // config()["n_heads"]
    layer = place.layer + (2 if "add_norm" in place.name else 1)  # what one layer writes, the next one reads
    known = {0, 1, -1, layer, (place.head or 0) + 1, d_model, d_k, np.sqrt(d_k), np.sqrt(d_model), *whole.shape}
    known |= {row + 1 for row in place.rows or ()} | {config()["n_heads"], config()["d_ff"], place.layer + 1}
    assert set(numbers_in(data["title"] + " " + data["how_to_read"])) <= known


def check_grid(data: dict[str, Any], oracle: Forward, attention: str) -> None:
    """The bytes of the overview against the weights of every head of one kind of attention, {} being the layer."""
    height, width = data["height"], data["width"]
    shown = np.frombuffer(b64decode(data["maps"]), np.uint8).reshape(data["layers"], -1, height, width)
    for layer, maps in enumerate(shown):
        true = oracle[f"{attention.format(layer)}.weights"][:, :height, :width]
        if data["mean"]:
            true = np.concatenate([true, true.mean(0, keepdims=True)])
        assert np.abs(maps - 255 * true).max() < 0.51


def stream(stack: str, layer: int) -> str:
    """What a layer reads."""
    return f"{stack}.embedding.output" if layer == 0 else output(stack, layer - 1)


def output(stack: str, layer: int) -> str:
    return f"{stack}.layers.{layer}.add_norm_{2 if stack == 'encoder' else 3}.output"


def operands(oracle: Forward, name: str, index: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray] | None:
    """For a sum of products: the two rows that are multiplied."""
    stem, _, what = name.rpartition(".")
    if what == "cosines":
        rows = oracle["encoder.embedding.tokens"]
        return rows[index[0]], rows[index[1]]
    if what == "logits":
        return oracle[output("decoder", config()["n_layers"] - 1)][index[0]], oracle["embedding.matrix.weight"][
            index[1]
        ]
    if what in ("q", "k", "v"):
        head, row, dimension = index
        d_k = oracle[name].shape[-1]
        layer, stack = int(stem.split(".")[2]), stem.split(".")[0]
        source = stream(stack, layer)
        if "cross" in stem:
            source = f"decoder.layers.{layer}.add_norm_1.output"
            if what in "kv":
                source = output("encoder", config()["n_layers"] - 1)
        return oracle[source][row], oracle[f"{stem}.w_{what}.weight"][head * d_k + dimension]
    if what == "products":
        head, row, column = index
        return oracle[f"{stem}.q"][head, row], oracle[f"{stem}.k"][head, column]
    if what == "heads":
        head, row, dimension = index
        return oracle[f"{stem}.weights"][head, row], oracle[f"{stem}.v"][head, :, dimension]
    if what == "output" and stem.endswith("attn"):
        return oracle[f"{stem}.concat"][index[0]], oracle[f"{stem}.w_o.weight"][index[1]]
    if what == "pre_activation":
        source = stem.replace("feed_forward", f"add_norm_{1 if stem.startswith('encoder') else 2}.output")
        return oracle[source][index[0]], oracle[f"{stem}.w_1.weight"][index[1]]
    if what == "output" and stem.endswith("feed_forward"):
        return oracle[f"{stem}.hidden"][index[0]], oracle[f"{stem}.w_2.weight"][index[1]]
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
        case "concat":
            return [d_k, index[1] + 1, index[1] % d_k + 1, index[1] // d_k + 1]
        case "output" if name.endswith("attn.output"):
            return [index[0] + 1, index[1] + 1, d_model]
        case "pre_activation":
            return [index[0] + 1, index[1] + 1, d_model]
        case "hidden":
            return [0] if oracle[name][index] == 0 else []
        case "output" if name.endswith("feed_forward.output"):
            return [index[0] + 1, index[1] + 1, config()["d_ff"]]
        case "logits":
            return [index[0] + 1, index[1], d_model]
        case "probabilities":
            return [config()["vocab_size"], index[0] + 1, oracle["logits"][index[0]].max()]
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
        case "average":
            n = config()["n_heads" if ".layers." in name else "n_layers"]
            return [n, *range(1, n + 1)]
        case "heads":
            total = oracle[name.replace("heads", "weights")].shape[-1]
            return [index[2] + 1, total] if total <= listed else [index[2] + 1, total, total - listed]
        case _:
            return []


def check_says(says: str, oracle: Forward, name: str, index: tuple[int, ...]) -> None:
    """The numbers in the words, with the named dimensions truly those of the largest products."""
    found = numbers_in(says.replace("\\", ""))
    if name.endswith("embedding.positions"):
        pair = index[1] // 2  # from 0 in the formula, from 1 in the words
        expected = [index[0], 0, index[1] + 1, pair + 1, 0, pair, 2, 2 * pair]
    else:
        expected = says_numbers(oracle, name, index, listed=4)
    pair = operands(oracle, name, index)
    if pair is not None and len(pair[0]) > 3 and "largest of the" in says:
        size = np.abs(pair[0] * pair[1])
        named = [int(n) - 1 for n in found[len(expected) : -1]]
        assert len(named) == 3
        assert min(size[named]) >= np.sort(size)[-3] - 1e-4
        assert found[-1] == len(size) - 3
        found = found[: len(expected)]
    for shown, true in zip(found, expected, strict=True):
        assert shown == true or close(shown, true), says


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
    last = re.sub(r"^print\((.*)\)  # \S+$", r"\1", last)
    scope = {"np": np, "t": t}
    exec("\n".join(line for line in lines if not line.startswith(("import", "t = np.load"))), scope)
    return float(eval(last, scope))


def check_check(seen: Seen, oracle: Forward) -> set[int]:
    """The worked cell: heading, words, formula, snippet. Returns which of the texts were looked at."""
    (data,) = (d for d in seen.matrices if place_of(d))
    place = place_of(data)
    assert place is not None
    index = place.index(tuple(data["selected"]))
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
