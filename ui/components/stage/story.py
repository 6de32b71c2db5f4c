"""The story of one sentence on its way through a model: moment by moment, told with its own numbers."""

import math
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from model.loaded import Array
from model.tokenizer import Token
from model.trace import Trace
from ui.components.stage.parts import Panel, Part, panels_of
from ui.text import piece

WORDS_A_CAPTION = 25
SPECIAL = ("<pad>", "<sos>", "<eos>", "<unk>")


@dataclass(frozen=True)
class Moment:
    """A stretch of the ride in which one thing happens.

    kind:    pieces (the text is cut), block (a block works), memory (it flows across), choose (one piece is taken),
             feed (it becomes the next input), write (a whole step at once), end
    seconds: how long it takes at normal speed; caption: what is said; stop: its name, if the ride stops behind it
    panel, part: the block that works, both counted from 0
    step:    how many pieces the decoder has read before this moment's step, from 0; -1 while nothing is written
    head:    of an attention, the head that is shown; focus: the row that the caption speaks of, -1 for none
    half:    of an attention shown in two moments, 1 (it looks) or 2 (it mixes); 0: both at once
    """

    kind: str
    seconds: float
    caption: str
    stop: str = ""
    panel: int = 0
    part: int = 0
    step: int = -1
    head: int = 0
    focus: int = -1
    half: int = 0


@dataclass(frozen=True)
class Look:
    """The telling place of one head: row and column, counted from 0, and the weight there."""

    head: int
    row: int
    column: int
    weight: float


def is_word(token: Token) -> bool:
    """Whether a token is (part of) a word, not a sign that the model itself adds and not punctuation."""
    letters = any(unicodedata.category(c)[0] in "LN" for c in token.text)
    return letters and token.text not in SPECIAL


def telling(weights: Array, rows: tuple[Token, ...], columns: tuple[Token, ...], head: int | None) -> Look:
    """The largest weight that one word gives to another, in one head, or in whichever head it is largest.

    Args: weights (H,T,S); rows, columns: its tokens; head: None for any
    """
    allowed = np.array([[is_word(a) and is_word(b) and a.text != b.text for b in columns] for a in rows])
    heads = range(len(weights)) if head is None else (head,)
    shown = np.where(allowed, weights, 0) if allowed.any() else weights
    best = max(heads, key=lambda h: float(shown[h].max()))
    row, column = divmod(int(shown[best].argmax()), weights.shape[2])
    return Look(best, row, column, float(weights[best, row, column]))


def given_rows(trace: Trace) -> int:
    """How many rows the stack that writes is given before it has written anything: `<sos>`, or a whole text."""
    if trace.model.anatomy.reads_source:
        return 1
    return 1 + len(trace.model.tokenizer.encode(trace.text))


def percent(share: float) -> str:
    """A share in whole percent; what that would show as 0 or as all is not."""
    if 0 < share < 0.01:
        return "less than 1%"
    return "more than 99%" if 0.995 <= share < 1 else f"{share:.0%}"


def named(token: Token) -> str:
    """A token as a caption names it: short enough, and visible."""
    text = piece(token.text)
    text = text if len(text) <= 24 else f"{text[:23]}…"
    return text if token.text in SPECIAL else f"“{text}”"


