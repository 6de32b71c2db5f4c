"""A sentence that a screen reader says when it changes; nobody sees it."""

from ui.components.shared.wire import component

_component = component("announcement", js=("announcement/announcement.js",), css=("announcement/announcement.css",))


def announce(text: str, key: str) -> None:
    """Say `text`, any text, once the reader is idle, if it is another than the last time this key was drawn.

    Args: key: begins with "said_", by which the style sheet keeps it from taking room on the page
    """
    _component(key=key, data={"text": text})
