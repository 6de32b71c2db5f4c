"""The stage beside the lessons on GPT and BERT: the machine of one stack, its numbers and its story, once more."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tests.oracle.language.statement import Statement
from tests.oracle.language.words import Piece
from tests.oracle.passes import bert
from tests.oracle.passes.forward import EOS, SOS, Array, softmax
from tests.oracle.passes.language_models import LONGER, Gpt, most_pieces, next_scores, text_of
from tests.oracle.passes.shipped import config
from tests.oracle.shown import machine
from tests.oracle.shown.machine import Block, Look, Moments, Panel, made_by, plural, share, shown, stage_of, tensors_of

SEP, MASK = 4, 5
SPEECH = machine.Speech(last_mark=MASK)
letters, quoted = SPEECH.letters, SPEECH.quoted


def layers(stack: str, n_layers: int, label: str) -> list[Block]:
    paths = [f"{stack}.layers.{n}" for n in range(n_layers)]
    return [
        block
        for n, at in enumerate(paths, 1)
        for block in (
            Block(
                f"{stack}.self_attn", "attention", label, f"{at}.add_norm_1.output", n, "", f"{at}.self_attn.weights"
            ),
            Block(f"{stack}.feed_forward", "feed_forward", "Feed-forward", f"{at}.add_norm_2.output", n),
        )
    ]


def placed(stack: str, what: str, result: str) -> Block:
    return Block(f"{stack}.{what}", "positions", f"+ {what.capitalize()}", result, added=f"{stack}.embedding.{what}")


def of_gpt(ids: Sequence[int], first: Sequence[int] = ()) -> "Machine":
    """The GPT reads these pieces and goes on by the likeliest ones, after those that come first; of too many, only the
    first stand there."""
    most = most_pieces()
    ids = ids if len(ids) < most else ids[: most - LONGER]
    text, labels = text_of(ids), [*ids, *first]
    while labels[-1] != EOS and len(labels) < min(len(ids) + LONGER, most):
        labels.append(int(next_scores(tuple(labels)).argmax()))
    blocks = [
        Block("decoder.embedding", "embedding", "Token embedding", "decoder.embedding.tokens"),
        placed("decoder", "positions", "decoder.embedding.output"),
        *layers("decoder", config(bert.GPT)["n_layers"], "Masked self-attention"),
        Block("output.normed", "norm", "Last norm", "decoder.normed"),
        Block("output.softmax", "output", "Next piece", ""),
    ]
    panel = Panel("decoder", "target", blocks, bert.pieces([SOS, *labels[:-1]]))
    return Machine(panel, config(bert.GPT), Gpt(labels), text, labels, len(ids) + 1)


def of_bert(oracle: bert.Bert) -> "Machine":
    """BERT reads a text, or two, perhaps with blanks."""
    path = "encoder.embedding"
    blocks = [
        Block("encoder.embedding", "embedding", "Token embedding", f"{path}.tokens"),
        placed("encoder", "segments", f"{path}.with_segments"),
        placed("encoder", "positions", f"{path}.sum"),
        Block("encoder.embedding.norm", "norm", "Norm", f"{path}.output"),
        *layers("encoder", bert.config()["n_layers"], "Self-attention"),
        Block("output.head", "feed_forward", "Head", "masked_token.normed"),
        Block("output.softmax", "output", "Hidden piece", ""),
    ]
    panel = Panel("encoder", "source", blocks, bert.pieces(oracle.ids))
    return Machine(panel, bert.config(), oracle, text_of(oracle.ids), (), len(oracle.ids))


def clip(model: "Machine", plays: Sequence[str], small: bool) -> Statement:
    """The stage with the first stretch of moments whose blocks have these ids, in layer 1 or before it."""
    panel, moments = model.panel, model.story.every
    at = [n for n, one in enumerate(moments) if one["kind"] == "block" and panel.blocks[one["part"]].id in plays]
    last = next(n for n in at if n + 1 not in at)
    clipped = [moments[n]["part"] for n in range(max(0, at[0] - 1), last + 1)]
    seen = [block for part in clipped for block in panel.blocks[max(0, part - 1) : part + 1]]
    of = {"config": model.config, "oracle": model.oracle, "names": made_by(seen, tensors_of([panel])), "links": {}}
    return stage_of(
        [panel],
        (at[0], last),
        **of,
        text=shown(model.text),
        intro=f"The {panel.stack} {'writes' if model.writes else 'reads'} English.",
        given=model.given,
        counts="Step" if model.writes else "Piece",
        steps=model.steps(),
        moments=moments,
        small=small,
    )


@dataclass(frozen=True)
class Machine:
    """A model of one stack with a text in it.

    labels: ids of the pieces that it wrote behind each; given: how many rows are there at first
    """

    panel: Panel
    config: Mapping[str, Any]
    oracle: Any
    text: str
    labels: Sequence[int]
    given: int

    @property
    def writes(self) -> bool:
        return self.panel.stack == "decoder"

    @cached_property
    def shares(self) -> Array:
        return softmax(self.oracle["logits"])

    @property
    def blank(self) -> int:
        """The row of the first blank, or −1."""
        return next((n for n, one in enumerate(self.panel.pieces) if one.id == MASK), -1)

    def steps(self) -> list[dict[str, Any]]:
        found = []
        for n, row in enumerate(self.shares):
            taken = self.labels[n] if self.writes else int(row.argmax())
            if self.writes:
                written = text_of(self.labels[: n + 1])
            else:
                ids = [taken if m == n else one.id for m, one in enumerate(self.panel.pieces)]
                written = text_of(ids) if n == self.blank else ""
            found.append(machine.step_of(row, taken, bert.entry, written))
        return found

    @cached_property
    def story(self) -> "Story":
        return Story(self)


class Story(Moments):
    """Moment by moment."""

    def __init__(self, model: Machine) -> None:
        super().__init__()
        self.model, self.blocks, self.pieces = model, model.panel.blocks, model.panel.pieces
        self.first, self.top = model.given - 1, len(model.panel.blocks) - 1
        self.cut()
        for at, block in enumerate(self.blocks[:-1]):
            self.work(at, block)
        if not model.writes:
            self.fill()
            return
        said = machine.compared(model.config["vocab_size"], entry(model.labels[self.first]), self.chance(self.first))
        self.add("choose", said, "next piece", part=self.top, step=self.first)
        for step in range(self.first + 1, len(model.labels)):
            self.write(step)
        last = len(model.labels) - 1
        said = machine.the_end(last - self.first + 1, model.labels[-1] == EOS, self.chance(last))
        self.add("end", said, "end", part=self.top, step=last)

    def cut(self) -> None:
        what, signs, pieces = "The text is", "", list(self.pieces[1 : self.model.given])
        if not self.model.writes:
            two = sum(one.id == SEP for one in pieces) == 2
            pieces = [one for one in pieces if one.id != SEP]
            what = "The two texts are" if two else what
            signs = " [CLS] comes first, [SEP] behind each text." if two else " [CLS] and [SEP] stand around them."
            if hidden := sum(one.id == MASK for one in pieces):
                signs += " [MASK] hides one." if hidden == 1 else " [MASK] hides some."
        example = SPEECH.example(pieces)
        said = (
            f"{what} cut into {plural(len(pieces), 'piece')}. Each has a number in the model's list of "
            f"{self.model.config['vocab_size']:,}: {quoted(example)} is {example.id:,}.{signs}"
        )
        self.add("pieces", said, "pieces")

    def look(self, block: Block, row: int | None = None) -> Look:
        """The largest weight from a word to another word; of one row, to a word."""
        weights, pieces = self.model.oracle[block.weights], self.pieces
        if row is not None:
            every = [(h, row, int(one[row].argmax())) for h, one in enumerate(weights)]
            return machine.largest(weights, [at for at in every if letters(pieces[at[2]])] or every)
        places = [(h, r, c) for h, r, c in np.ndindex(weights.shape) if r < self.model.given]  # no later row is there
        of_words = [
            (h, r, c)
            for h, r, c in places
            if letters(pieces[r]) and letters(pieces[c]) and pieces[r].text != pieces[c].text and weights[h, r, c]
        ]
        return machine.largest(weights, of_words or places)

    def work(self, part: int, block: Block) -> None:
        d, step, writes = self.model.config["d_model"], self.first, self.model.writes
        last = f"Layers 2 to {self.model.config['n_layers']} do the same, each with its own learned numbers."
        if block.weights:
            look = self.look(block)
            if block.layer > 1:
                self.add("block", last, part=part, step=step, at=look)
                return
            whom = "itself and those before it" if writes else "all pieces"
            said = machine.self_attention(whom, self.model.config["n_heads"])
            self.add("block", said, "attention", part=part, step=step, at=look, half=1)
            said = "What was gathered is added to the column." if writes else machine.ADD_AND_NORM
            self.add("block", said, part=part, step=step, at=look, half=2)
            return
        what = block.id.partition(".")[2]
        said = {
            "embedding": machine.vector(d),
            "segments": f"{machine.added(d)} They tell which text it belongs to: the first or the second.",
            "positions": f"{machine.added(d)} {machine.PLACES}",
            "embedding.norm": "A norm brings every column to one scale.",
            "normed": "A last norm brings every column to one scale.",
            "head": "A small network, the head, makes each column ready to be compared with pieces.",
            "feed_forward": machine.ALONE if block.layer == 1 else last,
        }[what]
        self.add("block", said, "vectors" if what == "positions" else "", part=part, step=step)

    def fill(self) -> None:
        """The end of a BERT."""
        row = self.model.blank
        if row < 0:
            said = "The encoder is done. Each column tells of the whole text now; it writes nothing."
            self.add("memory", said, "end", part=self.top - 1, step=self.first)
            return
        best, of = int(self.model.shares[row].argmax()), sum(one.id == MASK for one in self.pieces)
        said = (
            f"The column of {'the first [MASK]' if of > 1 else '[MASK]'} is compared with all "
            f"{self.model.config['vocab_size']:,} pieces. {entry(best)} gets {share(self.model.shares[row, best])}, "
            "more than any other."
        )
        self.add("choose", said, "its guess", part=self.top, step=self.first, at=(0, row))
        said = "That is its guess for the blank. The encoder is done; it writes nothing more."
        self.add("end", said, "end", part=self.top, step=self.first, at=(0, row))

    def chance(self, step: int) -> float:
        return float(self.model.shares[step, self.model.labels[step]])

    def write(self, step: int) -> None:
        attentions = [n for n, block in enumerate(self.blocks) if block.weights]
        read = quoted(self.pieces[step])
        if step == self.first + 1:
            self.add("feed", f"{read} becomes the next input.", step=step)
            own = self.blocks[attentions[0]]
            told = [
                machine.takes(one, read, "itself" if one[2] == step else quoted(self.pieces[one[2]]))
                for one in machine.of_each_head(self.model.oracle[own.weights], step)
            ]
            look = self.look(own, step)
            self.add("block", told[look[0]], part=attentions[0], step=step, at=look, by_head=told)
        last = self.blocks[attentions[-1]]
        look = self.look(last, step)
        from_, written = quoted(self.pieces[look[2]]), entry(self.model.labels[step])
        said = machine.writes(read, look, last.layer, from_, written, self.chance(step))
        self.add("write", said, part=attentions[-1], step=step, at=look)


def entry(id: int) -> str:
    return quoted(Piece(id, bert.entry(id), 0))
