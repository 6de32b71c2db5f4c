"""What the lesson on several heads must show."""

import functools
import json
import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.oracle.language import claims, common
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import box, magnitude, number
from tests.oracle.language.common import KINDS, Choice, Head, Shown, Statements, code_of
from tests.oracle.language.page import READABLE, Page, chances
from tests.oracle.language.words import Piece, inline, pieces, text_of, words
from tests.oracle.passes.decode import LONGEST, translated
from tests.oracle.passes.forward import EOS, FOLDER, SOS, Array, Forward, config, softmax, source_ids

prose = Prose("multi_head")

STAGE = Choice("Step", "heads_stage", ("1 each head", "2 side by side", "3 after W^O"))
EACH, SIDE_BY_SIDE, MIXED = STAGE.options
TRIAL = Choice("Try", "heads_trial", ("Switch heads off", "Which head matters most", "Count the cost"))
OFF, RANKING, COST = TRIAL.options
LONG = "My neighbour's cat sleeps on the sofa all day long. " * 5
STATES = (
    {},
    {"heads_stage": SIDE_BY_SIDE, "attention": "Encoder-decoder", "heads_trial": RANKING, "cell": "2.20"},
    {"attention": "Encoder-decoder", "layer": "2", "head": "3", "off": "cross.2.1", "sentence": "Is it Tom's?"},
    {"off": "+".join(f"{kind}.{layer}.{n}" for kind, layer in (("cross", 1), ("cross", 2)) for n in range(4))},
    {"off": "+".join(f"cross.{layer}.{n}" for layer in range(3) for n in range(4)), "layer": "1"},
    {"off": "+".join(f"{kind}.0.{n}" for kind in ("encoder", "decoder") for n in range(4)), "sentence": LONG},
    {"attention": "Masked decoder", "heads_stage": MIXED, "heads_trial": COST, "n_heads": "1", "sentence": "Go"},
    {"attention": "Masked decoder", "heads_trial": RANKING, "without": "encoder.1.2", "layer": "2"},
    {"heads_stage": SIDE_BY_SIDE, "window": "33–48", "heads_trial": COST, "n_heads": "16", "sentence": LONG},
    {"sentence": "Zoë mag süße Äpfel, oder?", "off": "nonsense", "heads_stage": MIXED},
    {"heads_trial": RANKING, "without": "cross.7.0"},
    {"heads_stage": SIDE_BY_SIDE, "window": "17–32", "heads_trial": COST, "n_heads": "32", "sentence": "Go"},
    {"heads_stage": SIDE_BY_SIDE, "window": "49–64", "heads_trial": COST, "n_heads": "4", "sentence": "Go"},
    {"off": "cross.2.2", "sentence": "<b>$x_1$</b> ‘curly’ *stars* | 3 : 4"},
)

# What each share counts, by the head of its column.
SHARES = {
    "encoder": {
        "previous": "the previous piece",
        "itself": "the piece itself",
        "next": "the next piece",
        "eos": "<eos>",
        "punctuation": "punctuation",
    },
    "decoder": {
        "previous": "the piece before the last",
        "itself": "the last piece read",
        "sos": "<sos>",
        "punctuation": "punctuation",
    },
    "cross": {
        "aligned": "the aligned word",
        "read": "the word behind the last piece read",
        "before": "the word before the aligned one",
        "after": "the word after the aligned one",
        "eos": "<eos>",
        "punctuation": "punctuation",
    },
}


def where(chosen: Head) -> str:
    return f"{KINDS[chosen.kind].name.lower()}, layer {chosen.layer + 1}"


def name_of(chosen: Head) -> str:
    return f"{where(chosen)}, head {chosen.head + 1}"


def in_words(n: int) -> str:
    return "1 head" if n == 1 else f"{n} heads"


