"""The stage on the home page: every number that it draws, and its story, computed once more."""

import functools
import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.oracle.language.claims import number
from tests.oracle.language.page import OWN, Page
from tests.oracle.language.statement import Statement, ThreeDigits
from tests.oracle.language.words import Piece, pieces, text_of, visible
from tests.oracle.shown import stage_near
from tests.oracle.shown.machine_map import opens

PARTS = {"encoder": ("self_attn", "feed_forward"), "decoder": ("self_attn", "cross_attn", "feed_forward")}
# As measured over many sentences (assets/models/translator/about.json), counted from 0.
TELLING = {"encoder": (1, 1), "decoder": (2, 0), "cross": (2, 2)}
# What is told of the layers above the first, by how many layers there are.
OTHERS = {
    2: "Layer 2 does the same, with its own learned numbers.",
    3: "Layers 2 and 3 do the same, each with its own learned numbers.",
}
LABELS = {
    "embedding": "Token embedding",
    "positions": "+ Positions",
    "encoder.self_attn": "Self-attention",
    "decoder.self_attn": "Masked self-attention",
    "decoder.cross_attn": "Reads the memory",
    "feed_forward": "Feed-forward",
    "output": "Next piece",
}


class Block:
    """One block of the machine: where it is, and which tensors it reads and makes."""

    def __init__(self, stack: str, name: str, layer: int = 0) -> None:
        self.stack, self.name, self.layer = stack, name, layer
        at = f"{stack}.layers.{layer - 1}"
        n = PARTS[stack].index(name) + 1 if layer else 0
        self.result = {
            "embedding": f"{stack}.embedding.scaled",
            "positions": f"{stack}.embedding.output",
            "output": "",
        }.get(name, f"{at}.add_norm_{n}.output")
        self.added = f"{stack}.embedding.positions" if name == "positions" else ""
        self.weights = f"{at}.{name}.weights" if name.endswith("_attn") else ""
        self.kind = "attention" if self.weights else name
        self.id = "output.softmax" if name == "output" else f"{stack}.{name}"
        self.attention = "cross" if name == "cross_attn" else stack

    @property
    def label(self) -> str:
        return LABELS.get(self.id) or LABELS[self.name]


def blocks(stack: str, n_layers: int) -> list[Block]:
    layers = [Block(stack, name, layer) for layer in range(1, n_layers + 1) for name in PARTS[stack]]
    return [
        Block(stack, "embedding"),
        Block(stack, "positions"),
        *layers,
        *[Block(stack, "output")] * (stack == "decoder"),
    ]


def stacks_of(page: Page) -> dict[str, list[Block]]:
    return {stack: blocks(stack, page.config["n_layers"]) for stack in ("encoder", "decoder")}


def shown(text: str) -> str:
    return visible(text) if text.strip(" ") else "␣"


@functools.lru_cache(maxsize=32)
def told(sentence: str, own: str = "") -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The story of a sentence, and the likeliest pieces of each step; own: the lesson, if it has a model of its own."""
    page = Page(own, {"sentence": sentence})
    return Story(page).told(), steps(page)


def told_on(page: Page) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    return told(page.sentence, page.slug if page.slug in OWN else "")


def stage(page: Page) -> Statement:
    moments, _ = told_on(page)
    more = {"start": None, "presenting": page.switch("present"), "switches": True, "near": None}
    return drawn(page, moments, (0, len(moments) - 1), tensors(page), more, opens())


def clip(page: Page, plays: str, view: str, small: bool) -> Statement:
    """The stage of a lesson: one stretch of the story, perhaps a block from near, and only the numbers it shows."""
    moments, _ = told_on(page)
    first, last = stretch(page, moments, plays)
    at = {one["panel"]: (one["panel"], one["part"]) for one in moments[:first]}  # what stands open when it begins
    works = {*at.values(), *((one["panel"], one["part"]) for one in moments[first : last + 1])}
    stacks = list(stacks_of(page).values())
    seen = [block for stack, part in works for block in stacks[stack][max(0, part - 1) : part + 1]]
    if any(block.name == "cross_attn" for block in (stacks[stack][part] for stack, part in works)):
        seen.append(stacks[0][-1])
    names = [name for name in tensors(page) if any(name in (b.added, b.result, b.weights) for b in seen)]
    more = {"start": None, "small": small, "near": None}
    if view:
        at = moments[last]
        moment, reads, spreads = near(page, view, stacks[at["panel"]][at["part"]], at["step"])
        names = list(dict.fromkeys([*names, *reads.values()]))
        more["near"] = {"view": view, "spreads": spreads, **{what: names.index(name) for what, name in reads.items()}}
        last += 1
        moments = [*moments[:last], {**at, "kind": "near", "stop": "", "half": 0, **moment}, *moments[last:]]
    return drawn(page, moments, (first, last), names, more, {})


def near(page: Page, view: str, block: Block, step: int) -> tuple[dict[str, Any], dict[str, str], list[str]]:
    """What a block of layer 1 shows from near: its moment's head, row and caption, its tensors, and spreads."""
    stream = f"{block.stack}.embedding.output"
    reads = stage_near.reads_of(view, f"{block.stack}.layers.0", block.name, stream)
    if view == "widen":
        words = [n for n, piece in enumerate(page.src) if letters(piece)] or list(range(len(page.src)))
        row = words[:2][-1]
        return {"head": 0, "focus": row, "caption": stage_near.widened(page, reads, row, quoted)}, reads, []
    weights = page.oracle[block.weights]
    if view == "read":
        head, row = Story(page).look(block, step)[:2]
        said = told_by_head(page, view, weights, (head, row), [])
        return {"head": head, "focus": row, **said}, reads, []
    place = stage_near.divided(weights, stage_near.may_be_shown(page, view, weights, letters))
    head, row = place or Story(page).look(block)[:2]
    spreads = stage_near.spreads_of(page, reads, row) if view == "norm" else []
    said = told_by_head(page, view, weights, (head, row), spreads)
    return {"head": head, "focus": row, **said}, reads, spreads


