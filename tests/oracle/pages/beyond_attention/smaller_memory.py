"""What the lesson on a smaller memory must show."""

import functools
import json
import math
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from tests.oracle.language import claims
from tests.oracle.language import scene as screen
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import chance, number
from tests.oracle.language.common import Choice, Shown, Statements, check_cell, code_of, shown_tensor, tensor_matrix
from tests.oracle.language.page import READABLE, Page, chances
from tests.oracle.language.statement import magnitude, perplexity, rounding
from tests.oracle.language.words import inline, visible
from tests.oracle.passes import shipped
from tests.oracle.passes.decode import Ids
from tests.oracle.passes.family.language_models import NAME as GPT
from tests.oracle.passes.family.language_models import Gpt, reading, text_on
from tests.oracle.passes.forward import EOS, Array, Forward, source_ids
from tests.oracle.passes.network import Network, softmax
from tests.oracle.shown import siblings
from tests.oracle.shown.variants import begins_anew

prose = Prose("smaller_memory")

SIZES = (256, 128, 96, 64, 32, 16, 8)
STOPS = (128, 64, 32, 16, 8)
INSIDE = Choice("What to work out", "inside", ("the numbers kept", "keys made from them"))
TRIAL = Choice("Try", "memory_trial", ("What each kind keeps", "Squeeze it", "Trained so", "Exact, in tiles"))
SQUEEZED, TRAINED, TILES = ({"memory_trial": trial} for trial in TRIAL.options[1:])
LABEL = "Numbers kept of each piece in a layer, r"
LONG = "The man who told me that he had lost his keys on the train to Boston forgot his umbrella there as well. "
STATES: tuple[dict[str, str], ...] = (
    {},
    {"sentence": LONG * 5, "kept": "256", "cell": "3.2", "stop": "1", "tiles": "8", **TILES},
    {"sentence": "Go", "kept": "8", "inside": INSIDE.options[1], "tiles": "1", "stop": "5", **TILES},
    {"sentence": "🙂", "kept": "0", "tiles": "9", "stop": "99", "cell": "0.0", **TILES},
    {"sentence": "I ate an apple and a banana in the garden of my old house."} | SQUEEZED,
    {"sentence": f"{LONG}{LONG}"} | SQUEEZED,
    {"sentence": "Go", **TRAINED},
    {"sentence": "We met.", "sibling_map": "Masked decoder", **TRAINED},
    {"sentence": LONG * 3, "attention_sibling_1": "attention-latent", "sibling_map": "Encoder-decoder", **TRAINED},
    {"sentence": LONG, "kept": "513", "inside": INSIDE.options[1], "cell": "2.5", "tiles": "5", "stop": "2", **TILES},
    {"sentence": LONG, "kept": "x", "inside": INSIDE.options[0], "tiles": "-1"},
)


def layers(name: str) -> int:
    return int(shipped.config(name)["n_layers"])


@functools.cache
def squeezed_weights(name: str, r: int) -> dict[str, Array]:
    """All weights of a model; in the decoder W^C (r,d) before keys and values, and these made from r numbers (d,r)."""
    w, found = dict(shipped.weights(name)), load_file(shipped.MODELS / name / "latent.safetensors")
    for n in range(layers(name)):
        basis = found[f"layers.{n}.basis"].astype(float)[:, :r]
        for_k, for_v = np.split(basis, 2)
        path, (sigma_k, sigma_v) = f"decoder.layers.{n}.self_attn", found[f"layers.{n}.scales"].astype(float)
        w_k, w_v = w[f"{path}.w_k.weight"], w[f"{path}.w_v.weight"]
        w[f"{path}.w_c.weight"] = for_k.T @ w_k / sigma_k + for_v.T @ w_v / sigma_v
        w[f"{path}.w_k.weight"], w[f"{path}.w_v.weight"] = sigma_k * for_k, sigma_v * for_v
    return w


class Squeezing(Network):
    """A decoder whose attention to itself reads r numbers of each row."""

    def own_attention(self, path: str, y: Array, allowed: Array, first: int) -> Array:
        if not path.startswith("decoder"):
            return super().own_attention(path, y, allowed, first)
        return self.attention(path, y, self.keep(f"{path}.squeezed", self.linear(f"{path}.w_c", y)), allowed, first)


class Squeezed(Squeezing, Forward):
    pass


class SqueezedGpt(Squeezing, Gpt):
    r = 0

    def __init__(self, ids: Ids, r: int) -> None:
        self.r = r
        super().__init__([*ids, EOS])

    def linear(self, path: str, rows: Array) -> Array:
        self.w = squeezed_weights(GPT, self.r)
        return super().linear(path, rows)


@functools.lru_cache(64)
def through(sentence: str, labels: Ids, r: int) -> Forward:
    """The sentence and a given translation."""
    if r == 512:
        return Forward(source_ids(sentence), list(labels))
    return Squeezed(source_ids(sentence), list(labels), w=squeezed_weights("translator", r))


