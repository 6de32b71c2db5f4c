"""The map of encoder-decoder attention that is looked at: one head or an average, between pieces or words."""

from dataclasses import dataclass

import numpy as np

from figures.grouping import Group, grouped
from model.interventions import Head
from model.text.tokenizer import EOS
from model.trace import Array, Trace
from ui.controls.control import Choice, Switch
from ui.controls.head_control import HeadControl
from ui.views.attention_kinds import READABLE, all_weights, groups_of, head_title, tokens_of

KIND = "cross"
ONE, LAYER, ALL = VIEWS = "One head", "Layer average", "Full average"
HEAD = HeadControl((KIND,), KIND)
SHOW, BY_WORD = Choice("Show", "view", VIEWS), Switch("Whole words", "by_word")


@dataclass(frozen=True)
class View:
    """What is looked at: one head, or an average that it belongs to; pieces, or words."""

    head: Head
    which: str
    by_word: bool

    @property
    def title(self) -> str:
        if self.which == LAYER:
            return f"average of the heads of layer {self.head.layer + 1}"
        if self.which == ALL:
            return "average of the heads of all layers"
        return f"layer {self.head.layer + 1}, head {self.head.head + 1}"

    @property
    def in_full(self) -> str:
        """The same as the beginning of a sentence, the kind of attention named."""
        return head_title(KIND, self.head.layer, self.head.head) if self.which == ONE else self.title.capitalize()

    def tensor(self, trace: Trace) -> str:
        """Name of the tensor that holds it."""
        if self.which == ALL:
            return "decoder.cross_attn.average"
        return f"{trace.path(self.head)}.{'average' if self.which == LAYER else 'weights'}"

    def parts(self, weights: Array) -> dict[str, Array]:
        """The maps (T,S) that are averaged, by name, of weights (L,H,T,S); one head is by itself."""
        if self.which == LAYER:
            return {f"head {h + 1}": one for h, one in enumerate(weights[self.head.layer])}
        if self.which == ALL:
            return {f"the average of layer {n + 1}": layer.mean(0) for n, layer in enumerate(weights)}
        return {"": weights[self.head.layer, self.head.head]}

    def groups(self, trace: Trace) -> tuple[list[Group], list[Group]]:
        """What the rows and the columns stand for."""
        rows, columns = (groups_of(tokens, self.by_word) for tokens in tokens_of(trace, KIND))
        return rows, columns

    def readable(self, trace: Trace) -> tuple[list[Group], list[Group]]:
        """As many rows and columns as can be read."""
        rows, columns = self.groups(trace)
        return rows[:READABLE], columns[:READABLE]

    def by_pieces(self, trace: Trace, weights: Array | None = None) -> Array:
        """The map (T,S) of a trace, or of other weights (L,H,T,S) between the same pieces."""
        return np.mean(list(self.parts(all_weights(trace, KIND) if weights is None else weights).values()), axis=0)

    def values(self, trace: Trace, weights: Array | None = None) -> Array:
        """The map between what the rows and the columns stand for."""
        return grouped(self.by_pieces(trace, weights), *self.groups(trace))


def current_view(trace: Trace) -> View:
    """The view that See is set to, also where its controls are not on the page (presenter mode)."""
    return View(HEAD.value(trace.model), SHOW.value(), BY_WORD.value())


def is_word(label: str) -> bool:
    """Whether a piece or word has a letter or a digit: no special token, no punctuation."""
    return label != EOS and any(sign.isalnum() for sign in label)
