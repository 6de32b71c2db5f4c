"""The stage on the home page and in lessons on the translator: every number that it draws, and its story."""

import functools
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import number
from tests.oracle.language.page import OWN, Page
from tests.oracle.language.statement import Statement, ThreeDigits
from tests.oracle.language.words import Piece, pieces, text_of, visible
from tests.oracle.passes.forward import EOS, Array, softmax
from tests.oracle.shown import stage_near
from tests.oracle.shown.machine_map import opens

prose = Prose("stage")

Look = tuple[int, int, int, float]  # head, row, column, weight

PARTS = {"encoder": ("self_attn", "feed_forward"), "decoder": ("self_attn", "cross_attn", "feed_forward")}
# As measured over many sentences (assets/models/translator/about.json), counted from 0.
TELLING = {"encoder": (1, 3), "decoder": (0, 0), "cross": (1, 1)}
LABELS = {
    "encoder.self_attn": "Self-attention",
    "decoder.self_attn": "Masked self-attention",
    "decoder.cross_attn": "Reads the memory",
}


@dataclass(frozen=True)
class Block:
    """One block: what it is, and which tensors it makes. memory: the number of the stack that it reads, or −1"""

    id: str
    kind: str
    label: str
    result: str
    layer: int = 0
    added: str = ""
    weights: str = ""
    memory: int = -1


def letters(piece: Piece) -> bool:
    """Whether a piece is of a word: has a letter or a digit, and is no mark."""
    return piece.id > EOS and any(unicodedata.category(c)[0] in "LN" for c in piece.text)


def shown(text: str) -> str:
    return visible(text) if text.strip(" ") else "␣"


def quoted(piece: Piece) -> str:
    text = shown(piece.text)
    text = text if len(text) <= 24 else text[:23] + "…"
    return f"“{text}”" if piece.id > EOS else text


def share(p: float) -> str:
    if p < 0.01:
        return "less than 1%"
    return "more than 99%" if 0.995 <= p < 1 - 1e-6 else f"{number(100 * p, 0)}%"


def plural(n: int, thing: str) -> str:
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"


def largest(weights: Array, places: Sequence[tuple[int, int, int]]) -> Look:
    """Of places (head, row, column) that of the largest weight; of equal ones the first head."""
    place = max(places, key=lambda at: (round(float(weights[at]), 5), -at[0], weights[at]))
    return (*place, float(weights[place]))


def second_word(sequence: Sequence[Piece]) -> int:
    """Which piece is of the second word, if there is one: it serves as an example."""
    return ([n for n, piece in enumerate(sequence) if letters(piece)] or list(range(len(sequence))))[:2][-1]


def of_each_head(weights: Array, row: int) -> list[Look]:
    """The largest weight of a row in every head."""
    return [(h, row, int(one.argmax()), float(one.max())) for h, one in enumerate(weights[:, row])]


def blocks(stack: str, n_layers: int) -> list[Block]:
    at = f"{stack}.embedding"
    found = [
        Block(at, "embedding", "Token embedding", f"{at}.scaled"),
        Block(f"{stack}.positions", "positions", "+ Positions", f"{at}.output", 0, f"{at}.positions"),
    ]
    for layer in range(1, n_layers + 1):
        path = f"{stack}.layers.{layer - 1}"
        for n, name in enumerate(PARTS[stack], 1):
            id, result = f"{stack}.{name}", f"{path}.add_norm_{n}.output"
            if name == "feed_forward":
                found.append(Block(id, name, "Feed-forward", result, layer))
            else:
                memory = 0 if name == "cross_attn" else -1
                found.append(Block(id, "attention", LABELS[id], result, layer, "", f"{path}.{name}.weights", memory))
    return [*found, *[Block("output.softmax", "output", "Next piece", "")] * (stack == "decoder")]


def stacks_of(page: Page) -> tuple[list[Block], list[Block]]:
    return blocks("encoder", page.config["n_layers"]), blocks("decoder", page.config["n_layers"])


def tensors_of(page: Page, seen: Sequence[Block] | None = None) -> list[str]:
    """The names of what is added, of what comes out, and of weights; those that some blocks make, or all."""
    every = [block for stack in stacks_of(page) for block in stack]
    names = dict.fromkeys(getattr(block, what) for what in ("added", "result", "weights") for block in every)
    made = {name for block in (every if seen is None else seen) for name in (block.added, block.result, block.weights)}
    return [name for name in names if name and name in made]


