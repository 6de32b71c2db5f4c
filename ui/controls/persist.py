"""What goes along from page to page: Streamlit forgets the values of widgets that the next page does not draw anew.

Streamlit 1.67 itself takes along what stands in the address, but a default never stands there: a kind of attention that
is one page's default and was chosen on purpose would be lost on the next. `persist_state` keeps it, but not in the
address.
"""

from collections.abc import Iterable

import streamlit as st

_KEPT, _PAGE = "kept", "kept_page"  # in the session: values by key, and the page they were last restored on


def remember(keys: Iterable[str]) -> None:
    """Keep the values of these widgets, which several pages have, for the next page."""
    kept = st.session_state.setdefault(_KEPT, {})
    kept.update({key: st.session_state[key] for key in keys if key in st.session_state})


def restore(page: str) -> None:
    """On the first run of a page, give its widgets the values kept; what the address says goes before."""
    if st.session_state.get(_PAGE) == page:
        return
    st.session_state[_PAGE] = page
    for key, value in st.session_state.get(_KEPT, {}).items():
        if key not in st.query_params:
            st.session_state[key] = value


def forget() -> None:
    """What was kept means nothing on a page that is to be just as somebody else's address says."""
    st.session_state.pop(_KEPT, None)
