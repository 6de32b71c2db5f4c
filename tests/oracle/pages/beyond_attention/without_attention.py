"""What the lesson on state-space layers must show."""

from typing import Any

import numpy as np

from tests.oracle.language import claims
from tests.oracle.language import scene as screen
from tests.oracle.language.approved import Prose
from tests.oracle.language.claims import number
from tests.oracle.language.common import Shown, Statements, check_cell, code_of, shown_tensor, tensor_matrix
from tests.oracle.language.page import Page
from tests.oracle.language.words import inline
from tests.oracle.passes import shipped
from tests.oracle.passes.copying import kernels, reading, softplus, weights
from tests.oracle.passes.forward import Array
from tests.oracle.shown.frame import INSTEAD

prose = Prose("without_attention")

SELECTIVE, INVARIANT = KINDS = ("selective", "time-invariant")
LENGTHS, FIRST = (64, 80, 96, 112, 128), ".f.a.......c.a..d....e..."
ENTRIES, SPACE = "·abcdefgh?", "blocks.1.space"
STATES: tuple[dict[str, str], ...] = (
    {},
    {"tape": "HEAD.. ..be", "stop": "1", "cell": "2.3"},
    {"tape": "abcdez", "stop": "3", "cell": "1.1"},
    {"tape": "a" + "." * 80 + "bcdef", "stop": "9"},
    {"tape": "....", "cell": "5.1"},
    {"tape": "abc", "stop": "2"},
    {"tape": "  "},
)


def fault(page: Page) -> tuple[str, str]:
    """What is said of the row that was typed, if it cannot be read, and the row that is read."""
    signs = page.state.get("tape", FIRST).strip().lower().replace(" ", ".")
    letters = signs.replace(".", "")
    unknown = [sign for sign in letters if sign not in ENTRIES[1:9]]
    said = (
        prose.line("there are no letters") if not signs
        else prose.line("all of it is noise") if not letters
        else prose.line("the networks know the", inline(unknown[0])) if unknown
        else prose.line("a row of places", len(signs)) if len(signs) > 64
        else prose.line("the networks learned to", len(letters)) if len(letters) != 6
        else ""
    )  # fmt: skip
    return said, FIRST if said else signs