class Story:
    """Tells the moments of one trace."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.model = trace.model
        self.panels = panels_of(self.model.anatomy, self.model.about)
        self.writer = next(n for n, panel in enumerate(self.panels) if panel.writes)
        self.given = given_rows(trace)
        self.probabilities = trace.probabilities

    def moments(self) -> list[Moment]:
        return [*self.start(), *self.readers(), *self.writing()]

    def look(self, part: Part, row: int | None = None) -> Look:
        """What the caption says of an attention; of one row, if it is given."""
        attention = self.model.anatomy.attention_at(part.weights.removesuffix(".weights"))
        weights = self.trace.tensors[part.weights]
        first = (self.model.about.telling or {}).get(attention.kind)
        head = first.head if first and first.layer == attention.layer else None
        rows = self.trace.tokens("tgt" if attention.rows == "labels" else attention.rows)
        columns = self.trace.tokens(attention.columns)
        if row is None:
            return telling(weights, rows, columns, head)
        if head is None:  # one that looks most at a word, if there is one
            largest = weights[:, row].argmax(-1)
            words = [h for h, column in enumerate(largest) if is_word(columns[column])] or range(len(weights))
            head = max(words, key=lambda h: float(weights[h, row].max()))
        column = int(weights[head, row].argmax())
        return Look(head, row, column, float(weights[head, row, column]))

    def start(self) -> Iterator[Moment]:
        """The text is cut into pieces."""
        panel = self.panels[0]
        tokens = self.trace.tokens(panel.tokens)
        entries = f"{self.model.tokenizer.vocab_size:,}"
        words = [token for token in tokens if is_word(token)] or list(tokens)
        example = words[min(1, len(words) - 1)]
        count = f"{len(tokens)} pieces" if len(tokens) != 1 else "one piece"
        sign = " <eos> marks the end." if tokens[-1].text == "<eos>" else ""
        caption = f"The text is cut into {count}. Each has a number from 1 to {entries}: {named(example)} is {example.id + 1:,}.{sign}"
        yield Moment("pieces", 1.4, caption, "pieces")

    def readers(self) -> Iterator[Moment]:
        """Every stack that runs before the one that writes."""
        for n, panel in enumerate(self.panels[: self.writer]):
            first = True
            for at, part in enumerate(panel.parts):
                yield from self.block(n, at, part, panel, slow=part.layer <= 1 and first)
            layers = max(part.layer for part in panel.parts)
            rows = len(self.trace.tokens(panel.tokens))
            yield Moment(
                "memory",
                1.2,
                f"After {layers} layer{'s' * (layers != 1)} the {panel.name} is done. Its {rows} columns, one for each "
                "piece, are the memory: all that the decoder sees of the sentence.",
                "memory",
                panel=n,
                part=len(panel.parts) - 1,
            )

    def block(self, n: int, at: int, part: Part, panel: Panel, slow: bool, step: int = -1) -> Iterator[Moment]:
        """One block at work on all rows at once."""
        d_model = self.trace.tensors[panel.parts[0].result].shape[-1]
        place: dict[str, int] = {"panel": n, "part": at, "step": step}
        match part.kind:
            case "embedding":
                said = f"Each piece becomes a vector: {d_model} learned numbers, drawn as one column. Blue is below zero, orange above."
                yield Moment("block", 1.1, said, **place)
            case "positions":
                said = f"To each column {d_model} more numbers are added. They depend only on where the piece stands: first, second, third."
                yield Moment("block", 1.6, said, "vectors", **place)
            case "attention" if slow:
                yield from self.attention(part, place)
            case "attention":
                look = self.look(part)
                said = f"Layer {part.layer} looks and mixes again, with weights of its own. {self.says(part, look)}"
                yield Moment("block", 0.55, said, head=look.head, focus=look.row, **place)
            case "feed_forward" if slow:
                said = "Feed-forward: each column goes through a small network by itself. No lines: here no piece sees another."
                yield Moment("block", 1.3, said, **place)
            case "feed_forward":
                yield Moment("block", 0.4, f"Layer {part.layer}, feed-forward: each column by itself.", **place)
            case "norm":
                yield Moment("block", 0.5, "A last norm brings every column to one scale.", **place)

    def attention(self, part: Part, place: dict[str, int]) -> Iterator[Moment]:
        """The first attention, slowly: it looks, and then it mixes."""
        look = self.look(part)
        said = f"Self-attention: each piece looks at {'those before it' if part.causal else 'all pieces'}. {self.says(part, look)} The thicker the line, the more."
        yield Moment("block", 2.0, said, "attention", head=look.head, focus=look.row, half=1, **place)
        said = "The columns are mixed in these shares, in every head, and the mix is added to what each column was."
        yield Moment("block", 1.1, said, head=look.head, focus=look.row, half=2, **place)

    def says(self, part: Part, look: Look) -> str:
        """“In head 2, “sees” takes 55% from “girl”.”"""
        attention = self.model.anatomy.attention_at(part.weights.removesuffix(".weights"))
        rows = self.trace.tokens("tgt" if attention.rows == "labels" else attention.rows)
        columns = self.trace.tokens(attention.columns)
        whom = "itself" if look.row == look.column and not part.memory else named(columns[look.column])
        return f"In head {look.head + 1}, {named(rows[look.row])} takes {percent(look.weight)} from {whom}."

    # --- the stack that writes ------------------------------------------------------------------------------------

    def writing(self) -> Iterator[Moment]:
        """Step after step, the first one slowly."""
        first = self.given - 1
        last = len(self.trace.labels) - 1
        yield from self.first_step(first)
        for step in range(first + 1, last + 1):
            yield from self.later_step(step, slow=step == first + 1, left=last - first)
        end = self.trace.labels[last]
        n = last - first + 1
        steps = f"{n} step{'s' * (n != 1)}"
        if end.text == "<eos>":
            said = f"{named(end)}, the end sign, is taken with {percent(self.probabilities[last])}. So the decoder stops: done in {steps}."
        else:
            said = f"It was stopped after {steps}; it had not written <eos>, the end sign."
        yield Moment("end", 0.9, said, "end", panel=self.writer, part=self.top, step=last)

    @property
    def top(self) -> int:
        return len(self.panels[self.writer].parts) - 1

    @property
    def reading(self) -> int:
        """The attention that is shown while the pieces are written: of the memory, if there is one; the last, or the
        one that tells most."""
        parts = self.panels[self.writer].parts
        attentions = [n for n, part in enumerate(parts) if part.kind == "attention"]
        reading = [n for n in attentions if parts[n].memory] or attentions
        for kind, first in (self.model.about.telling or {}).items():
            for n in reading:
                attention = self.model.anatomy.attention_at(parts[n].weights.removesuffix(".weights"))
                if (attention.kind, attention.layer) == (kind, first.layer):
                    return n
        return reading[-1]

    def first_step(self, step: int) -> Iterator[Moment]:
        panel = self.panels[self.writer]
        alone = self.writer == 0  # nothing was told yet of what columns and attention are
        begun = False
        for at, part in enumerate(panel.parts[:-1]):
            if alone:
                yield from self.block(self.writer, at, part, panel, slow=part.layer <= 1, step=step)
                continue
            place = {"panel": self.writer, "part": at, "step": step}
            if part.kind in ("embedding", "positions"):
                said = "The decoder writes the translation, piece by piece. It begins with <sos>, the start sign, which becomes a column too."
                yield Moment("block", 0.7 if part.kind == "embedding" else 0.5, said, **place)
            elif part.memory and not begun:
                begun = True
                look = self.look(part, step)
                column = self.trace.tokens("src")[look.column]
                said = f"Now it reads the memory. In head {look.head + 1} it takes {percent(look.weight)} from {named(column)}, and adds that to its column."
                yield Moment("block", 1.7, said, "reading", head=look.head, focus=step, **place)
            elif part.kind == "attention" and part.layer == 1:
                said = "Masked self-attention: the decoder looks only at what is written so far. That is <sos> alone."
                look = self.look(part, step)
                yield Moment("block", 0.9, said, head=look.head, focus=step, **place)
            elif part.kind == "attention":
                look = self.look(part, step)
                what = "reads the memory again" if part.memory else "looks at what is written"
                said = f"Layer {part.layer} {what}, with weights of its own."
                yield Moment("block", 0.35, said, head=look.head, focus=step, **place)
            elif part.kind == "feed_forward":
                yield Moment("block", 0.35, f"Feed-forward in layer {part.layer}: the column by itself.", **place)
            else:
                yield from self.block(self.writer, at, part, panel, slow=False, step=step)
        yield self.choice(step, 1.5, "next piece")

    def later_step(self, step: int, slow: bool, left: int) -> Iterator[Moment]:
        taken, label = self.trace.tgt[step], self.trace.labels[step]
        place = {"panel": self.writer, "step": step}
        part = self.panels[self.writer].parts[self.reading]
        look = self.look(part, step)
        if slow:
            said = f"{named(taken)} is written, and becomes the next input. From now on the decoder sees it, too."
            yield Moment("feed", 1.1, said, part=0, **place)
            own = next(n for n, one in enumerate(self.panels[self.writer].parts) if one.kind == "attention")
            one = self.look(self.panels[self.writer].parts[own], step)
            said = f"It looks at what is written, never at what comes later. {self.says(self.panels[self.writer].parts[own], one)}"
            yield Moment("block", 1.0, said, part=own, head=one.head, focus=step, **place)
        columns = self.trace.tokens("src" if part.memory else "tgt")
        read = f"It took most, {percent(look.weight)}, from {named(columns[look.column])} (layer {part.layer}, head {look.head + 1})."
        said = f"Then {named(label)}, with {percent(self.probabilities[step])}. {read}"
        seconds = min(0.9, max(0.2, 3.6 / max(1, left)))
        yield Moment("write", 1.0 if slow else seconds, said, part=self.reading, head=look.head, focus=step, **place)

    def choice(self, step: int, seconds: float, stop: str) -> Moment:
        label, entries = self.trace.labels[step], f"{self.model.tokenizer.vocab_size:,}"
        said = f"The last column is compared with all {entries} pieces. {named(label)} gets {percent(self.probabilities[step])} and is taken."
        return Moment("choose", seconds, said, stop, panel=self.writer, part=self.top, step=step)


def story(trace: Trace) -> list[Moment]:
    """The moments of a trace, in order."""
    return Story(trace).moments()


def n_words(caption: str) -> int:
    return len([word for word in caption.split() if any(unicodedata.category(c)[0] in "LN" for c in word)])


def seconds(moments: list[Moment]) -> float:
    return math.fsum(moment.seconds for moment in moments)
