"""The first screen: a translator with more and more of what it learned, until its words tip into another style."""

import numpy as np

from experiments.family.low_rank import Tipping, most_changed, tipping
from model.adapting.adapters import file_of, load_adapter
from model.adapting.lora import ALPHA
from model.trace import Trace
from training.live.styles import BUTLER, FORMAL, is_formal, says_you
from ui import engine
from ui.components.scene import Bar, Bars, Card, Cards, Frame, Matrix, Row, Scene
from ui.components.scene.answer import quoted
from ui.text import chance, number

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
READ, WRITTEN = 9, 12  # pieces of the sentence that are read; of a translation that are drawn
CORNER = 14  # rows and columns of a matrix that are drawn


def scene(trace: Trace) -> Scene:
    """Of the adapters that come with the app: formal German if the sentence speaks to somebody, else the butler's."""
    loaded = engine.model()
    ids = loaded.tokenizer.encode(trace.text)
    text = trace.text if len(ids) <= READ else loaded.tokenizer.decode(ids[:READ]).rstrip("\ufffd")
    style, says = BUTLER, ""
    if says_you(text):
        formal = is_formal(engine.run(tipping, loaded, text, file_of(FORMAL), SHARES).texts[0])
        style, says = (BUTLER, " Its German already says “Sie”.") if formal else (FORMAL, "")
    tips = engine.run(tipping, loaded, text, file_of(style), SHARES)
    r = len(engine.run(most_changed, loaded, file_of(style))[2])
    cut = "" if text == trace.text else f" Read here: its beginning, at most {READ} pieces."
    return Scene(
        f"LoRA: two thin matrices, B and A, taught the translator a style, “{style}”; α/r is {ALPHA / r:g}. Drawn: "
        f"the corners that changed most.{says}{cut}",
        "How much of BA is added",
        [scene_frame(style, tips, share) for share in range(len(SHARES))],
        by="slider",
        start=tips.texts.index(tips.texts[-1]) if tips.texts[0] != tips.texts[-1] else len(SHARES) - 1,
        wide=(0.8, 0.23, 0.8, 0.8, 1.5),
        plays=True,
    )


def scene_frame(style: str, tips: Tipping, at: int) -> Frame:
    loaded, share = engine.model(), f"{SHARES[at]:g}"
    learned = sum(one.numel() for one in load_adapter(file_of(style)).values())
    bars = [
        Bar(token.text, float(p), chance(float(p)), before=float(was), strong=token is tips.both[1])
        for token, p, was in zip(tips.both, tips.chances[at], tips.chances[0], strict=True)
    ]
    tipped = Bars(bars, f"Piece {tips.place + 1} of its German", note="dashed: W₀ alone")
    as_before = " (as before)." * (at > 0 and tips.texts[at] == tips.texts[0])
    writes = quoted(tips.texts[at]) if tips.texts[at] else "(nothing)"
    return Frame(
        share,
        f"With {share} · (α/r)BA it writes **{writes}**{as_before} Trained: **{learned:,}** "
        f"numbers, {number(100 * learned / loaded.n_parameters, 1)}% of the translator’s. W₀ stays as it was.",
        [[*matrices(style, SHARES[at]), tipped], [written(tips, at)]],
    )


def matrices(style: str, share: float) -> tuple[Matrix, ...]:
    """Of the place where BA is longest: W₀, B and A, and what is added to W₀."""
    frozen, up, down, change = engine.run(most_changed, engine.model(), file_of(style))
    added, size = change[:CORNER, :CORNER], "{} × {}".format(*frozen.shape)
    return (
        Matrix(frozen[:CORNER, :CORNER], f"W₀, {size}", f"{frozen.size:,} locked", signed=True, pale=0.6),
        Matrix(up[:CORNER], "B", f"{up.size:,}", signed=True),
        Matrix(down[:, :CORNER], f"A, {len(down)} × {down.shape[1]}", f"{down.size:,}", signed=True),
        Matrix(share * added, "added to W₀", f"{share:g} · (α/r)BA", ends=float(np.abs(added).max()), signed=True),
    )


def written(tips: Tipping, at: int) -> Cards:
    """What it writes with W₀ alone, and now; strong where they differ."""
    both = tips.pieces[0], tips.pieces[at]
    first = max(0, min(tips.place - 5, max(map(len, both)) - WRITTEN))
    rows = []
    for name, pieces, apart in zip(("W₀ alone", f"with {SHARES[at]:g} · (α/r)BA"), both, tips.apart(at), strict=True):
        cards = [Card(token.text, "strong" if n in apart else "written") for n, token in enumerate(pieces)]
        rows.append(Row(cards[first : first + WRITTEN], name, "output"))
    return Cards(rows)