def idea(page: Page) -> Statements:
    h, d = config()["n_heads"], config()["d_model"]
    d_k, t = d // h, len(page.src)
    yield from prose("a piece may need", h, d, d_k)
    names = [f"head {n}" for n in range(1, h + 1)]
    whole = box("W", f"({d}, {d})", raised="O"), "=", box("output", f"({t}, {d})", "output")
    yield claims.flow(
        prose.line("the results of heads", h, d_k, d),
        [box(name, f"({t}, {d_k})", "value") for name in names],
        ["side by side:", box("concatenated", f"({t}, {d})", "value", names), "·", *whole],
    )
    yield from prose("shapes for your sentence", t)


# --- see -------------------------------------------------------------------------------------------------------------


def width() -> int:
    return config()["d_model"] // config()["n_heads"]


def window() -> Choice:
    names = [f"{first + 1}–{first + 16}" for first in range(0, width(), 16)]
    return Choice("Dimensions of each head", "window", names)


def shown(page: Page) -> Shown:
    chosen, stage, d_k = common.head(page), STAGE.of(page), width()
    if stage == EACH:
        return common.shown_tensor(page, f"{chosen.path}.weights", head=chosen.head, kind=chosen.kind)
    if stage == MIXED:
        describe = "“{row}”, dimension {column}: {value}"
        return common.shown_tensor(page, f"{chosen.path}.output", kind=chosen.kind, n_columns=64, describe=describe)
    first = 16 * window().at(page)
    at = [n * d_k + first + i for n in range(config()["n_heads"]) for i in range(16)]
    own = page.oracle[f"{chosen.path}.heads"][chosen.head, :READABLE, first : first + 16]
    row, column = divmod(int(np.abs(own).astype(np.float32).argmax()), 16)
    return common.shown_tensor(
        page,
        f"{chosen.path}.concat",
        kind=chosen.kind,
        only_columns=at,
        columns=[f"head {j // d_k + 1}: {j % d_k + 1}" for j in at],
        start=(row, 16 * chosen.head + column),
        describe="“{row}”, {column}: {value}",
        group=16,
    )


def see(page: Page) -> Statements:
    chosen = common.head(page)
    yield from common.head_controls(page)
    yield from STAGE.trials(each_head, side_by_side, mixed)(page)
    h, t, d_k = page.oracle[f"{chosen.path}.q"].shape
    d = h * d_k
    yield from prose("shapes heads of side", h, t, d_k, d)


def each_head(page: Page) -> Statements:
    chosen = common.head(page)
    here = shares_here(page, chosen)
    maps = page.oracle[f"{chosen.path}.weights"][None, :, :READABLE, :READABLE]
    yield claims.head_grid(
        maps,
        selected=(0, chosen.head),
        title=f"All heads of the {where(chosen)}: click one to see it large",
        row_label="",
        mean=False,
        captions=[roles(chosen.kind, here)],
    )
    looks = KINDS[chosen.kind].caption
    yield from common.tensor_matrix(shown(page), **looks | {"title": f"{looks['title']} ({name_of(chosen)})"})
    tested, many = shares_tested(chosen.kind, chosen.layer), f"{measured()['sentences']:,}"
    yield from prose("what each head looks")
    even = evenness(chosen.kind, page.oracle[f"{chosen.path}.weights"])
    both = zip(roles(chosen.kind, here), even, roles(chosen.kind, tested), strict=True)
    yield claims.table(
        ("head", "looks here at", "evenness", f"over {many} test sentences"),
        *((str(n), now, number(one, 2), over_all) for n, (now, one, over_all) in enumerate(both, 1)),
    )
    yield from prose("evenness is where every")
    titles = prose.words("titles of shares", many)
    for name, values in (("here", here), ("measured", tested)):
        yield claims.matrix(
            values,
            [*(f"head {n}" for n in range(1, len(values))), "equal weights"],
            [{"eos": "<eos>", "sos": "<sos>"}.get(share, share) for share in SHARES[chosen.kind]],
            title=titles[name],
            **prose.words("shares"),
            csv_name=f"shares {name} {chosen.kind} layer {chosen.layer + 1}",
        )
    yield from what_a_share_is(chosen.kind)
    yield from often_said(many)


