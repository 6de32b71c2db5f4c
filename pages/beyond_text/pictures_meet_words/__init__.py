"""Lesson: two towers bring pictures and words into one space."""

from pages.beyond_text.pictures_meet_words.lesson import LESSON

__all__ = ["LESSON"]
