"""Lesson: a Vision Transformer, which reads a picture as a row of patches, and what it looks at."""

from pages.beyond_text.a_picture_as_words.lesson import LESSON

__all__ = ["LESSON"]
