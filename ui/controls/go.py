"""Going to a page and its state, as if its address had been typed."""

from collections.abc import Mapping

from ui.components.shared.wire import component
from ui.controls.persist import forget

_go = component("go", js=("shared/leave.js", "shared/go.js"))


def go(page: str, state: Mapping[str, str], attempt: int = 0) -> None:
    """Have the browser open a page in this session, once for each attempt. What was typed on the present one is kept.

    Args: page: its address in this app; state: the parameters of the address
    """
    forget()
    _go(key="go", data={"page": page, "state": dict(state), "attempt": attempt})
