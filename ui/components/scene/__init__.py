"""The first screen of a lesson: one picture of the visitor's sentence, one control, and an answer that moves with it.

A scene is a row of frames, one for each stop of its control. All of them go to the browser at once: from one to the
next the picture moves without asking the server. Frames are built from a few means: cards with lines between them,
bars, curves, matrices, dots, bands, rulers. Every text is text, never taken for HTML.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from model.files.loaded_model import Array
from ui.components.scene.emoji import Field, Finds
from ui.components.scene.heard import Heard
from ui.components.scene.layers import Tower, Wiring
from ui.components.scene.rounding import points, rounded
from ui.components.scene.sheet import Fan, Sheet
from ui.components.scene.strips import Bands, Ruler, Square
from ui.components.shared.wire import component, mount
from ui.text import piece

Role = Literal["query", "key", "value", "output", "plain"]
State = Literal["", "asked", "unseen", "written", "strong"]

_MEANS = ("cards", "bars", "curve", "matrix", "dots", "bands", "ruler", "layers", "sheet", "heard", "emoji")
CODE = ("shared/colour.js", "shared/shared.js", *(f"scene/{name}.js" for name in ("pen", *_MEANS, "scene")))
STYLES = ("scene/scene.css",)
COMPONENT = component("scene", js=CODE, css=STYLES)


@dataclass(frozen=True)
class Card:
    """A piece: its text; a note below it; a bar from 0 to 1 below that; the numbers of its column above it.

    state: asked for (dashed), unseen (struck through), written by the model, strong (the one that is spoken of)
    """

    text: str
    state: State = ""
    note: str = ""
    bar: float | None = None
    column: Sequence[float] = ()


@dataclass(frozen=True)
class Row:
    """Cards side by side under a name; bare: their columns of numbers alone."""

    cards: Sequence[Card]
    name: str = ""
    role: Role = "query"
    bare: bool = False

    def sent(self) -> dict[str, Any]:
        row = {"name": self.name, "role": self.role, "cards": [_card(card) for card in self.cards]}
        return row | ({"bare": True} if self.bare else {})


@dataclass(frozen=True)
class Link:
    """A line between two cards, each given as its row and its place, from 0; as thick as its weight, 0 to 1."""

    start: tuple[int, int]
    end: tuple[int, int]
    weight: float
    role: Role = "query"


@dataclass(frozen=True)
class Cards:
    """Rows of cards one above the other. A line within a row is an arch, or straight between neighbours of a chain.

    slots: for how many cards there is room side by side, if for more than the longest row has
    tall: rows of cells in a column, and in its dashed outline from before it was squeezed; (0, 0): none was
    """

    rows: Sequence[Row]
    links: Sequence[Link] = ()
    title: str = ""
    chain: bool = False
    limit: float = 1.0  # of a column's colours
    slots: int = 0
    tall: tuple[int, int] = (0, 0)

    def sent(self) -> dict[str, Any]:
        squeezed = {"tall": self.tall[0], "whole": self.tall[1]} if self.tall[1] else {}
        return squeezed | {
            "kind": "cards",
            "title": self.title,
            "slots": self.slots,
            "chain": self.chain,
            "limit": self.limit,
            "rows": [row.sent() for row in self.rows],
            "links": [[*link.start, *link.end, rounded(link.weight), link.role] for link in self.links],
        }


@dataclass(frozen=True)
class Bar:
    """A named number as a bar; what it was before is a dashed outline; strong if it is the one that is spoken of."""

    label: str
    value: float
    text: str
    before: float | None = None
    strong: bool = False


@dataclass(frozen=True)
class Bars:
    """Bars one below the other, on one scale from 0 to the limit."""

    bars: Sequence[Bar]
    title: str = ""
    role: Role = "output"
    limit: float = 1.0
    note: str = ""

    def sent(self) -> dict[str, Any]:
        bars = [[piece(bar.label), rounded(bar.value), bar.text, rounded(bar.before), bar.strong] for bar in self.bars]
        return {
            "kind": "bars",
            "title": self.title,
            "role": self.role,
            "limit": self.limit,
            "note": self.note,
            "bars": bars,
        }


@dataclass(frozen=True)
class Axis:
    """names: places and what is written there, instead of the numbers at both ends"""

    title: str
    low: float
    high: float
    names: Sequence[tuple[float, str]] = ()

    def sent(self) -> list[Any]:
        return [self.title, self.low, self.high, *([[list(one) for one in self.names]] if self.names else [])]


@dataclass(frozen=True)
class Line:
    """A line through points (x, y)."""

    name: str
    points: Sequence[tuple[float, float]]
    role: Role = "query"
    dashed: bool = False


@dataclass(frozen=True)
class Curve:
    """Lines over an axis.

    knob: where a ring stands; rug: places on the axis with a tick from it up to a height; words: texts at places;
    dots: points that lie on no line
    height: in pixels
    """

    lines: Sequence[Line]
    x: Axis
    y: Axis
    title: str = ""
    knob: tuple[float, float] | None = None
    rug: Sequence[tuple[float, float]] = ()
    words: Sequence[tuple[float, float, str]] = ()
    height: int = 216
    dots: Sequence[tuple[float, float]] = ()

    def sent(self) -> dict[str, Any]:
        return {
            "kind": "curve",
            "title": self.title,
            "height": self.height,
            "x": self.x.sent(),
            "y": self.y.sent(),
            "lines": [[line.name, points(line.points), line.role, line.dashed] for line in self.lines],
            "knob": self.knob and points([self.knob])[0],
            "rug": points(self.rug),
            "words": [[*points([(x, y)])[0], text] for x, y, text in self.words],
            "dots": points(self.dots),
        }


@dataclass(frozen=True)
class Matrix:
    """Numbers (R,C) as colours, signed if any is below 0; with names beside and above them, where there are any.

    ends: what is darkest, by default the largest size; marked: a cell; pale: 0 as it is, 1 not to be seen
    """

    values: Array
    title: str = ""
    note: str = ""
    rows: Sequence[str] = ()
    columns: Sequence[str] = ()
    ends: float | None = None
    signed: bool = False
    marked: tuple[int, int] | None = None
    pale: float = 0.0

    def sent(self) -> dict[str, Any]:
        return {
            "kind": "matrix",
            "title": self.title,
            "note": self.note,
            "rows": [piece(name) for name in self.rows],
            "columns": [piece(name) for name in self.columns],
            "ends": rounded(self.ends or float(np.abs(self.values).max(initial=0)) or 1.0),
            "signed": self.signed,
            "marked": self.marked,
            "pale": self.pale,
            "values": [[rounded(value) for value in row] for row in np.asarray(self.values).tolist()],
        }


@dataclass(frozen=True)
class Dots:
    """Marks on a scale from 0 to 1, each of one of two kinds; a ring for the visitor's own."""

    dots: Sequence[tuple[float, bool]]
    ends: tuple[str, str]
    title: str = ""
    big: str = ""
    note: str = ""
    mine: float | None = None

    def sent(self) -> dict[str, Any]:
        return {
            "kind": "dots",
            "title": self.title,
            "big": self.big,
            "note": self.note,
            "ends": list(self.ends),
            "dots": [[rounded(value), kind] for value, kind in self.dots],
            "mine": rounded(self.mine),
        }


