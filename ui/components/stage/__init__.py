"""The stage: the whole machine at work on one sentence, to play, to stop, and to step into."""

from collections.abc import Collection, Mapping
from typing import Any

from model.interventions import Head
from model.trace import Trace
from ui.components.shared.wire import component, with_bytes
from ui.components.stage.data import stage_data
from ui.components.stage.looks import attention_of
from ui.components.stage.near import View
from ui.components.stage.parts import panels_of

_PICTURE = ("inflate", "numbers", "timeline", "layout", "scene", "rest", "strokes", "draw")
_STEERING = ("controls", "card", "reach", "inside", "listen")
CODE = (
    "shared/colour.js",
    "shared/shared.js",
    *(f"stage/picture/{name}.js" for name in _PICTURE),
    *(f"stage/steering/{name}.js" for name in _STEERING),
    "stage/stage.js",
)
NEAR = ("stage/picture/near.js", "stage/picture/near_draw.js")  # of some clips alone
STYLES = ("stage/stage.css", "stage/steering/controls.css", "stage/steering/inside.css", "stage/screens.css")
COMPONENT = component(
    "stage", js=CODE, css=STYLES, late=NEAR, gives=("nearAt", "nearNumbers", "approach", "NearPainter")
)

Cell = tuple[str, tuple[int, ...]]
Off = tuple[Head, int]  # a head to do without, and the row at which someone asked for that


def stage(
    trace: Trace,
    *,
    key: str,
    links: Mapping[str, str] | None = None,
    start: int | None = None,
    presenting: bool = False,
) -> Cell | Off | None:
    """Draw the machine with a sentence in it. It plays in the browser; the page hears only what one asks about.

    Args:    links: the blocks that have a lesson, by the id that the map gives them, and its title
             start: the moment that it stands at when it appears, counted from 0; without it, at the beginning
             presenting: whether Page Up and Page Down step it wherever the focus is, for a presenter's remote control
    Returns: what someone asked for to start this run: how a number came about, by its tensor's name and its place
             there, from 0; or what the model does without a head
    """
    switches = trace.model.anatomy.reads_source and trace.model.anatomy.writes_target
    data = stage_data(trace, links) | {"start": start, "presenting": presenting, "switches": switches}
    sent = COMPONENT(key=key, data=with_bytes(data), on_select_change=lambda: None, on_off_change=lambda: None)
    return (
        switched(trace, sent.get("off"))
        if switches and sent.get("off")
        else asked(data["tensors"], sent.get("select"), trace.tensors["logits"].shape)
    )


def clip(
    trace: Trace, *, key: str, shows: Collection[str], view: View | None = None, large: bool = False
) -> int | None:
    """Draw the machine small, at the stretch of the story that shows these things, and play that alone.

    Args:    shows: ids of blocks and kinds of moments: see `story.clip_of`; large: it has the screen for itself
             view: how it shows the last of these blocks from near: see `near.Near`
    Returns: the moment at which someone asked, to start this run, for the whole machine; counted from 0
    """
    data = stage_data(trace, shows=shows, view=view) | {"start": None, "small": not large}
    sent = COMPONENT(key=key, data=with_bytes(data), on_whole_change=lambda: None)
    whole = sent.get("whole")
    if type(whole) is not int or not 0 <= whole < len(data["moments"]):
        return None
    beyond = data["near"] is not None and whole >= data["clip"][1]  # the ride itself has no such moment
    return whole - 1 if beyond else whole


def switched(trace: Trace, sent: object) -> Off | None:
    """The head that someone wants to switch off: number of its stack, of its block, its own, and a row; checked."""
    match sent:
        case [int(panel), int(part), int(head), int(row)] if min(panel, part, head, row) >= 0:
            panels = panels_of(trace.model.anatomy, trace.model.about)
            if panel >= len(panels) or part >= len(panels[panel].parts) or row >= len(trace.labels):
                return None
            block = panels[panel].parts[part]
            if block.kind != "attention" or head >= len(trace.tensors[block.weights]):
                return None
            attention = attention_of(trace, block)
            return Head(attention.kind, attention.layer, head), row
    return None


def asked(tensors: list[list[Any]], sent: object, probabilities: tuple[int, int]) -> Cell | None:
    """What the browser asks about. What it sends is checked, not believed.

    Args: tensors: name, shape and start of each that was sent; probabilities: the shape of those, which are not sent
    """
    if not isinstance(sent, list) or not sent or not all(type(n) is int for n in sent):
        return None
    number, *index = sent
    if not -1 <= number < len(tensors):
        return None
    name, shape = tensors[number][:2] if number >= 0 else ("probabilities", probabilities)
    fits = len(index) == len(shape) and all(0 <= i < size for i, size in zip(index, shape, strict=True))
    return (name, tuple(index)) if fits else None
