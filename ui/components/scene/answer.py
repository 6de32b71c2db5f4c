"""What a visitor or a model wrote, within an answer: there ** stands for bold."""

from ui.text import piece

_JOINER = "\u2060"  # invisible; scene.js takes it out again. A visitor's own is no longer one: `piece` makes it visible


def quoted(text: str) -> str:
    """Text that an answer shows as it is, whatever asterisks it holds and wherever it stands; spaces alone as ␣."""
    return piece(text).replace("*", f"{_JOINER}*{_JOINER}")
