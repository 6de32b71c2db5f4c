"""One option out of a few, kept in the address."""

from collections.abc import Sequence
from typing import Any, TypeVar

import streamlit as st

from ui.controls.persist import remember

Option = TypeVar("Option", str, int)


def one_of(
    label: str,
    options: Sequence[Option],
    *,
    key: str,
    default: Option | None = None,
    goes_along: bool = False,
    **more: Any,
) -> Option:
    """A segmented control of which one option is always chosen, by default the first.

    Its options are the labels that people read, because a bound widget writes labels into the address.

    Args: goes_along: what somebody chose here, or the address did, is also chosen on other pages that have this key;
          a page's own default is not; more: passed on to `st.segmented_control`
    """
    default = options[0] if default is None else default
    # `?layer=` with nothing behind it empties the control, although it asks for a choice: put the default back.
    if st.session_state.get(key, default) is None:
        st.session_state[key] = default
    if goes_along:
        more |= {"on_change": remember, "args": ([key],)}
    chosen = st.segmented_control(label, options, default=default, required=True, key=key, bind="query-params", **more)
    if chosen is None:
        st.rerun()
    if goes_along and key in st.query_params:
        remember([key])
    return chosen
