"""Pieces of text as a row of small cards, grouped into words, one of which may be chosen."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ui.components.shared.wire import component, mount

_component = component("pieces", js=("shared/shared.js", "pieces/pieces.js"), css=("pieces/pieces.css",))


@dataclass(frozen=True)
class Card:
    """One piece: its text, small print below it, and the word it belongs to (neighbours of one word stand together).

    marked: drawn as something added or just made
    """

    text: str
    small: tuple[str, ...] = ()
    word: int = 0
    marked: bool = False


def pieces(
    cards: Sequence[Card],
    *,
    key: str,
    title: str,
    how_to_read: str = "",
    selected: int | None = None,
    on_select: Callable[[int], None] | None = None,
) -> int | None:
    """Draw the cards; with `on_select` each is a button. Return the one chosen to start this run, else None.

    Args: cards: any text, never taken for HTML; selected: counted from 0; kept by the page, as with `matrix`
    """
    data = {
        "cards": [[card.text, list(card.small), card.word, card.marked] for card in cards],
        "title": title,
        "how_to_read": how_to_read,
        "clickable": on_select is not None,
    }
    chosen = mount(
        _component,
        key,
        lambda cell: data | {"selected": [0, selected] if cell is None and selected is not None else cell},
        lambda row, column: row == 0 and 0 <= column < len(cards),
        None if on_select is None else lambda cell: on_select(cell[1]),
    )
    return None if chosen is None else chosen[1]