Panel = (
    Cards | Bars | Curve | Matrix | Dots | Bands | Ruler | Wiring | Tower | Square | Sheet | Fan | Heard | Field | Finds
)


@dataclass(frozen=True)
class Frame:
    """The picture at one stop of the control.

    stop:   what the control says there
    answer: one or two sentences; what stands between ** is bold
    panels: rows of panels, side by side where there is room
    """

    stop: str
    answer: str
    panels: Sequence[Sequence[Panel]]


@dataclass(frozen=True)
class Scene:
    """One question's picture.

    caption: what it shows, in one line that names the lesson's subject
    control: what one changes; by: how: one of a few, side by side; along a slider; or a click on a card of the first
             row, or on the same card in the control
    press:   what a button beside it says, if it has one; on_press is called when someone presses it
    live:    whether another scene may be made of the same sentence at any moment, as while a model learns
    also:    what else it is made of, beside the sentence: it is made anew when that has changed
    pictures: addresses of the small pictures that its panels name
    start:   the frame that it opens with; wide: for each place of a row of panels, its share of the width
    """

    caption: str
    control: str
    frames: Sequence[Frame]
    by: Literal["choice", "slider", "cards"] = "choice"
    start: int = 0
    wide: Sequence[float] = field(default=(1,))
    plays: bool = False
    press: str = ""
    on_press: Callable[[], None] | None = None
    live: bool = False
    also: Callable[[], object] = lambda: None
    pictures: Mapping[str, str] = field(default_factory=dict)

    def sent(self) -> dict[str, Any]:
        """For JSON. Raises: ValueError if the frames are not built alike, so that none could move into the next."""
        shapes = {tuple(tuple(type(panel) for panel in row) for row in frame.panels) for frame in self.frames}
        if len(shapes) != 1:
            raise ValueError(f"The frames of “{self.control}” are built in {len(shapes)} ways.")
        pictures = {"pictures": dict(self.pictures)} if self.pictures else {}
        return pictures | {
            "caption": self.caption,
            "control": self.control,
            "by": self.by,
            "plays": self.plays,
            "press": self.press,
            "wide": list(self.wide),
            "frames": [
                {
                    "stop": frame.stop,
                    "answer": frame.answer,
                    "rows": [[panel.sent() for panel in row] for row in frame.panels],
                }
                for frame in self.frames
            ],
        }


def scene(shown: Scene, *, key: str, at: int, on_move: Callable[[int], None], begins: bool = False) -> None:
    """Draw a scene at one of its frames. Where it is moved to is told before the script runs, once it rests.

    Args: begins: whether it plays as soon as it is there, for who has not asked for less motion
    """
    data = shown.sent() | {"at": at} | ({"begins": True} if begins else {})

    # The browser says (0, n) when the control rests at frame n, and (1, 0) when the button is pressed.
    def told(message: tuple[int, int]) -> None:
        if message[0] == 0:
            on_move(message[1])
        elif shown.on_press:
            shown.on_press()

    mount(
        COMPONENT,
        key,
        lambda chosen: data | ({"at": chosen[1]} if chosen and chosen[0] == 0 else {}),
        lambda what, frame: 0 <= frame < (len(shown.frames) if what == 0 else 1 if what == 1 and shown.press else 0),
        told,
    )


def _card(card: Card) -> list[Any]:
    column = [rounded(value) for value in card.column]
    return [piece(card.text), card.state, card.note, rounded(card.bar), column]
