"""What the inference lesson is made of: a translation in the visitor's hand, and the ways to write one."""

from pages.inference.inference.lesson import LESSON

__all__ = ["LESSON"]