def told_by_head(page: Page, view: str, weights: np.ndarray, at: tuple[int, int], spreads: list[str]) -> dict[str, Any]:
    """What is said of a row from near, and what is said of it when another head is chosen."""
    every = [stage_near.said(page, view, (h, at[1]), weights, (quoted, share), spreads) for h in range(len(weights))]
    return {"caption": every[at[0]], "by_head": every if view in ("project", "score", "mix", "read") else []}


def stretch(page: Page, moments: Sequence[dict[str, Any]], plays: str) -> tuple[int, int]:
    """Numbers of the first and last moment, for what a Place of the course says that its lesson plays."""

    def at(kind: str, stack: int = 0, name: str = "", layer: int = 0) -> list[int]:
        """Moments of a kind; of blocks, those of one name and layer."""
        found = [n for n, one in enumerate(moments) if (one["kind"], one["panel"]) == (kind, stack)]
        if not name:
            return found
        block = (("encoder", "decoder")[stack], name, layer)
        return [n for n in found if _block(page, moments[n]) == block]

    match plays:
        case "pieces":
            return 0, 0
        case "encoder.embedding" | "encoder.positions":
            (n,) = at("block", 0, plays.split(".")[1])
            return n, n
        case "encoder.self_attn" | "encoder.feed_forward":
            found = at("block", 0, plays.split(".")[1], 1)
            return found[0], found[-1]
        case "encoder":
            return 1, at("memory")[0]
        case "masked":  # where there is a past, if there is one
            n = at("block", 1, "self_attn", 1)[-1]
            return n, n
        case "reading":
            n = at("block", 1, "cross_attn", 1)[0]
            return n, n
        case "choice":  # of the first piece, after the last block
            (n,) = at("choose", 1)
            return n - 1, n
        case "writing":
            return at("choose", 1)[0], len(moments) - 1
    raise KeyError(plays)


def _block(page: Page, moment: dict[str, Any]) -> tuple[str, str, int]:
    block = list(stacks_of(page).values())[moment["panel"]][moment["part"]]
    return block.stack, block.name, block.layer


def tensors(page: Page) -> list[str]:
    every = [block for of in stacks_of(page).values() for block in of]
    names = [*(b.added for b in every), *(b.result for b in every), *(b.weights for b in every)]
    return [name for name in dict.fromkeys(names) if name]


def drawn(
    page: Page,
    moments: list[dict[str, Any]],
    clip: tuple[int, int],
    names: list[str],
    more: dict[str, Any],
    links: dict[str, str],
) -> Statement:
    sides = (("encoder", page.src), ("decoder", page.tgt))
    return Statement(
        "stage",
        {
            "text": shown(page.text),
            "intro": "The encoder reads English. The decoder writes German.",
            "clip": list(clip),
            "given": 1,
            "entries": page.config["vocab_size"],
            "counts": "Step",
            "panels": [panel(page, stack, text, names, links) for stack, text in sides],
            "numbers": {name: ThreeDigits(page.oracle[name]) for name in names},
            "steps": told_on(page)[1],
            "moments": moments,
            **more,
        },
    )


def panel(page: Page, stack: str, tokens: Sequence[Piece], names: list[str], links: dict[str, str]) -> dict[str, Any]:
    def at(name: str) -> int:
        return names.index(name) if name in names else -1

    return {
        "name": stack,
        "width": page.config["d_model"],
        "side": "source" if stack == "encoder" else "target",
        "tokens": [shown(piece.text) for piece in tokens],
        "ids": [piece.id for piece in tokens],
        "parts": [
            {
                "id": block.id,
                "kind": block.kind,
                "layer": block.layer,
                "label": block.label,
                "result": at(block.result),
                "added": at(block.added),
                "weights": at(block.weights),
                "memory": 0 if block.name == "cross_attn" else -1,
                "causal": block.id == "decoder.self_attn",
                "lesson": links.get(block.id, ""),
            }
            for block in stacks_of(page)[stack]
        ],
    }