@functools.lru_cache(maxsize=32)
def told(sentence: str, own: str = "") -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The story of a sentence, and the likeliest pieces of each step; own: the lesson, if it has a model of its own."""
    page = Page(own, {"sentence": sentence})
    return Story(page).told(), steps(page)


def told_on(page: Page) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    return told(page.sentence, page.slug if page.slug in OWN else "")


def stage(page: Page) -> Statement:
    moments, _ = told_on(page)
    more = {"presenting": page.switch("present"), "switches": True}
    return drawn(page, moments, (0, len(moments) - 1), tensors_of(page), opens(), **more)


def clip(page: Page, plays: str, view: str, small: bool) -> Statement:
    """The stage of a lesson: one stretch of the story, perhaps a block from near, and only the numbers it shows."""
    moments, _ = told_on(page)
    first, last = stretch(page, moments, plays)
    at = {one["panel"]: (one["panel"], one["part"]) for one in moments[:first]}  # what stands open when it begins
    works = {*at.values(), *((one["panel"], one["part"]) for one in moments[first : last + 1])}
    stacks = stacks_of(page)
    seen = [block for stack, part in works for block in stacks[stack][max(0, part - 1) : part + 1]]
    if any(stacks[stack][part].memory == 0 for stack, part in works):
        seen.append(stacks[0][-1])
    names = tensors_of(page, seen)
    more: dict[str, Any] = {"small": small}
    if view:
        at = moments[last]
        moment, reads, spreads = near(page, view, stacks[at["panel"]][at["part"]], at["step"])
        names = list(dict.fromkeys([*names, *reads.values()]))
        more["near"] = {"view": view, "spreads": spreads, **{what: names.index(name) for what, name in reads.items()}}
        last += 1
        moments = [*moments[:last], {**at, "kind": "near", "stop": "", "half": 0, **moment}, *moments[last:]]
    return drawn(page, moments, (first, last), names, {}, **more)


def near(page: Page, view: str, block: Block, step: int) -> tuple[dict[str, Any], dict[str, str], list[str]]:
    """What a block of layer 1 shows from near: its moment's head, row and caption, its tensors, and spreads."""
    stack, _, name = block.id.partition(".")
    reads = stage_near.reads_of(view, f"{stack}.layers.0", name, f"{stack}.embedding.output")
    if view == "widen":
        row = second_word(page.src)
        return {"head": 0, "focus": row, "caption": stage_near.widened(page, reads, row, quoted)}, reads, []
    weights = page.oracle[block.weights]
    place = None
    if view != "read":
        place = stage_near.divided(weights, stage_near.may_be_shown(page, view, weights, letters))
    head, row = place or Story(page).look(block, step if view == "read" else None)[:2]
    spreads = stage_near.spreads_of(page, reads, row) if view == "norm" else []
    # What is said of the row, and what is said of it when another head is chosen.
    every = [stage_near.said(page, view, (h, row), weights, (quoted, share), spreads) for h in range(len(weights))]
    by_head = every if view in ("project", "score", "mix", "read") else []
    return {"head": head, "focus": row, "caption": every[head], "by_head": by_head}, reads, spreads


def stretch(page: Page, moments: Sequence[dict[str, Any]], plays: str) -> tuple[int, int]:
    """Numbers of the first and last moment, for what a Place of the course says that its lesson plays."""
    stacks = stacks_of(page)

    def at(kind: str, stack: int = 0, id: str = "", layer: int = 0) -> list[int]:
        """Moments of a kind; of blocks, those of one id and layer."""
        found = [n for n, one in enumerate(moments) if (one["kind"], one["panel"]) == (kind, stack)]
        blocks = {n: stacks[stack][moments[n]["part"]] for n in found}
        return [n for n in found if not id or (blocks[n].id, blocks[n].layer) == (id, layer)]

    match plays:
        case "pieces":
            return 0, 0
        case "encoder.embedding" | "encoder.positions":
            (n,) = at("block", 0, plays)
            return n, n
        case "encoder.self_attn" | "encoder.feed_forward":
            found = at("block", 0, plays, 1)
            return found[0], found[-1]
        case "encoder":
            return 1, at("memory")[0]
        case "masked":  # where there is a past, if there is one
            return (at("block", 1, "decoder.self_attn", 1)[-1],) * 2
        case "reading":
            return (at("block", 1, "decoder.cross_attn", 1)[0],) * 2
        case "choice":  # of the first piece, after the last block
            (n,) = at("choose", 1)
            return n - 1, n
        case "writing":
            return at("choose", 1)[0], len(moments) - 1
    raise KeyError(plays)