def what_a_share_is(kind: str) -> Statements:
    yield from prose("a share is how")
    which = {"encoder": "previous itself and next", "decoder": "a row has just", "cross": "a row is the"}
    yield from prose(which[kind])
    yield from prose("the largest share gives")
    data = measured()["data"]
    yield from prose("test sentences the english", data["file"], data["source"])


def often_said(many: str) -> Statements:
    def most_of(shares: dict[str, dict[str, float]], share: str, on: str, equal: float) -> str:
        most = max(shares, key=lambda name: shares[name][share])
        kind, layer, n = most.split(".")
        value = number(shares[most][share], 2)
        where = name_of(Head(kind, int(layer), int(n)))
        return f"{where}: {value} of its weight on {on} (equal weights: {number(equal, 2)})"

    def best(kind: str, share: str) -> str:
        shares = {name: row for name, row in measured()["shares"].items() if name.startswith(f"{kind}.")}
        return most_of(shares, share, SHARES[kind][share], measured()["uniform"][kind][share])

    tagged = json.loads((FOLDER / "parts_of_speech.json").read_text())
    words = [
        most_of(tagged["shares"], part, part, tagged["uniform"][part]) for part in ("nouns", "verbs", "adjectives")
    ]
    told = "; ".join(words), f"{tagged['sentences']:,}", tagged["data"]["source"]

    yield from prose("what heads are often")
    of_encoder = [best("encoder", share) for share in ("eos", "previous", "next")]
    yield prose.table("said to be found", many, *of_encoder, best("cross", "aligned"), *told)
    yield from prose("in each row the")


def side_by_side(page: Page) -> Statements:
    chosen = common.head(page)
    yield window().drawn(page)
    yield from common.tensor_matrix(shown(page), **prose.words(SIDE_BY_SIDE, where(chosen)))
    n = len(page.oracle[f"{chosen.path}.concat"])
    if n > READABLE:
        yield from prose("the first of pieces", READABLE, n)


def mixed(page: Page) -> Statements:
    yield from common.tensor_matrix(shown(page), **prose.words(MIXED, where(common.head(page))))


# --- what heads look at ----------------------------------------------------------------------------------------------


@functools.cache
def measured() -> dict[str, Any]:
    """What training measured over the test sentences, as it is shipped."""
    return dict(json.loads((FOLDER / "heads.json").read_text()))


def shares_tested(kind: str, layer: int) -> Array:
    """A row for each head of a layer, and one for equal weights."""
    rows = [measured()["shares"][f"{kind}.{layer}.{n}"] for n in range(config()["n_heads"])]
    return np.array([[row[share] for share in SHARES[kind]] for row in (*rows, measured()["uniform"][kind])])


@functools.lru_cache(64)
def behind(src: tuple[int, ...], labels: tuple[int, ...]) -> tuple[int, ...]:
    """The English word behind each German piece, −1 for none: that without which it keeps least of its probability."""
    at = range(len(labels))

    def log_probabilities(blocked: tuple[int, ...] = ()) -> Array:
        return np.log(softmax(Forward(list(src), list(labels), blocked=blocked).logits)[at, list(labels)])

    english = pieces(src)
    hidden = [word.pieces for word in words(english) if english[word.pieces[0]].word >= 0]
    falls = log_probabilities() - np.array([log_probabilities(one) for one in hidden])
    return tuple(
        english[hidden[n][0]].word if fall[n] >= -np.log(0.9) else -1
        for fall, n in zip(falls.T, falls.argmax(0), strict=True)
    )


def is_punctuation(piece: Piece) -> bool:
    text = piece.text.strip(" ")
    return piece.id > EOS and bool(text) and all(unicodedata.category(sign)[0] == "P" for sign in text)


