"""The lesson on a decoder that stands alone: it reads a text, is surprised by each piece of it, and goes on writing."""

from pages.family.gpt.lesson import LESSON

__all__ = ["LESSON"]
