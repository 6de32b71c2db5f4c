"""The first screen: for each snapshot where a head looks, how likely it finds each piece, and its loss."""

import math

import numpy as np

from model.decoding.strategies import Greedy
from model.trace import Trace
from pages.first_screen import loss_curve
from pages.training.how_it_learned.looking import head_control
from pages.training.how_it_learned.snapshots import at_step, steps, target_read
from ui import engine
from ui.components.scene import Axis, Card, Cards, Frame, Link, Row, Scene
from ui.components.scene.answer import quoted
from ui.text import chance, number

SHOWN = 7  # pieces of each text; a snapshot writes one more, which may be the end
HEIGHT = 150  # of the curve


def scene(trace: Trace) -> Scene:
    """A frame for each snapshot; it opens with the last one, which knows, and plays from the first, which does not."""
    reads = [target_read(trace, step) for step in steps()]
    losses = [float(read.tensors["losses"].mean()) for read in reads]
    cut = f" Drawn: the first {SHOWN} pieces." * (max(len(trace.src), len(reads[-1].labels)) > SHOWN)
    head = head_control().otherwise
    return Scene(
        f"How it learned your sentence: a line shows how much head {head} looks at a piece of the English before it "
        f"names a piece of the German. The German is what it writes at the end.{cut}",
        "Steps of training so far",
        [frame(trace, read, head, losses, n) for n, read in enumerate(reads)],
        by="slider",
        start=len(reads) - 1,
        plays=True,
    )


def frame(trace: Trace, read: Trace, head: str, losses: list[float], at: int) -> Frame:
    layer, n = (int(part) - 1 for part in head.split("."))
    weights = read.attention("cross", layer)[n]
    source, labels = trace.src[:SHOWN], read.labels[:SHOWN]
    known = read.tensors["logits"].argmax(-1) == np.array(read.label_ids)
    german = [
        Card(token.text, "written" if is_known else "asked", chance(p), p)
        for token, is_known, p in zip(labels, known, read.probabilities, strict=False)
    ]
    cards = Cards(
        [Row([Card(token.text) for token in source], "English"), Row(german, "German", "output")],
        [Link((0, s), (1, t), float(weights[t, s]), "output") for t in range(len(labels)) for s in range(len(source))],
    )
    own = engine.trace(trace.text, decoding=Greedy(SHOWN + 1), name=at_step(steps()[at]).name)
    writes = f"**{quoted(own.translation) if own.translation else '(nothing)'}**" + ("" if own.finished else " …")
    n_pieces = read.model.config.vocab_size
    blind = f"a blind guess: ln {n_pieces:,}", math.log(n_pieces)
    # Side by side, whatever the steps between them.
    x = Axis("steps of training", 0, len(losses) - 1, [(n, f"{step:,}") for n, step in enumerate(steps())])
    curve = loss_curve([*enumerate(losses)], at, blind, x, 10, HEIGHT)
    return Frame(
        f"{steps()[at]:,}",
        f"After **{steps()[at]:,}** of {steps()[-1]:,} steps its loss is **{number(losses[at], 2)}**, and its first "
        f"guess is right for **{known.sum()} of {len(known)}** pieces. It writes: {writes}",
        [[cards], [curve]],
    )
