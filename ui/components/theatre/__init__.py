"""A translation or a text being written: play, pause, step; what each step looked at, chose from, and kept."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ui.components.shared.wire import component, mount
from ui.text import piece

_component = component(
    "theatre", js=("shared/colour.js", "shared/shared.js", "theatre/theatre.js"), css=("theatre/theatre.css",)
)


@dataclass(frozen=True)
class Scene:
    """What one step shows.

    cross:      weights (S) of the source pieces; own: weights (t) of the t pieces read so far
    candidates: texts and probabilities, best first; chosen: the index of the one that is written
    cache:      for each layer, how many keys of what was read and of the source are kept after the step; empty where
                it is not shown
    cache_says: the cache in one sentence
    """

    cross: Sequence[float]
    own: Sequence[float]
    candidates: Sequence[tuple[str, float]]
    chosen: int
    cache: Sequence[tuple[int, int]] = ()
    cache_says: str = ""


@dataclass(frozen=True)
class Strip:
    """A row of pieces: any text, never taken for HTML.

    name:  says what the pieces are and what their shades mean
    yours: for each piece, whether the visitor chose it; empty where nothing can be chosen
    """

    pieces: Sequence[str]
    name: str
    yours: Sequence[bool] = ()


def theatre(
    scenes: Sequence[Scene],
    source: Strip | None,
    target: Strip,
    *,
    key: str,
    step: int,
    on_step: Callable[[int], None],
    on_candidate: Callable[[int, int], None],
) -> None:
    """Draw the step `step`, counted from 0, with the controls to go to others. The page keeps the step.

    Args:    scenes: one for each of T steps
             source: S pieces, None for a decoder alone; target: `<sos>`, or for a decoder alone the text that it
             goes on from, and the T pieces written, with a mark in `yours` for each
             on_step(step) and on_candidate(step, candidate) are called before the script runs
    Raises:  ValueError, naming the counts, if scenes, pieces and marks of the target do not fit each other
    """
    marks = len(target.yours)
    if not len(scenes) + 1 == len(target.pieces) == marks:
        raise ValueError(f"{len(scenes)} scenes do not fit a target of {len(target.pieces)} and {marks} marks.")
    data: dict[str, Any] = {
        "steps": [
            {
                "cross": [round(float(w), 4) for w in scene.cross],
                "self": [round(float(w), 4) for w in scene.own],
                "candidates": [[piece(text), round(float(p), 6)] for text, p in scene.candidates],
                "chosen": scene.chosen,
                "cache": [list(pair) for pair in scene.cache],
                "cache_says": scene.cache_says,
            }
            for scene in scenes
        ],
        "source": [piece(text) for text in source.pieces] if source else [],
        "target": [piece(text) for text in target.pieces],
        "step": min(max(step, 0), len(scenes) - 1),
        "yours": list(target.yours),
        "source_name": source.name if source else "",
        "target_name": target.name,
    }

    # The browser asks for step n with (0, n), and for candidate c at step n with (1 + n, c).
    def told(message: tuple[int, int]) -> None:
        if message[0] == 0:
            on_step(message[1])
        else:
            on_candidate(message[0] - 1, message[1])

    def valid(what: int, which: int) -> bool:
        known = len(scenes) if what == 0 else len(scenes[what - 1].candidates) if 0 < what <= len(scenes) else 0
        return 0 <= which < known

    mount(_component, key, lambda _: data, valid, told)
