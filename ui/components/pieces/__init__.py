"""Pieces of text as a row of small cards, grouped into words, of which one or a run may be chosen."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ui.components.shared.wire import Cell, component, mount

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
    on_run: Callable[[int, int], None] | None = None,
) -> int | None:
    """Draw the cards; each is a button if one can be chosen. Return the one chosen to start this run, else None.

    Args: cards: any text, never taken for HTML; selected: counted from 0; kept by the page, as with `matrix`
          on_run: in place of `on_select`, if one may also drag over words; it gets the first card and the last, of a
              click the same twice. Those that are marked count as pressed, and no card as selected
    """
    data = {
        "cards": [[card.text, list(card.small), card.word, card.marked] for card in cards],
        "title": title,
        "how_to_read": how_to_read,
        "clickable": on_select is not None or on_run is not None,
        "runs": on_run is not None,
    }
    home = None if selected is None else (0, selected)

    def chose(cell: Cell) -> None:
        if on_run:
            on_run(*cell)
        elif on_select:
            on_select(cell[1])

    chosen = mount(
        _component,
        key,
        lambda cell: data | {"selected": None if on_run else cell or home},
        lambda first, last: (on_run is not None or first == 0) and 0 <= first <= last < len(cards),
        chose,
    )
    return None if chosen is None else chosen[1]