def ids(signs: str, places: int) -> tuple[int, ...]:
    row = [0] * places
    for n, sign in enumerate(signs):
        if sign != ".":
            row[n * places // len(signs)] = ENTRIES.index(sign)
    return (*row, *[9] * 6)


def deltas(kind: str, signs: str, places: int) -> Array:
    if kind == SELECTIVE:
        return np.asarray(reading(kind, ids(signs, places))[f"{SPACE}.delta"][:places].mean(1))
    return np.full(places, softplus(weights(kind)[f"{SPACE}.step"]).mean())


def scene(page: Page) -> Statements:
    _, signs = fault(page)
    top = 1.25 * max(deltas(kind, signs, n).max() for kind in KINDS for n in LENGTHS)
    frames = [scene_frame(signs, places, top) for places in LENGTHS]
    caption = prose.line("two networks without attention")
    yield from screen.scene(page, caption, "Places in the row", frames, 4, by="slider", wide=(2, 1), plays=True)


def scene_frame(signs: str, places: int, top: float) -> dict[str, Any]:
    test, read, panels, hits = shipped.metrics("copying")["test"], ids(signs, places), [], []
    letters = [(n, ENTRIES[one]) for n, one in enumerate(read[:places]) if one]
    for kind, title in zip(KINDS, ("each place chooses its step Δ", "one Δ for all"), strict=True):
        pairs = [(ENTRIES[said], letter) for said, (_, letter) in zip(reading(kind, read).said, letters, strict=True)]
        steps = screen.curve(
            [screen.line("Δ", [(n + 1, step) for n, step in enumerate(deltas(kind, signs, places))])],
            ("place", -3, 128, [(n, str(n)) for n in (1, *LENGTHS)]),
            ("", 0, top),
            f"{kind.capitalize()}: {title}",
            words=[(n + 1, 0.9 * top, letter) for n, letter in letters],
            height=152,
        )
        answer = [screen.card(a, "written" if a == b else "unseen", "" if a == b else f"not {b}") for a, b in pairs]
        panels.append((steps, screen.cards([screen.row(answer, "", "output")], title="It repeats")))
        hits.append(sum(a == b for a, b in pairs))
    shares = (percent(test[kind][str(places)][0]) for kind in KINDS)
    long = ", as in training" if places == 64 else ""
    said = prose.line("places the selective network", places, long, *hits, f"{test['rows']:,}", *shares)
    return screen.frame(str(places), said, *panels)


def percent(share: float) -> str:
    return f"{number(100 * share, 1)}%"


def own_row(page: Page) -> Statements:
    yield claims.text_box("Six letters a to h, and dots", page.state.get("tape", FIRST))
    said, _ = fault(page)
    if said:
        yield claims.info(f"{said} {prose.line('shown is the row')}")


INSTEAD["without-attention"] = own_row


def shown(page: Page) -> Shown:
    read = ids(fault(page)[1], 64)
    letters = [n for n in range(64) if read[n]]
    rows = sorted({at for n in letters for at in (n - 1, n, n + 1) if 0 <= at < 64})
    looks: dict[str, Any] = {"rows": [f"{n + 1}: {ENTRIES[read[n]]}" for n in rows], "only_rows": rows}
    looks |= {"oracle": reading(SELECTIVE, read), "head": strongest(read)[0]}
    return shown_tensor(page, f"{SPACE}.states", start=(rows.index(letters[3] - 1), 0), **looks)


def strongest(read: tuple[int, ...]) -> tuple[int, list[str], list[int]]:
    """The channel whose Δ differs most; the mean Δ at letters and in noise, of all channels and of this one; at which
    letters the mean is largest and smallest.
    """
    delta, is_letter = reading(SELECTIVE, read)[f"{SPACE}.delta"][:64], np.array(read[:64]) > 0
    means = delta[is_letter].mean(0), delta[~is_letter].mean(0)
    channel = int((means[0] - means[1]).argmax())
    order = delta[is_letter].mean(1).argsort()
    told = [number(of, 3) for of in (*(one.mean() for one in means), *(one[channel] for one in means))]
    return channel, told, [int(order[-1]) + 1, int(order[0]) + 1]


def see(page: Page) -> Statements:
    channel, (letters, noise, *own), order = strongest(ids(fault(page)[1], 64))
    yield from prose("one state place after", letters, noise, channel + 1, *own, *order)
    yield from tensor_matrix(shown(page), **prose.words("the state at letters"))


def check(page: Page) -> Statements:
    yield from check_cell(shown(page))


def do(page: Page) -> Statements:
    yield from prose("a time invariant layer", claims.rounding(1e-5))
    found = kernels(64)
    loudest = np.argsort(-np.abs(found).max(1), kind="stable")[:3]
    lines = [
        claims.Line(f"channel {k + 1}", np.arange(64), found[k], colour)
        for k, colour in zip(loudest, (claims.BLUE, claims.ORANGE, "#009E73"), strict=True)
    ]
    ends = found[loudest].min(), found[loudest].max()
    axes = claims.Axis("places ago", 0, 63), claims.Axis("share of x", *ends)
    yield claims.curves(lines, *axes, alt="Three kernels of the first time-invariant layer")
    yield from prose("the three largest of")
    yield from measured()
    yield from prose("how long does each")
    yield claims.button("Measure")


def longer() -> Statements:
    """Behind the button, below what all prices have."""
    yield from prose("a convolution takes n")


def measured() -> Statements:
    figures = shipped.metrics("copying")
    test, trained = figures["test"], figures["training"]
    yield from prose("letters repeated right in", f"{test['rows']:,}")
    rows = [(kind, *(f"{number(100 * a, 2)} ± {number(100 * b, 2)}" for a, b in test[kind].values())) for kind in KINDS]
    yield claims.table(("", *(f"{n} places" for n in LENGTHS)), *rows)
    tried = (
        f"{kind}: " + ", ".join(f"{percent(of)} at {rate}" for rate, of in trained[kind]["tried"].items())
        for kind in KINDS
    )
    n_weights = sum(w.size for w in weights(SELECTIVE).values())
    yield from prose("both learned from rows", f"{figures['recipe']['steps']:,}", "; ".join(tried), f"{n_weights:,}")


def predict(page: Page) -> Statements:
    channels, states = weights(SELECTIVE)[f"{SPACE}.log_a"].shape
    yield prose.question("at a place with", 0)
    state, keys = channels * states, 2 * channels
    yield prose.question(
        "one of its layers", 0, *(f"{n:,}" for n in (state, 128 * state, 128 * keys)), channels, states
    )


code = code_of("model/parts/state_space.py: Selective, TimeInvariant, recurrence, convolution, MambaBlock")
