"""Choosing an attention head: the same controls on every lesson, kept in the address."""

from dataclasses import dataclass

import streamlit as st

from model.files.loaded_model import LoadedModel
from model.interventions import Head
from ui.controls.segmented import one_of
from ui.views.attention_kinds import KINDS, choose_kind

LAYER_HELP = (
    "The same block stands several times, one after the other. Each of these layers reads what the one before wrote."
)
HEAD_HELP = "Within a layer, several heads look at once, side by side, each with matrices of its own."
_KNOWS_LATER = "knows_later_kinds"  # in the session


@dataclass(frozen=True)
class HeadControl:
    """Kind of attention, layer and head, side by side.

    kinds:   those to choose from; default: the first one shown
    later:   kinds that a later lesson explains: offered only to somebody who comes with one of them chosen
    """

    kinds: tuple[str, ...] = tuple(KINDS)
    default: str = "encoder"
    later: tuple[str, ...] = ()

    def offered(self, loaded: LoadedModel) -> tuple[str, ...]:
        """The kinds that the model has, as far as they are offered."""
        kinds = (*self.kinds, *self.later) if self._knows_later() else self.kinds
        return tuple(kind for kind in kinds if kind in loaded.anatomy.attentions)

    def _knows_later(self) -> bool:
        if _chosen_kind() in {KINDS[kind].label for kind in self.later}:
            st.session_state[_KNOWS_LATER] = True  # until the visit ends, or the way back would be gone
        return bool(st.session_state.get(_KNOWS_LATER))

    def draw(self, loaded: LoadedModel) -> Head:
        kinds = self.offered(loaded)
        kind = self.default if self.default in kinds else kinds[0]
        with st.container(
            horizontal=True, vertical_alignment="bottom", gap="medium", key="choose_head", width="content"
        ):
            if len(kinds) > 1:
                kind = choose_kind(kinds, kind)
            attentions = loaded.anatomy.attentions[kind]
            layers, heads = range(1, len(attentions) + 1), range(1, attentions[0].n_heads + 1)
            layer = one_of("Layer", layers, key="layer", default=len(attentions), goes_along=True, help=LAYER_HELP)
            head = one_of("Head", heads, key="head", goes_along=True, help=HEAD_HELP)
        return Head(kind, layer - 1, head - 1)

    def value(self, loaded: LoadedModel) -> Head:
        """The head chosen, also where the control is not on the page (presenter mode)."""
        kinds = self.offered(loaded)
        kind = next((kind for kind in kinds if KINDS[kind].label == _chosen_kind()), "")
        kind = kind or (self.default if self.default in kinds else kinds[0])
        attentions = loaded.anatomy.attentions[kind]
        layer, head = _count("layer", len(attentions)), _count("head", attentions[0].n_heads)
        return Head(kind, (layer or len(attentions)) - 1, (head or 1) - 1)


def _chosen_kind() -> str | None:
    """The label of the kind that the page or its address holds."""
    label: str | None = st.session_state.get("attention") or st.query_params.get("attention")
    return label


def _count(name: str, n: int) -> int:
    """A count from 1 to n that the page or its address holds, or 0."""
    text = str(st.session_state.get(name) or st.query_params.get(name, ""))
    return int(text) if text in map(str, range(1, n + 1)) else 0


HEAD = HeadControl()
# For lessons that come before the decoder's attentions are explained.
EARLY_HEAD = HeadControl(("encoder",), later=("decoder", "cross"))
