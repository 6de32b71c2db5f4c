"""What the tokenization lesson is made of: a sentence as ids, merges replayed, and five ways to cut a text."""

from pages.inputs.tokenization.lesson import LESSON

__all__ = ["LESSON"]
