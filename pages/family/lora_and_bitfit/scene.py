"""The first screen: a translator with more and more of what it learned, until its words tip into another style."""

import re

import numpy as np

from experiments.family.low_rank import Tipping, tipping
from model.adapting.adapters import DOWN, UP, file_of, load_adapter
from model.adapting.lora import ALPHA
from model.trace import Trace
from training.live.styles import BUTLER, FORMAL, is_formal
from ui import engine
from ui.components.scene import Bar, Bars, Card, Cards, Frame, Matrix, Row, Scene
from ui.text import chance, number

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
READ, WRITTEN = 9, 12  # pieces of the sentence that are read; of a translation that are drawn
CORNER = 14  # rows and columns of a matrix that are drawn


def scene(trace: Trace) -> Scene:
    """Of the adapters that come with the app: formal German if the sentence speaks to somebody, else the butler's."""
    loaded = engine.model()
    ids = loaded.tokenizer.encode(trace.text)
    text = trace.text if len(ids) <= READ else loaded.tokenizer.decode(ids[:READ])
    style, says = BUTLER, ""
    if re.search(r"\byou(r|rs)?\b", text, re.IGNORECASE):
        formal = engine.run(tipping, loaded, text, file_of(FORMAL), SHARES)
        says = " Its German already says “Sie”."
        if not is_formal(formal.texts[0]):
            style, says = FORMAL, ""
    tips = engine.run(tipping, loaded, text, file_of(style), SHARES)
    tipped = [share for share, now in enumerate(tips.texts) if now == tips.texts[-1]]
    cut = "" if text == trace.text else f" Read here: the first {READ} pieces."
    return Scene(
        f"LoRA: two thin matrices, B and A, taught the translator a style, “{style}”. Drawn are the corners of those "
        f"that changed most.{says}{cut}",
        "How much of BA is added",
        [scene_frame(style, tips, share) for share in range(len(SHARES))],
        by="slider",
        start=tipped[0] if tips.texts[0] != tips.texts[-1] else len(SHARES) - 1,
        wide=(0.8, 0.23, 0.8, 0.8, 1.5),
        plays=True,
    )


def scene_frame(style: str, tips: Tipping, at: int) -> Frame:
    loaded, adapter = engine.model(), load_adapter(file_of(style))
    learned = sum(one.numel() for one in adapter.values())
    share = f"{number(100 * learned / loaded.n_parameters, 1)}%"
    now, same = tips.texts[at] or "(nothing)", tips.texts[at] == tips.texts[0]
    return Frame(
        f"{SHARES[at]:g}",
        f"With {SHARES[at]:g} · BA it writes **{now}**{' (as before)' * (same and at > 0)} Trained: **{learned:,}** "
        f"numbers, {share} of the translator’s. W₀ stays as it was.",
        [[*matrices(style, SHARES[at]), tipped(tips, at)], [written(tips, at)]],
    )


def matrices(style: str, share: float) -> tuple[Matrix, ...]:
    """Of the place where BA is longest: W₀, B and A, and what is added to W₀."""
    loaded, adapter = engine.model(), load_adapter(file_of(style))
    names = [name.removesuffix(DOWN) for name in adapter if name.endswith(DOWN)]
    changes = {name: (adapter[name + UP] @ adapter[name + DOWN]).numpy() for name in names}
    most = max(names, key=lambda name: float(np.linalg.norm(changes[name])))
    frozen, up, down = (weight.numpy() for weight in (
        loaded.model.get_parameter(f"{most}.weight").cpu(), adapter[most + UP], adapter[most + DOWN],
    ))  # fmt: skip
    added = ALPHA / len(down) * changes[most][:CORNER, :CORNER]
    size = "{} × {}".format(*frozen.shape)
    return (
        Matrix(frozen[:CORNER, :CORNER], f"W₀, {size}", f"{frozen.size:,} locked", signed=True, pale=0.6),
        Matrix(up[:CORNER], "B", f"{up.size:,}", signed=True),
        Matrix(down[:, :CORNER], f"A, {len(down)} × {down.shape[1]}", f"{down.size:,}", signed=True),
        Matrix(share * added, f"added to W₀: {share:g} · BA", ends=float(np.abs(added).max()), signed=True),
    )


def tipped(tips: Tipping, at: int) -> Bars:
    """The two pieces between which it tips; what they were without BA is dashed."""
    before, now = tips.chances[0], tips.chances[at]
    bars = [
        Bar(token.text, float(now[n]), chance(float(now[n])), before=float(before[n]), strong=n == 1)
        for n, token in enumerate(tips.both)
    ]
    return Bars(bars, f"Piece {tips.place + 1} of its German", note="dashed: W₀ alone")


def written(tips: Tipping, at: int) -> Cards:
    """What it writes with W₀ alone, and now; strong from where they part to where they meet again."""
    before, now = tips.pieces[0], tips.pieces[at]
    meet = 0
    while meet < min(len(before), len(now)) - tips.place and before[-1 - meet].id == now[-1 - meet].id:
        meet += 1
    first = max(0, min(tips.place - 5, max(len(before), len(now)) - WRITTEN))

    def cards(tokens: tuple[str, ...]) -> list[Card]:
        strong = range(tips.place, len(tokens) - meet) if now != before else range(0)
        return [Card(text, "strong" if n in strong else "written") for n, text in enumerate(tokens)][first:][:WRITTEN]

    rows = {"W₀ alone": before, f"with {SHARES[at]:g} · BA": now}
    return Cards([Row(cards(tuple(t.text for t in tokens)), name, "output") for name, tokens in rows.items()])