def shares_here(page: Page, chosen: Head) -> Array:
    """A row for each head of a layer, and one for equal weights, counted cell by cell."""
    kind, maps = chosen.kind, page.oracle[f"{chosen.path}.weights"]
    _, answers = common.asks_and_answers(page, kind)
    word = behind(tuple(source_ids(page.sentence)), tuple(page.oracle.labels)) if kind == "cross" else ()

    def counts(share: str, i: int, j: int) -> bool:
        if share in ("eos", "sos"):
            return answers[j].id == {"eos": EOS, "sos": SOS}[share]
        if share == "punctuation":
            return is_punctuation(answers[j])
        if share in ("previous", "itself", "next"):
            return j - i == {"previous": -1, "itself": 0, "next": 1}[share]
        row, step = (i - 1, 0) if share == "read" else (i, {"aligned": 0, "before": -1, "after": 1}[share])
        return row >= 0 and word[row] >= 0 and answers[j].word >= 0 and answers[j].word == word[row] + step

    t, s = maps.shape[1:]
    equal = np.tri(t) if kind == "decoder" else np.ones((t, s))
    equal = equal / equal.sum(1, keepdims=True)
    cells = {share: np.array([[counts(share, i, j) for j in range(s)] for i in range(t)]) for share in SHARES[kind]}
    return np.array([[(one * cells[share]).sum() / t for share in SHARES[kind]] for one in (*maps, equal)])


def roles(kind: str, shares: Array) -> list[str]:
    """What each head is called after."""
    names, equal, found = list(SHARES[kind].values()), shares[-1], []
    for row in shares[:-1]:
        large = [n for n in range(len(row)) if row[n] >= 0.25 and row[n] >= 1.5 * equal[n]]
        best = max(large, key=lambda n: row[n], default=None)
        found.append("none of these" if best is None else f"{'mostly' if row[best] >= 0.5 else 'partly'} {names[best]}")
    return found


def evenness(kind: str, maps: Array) -> list[float]:
    """For each head the mean of its rows' entropies, each counted in logarithms to as many places as the row sees."""
    places = [i + 1 if kind == "decoder" else maps.shape[2] for i in range(maps.shape[1])]
    found = []
    for one in maps:
        each = [
            -sum(w * np.log(w) for w in row if w > 0) / np.log(n) for row, n in zip(one, places, strict=True) if n > 1
        ]
        found.append(float(np.mean(each)) if each else 0.0)
    return found


# --- check and do ----------------------------------------------------------------------------------------------------


def heads_off(page: Page) -> tuple[Head, ...]:
    """The heads that the address switches off."""
    names = page.state.get("off", "").split("+")
    every = {f"{one.kind}.{one.layer}.{one.head}": one for one in all_heads()}
    return tuple(every[name] for name in names) if set(names) <= set(every) else ()


def all_heads() -> list[Head]:
    sizes = range(config()["n_layers"]), range(config()["n_heads"])
    return [Head(kind, layer, n) for kind in KINDS for layer in sizes[0] for n in sizes[1]]


def switch_off(page: Page) -> Statements:
    yield from prose("switch off as many")
    off, asked = heads_off(page), page.state.get("off", "")
    if asked and not off:
        yield from prose("all heads are on", asked)
    numbers = [str(n) for n in range(1, config()["n_heads"] + 1)]
    for kind in KINDS:
        for layer in range(config()["n_layers"]):
            filled = [str(one.head + 1) for one in off if (one.kind, one.layer) == (kind, layer)]
            label = f"{KINDS[kind].label}, layer {layer + 1}"
            yield claims.control("button_group", label, options=numbers, value=filled)
    yield claims.button(f"All heads of {where(common.head(page))} off", "The attention and the layer chosen in See.")
    yield claims.button("All heads on", disabled=not off)
    yield from whole_layers(off)
    yield from written("All heads on", page.oracle)
    if not off:
        yield from prose("switch a head off")
        return
    paths = tuple((one.path, one.head) for one in off)
    yield from written(f"{in_words(len(off))} off", page.translated(heads_off=paths))
    yield from moved(page, page.under(heads_off=paths), len(off))


def whole_layers(off: Sequence[Head]) -> Statements:
    h, n_layers = config()["n_heads"], config()["n_layers"]
    for kind in KINDS:
        empty = [n for n in range(n_layers) if sum((one.kind, one.layer) == (kind, n) for one in off) == h]
        if not empty:
            continue
        names = [str(n + 1) for n in empty]
        which = f"layer {names[0]}" if len(names) == 1 else f"layers {', '.join(names[:-1])} and {names[-1]}"
        follows = prose.words("without all heads")[kind if len(empty) == n_layers else "some"]
        yield from prose("all heads are off", KINDS[kind].name, which, h, number(0), follows)


