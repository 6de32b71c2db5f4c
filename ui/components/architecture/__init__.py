"""The map: one drawing of a whole model, made from its anatomy, every block a way to its lesson."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from model.files.loaded_model import LoadedModel
from model.text.tokenizer import Token
from model.trace import Trace
from ui.components.architecture.pictures import numbers_of
from ui.components.architecture.plan import Block, Column, plan_of
from ui.components.shared.wire import component, mount
from ui.text import visible

_component = component(
    "architecture",
    js=(
        *("shared/colour.js", "shared/shared.js", "architecture/layout.js", "architecture/wires.js"),
        *("architecture/pictures.js", "architecture/chips.js", "architecture/legend.js"),
        "architecture/architecture.js",
    ),
    css=("architecture/architecture.css",),
)


def block_ids(model: LoadedModel) -> tuple[str, ...]:
    """The ids of the blocks that the map of a model has, from bottom to top."""
    return plan_of(model.anatomy, model.about).ids


def architecture(
    model: LoadedModel,
    *,
    key: str,
    links: Mapping[str, str] | None = None,
    trace: Trace | None = None,
    on_open: Callable[[str], None] | None = None,
) -> str | None:
    """Draw the map of a model; return the id of the block that the learner opened to start this run.

        opened = architecture(model, key="map", links={"encoder.self_attn": "Self-attention"}, trace=trace)
        if opened:
            st.switch_page(...)

    Args:    links the blocks that open something, and its title; all others are drawn, but cannot be chosen
             trace a sentence that went through the model, whose pieces and tensors the map shows
             on_open called before the script runs
    Returns: the block's id, once, in the run that opening it started; None in all others
    Raises:  ValueError, naming them, if links hold ids that no block has
    """
    links = links or {}
    ids = block_ids(model)
    data = architecture_data(model, links=links, trace=trace)
    opened = mount(
        _component,
        key,
        lambda _: data,
        lambda at, _: 0 <= at < len(ids) and ids[at] in links,
        (lambda at: on_open(ids[at[0]])) if on_open else None,
    )
    return ids[opened[0]] if opened else None


def architecture_data(model: LoadedModel, *, links: Mapping[str, str], trace: Trace | None) -> dict[str, Any]:
    """What the browser gets to draw the map: see `architecture`.

    Returns: a dict for JSON:
             blocks, each with its id, colour and texts, and what it opens; with a sentence its
             numbers and its picture, base64 of one byte a pixel (see `figures.thumbnails`)
             stacks from left to right: ids of blocks from bottom to top, see `plan.Column`, and the tokens below them
             feeds, pairs of ids: a stack's frame and the block of another stack that reads its output
             output, the text above the last stack
    """
    plan = plan_of(model.anatomy, model.about)
    if unknown := sorted({*links} - {*plan.ids}):
        raise ValueError(f"The map has no block {', '.join(map(repr, unknown))}; it has {', '.join(plan.ids)}.")
    blocks = []
    for block in plan.blocks:
        words = block.words
        blocks.append(
            {
                "id": block.id,
                "colour": words.colour,
                "name": f"{words.name}, layer {block.layer}" if trace and block.layer else words.name,
                "label": words.label,
                "does": words.does,
                "opens": links.get(block.id),
                **(numbers_of(block, plan, trace) if trace else {}),
            }
        )
    return {
        "blocks": blocks,
        "stacks": [_stack(column, trace) for column in plan.columns],
        "feeds": [list(feed) for feed in plan.feeds],
        "output": (visible(trace.translation) or "(nothing)") if trace else plan.output,
        "live": trace is not None,
        "hint": _hint(links, trace is not None),
    }


def _stack(column: Column, trace: Trace | None) -> dict[str, Any]:
    def ids(blocks: Sequence[Block]) -> list[str]:
        return [block.id for block in blocks]

    return {
        "frame": column.frame.id,
        "side": "source" if column.tokens == "src" else "target",
        "tokens": _texts(trace.tokens(column.tokens)) if trace else [column.pieces],
        "inputs": ids(column.inputs),
        "layer": ids(column.layer),
        "outputs": ids(column.outputs),
        "past": [list(pair) for pair in column.past],
    }


def _hint(links: Mapping[str, str], alive: bool) -> str:
    """The line below the map while no block is pointed at."""
    see = "Point at a block to see its numbers" if alive else "Point at a block to see what it is"
    return f"{see}; choose it to open its lesson." if links else f"{see}."


def _texts(tokens: Sequence[Token]) -> list[str]:
    return [visible(token.text) if token.text.strip() else "␣" for token in tokens]
