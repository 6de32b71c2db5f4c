"""The first screen: sixty new sentences part on top of a GPT that has read books, and do not on one that has not."""

import numpy as np

from model.files.loaded_model import Array
from model.trace import Trace
from pages.family.fine_tuning.choosing import labelled, test_sentences, topic, with_error
from pages.family.fine_tuning.learning import parted
from training.live.labelling import PLUS, PRETRAINED
from ui.components.scene import Dots, Frame, Scene
from ui.text import chance

STOPS = (0, 1, 2, 4, 8, 14, 20)
WEIGHTS = {PRETRAINED: "has read books", "random weights": "has read nothing"}


def scene(trace: Trace) -> Scene:
    chances = {name: parted(trace.text, random=name != PRETRAINED) for name in WEIGHTS}
    labels, n = np.array([label == PLUS for _, label in test_sentences()]), len(labelled())
    return Scene(
        f"Fine-tuning: on two GPTs, one pre-trained, one not, a new small layer learns {n} labels. Each mark is a "
        "sentence that is new to both. The ring is yours.",
        f"Steps on {n} labels",
        [scene_frame(chances, labels, step) for step in STOPS],
        by="slider",
        start=len(STOPS) - 1,
        plays=True,
        also=lambda: (topic(), labelled()),
    )


def scene_frame(chances: dict[str, Array], labels: Array, step: int) -> Frame:
    chosen = topic()
    right = {name: float(((of[step, :-1] > 0.5) == labels).mean()) for name, of in chances.items()}
    panels = [
        [
            Dots(
                [(float(p), bool(plus)) for p, plus in zip(of[step, :-1], labels, strict=True)],
                (chosen.minus, chosen.plus),
                name,
                f"{100 * right[name]:.0f}%",
                WEIGHTS[name],
                mine=float(of[step, -1]),
            )
        ]
        for name, of in chances.items()
    ]
    one, other = (f"**{with_error(right[name], len(labels))}**" for name in WEIGHTS)
    mine = float(chances[PRETRAINED][step, -1])
    return Frame(
        str(step),
        f"Pre-trained, it sorts {one} of {len(labels)} new sentences as we did; with random weights {other}. Yours, "
        f"pre-trained: **{chosen.plus if mine > 0.5 else chosen.minus}**, {chance(max(mine, 1 - mine))}.",
        panels,
    )