def written(title: str, oracle: Forward) -> Statements:
    labels = pieces(oracle.labels)
    yield claims.markdown(f"**{title}:** {inline(text_of(oracle.labels)) or '(nothing)'}")
    texts = [piece.text for piece in labels[:READABLE]]
    yield claims.bars(texts, chances(oracle)[:READABLE], f"{title}: probability of each piece written")
    notes = [f"The first {READABLE} of {len(labels)} pieces."] * (len(labels) > READABLE)
    if oracle.labels[-1] != EOS:
        notes.append(f"It did not come to an end and was stopped after {LONGEST} pieces.")
    if notes:
        yield claims.caption(" ".join(notes))


def moved(page: Page, changed: Forward, n_off: int) -> Statements:
    n, before, after = len(page.labels), page.probabilities, chances(changed)
    names = "with all heads on", f"with {in_words(n_off)} off"
    yield from prose("how likely each piece")
    yield from common.pieces_before_after(page, before, after, names)
    falls, rises = sum(after < before - 0.005), sum(after > before + 0.005)
    yield from prose("it falls for of", falls, n, rises, magnitude(np.prod(after / before)))


@functools.lru_cache(16)
def changes(sentence: str) -> dict[Head, float]:
    """How the log-probability of the translation changes when a head is off alone."""
    oracle = translated(sentence)
    src, labels = source_ids(sentence), oracle.labels

    def total(one: Forward) -> float:
        return float(np.log(chances(one)).sum())

    return {one: total(Forward(src, labels, heads_off=((one.path, one.head),))) - total(oracle) for one in all_heads()}


def ranking(page: Page) -> Statements:
    change_of = changes(page.sentence)
    n_heads, n_layers = config()["n_heads"], config()["n_layers"]
    yield from prose("each of the heads", len(change_of))
    order = sorted(change_of, key=lambda one: change_of[one])
    named = {f"{one.kind}.{one.layer}.{one.head}": one for one in change_of}
    chosen = named.get(page.state.get("without", ""), order[0])
    rows = [[Head(kind, layer, n) for kind in KINDS for n in range(n_heads)] for layer in range(n_layers)]
    short = {"encoder": "encoder", "decoder": "masked", "cross": "enc-dec"}
    yield claims.matrix(
        np.array([[change_of[one] for one in row] for row in rows]),
        [f"layer {n}" for n in range(1, n_layers + 1)],
        [f"{short[one.kind]} {one.head + 1}" for one in rows[0]],
        **prose.words("change without each head"),
        scale="signed",
        selected=(chosen.layer, list(KINDS).index(chosen.kind) * n_heads + chosen.head),
        value_names=[[name_of(one) for one in row] for row in rows],
        group=n_heads,
    )
    without = page.translated(heads_off=((chosen.path, chosen.head),))
    old, new = (inline(text) or "(nothing)" for text in (page.translation, text_of(without.labels)))
    writes = prose.words("the model writes", old, new)["still" if old == new else "instead"]
    yield from prose("without click another cell", name_of(chosen), magnitude(np.exp(change_of[chosen])), writes)

    def row(one: Head) -> tuple[str, ...]:
        looks = roles(one.kind, shares_tested(one.kind, one.layer))[one.head]
        name = f"{KINDS[one.kind].label}, layer {one.layer + 1}, head {one.head + 1}"
        return name, number(change_of[one], 3), magnitude(np.exp(change_of[one])), looks

    head = f"head | change | times as likely | looks at, over {measured()['sentences']:,} test sentences"
    yield claims.table(head, *map(row, order[:5]))
    better = sum(change > 0 for change in change_of.values())
    yield from prose("without of the heads", better, len(change_of))


