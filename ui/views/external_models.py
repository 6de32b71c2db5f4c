"""For pages that show other models than this project's own: choosing one by name, and how to read its attention."""

from collections.abc import Sequence

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from figures.grouping import Group, pieces, words
from ui.components.matrix import Caption
from ui.text import in_markdown
from ui.views.attention_kinds import KINDS
from ui.views.attention_maps import Chosen, Place, browse

MAX_NAME = 200  # characters of a name that are read
SPECIAL = (
    "Pieces that nobody typed, such as [CLS], </s> or <eos>: the model's own signs for where a text begins or ends."
)
# By kind of attention: what a row is, and the sentence for one cell.
HOW_TO_READ = {
    "encoder": ("A row is a piece that looks; its weights over all columns add up to 1.", KINDS["encoder"].describe),
    "decoder": (
        "A row is a piece that was just read; it sees itself and what came before, never what follows.",
        "after reading “{row}”, the model looks at “{column}”: {value}",
    ),
    "cross": (
        "A row is the piece about to be written; its weights over what the model reads add up to 1.",
        KINDS["cross"].describe,
    ),
}


def shown_groups(
    texts: Sequence[str], places: Sequence[int], wholes: Sequence[str], by_word: bool, without_special: bool
) -> list[Group]:
    """Pieces as rows or columns; where there are none but special ones, they stay.

    Args: places: for each piece the word it belongs to, −1 for special ones; wholes: the text of that word, if it is
          not the pieces' texts joined
    """
    groups = words(texts, places) if by_word else pieces(texts)
    if by_word and wholes:
        groups = [Group(wholes[group.pieces[0]], group.pieces) for group in groups]
    return [g for g in groups if places[g.pieces[0]] >= 0] or groups if without_special else groups


def browse_maps(
    kind: str,
    weights: NDArray[np.floating],
    hidden: NDArray[np.bool_],
    rows: Sequence[Group],
    columns: Sequence[Group],
    default: tuple[int, int],
    name: str = "",
    place: Place = Place(),
) -> Chosen:
    """`ui.views.attention_maps.browse` for the attention of any model, under the name of its side if there are two.

    Args: weights (L,H,T,S); hidden (T,S), True = masked in every layer
    """
    how_to_read, describe = HOW_TO_READ[kind]
    return browse(
        weights,
        rows,
        columns,
        Caption(KINDS[kind].name, how_to_read, csv_name=f"{name} {kind} attention".strip()),
        describe=describe,
        default=default,
        hidden=lambda _: hidden.astype(float),
        place=place,
    )


def choose_model(label: str, names: Sequence[str], key: str, default: str | None = None) -> str | None:
    """A box to choose a model from a list or to type another one's name; None until something is chosen."""
    asked = (st.query_params.get(key) or default or "")[:MAX_NAME].strip()
    options = [*names, *([asked] if asked and asked not in names else [])]

    def write() -> None:
        chosen = st.session_state[f"{key}_box"]
        if chosen is None or chosen == default:
            st.query_params.pop(key, None)
        else:
            st.query_params[key] = chosen[:MAX_NAME]

    chosen = st.selectbox(
        label,
        options,
        index=options.index(asked) if asked else None,
        placeholder="Choose one, or type a name",
        accept_new_options=True,
        key=f"{key}_box",
        on_change=write,
    )
    return chosen[:MAX_NAME].strip() if chosen else None


def refused(sentence: str, detail: str) -> None:
    """Say why a model cannot be opened or fails, with the words of the library in a fold, if it said something."""
    st.warning(in_markdown(sentence))
    if detail:
        with st.expander("What the library says"):
            st.markdown(in_markdown(detail))
