"""The pages of the app in the sidebar. Streamlit draws its own navigation anew several times with each answer, every
title of it as Markdown: with as many pages as ours that took a quarter of the time of every click.
"""

from collections.abc import Mapping, Sequence

from serving.streamlit_private import Page
from ui.components.shared.wire import component

NAVIGATION = component(
    "navigation",
    js=("shared/shared.js", "shared/leave.js", "navigation/icons.js", "navigation/navigation.js"),
    css=("navigation/navigation.css",),
)


def navigation(sections: Mapping[str, Sequence[Page]], current: str, along: Sequence[str]) -> None:
    """Links to all pages, by section.

    Args: current: the address of the page that is open; along: parameters of the address that all pages have
    """
    shown = [[title, [[page.title, page.url_path] for page in pages]] for title, pages in sections.items()]
    NAVIGATION(key="navigation", data={"sections": shown, "current": current, "along": along})
