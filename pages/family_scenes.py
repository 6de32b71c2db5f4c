"""What the first screens of the section Family share: where a model looks, and what it finds likeliest."""

from collections.abc import Callable

import numpy as np

from model.files.loaded_model import Array
from model.trace import Trace
from pages.family_models import BERT, family_model
from ui.components.scene import Bar, Bars, Link, Role
from ui.text import chance

GUESSES = 3


def looks(read: Trace, attention: str, row: int) -> Array:
    """How much the last layer looks at each piece from a row, on average over its heads."""
    stack, block = attention.split(".")
    last = max(layer.index for one in read.model.anatomy.stacks if one.name == stack for layer in one.layers)
    return read.tensors[f"{stack}.layers.{last}.{block}.weights"].mean(0)[row]


def arches(weights: Array, at: int, role: Role = "query") -> list[Link]:
    return [Link((0, i), (0, at), float(w), role) for i, w in enumerate(weights) if i != at]


def likeliest(
    chances: Array,
    text_of: Callable[[int], str],
    role: Role,
    right: int,
    n: int = GUESSES,
    title: str = "",
    before: float | None = None,
) -> Bars:
    """The likeliest entries, and the one that stands there, if it is not among them: how likely that was before."""
    bars = [
        Bar(text_of(id), p, chance(p), before if id == right else None, strong=id == right)
        for id, p in ((id, float(chances[id])) for id in among_likeliest(chances, right, n))
    ]
    return Bars(bars, title, role)


def among_likeliest(chances: Array, right: int, n: int) -> list[int]:
    """The n likeliest entries; the right one instead of the last, if it is not among them."""
    best = [int(id) for id in np.argsort(-chances, kind="stable")[:n]]
    return best if right in best else [*best[:-1], right]


def named(id: int) -> str:
    return family_model(BERT).tokenizer.tokens([id])[0].text