def drawn(
    page: Page, moments: list[Any], clip: tuple[int, int], names: list[str], links: dict[str, str], **more: Any
) -> Statement:
    """What a stage is sent. names: of the tensors whose numbers it gets; links: lessons, by the ids of their blocks"""

    def parts(blocks: Sequence[Block]) -> list[dict[str, Any]]:
        places = {name: n for n, name in enumerate(names)}
        return [
            {name: getattr(block, name) for name in ("id", "kind", "layer", "label", "memory")}
            | {name: places.get(getattr(block, name), -1) for name in ("result", "added", "weights")}
            | {"causal": block.id == "decoder.self_attn", "lesson": links.get(block.id, "")}
            for block in blocks
        ]

    sides = zip(("encoder", "decoder"), ("source", "target"), (page.src, page.tgt), stacks_of(page), strict=True)
    panels = [
        {"name": stack, "width": page.config["d_model"], "side": side, "parts": parts(blocks)}
        | {"tokens": [shown(piece.text) for piece in sequence], "ids": [piece.id for piece in sequence]}
        for stack, side, sequence, blocks in sides
    ]
    numbers = {name: ThreeDigits(page.oracle[name]) for name in names}
    intro = "The encoder reads English. The decoder writes German."
    said = {"text": shown(page.text), "intro": intro, "given": 1, "counts": "Step", "start": None, "near": None}
    of = {"clip": list(clip), "entries": page.config["vocab_size"], "panels": panels, "numbers": numbers}
    return Statement("stage", of | said | {"steps": told_on(page)[1], "moments": moments} | more)


def steps(page: Page) -> list[dict[str, Any]]:
    """The likeliest pieces of each step, and which is taken."""
    found, ids = [], [piece.id for piece in page.labels]
    for n, (row, taken) in enumerate(zip(softmax(page.oracle["logits"]), ids, strict=True), 1):
        best = [int(id) for id in np.argsort(-row)[:5]]
        if taken not in best:
            best[-1] = taken
        candidates = [[shown(pieces([id])[0].text), float(row[id]), id] for id in best]
        written = visible(text_of(ids[:n]))
        found.append({"candidates": candidates, "chosen": best.index(taken), "written": written})
    return found


