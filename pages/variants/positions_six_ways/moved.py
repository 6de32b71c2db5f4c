"""The first screen: the whole sentence moves along a ruler, and six schemes score its queries and keys."""

import numpy as np

from experiments.attention.moved_text import moved_scores
from model.files.loaded_model import Array, LoadedModel
from model.trace import Trace
from pages.family_models import family_model
from ui import engine
from ui.components.scene import Frame, Matrix, Ruler, Scene
from ui.text import number, piece

ADDED = ("Learned, added", "Sinusoids, added")
SIBLINGS = {
    "None": "positions-none",
    **dict(zip(ADDED, ("positions-learned", "plain-1"), strict=True)),
    "Relative, in the score": "positions-relative",
    "Rotary, in the score": "positions-rotary",
    "ALiBi, in the score": "positions-alibi",
}
HEAD = 0
STARTS = tuple(range(1, 44, 6))  # where the sentence begins, counted from 1
MOST = 8  # pieces in the scene
SAME = 0.005  # scores that differ by less look the same


def siblings() -> list[LoadedModel]:
    return [family_model(name) for name in SIBLINGS.values()]


def scene(trace: Trace) -> Scene:
    shown = trace.src[:MOST]
    ids = tuple(token.id for token in shown)
    cut = "" if len(shown) == len(trace.src) else f" Shown: the first {MOST} pieces."
    scores = {
        name: engine.run(moved_scores, family_model(sibling), ids, tuple(start - 1 for start in STARTS))[:, HEAD]
        for name, sibling in SIBLINGS.items()
    }
    furthest, query, key = most_moved(scores)
    # The last piece may end within a sign of several bytes.
    text, texts = trace.model.tokenizer.decode(ids).rstrip("\ufffd"), [piece(token.text) for token in shown]
    marks = (query, f"query: {texts[query]}"), (key, f"key: {texts[key]}")
    return Scene(
        "Positions in six ways, by six small translators trained alike. A cell is the score of a query (row) and a key "
        f"(column).{cut}",
        "The sentence begins at place",
        [
            scene_frame(scores, n, (query, key), Ruler(text, start, len(ids), STARTS[-1] + MOST - 1, marks))
            for n, start in enumerate(STARTS)
        ],
        by="slider",
        start=furthest,
    )


def most_moved(scores: dict[str, Array]) -> tuple[int, int, int]:
    """The stop and the query and key, two different words if there are, at which both schemes that add change the score
    most.
    """
    changes = np.minimum(*(np.abs(scores[name] - scores[name][0]) for name in ADDED))
    changes[:, np.eye(changes.shape[-1], dtype=bool)] = -1
    if len(changes[0]) > 2:
        changes[:, -1] = changes[:, :, -1] = -1  # the end mark
    stop, query, key = np.unravel_index(changes.argmax(), changes.shape)
    return int(stop), int(query), int(key)


def scene_frame(scores: dict[str, Array], at: int, cell: tuple[int, int], ruler: Ruler) -> Frame:
    pairs = {name: (float(moved[0][cell]), float(moved[at][cell])) for name, moved in scores.items()}

    def note(before: float, now: float) -> str:
        if at == 0:
            return number(now, 2)
        return f"{number(now, 2)}, " + ("as before" if abs(now - before) < SAME else f"was {number(before, 2)}")

    learned, sines = (f"{number(pairs[name][0], 2)} → {number(pairs[name][1], 2)}" for name in ADDED)
    answer = (
        f"**{STARTS[at] - 1} places on**: what is added to the embeddings gives another score (learned {learned}, "
        f"sinusoids {sines}). The other four keep theirs."
        if at
        else "Nothing has moved yet. Six models give the same query and key six **scores**."
    )
    matrices = [
        Matrix(moved[at], name, note(*pairs[name]), ends=float(np.abs(moved).max()), signed=True, marked=cell)
        for name, moved in scores.items()
    ]
    return Frame(str(STARTS[at]), answer, [[ruler], matrices])
