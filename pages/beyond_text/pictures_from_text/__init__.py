"""Lesson: a decoder writes a picture as it would write a sentence, and answers questions about one."""

from pages.beyond_text.pictures_from_text.lesson import LESSON

__all__ = ["LESSON"]