class Story:
    """Moment by moment."""

    def __init__(self, page: Page) -> None:
        self.every: list[dict[str, Any]] = []
        self.page, (self.encoder, self.decoder) = page, stacks_of(page)
        self.vocab_size, self.n_layers, self.n_heads = (
            int(page.config[name]) for name in ("vocab_size", "n_layers", "n_heads")
        )

    def add(
        self, kind: str, caption: str, stop: str = "", stack: int = 0, part: int = 0, step: int = -1, **more: Any
    ) -> None:
        """at: the head that is shown and the row that is spoken of, perhaps more of a look"""
        head, focus, *_ = more.get("at", (0, -1))
        places = {"panel": stack, "part": part, "step": step, "head": head, "focus": focus, "half": more.get("half", 0)}
        said = {"kind": kind, "caption": caption, "by_head": more.get("by_head", []), "stop": stop}
        self.every.append(said | places)

    def told(self) -> list[dict[str, Any]]:
        self.chosen = self.page.probabilities
        src, n, last = self.page.src, len(self.page.labels), len(self.decoder) - 1
        own = [piece for piece in src if piece.id != EOS]
        example = own[second_word(own)]
        cut = plural(len(own), "piece"), f"{self.vocab_size:,}", quoted(example), f"{example.id:,}"
        self.add("pieces", prose.line("cut", *cut), "pieces")
        self.encode()
        self.write_first()
        for step in range(1, n):
            self.write(step)
        said = prose.line("stopped", plural(n, "step"))
        if self.page.labels[-1].text == "<eos>":
            said = prose.line("ended", share(self.chosen[-1]), plural(n, "piece"))
        self.add("end", said, "end", 1, last, n - 1)
        return self.every

    def look(self, block: Block, row: int | None = None) -> Look:
        """Head, row, column and weight of what is told of an attention."""
        weights = self.page.oracle[block.weights]
        rows = self.page.src if block.id.startswith("encoder") else self.page.tgt
        columns = self.page.src if block.memory == 0 else rows
        kind = "cross" if block.memory == 0 else block.id.partition(".")[0]
        layer, head = (-1, -1) if self.page.slug in OWN else TELLING[kind]
        heads = [head] if layer == block.layer - 1 else list(range(len(weights)))
        if row is not None:
            best = [(h, row, int(weights[h, row].argmax())) for h in heads]
            return largest(weights, [place for place in best if letters(columns[place[2]])] or best)
        places = [(h, r, c) for h in heads for r in range(len(rows)) for c in range(len(columns))]
        words = [
            (h, r, c)
            for h, r, c in places
            if letters(rows[r]) and letters(columns[c]) and rows[r].text != columns[c].text
        ]
        return largest(weights, words or places)

    def encode(self) -> None:
        d = self.page.config["d_model"]
        for at, block in enumerate(self.encoder):
            if block.kind == "embedding":
                self.add("block", prose.line("vector", d), part=at)
            elif block.kind == "positions":
                self.add("block", prose.line("positions", d), "vectors", part=at)
            elif block.weights:
                look = self.look(block)
                if block.layer > 1:
                    self.add("block", self.others(), part=at, at=look)
                    continue
                self.add("block", prose.line("self-attention", self.n_heads), "attention", part=at, at=look, half=1)
                self.add("block", prose.line("add and norm"), part=at, at=look, half=2)
            else:
                self.add("block", prose.line("feed-forward") if block.layer == 1 else self.others(), part=at)
        said = prose.line("memory", self.n_layers, plural(len(self.page.src), "column"))
        self.add("memory", said, "memory", part=len(self.encoder) - 1)

    def others(self) -> str:
        """What is told of the layers above the first."""
        return prose.words("others")[str(self.n_layers)]

    def write_first(self) -> None:
        for at, block in enumerate(self.decoder[:-1]):
            look = self.look(block, 0) if block.weights else (0, -1)
            stop, by_head = "", []
            if not block.layer:
                said = prose.line("begins")
            elif block.layer > 1:
                said = self.others()
            elif not block.weights:
                said = prose.line("feed-forward again")
            elif block.memory == 0:
                stop = "reading"
                each = of_each_head(self.page.oracle[block.weights], 0)
                by_head = [prose.line("reads", h + 1, share(w), quoted(self.page.src[c])) for h, _, c, w in each]
                said = by_head[look[0]]
            else:
                said = prose.line("masked")
            self.add("block", said, stop, 1, at, 0, at=look, by_head=by_head)
        said = prose.line("compared", f"{self.vocab_size:,}", quoted(self.page.labels[0]), share(self.chosen[0]))
        self.add("choose", said, "next piece", 1, len(self.decoder) - 1, 0)

    def write(self, step: int) -> None:
        tgt, own = self.page.tgt, self.decoder[2]
        if step == 1:
            self.add("feed", prose.line("next input", quoted(tgt[1])), stack=1, step=1)
            look = self.look(own, 1)
            by_head = [
                prose.line("looks back", h + 1, quoted(tgt[1]), share(w), "itself" if c == 1 else quoted(tgt[c]))
                for h, _, c, w in of_each_head(self.page.oracle[own.weights], 1)
            ]
            self.add("block", by_head[look[0]], "", 1, 2, 1, at=look, by_head=by_head)
        layer = self.n_layers if self.page.slug in OWN else TELLING["cross"][0] + 1
        part = next(n for n, block in enumerate(self.decoder) if (block.memory, block.layer) == (0, layer))
        look = self.look(self.decoder[part], step)
        read, written, from_ = quoted(tgt[step]), quoted(self.page.labels[step]), quoted(self.page.src[look[2]])
        said = prose.line("writes", read, look[0] + 1, layer, from_, share(look[3]), written, share(self.chosen[step]))
        self.add("write", said, "", 1, part, step, at=look)