def probabilities(page: Page) -> np.ndarray:
    logits = page.oracle["logits"]
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def steps(page: Page) -> list[dict[str, Any]]:
    found = []
    for n, (row, label) in enumerate(zip(probabilities(page), page.labels, strict=True), 1):
        best = list(np.argsort(-row)[:5])
        if label.id not in best:
            best[-1] = label.id
        found.append(
            {
                "candidates": [[shown(pieces([int(id)])[0].text), float(row[id]), int(id)] for id in best],
                "chosen": best.index(label.id),
                "written": visible(text_of([piece.id for piece in page.labels[:n]])),
            }
        )
    return found


def letters(piece: Piece) -> bool:
    """Whether a piece is of a word: has a letter or a digit, and is no mark of the model's."""
    return piece.id > 2 and any(unicodedata.category(c)[0] in "LN" for c in piece.text)


def quoted(piece: Piece) -> str:
    text = shown(piece.text)
    text = text if len(text) <= 24 else text[:23] + "…"
    return text if piece.id <= 2 else f"“{text}”"


def share(p: float) -> str:
    if p < 0.01:
        return "less than 1%"
    return "more than 99%" if 0.995 <= p < 1 - 1e-6 else f"{number(100 * p, 0)}%"


class Story:
    """Moment by moment."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.stacks = stacks_of(page)
        self.moments: list[dict[str, Any]] = []

    def told(self) -> list[dict[str, Any]]:
        self.chosen = probabilities(self.page)[np.arange(len(self.page.labels)), [one.id for one in self.page.labels]]
        self.cut()
        self.encode()
        self.write_first()
        for step in range(1, len(self.page.labels)):
            self.write(step)
        self.stop()
        return self.moments

    def size(self, name: str) -> int:
        size: int = self.page.config[name]
        return size

    def add(
        self,
        kind: str,
        caption: str,
        stop: str = "",
        *,
        stack: int = 0,
        part: int = 0,
        step: int = -1,
        look: tuple[int, int, int, float] | None = None,
        half: int = 0,
        by_head: Sequence[str] = (),
    ) -> None:
        head, focus = (look[0], look[1]) if look else (0, -1)
        places = {"panel": stack, "part": part, "step": step, "head": head, "focus": focus, "half": half}
        told = {"caption": caption, "by_head": list(by_head), "stop": stop}
        self.moments.append({"kind": kind, **told, **places})

    def look(self, block: Block, row: int | None = None) -> tuple[int, int, int, float]:
        """Head, row, column and weight of what is told of an attention."""
        weights = self.page.oracle[block.weights]
        rows = self.page.src if block.attention == "encoder" else self.page.tgt
        columns = self.page.tgt if block.attention == "decoder" else self.page.src
        layer, head = (-1, -1) if self.page.slug in OWN else TELLING[block.attention]
        heads = [head] if layer == block.layer - 1 else list(range(len(weights)))
        places = [(h, r, c) for h in heads for r in range(len(rows)) for c in range(len(columns))]
        if row is not None:
            best = [(h, row, int(weights[h, row].argmax())) for h in heads]
            places = [place for place in best if letters(columns[place[2]])] or best
        else:
            words = [
                (h, r, c)
                for h, r, c in places
                if letters(rows[r]) and letters(columns[c]) and rows[r].text != columns[c].text
            ]
            places = words or places
        place = max(places, key=lambda at: (round(weights[at], 5), -at[0], weights[at]))
        return (*place, float(weights[place]))

    def each_head(self, block: Block, row: int) -> list[tuple[int, int, int, float]]:
        """The largest weight of a row in every head: head, row, column, weight."""
        weights = self.page.oracle[block.weights][:, row]
        return [(h, row, int(one.argmax()), float(one.max())) for h, one in enumerate(weights)]

    def takes(self, block: Block, look: tuple[int, int, int, float]) -> str:
        head, row, column, weight = look
        rows = self.page.src if block.attention == "encoder" else self.page.tgt
        columns = self.page.tgt if block.attention == "decoder" else self.page.src
        whom = "itself" if row == column and block.attention != "cross" else quoted(columns[column])
        return f"In head {head + 1}, {quoted(rows[row])} takes {share(weight)} from {whom}."

    def cut(self) -> None:
        src = self.page.src
        words = [piece for piece in src if letters(piece)] or list(src)
        example = words[min(1, len(words) - 1)]
        count = f"{len(src)} piece" + "s" * (len(src) != 1)
        self.add(
            "pieces",
            f"The text is cut into {count}. Each has a number in the model's list of {self.size('vocab_size'):,}: "
            f"{quoted(example)} is {example.id:,}. <eos> marks the end.",
            "pieces",
        )

    def encode(self) -> None:
        d = self.size("d_model")
        for at, block in enumerate(self.stacks["encoder"]):
            if block.name == "embedding":
                said = (
                    f"Each piece becomes a vector: {d} learned numbers, drawn as a small block of colours, its column."
                )
                self.add("block", said, part=at)
            elif block.name == "positions":
                said = (
                    f"To each column {d} numbers are added, one to one. They depend only on where the piece "
                    "stands: first, second, third."
                )
                self.add("block", said, "vectors", part=at)
            elif block.name == "self_attn":
                look = self.look(block)
                if block.layer > 1:
                    self.add("block", OTHERS[self.size("n_layers")], part=at, look=look)
                    continue
                said = (
                    "Self-attention: each piece looks at all pieces and takes a weighted average of their numbers "
                    f"into its column. {self.size('n_heads')} heads do so side by side."
                )
                self.add("block", said, "attention", part=at, look=look, half=1)
                said = "Add & Norm: what was gathered is added to the column, and the sum is brought to one scale."
                self.add("block", said, part=at, look=look, half=2)
            elif block.layer == 1:
                self.add("block", "Feed-forward: a small network works on each column by itself.", part=at)
            else:
                self.add("block", OTHERS[self.size("n_layers")], part=at)
        n = len(self.page.src)
        columns = f"{n} column" + "s" * (n != 1)
        self.add(
            "memory",
            f"After {self.size('n_layers')} layers the encoder is done. Its {columns}, one for each piece, are the "
            "memory: all that the decoder sees of the sentence.",
            "memory",
            part=len(self.stacks["encoder"]) - 1,
        )

    def write_first(self) -> None:
        for at, block in enumerate(self.stacks["decoder"][:-1]):
            look = self.look(block, 0) if block.weights else None
            stop, by_head = "", []
            if not block.layer:
                said = "The decoder writes, piece by piece. It begins with <sos>, the start sign."
            elif block.layer > 1:
                said = OTHERS[self.size("n_layers")]
            elif not look:
                said = "Then feed-forward, as before."
            elif block.name == "cross_attn":
                stop = "reading"
                by_head = [
                    f"Now it reads the memory. Head {h + 1} gives {share(w)} of its attention to "
                    f"{quoted(self.page.src[c])}. What it read is added to its column."
                    for h, _, c, w in self.each_head(block, 0)
                ]
                said = by_head[look[0]]
            else:
                said = "Masked self-attention: it looks only at what is written so far, <sos> alone."
            self.add("block", said, stop, stack=1, part=at, step=0, look=look, by_head=by_head)
        said = (
            f"The last column is compared with all {self.size('vocab_size'):,} pieces. {quoted(self.page.labels[0])} "
            f"gets {share(self.chosen[0])} and is taken."
        )
        self.add("choose", said, "next piece", stack=1, part=len(self.stacks["decoder"]) - 1, step=0)

    def write(self, step: int) -> None:
        decoder = self.stacks["decoder"]
        if step == 1:
            self.add("feed", f"{quoted(self.page.tgt[1])} becomes the next input.", stack=1, step=1)
            look = self.look(decoder[2], 1)
            by_head = [f"It never looks ahead. {self.takes(decoder[2], one)}" for one in self.each_head(decoder[2], 1)]
            self.add("block", by_head[look[0]], stack=1, part=2, step=1, look=look, by_head=by_head)
        layer = self.size("n_layers") if self.page.slug in OWN else TELLING["cross"][0] + 1
        part = next(n for n, block in enumerate(decoder) if block.name == "cross_attn" and block.layer == layer)
        look = self.look(decoder[part], step)
        said = (
            f"After {quoted(self.page.tgt[step])}, head {look[0] + 1} of layer {layer} gives "
            f"{quoted(self.page.src[look[2]])} {share(look[3])} of its attention. "
            f"It writes {quoted(self.page.labels[step])}, with {share(self.chosen[step])}."
        )
        self.add("write", said, stack=1, part=part, step=step, look=look)

    def stop(self) -> None:
        n = len(self.page.labels)
        plural = "s" * (n != 1)
        said = f"It was stopped after {n} step{plural}; it had not written <eos>, the end sign."
        if self.page.labels[-1].text == "<eos>":
            said = (
                f"<eos>, the end sign, is taken with {share(self.chosen[-1])}. So the decoder stops: {n} piece{plural} "
                "written, the end sign included."
            )
        self.add("end", said, "end", stack=1, part=len(self.stacks["decoder"]) - 1, step=n - 1)