def upto_another(page: Page, r: int) -> list[int]:
    """What is written, up to the first piece that the translation has not at its place: before it all is read alike."""
    best, labels = here(page, r)["logits"].argmax(-1).tolist(), list(page.oracle.labels)
    same = next((n for n, (a, b) in enumerate(zip(best, labels, strict=True)) if a != b), len(labels))
    return best[: same + 1]


@functools.cache
def measured(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((shipped.MODELS / name / "latent.json").read_text())
    return found


def percent(share: float) -> str:
    return f"{number(100 * share, 1)}%"


def n_bytes(r: int) -> int:
    return 4 * r * layers("translator")


def here(page: Page, r: int) -> Forward:
    return through(page.sentence, tuple(page.oracle.labels), r)


def keys_and_values(read: Forward) -> Array:
    return np.hstack([*read["decoder.layers.2.self_attn.k"], *read["decoder.layers.2.self_attn.v"]])


def scene(page: Page) -> Statements:
    written = [""] + [begins_anew(page, upto_another(page, r)) for r in STOPS]
    opens = next((n for n, text in enumerate(written) if text), len(STOPS))
    frames = [scene_frame(page, r, text) for r, text in zip((512, *STOPS), written, strict=True)]
    looks: dict[str, Any] = {"by": "slider", "wide": (1.2, 1), "plays": True}
    yield from screen.scene(page, prose.line("the decoder's memory what"), LABEL, frames, opens, **looks)


def scene_frame(page: Page, r: int, written: str) -> dict[str, Any]:
    read, found = here(page, r), measured("translator")
    if r == 512:
        kept = keys_and_values(read)
        text = page.translation if len(page.translation) <= 80 else page.translation[:80] + "…"
        said = prose.line("a key and a value", r, f"{n_bytes(r):,}", visible(text))
    else:
        kept = read["decoder.layers.2.self_attn.squeezed"]
        shares = percent(found[str(r)]["same_sentences"]), percent(found[str(r)]["same"])
        end = written if len(written) <= 80 else "…" + written[-80:]
        writes = f"“{visible(end)}”" if written else "the same."
        counts = f"{n_bytes(r):,}", f"{n_bytes(512):,}", writes, found["sentences"]
        said = prose.line("of numbers bytes a", r, 512, *counts, *shares)
    cards = [screen.card(piece.text, column=kept[t, ::8].tolist()) for t, piece in enumerate(page.tgt[:8])]
    limit = float(abs(page.oracle["decoder.layers.2.self_attn.k"]).max())
    columns = screen.cards(
        [screen.row(cards)], title=f"{r} numbers a piece: a cell for every 8", limit=limit, tall=(math.ceil(r / 24), 22)
    )
    now, best = chances(read), read["logits"].argmax(-1)
    bars = [
        screen.bar(piece.text, now[t], chance(now[t]), page.probabilities[t], strong=bool(best[t] != piece.id))
        for t, piece in enumerate(page.labels[:8])
    ]
    likely = screen.bars(bars, "Probability of its pieces (dashed: untouched)")
    memory = screen.bar("kept", r / 512, f"{n_bytes(r):,}", 1.0, strong=True)
    return screen.frame(str(r), said, (columns, likely), (screen.bars([memory], "Bytes a piece in all layers", "key"),))


def chosen(page: Page) -> int:
    return int(page.choice("kept", [str(r) for r in SIZES], "64"))


def shown(page: Page) -> Shown:
    keys = INSIDE.at(page)
    name = "decoder.layers.2.self_attn." + ("k" if keys else "squeezed")
    return shown_tensor(page, name, head=0 if keys else None, oracle=here(page, chosen(page)), n_columns=8)


def see(page: Page) -> Statements:
    r, keys, n = chosen(page), INSIDE.at(page), len(page.tgt)
    yield claims.control("select_slider", LABEL, options=[str(one) for one in SIZES], value=str(r))
    yield INSIDE.drawn(page)
    yield from tensor_matrix(shown(page), **prose.words("keys made" if keys else "numbers kept", r))
    whole, squeezed = (keys_and_values(one) for one in (page.oracle, here(page, r)))
    away = percent(float(np.linalg.norm(squeezed - whole) / np.linalg.norm(whole)))
    yield from prose("keys and values of", away, n, f"{n * n_bytes(r):,}", f"{n * n_bytes(512):,}")


def check(page: Page) -> Statements:
    yield from check_cell(shown(page))


def squeezing(page: Page) -> Statements:
    pairs, books, ids = measured("translator"), measured(GPT), text_on(page.sentence).ids
    yield from prose("how much can be", f"{pairs['tokens']:,}", pairs["sentences"], f"{books['tokens']:,}")
    rows = []
    for r in (512, *SIZES):
        read = reading(ids) if r == 512 else SqueezedGpt(ids, r)
        yours = perplexity(float(read["losses"][:-1].mean()))
        shares = (percent(pairs[str(r)][name]) for name in ("same", "same_sentences"))
        costs = number(books[str(r)]["perplexity"], 1), yours
        rows.append((str(r), f"{n_bytes(r):,}", *shares, *costs))
    head = "r | bytes a piece | same next piece | same translation | GPT's perplexity | of your text"
    yield claims.table(head, *rows)
    yield from prose("at r only rounding", 256)


def sizes(page: Page) -> Statements:
    yield from prose("what does each kind")
    # Kind; name; what is kept in a layer; layers; bytes of a number.
    ours = [("MHA", 2 * 4 * 64), ("GQA", 2 * 2 * 64), ("MQA", 2 * 64), ("MLA", 4 * 64 + 32)]
    every = [(kind, "this model", kept, layers("translator"), 4) for kind, kept in ours]
    every += [
        ("MHA", "Llama 2, 7B", 2 * 32 * 128, 32, 2),
        ("GQA", "Llama 2, 70B", 2 * 8 * 128, 80, 2),
        ("MQA", "Falcon, 7B", 2 * 64, 32, 2),
        ("MLA", "DeepSeek-V2", 512 + 64, 60, 2),
    ]
    rows = []
    for kind, name, kept, depth, width in every:
        total = kept * depth * width
        rows.append((kind, name, f"{kept:,}", str(depth), f"{total:,}", f"{number(total / 10**4, 2)} GB"))
    yield claims.table("kind | model | numbers in a layer | layers | bytes a piece | 100,000 pieces", *rows)
    yield from prose("a number takes bytes", 4, f"{2 * 128 * 128:,}")


def tiles(page: Page) -> Statements:
    path = "encoder.layers.0.self_attn"
    scores, n = page.oracle[f"{path}.scores"], len(page.src)
    size = max(2, math.ceil(n / 8))
    ends = [min(n, end) for end in range(size, n + size, size)]
    largest = np.stack([scores[..., :end].max(-1) for end in ends])
    rises = np.minimum(1, largest[1:] - largest[:-1]).sum(0)
    head, row = divmod(int(rises.astype(np.float32).argmax()), n)
    yield from prose("can it be exact", size, inline(page.src[row].text), head + 1)
    count = math.ceil(n / size)
    options = [str(one) for one in range(1, 9)]
    asked = page.choice("tiles", options, "2")
    yield claims.control("select_slider", "Tiles read", options=options, value=asked)
    read, s, v = min(int(asked), count), scores[head, row], page.oracle[f"{path}.v"][head]
    rows = []
    for t in range(read):
        so_far, before, tile = s[: (t + 1) * size], s[: t * size], s[t * size : (t + 1) * size]
        largest = so_far.max()
        shrunk = math.exp(before.max() - largest) if t else 0.0
        output = softmax(so_far) @ v[: len(so_far)]
        off = float(abs(output - softmax(s) @ v).max())
        listed = ", ".join(number(one, 2) for one in tile[:3]) + ", …" * (len(tile) > 3)
        kept = number(largest, 2), number(shrunk), number(float(np.exp(so_far - largest).sum())), number(output[0])
        rows.append((str(t + 1), listed, *kept, rounding(1e-6) if t == count - 1 else magnitude(off)))
    so_far = np.concatenate([softmax(s[: read * size]), np.zeros(max(0, n - read * size))])
    names = [piece.text for piece in page.src[:READABLE]]
    yield claims.bars(names, so_far[:READABLE].tolist(), "Share of each piece so far")
    head_line = "tile | its scores | m | e^(m before − m) | ℓ | first number of o | furthest from softmax's"
    yield claims.table(head_line, *rows)
    yield from prose("of tiles are read", read, count)


def trained(page: Page) -> Statements:
    yield from prose("what if it learns")
    kept = {}
    for name in siblings.names():
        if name == "plain-1" or name.startswith("attention-"):
            w, depth = siblings.weights_of(name), siblings.config_of(name)["n_layers"]
            rows = [len(w.get(f"decoder.layers.0.self_attn.{one}.weight", ())) for one in ("w_c", "w_kr", "w_k", "w_v")]
            kept[name] = 4 * depth * sum(rows[:2] if rows[0] else rows[2:])
    words = prose.words("their attention")
    yield claims.table(
        "sibling | its attention | bytes that its decoder keeps of a piece",
        *((name, words[name], f"{n:,}") for name, n in sorted(kept.items(), key=lambda one: -one[1])),
    )
    yield from prose("measured on a cache")
    yield from siblings.two_siblings(page, "attention")


do = TRIAL.trials(sizes, squeezing, trained, tiles)


def predict(page: Page) -> Statements:
    n, one = len(page.tgt), n_bytes(512)
    options = (f"{n * one // 3:,}", f"{n * one:,}", f"{n * n * one:,}")
    yield prose.question("the decoder reads pieces", 1, n, 512, 4, 3, *options, f"{one:,}")
    half = percent(measured("translator")["128"]["same"])
    yield prose.question("a key and a value together", 1, 512, 256, 128, half)


code = code_of(
    "experiments/attention/latent.py: basis_of, through, NarrowAttention",
    "experiments/attention/tiles.py: attention_in_tiles",
)
