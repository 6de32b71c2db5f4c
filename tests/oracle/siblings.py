"""A small translator with any of the parts, once more in NumPy, from its config and its weights; and what the view of
two of them must show.
"""

import functools
import json
import math
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from tests.oracle import claims
from tests.oracle.claims import number
from tests.oracle.common import KINDS, Statements
from tests.oracle.decode import Writer, greedy
from tests.oracle.forward import EMBEDDING, EOS, FOLDER, MAX_PIECES, SOS, Array, positions, softmax, source_ids
from tests.oracle.page import READABLE, Page
from tests.oracle.variants import Variant, relative_bias
from tests.oracle.words import inline, pieces, text_of

MODELS = FOLDER.parent
PARTS = ("positions", "norm", "norm_place", "activation")
PLAIN = {"vocab_size": 8000, "d_model": 128, "n_heads": 4, "n_layers": 2, "d_ff": 512, "max_len": 64, "dropout": 0.1}


@functools.cache
def causal_bucket(offset: int) -> int:
    """Of 32 buckets, all to the left: 0 to 15 one distance each, then by factors of 8^(1/16) up to 128."""
    distance = max(0, -offset)
    starts = [math.ceil(round(16 * 8 ** (n / 16), 9)) for n in range(16)]
    return distance if distance < 16 else 15 + sum(distance >= start for start in starts)


class Sibling(Variant):
    """One pass. config: what config.json says; w: the weights by name."""

    def __init__(self, config: dict[str, Any], w: dict[str, Array], src: list[int], labels: list[int]) -> None:
        self.config, self.own = config, w
        kinds, norm = {}, f"{config['norm']} {config['norm_place']}"
        for stack, n_norms in (("encoder", 2), ("decoder", 3)):
            for n in range(config["n_layers"]):
                path = f"{stack}.layers.{n}"
                if config["positions"] in ("relative", "rotary", "alibi"):
                    kinds[f"{path}.self_attn"] = config["positions"]
                kinds[f"{path}.feed_forward"] = config["activation"]
                kinds |= {f"{path}.add_norm_{i + 1}": norm for i in range(n_norms)}
        super().__init__(src, labels, kinds)

    def weights(self, untrained: bool) -> dict[str, Array]:
        return self.own

    def relative(self, path: str, length: int) -> Array:
        table = self.w[f"{path}.positions.table.weight"]
        return relative_bias(length, table, *([causal_bucket] if path.startswith("decoder") else []))

    def alpha(self, path: str) -> float:
        n = self.config["n_layers"]
        return 0.81 * n ** (5 / 16) if path.startswith("encoder") else (3 * n) ** (1 / 4)

    def embed(self, stack: str, ids: list[int]) -> Array:
        d_model = self.config["d_model"]
        scaled, length = self.w[EMBEDDING][ids] * math.sqrt(d_model), len(ids)
        tables = {
            "sinusoidal": lambda: positions(length, d_model),
            "learned": lambda: self.w["embedding.positions.table.weight"][:length],
        }
        return scaled + tables.get(self.config["positions"], lambda: 0 * scaled)()

    def last_norm(self, stack: str, x: Array) -> Array:
        before = self.config["norm_place"] in ("pre", "sandwich")
        return self.normalise(self.config["norm"], f"{stack}.norm", x) if before else x

    def encoder(self, src: list[int]) -> Array:
        x = self.embed("encoder", src)
        for n in range(self.config["n_layers"]):
            path = f"encoder.layers.{n}"
            x = self.joined(f"{path}.add_norm_1", x, functools.partial(self.attend, f"{path}.self_attn"))
            x = self.joined(f"{path}.add_norm_2", x, functools.partial(self.feed_forward, f"{path}.feed_forward"))
        return self.last_norm("encoder", x)

    def decoder_states(self, tgt: list[int]) -> Array:
        x, past = self.embed("decoder", tgt), np.tri(len(tgt), dtype=bool)
        for n in range(self.config["n_layers"]):
            path = f"decoder.layers.{n}"

            def own(y: Array, path: str = path) -> Array:
                return self.attention(f"{path}.self_attn", y, y, past)

            def memory(y: Array, path: str = path) -> Array:
                return self.attention(f"{path}.cross_attn", y, self.memory, self.seen)

            x = self.joined(f"{path}.add_norm_1", x, own)
            x = self.joined(f"{path}.add_norm_2", x, memory)
            x = self.joined(f"{path}.add_norm_3", x, functools.partial(self.feed_forward, f"{path}.feed_forward"))
        return self.last_norm("decoder", x)


# --- those that come with the app ------------------------------------------------------------------------------------


def config_of(name: str) -> dict[str, Any]:
    return json.loads((MODELS / name / "config.json").read_text())


def names() -> list[str]:
    """Models with a config of these sizes."""
    folders = sorted(path.parent for path in MODELS.glob("*/about.json") if (path.parent / "config.json").exists())
    sizes = {folder.name: {n: v for n, v in config_of(folder.name).items() if n not in PARTS} for folder in folders}
    return [name for name, size in sizes.items() if size == PLAIN]


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


def two_siblings(page: Page, part: str) -> Statements:
    known = names()
    if len(known) < 2:
        return
    yield claims.subheader("Two trained siblings side by side")
    yield claims.markdown(
        "Small translators, trained alike on the same sentences. Each is named after the one part in which it differs; "
        "those named *plain* differ in the random numbers that training began with."
    )
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
    runs = [translated(name, page.sentence) for name in chosen]
    chances = [softmax(run["logits"])[np.arange(len(run.labels)), run.labels] for run in runs]
    yield claims.table(
        ("sibling", "mean probability of its pieces", "parameters"),
        *((name, number(chance.mean()), f"{count(name):,}") for name, chance in zip(chosen, chances, strict=True)),
    )
    for name, run, chance in zip(chosen, runs, chances, strict=True):
        yield from one_sibling(name, run, chance, kind)


def count(name: str) -> int:
    """Numbers learned."""
    return sum(w.size for w in weights_of(name).values())


def one_sibling(name: str, run: Sibling, chance: Array, kind: str) -> Statements:
    src, labels, tgt = (pieces(ids) for ids in (run.ids["encoder"], run.labels, [SOS, *run.labels[:-1]]))
    yield claims.markdown(f"{inline(name)} writes **{inline(text_of(run.labels) or '(nothing)')}**")
    texts = [piece.text for piece in labels[:READABLE]]
    yield claims.columns(
        texts,
        [claims.Series("probability", chance[:READABLE])],
        alt=f"A bar for each of {len(texts)} pieces that {name} wrote: its probability.",
        axis=name,
        limit=1.0,
    )
    last = run.config["n_layers"] - 1
    path, part = KINDS[kind].path.format(last), np.s_[:READABLE, :READABLE]
    asks, answers = {"encoder": (src, src), "decoder": (tgt, tgt), "cross": (labels, src)}[kind]
    yield claims.matrix(
        run[f"{path}.weights"].mean(0)[part],
        [piece.text for piece in asks[:READABLE]],
        [piece.text for piece in answers[:READABLE]],
        title=f"{KINDS[kind].name} of {name}",
        how_to_read=f"The average of the heads of layer {last + 1}; 0 to 1.",
        describe=KINDS[kind].describe,
        hidden=np.isneginf(run[f"{path}.scores"][0])[part],
        csv_name=f"{kind} attention of {name}",
    )
