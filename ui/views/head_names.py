"""What heads are called, in words."""

from model.interventions import Head
from ui.views.attention_kinds import KINDS


def where(head: Head) -> str:
    """Which layer of which attention, in words."""
    return f"{KINDS[head.attention].name.lower()}, layer {head.layer + 1}"


def name_of(head: Head) -> str:
    """Which head, in words."""
    return f"{where(head)}, head {head.head + 1}"


def heads_in_words(n: int) -> str:
    """How many heads: 1 head, 2 heads."""
    return f"{n} head" if n == 1 else f"{n} heads"