def multiplied(t: int, s: int, h: int) -> list[int]:
    """How often: for Q, K and V, for the products, for the sums of values, and by the last matrix."""
    d = config()["d_model"]
    return [(t + 2 * s) * d * d, h * t * s * (d // h), h * t * s * (d // h), t * d * d]


def cost(page: Page) -> Statements:
    chosen, d = common.head(page), config()["d_model"]
    t, s = map(len, common.asks_and_answers(page, chosen.kind))
    yield from prose("do several heads cost", d, KINDS[chosen.kind].name.lower(), t, s)
    h = int((yield from common.choose(page, "Heads", "n_heads", "1 2 4 8 16 32".split(), str(config()["n_heads"]))))
    many, one, d_k = multiplied(t, s, h), multiplied(t, s, 1), d // h
    yield claims.table(
        ("multiplications", f"{in_words(h)} of {d_k}", f"1 head of {d}"),
        ("Q, K and V from X", f"({t} + 2 · {s}) · {d} · {d} = {many[0]:,}", f"{one[0]:,}"),
        ("queries times keys", f"{h} · {t} · {s} · {d_k} = {many[1]:,}", f"{one[1]:,}"),
        ("weights times values", f"{h} · {t} · {s} · {d_k} = {many[2]:,}", f"{one[2]:,}"),
        ("mixing by $W^O$", f"{t} · {d} · {d} = {many[3]:,}", f"{one[3]:,}"),
        ("**all of them**", f"**{sum(many):,}**", f"**{sum(one):,}**"),
        ("learned numbers in $W^Q, W^K, W^V, W^O$", f"{4 * d * d:,}", f"{4 * d * d:,}"),
        ("softmax: e to the power of a score", f"{h} · {t} · {s} = {h * t * s:,}", f"{t * s:,}"),
    )
    yield from prose("the same products divided")


# --- predict ---------------------------------------------------------------------------------------------------------


def predict(page: Page) -> Statements:
    layer, row, h = common.head(page).layer, len(page.src) // 2, config()["n_heads"]
    weights = page.oracle[f"encoder.layers.{layer}.self_attn.weights"][:, row]
    most = [int(one.astype(np.float32).argmax()) for one in weights]
    different = len(set(most))
    looks = ", ".join(
        f"head {n + 1} at {inline(page.src[j].text)} (piece {j + 1}, {number(weights[n, j], 2)})"
        for n, j in enumerate(most)
    )
    wrong = {n - 1: prose.words("too few or many", n)["few" if n < different else "many"] for n in range(1, h + 1)}
    options = ("1: all heads on the same", *(str(n) for n in range(2, h)), f"{h}: each on another")
    values = layer + 1, h, inline(page.src[row].text), row + 1, looks
    yield prose.question("layer of the encoder", different - 1, *values, options=options, wrong=wrong)
    d, t = config()["d_model"], len(page.src)
    learned, (before, after) = 4 * d * d, (sum(multiplied(t, t, n)) for n in (h, 2 * h))
    values = 2 * h, d // h // 2, h, d // h, *(f"{n:,}" for n in (learned, before, after))
    yield prose.question("we give a layer", 1, *values)
    yield matters(page)


def matters(page: Page) -> Any:
    left = {one: float(np.exp(change)) for one, change in changes(page.sentence).items()}
    worst, limits = min(left, key=lambda one: left[one]), (0.9, 0.5, 0.1)
    right = next((n for n, limit in enumerate(limits) if left[worst] >= limit), len(limits))
    further, not_so_far = (
        [prose.line(run, limit) for limit in limits] for run in ("it falls further", "no single head")
    )
    values = len(left), name_of(worst), magnitude(left[worst]), magnitude(np.median(list(left.values())))
    return prose.question("the model has heads", right, *values, wrong=[*further[:right], "", *not_so_far[right:]])


do = TRIAL.trials(switch_off, ranking, cost)
code = code_of(
    "model/parts/attention.py: MultiHeadAttention",
    "experiments/attention/head_roles.py: shares, places, role, evenness, aligned_words",
    "experiments/attention/ablation.py: log_probabilities_without",
)
