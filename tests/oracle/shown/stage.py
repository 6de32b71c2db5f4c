"""The stage on the home page and in lessons on the translator: every number that it draws, and its story."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.oracle.language.page import OWN, Page
from tests.oracle.language.statement import Statement
from tests.oracle.language.words import Piece, pieces, text_of
from tests.oracle.passes.forward import softmax
from tests.oracle.shown import machine, stage_near
from tests.oracle.shown.machine import Block, Look, Moments, Panel, made_by, plural, share, shown, stage_of, tensors_of
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
    "encoder.self_attn": "Self-attention",
    "decoder.self_attn": "Masked self-attention",
    "decoder.cross_attn": "Reads the memory",
}
SPEECH = machine.Speech(last_mark=2)
letters, quoted = SPEECH.letters, SPEECH.quoted


def blocks(stack: str, n_layers: int) -> list[Block]:
    found = [
        Block(f"{stack}.embedding", "embedding", "Token embedding", f"{stack}.embedding.scaled"),
        Block(
            f"{stack}.positions",
            "positions",
            "+ Positions",
            f"{stack}.embedding.output",
            0,
            f"{stack}.embedding.positions",
        ),
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


def panels_of(page: Page) -> list[Panel]:
    n = page.config["n_layers"]
    sides = (("encoder", "source", page.src), ("decoder", "target", page.tgt))
    return [Panel(stack, side, blocks(stack, n), sequence) for stack, side, sequence in sides]


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
    return drawn(page, moments, (0, len(moments) - 1), tensors_of(panels_of(page)), opens(), **more)


def clip(page: Page, plays: str, view: str, small: bool) -> Statement:
    """The stage of a lesson: one stretch of the story, perhaps a block from near, and only the numbers it shows."""
    moments, _ = told_on(page)
    first, last = stretch(page, moments, plays)
    at = {one["panel"]: (one["panel"], one["part"]) for one in moments[:first]}  # what stands open when it begins
    works = {*at.values(), *((one["panel"], one["part"]) for one in moments[first : last + 1])}
    panels = panels_of(page)
    stacks = [panel.blocks for panel in panels]
    seen = [block for stack, part in works for block in stacks[stack][max(0, part - 1) : part + 1]]
    if any(stacks[stack][part].memory == 0 for stack, part in works):
        seen.append(stacks[0][-1])
    names = made_by(seen, tensors_of(panels))
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
    stacks = [panel.blocks for panel in panels_of(page)]

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
            n = at("block", 1, "decoder.self_attn", 1)[-1]
            return n, n
        case "reading":
            n = at("block", 1, "decoder.cross_attn", 1)[0]
            return n, n
        case "choice":  # of the first piece, after the last block
            (n,) = at("choose", 1)
            return n - 1, n
        case "writing":
            return at("choose", 1)[0], len(moments) - 1
    raise KeyError(plays)


def drawn(
    page: Page, moments: list[Any], clip: tuple[int, int], names: list[str], links: dict[str, str], **more: Any
) -> Statement:
    of = {"config": page.config, "oracle": page.oracle, "names": names, "links": links}
    intro = "The encoder reads English. The decoder writes German."
    said = {"text": shown(page.text), "intro": intro, "given": 1, "counts": "Step"}
    return stage_of(panels_of(page), clip, **of, **said, steps=told_on(page)[1], moments=moments, **more)


def steps(page: Page) -> list[dict[str, Any]]:
    ids = [piece.id for piece in page.labels]
    rows = enumerate(softmax(page.oracle["logits"]))
    return [machine.step_of(row, ids[n], lambda id: pieces([id])[0].text, text_of(ids[: n + 1])) for n, row in rows]


class Story(Moments):
    """Moment by moment."""

    def __init__(self, page: Page) -> None:
        super().__init__()
        self.page, (self.encoder, self.decoder) = page, (panel.blocks for panel in panels_of(page))
        self.vocab_size, self.n_layers, self.n_heads = (
            int(page.config[name]) for name in ("vocab_size", "n_layers", "n_heads")
        )

    def told(self) -> list[dict[str, Any]]:
        self.chosen = self.page.probabilities
        self.cut()
        self.encode()
        self.write_first()
        for step in range(1, len(self.page.labels)):
            self.write(step)
        n, last = len(self.page.labels), self.page.labels[-1]
        said = machine.the_end(n, last.text == "<eos>", self.chosen[-1])
        self.add("end", said, "end", stack=1, part=len(self.decoder) - 1, step=n - 1)
        return self.every

    def sides(self, block: Block) -> tuple[Sequence[Piece], Sequence[Piece]]:
        """What the rows and the columns of an attention stand for."""
        rows = self.page.src if block.id.startswith("encoder") else self.page.tgt
        return rows, self.page.src if block.memory == 0 else rows

    def look(self, block: Block, row: int | None = None) -> Look:
        """Head, row, column and weight of what is told of an attention."""
        weights, (rows, columns) = self.page.oracle[block.weights], self.sides(block)
        kind = "cross" if block.memory == 0 else block.id.partition(".")[0]
        layer, head = (-1, -1) if self.page.slug in OWN else TELLING[kind]
        heads = [head] if layer == block.layer - 1 else list(range(len(weights)))
        if row is not None:
            best = [(h, row, int(weights[h, row].argmax())) for h in heads]
            return machine.largest(weights, [place for place in best if letters(columns[place[2]])] or best)
        places = [(h, r, c) for h in heads for r in range(len(rows)) for c in range(len(columns))]
        words = [
            (h, r, c)
            for h, r, c in places
            if letters(rows[r]) and letters(columns[c]) and rows[r].text != columns[c].text
        ]
        return machine.largest(weights, words or places)

    def cut(self) -> None:
        src = self.page.src
        example = SPEECH.example(src)
        self.add(
            "pieces",
            f"The text is cut into {plural(len(src), 'piece')}. Each has a number in the model's list of "
            f"{self.vocab_size:,}: {quoted(example)} is {example.id:,}. <eos> marks the end.",
            "pieces",
        )

    def encode(self) -> None:
        d = self.page.config["d_model"]
        for at, block in enumerate(self.encoder):
            if block.kind == "embedding":
                self.add("block", machine.vector(d), part=at)
            elif block.kind == "positions":
                self.add("block", f"{machine.added(d)} {machine.PLACES}", "vectors", part=at)
            elif block.weights:
                look = self.look(block)
                if block.layer > 1:
                    self.add("block", OTHERS[self.n_layers], part=at, at=look)
                    continue
                said = machine.self_attention("all pieces", self.n_heads)
                self.add("block", said, "attention", part=at, at=look, half=1)
                self.add("block", machine.ADD_AND_NORM, part=at, at=look, half=2)
            else:
                self.add("block", machine.ALONE if block.layer == 1 else OTHERS[self.n_layers], part=at)
        self.add(
            "memory",
            f"After {self.n_layers} layers the encoder is done. Its {plural(len(self.page.src), 'column')}, one for "
            "each piece, are the memory: all that the decoder sees of the sentence.",
            "memory",
            part=len(self.encoder) - 1,
        )

    def write_first(self) -> None:
        for at, block in enumerate(self.decoder[:-1]):
            look = self.look(block, 0) if block.weights else (0, -1)
            stop, by_head = "", []
            if not block.layer:
                said = "The decoder writes, piece by piece. It begins with <sos>, the start sign."
            elif block.layer > 1:
                said = OTHERS[self.n_layers]
            elif not block.weights:
                said = "Then feed-forward, as before."
            elif block.memory == 0:
                stop = "reading"
                by_head = [
                    f"Now it reads the memory. Head {h + 1} gives {share(w)} of its attention to "
                    f"{quoted(self.page.src[c])}. What it read is added to its column."
                    for h, _, c, w in machine.of_each_head(self.page.oracle[block.weights], 0)
                ]
                said = by_head[look[0]]
            else:
                said = "Masked self-attention: it looks only at what is written so far, <sos> alone."
            self.add("block", said, stop, stack=1, part=at, step=0, at=look, by_head=by_head)
        said = machine.compared(self.vocab_size, quoted(self.page.labels[0]), self.chosen[0])
        self.add("choose", said, "next piece", stack=1, part=len(self.decoder) - 1, step=0)

    def write(self, step: int) -> None:
        tgt, own = self.page.tgt, self.decoder[2]
        if step == 1:
            self.add("feed", f"{quoted(tgt[1])} becomes the next input.", stack=1, step=1)
            look = self.look(own, 1)
            by_head = [
                machine.takes(one, quoted(tgt[1]), "itself" if one[2] == 1 else quoted(tgt[one[2]]))
                for one in machine.of_each_head(self.page.oracle[own.weights], 1)
            ]
            self.add("block", by_head[look[0]], stack=1, part=2, step=1, at=look, by_head=by_head)
        layer = self.n_layers if self.page.slug in OWN else TELLING["cross"][0] + 1
        part = next(n for n, block in enumerate(self.decoder) if (block.memory, block.layer) == (0, layer))
        look = self.look(self.decoder[part], step)
        read, written, from_ = quoted(tgt[step]), quoted(self.page.labels[step]), quoted(self.page.src[look[2]])
        said = machine.writes(read, look, layer, from_, written, self.chosen[step])
        self.add("write", said, stack=1, part=part, step=step, at=look)
