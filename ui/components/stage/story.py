"""The story of one sentence on its way through a model: moment by moment, told with its own numbers."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from figures.statistics import softmax
from model.text.tokenizer import EOS_ID, MASK_ID, SEP_ID
from model.trace import Trace
from ui.components.stage.looks import (
    Look,
    attention_of,
    counted,
    is_word,
    look_of,
    looks_of,
    named,
    percent,
    says,
    sublayer_of,
)
from ui.components.stage.parts import Panel, Part, panels_of

WRITING_SECONDS, LONGEST_SECONDS = 3.0, 5.0  # for all steps but the first two; so long only so that none flashes by
WORDS_A_SECOND = 8  # that one who reads quickly takes in; the card keeps what was said until the next stop


@dataclass(frozen=True)
class Moment:
    """A stretch of the ride in which one thing happens.

    kind:    pieces (the text is cut), block (a block works), memory (it flows across), choose (one piece is taken),
             feed (it becomes the next input), write (a whole step at once), end; of a clip also near (see `near.py`)
    seconds: how long it takes at normal speed; caption: what is said; stop: its name, if the ride stops behind it
    panel, part: the block that works, both counted from 0
    step:    the row of the stack that writes, from 0, that the moment works on; -1 while nothing is written
    head:    of an attention, the head that is shown; focus: the row that the caption speaks of, -1 for none
    by_head: what is said instead when someone chooses a head, one text for each; () if the caption speaks of none
    half:    of an attention shown in two moments, 1 (it looks) or 2 (it mixes); 0: both at once
    """

    kind: str
    seconds: float = 0.0
    caption: str = ""
    stop: str = ""
    panel: int = 0
    part: int = 0
    step: int = -1
    head: int = 0
    focus: int = -1
    half: int = 0
    by_head: tuple[str, ...] = ()

    def lasts(self, seconds: float, caption: str, stop: str = "") -> "Moment":
        return replace(self, seconds=seconds, caption=caption, stop=stop)


def story(trace: Trace) -> list[Moment]:
    """The moments of a trace, in order."""
    told = _Story(trace)
    return _readable([*told.start(), *told.readers(), *told.writing()])


def _readable(moments: list[Moment]) -> list[Moment]:
    """The same moments, with time to read what is said for the first time, where the ride does not stop for that.

    From the second piece on, all writing is told alike, so that only the words which differ want reading.
    """
    told: set[str] = set()
    paced: list[Moment] = []
    for caption, run in groupby(moments, lambda moment: moment.caption):
        same = list(run)
        needs = len(caption.split()) / WORDS_A_SECOND / sum(moment.seconds for moment in same)
        is_read = caption in told or any(moment.stop for moment in same)
        is_alike = same[0].kind == "write" and any(moment.kind == "write" for moment in paced)
        slower = 1.0 if is_read or is_alike else max(1.0, needs)
        paced += same if slower == 1.0 else [replace(moment, seconds=slower * moment.seconds) for moment in same]
        told.add(caption)
    return paced


def clip_of(moments: Sequence[Moment], panels: Sequence[Panel], shows: Collection[str]) -> tuple[int, int]:
    """The longest stretch of a story that shows these things, by the numbers of its first and last moment.

    Args: shows: ids of blocks, and kinds of moments that are not about one block ("pieces", "memory", "choose", …)
    """

    def is_shown(moment: Moment) -> bool:
        return (panels[moment.panel].parts[moment.part].id if moment.kind == "block" else moment.kind) in shows

    stretches = [list(run) for found, run in groupby(range(len(moments)), lambda n: is_shown(moments[n])) if found]
    if not stretches:  # a model that has no such block: all of it
        return 0, len(moments) - 1
    longest = max(stretches, key=lambda run: sum(moments[n].seconds for n in run))
    return longest[0], longest[-1]


def moment_of(moments: Sequence[Moment], step: int) -> int:
    """The number of the moment in which the piece of a step is taken."""
    return next(n for n, moment in enumerate(moments) if moment.step == step and moment.kind in ("choose", "write"))


def given_rows(trace: Trace) -> int:
    """How many rows the stack of the output is given before anything is written: `<sos>`, or a whole text."""
    if not trace.model.anatomy.writes_target:
        return len(trace.src)
    if trace.model.anatomy.reads_source:
        return 1
    return 1 + len(trace.model.tokenizer.encode(trace.text))


def blank_of(trace: Trace) -> int:
    """The row of the first blank that an encoder alone has to fill, counted from 0; -1 if there is none."""
    return next((n for n, token in enumerate(trace.src) if token.id == MASK_ID), -1)


def _others(panel: Panel) -> str:
    """What is said of all layers of a stack but the first, once it has been told what that does."""
    last = max(part.layer for part in panel.parts)
    if last == 2:
        return "Layer 2 does the same, with its own learned numbers."
    return f"Layers 2 {'and' if last == 3 else 'to'} {last} do the same, each with its own learned numbers."


class _Story:
    """Tells the moments of one trace."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.panels = panels_of(trace.model.anatomy, trace.model.about)
        self.writer = next(n for n, panel in enumerate(self.panels) if panel.writes)
        self.parts = self.panels[self.writer].parts
        self.n_entries = trace.model.tokenizer.vocab_size
        self.n_rows = given_rows(trace) if self.writer == 0 else None  # those there before anything is written
        self.reads_alone = not trace.model.anatomy.writes_target  # an encoder alone

    def start(self) -> Iterator[Moment]:
        """The text is cut into pieces."""
        panel = self.panels[0]
        tokens = self.trace.tokens(panel.tokens)
        what, sign = "The text is", ""
        if self.reads_alone:
            texts = what, " [CLS] and [SEP] stand around them."
            if sum(token.id == SEP_ID for token in tokens) > 1:
                texts = "The two texts are", " [CLS] comes first, [SEP] after each text."
            tokens = tuple(token for token in tokens[1:] if token.id != SEP_ID)
            what, sign = texts
            hidden = sum(token.id == MASK_ID for token in tokens)
            sign += f" [MASK] hides {'one' if hidden == 1 else 'some'}." if hidden else ""
        elif panel.writes:  # of what a decoder alone will read, only the text is there yet
            tokens = tokens[1 : given_rows(self.trace)]
        elif tokens[-1].id == EOS_ID:  # it is no piece of the text
            tokens, sign = tokens[:-1], " One more, <eos>, marks the end."
        words = [token for token in tokens if is_word(token)] or list(tokens)
        example = words[min(1, len(words) - 1)]
        said = (
            f"{what} cut into {counted(len(tokens), 'piece')}. "
            f"Each has a number in the model's list of {self.n_entries:,}: {named(example)} is {example.id:,}.{sign}"
        )
        yield Moment("pieces").lasts(1.2, said, "pieces")

    def readers(self) -> Iterator[Moment]:
        """Every stack that runs before the one that writes."""
        for n, panel in enumerate(self.panels[: self.writer]):
            for at, part in enumerate(panel.parts):
                yield from self.block(Moment("block", panel=n, part=at), part, panel)
            layers = counted(max(part.layer for part in panel.parts), "layer")
            rows = counted(len(self.trace.tokens(panel.tokens)), "column")
            said = (
                f"After {layers} the {panel.name} is done. Its {rows}, one for each piece, are the memory: all that "
                "the decoder sees of the sentence."
            )
            yield Moment("memory", panel=n, part=len(panel.parts) - 1).lasts(1.2, said, "memory")

    def block(self, moment: Moment, part: Part, panel: Panel) -> Iterator[Moment]:
        """One block at work on all rows at once; slowly up to the first layer's end."""
        d_model = self.trace.tensors[panel.parts[0].result].shape[-1]
        match part.kind:
            case "embedding":
                said = f"Each piece becomes a vector: {d_model} learned numbers, drawn as a small block of colours, "
                yield moment.lasts(1.2, said + "its column.")
            case "positions" if part.label != "+ Positions":
                said = f"To each column {d_model} numbers are added, one to one. They tell which text it belongs to: "
                yield moment.lasts(1.2, said + "the first or the second.")
            case "positions":
                said = f"To each column {d_model} numbers are added, one to one. They depend only on where the piece "
                yield moment.lasts(1.5, said + "stands: first, second, third.", "vectors")
            case "attention" if part.layer == 1:
                yield from self.attention(moment, part)
            case "attention":
                look = look_of(self.trace, part, n_rows=self.n_rows)
                yield replace(moment, head=look.head, focus=look.row).lasts(0.5, _others(panel))
            case "feed_forward" if not part.layer:
                yield moment.lasts(
                    0.6, "A small network, the head, makes each column ready to be compared with pieces."
                )
            case "feed_forward" if part.layer == 1:
                yield moment.lasts(1.1, "Feed-forward: a small network works on each column by itself.")
            case "feed_forward":
                yield moment.lasts(0.35, _others(panel))
            case "norm":
                which = "A norm" if part.id.startswith("encoder.embedding") else "A last norm"
                yield moment.lasts(0.5, f"{which} brings every column to one scale.")

    def attention(self, moment: Moment, part: Part) -> Iterator[Moment]:
        """The first attention, slowly: it looks, and then it mixes."""
        look = look_of(self.trace, part, n_rows=self.n_rows)
        moment = replace(moment, head=look.head, focus=look.row)
        whom = "itself and those before it" if part.causal else "all pieces"
        n_heads = len(self.trace.tensors[part.weights])
        ways = f" {n_heads} heads do so side by side." if n_heads > 1 else ""
        said = (
            f"Self-attention: each piece looks at {whom} and takes a weighted average of their numbers into its column."
        )
        yield replace(moment, half=1).lasts(1.8, said + ways, "attention")
        said = "What was gathered is added to the column."
        if sublayer_of(self.trace, part).norm == "after":
            said = "Add & Norm: what was gathered is added to the column, and the sum is brought to one scale."
        yield replace(moment, half=2).lasts(1.0, said)

    # --- the stack that writes ------------------------------------------------------------------------------------

    def writing(self) -> Iterator[Moment]:
        """Step after step, the first one slowly."""
        first, last = given_rows(self.trace) - 1, len(self.trace.labels) - 1
        if self.reads_alone:
            yield from self.reading_alone(Moment("block", panel=self.writer, step=first))
            return
        yield from self.first_step(Moment("block", panel=self.writer, step=first))
        for step in range(first + 1, last + 1):
            yield from self.later_step(Moment("write", panel=self.writer, step=step), step == first + 1, last - first)
        n = last - first + 1
        steps, pieces = counted(n, "step"), counted(n, "piece")
        said = f"It was stopped after {steps}; it had not written <eos>, the end sign."
        if self.trace.labels[last].id == EOS_ID:
            share = percent(self.trace.probabilities[last])
            said = f"<eos>, the end sign, is taken with {share}. So the decoder stops: {pieces} written, "
            said += "the end sign included."
        yield Moment("end", panel=self.writer, part=len(self.parts) - 1, step=last).lasts(0.8, said, "end")

    def reading_alone(self, moment: Moment) -> Iterator[Moment]:
        """An encoder alone: all its blocks, and what it puts into a blank."""
        top = len(self.parts) - 1
        for at, part in enumerate(self.parts[:-1]):
            yield from self.block(replace(moment, part=at), part, self.panels[0])
        row = blank_of(self.trace)
        if row < 0:
            said = "The encoder is done. Each column now carries information about the whole text; it writes nothing."
            yield replace(moment, kind="memory", part=top - 1).lasts(0.8, said, "end")
            return
        shares = softmax(self.trace.tensors["logits"][row].astype(np.float64))
        best = int(shares.argmax())
        several = sum(token.id == MASK_ID for token in self.trace.src) > 1
        said = (
            f"The column of {'the first ' * several}[MASK] is compared with all {self.n_entries:,} pieces. "
            f"{named(self.trace.model.tokenizer.tokens([best])[0])} gets {percent(float(shares[best]))}, more than any "
            "other."
        )
        yield replace(moment, kind="choose", part=top, focus=row).lasts(1.4, said, "its guess")
        said = "That is its guess for the blank. The encoder is done; it writes nothing more."
        yield replace(moment, kind="end", part=top, focus=row).lasts(0.8, said, "end")

    def first_step(self, moment: Moment) -> Iterator[Moment]:
        """All blocks, one after the other, and then the choice."""
        reads = next((n for n, part in enumerate(self.parts) if part.memory), -1)
        for at, part in enumerate(self.parts[:-1]):
            here = replace(moment, part=at)
            if self.writer == 0:  # nothing was told yet of what columns and attention are
                yield from self.block(here, part, self.panels[0])
            else:
                yield self.first_block(here, part, at == reads)
        label = self.trace.labels[moment.step]
        said = (
            f"The last column is compared with all {self.n_entries:,} pieces. {named(label)} gets "
            f"{percent(self.trace.probabilities[moment.step])} and is taken."
        )
        yield replace(moment, kind="choose", part=len(self.parts) - 1).lasts(1.4, said, "next piece")

    def first_block(self, moment: Moment, part: Part, reads: bool) -> Moment:
        """One block of a decoder that reads a memory, at work on its first row."""
        if part.kind in ("embedding", "positions"):
            said = "The decoder writes, piece by piece. It begins with <sos>, the start sign."
            return moment.lasts(0.6, said)
        look = look_of(self.trace, part, moment.step) if part.kind == "attention" else None
        moment = replace(moment, head=look.head, focus=moment.step) if look else moment
        if part.layer > 1:
            return moment.lasts(0.25, _others(self.panels[self.writer]))
        if not look:
            return moment.lasts(0.4, "Then feed-forward, as before." if part.layer else "Then a last norm.")
        if reads:
            by_head = tuple(self.reads(one) for one in looks_of(self.trace, part, moment.step))
            return replace(moment, by_head=by_head).lasts(1.6, self.reads(look), "reading")
        said = "Masked self-attention: it looks only at what is written so far, <sos> alone."
        return moment.lasts(0.8, said)

    def reads(self, look: Look) -> str:
        return (
            f"Now it reads the memory. Head {look.head + 1} gives {percent(look.weight)} of its attention to "
            f"{named(self.trace.src[look.column])}. What it read is added to its column."
        )

    def later_step(self, moment: Moment, slow: bool, n_left: int) -> Iterator[Moment]:
        """A piece that was written becomes the next input, and another one is written."""
        step = moment.step
        if slow:
            taken = named(self.trace.tgt[step])
            yield replace(moment, kind="feed").lasts(1.0, f"{taken} becomes the next input.")
            own = next(n for n, part in enumerate(self.parts) if part.kind == "attention")
            look = look_of(self.trace, self.parts[own], step)
            told, *by_head = (
                f"It never looks ahead. {says(self.trace, self.parts[own], one)}"
                for one in (look, *looks_of(self.trace, self.parts[own], step))
            )
            here = replace(moment, kind="block", part=own, head=look.head, focus=step, by_head=tuple(by_head))
            # Longer than the first look, at <sos> alone: the lesson on the mask plays the longest.
            yield here.lasts(1.8, told)
        part = self.parts[self.reading]
        look = look_of(self.trace, part, step)
        columns = self.trace.src if part.memory else self.trace.tgt
        said = (
            f"After {named(self.trace.tgt[step])}, head {look.head + 1} of layer {part.layer} gives "
            f"{named(columns[look.column])} {percent(look.weight)} of its attention. "
            f"It writes {named(self.trace.labels[step])}, with {percent(self.trace.probabilities[step])}."
        )
        seconds = 1.0 if slow else min(0.8, max(min(0.2, LONGEST_SECONDS / n_left), WRITING_SECONDS / n_left))
        yield replace(moment, part=self.reading, head=look.head, focus=step).lasts(seconds, said)

    @property
    def reading(self) -> int:
        """The attention shown while piece after piece is written: of those that read a memory, if any do, the one
        that the model's description says tells most, or the last."""
        attentions = [n for n, part in enumerate(self.parts) if part.kind == "attention"]
        reading = [n for n in attentions if self.parts[n].memory] or attentions
        telling = {(kind, one.layer) for kind, one in (self.trace.model.about.telling or {}).items()}
        places = {n: attention_of(self.trace, self.parts[n]) for n in reading}
        return next((n for n, one in places.items() if (one.kind, one.layer) in telling), reading[-1])
